/* The probes of `filtra bench` compute as many multiply-adds as they count: with fewer, the
 * measured peak would be too high. */
#include "support/harness.h"
#include "support/matrices.h"
#include "support/seen.h"

#include "bench/probes.c" /* the command is no library */

enum { GROUPS = 3, ROUNDS = 3 };

/* What the chains come to; [*count], the caller frees. */
static float *run(filtra_device *device, const bench_chains *chains, filtra_dtype type,
                  size_t *count) {
  filtra_graph *g = test_graph(device, &(filtra_graph_options){0});
  filtra_tensor *sums = bench_chains_of(g, chains, type, GROUPS, ROUNDS);
  assert_ok(ft_graph_status(g));
  sums = filtra_graph_output(g, sums);
  test_compile_and_run(g, NULL, NULL);
  *count = (size_t)filtra_tensor_elements(sums);
  float *x = test_alloc(*count * sizeof *x);
  assert_ok(filtra_graph_get(g, sums, x));
  filtra_graph_destroy(&g);
  return x;
}

static void expect_close(double got, double want, double scale, const bench_chains *chains,
                         size_t i) {
  if (fabs(got - want) <= 1e-5 * scale) return;
  fail_msg("%s, %s: element %zu is %g and should be %g", chains->kernel, chains->name, i, got,
           want);
}

/* Chain i of an invocation begins at its number plus i. */
static double sum_of_chains(uint32_t chains, size_t id) {
  enum { MOST = 64 };
  const double a = 1.0 / (ROUNDS * BENCH_FMA_LINKS);
  double x[MOST], sum = 0.0;
  assert_true(chains <= MOST);
  for (uint32_t i = 0; i < chains; i++)
    x[i] = (double)(id + i);
  for (int link = 0; link < ROUNDS * BENCH_FMA_LINKS; link++)
    for (uint32_t i = 0; i < chains; i++)
      x[i] += a * x[(i + 1) % chains];
  for (uint32_t i = 0; i < chains; i++)
    sum += x[i];
  return sum;
}

TEST(test_multiply_adds) {
  for (size_t v = 0; v < bench_fma_chain_count; v++) {
    const bench_chains *chains = &bench_fma_chains[v];
    size_t count;
    owned float *got = run(test_device(), chains, FILTRA_F32, &count);
    for (size_t id = 0; id < count; id++) {
      const double want = sum_of_chains(chains->rows * chains->columns, id);
      expect_close((double)got[id], want, want, chains, id);
    }
  }
}

/* ---- matrix units ---- */

/* The k-th number of a line of shared memory, which has `depth`. */
static double operand(uint32_t line, uint32_t k, uint32_t depth, filtra_dtype type) {
  const uint32_t number = line * depth + k;
  uint32_t i = number / 2 * 2654435761u;
  i ^= i >> 15;
  i = i >> number % 2 * 16 & 0xffff;
  const double fraction = type == FILTRA_F16 ? (i & 0x3ff) / 1024.0 : (i & 0x7f) / 128.0;
  return (i >> 15 ? -1.0 : 1.0) * (1.0 + fraction);
}

/* The sum over all elements of all A B, which are lines of A times lines of B; *scale: that of the
 * terms' magnitudes. */
static double sum_of_products(const bench_chains *c, ft_matrix_shape s, filtra_dtype type,
                              double *scale) {
  const uint32_t lines_a = c->rows * s.m, lines_b = BENCH_MATRIX_LINKS * c->columns * s.n;
  double sum = 0.0;
  *scale = 0.0;
  for (uint32_t a = 0; a < lines_a; a++)
    for (uint32_t b = 0; b < lines_b; b++)
      for (uint32_t k = 0; k < s.k; k++) {
        const double term = operand(a, k, s.k, type) * operand(lines_a + b, k, s.k, type);
        sum += term;
        *scale += fabs(term);
      }
  return sum;
}

/* Which invocation is which lane of its subgroup, a driver decides; so the workgroups' sums are
 * compared. All subgroups do the same. */
static void check_sums(filtra_device *device, const bench_chains *chains, filtra_dtype type) {
  const ft_matrix_shape s = ft_matrix_shape_of(ft_caps_of(device), type);
  size_t count;
  double scale;
  owned float *got = run(device, chains, type, &count);
  const size_t workgroup = count / GROUPS;
  const double subgroups = (double)workgroup / ft_matrix_lanes(ft_caps_of(device));
  const double want = subgroups * ROUNDS * sum_of_products(chains, s, type, &scale);
  for (size_t i = 0; i < GROUPS; i++) {
    double sum = 0.0;
    for (size_t t = 0; t < workgroup; t++)
      sum += (double)got[i * workgroup + t];
    expect_close(sum, want, subgroups * ROUNDS * scale, chains, i);
  }
}

static void check_matrices(const char *caps) {
  owned_device *device = test_open_device(caps);
  const filtra_dtype types[] = {FILTRA_F16, FILTRA_BF16};
  int done = 0;
  for (int t = 0; t < 2; t++) {
    if (!ft_matrix_shape_of(ft_caps_of(device), types[t]).m) continue;
    if (types[t] == FILTRA_BF16 && test_interprets()) continue; /* it knows no bfloat16 */
    for (size_t v = 0; v < bench_matrix_chain_count; v++) {
      if (!bench_chains_usable(device, &bench_matrix_chains[v], types[t])) continue;
      check_sums(device, &bench_matrix_chains[v], types[t]);
      done++;
    }
  }
  assert_true(done > 0);
}

TEST(test_own_shape) {
  ft_caps caps;
  if (!test_has_matrices(&caps)) skip();
  check_matrices("matrix=force");
}

static void test_shape(void **state) {
  check_matrices(test_matrix_shape_caps(*state, "class=discrete,"));
}
TEST_OF(test_shape, "8x8x8")
TEST_OF(test_shape, "16x8x16")

TEST_MAIN(NULL, test_teardown)
