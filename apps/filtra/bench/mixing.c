/* Ops that exchange data between tokens: kernels of the four mechanisms and of the recurrence.
 * Listed for ops.c. */
#include "ops.h"

/* ---- heads of one packed projection ---- */

enum { MOST_PARTS = 4 };

static void packed_heads(bench_graph *g, const bench_shape *s, int parts,
                         filtra_tensor *out[MOST_PARTS]) {
  const int64_t shape[] = {s->batch, s->length, parts * s->width};
  filtra_chunk(g->graph, bench_numbers(g, "projection", 0.0f, 3, shape), parts, out);
  for (int i = 0; i < parts; i++)
    out[i] = filtra_split_heads(g->graph, out[i], s->heads);
}

static filtra_tensor *build_attention(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  filtra_tensor *qkv[MOST_PARTS];
  packed_heads(g, s, 3, qkv);
  return filtra_attention(g->graph, qkv[0], qkv[1], qkv[2],
                          &(filtra_attention_options){.causal = s->causal});
}

static filtra_tensor *build_gfsa(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  filtra_tensor *qkv[MOST_PARTS];
  packed_heads(g, s, 3, qkv);
  return filtra_gfsa(g->graph, qkv[0], qkv[1], qkv[2], bench_numbers(g, "w0", 0.0f, 1, &s->heads),
                     bench_numbers(g, "w1", 0.0f, 1, &s->heads),
                     bench_numbers(g, "wK", 0.0f, 1, &s->heads),
                     &(filtra_gfsa_options){.attention = {.causal = s->causal}});
}

static filtra_tensor *build_plaplacian(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  filtra_tensor *qkv[MOST_PARTS];
  packed_heads(g, s, 3, qkv);
  return filtra_plaplacian(g->graph, qkv[0], qkv[1], qkv[2],
                           &(filtra_plaplacian_options){.attention = {.causal = s->causal}});
}

static filtra_tensor *build_agf(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  filtra_tensor *parts[MOST_PARTS];
  int64_t coefficients = s->out + 1;
  packed_heads(g, s, 4, parts);
  return filtra_agf(g->graph, parts[0], parts[1], parts[2], parts[3],
                    bench_numbers(g, "theta", 0.0f, 1, &coefficients),
                    &(filtra_agf_options){.a = 2.0f, .b = -1.0f});
}

/* ---- the Converter's parts ---- */

static filtra_tensor *rotations(bench_graph *g, const bench_shape *s, const char *name) {
  const int64_t shape[] = {s->batch, s->length - 1};
  filtra_tensor *angles[3];
  for (int i = 0; i < 3; i++)
    angles[i] = bench_numbers(g, name, 0.0f, 2, shape);
  return filtra_givens(g->graph, angles[0], angles[1], angles[2], NULL);
}

static filtra_tensor *build_givens(bench_graph *g, const void *what) {
  return rotations(g, what, "angles");
}

/* Makes the rotations from angles: the transform needs unitary ones. */
static filtra_tensor *build_dhhp(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  const int64_t x[] = {s->batch, s->length, s->width, 2};
  filtra_tensor *phases =
      filtra_unit_phase(g->graph, bench_numbers(g, "phases", 0.0f, 2, x), FILTRA_TURNS);
  return filtra_dhhp(g->graph, bench_numbers(g, "x", 0.0f, 4, x), rotations(g, s, "lower"),
                     rotations(g, s, "upper"), phases, NULL);
}

static filtra_tensor *build_polynomial(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  const int64_t x[] = {s->batch, s->length}, coefficients = s->out + 1;
  return filtra_chebyshev(g->graph, bench_numbers(g, "x", 0.0f, 2, x),
                          bench_numbers(g, "w", 0.0f, 1, &coefficients), NULL);
}

static filtra_tensor *build_gru(bench_graph *g, const void *what) {
  const bench_shape *s = what;
  const int64_t x[] = {s->batch, s->length, s->width}, w[] = {3 * s->width, s->width};
  return filtra_gru(g->graph, bench_numbers(g, "x", 0.0f, 3, x),
                    bench_numbers(g, "w_ih", 0.0f, 2, w), bench_numbers(g, "w_hh", 0.0f, 2, w),
                    bench_numbers(g, "b_ih", 0.0f, 1, w), bench_numbers(g, "b_hh", 0.0f, 1, w));
}

/* ---- shapes ---- */

#define QUICK  .quick = true
#define CAUSAL .causal = true

static const bench_shape HEADS[] = {
    {"LRA", 4, 1024, 64, 2},
    {"LRA text", 4, 4096, 64, 2},
    {"UEA Heartbeat", 16, 405, 512, 8},
    {"ImageNet DeiT-S", 32, 197, 384, 6},
    {"WikiText GPT-2", 4, 1024, 768, 12, CAUSAL},
    {"WikiText p-LaT", 96, 256, 128, 8, CAUSAL},
    {"LRA", 1, 1024, 64, 2, QUICK},
    {"WikiText GPT-2", 1, 256, 768, 12, CAUSAL, QUICK},
};
/* `out` is the order K. */
static const bench_shape FILTERS[] = {
    {"LRA listops", 32, 2048, 64, 2, 5},       {"LRA text", 32, 4096, 64, 2, 5},
    {"UEA Heartbeat", 16, 405, 512, 8, 6},     {"16K tokens", 4, 16384, 128, 2, 5},
    {"LRA listops", 4, 2048, 64, 2, 5, QUICK}, {"UEA Heartbeat", 2, 405, 512, 8, 6, QUICK},
};
static const bench_shape SEQUENCES[] = {
    {"LRA listops", 128, 1999, 32},
    {"LongDoc", 4, 16384, 128},
    {"LRA listops", 8, 1999, 32, QUICK},
    {"LongDoc", 1, 16384, 32, QUICK},
};
static const bench_shape ANGLES[] = {
    {"LRA listops", 128, 1999},
    {"LongDoc", 4, 16384},
    {"LRA listops", 128, 1999, QUICK},
};
static const bench_shape PHASES[] = {
    {"LRA listops", 128, 1999, .out = 2},
    {"LongDoc", 4, 16384, .out = 2},
    {"LRA listops", 128, 1999, .out = 2, QUICK},
};
static const bench_shape RECURRENCES[] = {
    {"LRA listops", 128, 1999, 32},
    {"LongDoc", 4, 16384, 128},
    {"LRA listops", 2, 1999, 32, QUICK},
};

const bench_family bench_mixing[] = {
    {"attention", build_attention, HEADS, FT_COUNT(HEADS)},
    {"gfsa", build_gfsa, HEADS, FT_COUNT(HEADS)},
    {"plaplacian", build_plaplacian, HEADS, FT_COUNT(HEADS)},
    {"agf", build_agf, FILTERS, FT_COUNT(FILTERS), .out = "order", .out_text = ", order"},
    {"dhhp", build_dhhp, SEQUENCES, FT_COUNT(SEQUENCES)},
    {"givens", build_givens, ANGLES, FT_COUNT(ANGLES)},
    {"kernel_polynomial", build_polynomial, PHASES, FT_COUNT(PHASES), .out = "order",
     .out_text = ", order"},
    {"gru", build_gru, RECURRENCES, FT_COUNT(RECURRENCES)},
};
const size_t bench_mixing_count = FT_COUNT(bench_mixing);
