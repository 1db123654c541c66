/* Random graphs through tape, differentiation, planner, barriers and checker, against a plain
 * interpreter. All values are whole and so small that floats hold every sum exactly, so results
 * must be equal whatever the order of computation. FILTRA_TEST_SEED draws other graphs. */
#include "base/rng.h"
#include "support/harness.h"

enum { MOST_NODES = 40, MOST_SIDE = 9, INPUTS = 3 };
#if defined __SANITIZE_ADDRESS__
enum { GRAPHS = 100 };
#else
enum { GRAPHS = 1000 };
#endif
/* One of so many graphs is fused, as on a CPU or a GPU: most kernels of these are its own. */
enum { FUSED = 10 };

static const double LIMIT = 1 << 24; /* whole numbers up to this are floats */

typedef enum kind {
  INPUT,
  ADD,
  SUBTRACT,
  MULTIPLY,
  AFFINE,
  MATMUL,
  TRANSPOSE,
  SLICE,
  CONCAT,
  SUM,
  CUMULATE,
  RESHAPE
} kind;

/* A matrix. */
typedef struct node {
  kind kind;
  int64_t rows, columns;
  int a, b;        /* operands */
  int64_t from[2]; /* SLICE: where it begins; AFFINE: factor and offset; SUM, CUMULATE: axis */
  double *value, *gradient;
  filtra_tensor *tensor;
  bool used;
} node;

typedef struct graph {
  node nodes[MOST_NODES];
  int count;
  ft_rng rng;
} graph;

static int64_t below(graph *r, int64_t bound) {
  return (int64_t)ft_rng_below(&r->rng, (uint64_t)bound);
}

static int64_t size_of(const node *n) {
  return n->rows * n->columns;
}

/* ---- the interpreter ---- */

static double at(const node *n, int64_t row, int64_t column) {
  return n->value[row * n->columns + column];
}

/* A node from its operands. */
static void compute(const graph *r, node *n) {
  const node *a = &r->nodes[n->a], *b = &r->nodes[n->b];
  for (int64_t i = 0; i < n->rows; i++)
    for (int64_t j = 0; j < n->columns; j++) {
      double *to = &n->value[i * n->columns + j], sum = 0;
      int64_t k = i * n->columns + j;
      switch (n->kind) {
      case INPUT:
        break;
      case ADD:
        *to = at(a, i, j) + at(b, b->rows == 1 ? 0 : i, j);
        break;
      case SUBTRACT:
        *to = at(a, i, j) - at(b, b->rows == 1 ? 0 : i, j);
        break;
      case MULTIPLY:
        *to = at(a, i, j) * at(b, b->rows == 1 ? 0 : i, j);
        break;
      case AFFINE:
        *to = (double)n->from[0] * a->value[k] + (double)n->from[1];
        break;
      case MATMUL:
        for (int64_t m = 0; m < a->columns; m++)
          sum += at(a, i, m) * at(b, m, j);
        *to = sum;
        break;
      case TRANSPOSE:
        *to = at(a, j, i);
        break;
      case SLICE:
        *to = at(a, i + n->from[0], j + n->from[1]);
        break;
      case CONCAT:
        *to = i < a->rows ? at(a, i, j) : at(b, i - a->rows, j);
        break;
      case SUM:
        for (int64_t m = 0; m < (n->from[0] ? a->columns : a->rows); m++)
          sum += n->from[0] ? at(a, i, m) : at(a, m, j);
        *to = sum;
        break;
      case CUMULATE:
        for (int64_t m = 0; m <= (n->from[0] ? j : i); m++)
          sum += n->from[0] ? at(a, i, m) : at(a, m, j);
        *to = sum;
        break;
      case RESHAPE:
        *to = a->value[k];
        break;
      }
    }
}

static void add_to(node *n, int64_t row, int64_t column, double amount) {
  n->gradient[row * n->columns + column] += amount;
}

/* Adds what n's gradient is to its operands'. */
static void push_back(graph *r, const node *n) {
  node *a = &r->nodes[n->a], *b = &r->nodes[n->b];
  for (int64_t i = 0; i < n->rows; i++)
    for (int64_t j = 0; j < n->columns; j++) {
      int64_t k = i * n->columns + j, row = b->rows == 1 ? 0 : i;
      double up = n->gradient[k];
      switch (n->kind) {
      case INPUT:
        break;
      case ADD:
        add_to(a, i, j, up), add_to(b, row, j, up);
        break;
      case SUBTRACT:
        add_to(a, i, j, up), add_to(b, row, j, -up);
        break;
      case MULTIPLY:
        add_to(a, i, j, up * at(b, row, j));
        add_to(b, row, j, up * at(a, i, j));
        break;
      case AFFINE:
        a->gradient[k] += up * (double)n->from[0];
        break;
      case MATMUL:
        for (int64_t m = 0; m < a->columns; m++) {
          add_to(a, i, m, up * at(b, m, j));
          add_to(b, m, j, up * at(a, i, m));
        }
        break;
      case TRANSPOSE:
        add_to(a, j, i, up);
        break;
      case SLICE:
        add_to(a, i + n->from[0], j + n->from[1], up);
        break;
      case CONCAT:
        i < a->rows ? add_to(a, i, j, up) : add_to(b, i - a->rows, j, up);
        break;
      case SUM:
        for (int64_t m = 0; m < (n->from[0] ? a->columns : a->rows); m++)
          n->from[0] ? add_to(a, i, m, up) : add_to(a, m, j, up);
        break;
      case CUMULATE:
        for (int64_t m = 0; m <= (n->from[0] ? j : i); m++)
          n->from[0] ? add_to(a, i, m, up) : add_to(a, m, j, up);
        break;
      case RESHAPE:
        a->gradient[k] += up;
        break;
      }
    }
}

static bool is_exact(const double *values, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (fabs(values[i]) > LIMIT) return false;
  return true;
}

/* ---- building ---- */

/* A node that fits as the other operand; -1: there is none. */
static int find(graph *r, int64_t rows, int64_t columns, bool broadcast) {
  for (int tries = 0; tries < 8; tries++) {
    int i = (int)below(r, r->count);
    const node *n = &r->nodes[i];
    if (rows && n->rows != rows && !(broadcast && n->rows == 1)) continue;
    if (columns && n->columns != columns) continue;
    return i;
  }
  return -1;
}

/* Chooses an operation and its operands. False: this one did not come about. */
static bool choose(graph *r, node *n) {
  int i = (int)below(r, r->count);
  const node *a = &r->nodes[i];
  *n = (node){.kind = (kind)(1 + below(r, RESHAPE)), .a = i, .b = i};
  n->rows = a->rows, n->columns = a->columns;
  switch (n->kind) {
  case INPUT:
    return false;
  case ADD:
  case SUBTRACT:
  case MULTIPLY:
    return (n->b = find(r, a->rows, a->columns, true)) >= 0;
  case AFFINE:
    n->from[0] = below(r, 7) - 3, n->from[1] = below(r, 9) - 4;
    return true;
  case MATMUL:
    if ((n->b = find(r, a->columns, 0, false)) < 0) return false;
    n->columns = r->nodes[n->b].columns;
    return true;
  case TRANSPOSE:
    n->rows = a->columns, n->columns = a->rows;
    return true;
  case SLICE:
    n->from[0] = below(r, a->rows), n->from[1] = below(r, a->columns);
    n->rows = 1 + below(r, a->rows - n->from[0]);
    n->columns = 1 + below(r, a->columns - n->from[1]);
    return true;
  case CONCAT:
    if ((n->b = find(r, 0, a->columns, false)) < 0) return false;
    n->rows += r->nodes[n->b].rows;
    return n->rows <= 3 * MOST_SIDE;
  case SUM:
    n->from[0] = below(r, 2);
    if (n->from[0])
      n->columns = 1;
    else
      n->rows = 1;
    return true;
  case CUMULATE:
    n->from[0] = below(r, 2);
    return true;
  case RESHAPE:
    n->rows = a->columns, n->columns = a->rows;
    return true;
  }
  return false;
}

static filtra_tensor *build(filtra_graph *g, const graph *r, const node *n) {
  filtra_tensor *a = r->nodes[n->a].tensor, *b = r->nodes[n->b].tensor;
  switch (n->kind) {
  case INPUT:
    return NULL;
  case ADD:
    return filtra_add(g, a, b);
  case SUBTRACT:
    return filtra_subtract(g, a, b);
  case MULTIPLY:
    return filtra_multiply(g, a, b);
  case AFFINE:
    return filtra_affine(g, a, (float)n->from[0], (float)n->from[1]);
  case MATMUL:
    return filtra_matmul(g, a, b, NULL);
  case TRANSPOSE:
    return filtra_transpose(g, a, 0, 1);
  case SLICE:
    return filtra_slice(g, a, n->from, (int64_t[]){n->rows, n->columns});
  case CONCAT:
    return filtra_concat(g, 0, 2, (filtra_tensor *[]){a, b});
  case SUM:
    return filtra_sum(g, a, (int)n->from[0], FILTRA_KEEP_AXIS);
  case CUMULATE:
    return filtra_cumulative_sum(g, a, (int)n->from[0], FILTRA_FORWARD);
  case RESHAPE:
    return filtra_reshape(g, a, 2, (int64_t[]){n->rows, n->columns});
  }
  return NULL;
}

static void keep(graph *r, const node *n) {
  node *to = &r->nodes[r->count++];
  *to = *n;
  to->value = calloc((size_t)size_of(n), sizeof(double));
  to->gradient = calloc((size_t)size_of(n), sizeof(double));
  assert_true(to->value && to->gradient);
}

static void draw(graph *r) {
  int wanted = INPUTS + 2 + (int)below(r, MOST_NODES - INPUTS - 2);
  for (int i = 0; i < INPUTS; i++) {
    keep(r, &(node){.rows = 1 + below(r, MOST_SIDE), .columns = 1 + below(r, MOST_SIDE)});
    for (int64_t k = 0; k < size_of(&r->nodes[i]); k++)
      r->nodes[i].value[k] = (double)(below(r, 7) - 3);
  }
  for (int tries = 0; r->count < wanted && tries < 200; tries++) {
    node n;
    if (!choose(r, &n)) continue;
    keep(r, &n);
    node *made = &r->nodes[r->count - 1];
    compute(r, made);
    if (is_exact(made->value, size_of(made))) {
      r->nodes[n.a].used = r->nodes[n.b].used = true;
      continue;
    }
    free(made->value);
    free(made->gradient);
    r->count--;
  }
}

static bool differentiate(graph *r, const node *output) {
  for (int64_t k = 0; k < size_of(output); k++)
    output->gradient[k] = 1;
  for (int i = r->count - 1; i >= 0; i--) {
    if (!is_exact(r->nodes[i].gradient, size_of(&r->nodes[i]))) return false;
    push_back(r, &r->nodes[i]);
  }
  return true;
}

/* ---- comparing ---- */

static void compare(filtra_graph *g, filtra_tensor *t, const double *wanted, int64_t count,
                    uint64_t seed, const char *what, int index) {
  float *got = test_alloc(((size_t)count) * sizeof *got);
  assert_ok(filtra_graph_get(g, t, got));
  for (int64_t k = 0; k < count; k++)
    if ((double)got[k] != wanted[k])
      fail_msg("seed %llu: %s %d, element %lld: %g instead of %g", (unsigned long long)seed, what,
               index, (long long)k, (double)got[k], wanted[k]);
  free(got);
}

static void check_graph(filtra_device *dev, uint64_t seed) {
  owned graph *r = test_alloc(1 * sizeof *r);
  r->rng = ft_rng_make(seed, 0);
  draw(r);
  filtra_tensor *gradients[INPUTS];
  owned_graph *g = test_graph(dev, NULL);
  for (int i = 0; i < r->count; i++) {
    node *n = &r->nodes[i];
    n->tensor = i < INPUTS ? filtra_graph_input(g, i ? i == 1 ? "b" : "c" : "a", FILTRA_F32, 2,
                                                (int64_t[]){n->rows, n->columns})
                           : build(g, r, n);
    if (i < INPUTS) filtra_graph_require_gradient(g, n->tensor);
  }
  node *last = &r->nodes[r->count - 1];
  bool whole = differentiate(r, last);
  assert_ok(filtra_graph_backward(g, 1, &last->tensor, NULL));
  for (int i = 0; i < INPUTS; i++) {
    gradients[i] = filtra_graph_gradient(g, r->nodes[i].tensor);
    if (gradients[i]) filtra_graph_output(g, gradients[i]);
  }
  for (int i = INPUTS; i < r->count; i++)
    if (!(r->nodes[i].used = below(r, 4) == 0 || &r->nodes[i] == last))
      continue;
    else
      filtra_graph_output(g, r->nodes[i].tensor);
  assert_ok(filtra_graph_compile(g));
  filtra_status status = ft_graph_check(g);
  if (status) fail_msg("seed %llu: %s", (unsigned long long)seed, filtra_error_message());
  for (int i = 0; i < INPUTS; i++) {
    float values[MOST_SIDE * MOST_SIDE];
    for (int64_t k = 0; k < size_of(&r->nodes[i]); k++)
      values[k] = (float)r->nodes[i].value[k];
    assert_ok(filtra_graph_set(g, r->nodes[i].tensor, values));
  }
  for (int run = 0; run < 2; run++) { /* what the first left in memory has no say in the second */
    assert_ok(filtra_graph_execute(g));
    for (int i = INPUTS; i < r->count; i++)
      if (r->nodes[i].used)
        compare(g, r->nodes[i].tensor, r->nodes[i].value, size_of(&r->nodes[i]), seed, "node", i);
    for (int i = 0; i < INPUTS && whole; i++)
      if (gradients[i])
        compare(g, gradients[i], r->nodes[i].gradient, size_of(&r->nodes[i]), seed, "gradient", i);
  }
  for (int i = 0; i < r->count; i++) {
    free(r->nodes[i].value);
    free(r->nodes[i].gradient);
  }
}

TEST(test_random_graphs) {
  const char *text = getenv("FILTRA_TEST_SEED");
  uint64_t first = text ? strtoull(text, NULL, 10) : 1;
  filtra_device *plain = test_open_device("fusion=off");
  filtra_device *gpu = test_open_variant("class=discrete"); /* NULL: quick tests leave it out */
  for (uint64_t seed = first; seed < first + GRAPHS; seed++)
    check_graph(seed % FUSED ? plain : gpu && seed / FUSED % 2 ? gpu : test_device(), seed);
  test_close_device(&gpu);
  test_close_device(&plain);
}

TEST_MAIN(NULL, test_teardown)
