// softmax(scale q k^T + bias) v: sizes, arguments, and what a score is. Every kernel of the family
// takes the same arguments; runtime/ops/attention.c fills them in. FILTRA_HEADS: a table says what
// differs from head to head. FILTRA_RESULT: results are of another type than q, k, v and dy, which
// have the kernel's.
#include "common/elements.glsl"
#include "common/philox.glsl"
#include "attention/contract.h"
#include "attention/weight_words.glsl"
#ifdef FILTRA_HEADS
#include "plaplacian/contract.h"
#endif

FT_CONSTANTS(attention)

const bool CAUSAL = (FLAGS & FT_ATTENTION_CAUSAL) != 0;
const bool MASKED = (FLAGS & FT_ATTENTION_MASKED) != 0;
const bool BIASED = (FLAGS & FT_ATTENTION_BIASED) != 0;
const bool BIAS_PER_HEAD = (FLAGS & FT_ATTENTION_BIAS_PER_HEAD) != 0;
const bool BIAS_PER_BATCH = (FLAGS & FT_ATTENTION_BIAS_PER_BATCH) != 0;
const bool ADD_0 = (FLAGS & FT_ATTENTION_ADD_0) != 0;
const bool ADD_1 = (FLAGS & FT_ATTENTION_ADD_1) != 0;
const bool WANT_0 = (FLAGS & FT_ATTENTION_WANT_0) != 0;
const bool WANT_1 = (FLAGS & FT_ATTENTION_WANT_1) != 0;
const bool PAIRED = (FLAGS & FT_ATTENTION_PAIRED) != 0;
const bool KNOWN = (FLAGS & FT_ATTENTION_KNOWN) != 0;
const bool DRAWN = (FLAGS & FT_ATTENTION_DRAWN) != 0;
const bool PART = (FLAGS & FT_ATTENTION_PART) != 0;
const bool WIDE = (FLAGS & FT_ATTENTION_WIDE) != 0;
const bool EIGHTS = (FLAGS & FT_ATTENTION_EIGHTS) != 0;

#ifdef FILTRA_HEADS
// Where q, k and v of a head begin, in elements, and the bits of a number of the op's.
layout(buffer_reference, std430, buffer_reference_align = 16) restrict readonly buffer HeadTable {
  uvec4 of[];
};
#endif

#ifndef FILTRA_RESULT
#define FILTRA_RESULT Elements
#endif

#ifdef FILTRA_HEADS
FT_ARGUMENTS_AS(args, plaplacian)
#else
FT_ARGUMENTS_AS(args, attention)
#endif

#ifdef FILTRA_HEADS
uint q_origin(uint b, uint h) { return b * args.q_batch + args.heads.of[h].x; }
uint k_origin(uint b, uint h) { return b * args.k_batch + args.heads.of[h].y; }
uint v_origin(uint b, uint h) { return b * args.v_batch + args.heads.of[h].z; }
float head_number(uint h) { return uintBitsToFloat(args.heads.of[h].w); }
#else
uint q_origin(uint b, uint h) { return b * args.q_batch + h * args.q_head; }
uint k_origin(uint b, uint h) { return b * args.k_batch + h * args.k_head; }
uint v_origin(uint b, uint h) { return b * args.v_batch + h * args.v_head; }
#endif

// [count, width] in memory, rows `stride` elements apart.
struct Matrix {
  Elements base;
  uint count, width, stride;
};

// One head's matrix in a tensor that is stored like q, k, v or the output.
Matrix like_q(Elements t, uint b, uint h) {
  return Matrix(advance(t, q_origin(b, h)), args.queries, HEAD, Q_STRIDE);
}
Matrix like_k(Elements t, uint b, uint h) {
  return Matrix(advance(t, k_origin(b, h)), args.keys, HEAD, K_STRIDE);
}
Matrix like_v(Elements t, uint b, uint h) {
  return Matrix(advance(t, v_origin(b, h)), args.keys, VALUE, V_STRIDE);
}
Matrix like_y(Elements t, uint b, uint h) {
  return Matrix(advance(t, (b * args.queries * HEADS + h) * VALUE), args.queries, VALUE,
                HEADS * VALUE);
}

// Scores at or below this stand for "not seen". They weigh exactly 0, since running maxima start
// far above it and exp gives 0 there.
const float LOWEST = -1e38;

bool key_kept(uint b, uint key) {
  const float mask = MASKED ? args.mask.v[b * args.keys + min(key, args.keys - 1)] : 1;
  return key < args.keys && mask > 0;
}

bool causally_seen(uint query, uint key) {
  return !CAUSAL || key + args.queries <= query + args.keys;
}

// Keys up to this one (exclusive) are seen by some query up to `query`.
uint keys_seen(uint query) {
  if (!CAUSAL) return args.keys;
  const uint seen = query + 1 + args.keys;
  return min(args.keys, seen - min(seen, args.queries));
}

// Queries from this one on see key `key`.
uint first_query_seeing(uint key) {
  if (!CAUSAL) return 0;
  const uint first = key + args.queries;
  return first - min(first, args.keys);
}

// Element 0 of this head's [queries, keys] of the bias or of its gradient.
uint bias_origin(uint b, uint h) {
  const uint heads = BIAS_PER_HEAD ? HEADS : 1;
  return ((BIAS_PER_BATCH ? b : 0) * heads + (BIAS_PER_HEAD ? h : 0)) * args.queries * args.keys;
}

// Of any query and key; of others than there are some other element.
float bias(uint origin, uint query, uint key) {
  return args.bias.v[origin + min(query, args.queries - 1) * args.keys + min(key, args.keys - 1)];
}

// `product` is <q, k>. Query and key may lie outside when `seen` is false.
float score(bool seen, float product, uint origin, uint query, uint key) {
  float s = product * SCALE;
  if (BIASED) s += bias(origin, query, key);
  return seen ? s : -3.4e38;
}

// exp(s - shift), where shift is a row's running maximum or its log-sum-exp.
float weight(float s, float shift) { return exp(s - shift); }

uvec4 load_random_state() {
  if (RATE == 0 || DRAWN) return uvec4(0);
  return uvec4(args.random.v[0], args.random.v[1], args.random.v[2], args.random.v[3]);
}
uvec4 random_state = load_random_state();

// Dropout factors of keys 4 group .. 4 group + 3 for a query; `row` counts the rows of [B,H,Nq].
vec4 dropout_factors(uint row, uint group) {
  if (RATE == 0) return vec4(1);
  row = whole_element(args.random, PART ? HEADS * args.queries : 0, row);
  const uvec4 words = weight_words(random_state, args.op_id, row, args.keys, group);
  return vec4(dropout_factor(words.x, RATE), dropout_factor(words.y, RATE),
              dropout_factor(words.z, RATE), dropout_factor(words.w, RATE));
}
