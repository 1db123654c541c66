/* Fused elementwise calls and copies give the bits of the calls that they replace, and are fewer.
 * test_random.c compares whole numbers in random graphs with another interpreter. */
#include "graph/plan.h"
#include "support/harness.h"

enum { MOST = 1120, RESULTS = 4 };

typedef struct example {
  const char *name;
  int64_t shape[FILTRA_MAX_DIMS]; /* of x */
  int64_t other[FILTRA_MAX_DIMS]; /* of z */
  void (*build)(filtra_graph *g, filtra_tensor *x, filtra_tensor *z, filtra_tensor **out);
  double bytes; /* most, as a multiple of those without fusion; 0: 1.1 */
  bool gpu;     /* planned as for a GPU */
} example;

typedef struct outcome {
  float numbers[RESULTS][MOST]; /* two outputs, then the gradients of x and z */
  size_t calls, uniform;        /* all, and those by uniform addresses */
  uint64_t bytes;
} outcome;

static void run(const char *caps, const example *e, outcome *o) {
  filtra_device *dev = test_open_device(caps);
  filtra_graph *g;
  float x[MOST], z[MOST];
  test_random(3, 0.25, 2, x, MOST);
  test_random(4, -1, 1, z, MOST);
  memset(o, 0, sizeof *o);
  assert_ok(filtra_graph_create(dev, &(filtra_graph_options){0}, &g));
  filtra_tensor *in[] = {filtra_graph_input(g, "x", FILTRA_F32, 4, e->shape),
                         filtra_graph_input(g, "z", FILTRA_F32, 4, e->other)};
  filtra_tensor *out[RESULTS] = {NULL};
  for (int i = 0; i < 2; i++)
    filtra_graph_require_gradient(g, in[i]);
  e->build(g, in[0], in[1], out);
  for (int i = 0; i < 2; i++)
    filtra_graph_output(g, out[i]);
  assert_ok(filtra_graph_backward(g, 2, out, NULL));
  for (int i = 0; i < 2; i++)
    out[2 + i] = filtra_graph_output(g, filtra_graph_gradient(g, in[i]));
  assert_ok(filtra_graph_compile(g));
  assert_ok(ft_graph_check(g));
  test_run_graph(g, TEST_SET({in[0], x}, {in[1], z}),
                 TEST_GET({out[0], o->numbers[0]}, {out[1], o->numbers[1]}, {out[2], o->numbers[2]},
                          {out[3], o->numbers[3]}));
  o->calls = g->plan->call_count;
  for (size_t i = 0; i < o->calls; i++)
    o->uniform += strstr(g->plan->calls[i].call->key.kernel, "uniform") != NULL;
  o->bytes = filtra_graph_activation_bytes(g);
  filtra_graph_destroy(&g);
  test_close_device(&dev);
}

static double largest_error(const float *got, const float *expected) {
  double wide[MOST];
  for (int i = 0; i < MOST; i++)
    wide[i] = (double)expected[i];
  return test_relative_error(got, wide, MOST);
}

static outcome fused, alone;

static void check(const example *e) {
  run(e->gpu ? "class=discrete,fusion=on" : "fusion=on", e, &fused);
  run(e->gpu ? "class=discrete,fusion=off" : "fusion=off", e, &alone);
  /* A GPU's driver may compile an activation otherwise within another kernel. */
  const bool exact = ft_caps_of(test_device())->for_cpu;
  for (int i = 0; i < RESULTS; i++)
    if (exact ? memcmp(fused.numbers[i], alone.numbers[i], sizeof fused.numbers[i])
              : largest_error(fused.numbers[i], alone.numbers[i]) > 1e-5)
      fail_msg("%s: result %d is not what it is without fusion", e->name, i);
  const double most = (e->bytes > 0 ? e->bytes : 1.1) * (double)alone.bytes;
  if (4 * fused.calls > 3 * alone.calls || (double)fused.bytes > most)
    fail_msg("%s: %zu calls in %llu bytes, without fusion %zu in %llu", e->name, fused.calls,
             (unsigned long long)fused.bytes, alone.calls, (unsigned long long)alone.bytes);
}

/* ---- graphs ---- */

/* All operations on operands of one shape. */
static void build_chain(filtra_graph *g, filtra_tensor *x, filtra_tensor *z, filtra_tensor **out) {
  filtra_tensor *a = filtra_affine(g, filtra_multiply(g, x, z), 0.7f, -0.1f);
  out[0] = filtra_divide(g, filtra_subtract(g, a, z), x);
  out[1] = filtra_add(g, a, out[0]);
}

/* More steps, inputs, results and numbers than a fused call takes. */
static void build_long(filtra_graph *g, filtra_tensor *x, filtra_tensor *z, filtra_tensor **out) {
  filtra_tensor *t = x, *sum = z;
  for (int i = 0; i < 12; i++) {
    t = filtra_affine(g, filtra_multiply(g, t, z), 0.9f, 0.01f * (float)i);
    sum = filtra_add(g, sum, t);
  }
  out[0] = t;
  out[1] = sum;
}

/* One tensor is used several times, so that its gradient is a sum. */
static void build_shared(filtra_graph *g, filtra_tensor *x, filtra_tensor *z, filtra_tensor **out) {
  filtra_tensor *square = filtra_multiply(g, x, x);
  out[0] = filtra_multiply(g, square, filtra_add(g, square, z));
  out[1] = filtra_subtract(g, filtra_multiply(g, z, z), x);
}

/* Sums between the steps, with and without the axis, and a view. */
static void build_sums(filtra_graph *g, filtra_tensor *x, filtra_tensor *z, filtra_tensor **out) {
  const int64_t flat[] = {x->shape[0] * x->shape[1], x->shape[2] * x->shape[3]};
  filtra_tensor *y = filtra_activate(g, filtra_multiply(g, x, z), FILTRA_ACTIVATION_EXP);
  filtra_tensor *share = filtra_divide(g, y, filtra_sum(g, y, 2, FILTRA_KEEP_AXIS));
  out[0] = filtra_affine(g, filtra_mean(g, share, 1, FILTRA_DROP_AXIS), 3, 1);
  filtra_tensor *view = filtra_reshape(g, filtra_affine(g, share, 2, 0), 2, flat);
  out[1] = filtra_multiply(g, view, view);
}

/* Sums along the last axis, what is computed of them, and what of both; a mean, and a sum of heads'
 * copies. */
static void build_rows(filtra_graph *g, filtra_tensor *x, filtra_tensor *z, filtra_tensor **out) {
  filtra_tensor *y = filtra_activate(g, filtra_multiply(g, x, z), FILTRA_ACTIVATION_SIGMOID);
  filtra_tensor *sum = filtra_sum(g, y, 3, FILTRA_KEEP_AXIS);
  filtra_tensor *root = filtra_activate(g, filtra_affine(g, sum, 0.5f, 1), FILTRA_ACTIVATION_SQRT);
  filtra_tensor *share = filtra_divide(g, y, root);
  filtra_tensor *mean = filtra_mean(g, filtra_multiply(g, share, x), 3, FILTRA_DROP_AXIS);
  out[0] = filtra_multiply(g, mean, filtra_mean(g, share, 3, FILTRA_DROP_AXIS));
  out[1] = filtra_subtract(g, share, filtra_sum(g, share, 3, FILTRA_KEEP_AXIS));
}

/* The same of heads, which are stored as slices of rows. */
static void build_rows_of_heads(filtra_graph *g, filtra_tensor *x, filtra_tensor *z,
                                filtra_tensor **out) {
  filtra_tensor *heads = filtra_permute(g, filtra_multiply(g, x, z), (int[]){0, 2, 1, 3});
  filtra_tensor *square = filtra_multiply(g, heads, heads);
  filtra_tensor *norm = filtra_sum(g, square, 3, FILTRA_KEEP_AXIS);
  out[0] = filtra_divide(g, heads, norm);
  out[1] = filtra_permute(g, out[0], (int[]){0, 2, 1, 3});
}

/* Halves of x and z along an axis, and the concatenation of what is made of them. */
static void build_halves(filtra_graph *g, filtra_tensor *x, filtra_tensor *z, int axis,
                         filtra_tensor **out) {
  int64_t half[FILTRA_MAX_DIMS], start[FILTRA_MAX_DIMS] = {0};
  memcpy(half, x->shape, sizeof half);
  half[axis] /= 2;
  filtra_tensor *a = filtra_slice(g, x, start, half), *c = filtra_slice(g, z, start, half);
  start[axis] = half[axis];
  filtra_tensor *b = filtra_slice(g, x, start, half), *d = filtra_slice(g, z, start, half);
  filtra_tensor *p = filtra_affine(g, filtra_multiply(g, a, d), 0.5f, 0.25f);
  filtra_tensor *q = filtra_subtract(g, filtra_multiply(g, b, c), p);
  out[0] = filtra_concat(g, axis, 2, (filtra_tensor *[]){p, q});
  out[1] = filtra_add(g, filtra_multiply(g, a, q), b);
}

static void build_halves_1(filtra_graph *g, filtra_tensor *x, filtra_tensor *z,
                           filtra_tensor **out) {
  build_halves(g, x, z, 1, out);
}

static void build_halves_2(filtra_graph *g, filtra_tensor *x, filtra_tensor *z,
                           filtra_tensor **out) {
  build_halves(g, x, z, 2, out);
}

static void build_halves_3(filtra_graph *g, filtra_tensor *x, filtra_tensor *z,
                           filtra_tensor **out) {
  build_halves(g, x, z, 3, out);
}

/* Heads of tokens, as attention has them: slices of rows, by heads and by tokens. */
static void build_heads(filtra_graph *g, filtra_tensor *x, filtra_tensor *z, filtra_tensor **out) {
  enum { HEADS = 2 };
  const int64_t rows[] = {x->shape[0], x->shape[1] * x->shape[2], x->shape[3]};
  filtra_tensor *p = filtra_split_heads(g, filtra_reshape(g, x, 3, rows), HEADS);
  filtra_tensor *q = filtra_split_heads(g, filtra_reshape(g, z, 3, rows), HEADS);
  filtra_tensor *a = filtra_permute(g, p, (int[]){0, 1, 2, 3});
  filtra_tensor *b = filtra_permute(g, q, (int[]){0, 1, 2, 3});
  filtra_tensor *y = filtra_affine(g, filtra_multiply(g, a, b), 2, 0.5f);
  filtra_tensor *w = filtra_subtract(g, filtra_multiply(g, y, a), b);
  out[0] = filtra_concat(g, 3, 2, (filtra_tensor *[]){y, w});
  out[1] = filtra_permute(g, filtra_multiply(g, w, w), (int[]){0, 2, 1, 3});
}

/* Sums of products, which drivers would sum in another order: GFSA's filter of a matrix. */
static void build_filter(filtra_graph *g, filtra_tensor *x, filtra_tensor *z, filtra_tensor **out) {
  const int64_t shape[] = {1, 1, x->shape[2], x->shape[3]};
  filtra_tensor *a = filtra_softmax(g, x, 3),
                *square = filtra_activate(g, x, FILTRA_ACTIVATION_SIN);
  filtra_tensor *one = filtra_softmax(g, filtra_constant(g, 4, shape, 1), 3);
  filtra_tensor *own = filtra_multiply(g, z, one), *w = filtra_affine(g, z, 0.013f, 0);
  out[0] = filtra_add(g, filtra_affine(g, a, -1, 0), filtra_affine(g, square, 2, 0));
  filtra_tensor *h = filtra_add(g, filtra_multiply(g, z, a), filtra_multiply(g, w, out[0]));
  out[1] = filtra_add(g, h, own);
}

static const filtra_activation ACTIVATIONS[] = {
    FILTRA_ACTIVATION_RELU,    FILTRA_ACTIVATION_GELU,       FILTRA_ACTIVATION_SIN,
    FILTRA_ACTIVATION_TANH,    FILTRA_ACTIVATION_SOFTPLUS,   FILTRA_ACTIVATION_SOFTPLUS5,
    FILTRA_ACTIVATION_SIGMOID, FILTRA_ACTIVATION_EXP,        FILTRA_ACTIVATION_LOG,
    FILTRA_ACTIVATION_SQRT,    FILTRA_ACTIVATION_RECIPROCAL, FILTRA_ACTIVATION_LEAKY_RELU,
    FILTRA_ACTIVATION_ELU,     FILTRA_ACTIVATION_GELU_TANH};

static void build_activations(filtra_graph *g, filtra_tensor *x, filtra_tensor *z,
                              filtra_tensor **out) {
  filtra_tensor *sum = z, *product = z;
  for (size_t i = 0; i < FT_COUNT(ACTIVATIONS); i++) {
    filtra_tensor *y = filtra_activate(g, x, ACTIVATIONS[i]);
    sum = filtra_add(g, sum, y);
    product = filtra_affine(g, filtra_multiply(g, product, y), 1.5f, 0.125f);
  }
  out[0] = sum;
  out[1] = product;
}

TEST(test_one_shape) {
  check(&(example){"groups of four", {2, 3, 4, 8}, {2, 3, 4, 8}, build_chain});
  check(&(example){"odd sizes", {1, 3, 5, 7}, {1, 3, 5, 7}, build_chain});
  check(&(example){"one element", {1, 1, 1, 1}, {1, 1, 1, 1}, build_chain});
}

TEST(test_limits) {
  check(&(example){"long", {2, 3, 4, 8}, {2, 3, 4, 8}, build_long});
  check(&(example){"long, repeated", {2, 3, 4, 8}, {1, 3, 1, 8}, build_long});
}

TEST(test_sums_of_gradients) {
  check(&(example){"shared", {2, 3, 4, 8}, {2, 3, 4, 8}, build_shared});
  check(&(example){"shared, repeated", {2, 3, 4, 8}, {2, 1, 4, 1}, build_shared});
}

/* Every set of axes along which z is repeated. */
TEST(test_repeated_axes) {
  for (int set = 0; set < 16; set++) {
    example e = {"repeated", {2, 3, 5, 4}, {2, 3, 5, 4}, build_chain};
    for (int k = 0; k < 4; k++)
      if (set >> k & 1) e.other[k] = 1;
    check(&e);
  }
}

TEST(test_order) {
  check(&(example){"filter", {2, 2, 12, 12}, {1, 2, 1, 1}, build_filter});
  check(&(example){"filter, one head", {3, 1, 7, 9}, {1, 1, 1, 1}, build_filter});
  check(&(example){"filter of blocks", {1, 2, 4, 64}, {1, 2, 1, 1}, build_filter});
}

TEST(test_sums) {
  check(&(example){"sums", {2, 3, 4, 8}, {2, 3, 4, 8}, build_sums});
  check(&(example){"sums, repeated", {3, 2, 3, 7}, {1, 2, 3, 1}, build_sums});
}

TEST(test_rows) {
  for (int64_t length = 2; length <= 64; length = length * 5 / 4 + 1) {
    const int64_t outer = MOST / length / 3;
    check(
        &(example){"rows", {outer, 3, 1, length}, {outer, 3, 1, length}, build_rows, .gpu = true});
  }
  check(&(example){"rows of 64", {2, 1, 4, 64}, {2, 1, 4, 64}, build_rows, .gpu = true});
  check(&(example){"one row", {1, 1, 1, 63}, {1, 1, 1, 63}, build_rows, .gpu = true});
  check(&(example){"rows, repeated", {2, 3, 2, 40}, {1, 3, 1, 1}, build_rows, .gpu = true});
  check(&(example){"rows, repeated", {2, 3, 2, 17}, {2, 1, 1, 17}, build_rows, .gpu = true});
  check(&(example){"rows of heads", {2, 3, 4, 8}, {2, 3, 4, 8}, build_rows_of_heads, .gpu = true});
  check(&(example){"rows of heads", {2, 3, 4, 7}, {2, 3, 1, 7}, build_rows_of_heads, .gpu = true});
}

TEST(test_copies) {
  check(&(example){"halves of axis 1", {2, 4, 3, 8}, {2, 4, 3, 8}, build_halves_1, 1.15});
  check(&(example){"halves of axis 2", {2, 3, 4, 8}, {2, 3, 4, 8}, build_halves_2, 1.15});
  check(&(example){"halves of axis 3", {2, 3, 4, 8}, {2, 3, 4, 8}, build_halves_3, 1.15});
  check(&(example){"halves, odd", {1, 3, 5, 6}, {1, 3, 5, 6}, build_halves_3, 1.15});
  check(&(example){"heads", {2, 3, 4, 8}, {2, 3, 4, 8}, build_heads});
  check(&(example){"heads, odd", {3, 1, 5, 6}, {3, 1, 5, 6}, build_heads});
  check(&(example){"heads of one sample", {1, 3, 2, 8}, {1, 3, 2, 8}, build_heads});
}

/* By uniform addresses, where the device gains by them. */
static void check_blocks(const example *e) {
  check(e);
  if (ft_uniform_lanes(ft_caps_of(test_device())) && !fused.uniform)
    fail_msg("%s: no call goes by uniform addresses", e->name);
}

TEST(test_blocks) {
  check_blocks(&(example){"blocks", {2, 2, 3, 32}, {2, 2, 3, 32}, build_chain});
  check_blocks(&(example){"blocks of merged axes", {2, 2, 16, 8}, {2, 2, 16, 8}, build_chain});
  check_blocks(&(example){"long", {1, 2, 4, 64}, {1, 2, 1, 64}, build_long});
  for (int set = 0; set < 8; set++) {
    example e = {"blocks, repeated", {2, 2, 3, 32}, {2, 2, 3, 32}, build_shared};
    for (int k = 0; k < 3; k++)
      if (set >> k & 1) e.other[k + (k == 2)] = 1;
    check_blocks(&e);
  }
  for (int set = 0; set < 32; set++) {
    const int64_t heads = set < 16 ? 4 : 8, length = set < 16 ? 10 : 35; /* a block: 16 or 32 */
    example e = {
        "blocks over ends of rows", {2, 2, heads, length}, {2, 2, heads, length}, build_shared};
    for (int k = 0; k < 4; k++)
      if (set >> k & 1) e.other[k] = 1;
    check_blocks(&e);
  }
  check_blocks(&(example){"halves", {1, 2, 4, 64}, {1, 2, 4, 64}, build_halves_3, 1.15});
  check_blocks(&(example){"halves", {2, 2, 4, 32}, {2, 2, 4, 32}, build_halves_2, 1.2});
  check_blocks(&(example){"heads", {1, 2, 4, 64}, {1, 2, 4, 64}, build_heads});
  check_blocks(&(example){"sums", {2, 2, 3, 32}, {1, 2, 3, 1}, build_sums});
  check_blocks(&(example){"activations", {2, 2, 3, 32}, {2, 2, 3, 32}, build_activations});
}

TEST(test_activations) {
  check(&(example){"activations", {2, 3, 4, 8}, {2, 3, 4, 8}, build_activations});
  check(&(example){"activations, odd", {1, 3, 5, 7}, {1, 3, 5, 1}, build_activations});
}

TEST_MAIN(NULL, test_teardown)
