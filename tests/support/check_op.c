/* One harness for every op: checks the forward pass against a float64 reference, and gradients
 * against central differences of that reference. */
#include "support/seen.h"

#include "base/memory.h"
#include "base/rng.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  FULL_CHECK = 192,   /* of inputs with up to this many elements, every gradient entry is checked */
  SAMPLED_CHECK = 16, /* number of entries checked of larger ones */
  MESSAGE_BYTES = 1024
};

/* Step of the central differences, relative to max(1, |x|). The truncation error is f''' h^2 / 6,
 * about 1e-10; rounding contributes eps |f| / h, about 2e-11. */
static const double step = 1e-5;
/* Error that these two leave in a gradient of zero, per unit of the root mean square of L's
 * terms. */
static const double noise = 1e-9;

typedef struct value {
  char name[64];
  int ndim;
  int64_t shape[FILTRA_MAX_DIMS];
  size_t count;
  float *got;   /* inputs: the uploaded values; outputs: the results */
  float *again; /* outputs and gradients: results of a second run */
  double *ref;  /* inputs: the same values; outputs: the reference's */
  filtra_tensor *tensor, *gradient;
  float *upstream; /* outputs that are differentiated */
  filtra_tensor *upstream_tensor;
  float *slope, *slope_again; /* inputs: the device's gradient */
} value;

typedef struct check {
  const test_op *op;
  test_op counted; /* `op` points to this; its inputs and outputs are counted */
  uint64_t seed;
  filtra_graph *graph;
  value in[TEST_MAX_TENSORS], out[TEST_MAX_TENSORS];
  double *in_ref[TEST_MAX_TENSORS], *out_ref[TEST_MAX_TENSORS];  /* out_ref: scratch */
  double *up_ref[TEST_MAX_TENSORS], *down_ref[TEST_MAX_TENSORS]; /* outputs at x+h and x-h */
  char message[MESSAGE_BYTES];                                   /* "" if everything passed */
} check;

/* One gradient entry, or a directional derivative, of the reference. */
typedef struct slope {
  size_t index;
  double want;
} slope;

/* ---- reporting ---- */

static bool failed(const check *c) {
  return c->message[0] != '\0';
}

static void complain(check *c, const char *format, ...) FT_PRINTF(2, 3);
static void complain(check *c, const char *format, ...) {
  if (failed(c)) return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(c->message, sizeof c->message, format, arguments);
  va_end(arguments);
}

static bool ok(check *c, filtra_status status) {
  if (status) complain(c, "%s: %s", filtra_status_name(status), filtra_error_message());
  return !status;
}

static void append(char *text, size_t size, const char *format, ...) FT_PRINTF(3, 4);
static void append(char *text, size_t size, const char *format, ...) {
  size_t length = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text + length, size - length, format, arguments);
  va_end(arguments);
}

static const char *index_text(const value *v, size_t index) {
  static char text[96];
  size_t rest = index, block = v->count;
  text[0] = '\0';
  for (int i = 0; i < v->ndim; i++) {
    block /= (size_t)v->shape[i];
    append(text, sizeof text, "[%zu]", rest / block);
    rest %= block;
  }
  return text;
}

/* "x [2, 7], w [3, 7]": distinguishes cases with the same name. */
static const char *case_text(const test_op *op) {
  static char text[512];
  text[0] = '\0';
  for (int i = 0; i < op->inputs; i++) {
    const test_tensor *t = &op->in[i];
    append(text, sizeof text, "%s%s [", i ? ", " : "", t->name);
    for (int k = 0; k < t->ndim; k++)
      append(text, sizeof text, "%s%lld", k ? ", " : "", (long long)t->shape[k]);
    append(text, sizeof text, "]");
  }
  return text;
}

static void *zeros(check *c, size_t count, size_t size) {
  void *block = calloc(count ? count : 1, size);
  if (!block) complain(c, "out of host memory");
  return block;
}

/* ---- preparing ---- */

static size_t element_count(int ndim, const int64_t *shape) {
  size_t count = 1;
  for (int i = 0; i < ndim; i++)
    count *= (size_t)shape[i];
  return count;
}

static bool has_16_bits(filtra_dtype dtype) {
  return dtype == FILTRA_F16 || dtype == FILTRA_BF16;
}

/* Rounds to values representable in the type. */
static void round_to(filtra_dtype dtype, float *values, size_t count) {
  for (size_t k = 0; k < count; k++) {
    uint16_t bits;
    ft_element_set(dtype, &bits, 0, values[k]);
    values[k] = (float)ft_element_get(dtype, &bits, 0);
  }
}

static void make_input(check *c, int i) {
  const test_tensor *t = &c->op->in[i];
  value *v = &c->in[i];
  snprintf(v->name, sizeof v->name, "%s", t->name);
  v->ndim = t->ndim;
  memcpy(v->shape, t->shape, sizeof v->shape);
  v->count = element_count(t->ndim, t->shape);
  v->got = zeros(c, v->count, sizeof *v->got);
  v->ref = zeros(c, v->count, sizeof *v->ref);
  if (failed(c)) return;
  bool half = has_16_bits(t->dtype);
  bool whole_range = t->low == 0 && t->high == 0 && t->dtype != FILTRA_I32;
  double low = whole_range ? -1 : t->low, high = whole_range ? 1 : t->high;
  uint64_t seed = c->seed + (uint64_t)i;
  ft_rng rng = ft_rng_make(seed, 0);
  if (t->fixed)
    memcpy(v->got, t->fixed, v->count * sizeof *v->got);
  else if (t->dtype != FILTRA_I32)
    test_random(seed, low, high, v->got, v->count);
  if (half) round_to(t->dtype, v->got, v->count);
  for (size_t k = 0; k < v->count; k++) {
    if (t->dtype == FILTRA_I32) {
      int32_t whole = (int32_t)(low + (double)ft_rng_below(&rng, (uint64_t)(high - low) + 1));
      memcpy(&v->got[k], &whole, sizeof whole);
      v->ref[k] = whole;
    } else {
      v->ref[k] = v->got[k];
    }
  }
  c->in_ref[i] = v->ref;
  v->tensor =
      filtra_graph_input(c->graph, v->name, half ? FILTRA_F32 : t->dtype, t->ndim, t->shape);
  if (t->gradient) filtra_graph_require_gradient(c->graph, v->tensor);
}

static void make_output(check *c, int i, filtra_tensor *tensor) {
  value *v = &c->out[i];
  const filtra_dtype dtype = filtra_tensor_dtype(tensor);
  if (tensor && has_16_bits(dtype)) tensor = filtra_cast(c->graph, tensor, FILTRA_F32);
  if (!tensor) { /* the graph's sticky error gives the reason */
    ok(c, filtra_graph_compile(c->graph));
    complain(c, "build left output %d empty", i);
    return;
  }
  snprintf(v->name, sizeof v->name, "output %d (%s)", i, tensor->name);
  v->tensor = filtra_graph_output(c->graph, tensor);
  v->ndim = filtra_tensor_shape(tensor, v->shape);
  v->count = element_count(v->ndim, v->shape);
  int64_t wanted = c->op->out_elements[i];
  if (wanted && (size_t)wanted != v->count)
    complain(c, "%s has %zu elements, the test says %lld", v->name, v->count, (long long)wanted);
  v->got = zeros(c, v->count, sizeof *v->got);
  v->again = zeros(c, v->count, sizeof *v->again);
  v->ref = zeros(c, v->count, sizeof *v->ref);
  c->out_ref[i] = v->ref;
  c->up_ref[i] = zeros(c, v->count, sizeof(double));
  c->down_ref[i] = zeros(c, v->count, sizeof(double));
  if (failed(c) || !tensor->requires_grad) return;
  v->upstream = zeros(c, v->count, sizeof *v->upstream);
  if (!v->upstream) return;
  test_random(c->seed + 100 + (uint64_t)i, -1, 1, v->upstream, v->count);
  if (has_16_bits(dtype)) round_to(dtype, v->upstream, v->count);
  v->upstream_tensor = filtra_graph_input(c->graph, "upstream", FILTRA_F32, v->ndim, v->shape);
}

static bool wants_gradients(const test_op *op) {
  for (int i = 0; i < op->inputs; i++)
    if (op->in[i].gradient) return true;
  return false;
}

static void differentiate(check *c) {
  filtra_tensor *outputs[TEST_MAX_TENSORS], *upstream[TEST_MAX_TENSORS];
  size_t count = 0;
  for (int i = 0; i < c->op->outputs; i++) {
    if (!c->out[i].upstream_tensor) continue;
    outputs[count] = c->out[i].tensor;
    upstream[count++] = c->out[i].upstream_tensor;
  }
  if (!ok(c, filtra_graph_backward(c->graph, count, outputs, upstream))) return;
  for (int i = 0; i < c->op->inputs && !failed(c); i++) {
    value *v = &c->in[i];
    if (!c->op->in[i].gradient) continue;
    v->gradient = filtra_graph_gradient(c->graph, v->tensor);
    if (!v->gradient) complain(c, "no gradient reached %s", v->name);
    filtra_graph_output(c->graph, v->gradient);
    v->slope = zeros(c, v->count, sizeof *v->slope);
    v->slope_again = zeros(c, v->count, sizeof *v->slope_again);
  }
}

static void build(check *c, filtra_device *device) {
  const test_op *op = c->op;
  filtra_graph_options options = {.training = op->training};
  if (!ok(c, filtra_graph_create(device, &options, &c->graph))) return;
  filtra_tensor *in[TEST_MAX_TENSORS] = {0}, *out[TEST_MAX_TENSORS + 1] = {0};
  for (int i = 0; i < op->inputs; i++) {
    make_input(c, i);
    in[i] = c->in[i].tensor;
    if (has_16_bits(op->in[i].dtype)) in[i] = filtra_cast(c->graph, in[i], op->in[i].dtype);
  }
  if (failed(c)) return;
  op->build(c->graph, in, out, op);
  const bool given = op->outputs > 0;
  while (!given && (!op->outputs || out[op->outputs]))
    c->counted.outputs++;
  for (int i = 0; i < op->outputs && !failed(c); i++)
    make_output(c, i, out[i]);
  if (!failed(c) && wants_gradients(op)) differentiate(c);
}

static void compile(check *c) {
  if (!failed(c)) ok(c, filtra_graph_compile(c->graph));
  if (!failed(c)) ok(c, ft_graph_check(c->graph));
}

/* ---- running ---- */

static void run(check *c, bool again) {
  filtra_graph_set_step(c->graph, c->op->seed, c->op->step);
  for (int i = 0; i < c->op->inputs && !failed(c); i++)
    ok(c, filtra_graph_set(c->graph, c->in[i].tensor, c->in[i].got));
  for (int i = 0; i < c->op->outputs && !failed(c); i++)
    if (c->out[i].upstream_tensor)
      ok(c, filtra_graph_set(c->graph, c->out[i].upstream_tensor, c->out[i].upstream));
  if (!failed(c)) ok(c, filtra_graph_execute(c->graph));
  for (int i = 0; i < c->op->outputs && !failed(c); i++)
    ok(c, filtra_graph_get(c->graph, c->out[i].tensor, again ? c->out[i].again : c->out[i].got));
  for (int i = 0; i < c->op->inputs && !failed(c); i++)
    if (c->in[i].gradient)
      ok(c, filtra_graph_get(c->graph, c->in[i].gradient,
                             again ? c->in[i].slope_again : c->in[i].slope));
}

static void compare_runs(check *c, const value *v, const char *what, const float *first,
                         const float *second) {
  for (size_t k = 0; k < v->count; k++)
    if (memcmp(&first[k], &second[k], sizeof first[k]))
      complain(c, "%s%s%s: the first run gave %.9g, the second %.9g", what, v->name,
               index_text(v, k), first[k], second[k]);
}

/* The same inputs must give the same bits: nothing may be left over from the previous run. */
static void check_replay(check *c) {
  run(c, false);
  if (!failed(c)) run(c, true);
  for (int i = 0; i < c->op->outputs && !failed(c); i++)
    compare_runs(c, &c->out[i], "", c->out[i].got, c->out[i].again);
  for (int i = 0; i < c->op->inputs && !failed(c); i++)
    if (c->in[i].gradient)
      compare_runs(c, &c->in[i], "gradient of ", c->in[i].slope, c->in[i].slope_again);
}

/* ---- comparing ---- */

/* The tolerance for the inputs' type, or the op's own if that is larger. */
static double tolerance_of(const check *c, double own, double usual, double ulps) {
  double allowed = own > 0 ? own : usual;
  for (int i = 0; i < c->op->inputs; i++) {
    const filtra_dtype dtype = c->op->in[i].dtype;
    const double half_ulp = dtype == FILTRA_F16 ? 0x1p-11 : dtype == FILTRA_BF16 ? 0x1p-8 : 0;
    allowed = fmax(allowed, ulps * half_ulp);
  }
  return allowed;
}

static void check_forward(check *c) {
  c->op->reference(c->in_ref, c->out_ref, c->op);
  double tolerance = tolerance_of(c, c->op->forward_tolerance, 2e-5, 2);
  for (int i = 0; i < c->op->outputs; i++) {
    const value *v = &c->out[i];
    bool whole = filtra_tensor_dtype(v->tensor) == FILTRA_I32;
    double scale = 0;
    for (size_t k = 0; k < v->count; k++)
      scale = fmax(scale, fabs(v->ref[k]));
    double allowed = tolerance * scale + 1e-6;
    for (size_t k = 0; k < v->count; k++) {
      int32_t integer;
      memcpy(&integer, &v->got[k], sizeof integer);
      double got = whole ? integer : (double)v->got[k];
      if (!(fabs(got - v->ref[k]) <= allowed)) /* also fails for a NaN */
        complain(c, "%s%s: got %.9g, want %.9g +- %.2g", v->name, index_text(v, k), got, v->ref[k],
                 allowed);
    }
  }
}

/* L(x+h) - L(x-h) over 2h, L = sum over outputs of <upstream, out>, with the outputs at x+h and x-h
 * in up_ref and down_ref. Subtracts before summing, so that unchanged terms cancel exactly. */
static double central_difference(const check *c, double h) {
  double sum = 0;
  for (int i = 0; i < c->op->outputs; i++) {
    const value *v = &c->out[i];
    for (size_t k = 0; v->upstream && k < v->count; k++)
      sum += (double)v->upstream[k] * (c->up_ref[i][k] - c->down_ref[i][k]);
  }
  return sum / (2 * h);
}

static double entry_slope(check *c, value *v, size_t index) {
  double x = v->ref[index], h = step * fmax(1, fabs(x));
  volatile double above = x + h, below = x - h; /* the step after rounding */
  v->ref[index] = above;
  c->op->reference(c->in_ref, c->up_ref, c->op);
  v->ref[index] = below;
  c->op->reference(c->in_ref, c->down_ref, c->op);
  v->ref[index] = x;
  return central_difference(c, (above - below) / 2);
}

/* Chooses entries to check: all of a small input; else some random ones, and the one with the
 * device's largest gradient. */
static size_t choose_entries(const check *c, const value *v, slope *entries) {
  if (v->count <= FULL_CHECK) {
    for (size_t k = 0; k < v->count; k++)
      entries[k].index = k;
    return v->count;
  }
  size_t largest = 0;
  for (size_t k = 0; k < v->count; k++)
    if (fabsf(v->slope[k]) > fabsf(v->slope[largest])) largest = k;
  ft_rng rng = ft_rng_make(c->seed, 1);
  entries[0].index = largest;
  entries[1].index = v->count - 1;
  for (size_t k = 2; k < SAMPLED_CHECK; k++)
    entries[k].index = (size_t)ft_rng_below(&rng, v->count);
  return SAMPLED_CHECK;
}

/* Compares <gradient, s> for one random sign vector s with the derivative in that direction: a
 * cheap check of every entry of a large input. If each entry errs by at most `allowed`, the sum
 * errs by less than 4 allowed sqrt(count) in all but one of 1500 draws (Hoeffding). */
static void check_direction(check *c, value *v, double allowed) {
  double *kept = zeros(c, v->count, sizeof *kept), *sign = zeros(c, v->count, sizeof *sign);
  if (!failed(c)) {
    ft_rng rng = ft_rng_make(c->seed, 2);
    double h = step / 10, got = 0;
    memcpy(kept, v->ref, v->count * sizeof *kept);
    for (size_t k = 0; k < v->count; k++) {
      sign[k] = ft_rng_u32(&rng) & 1 ? 1 : -1;
      got += sign[k] * (double)v->slope[k];
      v->ref[k] = kept[k] + h * sign[k];
    }
    c->op->reference(c->in_ref, c->up_ref, c->op);
    for (size_t k = 0; k < v->count; k++)
      v->ref[k] = kept[k] - h * sign[k];
    c->op->reference(c->in_ref, c->down_ref, c->op);
    memcpy(v->ref, kept, v->count * sizeof *kept);
    double want = central_difference(c, h), bound = 4 * allowed * sqrt((double)v->count);
    if (!(fabs(got - want) <= bound))
      complain(c, "gradient of %s along a random direction: got %.9g, want %.9g +- %.2g", v->name,
               got, want, bound);
  }
  free(kept);
  free(sign);
}

/* Root of the sum of squares of L's terms: the scale of rounding noise in a difference of L. */
static double noise_level(const check *c) {
  double sum = 0;
  for (int i = 0; i < c->op->outputs; i++)
    for (size_t k = 0; c->out[i].upstream && k < c->out[i].count; k++)
      sum += pow((double)c->out[i].upstream[k] * c->out[i].ref[k], 2);
  return noise * sqrt(sum);
}

static void check_gradients(check *c) {
  double tolerance = tolerance_of(c, c->op->gradient_tolerance, 2e-4, 4);
  slope entries[TEST_MAX_TENSORS][FULL_CHECK];
  size_t counts[TEST_MAX_TENSORS] = {0};
  double scale[TEST_MAX_TENSORS] = {0}, largest = 0, floor = noise_level(c);
  for (int i = 0; i < c->op->inputs; i++) {
    value *v = &c->in[i];
    if (!v->gradient) continue;
    counts[i] = choose_entries(c, v, entries[i]);
    for (size_t k = 0; k < counts[i]; k++) {
      entries[i][k].want = entry_slope(c, v, entries[i][k].index);
      scale[i] = fmax(scale[i], fabs(entries[i][k].want));
    }
    largest = fmax(largest, scale[i]);
  }
  for (int i = 0; i < c->op->inputs; i++) {
    value *v = &c->in[i];
    double allowed = tolerance * scale[i] + 2e-6 * largest + floor;
    for (size_t k = 0; k < counts[i]; k++) {
      size_t index = entries[i][k].index;
      if (!(fabs(v->slope[index] - entries[i][k].want) <= allowed))
        complain(c, "gradient of %s%s: got %.9g, want %.9g +- %.2g", v->name, index_text(v, index),
                 v->slope[index], entries[i][k].want, allowed);
    }
    if (v->gradient && v->count > FULL_CHECK) check_direction(c, v, allowed);
  }
}

/* ---- all of it ---- */

static void free_value(value *v) {
  free(v->got);
  free(v->again);
  free(v->ref);
  free(v->upstream);
  free(v->slope);
  free(v->slope_again);
}

static void release(check *c) {
  filtra_graph_destroy(&c->graph);
  for (int i = 0; i < TEST_MAX_TENSORS; i++) {
    free_value(&c->in[i]);
    free_value(&c->out[i]);
    free(c->up_ref[i]);
    free(c->down_ref[i]);
  }
}

/* If FILTRA_TEST_F32 is set, 16-bit types are left to other passes of ./run test. */
static bool is_left_out(const test_op *op) {
  bool narrow = false;
  for (int i = 0; i < op->inputs; i++)
    narrow |= has_16_bits(op->in[i].dtype);
  if (!narrow || !getenv("FILTRA_TEST_F32")) return false;
  print_message("%s: 16-bit types not tested, FILTRA_TEST_F32 is set\n", op->name);
  return true;
}

void test_check_op(filtra_device *device, const test_op *op) {
  const bool given = op->inputs > 0;
  const char *base = getenv("FILTRA_TEST_SEED");
  check c = {.counted = *op};
  c.op = op = &c.counted;
  while (!given && op->inputs < TEST_MAX_TENSORS && op->in[op->inputs].name)
    c.counted.inputs++;
  if (is_left_out(op)) return;
  c.seed = ft_hash_text(op->name) + (base ? strtoull(base, NULL, 10) : 0);
  char seen[TEST_SEEN_PATH] = "";
  build(&c, device);
  if (!failed(&c) && (test_leaves_out(c.graph) || test_seen(c.graph, op, c.seed, seen))) {
    release(&c);
    return;
  }
  compile(&c);
  if (!failed(&c)) check_replay(&c);
  if (!failed(&c)) check_forward(&c);
  if (!failed(&c) && wants_gradients(op)) check_gradients(&c);
  release(&c);
  if (!failed(&c)) test_seen_add(seen);
  if (failed(&c))
    fail_msg("%s: %s (%s; seed %llu: FILTRA_TEST_SEED=%s)", op->name, c.message, case_text(op),
             (unsigned long long)c.seed, base ? base : "0");
}
