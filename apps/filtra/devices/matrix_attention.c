/* The self-test of attention on matrix units, forward and backward, against naive kernels: softmax
 * on whole and partial tiles, p-LaT on partial ones, GFSA on causal ones. Weights are not whole
 * numbers, so results may differ by their type's rounding; NaNs must be in the same elements.
 * Called by matrix_test.c. */
#include "devices/matrices.h"

#include "base/memory.h"
#include "base/rng.h"
#include "ops/attention.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERANDS = 3, RESULTS = 4 }; /* q, k, v; y and the inputs' gradients */
static const char *const RESULT_NAMES[RESULTS] = {"y", "dq", "dk", "dv"};

typedef enum mechanism { ATTENTION, PLAPLACIAN, GFSA } mechanism;
static const char *const NAMES[] = {"attention", "plaplacian", "gfsa"};

typedef struct problem {
  mechanism op;
  bool causal;
  int64_t heads, queries, keys, columns, value_columns;
} problem;

/* Columns of queries and keys, and of values, in problems with partial tiles. */
enum { COLUMNS = 12, VALUE_COLUMNS = 8 };

static bool takes(const filtra_device *dev, filtra_dtype type, bool norms,
                  const ft_configuration *row) {
  const ft_attention_widths widths = {COLUMNS, VALUE_COLUMNS, VALUE_COLUMNS, type, norms};
  return ft_attention_matrix_usable(dev, &widths, row);
}

enum { PROBLEMS = 4 };
/* Lists problems and returns their number: partial tiles on all sides; for the first rows of the
 * table also whole tiles and GFSA. CPU drivers compile wide heads slowly, so they get narrower
 * ones. */
static int list_problems(const filtra_device *dev, filtra_dtype type, size_t index,
                         problem out[PROBLEMS]) {
  const ft_configuration row = ft_configuration_at(FT_TUNE_ATTENTION_MATRIX, index);
  const int64_t rows = row.value[0], columns = row.value[1];
  const int64_t width = ft_caps_of(dev)->for_cpu ? 16 : 64;
  int count = 0;
  out[count++] = (problem){ATTENTION, .heads = 2, rows + 5, columns + 3, COLUMNS, VALUE_COLUMNS};
  if (takes(dev, type, true, &row)) /* p is 1.5 and 2.5 */
    out[count++] =
        (problem){PLAPLACIAN, .heads = 2, rows + 5, rows + columns + 3, COLUMNS, VALUE_COLUMNS};
  if (index > 1) return count;
  out[count++] = (problem){ATTENTION, .heads = 2, rows, 2 * columns, width, width};
  out[count++] = (problem){GFSA, true, .heads = 1, rows + 1, rows + 1, 8, 8};
  return count;
}

/* A problem computed with one kind of kernel. Both kinds have their own inputs, since a graph has
 * one gradient per input. */
typedef struct way {
  filtra_tensor *in[OPERANDS], *result[RESULTS];
} way;

typedef struct comparison {
  problem problem;
  filtra_tensor *dy;
  way matrix, plain;
} comparison;

/* ---- the graph ---- */

static void size_of(const problem *p, int operand, int64_t shape[3]) {
  shape[0] = 1;
  shape[1] = operand ? p->keys : p->queries;
  shape[2] = p->heads * (operand == 2 ? p->value_columns : p->columns);
}

/* Records y with the kernels that `tuning` forces. */
static filtra_tensor *forward(filtra_graph *g, const problem *p, filtra_dtype type,
                              ft_tuning *tuning, way *w) {
  filtra_tensor *heads[OPERANDS];
  for (int i = 0; i < OPERANDS; i++) {
    int64_t shape[3];
    size_of(p, i, shape);
    w->in[i] = filtra_graph_input(g, "operand", FILTRA_F32, 3, shape);
    filtra_graph_require_gradient(g, w->in[i]);
    heads[i] = filtra_split_heads(g, filtra_cast(g, w->in[i], type), p->heads);
  }
  filtra_device *dev = ft_graph_device(g);
  const filtra_attention_options o = {.causal = p->causal};
  const filtra_gfsa_options filter = {.attention = o, .order = 3, .w0 = 0.5f, .wK = 0.25f};
  const filtra_plaplacian_options norms = {.attention = o};
  ft_tuning *before = ft_tuning_use(dev, tuning);
  filtra_tensor *q = heads[0], *k = heads[1], *v = heads[2];
  filtra_tensor *y = p->op == GFSA         ? filtra_gfsa(g, q, k, v, NULL, NULL, NULL, &filter)
                     : p->op == PLAPLACIAN ? filtra_plaplacian(g, q, k, v, &norms)
                                           : filtra_attention(g, q, k, v, &o);
  ft_tuning_use(dev, before);
  return filtra_cast(g, filtra_merge_heads(g, y), FILTRA_F32);
}

static filtra_status record(filtra_graph *g, filtra_dtype type, const ft_configuration *row,
                            comparison *list, int problems) {
  ft_tuning plainest = {.reference = true};
  ft_tuning forced = {
      .forced = true, .forced_family = FT_TUNE_ATTENTION_MATRIX, .forced_configuration = *row};
  filtra_tensor *y[2 * PROBLEMS], *dy[2 * PROBLEMS];
  for (int i = 0; i < problems; i++) {
    comparison *c = &list[i];
    const int64_t shape[] = {1, c->problem.queries, c->problem.heads * c->problem.value_columns};
    y[2 * i] = c->matrix.result[0] = forward(g, &c->problem, type, &forced, &c->matrix);
    y[2 * i + 1] = c->plain.result[0] = forward(g, &c->problem, type, &plainest, &c->plain);
    c->dy = dy[2 * i] = dy[2 * i + 1] = filtra_graph_input(g, "dy", FILTRA_F32, 3, shape);
  }
  FT_TRY(ft_graph_status(g));
  FT_TRY(filtra_graph_backward(g, 2 * problems, y, dy));
  for (int i = 0; i < 2 * problems; i++) {
    way *w = i % 2 ? &list[i / 2].plain : &list[i / 2].matrix;
    filtra_graph_output(g, w->result[0]);
    for (int k = 0; k < OPERANDS; k++)
      w->result[1 + k] = filtra_graph_output(g, filtra_graph_gradient(g, w->in[k]));
  }
  return filtra_graph_compile(g);
}

/* ---- numbers ---- */

static filtra_status set(filtra_graph *g, filtra_tensor *const *list, int count, uint64_t stream,
                         bool nan) {
  const size_t size = (size_t)filtra_tensor_elements(list[0]);
  ft_rng rng = ft_rng_make(2, stream);
  float *x = ft_calloc(size, sizeof *x);
  filtra_status status = x ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < size && x; i++)
    x[i] = 4 * ft_rng_float(&rng) - 2;
  if (nan && x) x[size / 3] = NAN;
  for (int i = 0; i < count && !status; i++)
    status = filtra_graph_set(g, list[i], x);
  free(x);
  return status;
}

/* Sets the inputs. A NaN in a query reaches its row of y and the gradients of all keys. With a
 * causal mask the tiles decide which keys it reaches, so causal problems have no NaN. */
static filtra_status set_numbers(filtra_graph *g, const comparison *c, bool nan) {
  for (int i = 0; i < OPERANDS; i++)
    FT_TRY(set(g, (filtra_tensor *[]){c->matrix.in[i], c->plain.in[i]}, 2, (uint64_t)i,
               nan && i == 0 && !c->problem.causal));
  return set(g, &c->dy, 1, OPERANDS, false);
}

/* ---- comparing ---- */

/* Index of the first wrong element; `count`: none. */
static size_t find_wrong(const float *got, const float *want, size_t count, double rounding) {
  double largest = 0;
  for (size_t i = 0; i < count; i++)
    if (isfinite(want[i])) largest = fmax(largest, fabs((double)want[i]));
  for (size_t i = 0; i < count; i++)
    if (isnan(want[i]) ? !isnan(got[i])
                       : !(fabs((double)got[i] - (double)want[i]) <= rounding * largest))
      return i;
  return count;
}

static filtra_status compare(filtra_graph *g, const comparison *c, int result, filtra_dtype type,
                             const char *row, char why[FT_MATRIX_REASON]) {
  const double rounding = ldexp(16, type == FILTRA_F16 ? -11 : -8);
  const size_t count = (size_t)filtra_tensor_elements(c->plain.result[result]);
  float *got = ft_calloc(count, sizeof *got), *want = ft_calloc(count, sizeof *want);
  filtra_status status = got && want ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = filtra_graph_get(g, c->matrix.result[result], got);
  if (!status) status = filtra_graph_get(g, c->plain.result[result], want);
  const size_t at = status ? count : find_wrong(got, want, count, rounding);
  if (at < count)
    snprintf(why, FT_MATRIX_REASON,
             "found wrong numbers in %s %s (%s), %lld queries, %lld keys: element %zu of %s is %g "
             "and should be %g",
             filtra_dtype_name(type), NAMES[c->problem.op], row, (long long)c->problem.queries,
             (long long)c->problem.keys, at, RESULT_NAMES[result], (double)got[at],
             (double)want[at]);
  free(got);
  free(want);
  return status;
}

static filtra_status run(filtra_graph *g, filtra_dtype type, const char *row,
                         const comparison *list, int problems, char why[FT_MATRIX_REASON]) {
  for (int nan = 0; nan < 2; nan++) {
    for (int i = 0; i < problems; i++)
      FT_TRY(set_numbers(g, &list[i], nan));
    FT_TRY(filtra_graph_execute(g));
    for (int i = 0; i < problems * RESULTS && !*why; i++)
      FT_TRY(compare(g, &list[i / RESULTS], i % RESULTS, type, row, why));
  }
  return FILTRA_OK;
}

/* ---- rows of the table ---- */

/* GFSA uses attention's kernels. */
static size_t count_kernels(const filtra_device *dev, mechanism op) {
  const char *folder = op == PLAPLACIAN ? "plaplacian/" : "attention/";
  size_t count = 0;
  for (size_t i = 0; i < ft_pipeline_count(dev); i++) {
    const char *kernel = ft_pipeline_key(dev, i)->kernel;
    count += kernel && !strncmp(kernel, folder, strlen(folder)) && strstr(kernel, "_matrix");
  }
  return count;
}

static filtra_status test_row(filtra_device *dev, filtra_dtype type, size_t index,
                              char why[FT_MATRIX_REASON]) {
  const ft_configuration row = ft_configuration_at(FT_TUNE_ATTENTION_MATRIX, index);
  char text[FT_TUNING_KEY];
  problem problems[PROBLEMS];
  comparison list[PROBLEMS] = {0};
  filtra_graph *g = NULL;
  size_t before[PROBLEMS];
  const int count = list_problems(dev, type, index, problems);
  for (int i = 0; i < count; i++) {
    list[i].problem = problems[i];
    before[i] = count_kernels(dev, problems[i].op);
  }
  FT_TRY(filtra_graph_create(dev, NULL, &g));
  filtra_status status = record(g, type, &row, list, count);
  for (int i = 0; i < count && !status; i++)
    if (count_kernels(dev, problems[i].op) == before[i])
      status =
          ft_fail(FILTRA_ERROR_UNSUPPORTED, "%s did not take matrix units", NAMES[problems[i].op]);
  if (!status)
    status =
        run(g, type, ft_configuration_text(FT_TUNE_ATTENTION_MATRIX, &row, text), list, count, why);
  filtra_graph_destroy(&g);
  return status;
}

filtra_status matrix_test_attention(filtra_device *dev, filtra_dtype type,
                                    char why[FT_MATRIX_REASON]) {
  if (!ft_attention_matrix_there(dev, type)) return FILTRA_OK;
  for (size_t i = 1; i < ft_configuration_count(FT_TUNE_ATTENTION_MATRIX) && !*why; i++) {
    const ft_configuration row = ft_configuration_at(FT_TUNE_ATTENTION_MATRIX, i);
    if (takes(dev, type, false, &row)) FT_TRY(test_row(dev, type, i, why));
  }
  return FILTRA_OK;
}
