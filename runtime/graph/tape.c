/* The tape: graph life, recorded calls, and reverse-mode differentiation over the ops. */
#include "graph/internal.h"
#include "graph/parameters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ft_chunk {
  ft_chunk *next;
  size_t used, size;
  _Alignas(16) unsigned char bytes[];
};

/* ---- graph life ---- */

filtra_status filtra_graph_create(filtra_device *device, const filtra_graph_options *options,
                                  filtra_graph **out) {
  static const filtra_graph_options defaults;
  if (!options) options = &defaults;
  FT_NEED(out);
  *out = NULL;
  FT_NEED(device);
  FT_TRY(FT_CHECK_RESERVED(filtra_graph_options, options));
  if (options->slots > FT_MAX_SLOTS)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "graph: %u slots, accepted are 0 to %d", options->slots,
                   FT_MAX_SLOTS);
  filtra_graph *g = ft_calloc(1, sizeof *g);
  if (!g) return FILTRA_ERROR_HOST_MEMORY;
  g->device = device;
  g->training = options->training;
  g->slot_count = options->slots ? options->slots : 3;
  g->done_slot = -1;
  g->arena = options->arena;
  *out = g;
  return FILTRA_OK;
}

void filtra_graph_destroy(filtra_graph **graph) {
  if (!graph || !*graph) return;
  filtra_graph *g = *graph;
  filtra_device *dev = g->device;
  for (uint32_t i = 0; i < g->slot_count; i++) {
    ft_slot *slot = &g->slots[i];
    if (slot->ticket && ft_wait(dev, slot->ticket)) ft_wait_whatever(dev);
    ft_buffer_destroy(dev, &slot->staging);
    ft_buffer_destroy(dev, &slot->readback);
  }
  ft_destroy_submissions(g);
  ft_command_pool_destroy(dev, g->pool);
  if (g->own_arena) filtra_arena_destroy(&g->arena);
  for (ft_chunk *c = g->memory; c;) {
    ft_chunk *next = c->next;
    free(c);
    c = next;
  }
  free(g->calls);
  free(g->ops);
  free(g->storages);
  free(g->stretches);
  free(g->substitutes);
  free(g->inputs);
  free(g->outputs);
  free(g->error);
  free(g);
  *graph = NULL;
}

void *ft_graph_alloc(filtra_graph *g, size_t bytes) {
  if (g->status) return NULL;
  bytes = (bytes + 15) & ~(size_t)15;
  if (!g->memory || g->memory->size - g->memory->used < bytes) {
    size_t size = bytes > 65536 ? bytes : 65536;
    ft_chunk *c = ft_calloc(1, sizeof *c + size);
    if (!c) return ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    c->size = size;
    c->next = g->memory;
    g->memory = c;
  }
  void *p = g->memory->bytes + g->memory->used;
  g->memory->used += bytes;
  return p;
}

void *ft_graph_fail(filtra_graph *g, filtra_status status, const char *format, ...) {
  if (!ft_graph_accept(g, FILTRA_OK)) return NULL;
  g->status = status;
  va_list list;
  va_start(list, format);
  g->error = ft_format_list(format, list);
  va_end(list);
  return NULL;
}

bool ft_graph_accept(filtra_graph *g, filtra_status status) {
  if (!g) ft_fail(FILTRA_ERROR_ARGUMENT, "an op was given no graph (NULL)");
  if (!g || g->status) return false;
  if (status) ft_graph_fail(g, status, "%s", filtra_error_message());
  return !status;
}

filtra_status ft_graph_status(const filtra_graph *g) {
  return g->status ? ft_fail(g->status, "%s", g->error ? g->error : "out of host memory")
                   : FILTRA_OK;
}

bool ft_usable(filtra_graph *g, const filtra_tensor *t) {
  if (!ft_graph_accept(g, FILTRA_OK)) return false;
  if (!t) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "an op was given no tensor (NULL)");
    return false;
  }
  if (t->graph != g) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "tensor %s belongs to another graph", t->name);
    return false;
  }
  if (g->compiled) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "the graph is compiled; nothing can be added to it");
    return false;
  }
  if (t->owner->unwritten) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s is read, but no kernel has written it", t->name);
    return false;
  }
  return true;
}

bool ft_usable_dense(filtra_graph *g, const filtra_tensor *t, const char *op,
                     const char *argument) {
  if (!ft_usable(g, t)) return false;
  if (ft_dense(t) && filtra_tensor_dtype(t) == FILTRA_F32) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s (%s %s) must be dense F32, it is %s", op,
                argument, t->name, ft_shape_text(t),
                ft_dense(t) ? filtra_dtype_name(filtra_tensor_dtype(t)) : "not dense");
  return false;
}

bool ft_usable_elements(filtra_graph *g, const filtra_tensor *t, const char *op,
                        const char *argument) {
  if (!ft_usable(g, t)) return false;
  filtra_dtype dtype = filtra_tensor_dtype(t);
  if (dtype == FILTRA_F32) return true;
  if (!ft_dtype_is_float(dtype)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s (%s %s) is %s; accepted are F32, F16 and BF16",
                  op, argument, t->name, ft_shape_text(t), filtra_dtype_name(dtype));
    return false;
  }
  return ft_graph_accept(g, ft_check_precision(g->device, dtype));
}

filtra_device *ft_graph_device(const filtra_graph *g) {
  return g->device;
}
bool ft_graph_training(const filtra_graph *g) {
  return g->training;
}
bool ft_graph_compiled(const filtra_graph *g) {
  return g->compiled;
}
uint32_t ft_graph_random_id(filtra_graph *g) {
  return g->random_ids++;
}

filtra_tensor *ft_graph_random_state(filtra_graph *g) {
  if (!g->random_state)
    g->random_state = filtra_graph_input(g, "random state", FILTRA_I32, 1,
                                         (const int64_t[]){g->part_sequences ? 7 : 4});
  return g->random_state;
}

void ft_graph_take_part(filtra_graph *g, int64_t sequences) {
  g->part_sequences = sequences;
}

void ft_graph_set_part(filtra_graph *g, int64_t first, int64_t count, int64_t all) {
  g->part[0] = (uint32_t)first;
  g->part[1] = (uint32_t)count;
  g->part[2] = (uint32_t)(all - count);
}

uint32_t ft_graph_sequence_elements(const filtra_graph *g, const filtra_tensor *t) {
  return g->part_sequences ? (uint32_t)(filtra_tensor_elements(t) / g->part_sequences) : 0;
}

void filtra_graph_set_step(filtra_graph *g, uint64_t seed, uint64_t step) {
  if (!g) return;
  g->seed = seed;
  g->step = step;
}

/* ---- recording ---- */

static filtra_tensor *add_port(filtra_graph *g, ft_port **list, size_t *count, size_t *capacity,
                               filtra_tensor *t) {
  if (!t || g->status) return NULL;
  if (ft_grow(list, *count, capacity, sizeof **list))
    return ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  (*list)[(*count)++] = (ft_port){.tensor = t, .latest_slot = -1};
  return t;
}

static filtra_status check_declaration(const char *what, const char *name, const int64_t *shape) {
  if (name && shape) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "%s %s: the %s is NULL", what, name ? name : "",
                 name ? "shape" : "name");
}

filtra_tensor *filtra_graph_input(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                                  const int64_t *shape) {
  if (!ft_graph_accept(g, check_declaration("input", name, shape))) return NULL;
  if (g->compiled)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "input %s: the graph is compiled", name);
  filtra_tensor *t = ft_tensor_new(g, name, dtype, ndim, shape);
  if (!add_port(g, &g->inputs, &g->input_count, &g->input_capacity, t)) return NULL;
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
  g->inputs[g->input_count - 1].constant = copy;
  return t;
}

void filtra_graph_require_gradient(filtra_graph *g, filtra_tensor *t) {
  if (!ft_usable(g, t)) return;
  if (!t->input || !ft_dtype_is_float(t->storage->dtype))
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "%s: only inputs of floating-point numbers can require a gradient", t->name);
  else
    t->requires_grad = true;
}

filtra_tensor *filtra_graph_output(filtra_graph *g, filtra_tensor *t) {
  if (!ft_usable(g, t)) return NULL;
  for (size_t i = 0; i < g->output_count; i++)
    if (g->outputs[i].tensor == t) return t;
  t->storage->pinned = true;
  return add_port(g, &g->outputs, &g->output_count, &g->output_capacity, t);
}

filtra_tensor *filtra_graph_parameter(filtra_graph *g, filtra_parameters *params, const char *name,
                                      int ndim, const int64_t *shape,
                                      const filtra_parameter_options *options) {
  static const filtra_parameter_options defaults;
  if (!ft_graph_accept(g, check_declaration("parameter", name, shape)) ||
      !ft_graph_accept(g, FT_CHECK_RESERVED(filtra_parameter_options, options)))
    return NULL;
  if (!params) return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "parameter %s: params is NULL", name);
  if (g->params && g->params != params)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "parameter %s: a graph takes one parameter set",
                         name);
  g->params = params;
  ft_parameter *p = ft_parameters_find(params, name);
  if (!p) {
    if (params->committed)
      return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                           "parameter %s was not declared before the parameters were committed",
                           name);
    filtra_status status =
        ft_parameters_add(params, name, ndim, shape, options ? options : &defaults);
    if (status) return ft_graph_fail(g, status, "%s", filtra_error_message());
    p = ft_parameters_find(params, name);
  }
  if (p->ndim != ndim || memcmp(p->shape, shape, (size_t)ndim * sizeof *shape))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "parameter %s is used with a shape that differs from its declaration",
                         name);
  if (params->committed && ft_parameter_is_narrow(params, p))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "parameter %s is there in %s alone; filtra_graph_parameter_copy has it",
                         name, filtra_dtype_name(p->options.copy));
  size_t index = (size_t)(p - params->list);
  if (index >= g->parameter_count) {
    size_t count = params->count > index ? params->count : index + 1;
    filtra_tensor **list = ft_graph_alloc(g, count * sizeof *list);
    if (!list) return NULL;
    if (g->parameter_count) memcpy(list, g->parameters, g->parameter_count * sizeof *list);
    g->parameters = list;
    g->parameter_count = count;
  }
  if (g->parameters[index]) return g->parameters[index];
  filtra_tensor *t =
      ft_tensor_external(g, name, FILTRA_F32, ndim, shape, &params->values, p->offset);
  if (!t) return NULL;
  if (!params->committed) g->declaring = true;
  t->requires_grad = (!params->committed || params->trainable) && !p->options.buffer;
  t->params = params;
  t->param_index = index;
  return g->parameters[index] = t;
}

filtra_tensor *filtra_graph_parameter_copy(filtra_graph *g, filtra_parameters *params,
                                           const char *name) {
  if (!ft_graph_accept(g, FILTRA_OK)) return NULL;
  const ft_parameter *p = params && name ? ft_parameters_find(params, name) : NULL;
  if (!p || p->options.copy == FILTRA_F32)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "parameter %s was not declared, or not with a copy",
                         name ? name : "(NULL)");
  const bool narrow = ft_parameter_is_narrow(params, p);
  filtra_tensor *master =
      narrow ? NULL : filtra_graph_parameter(g, params, name, p->ndim, p->shape, NULL);
  if (!master && !narrow) return NULL;
  filtra_tensor *t = ft_tensor_external(g, name, p->options.copy, p->ndim, p->shape,
                                        &params->copies, p->copy_offset);
  if (!t || narrow) return t;
  t->requires_grad = master->requires_grad;
  t->owner = master; /* whose gradient it shares */
  return t;
}

static void take_constants(const ft_kernel_call *call, ft_kernel_key *key) {
  key->spec_count = call->constant_count;
  if (call->constant_count)
    memcpy(key->spec, call->constants, call->constant_count * sizeof *key->spec);
  if (!call->sequence_elements) return;
  key->spec[FT_MAX_SPEC - 1] = call->sequence_elements;
  key->spec_count = FT_MAX_SPEC;
}

static bool take_call(filtra_graph *g, const ft_kernel_call *call, ft_recorded_call *c) {
  const ft_arg *args = call->given;
  const uint32_t addresses = call->tensor_count * (uint32_t)sizeof(uint64_t);
  memset(c, 0, sizeof *c);
  c->label = call->label;
  c->arg_count = call->tensor_count;
  c->push_size = addresses + call->scalar_size;
  if (c->push_size > FT_PUSH_BYTES || call->constant_count > FT_MAX_SPEC) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %u bytes of push constants, accepted are %d",
                  call->label, c->push_size, FT_PUSH_BYTES);
    return false;
  }
  memcpy(c->args, args, c->arg_count * sizeof *args);
  memcpy(c->push + addresses, args + c->arg_count, call->scalar_size);
  c->key = (ft_kernel_key){.kernel = call->kernel,
                           .module = call->module,
                           .workgroup = call->workgroup,
                           .subgroup = call->subgroup};
  take_constants(call, &c->key);
  for (int i = 0; i < 3; i++) {
    c->groups[i] = call->groups[i] ? call->groups[i] : 1;
    if (c->groups[i] > ft_caps_of(g->device)->max_groups[i]) {
      ft_graph_fail(g, FILTRA_ERROR_UNSUPPORTED,
                    "%s: needs %u workgroups in dimension %d, the device takes %u; use a smaller "
                    "batch or length",
                    call->label, c->groups[i], i, ft_caps_of(g->device)->max_groups[i]);
      return false;
    }
  }
  c->flops = call->flops;
  c->bytes = call->bytes;
  c->cheap = call->cheap;
  return true;
}

void ft_call(filtra_graph *g, const ft_kernel_call *call) {
  if (g->status) return;
  if (FT_GROW(g->calls, g->call_count, g->call_capacity))
    ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  else if (take_call(g, call, &g->calls[g->call_count]))
    g->call_count++;
}

void ft_call_substitute(filtra_graph *g, const filtra_tensor *t, const ft_kernel_call *call) {
  if (g->status || !g->call_count) return;
  if (FT_GROW(g->substitutes, g->substitute_count, g->substitute_capacity)) {
    ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    return;
  }
  ft_substitute *s = &g->substitutes[g->substitute_count];
  s->call = g->call_count - 1;
  s->storage = t->storage;
  if (take_call(g, call, &s->how)) g->substitute_count++;
}

ft_work ft_graph_work(const filtra_graph *g) {
  ft_work sum = {0};
  for (size_t i = 0; i < g->call_count; i++) {
    const ft_recorded_call *c = &g->calls[i];
    sum.flops += c->flops;
    sum.bytes += c->bytes;
    if (!c->key.module && ft_kernel_on_matrices(c->key.kernel)) sum.matrix_flops += c->flops;
  }
  return sum;
}

filtra_tensor *ft_tape(filtra_graph *g, const char *label, ft_backward_fn backward,
                       const void *context, size_t context_size, int input_count,
                       filtra_tensor *const *inputs, int output_count,
                       filtra_tensor *const *outputs) {
  if (g->status) return NULL;
  if (g->in_backward) return output_count ? outputs[0] : NULL;
  bool differentiable = false;
  for (int i = 0; i < input_count; i++)
    if (inputs[i] && inputs[i]->requires_grad) differentiable = true;
  differentiable = differentiable && backward;
  void *kept = ft_graph_alloc(g, context_size ? context_size : 1);
  filtra_tensor **copy = ft_graph_alloc(g, (size_t)output_count * sizeof *copy);
  if (!kept || !copy) return NULL;
  if (context_size) memcpy(kept, context, context_size);
  for (int i = 0; i < output_count; i++) {
    copy[i] = outputs[i];
    if (copy[i] && differentiable) copy[i]->requires_grad = true;
  }
  if (FT_GROW(g->ops, g->op_count, g->op_capacity))
    return ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  g->ops[g->op_count++] = (ft_op){label, backward, kept, copy, output_count, differentiable};
  return output_count ? outputs[0] : NULL;
}

/* ---- differentiation ----
 *
 * The gradient of a tensor is complete when its producer's rule runs, because every consumer lies
 * later on the tape. The first contribution writes, later ones accumulate in place. */

/* X's geometry over the gradient of X's owner. */
static filtra_tensor *grad_view(filtra_graph *g, const filtra_tensor *x) {
  const filtra_tensor *o = x->owner;
  if (x == o) return o->grad;
  filtra_tensor *v = ft_tensor_struct(g, o->grad->name, x->ndim, x->shape, o->grad->storage);
  if (!v) return NULL;
  memcpy(v->stride, x->stride, sizeof v->stride);
  v->offset = o->grad->offset + x->offset - o->offset;
  return v;
}

filtra_tensor *ft_grad(filtra_graph *g, const filtra_tensor *t) {
  if (!t || g->status || !t->owner->grad) return NULL;
  return grad_view(g, t);
}

static bool start_grad(filtra_graph *g, filtra_tensor *o) {
  char name[128];
  snprintf(name, sizeof name, "gradient of %s", o->name);
  if (o->whole) {
    filtra_tensor *root = o->whole;
    if (!root->grad) {
      root->grad_partial = true;
      if (!start_grad(g, root)) return false;
    }
    o->grad = ft_tensor_struct(g, name, o->ndim, o->shape, root->grad->storage);
    if (!o->grad) return false;
    memcpy(o->grad->stride, o->stride, sizeof o->stride);
    o->grad->offset = root->grad->offset + o->offset - root->offset;
  } else if (o->params) {
    o->grad = ft_tensor_external(g, name, FILTRA_F32, o->ndim, o->shape, &o->params->gradients,
                                 o->params->list[o->param_index].offset);
  } else {
    o->grad = ft_tensor_like(g, o, name);
  }
  return o->grad != NULL;
}

filtra_tensor *ft_grad_target(filtra_graph *g, filtra_tensor *t, bool *accumulate) {
  *accumulate = false;
  if (!t || g->status || !t->requires_grad) return NULL;
  filtra_tensor *o = t->owner;
  if (o->grad_partial)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "%s was split and is used by another op as well; use its pieces", t->name);
  /* A piece whose root already has a whole gradient adds to it. */
  *accumulate = o->grad || (o->whole && o->whole->grad && !o->whole->grad_partial);
  if (!o->grad && !start_grad(g, o)) return NULL;
  return grad_view(g, t);
}

void ft_grad_give(filtra_graph *g, filtra_tensor *t, filtra_tensor *from) {
  if (!t || !from || g->status || !t->requires_grad) return;
  filtra_tensor *o = t->owner;
  bool take = !o->grad && !o->whole && !o->params &&
              !memcmp(t->stride, from->stride, (size_t)t->ndim * sizeof *t->stride);
  if (take) {
    o->grad = ft_tensor_struct(g, from->name, o->ndim, o->shape, from->storage);
    if (!o->grad) return;
    memcpy(o->grad->stride, o->stride, sizeof o->stride);
    o->grad->offset = from->offset + o->offset - t->offset;
    return;
  }
  bool accumulate;
  filtra_tensor *target = ft_grad_target(g, t, &accumulate);
  if (target) ft_emit_copy(g, from, target, accumulate);
}

/* Parameters the outputs do not depend on: their gradient is zero, not what a run before left. */
static void clear_unreached(filtra_graph *g) {
  filtra_parameters *params = g->params;
  for (size_t i = 0; params && !g->declaring && i < params->count; i++) {
    filtra_tensor *t = i < g->parameter_count ? g->parameters[i] : NULL;
    if (t && t->grad) continue;
    const ft_parameter *p = &params->list[i];
    if (p->options.buffer) continue;
    ft_emit_fill(
        g,
        ft_tensor_external(g, p->name, FILTRA_F32, 1, &p->elements, &params->gradients, p->offset),
        0.0f);
  }
}

static void seed_output(filtra_graph *g, filtra_tensor *output, filtra_tensor *upstream) {
  if (!ft_usable(g, output) || !output->requires_grad) return;
  if (upstream && (!ft_usable_dense(g, upstream, "backward", "upstream gradient"))) return;
  if (upstream && filtra_tensor_elements(upstream) != filtra_tensor_elements(output)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "backward: upstream %s %s does not fit output %s %s",
                  upstream->name, ft_shape_text(upstream), output->name, ft_shape_text(output));
    return;
  }
  bool accumulate;
  filtra_tensor *target = ft_grad_target(g, output, &accumulate);
  if (!target) return;
  if (!upstream && accumulate) {
    upstream = ft_tensor_like(g, target, "ones");
    if (upstream) ft_emit_fill(g, upstream, 1.0f);
  }
  if (upstream)
    ft_emit_copy(g, upstream, target, accumulate);
  else
    ft_emit_fill(g, target, 1.0f);
}

filtra_status filtra_graph_backward(filtra_graph *g, size_t count, filtra_tensor *const *outputs,
                                    filtra_tensor *const *upstream) {
  FT_NEED(g);
  if (count) FT_NEED(outputs);
  if (g->differentiated || g->compiled)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "backward: once per graph, before compile");
  if (g->params && g->params->committed && !g->params->trainable)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "backward: the parameters were committed without gradients (trainable false)");
  FT_TRY(ft_graph_status(g));
  g->differentiated = g->in_backward = true;
  for (size_t i = 0; i < count; i++)
    seed_output(g, outputs[i], upstream ? upstream[i] : NULL);
  for (size_t i = g->op_count; i-- > 0 && !g->status;) {
    ft_op *op = &g->ops[i];
    bool reached = false;
    for (int k = 0; k < op->output_count; k++)
      if (op->outputs[k] && op->outputs[k]->owner->grad) reached = true;
    ft_stretch_enter(g, i);
    if (reached && op->differentiable) op->backward(g, op->context);
    ft_stretch_leave(g, i);
  }
  clear_unreached(g);
  g->in_backward = false;
  return ft_graph_status(g);
}

filtra_tensor *filtra_graph_gradient(filtra_graph *g, filtra_tensor *t) {
  if (!ft_usable(g, t)) return NULL;
  if (!t->requires_grad || !(t->input || t->params))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "gradient of %s: only parameters and inputs that require one keep theirs",
                         t->name);
  return t->grad;
}
