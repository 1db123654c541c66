/* Attention on matrix units, softmax and GFSA, against float64 references: sizes that no tile
 * divides, every option, both types. The test runs where the driver has matrix units (lavapipe 26),
 * and in the adversary, which needs none and chooses their shapes. */
#include "gpu/plan.h"
#include "ops/attention.h"
#include "reference/gfsa.h"
#include "support/attention.h"
#include "support/harness.h"
#include "support/matrices.h"
#include "support/seen.h"

typedef struct settings {
  test_attention_shape shape;
  bool gfsa, causal, mask;
  int bias_dims; /* 0: no bias */
  float scale, dropout;
  filtra_dtype dtype;
} settings;

enum { ORDER = 3, W = 3 }; /* of GFSA; its coefficients are inputs from this one on */

TEST_BUILD(build) {
  const settings *s = op->settings;
  int next = s->gfsa ? W + 3 : W;
  filtra_attention_options o = {.causal = s->causal, .scale = s->scale, .dropout = s->dropout};
  if (s->mask) o.mask = in[next++];
  if (s->bias_dims) o.bias = in[next];
  const filtra_gfsa_options filter = {.attention = o, .order = ORDER};
  filtra_tensor *y = s->gfsa
                         ? filtra_gfsa(g, in[0], in[1], in[2], in[W], in[W + 1], in[W + 2], &filter)
                         : filtra_attention(g, in[0], in[1], in[2], &o);
  out[0] = test_heads_as_floats(g, y);
}

TEST_REFERENCE(reference) {
  const settings *s = op->settings;
  const test_attention_shape *n = &s->shape;
  reference_attention_problem p = {n->batches,
                                   n->heads,
                                   n->queries,
                                   n->keys,
                                   n->columns,
                                   n->value_columns,
                                   .causal = s->causal,
                                   .scale = s->scale != 0 ? (double)s->scale
                                                          : 1 / sqrt((double)n->columns),
                                   .bias_dims = s->bias_dims,
                                   .dropout = op->training ? s->dropout : 0,
                                   .seed = op->seed,
                                   .step = op->step};
  int next = s->gfsa ? W + 3 : W;
  if (s->mask) p.mask = in[next++];
  if (s->bias_dims) p.bias = in[next];
  if (s->gfsa)
    reference_gfsa(&p, ORDER, in[0], in[1], in[2], in[W], in[W + 1], in[W + 2], out[0]);
  else
    reference_attention(&p, in[0], in[1], in[2], out[0]);
}

/* Weights and their gradients are rounded to 16 bits on the way, besides all that is elsewhere. */
static void check(filtra_device *device, const settings *s) {
  const test_attention_shape *n = &s->shape;
  const double ulp = test_half_ulp(s->dtype);
  test_op op = {.name = s->gfsa ? "gfsa" : "attention",
                .build = build,
                .reference = reference,
                .out_elements = {n->batches * n->heads * n->queries * n->value_columns},
                .settings = s,
                .training = s->dropout > 0,
                .seed = UINT64_C(0x9876543210fedcba) + (uint64_t)n->queries,
                .step = UINT64_C(0x200000007),
                .forward_tolerance = (s->gfsa ? 6 : 3) * ulp,
                .gradient_tolerance = (s->gfsa ? 24 : 12) * ulp};
  test_add_qkv(&op, n, s->dtype);
  for (int i = 0; s->gfsa && i < 3; i++)
    op.in[op.inputs++] = (test_tensor){"coefficient", FILTRA_F32, 1, {n->heads}, -0.5, 1};
  test_add_mask_and_bias(&op, n, s->mask, s->bias_dims);
  test_check_op(device, &op);
}

static const settings small[] = {
    /* Nothing is whole; most of the options. */
    {{2, 2, 37, 41, 5, 7}, .causal = true, .mask = true, .bias_dims = 3, .dropout = 0.2f},
    {{1, 2, 3, 41, 5, 7}, .causal = true, .mask = true, .bias_dims = 3, .dropout = 0.2f},
    /* Accesses by four, several blocks and steps; scores so large that maxima move. One key would
     * leave q and k no gradient but what rounding leaves of a difference. */
    {{1, 2, 70, 75, 12, 8}, .scale = 2},
    {{1, 1, 1, 2, 12, 8}, .scale = 2},
    {{1, 2, 21, 21, 8, 12}, .gfsa = true, .mask = true, .dropout = 0.9f},
    /* Accesses by eight, several words of what dropout has drawn. */
    {{1, 2, 40, 70, 8, 16}, .mask = true, .dropout = 0.3f},
    /* So many keys that each kernel draws by itself. */
    {{1, 2, 9, 140, 2, 1}, .causal = true, .dropout = 0.3f},
};
/* What takes drivers long to compile. */
static const settings large[] = {
    {{1, 1, 9, 40, 128, 128}},
    {{1, 1, 35, 9, 33, 100}, .causal = true},
    {{1, 1, 40, 40, 64, 64}, .gfsa = true},
};

static void check_all(filtra_device *device, bool with_large) {
  static const filtra_dtype types[] = {FILTRA_F16, FILTRA_BF16};
  for (size_t i = 0; i < FT_COUNT(types); i++) {
    const filtra_dtype type = types[i];
    if (!ft_matrix_shape_of(ft_caps_of(device), type).m) continue;
    if (type == FILTRA_BF16 && test_interprets()) continue; /* it knows no bfloat16 */
    for (size_t k = 0; k < FT_COUNT(small) + (with_large ? FT_COUNT(large) : 0); k++) {
      settings s = k < FT_COUNT(small) ? small[k] : large[k - FT_COUNT(small)];
      s.dtype = type;
      check(device, &s);
    }
  }
  assert_true(test_compiled(device, "attention/forward_matrix"));
  assert_true(test_compiled(device, "attention/backward_key_matrix"));
  assert_true(test_compiled(device, "attention/backward_query_matrix"));
  assert_true(test_compiled(device, "attention/dropout"));
  test_close_device(&device);
}

/* Every tile that the tuner may choose. */
static void check_rows(const char *caps) {
  const ft_attention_widths widths = {5, 7, 7, FILTRA_F16};
  owned_device *device = test_open_device(caps);
  size_t done = 0;
  settings s = small[0];
  s.dtype = FILTRA_F16;
  for (size_t i = 1; i < ft_configuration_count(FT_TUNE_ATTENTION_MATRIX); i++) {
    const ft_configuration row = ft_configuration_at(FT_TUNE_ATTENTION_MATRIX, i);
    if (!ft_attention_matrix_usable(device, &widths, &row)) continue;
    test_use_row(device, FT_TUNE_ATTENTION_MATRIX, &row, false);
    check(device, &s);
    done++;
  }
  assert_true(done > 0);
}

TEST(test_own_shape) {
  ft_caps caps;
  if (!test_has_matrices(&caps)) skip();
  check_all(test_open_device("matrix=force"), !caps.for_cpu);
  if (caps.matrix_f16.m) check_rows("matrix=force");
}

static void test_shape(void **state) {
  const char *caps = test_matrix_shape_caps(*state, "");
  check_all(test_open_device(caps), true);
  if (!strcmp(*state, "16x16x16")) check_rows(caps);
}
TEST_OF(test_shape, "8x8x8")
TEST_OF(test_shape, "8x8x16")
TEST_OF(test_shape, "16x8x16")
TEST_OF(test_shape, "16x16x16")

static void test_lanes(void **state) {
  check_all(test_open_lanes(*state, ""), true);
}
TEST_OF(test_lanes, "16x8x16 by 32") /* NVIDIA's */
TEST_OF(test_lanes, "16x16x16 by 32")

TEST_MAIN(NULL, test_teardown)
