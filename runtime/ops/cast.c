/* Conversion between F32 and 16-bit floats. */
#include "cast/contract.h"
#include "ops/support.h"

struct cast {
  filtra_tensor *x, *y;
};

/* Records a cast; one of x and y is F32, the other has 16 bits. */
static void emit_cast(filtra_graph *g, const filtra_tensor *x, const filtra_tensor *y,
                      bool accumulate) {
  if (!ft_in_words(g, x, "cast") || !ft_in_words(g, y, "cast")) return;
  bool narrow = filtra_tensor_dtype(x) == FILTRA_F32;
  filtra_dtype half = filtra_tensor_dtype(narrow ? y : x);
  uint32_t count = (uint32_t)filtra_tensor_elements(x);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "cast",
             .kernel =
                 ft_kernel_typed(ft_graph_device(g), narrow ? "cast/narrow" : "cast/widen", half),
             .cheap = true,
             FT_ARGUMENTS(cast, .x = FT_READ(x), .y = FT_TARGET(y, accumulate), .count = count),
             FT_CONSTANTS(cast, .accumulate = accumulate),
             FT_FLAT(g, (count + 1) / 2),
             .bytes = 6.0 * count});
}

void ft_emit_cast(filtra_graph *g, filtra_tensor *x, filtra_tensor *y, bool accumulate) {
  if (!x || !y) return;
  if (filtra_tensor_dtype(x) == filtra_tensor_dtype(y))
    ft_emit_copy(g, x, y, accumulate);
  else
    emit_cast(g, x, y, accumulate);
}

filtra_tensor *ft_emit_in_type(filtra_graph *g, filtra_tensor *t, filtra_dtype type,
                               const char *name) {
  if (!t || filtra_tensor_dtype(t) == type) return t;
  filtra_tensor *cast = ft_tensor_new(g, name, type, t->ndim, t->shape);
  ft_emit_cast(g, t, cast, false);
  return cast;
}

static void cast_backward(filtra_graph *g, const void *context) {
  const struct cast *c = context;
  bool accumulate;
  filtra_tensor *dx = ft_grad_target(g, c->x, &accumulate);
  ft_emit_cast(g, ft_grad(g, c->y), dx, accumulate);
}

filtra_tensor *filtra_cast(filtra_graph *g, filtra_tensor *x, filtra_dtype dtype) {
  if (!ft_usable(g, x)) return NULL;
  filtra_dtype from = filtra_tensor_dtype(x);
  /* Between two 16-bit types cast twice, through F32. */
  bool pair = from == FILTRA_F32 || dtype == FILTRA_F32;
  if (!ft_dtype_is_float(from) || !ft_dtype_is_float(dtype) || !ft_dtype_on_device(dtype) ||
      from == dtype || !pair || !ft_dense(x))
    return ft_graph_fail(
        g, FILTRA_ERROR_ARGUMENT,
        "cast: %s %s, dense or not, from %s to %s; accepted are dense tensors, from "
        "F32 to F16 or BF16 and back",
        x->name, ft_shape_text(x), filtra_dtype_name(from), filtra_dtype_name(dtype));
  filtra_tensor *y = ft_tensor_new(g, "cast", dtype, x->ndim, x->shape);
  if (!y) return NULL;
  emit_cast(g, x, y, false);
  const struct cast call = {x, y};
  return ft_record_op(g, "cast", cast_backward, &call, sizeof call, 1, &x, 1, &y);
}
