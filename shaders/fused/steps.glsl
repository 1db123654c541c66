// Steps, one after the other, each with its result in registers. What a step computes and of which
// operands is known when the pipeline is made: drivers leave out all else. With ROWS steps may be
// sums along the last axis: row_sum and in_row are the including shader's.
#include "common/activation.glsl"
#include "common/quotient.glsl"
FT_VALUES(fused_step)

#if FILTRA_ROW_UNIFORM
#include "common/elements.glsl"
#include "common/reduce.glsl"
#include "common/pairs.glsl"
#include "common/uniform_row.glsl"
#define Group vec2 // a lane's pair of a block, whose first element is given
#else
#define Group vec4 // an element in x, or four
#endif

#if PLAIN
const uint ACTIVATIONS = 0;
#else
const uint ACTIVATIONS = FUSED_ACTIVATIONS;
#endif
Group r[FUSED_INPUTS + FUSED_STEPS];

uint field(uint word, uint low, uint bits) {
  return word >> low & (1u << bits) - 1u;
}

// One component after the other in a loop that is not unrolled here, so that the module holds the
// code of all activations once for a step.
Group activated(const uint activation, const bool derivative, Group x) {
  for (uint k = 0; k < x.length(); ++k)
    x[k] = derivative ? activate_derivative(activation, x[k]) : activate(activation, x[k]);
  return x;
}

#if ROWS
// scale times the sum over the row of x's element, or group of four, + offset.
vec4 row_sum(vec4 x, float scale, float offset);
#endif

// Precise, so that no driver merges steps or sums them in another order: the bits of single calls.
Group combine(const uint number, const uint step, Group a, Group b) {
  const uint operation = field(step, FUSED_OPERATION, 4), first = field(step, FUSED_NUMBER, 3);
  precise Group y = a; // STEP_COPY
  if (operation == STEP_ADD) y = a + b;
  if (operation == STEP_MULTIPLY) y = a * b;
  if (operation == STEP_SUBTRACT) y = a - b;
  if (operation == STEP_DIVIDE) y = a / b;
  if (operation == STEP_MINUS_PRODUCT) y = -(a * b);
  if (operation == STEP_AFFINE) y = p.number[first] * a + p.number[first + 1];
  if (operation == STEP_SCALE) y = p.number[first] * a;
#if ROWS
  if (operation == STEP_SUM) y = row_sum(a, 1, 0);
  if (operation == STEP_SUM_AFFINE) y = row_sum(a, p.number[first], p.number[first + 1]);
#endif
  const bool derivative = operation == STEP_DERIVATIVE;
  if ((ACTIVATIONS >> number & 1) != 0 && (derivative || operation == STEP_ACTIVATE)) {
    y = activated(field(step, FUSED_ACTIVATION, 4), derivative, a);
    if (derivative) y = y * b;
  }
  return y;
}

// Where tensor `number`, counted inputs first, has the element at these coordinates.
uint place(uint number, uint i, uvec4 at) {
  const uint stored = field(layouts, FUSED_LAYOUT(number), 2);
  if (stored == 0) return i;
  const uint row = p.row[stored - 1];
  if ((layouts >> (FUSED_SWAPPED + stored - 1) & 1) != 0)
    return (at[0] * p.shape[1] + at[2]) * row + at[1] * p.shape[2] + at[3];
  return ((at[0] * p.shape[0] + at[1]) * p.shape[1] + at[2]) * row + at[3];
}

void store(uint number, uint i, uvec4 at, Group x) {
  uvec2 address = uvec2(p.out0); // SwiftShader crashes where a reference is chosen
  if (number == 1) address = uvec2(p.out1);
  if (number == 2) address = uvec2(p.out2);
  F32 to = F32(address);
  uint k = place(FUSED_INPUTS + number, i, at);
#if ROWS
  const bool of_rows = field(layouts, FUSED_OF_ROWS + number, 1) != 0;
  if (!in_row || (of_rows && at[3] != 0)) return;
  if (of_rows) k = (at[0] * p.shape[0] + at[1]) * p.shape[1] + at[2];
  if (of_rows)
    to.v[k] = x.x;
  else
#endif
#if FILTRA_ROW_UNIFORM
    store_pair(to, k, 0, x);
#else
  if (WHOLE)
    by_fours(to).v[k] = x;
  else
    to.v[k] = x.x;
#endif
}

void run(const uint number, const uint step, uint i, uvec4 at) {
  if (step == STEP_NONE) return;
  precise Group y = combine(number, step, r[field(step, FUSED_A, 4)], r[field(step, FUSED_B, 4)]);
  const uint sum = field(step, FUSED_SUM, 4), target = field(step, FUSED_TARGET, 2);
  if (sum != FUSED_NONE) y += r[sum];
  r[FUSED_INPUTS + number] = y;
  if (target < FUSED_OUTPUTS) store(target, i, at, y);
}

uvec4 coordinates(uint i) {
  uvec4 at = uvec4(i, 0, 0, 0);
  if (SPREAD)
    [[unroll]] for (uint k = 3; k > 0; --k) {
      const uint outer = quotient(at[0], p.factor[k - 1], p.shifts >> 5 * (k - 1) & 31);
      at[k] = at[0] - outer * p.shape[k - 1];
      at[0] = outer;
    }
  return at;
}

// Where an input that has these axes has the element at these coordinates.
uint repeated(const uint own, uvec4 at) {
  uint from = (own & 1) != 0 ? at[0] : 0;
  [[unroll]] for (uint k = 1; k < 4; ++k)
    if ((own >> k & 1) != 0) from = from * p.shape[k - 1] + at[k];
  return from;
}

#if FILTRA_ROW_UNIFORM
// A lane's pair of an input that is repeated, where a block may hold parts of several rows.
vec2 load_repeated(const uint own, F32 t, uint i, uvec4 at) {
  const uint mine = 2 * team_lane(), block = 2 * team_lanes(), length = p.shape[2];
  if ((own & 8) != 0 || length < block)
    return vec2(t.v[repeated(own, coordinates(i + mine))],
                t.v[repeated(own, coordinates(i + mine + 1))]);
  // Of two rows: one element of each.
  const float first = t.v[repeated(own, at)];
  const float last = t.v[repeated(own, coordinates(i + block - 1))];
  return vec2(at[3] + mine < length ? first : last, at[3] + mine + 1 < length ? first : last);
}
#endif

// The element of input `number` at these coordinates.
Group load(const uint number, F32 t, uint i, uvec4 at) {
  const uint own = field(axes, 4 * number, 4);
  uint from = place(number, i, at);
  if (own != FUSED_ALL_AXES) from = repeated(own, at);
#if FILTRA_ROW_UNIFORM
  if (WHOLE && own != FUSED_ALL_AXES) return load_repeated(own, t, i, at);
  if ((own & 8) != 0) return load_pair(t, from, 0);
#else
  if (WHOLE && (own & 8) != 0) return by_fours(t).v[from];
#endif
  return Group(t.v[from]);
}

// All steps for the element or group at these coordinates.
void compute(uint i, uvec4 at) {
  const uint inputs = field(layouts, FUSED_INPUT_COUNT, 3);
  if (inputs > 0) r[0] = load(0, p.in0, i, at);
  if (inputs > 1) r[1] = load(1, p.in1, i, at);
  if (inputs > 2) r[2] = load(2, p.in2, i, at);
  if (inputs > 3) r[3] = load(3, p.in3, i, at);
  if (inputs > 4) r[4] = load(4, p.in4, i, at);
  run(0, step0, i, at);
  run(1, step1, i, at);
  run(2, step2, i, at);
  run(3, step3, i, at);
  run(4, step4, i, at);
  run(5, step5, i, at);
  run(6, step6, i, at);
  run(7, step7, i, at);
}
