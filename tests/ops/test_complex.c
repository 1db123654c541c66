/* Complex tensors: parts, phases, products. */
#include "support/harness.h"

#include <complex.h>

static const int64_t shapes[][2] = {{1, 1}, {3, 7}, {17, 65}, {33, 48}, {129, 33}};

/* ---- join and parts ---- */

enum use { BOTH, REAL_ONLY, TWICE, SAME }; /* TWICE: all is used again; SAME: re is im */

struct settings {
  enum use use;
};

TEST_BUILD(build_join) {
  const struct settings *s = op->settings;
  filtra_tensor *im = s->use == REAL_ONLY ? NULL : s->use == SAME ? in[0] : in[1];
  out[0] = filtra_complex(g, in[0], im);
  if (s->use == TWICE) out[1] = filtra_complex(g, im, in[0]);
}

TEST_REFERENCE(ref_join) {
  const struct settings *s = op->settings;
  for (int64_t i = 0; i < op->dims[0]; i++) {
    double im = s->use == REAL_ONLY ? 0 : s->use == SAME ? in[0][i] : in[1][i];
    out[0][2 * i] = in[0][i];
    out[0][2 * i + 1] = im;
    if (s->use == TWICE) {
      out[1][2 * i] = im;
      out[1][2 * i + 1] = in[0][i];
    }
  }
}

TEST(test_join) {
  for (size_t i = 0; i < FT_COUNT(shapes); i++)
    for (int use = BOTH; use <= SAME; use++) {
      int64_t r = shapes[i][0], c = shapes[i][1];
      struct settings settings = {(enum use)use};
      test_op op = {.name = "complex",
                    .inputs = use == REAL_ONLY || use == SAME ? 1 : 2,
                    .outputs = use == TWICE ? 2 : 1,
                    .in = {{"re", FILTRA_F32, 2, {r, c}, .gradient = true},
                           {"im", FILTRA_F32, 2, {r, c}, .gradient = true}},
                    .build = build_join,
                    .reference = ref_join,
                    .settings = &settings,
                    .out_elements = {2 * r * c, use == TWICE ? 2 * r * c : 0},
                    .dims = {r * c}};
      test_check_op(test_device(), &op);
    }
}

TEST_BUILD(build_parts) {
  const struct settings *s = op->settings;
  filtra_tensor *unused;
  filtra_complex_parts(g, in[0], &out[0], s->use == REAL_ONLY ? &unused : &out[1]);
  if (s->use == TWICE) filtra_complex_parts(g, in[0], &out[2], &out[3]);
}

TEST_REFERENCE(ref_parts) {
  for (int k = 0; k < op->outputs; k++)
    for (int64_t i = 0; i < op->dims[0]; i++)
      out[k][i] = in[0][2 * i + k % 2];
}

TEST(test_parts) {
  for (size_t i = 0; i < FT_COUNT(shapes); i++)
    for (int use = BOTH; use <= TWICE; use++) {
      int64_t r = shapes[i][0], c = shapes[i][1];
      struct settings settings = {(enum use)use};
      test_op op = {.name = "complex_parts",
                    .outputs = use == TWICE  ? 4
                               : use == BOTH ? 2
                                             : 1,
                    .in = {{"z", FILTRA_F32, 3, {r, c, 2}, .gradient = true}},
                    .build = build_parts,
                    .reference = ref_parts,
                    .settings = &settings,
                    .dims = {r * c}};
      test_check_op(test_device(), &op);
    }
}

/* ---- unit phases ---- */

TEST_BUILD(build_phase) {
  out[0] = filtra_unit_phase(g, in[0], op->dims[1]);
  out[1] = filtra_unit_phase(g, in[0], !op->dims[1]);
}

TEST_REFERENCE(ref_phase) {
  for (int k = 0; k < 2; k++)
    for (int64_t i = 0; i < op->dims[0]; i++) {
      double complex y = cexp(I * in[0][i] * ((k == 0) == (op->dims[1] != 0) ? 2 * M_PI : 1));
      out[k][2 * i] = creal(y);
      out[k][2 * i + 1] = cimag(y);
    }
}

TEST(test_phase) {
  for (size_t i = 0; i < FT_COUNT(shapes); i++)
    for (int k = 0; k < 4; k++) {
      int64_t r = shapes[i][0], c = shapes[i][1];
      double range = k < 2 ? 1 : 80;
      test_op op = {.name = "unit_phase",
                    .in = {{"x", FILTRA_F32, 2, {r, c}, -range, range, .gradient = true}},
                    .build = build_phase,
                    .reference = ref_phase,
                    .dims = {r * c, k % 2}};
      test_check_op(test_device(), &op);
    }
}

/* Turns are reduced exactly: quarter turns give 0 and +-1, however far out. */
TEST(test_quarter_turns) {
  enum { COUNT = 41 };
  float x[COUNT], y[COUNT][2];
  for (int i = 0; i < COUNT; i++)
    x[i] = 0.25f * (float)(i - COUNT / 2) + (float)(i % 3) * 4096;
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *in = test_input(g, "x", COUNT);
  filtra_tensor *out = filtra_graph_output(g, filtra_unit_phase(g, in, FILTRA_TURNS));
  test_evaluate(&g, TEST_SET({in, x}), TEST_GET({out, y}));
  const float cosines[] = {1, 0, -1, 0};
  for (int i = 0; i < COUNT; i++) {
    int quarter = (i - COUNT / 2 + 4 * COUNT) % 4;
    assert_true(fabsf(y[i][0] - cosines[quarter]) < 2e-7f);
    assert_true(fabsf(y[i][1] - cosines[(quarter + 3) % 4]) < 2e-7f);
  }
}

/* ---- product ---- */

TEST_BUILD(build_product) {
  out[0] = filtra_complex_multiply(g, in[0], in[1]);
  out[1] = filtra_complex_multiply(g, in[0], out[0]); /* gradients of a and of a z are added */
}

TEST_REFERENCE(ref_product) {
  for (int64_t i = 0; i < op->dims[0] * op->dims[1]; i++) {
    const double *a = in[0] + i / op->dims[1] * 2, *z = in[1] + 2 * i;
    double complex y = (a[0] + I * a[1]) * (z[0] + I * z[1]);
    out[0][2 * i] = creal(y);
    out[0][2 * i + 1] = cimag(y);
    y *= a[0] + I * a[1];
    out[1][2 * i] = creal(y);
    out[1][2 * i + 1] = cimag(y);
  }
}

static void check_product(filtra_device *device) {
  for (size_t i = 0; i < FT_COUNT(shapes); i++)
    for (int gradients = 1; gradients <= 3; gradients++) {
      int64_t r = shapes[i][0], c = shapes[i][1];
      test_op op = {.name = "complex_multiply",
                    .in = {{"a", FILTRA_F32, 3, {1, r, 2}, .gradient = gradients & 1},
                           {"z", FILTRA_F32, 4, {1, r, c, 2}, .gradient = gradients & 2}},
                    .build = build_product,
                    .reference = ref_product,
                    .dims = {r, c}};
      test_check_op(device, &op);
    }
}

TEST(test_product) {
  test_with_device(NULL, check_product);
  test_with_device("subgroup=0", check_product);
}

/* ---- blend ---- */

TEST_BUILD(build_blend) {
  out[0] = filtra_complex_blend(g, in[0], in[1]);
  out[1] = filtra_complex_blend(g, in[0], in[1]);
}

TEST_REFERENCE(ref_blend) {
  double w = fmin(1, fmax(0, in[1][0]));
  for (int64_t i = 0; i < op->dims[0]; i++)
    out[0][i] = out[1][i] = w * in[0][2 * i] + (1 - w) * in[0][2 * i + 1];
}

static void check_blend(filtra_device *device) {
  const float weights[] = {0.3f, -0.5f, 1.5f};
  for (size_t i = 0; i < FT_COUNT(shapes); i++)
    for (int k = 0; k < 3; k++) {
      int64_t r = shapes[i][0], c = shapes[i][1];
      test_op op = {.name = "complex_blend",
                    .in = {{"z", FILTRA_F32, 3, {r, c, 2}, .gradient = true},
                           {"weight", FILTRA_F32, 1, {1}, .gradient = true, .fixed = &weights[k]}},
                    .build = build_blend,
                    .reference = ref_blend,
                    .out_elements = {r * c, r * c},
                    .dims = {r * c}};
      test_check_op(device, &op);
    }
}

TEST(test_blend) {
  test_with_device(NULL, check_blend);
  test_with_device("subgroup=0", check_blend);
}

/* At 1, where training begins, the weight can still go down. */
TEST(test_blend_at_one) {
  const float z[] = {2, 5, 1, -3}, up[] = {1, 10};
  float slope;
  filtra_graph *g = test_graph(test_device(), NULL);
  filtra_tensor *in = test_input(g, "z", 2, 2);
  filtra_tensor *w = test_input(g, "w", 1);
  filtra_tensor *upstream = test_input(g, "up", 2);
  filtra_graph_require_gradient(g, w);
  filtra_tensor *y = filtra_complex_blend(g, in, w);
  assert_ok(filtra_graph_backward(g, 1, &y, &upstream));
  filtra_tensor *gradient = filtra_graph_output(g, filtra_graph_gradient(g, w));
  test_evaluate(&g, TEST_SET({in, z}, {w, &(float){1}}, {upstream, up}),
                TEST_GET({gradient, &slope}));
  assert_true(slope == 1 * (2 - 5) + 10 * (1 + 3));
}

/* ---- errors ---- */

static filtra_graph *new_graph(void) {
  filtra_graph *g = test_graph(test_device(), NULL);
  return g;
}

static void expect(filtra_graph *g, const filtra_tensor *result, const char *part) {
  test_refuse(&g, result, part);
}

static filtra_tensor *input(filtra_graph *g, const char *name, int ndim, int64_t last) {
  return filtra_graph_input(g, name, FILTRA_F32, ndim,
                            ndim == 4 ? (int64_t[]){2, 3, 5, last} : (int64_t[]){2, 3, last});
}

TEST(test_errors) {
  filtra_graph *g = new_graph();
  expect(g, filtra_complex(g, input(g, "u", 3, 4), input(g, "v", 3, 5)), "u [2, 3, 4] and v");
  g = new_graph();
  expect(g, filtra_complex(g, input(g, "u", 4, 4), NULL), "no axis left");
  g = new_graph();
  expect(g, filtra_unit_phase(g, input(g, "u", 4, 4), FILTRA_TURNS), "no axis left");
  g = new_graph();
  expect(g, filtra_complex_multiply(g, input(g, "u", 3, 3), input(g, "v", 4, 2)),
         "complex, [.., 2]");
  g = new_graph();
  expect(g, filtra_complex_multiply(g, input(g, "u", 3, 2), input(g, "v", 3, 2)), "feature axis");
  g = new_graph();
  filtra_tensor *two = test_input(g, "w", 2);
  expect(g, filtra_complex_blend(g, input(g, "u", 3, 2), two), "weight (w [2]) must be [1]");
  g = new_graph();
  filtra_tensor *re, *im;
  filtra_complex_parts(g, input(g, "u", 3, 4), &re, &im);
  assert_null(im);
  expect(g, re, "z (u [2, 3, 4]) must be complex");
}

TEST_MAIN(NULL, test_teardown)
