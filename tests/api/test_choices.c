/* Every op refuses choices that are none of its enumerators, and names what they are. */
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>

enum { B = 2, N = 3, F = 4 };

typedef struct choice_case {
  filtra_tensor *(*build)(filtra_graph *g, int value);
  int known; /* enumerators */
  const char *message;
} choice_case;

static filtra_tensor *sum(filtra_graph *g, int value) {
  return filtra_sum(g, test_input(g, "x", B, N, F), 1, (filtra_reduced_axis)value);
}

static filtra_tensor *mean(filtra_graph *g, int value) {
  return filtra_mean(g, test_input(g, "x", B, N, F), 1, (filtra_reduced_axis)value);
}

static filtra_tensor *largest(filtra_graph *g, int value) {
  return filtra_max(g, test_input(g, "x", B, N, F), 1, (filtra_reduced_axis)value);
}

static filtra_tensor *cumulative(filtra_graph *g, int value) {
  return filtra_cumulative_sum(g, test_input(g, "x", B, N, F), 1, (filtra_direction)value);
}

static filtra_tensor *scan(filtra_graph *g, int value) {
  return filtra_affine_scan(g, test_input(g, "c", B, N, 2), test_input(g, "d", B, N, F, 2),
                            (filtra_direction)value);
}

static filtra_tensor *norm(filtra_graph *g, int value) {
  return filtra_scale_norm(g, test_input(g, "x", B, N, 2), NULL, 0, (filtra_number)value);
}

static filtra_tensor *phase(filtra_graph *g, int value) {
  return filtra_unit_phase(g, test_input(g, "x", B, N), (filtra_angle)value);
}

static filtra_tensor *sorted(filtra_graph *g, int value) {
  return filtra_argsort(g, test_input(g, "x", B, N), NULL, (filtra_sorting)value);
}

static filtra_tensor *pooled(filtra_graph *g, int value) {
  return filtra_pool_mean(g, test_input(g, "x", B, N, F), NULL, (filtra_mean_over)value);
}

static filtra_tensor *activated(filtra_graph *g, int value) {
  return filtra_activate(g, test_input(g, "x", B, N), (filtra_activation)value);
}

static const choice_case CASES[] = {
    {sum, 2, "sum: there is no choice for the reduced axis "},
    {mean, 2, "mean: there is no choice for the reduced axis "},
    {largest, 2, "max: there is no choice for the reduced axis "},
    {cumulative, 2, "cumulative_sum: there is no direction "},
    {scan, 2, "affine_scan: there is no direction "},
    {norm, 2, "scale_norm: there is no kind of number "},
    {phase, 2, "unit_phase: there is no unit of angles "},
    {sorted, 2, "argsort: there is no order "},
    {pooled, 2, "pool_mean: there is no divisor "},
    {activated, FILTRA_ACTIVATION_GELU_TANH + 1, "activate: there is no activation "},
};

TEST(known_ones_are_taken) {
  for (size_t i = 0; i < FT_COUNT(CASES); i++)
    for (int value = 0; value < CASES[i].known; value++) {
      owned_graph *g = test_graph(test_device(), NULL);
      assert_non_null(CASES[i].build(g, value));
      assert_ok(ft_graph_status(g));
    }
}

TEST(others_are_refused) {
  for (size_t i = 0; i < FT_COUNT(CASES); i++) {
    const int values[] = {CASES[i].known, -1, 1000};
    for (size_t k = 0; k < FT_COUNT(values); k++) {
      filtra_graph *g = test_graph(test_device(), NULL);
      test_refuse(&g, CASES[i].build(g, values[k]), test_text("%s%d", CASES[i].message, values[k]));
    }
  }
}

/* A result of such a scale would be one of NaNs, or of infinities. */
TEST(scales_of_products_are_numbers) {
  const float scales[] = {NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < FT_COUNT(scales); i++) {
    filtra_graph *g = test_graph(test_device(), NULL);
    test_refuse(&g,
                filtra_matmul(g, test_input(g, "a", B, N), test_input(g, "b", N, F),
                              &(filtra_matmul_options){.scale = scales[i]}),
                "matmul: scale is ");
  }
}

TEST_MAIN(NULL, test_teardown)
