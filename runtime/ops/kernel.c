/* Kernels of applications: checks, recording and gradients. Called by programs through
 * <filtra/kernel.h>. */
#include "graph/parameters.h"
#include "ops/support.h"

#include <filtra/kernel.h>
#include <string.h>

filtra_tensor *filtra_kernel_output(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                                    const int64_t *shape) {
  if (!ft_graph_accept(g, name && shape
                              ? FILTRA_OK
                              : ft_fail(FILTRA_ERROR_ARGUMENT, "tensor: name or shape is NULL")))
    return NULL;
  filtra_tensor *t = ft_tensor_new(g, name, dtype, ndim, shape);
  if (t) t->made_by_caller = t->unwritten = true;
  return t;
}

/* ---- checks ---- */

static bool writable(const filtra_tensor *t, filtra_access access) {
  const filtra_tensor *o = t->owner;
  if (o->params) {
    const filtra_parameter_options *options = &o->params->list[o->param_index].options;
    return options->buffer && !options->copy; /* a 16-bit copy would not follow */
  }
  return o->made_by_caller && !o->requires_grad && (access == FILTRA_ACCESS_UPDATE || o->unwritten);
}

static filtra_status check_argument(filtra_graph *g, const filtra_kernel *k, uint32_t i) {
  const filtra_kernel_argument *a = &k->arguments[i];
  filtra_tensor *t = a->tensor;
  if (a->access < FILTRA_ACCESS_READ || a->access > FILTRA_ACCESS_UPDATE)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: argument %u: there is no access %d", k->name,
                   i, (int)a->access);
  if (!t) return FILTRA_OK;
  if (t->graph != g)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: argument %u belongs to another graph",
                   k->name, i);
  if (!ft_dense(t))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: argument %u (%s %s) must be dense", k->name,
                   i, t->name, ft_shape_text(t));
  if (k->backward && a->access == FILTRA_ACCESS_UPDATE)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "kernel %s: updates %s; a kernel with a gradient reads and writes", k->name,
                   t->name);
  if ((a->access & FILTRA_ACCESS_READ) && t->owner->unwritten)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: reads %s, which no kernel has written",
                   k->name, t->name);
  if ((a->access & FILTRA_ACCESS_WRITE) && !writable(t, a->access))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "kernel %s: writes %s; accepted are new tensors from filtra_kernel_output and "
                   "buffers, and with UPDATE those that other kernels wrote without a gradient",
                   k->name, t->name);
  for (uint32_t n = 0; n < i; n++)
    if (k->arguments[n].tensor && k->arguments[n].tensor->storage == t->storage &&
        ((a->access | k->arguments[n].access) & FILTRA_ACCESS_WRITE))
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "kernel %s: arguments %u and %u share %s, and one writes", k->name, n, i,
                     t->name);
  return FILTRA_OK;
}

static filtra_status check_kernel(filtra_graph *g, const filtra_kernel *k) {
  FT_TRY(FT_CHECK_RESERVED(filtra_kernel, k));
  if (ft_graph_compiled(g))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel: the graph is compiled; nothing can be added");
  if (!k->name || !*k->name) return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel: needs a name");
  if (!k->words) return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: words is NULL", k->name);
  if (!k->argument_count || k->argument_count > FT_MAX_ARGS || !k->arguments)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: %u arguments, accepted are 1 to %d", k->name,
                   k->arguments ? k->argument_count : 0, FT_MAX_ARGS);
  uint32_t room = FT_PUSH_BYTES - k->argument_count * (uint32_t)sizeof(uint64_t);
  if (k->push_size > room || k->push_size % 4 || (k->push_size && !k->push))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "kernel %s: %u bytes of push constants behind %u addresses, accepted are "
                   "multiples of 4 up to %u",
                   k->name, k->push_size, k->argument_count, room);
  if (k->constant_count > FT_MAX_SPEC || (k->constant_count && !k->constants))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: %u constants, accepted are 0 to %d", k->name,
                   k->constant_count, FT_MAX_SPEC);
  uint32_t most = ft_caps_of(ft_graph_device(g))->info.max_workgroup_invocations;
  if (!k->workgroup || k->workgroup > most)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: a workgroup of %u, accepted are 1 to %u",
                   k->name, k->workgroup, most);
  if (k->subgroup & (k->subgroup - 1))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: subgroups of %u, accepted are powers of two",
                   k->name, k->subgroup);
  if (k->context_size && !k->context)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: context is NULL", k->name);
  for (uint32_t i = 0; i < k->argument_count; i++)
    FT_TRY(check_argument(g, k, i));
  return FILTRA_OK;
}

/* Fails if the shader would read more push constants than given, or read numbers as addresses. */
static filtra_status check_push(const filtra_kernel *k, const ft_module *module) {
  const ft_push_block block = ft_module_push(module);
  const uint32_t given = k->argument_count * (uint32_t)sizeof(uint64_t) + k->push_size;
  if (block.known && block.addresses != k->argument_count)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "kernel %s: %u arguments, its SPIR-V takes %u addresses",
                   k->name, k->argument_count, block.addresses);
  if (block.bytes <= given) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "kernel %s: %u bytes of push constants with the addresses, its SPIR-V reads %u",
                 k->name, given, block.bytes);
}

/* ---- recording ---- */

static void dispatch(filtra_graph *g, const filtra_kernel *k, const ft_module *module) {
  ft_arg given[FT_MAX_ARGS + FT_PUSH_BYTES / sizeof(ft_arg)]; /* scalars come after the tensors */
  for (uint32_t i = 0; i < k->argument_count; i++)
    given[i] = (ft_arg){k->arguments[i].tensor, (ft_access_mode)k->arguments[i].access};
  if (k->push_size) memcpy(given + k->argument_count, k->push, k->push_size);
  ft_record_call(g, &(ft_kernel_call){.label = ft_module_name(module),
                                      .kernel = ft_module_name(module),
                                      .module = module,
                                      .given = given,
                                      .tensor_count = k->argument_count,
                                      .scalar_size = k->push_size,
                                      .constants = k->constants,
                                      .constant_count = k->constant_count,
                                      .workgroup = k->workgroup,
                                      .subgroup = k->subgroup,
                                      .groups = {k->groups[0], k->groups[1], k->groups[2]},
                                      .flops = k->flops,
                                      .bytes = k->bytes});
}

/* Records an op whose outputs depend on its inputs. */
static void differentiate(filtra_graph *g, const filtra_kernel *k, const char *label) {
  filtra_tensor *inputs[FT_MAX_ARGS], *outputs[FT_MAX_ARGS];
  int input_count = 0, output_count = 0;
  for (uint32_t i = 0; i < k->argument_count; i++) {
    filtra_tensor *t = k->arguments[i].tensor;
    if (!t) continue;
    if (k->arguments[i].access == FILTRA_ACCESS_READ)
      inputs[input_count++] = t;
    else
      outputs[output_count++] = t;
  }
  ft_record_op(g, label, k->backward, k->context, k->context_size, input_count, inputs,
               output_count, outputs);
}

filtra_status filtra_kernel_record(filtra_graph *g, const filtra_kernel *kernel) {
  FT_NEED(g, kernel);
  const ft_module *module = NULL;
  FT_TRY(ft_graph_status(g));
  filtra_status status = check_kernel(g, kernel);
  if (!status)
    status =
        ft_module_get(ft_graph_device(g), kernel->name, kernel->words, kernel->word_count, &module);
  if (!status) status = check_push(kernel, module);
  if (!ft_graph_accept(g, status)) return status;
  dispatch(g, kernel, module);
  for (uint32_t i = 0; i < kernel->argument_count; i++)
    if (kernel->arguments[i].tensor && (kernel->arguments[i].access & FILTRA_ACCESS_WRITE))
      kernel->arguments[i].tensor->owner->unwritten = false;
  if (kernel->backward) differentiate(g, kernel, ft_module_name(module));
  return ft_graph_status(g);
}

/* ---- gradients ---- */

filtra_tensor *filtra_kernel_gradient(filtra_graph *g, filtra_tensor *output) {
  return g ? ft_grad(g, output) : NULL;
}

bool filtra_kernel_wants_gradient(const filtra_tensor *input) {
  return input && input->requires_grad;
}

void filtra_kernel_add_gradient(filtra_graph *g, filtra_tensor *input, filtra_tensor *gradient) {
  if (!ft_usable_dense(g, gradient, "add_gradient", "gradient") || !ft_usable(g, input)) return;
  if (!ft_same_shape(input, gradient)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "add_gradient: %s %s is for %s %s", gradient->name,
                  ft_shape_text(gradient), input->name, ft_shape_text(input));
    return;
  }
  bool accumulate;
  filtra_tensor *target = ft_grad_target(g, input, &accumulate);
  if (target) ft_emit_copy(g, gradient, target, accumulate);
}
