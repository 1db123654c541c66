/* p-Laplacian attention: both kinds of tiles, every option, against float64; p = 2 against
 * attention, bit for bit. `filtra check` runs the golden files in tests/golden. */
#include "gpu/internal.h"
#include "support/attention.h"
#include "support/harness.h"
#include "support/plaplacian.h"

enum { HEADS = TEST_NORM_HEADS };
static const float SMALL_P[HEADS] = {1, 1.23f, 1.5f}, LARGE_P[HEADS] = {2, 2.5f, 3};

static void check(filtra_device *device, const void *list, size_t count) {
  const test_norms *cases = list;
  for (size_t i = 0; i < count; i++) {
    if (!test_stores(device, cases[i].dtype)) continue;
    test_op op = test_norms_op(&cases[i], 1);
    test_check_op(device, &op);
  }
}

TEST(test_shapes) {
  static const test_norms cases[] = {
      {{1, 1, 1, 5, 5}, SMALL_P},    {{1, 1, 1, 5, 5}, LARGE_P},
      {{2, 7, 7, 5, 5}, SMALL_P},    {{2, 7, 7, 5, 5}, LARGE_P},
      {{1, 33, 33, 5, 5}, SMALL_P},  {{1, 3, 50, 5, 5}, SMALL_P}, /* queries are the last tokens */
      {{1, 70, 131, 5, 5}, LARGE_P}, {{1, 35, 35, 70, 33}, NULL},
  };
  test_attention_each_way(check, cases, FT_COUNT(cases));
}

/* The types differ in how a number is rounded alone, which tests/graph/test_elements.c covers: each
 * case takes one of them. */
TEST(test_16_bits) {
  static const test_norms cases[] = {
      {{2, 37, 41, 5, 7},
       SMALL_P,
       .eps = 0.02f,
       .causal = true,
       .mask = true,
       .bias_dims = 3,
       .dropout = 0.2f,
       .dtype = FILTRA_F16},
      {{1, 4, 5, 5, 7}, LARGE_P, .euler = true, .duplicates = true, .dtype = FILTRA_BF16},
  };
  test_attention_each_way(check, cases, FT_COUNT(cases));
}

/* Where registers are few, tiles are cut to single rows, as everywhere else here. */
TEST(test_many_registers) {
  static const test_norms cases[] = {
      {{1, 35, 37, 6, 40}, SMALL_P, .dropout = 0.2f, .causal = true}};
  owned_device *device = test_open_device("attention=tiled,registers=many");
  check(device, cases, FT_COUNT(cases));
}

TEST(test_duplicates) {
  static const test_norms cases[] = {
      {{2, 7, 7, 5, 5}, SMALL_P, .duplicates = true},
      {{2, 34, 34, 5, 5}, LARGE_P, .duplicates = true},
      {{2, 7, 7, 5, 5}, SMALL_P, .duplicates = true, .diagonal = FILTRA_DIAGONAL_ZERO},
      {{2, 34, 34, 5, 5}, LARGE_P, .duplicates = true, .diagonal = FILTRA_DIAGONAL_ZERO},
  };
  test_attention_each_way(check, cases, FT_COUNT(cases));
}

TEST(test_causal_mask_bias_dropout) {
  static const test_norms cases[] = {
      {{2, 33, 33, 5, 5}, SMALL_P, .causal = true, .mask = true},
      {{2, 5, 70, 5, 5}, LARGE_P, .causal = true, .mask = true}, /* a cache of earlier tokens */
      {{4, 2, 3, 5, 5}, SMALL_P, .causal = true, .mask = true},  /* some samples are all padding */
      {{2, 9, 9, 5, 5},
       SMALL_P,
       .eps = 0.02f,
       .causal = true,
       .mask = true,
       .diagonal = FILTRA_DIAGONAL_ONE,
       .bias_dims = 3,
       .dropout = 0.3f},
      {{2, 37, 70, 5, 5},
       LARGE_P,
       .eps = 0.02f,
       .causal = true,
       .mask = true,
       .diagonal = FILTRA_DIAGONAL_ONE,
       .bias_dims = 3,
       .dropout = 0.3f},
  };
  test_attention_each_way(check, cases, FT_COUNT(cases));
}

TEST(test_euler) {
  static const test_norms cases[] = {
      {{2, 7, 7, 5, 5}, SMALL_P, .euler = true, .duplicates = true},
      {{1, 40, 67, 5, 5}, LARGE_P, .euler = true},
      {{2, 9, 9, 5, 5},
       SMALL_P,
       .euler = true,
       .causal = true,
       .mask = true,
       .bias_dims = 2,
       .dropout = 0.2f,
       .diagonal = FILTRA_DIAGONAL_ZERO},
      {{2, 35, 40, 5, 5},
       SMALL_P,
       .euler = true,
       .causal = true,
       .mask = true,
       .bias_dims = 2,
       .dropout = 0.2f,
       .diagonal = FILTRA_DIAGONAL_ZERO},
  };
  test_attention_each_way(check, cases, FT_COUNT(cases));
}

TEST(test_single_gradients) {
  static const test_norms s = {{2, 17, 19, 5, 5}, SMALL_P, .causal = true, .bias_dims = 4};
  for (int kept = 0; kept < 4; kept++) {
    test_op op = test_norms_op(&s, 1);
    for (int i = 0; i < op.inputs; i++)
      op.in[i].gradient = i == kept;
    test_check_op(test_device(), &op);
  }
}

/* One tensor for queries, keys and values: its gradient is the sum of all. */
TEST_BUILD(build_tied) {
  filtra_plaplacian_options o = test_norms_options(op->settings, NULL, NULL);
  out[0] = filtra_plaplacian(g, in[0], in[0], in[0], &o);
}

TEST_REFERENCE(reference_tied) {
  reference_attention_problem p = test_norms_problem(op);
  reference_norms norms = test_norms_reference(op->settings);
  reference_plaplacian(&p, &norms, in[0], in[0], in[0], out[0]);
}

TEST(test_tied) {
  static const test_norms s = {{2, 21, 21, 5, 5}, SMALL_P, .causal = true};
  test_op op = test_norms_op(&s, 1);
  op.inputs = 1;
  op.build = build_tied;
  op.reference = reference_tied;
  test_check_op(test_device(), &op);
}

/* ---- p = 2 ---- */

enum { RESULTS = 5, MOST = HEADS * 40 * 40 };

typedef struct results {
  float of[RESULTS][MOST]; /* y and the gradients of q, k, v and the bias [B,H,N,N] */
} results;

/* Forward and backward; `norms` NULL: plain attention. */
static void run(filtra_device *device, const test_norms *s, const filtra_plaplacian_options *norms,
                results *out) {
  const test_norm_shape *n = &s->shape;
  filtra_tensor *in[4], *get[RESULTS];
  const int64_t sizes[4] = {n->batches, HEADS, n->keys, n->columns};
  const int64_t pairs[4] = {n->batches, HEADS, n->keys, n->keys};
  filtra_graph *g = test_graph(device, &(filtra_graph_options){.training = true});
  for (int i = 0; i < 4; i++) {
    in[i] = filtra_graph_input(g, "x", FILTRA_F32, 4, i < 3 ? sizes : pairs);
    filtra_graph_require_gradient(g, in[i]);
  }
  filtra_tensor *up = filtra_graph_input(g, "up", FILTRA_F32, 4, sizes);
  filtra_plaplacian_options o = test_norms_options(s, NULL, in[3]);
  if (norms) o.p = norms->p;
  filtra_tensor *y = norms ? filtra_plaplacian(g, in[0], in[1], in[2], &o)
                           : filtra_attention(g, in[0], in[1], in[2], &o.attention);
  get[0] = filtra_graph_output(g, y);
  assert_ok(filtra_graph_backward(g, 1, &y, &up));
  for (int i = 0; i < 4; i++)
    get[1 + i] = filtra_graph_output(g, filtra_graph_gradient(g, in[i]));
  assert_ok(filtra_graph_compile(g));
  static float data[MOST];
  for (int i = 0; i < 5; i++) {
    test_random(23 + (uint64_t)i, -1, 1, data, MOST);
    assert_ok(filtra_graph_set(g, i < 4 ? in[i] : up, data));
  }
  filtra_graph_set_step(g, 7, 8);
  assert_ok(filtra_graph_execute(g));
  for (int i = 0; i < RESULTS; i++)
    assert_ok(filtra_graph_get(g, get[i], out->of[i]));
  filtra_graph_destroy(&g);
}

TEST(test_p_two_is_attention) {
  static const float mixed[HEADS] = {2, 1.5f, 2};
  static const filtra_plaplacian_options norms = {.p = mixed};
  static const test_norms cases[] = {
      {{2, 8, 8, 6, 6}},
      {{1, 40, 40, 5, 5}, .causal = true, .dropout = 0.3f, .diagonal = FILTRA_DIAGONAL_ONE},
      {{1, 40, 40, 5, 5}, .causal = true, .euler = true, .diagonal = FILTRA_DIAGONAL_ZERO},
  };
  static results got, want;
  for (size_t i = 0; i < TEST_ATTENTION_WAYS; i++) {
    filtra_device *device = test_open_variant(test_attention_way(i));
    for (size_t k = 0; device && k < FT_COUNT(cases); k++) {
      const test_norm_shape *n = &cases[k].shape;
      run(device, &cases[k], NULL, &want);
      run(device, &cases[k], &norms, &got);
      for (int r = 0; r < RESULTS; r++) {
        size_t size = (size_t)(n->keys * (r == 4 ? n->keys : n->columns));
        for (size_t h = 0; h < (size_t)n->batches * HEADS; h++) {
          bool same = !memcmp(got.of[r] + h * size, want.of[r] + h * size, size * sizeof(float));
          if (same != (h % HEADS != 1)) fail_msg("case %zu, result %d, head %zu", k, r, h);
        }
      }
    }
    if (device) test_close_device(&device);
  }
}

/* ---- memory, errors ---- */

/* Activation bytes of forward and backward over n tokens. */
static uint64_t plan_bytes(int64_t n) {
  filtra_tensor *part[3];
  owned_graph *g = test_graph(test_device(), &(filtra_graph_options){.training = true});
  filtra_tensor *x = test_input(g, "x", 1, n, 3 * 15);
  filtra_graph_require_gradient(g, x);
  filtra_chunk(g, x, 3, part);
  for (int i = 0; i < 3; i++)
    part[i] = filtra_split_heads(g, part[i], HEADS);
  filtra_plaplacian_options o = {.attention = {.dropout = 0.1f}, .euler = true};
  filtra_tensor *y = filtra_graph_output(g, filtra_plaplacian(g, part[0], part[1], part[2], &o));
  assert_ok(filtra_graph_backward(g, 1, &y, NULL));
  assert_ok(filtra_graph_compile(g));
  uint64_t bytes = filtra_graph_activation_bytes(g);
  return bytes;
}

TEST(test_linear_memory) {
  uint64_t short_plan = plan_bytes(1024), long_plan = plan_bytes(4096);
  assert_between(long_plan, 1, 4 * short_plan + (1 << 16));
  assert_between(long_plan, 1, UINT64_C(4) * 4096 * 4096 / 8); /* an eighth of one n x n matrix */
}

static filtra_status compile(const test_norm_shape *n, const filtra_plaplacian_options *o) {
  owned_graph *g = test_graph(test_device(), NULL);
  const int64_t queries[4] = {n->batches, HEADS, n->queries, n->columns};
  const int64_t keys[4] = {n->batches, HEADS, n->keys, n->columns};
  filtra_tensor *q = filtra_graph_input(g, "q", FILTRA_F32, 4, queries);
  filtra_tensor *k = filtra_graph_input(g, "k", FILTRA_F32, 4, keys);
  filtra_tensor *v = filtra_graph_input(g, "v", FILTRA_F32, 4, keys);
  filtra_graph_output(g, filtra_plaplacian(g, q, k, v, o));
  filtra_status status = filtra_graph_compile(g);
  return status;
}

TEST(test_errors) {
  static const test_norm_shape good = {1, 4, 4, 5, 5};
  const float low[HEADS] = {2, 0.5f, 2}, infinite[HEADS] = {2, 2, INFINITY};
  filtra_plaplacian_options o = {0};
  assert_ok(compile(&good, NULL));
  assert_fails(compile(&(test_norm_shape){1, 5, 4, 5, 5}, &o), FILTRA_ERROR_ARGUMENT,
               "5 queries and 4 keys");
  assert_fails(compile(&(test_norm_shape){1, 4, 4, 129, 5}, &o), FILTRA_ERROR_ARGUMENT,
               "plaplacian: q");
  o.p = low;
  assert_fails(compile(&good, &o), FILTRA_ERROR_ARGUMENT, "p of head 1 is 0.5, accepted are 1 to");
  o.p = infinite;
  assert_fails(compile(&good, &o), FILTRA_ERROR_ARGUMENT, "p of head 2 is inf");
  o.p = NULL;
  o.eps = -1;
  assert_fails(compile(&good, &o), FILTRA_ERROR_ARGUMENT, "eps is -1, accepted are 1e-12 to");
  o.eps = NAN;
  assert_fails(compile(&good, &o), FILTRA_ERROR_ARGUMENT, "eps is nan");
  o.eps = 0;
  o.diagonal = (filtra_diagonal)3;
  assert_fails(compile(&good, &o), FILTRA_ERROR_ARGUMENT, "no diagonal mode 3");
  o.diagonal = FILTRA_DIAGONAL_EPS;
  o.attention.dropout = 1;
  assert_fails(compile(&good, &o), FILTRA_ERROR_ARGUMENT, "plaplacian: dropout 1");
}

TEST_MAIN(NULL, test_teardown)
