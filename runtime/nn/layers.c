/* Layers: named scopes, parameters, linear layers and norms. Called by mixers, nn/encoder.c and
 * model/network.c. */
#include "nn/layers.h"

#include "base/memory.h"
#include "graph/parameters.h"
#include "ops/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

ft_scope ft_scope_enter(const ft_scope *scope, const char *format, ...) {
  ft_scope inner = *scope;
  size_t used = strlen(inner.prefix), room = sizeof inner.prefix - used;
  va_list list;
  va_start(list, format);
  int length = vsnprintf(inner.prefix + used, room, format, list);
  va_end(list);
  if (length < 0 || (size_t)length + 2 > room)
    ft_graph_fail(scope->graph, FILTRA_ERROR_ARGUMENT,
                  "layer %s..: a name with its prefix has at most %d characters", inner.prefix,
                  FT_NAME_TEXT - 2);
  else
    snprintf(inner.prefix + used + length, 2, ".");
  return inner;
}

filtra_graph *filtra_scope_graph(const filtra_scope *scope) {
  return scope ? scope->graph : NULL;
}

bool ft_scope_usable(const ft_scope *scope) {
  if (!scope) ft_fail(FILTRA_ERROR_ARGUMENT, "a part of a mixer was given no scope (NULL)");
  return scope && ft_graph_accept(scope->graph, FILTRA_OK);
}

bool ft_scope_name(const ft_scope *scope, const char *kind, const char *name,
                   char full[FT_NAME_TEXT]) {
  if (!ft_scope_usable(scope)) return false;
  int length = name ? snprintf(full, FT_NAME_TEXT, "%s%s%s", scope->prefix, kind, name) : 0;
  if (length > 0 && length < FT_NAME_TEXT) return true;
  ft_graph_fail(scope->graph, FILTRA_ERROR_ARGUMENT,
                "%s%.40s: a name with its prefix has 1 to %d characters", scope->prefix,
                name ? name : "(NULL)", FT_NAME_TEXT - 1);
  return false;
}

void ft_observe(const ft_scope *scope, const char *name, filtra_tensor *t) {
  static const int64_t origin[FILTRA_MAX_DIMS];
  ft_observer *o = scope->observer;
  char full[FT_NAME_TEXT];
  if (!o || !ft_usable(scope->graph, t) || !ft_scope_name(scope, "", name, full)) return;
  if (FT_GROW(o->list, o->count, o->capacity)) {
    ft_graph_fail(scope->graph, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    return;
  }
  ft_observation *seen = &o->list[o->count++];
  memcpy(seen->name, full, sizeof full);
  seen->tensor = filtra_graph_output(scope->graph, filtra_slice(scope->graph, t, origin, t->shape));
}

filtra_tensor *filtra_scope_parameter(const ft_scope *scope, const char *name, int ndim,
                                      const int64_t *shape,
                                      const filtra_parameter_options *options) {
  char full[FT_NAME_TEXT];
  if (!ft_scope_name(scope, "", name, full)) return NULL;
  return filtra_graph_parameter(scope->graph, scope->params, full, ndim, shape, options);
}

filtra_tensor *ft_scope_weight(const ft_scope *scope, const char *name, const int64_t shape[2],
                               const filtra_parameter_options *options) {
  char full[FT_NAME_TEXT];
  filtra_parameter_options o = *options;
  o.copy = scope->precision;
  if (o.copy == FILTRA_F32) return filtra_scope_parameter(scope, name, 2, shape, &o);
  if (!ft_scope_name(scope, "", name, full)) return NULL;
  if (!scope->params->committed)
    filtra_graph_parameter(scope->graph, scope->params, full, 2, shape, &o);
  return filtra_graph_parameter_copy(scope->graph, scope->params, full);
}

/* The first columns of a weight [out, in], for an input with fewer columns. */
static filtra_tensor *first_columns(const ft_scope *scope, filtra_tensor *w, int64_t columns) {
  filtra_graph *g = scope->graph;
  const bool cast = scope->precision != FILTRA_F32; /* slices are F32 */
  if (!ft_usable(g, w)) return NULL;
  const int64_t box[] = {w->shape[0], columns};
  w = filtra_slice(g, cast ? filtra_cast(g, w, FILTRA_F32) : w, (int64_t[]){0, 0}, box);
  return cast ? filtra_cast(g, w, scope->precision) : w;
}

filtra_parameter_options ft_scope_matrix(const ft_scope *scope, int64_t in) {
  if (scope->init_std > 0.0f)
    return (filtra_parameter_options){
        .init = FILTRA_INIT_NORMAL, .value = scope->init_std, .decay = true};
  return (filtra_parameter_options){
      .init = FILTRA_INIT_UNIFORM, .value = 1.0f / sqrtf((float)in), .decay = true};
}

filtra_parameter_options ft_scope_bias(const ft_scope *scope, int64_t in) {
  const filtra_parameter_options weight = ft_scope_matrix(scope, in);
  if (weight.init == FILTRA_INIT_NORMAL) return (filtra_parameter_options){0};
  return (filtra_parameter_options){.init = weight.init, .value = weight.value};
}

filtra_tensor *ft_linear_prefix(const ft_scope *scope, const char *name, filtra_tensor *x,
                                int64_t in, int64_t out, const filtra_linear_options *options) {
  if (!ft_usable(scope->graph, x)) return NULL;
  ft_scope inner = ft_scope_enter(scope, "%s", name);
  const int64_t shape[] = {out, in};
  const filtra_parameter_options weight = ft_scope_matrix(scope, in);
  const filtra_parameter_options bias = ft_scope_bias(scope, in);
  filtra_tensor *w = ft_scope_weight(&inner, "weight", shape, &weight);
  filtra_tensor *b = filtra_scope_parameter(&inner, "bias", 1, &out, &bias);
  if (ft_columns(x) < in) w = first_columns(scope, w, ft_columns(x));
  return filtra_linear(scope->graph, x, w, b, options);
}

filtra_tensor *filtra_scope_linear(const ft_scope *scope, const char *name, filtra_tensor *x,
                                   int64_t out, const filtra_linear_options *options) {
  if (!ft_scope_usable(scope) || !ft_usable(scope->graph, x)) return NULL;
  if (!name)
    return ft_graph_fail(scope->graph, FILTRA_ERROR_ARGUMENT, "%s..: a layer without a name (NULL)",
                         scope->prefix);
  return ft_linear_prefix(scope, name, x, ft_columns(x), out, options);
}

filtra_tensor *ft_group_linear(const ft_scope *scope, const char *name, filtra_tensor *x,
                               int64_t out) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, x)) return NULL;
  const ft_scope inner = ft_scope_enter(scope, "%s", name);
  const int64_t groups = x->shape[1], rows = x->shape[0] * x->shape[2], in = x->shape[3];
  const int64_t shape[] = {groups, out, in}, biases = groups * out;
  const filtra_parameter_options weight = ft_scope_matrix(scope, in);
  const filtra_parameter_options bias = ft_scope_bias(scope, in);
  filtra_tensor *w = filtra_scope_parameter(&inner, "weight", 3, shape, &weight);
  filtra_tensor *b = filtra_scope_parameter(&inner, "bias", 1, &biases, &bias);
  x = filtra_reshape(g, filtra_transpose(g, x, 0, 1), 3, (int64_t[]){groups, rows, in});
  x = filtra_matmul(g, x, w, &(filtra_matmul_options){.transpose_b = true});
  x = filtra_add(g, x, filtra_reshape(g, b, 3, (int64_t[]){groups, 1, out}));
  return filtra_reshape(g, x, 2, (int64_t[]){groups * rows, out});
}

filtra_tensor *ft_norm_layer(const ft_scope *scope, const char *name, filtra_tensor *x,
                             filtra_dtype dtype) {
  if (!ft_usable(scope->graph, x)) return NULL;
  int64_t c = ft_columns(x);
  ft_scope inner = ft_scope_enter(scope, "%s", name);
  filtra_tensor *gain = filtra_scope_parameter(
      &inner, "weight", 1, &c,
      &(filtra_parameter_options){.init = FILTRA_INIT_CONSTANT, .value = 1.0f});
  filtra_tensor *bias = filtra_scope_parameter(&inner, "bias", 1, &c, NULL);
  return ft_layer_norm(scope->graph, x, gain, bias, scope->norm_epsilon, dtype);
}
