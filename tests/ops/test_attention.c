/* Softmax attention: both kinds of tiles, every option, against float64 and golden files. */
#include "base/safetensors.h"
#include "gpu/internal.h"
#include "reference/attention.h"
#include "support/attention.h"
#include "support/harness.h"

typedef test_attention_shape shape;

typedef struct settings {
  shape shape;
  bool causal, mask;
  int bias_dims; /* 0: no bias */
  float scale, dropout;
  filtra_dtype dtype; /* of q, k and v */
} settings;

/* ---- against the float64 reference ---- */

TEST_BUILD(build) {
  const settings *s = op->settings;
  int next = 3;
  filtra_attention_options o = {.causal = s->causal, .scale = s->scale, .dropout = s->dropout};
  if (s->mask) o.mask = in[next++];
  if (s->bias_dims) o.bias = in[next];
  out[0] = test_heads_as_floats(g, filtra_attention(g, in[0], in[1], in[2], &o));
}

static reference_attention_problem problem_of(const test_op *op) {
  const settings *s = op->settings;
  const shape *n = &s->shape;
  return (reference_attention_problem){n->batches,
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
}

TEST_REFERENCE(reference) {
  const settings *s = op->settings;
  reference_attention_problem p = problem_of(op);
  int next = 3;
  if (s->mask) p.mask = in[next++];
  if (s->bias_dims) p.bias = in[next];
  reference_attention(&p, in[0], in[1], in[2], out[0]);
}

static test_op make(const settings *s) {
  const shape *n = &s->shape;
  test_op op = {.name = "attention",
                .build = build,
                .reference = reference,
                .out_elements = {n->batches * n->heads * n->queries * n->value_columns},
                .settings = s,
                .training = s->dropout > 0,
                .seed = UINT64_C(0x9876543210fedcba) + (uint64_t)n->queries,
                .step = UINT64_C(0x200000007)};
  test_add_qkv(&op, n, s->dtype);
  test_add_mask_and_bias(&op, n, s->mask, s->bias_dims);
  /* A score's gradient is the difference of <dy, v> and <dy, y>, which cancels where a query sees
   * few keys, and y is rounded. */
  op.gradient_tolerance = 12 * test_half_ulp(s->dtype);
  return op;
}

static void check(filtra_device *device, const void *list, size_t count) {
  const settings *cases = list;
  for (size_t i = 0; i < count; i++) {
    if (!test_stores(device, cases[i].dtype)) continue;
    test_op op = make(&cases[i]);
    test_check_op(device, &op);
  }
}

TEST(test_shapes) {
  static const settings cases[] = {
      {{1, 1, 1, 1, 1, 1}},     {{1, 2, 2, 2, 5, 5}},     {{2, 2, 7, 7, 5, 5}},
      {{1, 2, 33, 33, 5, 5}},   {{1, 2, 67, 1, 5, 5}},    {{3, 2, 1, 50, 5, 5}},
      {{1, 2, 130, 130, 5, 5}}, {{1, 1, 33, 33, 64, 64}}, {{1, 1, 130, 33, 33, 16}},
      {{1, 2, 70, 65, 128, 7}}, {{1, 1, 9, 40, 3, 128}},
  };
  test_attention_each_way(check, cases, FT_COUNT(cases));
}

/* Heads as in the golden files, so that these share pipelines. */
TEST(test_causal_and_mask) {
  static const settings cases[] = {
      {{2, 1, 33, 33, 5, 5}, .causal = true},
      {{1, 1, 5, 70, 5, 5}, .causal = true}, /* a cache of earlier keys */
      {{1, 1, 70, 5, 5, 5}, .causal = true}, /* most queries see nothing */
      {{2, 3, 33, 33, 16, 16}, .mask = true},
      {{4, 3, 3, 2, 16, 16}, .mask = true}, /* some samples are all padding */
      {{3, 2, 7, 7, 8, 12}, .causal = true, .mask = true},
      {{2, 2, 130, 130, 8, 12}, .causal = true, .mask = true},
      {{2, 2, 130, 40, 8, 12}, .causal = true, .mask = true},
  };
  test_attention_each_way(check, cases, FT_COUNT(cases));
}

TEST(test_bias) {
  static const settings cases[] = {
      {{2, 3, 7, 9, 5, 5}, .bias_dims = 2},
      {{2, 3, 33, 130, 5, 5}, .bias_dims = 2},
      {{2, 3, 7, 9, 5, 5}, .bias_dims = 3, .causal = true, .mask = true},
      {{1, 3, 70, 37, 5, 5}, .bias_dims = 3, .causal = true, .mask = true},
      {{2, 2, 10, 10, 6, 6}, .bias_dims = 4, .mask = true, .dropout = 0.2f},
      {{1, 2, 70, 35, 6, 6}, .bias_dims = 4, .mask = true, .dropout = 0.2f},
  };
  test_attention_each_way(check, cases, FT_COUNT(cases));
}

TEST(test_dropout) {
  static const settings cases[] = {
      {{1, 2, 4, 4, 5, 5}, .dropout = 0.3f, .causal = true, .mask = true},
      {{2, 2, 7, 7, 5, 5}, .dropout = 0.3f, .causal = true, .mask = true},
      {{1, 2, 33, 70, 5, 5}, .dropout = 0.3f, .causal = true, .mask = true},
      {{2, 1, 70, 33, 65, 70}, .dropout = 0.9f, .scale = -0.7f},
  };
  test_attention_each_way(check, cases, FT_COUNT(cases));
}

/* The types differ in how a number is rounded alone, which tests/graph/test_elements.c covers: each
 * case takes one of them. */
TEST(test_16_bits) {
  static const settings cases[] = {
      {{2, 2, 37, 41, 5, 7},
       .causal = true,
       .mask = true,
       .bias_dims = 3,
       .dropout = 0.2f,
       .dtype = FILTRA_BF16},
      {{1, 2, 7, 8, 5, 7},
       .causal = true,
       .mask = true,
       .bias_dims = 3,
       .dropout = 0.2f,
       .dtype = FILTRA_F16},
  };
  test_attention_each_way(check, cases, FT_COUNT(cases));
}

/* GPUs' kernels take four elements at a time where heads are of whole fours. */
TEST(test_16_bits_by_fours) {
  static const settings cases[] = {{{1, 2, 19, 33, 8, 12}, .dtype = FILTRA_F16},
                                   {{1, 1, 7, 9, 8, 12}, .dtype = FILTRA_BF16}};
  owned_device *device = test_open_device("class=discrete,attention=tiled");
  check(device, cases, FT_COUNT(cases));
}

/* What the device chooses by itself, larger than every tile. */
TEST(test_long) {
  static const settings cases[] = {{{1, 1, 520, 300, 32, 32}, .causal = true}};
  check(test_device(), cases, FT_COUNT(cases));
}

/* Without subgroup operations there is one way left. */
TEST(test_without_subgroups) {
  static const settings cases[] = {{{2, 2, 33, 40, 5, 5}, .mask = true}};
  owned_device *device = test_open_device("subgroup=0");
  check(device, cases, FT_COUNT(cases));
}

TEST(test_single_gradients) {
  static const settings s = {{2, 2, 17, 19, 8, 6}, .causal = true, .bias_dims = 3};
  for (int kept = 0; kept < 4; kept++) {
    test_op op = make(&s);
    for (int i = 0; i < op.inputs; i++)
      op.in[i].gradient = i == kept;
    test_check_op(test_device(), &op);
  }
}

/* ---- views ---- */

/* [B,N,C] -> [B,H,N,C/H], one of `parts` slices of the last axis. */
static double *head_slice(const double *x, const shape *n, int64_t tokens, int part, int parts) {
  int64_t width = n->heads * n->columns;
  double *out = malloc((size_t)(n->batches * tokens * width) * sizeof *out);
  if (!out) abort();
  for (int64_t b = 0; b < n->batches; b++)
    for (int64_t h = 0; h < n->heads; h++)
      for (int64_t t = 0; t < tokens; t++)
        for (int64_t d = 0; d < n->columns; d++)
          out[((b * n->heads + h) * tokens + t) * n->columns + d] =
              x[((b * tokens + t) * parts + part) * width + h * n->columns + d];
  return out;
}

/* Self-attention on head views of one packed projection [B,N,3C]; merged heads come out. */
TEST_BUILD(build_packed) {
  const settings *s = op->settings;
  filtra_tensor *part[3];
  filtra_chunk(g, in[0], 3, part);
  for (int i = 0; i < 3; i++)
    part[i] = filtra_split_heads(g, part[i], s->shape.heads);
  filtra_attention_options o = {.causal = s->causal};
  out[0] = filtra_merge_heads(g, filtra_attention(g, part[0], part[1], part[2], &o));
}

/* The same with one tensor for queries, keys and values: three gradients add up. */
TEST_BUILD(build_tied) {
  const settings *s = op->settings;
  filtra_tensor *x = filtra_split_heads(g, in[0], s->shape.heads);
  filtra_attention_options o = {.causal = s->causal};
  out[0] = filtra_merge_heads(g, filtra_attention(g, x, x, x, &o));
}

TEST_REFERENCE(reference_views) {
  const settings *s = op->settings;
  const shape *n = &s->shape;
  reference_attention_problem p = problem_of(op);
  int parts = (int)op->dims[0];
  double *part[3];
  for (int i = 0; i < 3; i++)
    part[i] = head_slice(in[0], n, n->queries, parts == 1 ? 0 : i, parts);
  int64_t width = n->heads * n->columns;
  owned double *y = test_alloc((size_t)(n->batches * n->queries * width) * sizeof *y);
  reference_attention(&p, part[0], part[1], part[2], y);
  for (int64_t b = 0; b < n->batches; b++)
    for (int64_t h = 0; h < n->heads; h++)
      for (int64_t t = 0; t < n->queries; t++)
        for (int64_t d = 0; d < n->columns; d++)
          out[0][(b * n->queries + t) * width + h * n->columns + d] =
              y[((b * n->heads + h) * n->queries + t) * n->columns + d];
  for (int i = 0; i < 3; i++)
    free(part[i]);
}

TEST(test_views) {
  static const settings packed = {{2, 2, 33, 33, 16, 16}},
                        tied = {{2, 3, 21, 21, 5, 5}, .causal = true},
                        half = {{2, 3, 21, 21, 5, 5}, .dtype = FILTRA_F16},
                        tied_half = {{2, 3, 21, 21, 5, 5}, .causal = true, .dtype = FILTRA_BF16};
  static const struct {
    const settings *settings;
    int64_t parts;
  } cases[] = {{&packed, 3}, {&tied, 1}, {&half, 3}, {&tied_half, 1}};
  for (size_t i = 0; i < FT_COUNT(cases) * TEST_ATTENTION_WAYS; i++) {
    const settings *s = cases[i / TEST_ATTENTION_WAYS].settings;
    owned_device *device = test_open_variant(test_attention_way(i % TEST_ATTENTION_WAYS));
    if (!device) continue;
    int64_t parts = cases[i / TEST_ATTENTION_WAYS].parts;
    int64_t width = parts * s->shape.heads * s->shape.columns;
    test_op op = {.name = parts == 1 ? "tied attention" : "packed attention",
                  .inputs = 1,
                  .in = {{"x",
                          s->dtype,
                          3,
                          {s->shape.batches, s->shape.queries, width},
                          -2,
                          2,
                          .gradient = true}},
                  .build = parts == 1 ? build_tied : build_packed,
                  .reference = reference_views,
                  .settings = s,
                  .dims = {parts}};
    if (test_stores(device, s->dtype)) test_check_op(device, &op);
  }
}

/* ---- golden files ---- */

/* Copies a tensor of a golden file as float64; NULL when the file has none of that name. */
static double *golden_values(const ft_safetensors *file, const char *name, size_t *count) {
  const ft_safetensor *t = ft_safetensors_find(file, name);
  *count = 1;
  if (!t) return NULL;
  for (int i = 0; i < t->ndim; i++)
    *count *= (size_t)t->shape[i];
  double *values = malloc(*count * sizeof *values);
  if (!values) abort();
  for (size_t i = 0; i < *count; i++)
    values[i] = ft_element_get(t->dtype, t->data, i);
  return values;
}

static filtra_tensor *golden_input(filtra_graph *g, const ft_safetensors *file, const char *name) {
  const ft_safetensor *t = ft_safetensors_find(file, name);
  return t ? filtra_graph_input(g, name, FILTRA_F32, t->ndim, t->shape) : NULL;
}

static void set_golden(filtra_graph *g, const ft_safetensors *file, filtra_tensor *t,
                       const char *name) {
  if (t) assert_ok(filtra_graph_set(g, t, ft_safetensors_find(file, name)->data));
}

static void compare_golden(filtra_graph *g, const ft_safetensors *file, filtra_tensor *t,
                           const char *name, double rtol, double atol) {
  size_t count = 0;
  double *want = golden_values(file, name, &count), scale = 0;
  assert_non_null(want);
  float *got = test_alloc(count * sizeof *got);
  assert_ok(filtra_graph_get(g, t, got));
  for (size_t i = 0; i < count; i++)
    scale = fmax(scale, fabs(want[i]));
  for (size_t i = 0; i < count; i++)
    if (!(fabs((double)got[i] - want[i]) <= rtol * scale + atol))
      fail_msg("%s, %s[%zu]: got %.9g, want %.9g", ft_safetensors_meta(file, "case"), name, i,
               (double)got[i], want[i]);
  free(got);
  free(want);
}

static void check_golden(filtra_device *device, const char *case_name) {
  const char *path = test_golden(case_name);
  if (!path) {
    print_message("golden file %s is not here\n", case_name);
    return;
  }
  static const char *const names[] = {"in.q", "in.k", "in.v"};
  static const char *const gradients[] = {"grad.in.q", "grad.in.k", "grad.in.v"};
  ft_safetensors *file = NULL;
  assert_ok(ft_safetensors_open(path, &file));
  filtra_graph *g = test_graph(device, NULL);
  filtra_tensor *in[3], *slope[3];
  for (int i = 0; i < 3; i++) {
    in[i] = golden_input(g, file, names[i]);
    filtra_graph_require_gradient(g, in[i]);
  }
  filtra_attention_options o = {.causal = !strcmp(ft_safetensors_meta(file, "causal"), "true"),
                                .mask = golden_input(g, file, "fixed.mask")};
  filtra_tensor *up = golden_input(g, file, "up.y");
  filtra_tensor *y = filtra_graph_output(g, filtra_attention(g, in[0], in[1], in[2], &o));
  assert_ok(filtra_graph_backward(g, 1, &y, &up));
  for (int i = 0; i < 3; i++)
    slope[i] = filtra_graph_output(g, filtra_graph_gradient(g, in[i]));
  assert_ok(filtra_graph_compile(g));
  for (int i = 0; i < 3; i++)
    set_golden(g, file, in[i], names[i]);
  set_golden(g, file, o.mask, "fixed.mask");
  set_golden(g, file, up, "up.y");
  assert_ok(filtra_graph_execute(g));
  compare_golden(g, file, y, "out.y", 2e-5, 1e-6);
  double atol = 2e-6 * atof(ft_safetensors_meta(file, "grad_scale"));
  for (int i = 0; i < 3; i++)
    compare_golden(g, file, slope[i], gradients[i], 2e-4, atol);
  filtra_graph_destroy(&g);
  ft_safetensors_close(&file);
}

static void check_golden_files(filtra_device *device, const char *const *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char name[64];
    snprintf(name, sizeof name, "softmax_%s", cases[i]);
    check_golden(device, name);
  }
}

TEST(test_golden_files) {
  static const char *const all[] = {"n130d16",          "n130d64", "n1d5",        "n1d5_causal",
                                    "n1d5_mask",        "n33d16",  "n7d5",        "n33d16_causal",
                                    "n33d16_mask",      "n33d64",  "n7d5_causal", "n7d5_mask",
                                    "n7d16_mask_causal"};
  static const char *const some[] = {"n130d64", "n33d16_mask", "n7d5_causal", "n7d16_mask_causal"};
  check_golden_files(test_device(), all, FT_COUNT(all));
  for (size_t i = 0; i < TEST_ATTENTION_WAYS; i++) {
    owned_device *device = test_open_variant(test_attention_way(i));
    if (!device) continue;
    check_golden_files(device, some, FT_COUNT(some));
  }
}

/* ---- memory, extremes, errors ---- */

/* Activation bytes of forward and backward over n tokens. */
static uint64_t plan_bytes(int64_t n) {
  owned_graph *g = test_graph(test_device(), &(filtra_graph_options){.training = true});
  filtra_tensor *x = test_input(g, "x", 1, n, 3 * 32), *part[3];
  filtra_graph_require_gradient(g, x);
  filtra_chunk(g, x, 3, part);
  for (int i = 0; i < 3; i++)
    part[i] = filtra_split_heads(g, part[i], 2);
  filtra_tensor *y = filtra_graph_output(
      g, filtra_attention(g, part[0], part[1], part[2],
                          &(filtra_attention_options){.causal = true, .dropout = 0.1f}));
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

/* Scores far apart, minus infinity in the bias, and rows where it leaves nothing. */
TEST(test_extremes) {
  enum { N = 20, D = 4 };
  float q[N * D], k[N * D], v[N * D], bias[N * N], y[N * D], slope[N * D];
  test_random(1, -1, 1, v, N * D);
  for (int i = 0; i < N * D; i++) {
    int key = i / D;
    q[i] = 100;
    k[i] = (float)(key - 10);
  }
  for (int i = 0; i < N * N; i++)
    bias[i] = i / N == 3 || i % N == N - 1 ? -INFINITY : 0;
  for (size_t i = 0; i < TEST_ATTENTION_WAYS; i++) {
    owned_device *device = test_open_variant(test_attention_way(i));
    if (!device) continue;
    filtra_graph *g = test_graph(device, NULL);
    const int64_t sizes[4] = {1, 1, N, D};
    filtra_tensor *in[3] = {filtra_graph_input(g, "q", FILTRA_F32, 4, sizes),
                            filtra_graph_input(g, "k", FILTRA_F32, 4, sizes),
                            filtra_graph_input(g, "v", FILTRA_F32, 4, sizes)};
    filtra_tensor *b = test_input(g, "bias", N, N);
    filtra_graph_require_gradient(g, in[1]);
    filtra_tensor *out = filtra_graph_output(
        g, filtra_attention(g, in[0], in[1], in[2], &(filtra_attention_options){.bias = b}));
    assert_ok(filtra_graph_backward(g, 1, &out, NULL));
    filtra_tensor *dk = filtra_graph_output(g, filtra_graph_gradient(g, in[1]));
    test_evaluate(&g, TEST_SET({in[0], q}, {in[1], k}, {in[2], v}, {b, bias}),
                  TEST_GET({out, y}, {dk, slope}));
    for (int e = 0; e < N * D; e++) { /* key N - 2 has the largest score of those that are left */
      float want = e / D == 3 ? 0 : v[(N - 2) * D + e % D];
      assert_true(fabsf(y[e] - want) <= 1e-6f);
      assert_true(fabsf(slope[e]) <= 1e-3f);
    }
  }
}

typedef struct arguments {
  int64_t q[4], k[4], v[4], mask[2], bias[4];
  int bias_dims;
  float scale, dropout;
  filtra_dtype dtype[3]; /* of q, k and v */
} arguments;

static filtra_status compile(filtra_device *device, const arguments *a) {
  owned_graph *g = test_graph(device, NULL);
  filtra_tensor *q = filtra_graph_input(g, "q", a->dtype[0], 4, a->q);
  filtra_tensor *k = filtra_graph_input(g, "k", a->dtype[1], 4, a->k);
  filtra_tensor *v = filtra_graph_input(g, "v", a->dtype[2], 4, a->v);
  filtra_attention_options o = {.scale = a->scale, .dropout = a->dropout};
  if (a->mask[0]) o.mask = filtra_graph_input(g, "mask", FILTRA_F32, 2, a->mask);
  if (a->bias_dims) o.bias = filtra_graph_input(g, "bias", FILTRA_F32, a->bias_dims, a->bias);
  filtra_graph_output(g, filtra_attention(g, q, k, v, &o));
  filtra_status status = filtra_graph_compile(g);
  return status;
}

TEST(test_errors) {
  const arguments good = {{2, 2, 5, 8}, {2, 2, 7, 8}, {2, 2, 7, 6}};
  arguments a = good;
  assert_ok(compile(test_device(), &a));
  a.k[3] = 9;
  assert_fails(compile(test_device(), &a), FILTRA_ERROR_ARGUMENT, "[2, 2, 7, 9]");
  a = good;
  a.v[2] = 6;
  assert_fails(compile(test_device(), &a), FILTRA_ERROR_ARGUMENT, "[2, 2, 7, 8]");
  a = good;
  a.v[1] = 1;
  assert_fails(compile(test_device(), &a), FILTRA_ERROR_ARGUMENT, "Dv");
  a = good;
  a.q[3] = a.k[3] = 129;
  assert_fails(compile(test_device(), &a), FILTRA_ERROR_ARGUMENT, "128");
  a = good;
  a.mask[0] = 2;
  a.mask[1] = 5;
  assert_fails(compile(test_device(), &a), FILTRA_ERROR_ARGUMENT, "mask");
  a = good;
  a.bias_dims = 3;
  memcpy(a.bias, (int64_t[]){1, 5, 7}, 3 * sizeof *a.bias);
  assert_fails(compile(test_device(), &a), FILTRA_ERROR_ARGUMENT, "bias [1, 5, 7]");
  a = good;
  a.dropout = 1;
  assert_fails(compile(test_device(), &a), FILTRA_ERROR_ARGUMENT, "dropout 1");
  a = good;
  a.scale = NAN;
  assert_fails(compile(test_device(), &a), FILTRA_ERROR_ARGUMENT, "scale");
  a = good;
  a.dtype[1] = FILTRA_I32;
  assert_fails(compile(test_device(), &a), FILTRA_ERROR_ARGUMENT, "k (k [2, 2, 7, 8]) is I32");
}

TEST(test_type_errors) {
  arguments a = {{2, 2, 5, 8}, {2, 2, 7, 8}, {2, 2, 7, 6}, .dtype = {FILTRA_F16, FILTRA_F16}};
  filtra_device *device = test_open_device("storage16=0");
  assert_fails(compile(device, &a), FILTRA_ERROR_UNSUPPORTED,
               "computing in F16 needs 16-bit storage");
  test_close_device(&device);
  if (!ft_caps_of(test_device())->storage16) return;
  assert_fails(compile(test_device(), &a), FILTRA_ERROR_ARGUMENT,
               "q is F16, k F16 and v F32; they must be of one type");
}

TEST_MAIN(NULL, test_teardown)
