/* Graph-filter self-attention against a float64 reference that forms the square of A, with both
 * kinds of tiles and every option. */
#include "gpu/internal.h"
#include "reference/gfsa.h"
#include "support/gfsa.h"
#include "support/harness.h"

/* ---- against the float64 reference ---- */

TEST_BUILD(build) {
  filtra_tensor *w[3];
  filtra_gfsa_options o = test_gfsa_operands(op->settings, in, w);
  out[0] = test_heads_as_floats(g, filtra_gfsa(g, in[0], in[1], in[2], w[0], w[1], w[2], &o));
}

static test_op make(const test_gfsa *s) {
  test_op op = test_gfsa_op(s, "gfsa", build);
  /* u and A u are rounded as y is; their difference, which cancels, is multiplied by (K-1) wK, and
   * its products with dy are the gradient of wK. */
  op.forward_tolerance = 6 * test_half_ulp(s->dtype);
  op.gradient_tolerance = 24 * test_half_ulp(s->dtype);
  return op;
}

static void check(filtra_device *device, const void *list, size_t count) {
  const test_gfsa *cases = list;
  for (size_t i = 0; i < count; i++) {
    if (!test_stores(device, cases[i].dtype)) continue;
    test_op op = make(&cases[i]);
    test_check_op(device, &op);
  }
}

TEST(test_shapes) {
  static const test_gfsa cases[] = {
      {1, 2, 1, 5, 5},   {1, 2, 2, 5, 5, .order = 1},     {2, 2, 7, 5, 5, .order = 2},
      {1, 2, 130, 5, 5}, {1, 2, 33, 5, 5, .fixed = true}, {1, 1, 33, 64, 64, .order = 9},
      {1, 2, 70, 128, 7}};
  test_attention_each_way(check, cases, FT_COUNT(cases));
}

TEST(test_options) {
  static const test_gfsa cases[] = {
      {4, 2, 3, 8, 12, .mask = true}, /* some samples are all padding */
      {2, 2, 37, 8, 12, .bias_dims = 2, .order = 5},
      {2, 2, 10, 8, 12, .bias_dims = 4, .mask = true, .dropout = 0.9f},
      {2, 2, 70, 8, 12, .bias_dims = 3, .mask = true, .causal = true, .dropout = 0.3f},
  };
  test_attention_each_way(check, cases, FT_COUNT(cases));
}

/* The types differ in how a number is rounded alone, which tests/graph/test_elements.c covers: each
 * case takes one of them. */
TEST(test_16_bits) {
  static const test_gfsa cases[] = {
      {2, 2, 37, 5, 7, .causal = true, .mask = true, .bias_dims = 3, .dropout = 0.2f,
       .dtype = FILTRA_BF16},
      {1, 2, 5, 5, 7, .bias_dims = 3, .dropout = 0.2f, .dtype = FILTRA_F16},
  };
  test_attention_each_way(check, cases, FT_COUNT(cases));
  owned_device *device = test_open_variant("subgroup=0");
  if (!device) return;
  check(device, cases, 1);
}

/* Without subgroup operations there is one way left. */
TEST(test_without_subgroups) {
  static const test_gfsa cases[] = {{2, 2, 33, 8, 12, .mask = true}};
  owned_device *device = test_open_device("subgroup=0");
  check(device, cases, FT_COUNT(cases));
}

TEST(test_single_gradients) {
  static const test_gfsa s = {2, 2, 17, 8, 6, .causal = true, .bias_dims = 3};
  for (int kept = 0; kept < 7; kept++) {
    test_op op = make(&s);
    for (int i = 0; i < op.inputs; i++)
      op.in[i].gradient = i == kept;
    test_check_op(test_device(), &op);
  }
}

/* ---- one tensor in several places ---- */

/* Head views of one packed projection; w0 and w1 are the same numbers. */
TEST_BUILD(build_shared) {
  const test_gfsa *s = op->settings;
  filtra_tensor *x = filtra_split_heads(g, in[0], s->heads);
  filtra_gfsa_options o = {.attention = {.causal = s->causal}};
  out[0] = filtra_merge_heads(g, filtra_gfsa(g, x, x, x, in[1], in[1], in[2], &o));
}

TEST_REFERENCE(reference_shared) {
  const test_gfsa *s = op->settings;
  int64_t width = s->heads * s->columns, count = s->batches * s->tokens * width;
  owned double *x = test_alloc((size_t)count * sizeof *x),
               *y = test_alloc((size_t)count * sizeof *y);
  reference_attention_problem p = {
      s->batches, s->heads,   s->tokens,           s->tokens,
      s->columns, s->columns, .causal = s->causal, .scale = 1 / sqrt((double)s->columns)};
  for (int pass = 0; pass < 2; pass++) {
    for (int64_t i = 0; i < count; i++) { /* i in [B,N,H,D], at in [B,H,N,D] */
      int64_t d = i % s->columns, h = i / s->columns % s->heads, n = i / width % s->tokens;
      int64_t at = ((i / width / s->tokens * s->heads + h) * s->tokens + n) * s->columns + d;
      if (pass)
        out[0][i] = y[at];
      else
        x[at] = in[0][i];
    }
    if (!pass) reference_gfsa(&p, 3, x, x, x, in[1], in[1], in[2], y);
  }
}

TEST(test_shared_inputs) {
  static const test_gfsa s = {2, 3, 33, 5, 5, .causal = true};
  test_op op = {.name = "tied gfsa",
                .inputs = 3,
                .in = {{"x",
                        FILTRA_F32,
                        3,
                        {s.batches, s.tokens, s.heads * s.columns},
                        -2,
                        2,
                        .gradient = true},
                       {"w0", FILTRA_F32, 1, {s.heads}, .gradient = true},
                       {"wK", FILTRA_F32, 1, {s.heads}, .gradient = true}},
                .build = build_shared,
                .reference = reference_shared,
                .settings = &s,
                .out_elements = {s.batches * s.tokens * s.heads * s.columns}};
  for (size_t i = 0; i < TEST_ATTENTION_WAYS; i++) {
    owned_device *device = test_open_variant(test_attention_way(i));
    if (!device) continue;
    test_check_op(device, &op);
  }
}

/* ---- properties ---- */

/* w = (0, 1, 0) is softmax attention, bit for bit, dropout included. */
TEST(test_softmax_at_start) {
  enum { N = 45, D = 12, COUNT = 2 * 2 * N * D };
  static float value[3][COUNT], y[2][COUNT];
  for (int i = 0; i < 3; i++)
    test_random((uint64_t)i, -2, 2, value[i], COUNT);
  for (size_t i = 0; i < TEST_ATTENTION_WAYS; i++) {
    owned_device *device = test_open_variant(test_attention_way(i));
    if (!device) continue;
    for (int kind = 0; kind < 2; kind++) {
      static const char *const names[] = {"q", "k", "v"};
      filtra_tensor *in[3];
      owned_graph *g = test_graph(device, &(filtra_graph_options){.training = true});
      for (int k = 0; k < 3; k++)
        in[k] = test_input(g, names[k], 2, 2, N, D);
      filtra_gfsa_options o = {.attention = {.causal = true, .dropout = 0.2f}, .order = 7, .w1 = 1};
      filtra_tensor *out =
          filtra_graph_output(g, kind ? filtra_gfsa(g, in[0], in[1], in[2], NULL, NULL, NULL, &o)
                                      : filtra_attention(g, in[0], in[1], in[2], &o.attention));
      assert_ok(filtra_graph_compile(g));
      for (int k = 0; k < 3; k++)
        assert_ok(filtra_graph_set(g, in[k], value[k]));
      filtra_graph_set_step(g, 3, 4);
      assert_ok(filtra_graph_execute(g));
      assert_ok(filtra_graph_get(g, out, y[kind]));
    }
    assert_memory_equal(y[0], y[1], sizeof y[0]);
  }
}

/* Activation bytes of forward and backward over n tokens. */
static uint64_t plan_bytes(int64_t n) {
  owned_graph *g = test_graph(test_device(), &(filtra_graph_options){.training = true});
  filtra_tensor *x = test_input(g, "x", 1, n, 3 * 32), *part[3];
  filtra_graph_require_gradient(g, x);
  filtra_chunk(g, x, 3, part);
  for (int i = 0; i < 3; i++)
    part[i] = filtra_split_heads(g, part[i], 2);
  filtra_gfsa_options o = {.attention = {.causal = true, .dropout = 0.1f}, .w1 = 1, .wK = 0.5f};
  filtra_tensor *y =
      filtra_graph_output(g, filtra_gfsa(g, part[0], part[1], part[2], NULL, NULL, NULL, &o));
  assert_ok(filtra_graph_backward(g, 1, &y, NULL));
  assert_ok(filtra_graph_compile(g));
  uint64_t bytes = filtra_graph_activation_bytes(g);
  return bytes;
}

TEST(test_linear_memory) {
  uint64_t short_plan = plan_bytes(1024), long_plan = plan_bytes(4096);
  assert_between(long_plan, 1, 4 * short_plan + (1 << 16));
}

typedef struct arguments {
  int64_t q[4], k[4], v[4], w[3];
  int order;
  float w1;
} arguments;

static filtra_status compile(const arguments *a) {
  static const char *const names[] = {"w0", "w1", "wK"};
  owned_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *q = filtra_graph_input(g, "q", FILTRA_F32, 4, a->q);
  filtra_tensor *k = filtra_graph_input(g, "k", FILTRA_F32, 4, a->k);
  filtra_tensor *v = filtra_graph_input(g, "v", FILTRA_F32, 4, a->v), *w[3] = {NULL};
  for (int i = 0; i < 3; i++)
    if (a->w[i]) w[i] = filtra_graph_input(g, names[i], FILTRA_F32, 1, &a->w[i]);
  filtra_gfsa_options o = {.order = a->order, .w1 = a->w1};
  filtra_graph_output(g, filtra_gfsa(g, q, k, v, w[0], w[1], w[2], &o));
  filtra_status status = filtra_graph_compile(g);
  return status;
}

TEST(test_errors) {
  const arguments good = {{2, 2, 7, 8}, {2, 2, 7, 8}, {2, 2, 7, 6}, .w = {2, 0, 2}};
  arguments a = good;
  assert_ok(compile(&a));
  a.q[2] = 5;
  assert_fails(compile(&a), FILTRA_ERROR_ARGUMENT, "same tokens");
  a = good;
  a.v[2] = 6;
  assert_fails(compile(&a), FILTRA_ERROR_ARGUMENT, "gfsa: q");
  a = good;
  a.w[2] = 3;
  assert_fails(compile(&a), FILTRA_ERROR_ARGUMENT, "wK (wK [3]) must have");
  a = good;
  a.w1 = NAN;
  assert_fails(compile(&a), FILTRA_ERROR_ARGUMENT, "w1 nan");
  a = good;
  a.order = 33;
  assert_fails(compile(&a), FILTRA_ERROR_ARGUMENT, "order 33");
}

TEST_MAIN(NULL, test_teardown)
