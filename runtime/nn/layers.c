#include "nn/layers.h"

#include "base/memory.h"

#include <math.h>
#include <stdio.h>

ft_scope ft_scope_enter(const ft_scope *scope, const char *format, ...) {
  ft_scope inner = *scope;
  char name[FT_NAME_TEXT / 2];
  va_list list;
  va_start(list, format);
  vsnprintf(name, sizeof name, format, list);
  va_end(list);
  snprintf(inner.prefix, sizeof inner.prefix, "%.40s%s.", scope->prefix, name);
  return inner;
}

void ft_observe(const ft_scope *scope, const char *name, filtra_tensor *t) {
  static const int64_t origin[FILTRA_MAX_DIMS];
  ft_observer *o = scope->observer;
  if (!o || !ft_usable(scope->graph, t)) return;
  if (FT_GROW(o->list, o->count, o->capacity)) {
    ft_graph_fail(scope->graph, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    return;
  }
  ft_observation *seen = &o->list[o->count++];
  snprintf(seen->name, sizeof seen->name, "%.60s%.30s", scope->prefix, name);
  seen->tensor = filtra_graph_output(scope->graph, filtra_slice(scope->graph, t, origin, t->shape));
}

filtra_tensor *ft_parameter_tensor(const ft_scope *scope, const char *name, int ndim,
                                   const int64_t *shape, const filtra_parameter_options *options) {
  char full[FT_NAME_TEXT * 2];
  snprintf(full, sizeof full, "%s%s", scope->prefix, name);
  return filtra_graph_parameter(scope->graph, scope->params, full, ndim, shape, options);
}

filtra_tensor *ft_linear_prefix(const ft_scope *scope, const char *name, filtra_tensor *x,
                                int64_t in, int64_t out, const filtra_linear_options *options) {
  if (!ft_usable(scope->graph, x)) return NULL;
  float bound = 1.0f / sqrtf((float)in);
  ft_scope inner = ft_scope_enter(scope, "%s", name);
  filtra_tensor *w = ft_parameter_tensor(
      &inner, "weight", 2, (int64_t[]){out, in},
      &(filtra_parameter_options){.init = FILTRA_INIT_UNIFORM, .value = bound, .decay = true});
  filtra_tensor *b =
      ft_parameter_tensor(&inner, "bias", 1, &out,
                          &(filtra_parameter_options){.init = FILTRA_INIT_UNIFORM, .value = bound});
  if (ft_columns(x) < in)
    w = filtra_slice(scope->graph, w, (int64_t[]){0, 0}, (int64_t[]){out, ft_columns(x)});
  return filtra_linear(scope->graph, x, w, b, options);
}

filtra_tensor *ft_linear_layer(const ft_scope *scope, const char *name, filtra_tensor *x,
                               int64_t out, const filtra_linear_options *options) {
  return ft_usable(scope->graph, x) ? ft_linear_prefix(scope, name, x, ft_columns(x), out, options)
                                    : NULL;
}

filtra_tensor *ft_norm_layer(const ft_scope *scope, const char *name, filtra_tensor *x) {
  if (!ft_usable(scope->graph, x)) return NULL;
  int64_t c = ft_columns(x);
  ft_scope inner = ft_scope_enter(scope, "%s", name);
  filtra_tensor *gain =
      ft_parameter_tensor(&inner, "weight", 1, &c,
                          &(filtra_parameter_options){.init = FILTRA_INIT_CONSTANT, .value = 1.0f});
  filtra_tensor *bias = ft_parameter_tensor(&inner, "bias", 1, &c, NULL);
  return filtra_layer_norm(scope->graph, x, gain, bias, 0.0f);
}
