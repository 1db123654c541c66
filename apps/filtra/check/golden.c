/* Runs a golden case: reads the file, builds its op, and compares results and gradients. Called by
 * check.c. */
#include "golden.h"

#include "base/memory.h"
#include "graph/graph.h"
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading the file ---- */

static const ft_safetensor *find_tensor(const golden *c, const char *prefix, const char *name) {
  char full[160];
  snprintf(full, sizeof full, "%s%s", prefix, name);
  return ft_safetensors_find(c->file, full);
}

bool golden_has(const golden *c, const char *name) {
  return find_tensor(c, "", name) != NULL;
}

int64_t golden_dim(const golden *c, const char *name, int axis) {
  const ft_safetensor *t = find_tensor(c, "", name);
  if (t && axis < t->ndim && t->shape[axis] > 0) return t->shape[axis];
  ft_graph_fail(c->graph, FILTRA_ERROR_INPUT, "%s: tensor %s with an axis %d is missing", c->path,
                name, axis);
  return 1;
}

const char *golden_text(const golden *c, const char *key, const char *fallback) {
  const char *text = ft_safetensors_meta(c->file, key);
  return text ? text : fallback;
}

double golden_number(const golden *c, const char *key, double fallback) {
  const char *text = ft_safetensors_meta(c->file, key);
  if (!text) return fallback;
  char *end;
  double value = strtod(text, &end);
  if (end != text && !*end && isfinite(value)) return value;
  ft_graph_fail(c->graph, FILTRA_ERROR_INPUT, "%s: metadata \"%s\" is \"%.40s\", not a number",
                c->path, key, text);
  return fallback;
}

int64_t golden_count(const golden *c, const char *key, int64_t fallback) {
  double value = golden_number(c, key, (double)fallback);
  if (value >= 1.0 && value <= GOLDEN_MAX && value == floor(value)) return (int64_t)value;
  ft_graph_fail(c->graph, FILTRA_ERROR_INPUT, "%s: metadata \"%s\" is %g, accepted are 1 to %d",
                c->path, key, value, GOLDEN_MAX);
  return fallback;
}

bool golden_flag(const golden *c, const char *key) {
  const char *text = golden_text(c, key, "false");
  if (strcmp(text, "true") && strcmp(text, "false"))
    ft_graph_fail(c->graph, FILTRA_ERROR_INPUT,
                  "%s: metadata \"%s\" is \"%.40s\", neither true nor false", c->path, key, text);
  return !strcmp(text, "true");
}

filtra_status golden_choose(const golden *c, const char *key, const char *fallback,
                            const char *const *names, int *out) {
  const char *text = golden_text(c, key, fallback);
  for (*out = 0; names[*out]; ++*out)
    if (!strcmp(names[*out], text)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_UNSUPPORTED, "%s: %s \"%.64s\" is not known here", c->path, key,
                 text);
}

static int64_t elements(const ft_safetensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->ndim; i++)
    n *= t->shape[i];
  return n;
}

/* ---- building ---- */

static filtra_tensor *make_input(golden *c, const ft_safetensor *t, bool gradient) {
  if (c->input_count == GOLDEN_MAX || t->ndim > FILTRA_MAX_DIMS ||
      (t->dtype != FILTRA_F32 && t->dtype != FILTRA_I32))
    return ft_graph_fail(c->graph, FILTRA_ERROR_INPUT, "%s: tensor %s cannot be an input", c->path,
                         t->name);
  const int64_t one = 1;
  filtra_tensor *x = filtra_graph_input(c->graph, t->name, t->dtype, t->ndim ? t->ndim : 1,
                                        t->ndim ? t->shape : &one);
  if (gradient && x) filtra_graph_require_gradient(c->graph, x);
  c->inputs[c->input_count++] = (golden_port){.tensor = t, .device = x};
  return x;
}

filtra_tensor *golden_input(golden *c, const char *name) {
  const ft_safetensor *t = find_tensor(c, "", name);
  if (!t)
    return ft_graph_fail(c->graph, FILTRA_ERROR_INPUT, "%s: tensor %s is missing", c->path, name);
  return make_input(c, t, strncmp(name, "fixed.", 6) != 0);
}

filtra_tensor *golden_mask(golden *c) {
  return golden_has(c, "fixed.mask") ? golden_input(c, "fixed.mask") : NULL;
}

filtra_tensor *golden_ids(golden *c, const char *name, int64_t limit) {
  const ft_safetensor *t = find_tensor(c, "", name);
  for (int64_t i = 0; t && t->dtype == FILTRA_I32 && i < elements(t); i++) {
    int32_t id = ((const int32_t *)t->data)[i];
    if (id < 0 || id >= limit)
      return ft_graph_fail(c->graph, FILTRA_ERROR_INPUT, "%s: %s holds %d, accepted are 0 to %lld",
                           c->path, name, id, (long long)limit - 1);
  }
  return golden_input(c, name);
}

void golden_output(golden *c, const char *name, filtra_tensor *t) {
  const ft_safetensor *expected = find_tensor(c, "out.", name);
  if (!expected || c->output_count == GOLDEN_MAX)
    ft_graph_fail(c->graph, FILTRA_ERROR_INPUT, "%s: tensor out.%s is missing", c->path, name);
  else if (t && filtra_tensor_elements(t) != elements(expected))
    ft_graph_fail(c->graph, FILTRA_ERROR_INPUT, "%s: out.%s does not have the shape %s", c->path,
                  name, ft_shape_text(t));
  else
    c->outputs[c->output_count++] = (golden_port){.tensor = expected, .device = t};
}

void golden_host_output(golden *c, const char *name, const float *values, int64_t count) {
  const ft_safetensor *expected = find_tensor(c, "out.", name);
  if (!expected || elements(expected) != count)
    ft_graph_fail(c->graph, FILTRA_ERROR_INPUT, "%s: out.%s with %lld elements is missing", c->path,
                  name, (long long)count);
  else
    c->outputs[c->output_count++] = (golden_port){.tensor = expected, .host = values};
}

const float *golden_values(golden *c, const char *name, int64_t count) {
  const ft_safetensor *t = find_tensor(c, "", name);
  if (t && t->dtype == FILTRA_F32 && elements(t) == count) return t->data;
  return ft_graph_fail(c->graph, FILTRA_ERROR_INPUT, "%s: tensor %s with %lld elements is missing",
                       c->path, name, (long long)count);
}

void golden_bind(golden *c, const char *golden_name, const char *parameter, int part, int parts) {
  if (c->binding_count == GOLDEN_MAX) {
    ft_graph_fail(c->graph, FILTRA_ERROR_INPUT, "%s: too many tensors", c->path);
    return;
  }
  golden_binding *b = &c->bindings[c->binding_count++];
  snprintf(b->golden, sizeof b->golden, "%s", golden_name);
  snprintf(b->parameter, sizeof b->parameter, "%s", parameter);
  b->part = part;
  b->parts = parts;
}

void golden_bind_pairs(golden *c, const char *golden_prefix, const char *prefix,
                       const golden_name_pair *pairs, size_t count) {
  char name[64], parameter[96];
  for (size_t i = 0; i < count; i++) {
    snprintf(name, sizeof name, "%s%s", golden_prefix, pairs[i].golden);
    snprintf(parameter, sizeof parameter, "%s%s", prefix, pairs[i].parameter);
    golden_bind(c, name, parameter, 0, 1);
  }
}

void golden_bind_rows(golden *c, const char *golden_name, const char *parameter, int part,
                      int parts) {
  size_t i = c->binding_count;
  golden_bind(c, golden_name, parameter, part, parts);
  if (i < c->binding_count) c->bindings[i].interleaved = true;
}

/* Sizes in elements: of the parameter's bound part, of a row, of the whole parameter. */
typedef struct bound_size {
  size_t part, row, all;
} bound_size;

static filtra_status find_bound(const golden *c, const golden_binding *b, const ft_safetensor *t,
                                bound_size *size) {
  for (size_t i = 0; i < filtra_parameters_count(c->params); i++) {
    int64_t shape[FILTRA_MAX_DIMS];
    if (strcmp(filtra_parameters_name(c->params, i), b->parameter)) continue;
    int ndim = filtra_parameters_shape(c->params, i, shape);
    size->row = 1;
    for (int k = 1; k < ndim; k++)
      size->row *= (size_t)shape[k];
    size->all = size->row * (size_t)shape[0];
    size->part = size->all / (size_t)b->parts;
    bool longer = b->parts == 1 && (size_t)elements(t) > size->part;
    if (t->dtype == FILTRA_F32 && ((size_t)elements(t) == size->part || longer)) return FILTRA_OK;
  }
  return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor %s does not fit parameter %s", c->path, t->name,
                 b->parameter);
}

/* Index of element i of the part within the parameter. */
static size_t bound_index(const golden_binding *b, const bound_size *size, size_t i) {
  if (!b->interleaved) return (size_t)b->part * size->part + i;
  return (i / size->row * (size_t)b->parts + (size_t)b->part) * size->row + i % size->row;
}

static filtra_status set_parameters(golden *c) {
  for (size_t i = 0; i < c->binding_count; i++) {
    const golden_binding *b = &c->bindings[i];
    const ft_safetensor *t = find_tensor(c, "param.", b->golden);
    if (!t)
      return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor param.%s is missing", c->path, b->golden);
    bound_size size;
    FT_TRY(find_bound(c, b, t, &size));
    float *values = ft_calloc(size.all, sizeof *values);
    if (!values) return FILTRA_ERROR_HOST_MEMORY;
    filtra_status status = filtra_parameters_get(c->params, b->parameter, values, size.all);
    for (size_t k = 0; k < size.part; k++)
      values[bound_index(b, &size, k)] = ((const float *)t->data)[k];
    if (!status) status = filtra_parameters_set(c->params, b->parameter, values, size.all);
    free(values);
    FT_TRY(status);
  }
  return FILTRA_OK;
}

static filtra_status build_case(golden *c, golden_build_fn build) {
  FT_TRY(filtra_parameters_create(c->device, &c->params));
  FT_TRY(filtra_graph_create(c->device, NULL, &c->graph));
  FT_TRY(build(c));
  FT_TRY(ft_graph_status(c->graph));
  if (filtra_parameters_count(c->params)) {
    FT_TRY(filtra_parameters_commit(c->params, 0, FILTRA_TRAINABLE));
    FT_TRY(set_parameters(c));
  }
  filtra_tensor *outputs[GOLDEN_MAX], *upstream[GOLDEN_MAX];
  size_t own_inputs = c->input_count, count = 0;
  for (size_t i = 0; i < c->output_count; i++) {
    if (c->outputs[i].host) continue;
    const char *name = c->outputs[i].tensor->name + strlen("out.");
    const ft_safetensor *up = find_tensor(c, "up.", name);
    if (!up) return ft_fail(FILTRA_ERROR_INPUT, "%s: tensor up.%s is missing", c->path, name);
    upstream[count] = make_input(c, up, false);
    outputs[count++] = filtra_graph_output(c->graph, c->outputs[i].device);
  }
  FT_TRY(filtra_graph_backward(c->graph, count, outputs, upstream));
  for (size_t i = 0; i < own_inputs; i++) {
    const filtra_tensor *x = c->inputs[i].device;
    filtra_tensor *gradient =
        x && x->requires_grad ? filtra_graph_gradient(c->graph, c->inputs[i].device) : NULL;
    if (gradient) filtra_graph_output(c->graph, gradient);
  }
  return filtra_graph_compile(c->graph);
}

ft_scope golden_scope(golden *c) {
  c->narrowed = true;
  return (ft_scope){
      .graph = c->graph, .params = c->params, .precision = ft_precision_dtype((int)c->precision)};
}

filtra_tensor *golden_operand(golden *c, const char *name) {
  filtra_tensor *t = golden_input(c, name);
  c->narrowed = true;
  return c->precision ? filtra_cast(c->graph, t, ft_precision_dtype((int)c->precision)) : t;
}

/* ---- comparing ---- */

/* In bf16, cosFormer's golden case is off by 44 roundings: its ReLU passes a number that rounds to
 * below 0. All others stay below 35, most below 6. */
enum { NARROW_ROUNDINGS = 48 };

/* Whether gradients pass through a unitary map and its inverse, and partly cancel. */
static bool cancels(const char *op) {
  static const char *const PREFIXES[] = {"dhhp", "synvolution", "kernelution", "converter_"};
  for (size_t i = 0; i < FT_COUNT(PREFIXES); i++)
    if (!strncmp(op, PREFIXES[i], strlen(PREFIXES[i]))) return true;
  return false;
}

/* In 16 bits the tolerance is a number of roundings relative to the largest element. */
static void judge_narrow(const golden *c, golden_result *r) {
  const double rounding = c->precision == FILTRA_PRECISION_BF16 ? 0x1p-9 : 0x1p-12;
  const double largest = golden_number(c, "grad_scale", 1.0);
  r->zero = strncmp(r->name, "out.", 4) && r->scale <= 1e-6 * largest;
  if (r->zero) r->scale = largest;
  r->allowed = NARROW_ROUNDINGS * rounding * r->scale + 1e-6;
}

/* The tolerance of the golden files: rtol max|expected| + atol. */
static void judge(const golden *c, golden_result *r) {
  if (c->precision) {
    judge_narrow(c, r);
    return;
  }
  if (!strncmp(r->name, "out.", 4)) {
    r->allowed = 2e-5 * r->scale + 1e-6;
    return;
  }
  double largest = golden_number(c, "grad_scale", 1.0);
  double rtol = cancels(golden_text(c, "op", "")) ? 1e-3 : 2e-4;
  r->allowed = rtol * r->scale + 2e-6 * largest;
  r->zero = r->scale <= 1e-6 * largest;
  if (r->zero) r->scale = largest;
}

/* Compares; `got` NULL means zeros, which are also expected from `count` on. */
static filtra_status compare(const golden *c, golden_report *report, const ft_safetensor *t,
                             const float *got, size_t count) {
  if (!ft_dtype_is_float(t->dtype) || (size_t)elements(t) < count)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: tensor %s does not have the type and size of what it "
                   "is compared with",
                   c->path, t->name);
  golden_result *list = ft_realloc(report->results, report->count + 1, sizeof *report->results);
  if (!list) return FILTRA_ERROR_HOST_MEMORY;
  report->results = list;
  golden_result *r = &list[report->count++];
  *r = (golden_result){0};
  snprintf(r->name, sizeof r->name, "%s", t->name);
  for (int64_t i = 0; i < elements(t); i++) {
    double want = ft_element_get(t->dtype, t->data, (size_t)i),
           value = got && (size_t)i < count ? got[i] : 0.0;
    double error = fabs(value - want);
    r->error = isnan(error) ? INFINITY : fmax(r->error, error);
    r->scale = fmax(r->scale, fabs(want));
  }
  judge(c, r);
  if (!(r->error <= r->allowed)) report->pass = false;
  return FILTRA_OK;
}

static filtra_status compare_device(const golden *c, golden_report *report, const ft_safetensor *t,
                                    filtra_tensor *device) {
  if (!device) return compare(c, report, t, NULL, 0);
  size_t count = (size_t)filtra_tensor_elements(device);
  float *got = ft_calloc(count + 1, sizeof *got);
  if (!got) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = filtra_graph_get(c->graph, device, got);
  if (!status) status = compare(c, report, t, got, count);
  free(got);
  return status;
}

static filtra_status compare_bound(const golden *c, golden_report *report, const ft_safetensor *t,
                                   const golden_binding *b) {
  bound_size size;
  FT_TRY(find_bound(c, b, find_tensor(c, "param.", b->golden), &size));
  float *all = ft_calloc(size.all + size.part, sizeof *all), *got = all + size.all;
  if (!all) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = filtra_parameters_get_gradient(c->params, b->parameter, all, size.all);
  for (size_t k = 0; k < size.part; k++)
    got[k] = all[bound_index(b, &size, k)];
  if (!status) status = compare(c, report, t, got, size.part);
  free(all);
  return status;
}

static filtra_status compare_gradient(const golden *c, golden_report *report,
                                      const ft_safetensor *t) {
  const char *name = t->name + strlen("grad.");
  for (size_t i = 0; i < c->binding_count; i++)
    if (!strncmp(name, "param.", 6) && !strcmp(name + 6, c->bindings[i].golden))
      return compare_bound(c, report, t, &c->bindings[i]);
  for (size_t i = 0; i < c->input_count; i++)
    if (!strcmp(name, c->inputs[i].tensor->name))
      return compare_device(c, report, t, c->inputs[i].device->grad);
  return compare(c, report, t, NULL, 0); /* the op does not read it, so its gradient is zero */
}

static filtra_status run_and_compare(golden *c, golden_report *report) {
  for (size_t i = 0; i < c->input_count; i++)
    FT_TRY(filtra_graph_set(c->graph, c->inputs[i].device, c->inputs[i].tensor->data));
  FT_TRY(filtra_graph_execute(c->graph));
  report->pass = true;
  size_t outputs = 0;
  for (size_t i = 0; i < c->output_count; i++) {
    const golden_port *o = &c->outputs[i];
    FT_TRY(o->host ? compare(c, report, o->tensor, o->host, (size_t)elements(o->tensor))
                   : compare_device(c, report, o->tensor, o->device));
  }
  for (size_t i = 0; i < ft_safetensors_count(c->file); i++) {
    const ft_safetensor *t = ft_safetensors_at(c->file, i);
    outputs += !strncmp(t->name, "out.", 4);
    if (!strncmp(t->name, "grad.", 5)) FT_TRY(compare_gradient(c, report, t));
  }
  if (outputs == c->output_count) return ft_graph_status(c->graph);
  return ft_fail(FILTRA_ERROR_UNSUPPORTED, "%s: %zu outputs, op \"%s\" is known to have %zu",
                 c->path, outputs, report->op, c->output_count);
}

/* NULL when unknown. */
static golden_build_fn find_op(const char *name) {
  static const golden_op *const FAMILIES[] = {
      golden_attention, golden_plaplacian,      golden_gfsa,
      golden_converter, golden_converter_parts, golden_mixers};
  for (size_t i = 0; i < FT_COUNT(FAMILIES); i++)
    for (const golden_op *op = FAMILIES[i]; op->name; op++)
      if (!strcmp(op->name, name)) return op->build;
  return NULL;
}

static filtra_status run_file(golden *c, const golden_file *file, golden_report *report) {
  FT_TRY(file->data ? ft_safetensors_copy(file->name, file->data, file->bytes, &c->file)
                    : ft_safetensors_open(file->name, &c->file));
  const char *op = golden_text(c, "op", NULL);
  if (!op)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: metadata \"op\" is missing; not a golden file",
                   c->path);
  snprintf(report->name, sizeof report->name, "%s", golden_text(c, "case", ""));
  snprintf(report->op, sizeof report->op, "%s", op);
  golden_build_fn build = find_op(op);
  if (!build)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "%s: op \"%.64s\" is not known here", c->path, op);
  FT_TRY(build_case(c, build));
  report->skipped = c->precision && !c->narrowed;
  if (report->skipped) return FILTRA_OK;
  return run_and_compare(c, report);
}

filtra_status golden_run(filtra_device *device, const golden_file *file, filtra_precision precision,
                         golden_report *report) {
  *report = (golden_report){0};
  golden *c = ft_calloc(1, sizeof *c);
  if (!c) return FILTRA_ERROR_HOST_MEMORY;
  c->device = device;
  c->precision = precision;
  c->path = file->name;
  filtra_status status = run_file(c, file, report);
  filtra_graph_destroy(&c->graph);
  filtra_parameters_destroy(&c->params);
  ft_safetensors_close(&c->file);
  free(c);
  if (status) golden_report_free(report);
  return status;
}

void golden_report_free(golden_report *report) {
  free(report->results);
  report->results = NULL;
  report->count = 0;
}
