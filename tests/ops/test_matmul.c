/* Matrix products: every kernel variant, transposition, view and edge. */
#include "support/harness.h"

#include "reference/matmul.h"

/* How the operands lie in the inputs. */
enum layout {
  DENSE,  /* a [.., M, K] or [.., K, M], b likewise */
  HEADS,  /* both are heads of [B, N, C] */
  PACKED, /* a and b are heads of the first and last third of one [B, N, 3C] */
  MIXED,  /* a [B, H, M, K] dense, b heads of [B, K, C]; the result merged to [B, M, C] */
  TWICE   /* b is a, transposed: one input, gradients added */
};

struct product {
  enum layout layout;
  int64_t outer, inner; /* 0: no such axis */
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  float scale;
  filtra_dtype type, result;
  int wide;                             /* beside 16 bits: 1, a is F32; 2, b is */
  enum { NONE, LAST, ITSELF } residual; /* the last input, or a, which is square */
};

static filtra_tensor *third(filtra_graph *g, filtra_tensor *packed, int64_t heads,
                            filtra_tensor **last) {
  filtra_tensor *parts[3];
  filtra_chunk(g, packed, 3, parts);
  *last = filtra_split_heads(g, parts[2], heads);
  return filtra_split_heads(g, parts[0], heads);
}

TEST_BUILD(build) {
  const struct product *p = op->settings;
  filtra_tensor *a = in[0], *b = p->layout == TWICE ? in[0] : in[1];
  if (p->layout == HEADS) a = filtra_split_heads(g, a, p->inner);
  if (p->layout == HEADS || p->layout == MIXED) b = filtra_split_heads(g, b, p->inner);
  if (p->layout == PACKED) a = third(g, a, p->inner, &b);
  filtra_matmul_options options = {.transpose_a = p->transpose_a,
                                   .transpose_b = p->transpose_b,
                                   .scale = p->scale,
                                   .token_major = p->layout == MIXED,
                                   .dtype = p->result,
                                   .residual = p->residual == LAST     ? in[op->inputs - 1]
                                               : p->residual == ITSELF ? a
                                                                       : NULL};
  out[0] = filtra_matmul(g, a, b, &options);
  if (p->layout == MIXED) out[0] = filtra_merge_heads(g, out[0]);
}

static reference_matrix matrix(double *data, enum layout layout, const struct product *p,
                               int64_t rows, int64_t columns, bool transposed) {
  int64_t inner = p->inner ? p->inner : 1;
  reference_matrix x = {data, columns, 1, inner * rows * columns, rows * columns};
  if (layout == HEADS || layout == PACKED) {
    int64_t width = inner * columns * (layout == PACKED ? 3 : 1);
    x = (reference_matrix){data, width, 1, rows * width, columns};
  }
  if (!transposed) return x;
  return (reference_matrix){data, x.column, x.row, x.outer, x.inner};
}

TEST_REFERENCE(reference) {
  const struct product *p = op->settings;
  int64_t inner = p->inner ? p->inner : 1, outer = p->outer ? p->outer : 1;
  enum layout of_b = p->layout == MIXED ? HEADS : p->layout;
  double *b = p->layout == TWICE ? in[0] : in[p->layout == PACKED ? 0 : 1];
  if (p->layout == PACKED) b += 2 * inner * p->k;
  reference_matmul(p->transpose_a ? matrix(in[0], p->layout, p, p->k, p->m, true)
                                  : matrix(in[0], p->layout, p, p->m, p->k, false),
                   p->transpose_b ? matrix(b, of_b, p, p->n, p->k, true)
                                  : matrix(b, of_b, p, p->k, p->n, false),
                   matrix(out[0], p->layout == MIXED ? HEADS : DENSE, p, p->m, p->n, false), outer,
                   inner, p->m, p->n, p->k, p->scale != 0 ? (double)p->scale : 1);
  const double *residual = p->residual == ITSELF ? in[0] : in[op->inputs - 1];
  for (int64_t i = 0; p->residual && i < outer * inner * p->m * p->n; i++)
    out[0][i] += residual[i];
}

static test_tensor input(const char *name, enum layout layout, const struct product *p,
                         int64_t rows, int64_t columns) {
  const bool wide = p->wide && *name == " ab"[p->wide];
  test_tensor t = {.name = name, .dtype = wide ? FILTRA_F32 : p->type, .gradient = true};
  if (layout == HEADS || layout == PACKED) {
    t.shape[t.ndim++] = p->outer;
    t.shape[t.ndim++] = rows;
    t.shape[t.ndim++] = p->inner * columns * (layout == PACKED ? 3 : 1);
    return t;
  }
  if (p->outer) t.shape[t.ndim++] = p->outer;
  if (p->inner) t.shape[t.ndim++] = p->inner;
  t.shape[t.ndim++] = rows;
  t.shape[t.ndim++] = columns;
  return t;
}

static void check(filtra_device *device, const struct product *p) {
  int64_t batch = (p->outer ? p->outer : 1) * (p->inner ? p->inner : 1);
  test_op op = {.name = "matmul",
                .inputs = p->layout == TWICE || p->layout == PACKED ? 1 : 2,
                .build = build,
                .reference = reference,
                .settings = p,
                .out_elements = {batch * p->m * p->n}};
  op.in[0] = input("a", p->layout, p, p->transpose_a ? p->k : p->m, p->transpose_a ? p->m : p->k);
  op.in[1] = input("b", p->layout == MIXED ? HEADS : p->layout, p, p->transpose_b ? p->n : p->k,
                   p->transpose_b ? p->k : p->n);
  if (p->residual == LAST) {
    op.in[op.inputs] = input("residual", DENSE, p, p->m, p->n);
    op.in[op.inputs++].dtype = FILTRA_F32;
  }
  test_check_op(device, &op);
}

/* Each in all four transpositions. */
static const struct product dense_products[] = {
    {.m = 1, .n = 1, .k = 1},
    {.m = 33, .n = 7, .k = 130},
    {.m = 7, .n = 130, .k = 33},
    {.m = 32, .n = 24, .k = 64}, /* whole tiles and aligned loads */
};

static const struct product other_products[] = {
    {.m = 130, .n = 1, .k = 33},
    {.m = 1, .n = 33, .k = 130},
    {.inner = 3, .m = 7, .n = 5, .k = 33, .transpose_b = true, .scale = -0.5f},
    {.outer = 2, .inner = 3, .m = 20, .n = 16, .k = 32, .transpose_a = true},
    {.m = 5, .n = 9, .k = 4100, .transpose_a = true}, /* K in parts */
    {.inner = 2, .m = 4, .n = 8, .k = 2112},
    {HEADS, 2, 3, .m = 9, .n = 9, .k = 7, .transpose_b = true, .scale = 0.25f},
    {HEADS, 2, 2, .m = 16, .n = 16, .k = 33, .transpose_a = true},
    {PACKED, 2, 3, .m = 11, .n = 11, .k = 5, .transpose_b = true},
    {PACKED, 1, 2, .m = 32, .n = 32, .k = 32, .transpose_b = true},
    {MIXED, 2, 3, .m = 9, .n = 5, .k = 9},
    {MIXED, 2, 2, .m = 32, .n = 32, .k = 16},
    {TWICE, .m = 13, .n = 13, .k = 21, .transpose_b = true},
    {.outer = 2, .inner = 3, .m = 9, .n = 6, .k = 7, .scale = -0.5f, .residual = LAST},
    {.outer = 2, .inner = 2, .m = 64, .n = 32, .k = 64, .scale = 2, .residual = LAST},
    {.inner = 3, .m = 33, .n = 33, .k = 33, .residual = ITSELF},
    /* large enough for panels of B */
    {HEADS, 2, 3, .m = 100, .n = 34, .k = 34, .transpose_b = true},
    {.outer = 2, .inner = 3, .m = 97, .n = 35, .k = 33},
    {.inner = 5, .m = 100, .n = 34, .k = 40, .scale = 0.5f},
    {TWICE, .m = 5, .n = 5, .k = 2112, .transpose_b = true, .residual = LAST},
};

static void check_all(filtra_device *device) {
  for (size_t i = 0; i < FT_COUNT(dense_products); i++)
    for (int t = 0; t < 4; t++) {
      struct product p = dense_products[i];
      p.transpose_a = t & 1;
      p.transpose_b = t & 2;
      check(device, &p);
    }
  for (size_t i = 0; i < FT_COUNT(other_products); i++)
    check(device, &other_products[i]);
}

/* In all four transpositions. */
static const struct product narrow_products[] = {
    {.m = 33, .n = 7, .k = 65},
    {.m = 32, .n = 24, .k = 64},
};

static const struct product other_narrow_products[] = {
    {.m = 1, .n = 1, .k = 1},
    {.inner = 3, .m = 7, .n = 5, .k = 33, .transpose_b = true, .scale = -0.5f},
    {MIXED, 2, 3, .m = 9, .n = 7, .k = 5},
    {.outer = 2, .inner = 3, .m = 20, .n = 18, .k = 32, .transpose_a = true},
    {.m = 6, .n = 9, .k = 4100, .transpose_a = true}, /* K in parts */
    {HEADS, 2, 3, .m = 9, .n = 9, .k = 7, .transpose_b = true, .scale = 0.25f},
    {HEADS, 2, 2, .m = 16, .n = 16, .k = 33, .transpose_a = true},
    {TWICE, .m = 13, .n = 13, .k = 21, .transpose_b = true},
    {.m = 131, .n = 33, .k = 512}, /* lines a multiple of 1 KiB apart: panels on CPU drivers */
    {MIXED, 2, 3, .m = 9, .n = 7, .k = 5},
    {.m = 33, .n = 7, .k = 65, .transpose_a = true, .wide = 1},
    {MIXED, 2, 3, .m = 9, .n = 7, .k = 5, .wide = 1},
    {.outer = 2, .inner = 3, .m = 20, .n = 7, .k = 9, .wide = 2},
    {.m = 5, .n = 9, .k = 33, .transpose_b = true, .wide = 2},
    {.inner = 3, .m = 9, .n = 6, .k = 7, .scale = -0.5f, .residual = LAST}, /* F32 result */
};

/* Each product has one type in one variant of the kernels and the other in the next. */
static void check_narrow(filtra_device *device, int turn) {
  static const filtra_dtype types[] = {FILTRA_F16, FILTRA_BF16};
  for (int i = 0; i < 8; i++) {
    struct product p = narrow_products[i / 4];
    p.transpose_a = i & 1;
    p.transpose_b = i & 2;
    p.type = types[(i + turn) % 2];
    p.result = i & 1 ? p.type : FILTRA_F32;
    check(device, &p);
  }
  for (size_t i = 0; i < FT_COUNT(other_narrow_products); i++) {
    struct product p = other_narrow_products[i];
    p.type = types[(i + (size_t)turn) % 2];
    p.result = i % 4 < 2 ? p.type : FILTRA_F32;
    check(device, &p);
  }
}

static void check_variant(const char *caps, int turn) {
  owned_device *device = test_open_variant(caps);
  if (!device) skip();
  check_all(device);
  if (ft_caps_of(device)->storage16) check_narrow(device, turn);
}

TEST(test_naive) {
  check_variant("gemm=naive", 0);
}

TEST(test_tiled) {
  check_variant("gemm=tiled", 1);
}

TEST(test_tiled_small) {
  owned_device *device = test_open_device("gemm=tiled,invocations=128,shared=16384");
  check(device, &(struct product){.m = 130, .n = 33, .k = 70});
  check(device, &(struct product){.m = 160, .n = 640, .k = 32, .inner = 5, .transpose_b = true});
}

TEST(test_s64) {
  check_variant("gemm=s64", 0);
}

/* The device's own choice, on a shape that GPUs give their largest tiles. CPU drivers have tiles of
 * one size, and the reference would take most of the suite's time. */
TEST(test_default) {
  if (ft_caps_of(test_device())->cpu)
    check(test_device(), &(struct product){.m = 262, .n = 260, .k = 67, .inner = 2});
  else
    check(test_device(), &(struct product){.m = 130, .n = 66, .k = 19, .inner = 97});
}

/* Whether the device has the variant. */
static bool run(const char *caps, const struct product *p, const float *a, const float *b,
                float *c) {
  filtra_device *device = test_open_variant(caps);
  if (!device) return false;
  filtra_graph *g = test_graph(device, NULL);
  filtra_tensor *x = test_input(g, "a", p->m, p->k);
  filtra_tensor *y = test_input(g, "b", p->k, p->n);
  filtra_tensor *z = filtra_graph_output(g, filtra_matmul(g, x, y, NULL));
  test_evaluate(&g, TEST_SET({x, a}, {y, b}), TEST_GET({z, c}));
  test_close_device(&device);
  return true;
}

TEST(test_variants_agree) {
  const struct product p = {.m = 65, .n = 66, .k = 1025};
  const char *caps[] = {"gemm=naive", "gemm=tiled", "gemm=s64"};
  size_t count = (size_t)(p.m * p.n);
  owned float *a = test_alloc((size_t)(p.m * p.k) * sizeof *a),
              *b = test_alloc((size_t)(p.k * p.n) * sizeof *b);
  owned float *first = test_alloc(count * sizeof *first),
              *other = test_alloc(count * sizeof *other);
  owned double *oracle = test_alloc(count * sizeof *oracle);
  test_random(1, -1, 1, a, (size_t)(p.m * p.k));
  test_random(2, -1, 1, b, (size_t)(p.k * p.n));
  const bool there = run(caps[0], &p, a, b, first);
  for (size_t i = 0; i < count && there; i++)
    oracle[i] = first[i];
  for (size_t v = 1; v < FT_COUNT(caps) && there; v++)
    if (run(caps[v], &p, a, b, other))
      assert_true(test_relative_error(other, oracle, count) < 1e-5);
}

static void expect_types(filtra_device *device, filtra_dtype a_type, filtra_dtype b_type,
                         filtra_dtype result, filtra_status status, const char *part) {
  filtra_graph *g = test_graph(device, NULL);
  filtra_tensor *a = filtra_graph_input(g, "left", a_type, 2, (int64_t[]){4, 4});
  filtra_tensor *b = filtra_graph_input(g, "right", b_type, 2, (int64_t[]){4, 4});
  test_refuse_as(&g, filtra_matmul(g, a, b, &(filtra_matmul_options){.dtype = result}), status,
                 part);
}

/* What is rounded has to be dense: heads of [B, N, C] are not. */
static void expect_dense(filtra_device *device) {
  filtra_graph *g = test_graph(device, NULL);
  filtra_tensor *a = test_input(g, "left", 2, 4, 8);
  filtra_tensor *b = filtra_graph_input(g, "right", FILTRA_F16, 4, (int64_t[]){2, 2, 4, 4});
  test_refuse(&g, filtra_matmul(g, filtra_split_heads(g, a, 2), b, NULL), "be dense and F32");
}

TEST(test_types) {
  owned_device *device = test_device();
  expect_types(device, FILTRA_F32, FILTRA_F32, FILTRA_F16, FILTRA_ERROR_ARGUMENT,
               "a left is F32, b right is F32, the result F16; both operands must have one type");
  if (ft_caps_of(device)->storage16) {
    expect_dense(device);
    expect_types(
        device, FILTRA_F16, FILTRA_BF16, FILTRA_F32, FILTRA_ERROR_ARGUMENT,
        "a left is F16, b right is BF16, the result F32; both operands must have one type, "
        "or one of them be dense and F32");
  }
  device = test_open_device("storage16=0");
  expect_types(device, FILTRA_BF16, FILTRA_BF16, FILTRA_F32, FILTRA_ERROR_UNSUPPORTED,
               "computing in BF16 needs 16-bit storage (storageBuffer16BitAccess)");
}

static void expect_error(int64_t k, bool transpose_b, bool token_major, const char *part) {
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *a = test_input(g, "left", 3, 4);
  filtra_tensor *b = test_input(g, "right", k, 5);
  filtra_matmul_options options = {.transpose_b = transpose_b, .token_major = token_major};
  test_refuse(&g, filtra_matmul(g, a, b, &options), part);
}

TEST(test_errors) {
  expect_error(3, false, false, "a left [3, 4] and b right [3, 5] do not fit");
  expect_error(4, true, false, "b^T right [4, 5] do not fit");
  expect_error(4, false, true, "token_major needs 4 dimensions");
  expect_error(0, false, false, "none of them 0");
}

TEST_MAIN(NULL, test_teardown)
