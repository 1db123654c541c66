/* Rows' orders, as indices that filtra_gather takes. */
#include "ops/support.h"

#include <filtra/ops.h>

/* Beyond it the n^2 comparisons of a row could outlast a display driver's patience. */
enum { LONGEST = 65536 };

filtra_tensor *filtra_argsort(filtra_graph *g, filtra_tensor *x, filtra_tensor *mask,
                              filtra_sorting sorting) {
  if (!ft_usable_floats(g, x, 2, "argsort", "x") ||
      (mask && !ft_usable_floats(g, mask, 2, "argsort", "mask")))
    return NULL;
  if (mask && !ft_same_shape(mask, x))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "argsort: mask %s must have the shape of x, %s",
                         ft_shape_text(mask), ft_shape_text(x));
  if (x->shape[1] > LONGEST)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "argsort: rows of %lld numbers, accepted are up to %d",
                         (long long)x->shape[1], LONGEST);
  const int64_t count = filtra_tensor_elements(x);
  filtra_tensor *y = ft_tensor_new(g, "argsort", FILTRA_I32, 1, &count);
  if (!y) return NULL;
  const uint32_t push[] = {(uint32_t)count, (uint32_t)x->shape[1]};
  ft_record_call(g, &(ft_kernel_call){.label = "argsort",
                                      .kernel = "argsort/argsort",
                                      .args = {FT_READ(x), FT_READ(mask), FT_WRITE(y)},
                                      FT_PUSH(push),
                                      FT_SPEC(mask != NULL, sorting == FILTRA_UNSORT),
                                      FT_FLAT(g, push[0]),
                                      .bytes = 8.0 * push[0]});
  return y;
}
