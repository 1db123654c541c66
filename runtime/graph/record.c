/* Recording: inputs, outputs, parameters, kernel calls and ops, in the order in which models and op
 * files call for them. Called by ops and programs; graph/gradients.c appends the backward pass. */
#include "graph/parameters.h"
#include "graph/tape.h"

#include <string.h>

filtra_device *ft_graph_device(const filtra_graph *g) {
  return g->device;
}
bool ft_graph_training(const filtra_graph *g) {
  return g->training;
}
bool ft_graph_compiled(const filtra_graph *g) {
  return g->program != NULL;
}

/* ---- random numbers ---- */

uint32_t ft_graph_random_id(filtra_graph *g) {
  return g->tape.random_ids++;
}

filtra_tensor *ft_graph_random_state(filtra_graph *g) {
  struct ft_tape *tape = &g->tape;
  if (!tape->random_state)
    tape->random_state = filtra_graph_input(g, "random state", FILTRA_I32, 1,
                                            (const int64_t[]){tape->part_sequences ? 7 : 4});
  return tape->random_state;
}

void ft_graph_take_part(filtra_graph *g, int64_t sequences) {
  g->tape.part_sequences = sequences;
}

uint32_t ft_graph_sequence_elements(const filtra_graph *g, const filtra_tensor *t) {
  const int64_t sequences = g->tape.part_sequences;
  return sequences ? (uint32_t)(filtra_tensor_elements(t) / sequences) : 0;
}

/* ---- inputs and outputs ---- */

static filtra_tensor *add_transfer(filtra_graph *g, ft_transfer **list, size_t *count,
                                   size_t *capacity, filtra_tensor *t) {
  if (!t || g->status) return NULL;
  if (ft_grow(list, *count, capacity, sizeof **list))
    return ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  (*list)[(*count)++] = (ft_transfer){.tensor = t};
  return t;
}

filtra_status ft_check_declaration(const char *what, const char *name, const int64_t *shape) {
  if (name && shape) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "%s %s: the %s is NULL", what, name ? name : "",
                 name ? "shape" : "name");
}

size_t ft_graph_input_count(const filtra_graph *g) {
  size_t count = 0;
  for (size_t i = 0; i < g->tape.input_count; i++)
    count += !g->tape.inputs[i].constant && g->tape.inputs[i].tensor != g->tape.random_state;
  return count;
}

filtra_tensor *filtra_graph_input(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                                  const int64_t *shape) {
  if (!ft_graph_accept(g, ft_check_declaration("input", name, shape))) return NULL;
  if (g->program)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "input %s: the graph is compiled", name);
  filtra_tensor *t = ft_tensor_new(g, name, dtype, ndim, shape);
  if (!add_transfer(g, &g->tape.inputs, &g->tape.input_count, &g->tape.input_capacity, t))
    return NULL;
  t->input = true;
  return t;
}

filtra_tensor *ft_graph_constant(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                                 const int64_t *shape, const void *data) {
  filtra_tensor *t = filtra_graph_input(g, name, dtype, ndim, shape);
  size_t bytes = t ? ft_dtype_extent(dtype, filtra_tensor_elements(t)) : 0;
  void *copy = t ? ft_graph_alloc(g, bytes) : NULL;
  if (!copy) return NULL;
  memcpy(copy, data, (size_t)filtra_tensor_elements(t) * filtra_dtype_bytes(dtype));
  g->tape.inputs[g->tape.input_count - 1].constant = copy;
  return t;
}

void filtra_graph_require_gradient(filtra_graph *g, filtra_tensor *t) {
  if (!ft_usable(g, t)) return;
  if (!t->input || !ft_dtype_is_float(t->storage->dtype))
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "%s: only inputs of floating-point numbers can require a gradient", t->name);
  else if (!t->requires_grad && (t->read || t->next || t->storage->tensors != t))
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "%s: filtra_graph_require_gradient comes before the first op that uses an input",
                  t->name);
  else
    t->requires_grad = true;
}

filtra_tensor *filtra_graph_output(filtra_graph *g, filtra_tensor *t) {
  if (!ft_usable(g, t)) return NULL;
  for (size_t i = 0; i < g->tape.output_count; i++)
    if (g->tape.outputs[i].tensor == t) return t;
  if (t->storage->shared)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "output %s: it lies in a buffer of filtra_vulkan_input or "
                         "filtra_vulkan_output; filtra_permute makes a copy",
                         t->name);
  t->storage->pinned = true;
  return add_transfer(g, &g->tape.outputs, &g->tape.output_count, &g->tape.output_capacity, t);
}

/* ---- parameters ---- */

static filtra_tensor *parameter_tensor(filtra_graph *g, const char *name, filtra_dtype dtype,
                                       const ft_parameter *p, ft_home home) {
  struct ft_tape *tape = &g->tape;
  return ft_tensor_of_parameter(g, name, dtype, p->ndim, p->shape, home,
                                (size_t)(p - tape->params->list));
}

/* The parameter's entry in the tape's list; NULL when out of memory. */
static filtra_tensor **entry_of(filtra_graph *g, size_t index) {
  struct ft_tape *tape = &g->tape;
  if (index >= tape->parameter_count) {
    size_t count = tape->params->count > index ? tape->params->count : index + 1;
    filtra_tensor **list = ft_graph_alloc(g, count * sizeof *list);
    if (!list) return NULL;
    if (tape->parameter_count) memcpy(list, tape->parameters, tape->parameter_count * sizeof *list);
    tape->parameters = list;
    tape->parameter_count = count;
  }
  return &tape->parameters[index];
}

static bool take_set(filtra_graph *g, filtra_parameters *params, const char *name) {
  if (params->device != g->device)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "parameter %s: the parameters are another device's",
                  name);
  else if (g->tape.params && g->tape.params != params)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "parameter %s: a graph takes one parameter set", name);
  ft_graph_hold(g, &params->users);
  if (g->status) return false;
  g->tape.params = params;
  return true;
}

/* Finds a parameter, or declares it if the set is not committed. */
static ft_parameter *declare(filtra_graph *g, filtra_parameters *params, const char *name, int ndim,
                             const int64_t *shape, const filtra_parameter_options *options) {
  static const filtra_parameter_options defaults;
  ft_parameter *p = ft_parameters_find(params, name);
  if (p) return p;
  if (params->committed)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "parameter %s was not declared before the parameters were committed",
                         name);
  if (!ft_graph_accept(g,
                       ft_parameters_add(params, name, ndim, shape, options ? options : &defaults)))
    return NULL;
  return ft_parameters_find(params, name);
}

filtra_tensor *filtra_graph_parameter(filtra_graph *g, filtra_parameters *params, const char *name,
                                      int ndim, const int64_t *shape,
                                      const filtra_parameter_options *options) {
  if (!ft_graph_accept(g, ft_check_declaration("parameter", name, shape)) ||
      !ft_graph_accept(g, FT_CHECK_RESERVED(filtra_parameter_options, options)))
    return NULL;
  if (!params) return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "parameter %s: params is NULL", name);
  if (!take_set(g, params, name)) return NULL;
  ft_parameter *p = declare(g, params, name, ndim, shape, options);
  if (!p) return NULL;
  if (p->ndim != ndim || memcmp(p->shape, shape, (size_t)ndim * sizeof *shape))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "parameter %s is used with a shape that differs from its declaration",
                         name);
  if (params->committed && ft_parameter_is_narrow(params, p))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "parameter %s is there in %s alone; filtra_graph_parameter_copy has it",
                         name, filtra_dtype_name(p->options.copy));
  const size_t index = (size_t)(p - params->list);
  filtra_tensor **entry = entry_of(g, index);
  if (!entry || *entry) return entry ? *entry : NULL;
  filtra_tensor *t = parameter_tensor(g, name, FILTRA_F32, p, FT_HOME_VALUES);
  if (!t) return NULL;
  t->requires_grad = (!params->committed || params->trainable) && !p->options.buffer && !p->frozen;
  t->params = params;
  t->param_index = index;
  return *entry = t;
}

filtra_tensor *filtra_graph_parameter_copy(filtra_graph *g, filtra_parameters *params,
                                           const char *name) {
  if (!ft_graph_accept(g, FILTRA_OK)) return NULL;
  const ft_parameter *p = params && name ? ft_parameters_find(params, name) : NULL;
  if (!p || p->options.copy == FILTRA_F32)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "parameter %s was not declared, or not with a copy",
                         name ? name : "(NULL)");
  if (!take_set(g, params, name)) return NULL;
  const bool narrow = ft_parameter_is_narrow(params, p);
  filtra_tensor *master =
      narrow ? NULL : filtra_graph_parameter(g, params, name, p->ndim, p->shape, NULL);
  if (!master && !narrow) return NULL;
  filtra_tensor *t = parameter_tensor(g, name, p->options.copy, p, FT_HOME_COPIES);
  if (!t || narrow) return t;
  t->requires_grad = master->requires_grad;
  t->owner = master; /* copy and master share one gradient */
  return t;
}

/* ---- calls and ops ---- */

static void take_constants(const ft_kernel_call *call, ft_kernel_key *key) {
  key->spec_count = call->constant_count;
  if (call->constant_count)
    memcpy(key->spec, call->constants, call->constant_count * sizeof *key->spec);
  if (!call->sequence_elements) return;
  key->spec[FT_MAX_SPEC - 1] = call->sequence_elements;
  key->spec_count = FT_MAX_SPEC;
}

void ft_call_take(const ft_kernel_call *call, ft_recorded_call *to) {
  const ft_arg *args = call->given;
  const uint32_t addresses = call->tensor_count * (uint32_t)sizeof(uint64_t);
  memset(to, 0, sizeof *to);
  to->label = call->label;
  to->arg_count = call->tensor_count;
  to->push_size = addresses + call->scalar_size;
  memcpy(to->args, args, to->arg_count * sizeof *args);
  memcpy(to->push + addresses, args + to->arg_count, call->scalar_size);
  to->key = (ft_kernel_key){.kernel = call->kernel,
                            .module = call->module,
                            .workgroup = call->workgroup,
                            .subgroup = call->subgroup};
  take_constants(call, &to->key);
  for (int i = 0; i < 3; i++)
    to->groups[i] = call->groups[i] ? call->groups[i] : 1;
  to->flops = call->flops;
  to->bytes = call->bytes;
  to->cheap = call->cheap;
  to->is_sum = call->is_sum;
  to->step = call->step;
}

static bool take_call(filtra_graph *g, const ft_kernel_call *call, ft_recorded_call *c) {
  const uint32_t size = call->tensor_count * (uint32_t)sizeof(uint64_t) + call->scalar_size;
  if (size > FT_PUSH_BYTES || call->constant_count > FT_MAX_SPEC) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %u bytes of push constants, accepted are %d",
                  call->label, size, FT_PUSH_BYTES);
    return false;
  }
  ft_call_take(call, c);
  for (int i = 0; i < 3; i++)
    if (c->groups[i] > ft_caps_of(g->device)->max_groups[i]) {
      ft_graph_fail(g, FILTRA_ERROR_UNSUPPORTED,
                    "%s: needs %u workgroups in dimension %d, the device takes %u; use a smaller "
                    "batch or length",
                    call->label, c->groups[i], i, ft_caps_of(g->device)->max_groups[i]);
      return false;
    }
  return true;
}

void ft_record_call(filtra_graph *g, const ft_kernel_call *call) {
  if (g->status) return;
  if (FT_GROW(g->tape.calls, g->tape.call_count, g->tape.call_capacity))
    ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  else if (take_call(g, call, &g->tape.calls[g->tape.call_count]))
    g->tape.call_count++;
}

void ft_record_substitute(filtra_graph *g, const filtra_tensor *t, const ft_kernel_call *call) {
  if (g->status || !g->tape.call_count) return;
  if (FT_GROW(g->tape.substitutes, g->tape.substitute_count, g->tape.substitute_capacity)) {
    ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    return;
  }
  ft_substitute *s = &g->tape.substitutes[g->tape.substitute_count];
  s->call = g->tape.call_count - 1;
  s->storage = t->storage;
  if (take_call(g, call, &s->how)) g->tape.substitute_count++;
}

filtra_tensor *ft_record_op(filtra_graph *g, const char *label, ft_backward_fn backward,
                            const void *context, size_t context_size, int input_count,
                            filtra_tensor *const *inputs, int output_count,
                            filtra_tensor *const *outputs) {
  if (g->status) return NULL;
  if (g->tape.phase == FT_BACKWARD) return output_count ? outputs[0] : NULL;
  bool differentiable = false;
  for (int i = 0; i < input_count; i++) {
    if (inputs[i]) inputs[i]->owner->read = true;
    if (inputs[i] && inputs[i]->requires_grad) differentiable = true;
  }
  differentiable = differentiable && backward;
  void *kept = ft_graph_alloc(g, context_size ? context_size : 1);
  filtra_tensor **copy = ft_graph_alloc(g, (size_t)output_count * sizeof *copy);
  if (!kept || !copy) return NULL;
  if (context_size) memcpy(kept, context, context_size);
  for (int i = 0; i < output_count; i++) {
    copy[i] = outputs[i];
    if (copy[i] && differentiable) copy[i]->requires_grad = true;
  }
  if (FT_GROW(g->tape.ops, g->tape.op_count, g->tape.op_capacity))
    return ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  g->tape.ops[g->tape.op_count++] =
      (ft_op){label, backward, kept, copy, output_count, differentiable};
  return output_count ? outputs[0] : NULL;
}

/* ---- readouts ---- */

filtra_status ft_graph_read_out(filtra_graph *g, const ft_readout *list, size_t count) {
  g->tape.readouts = ft_graph_alloc(g, (count + 1) * sizeof *list);
  FT_TRY(ft_graph_status(g));
  memcpy(g->tape.readouts, list, count * sizeof *list);
  g->tape.readout_count = count;
  return FILTRA_OK;
}
