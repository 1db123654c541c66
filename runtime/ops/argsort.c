/* The order of each row's elements, as indices for filtra_gather. */
#include "argsort/contract.h"
#include "ops/support.h"

#include <filtra/ops.h>

/* Longer rows need n^2 comparisons that could outlast a display driver's watchdog. */
enum { LONGEST = 65536 };

filtra_tensor *filtra_argsort(filtra_graph *g, filtra_tensor *x, filtra_tensor *mask,
                              filtra_sorting sorting) {
  if (!ft_known_choice(g, (int)sorting, FILTRA_UNSORT, "argsort", "order") ||
      !ft_usable_floats(g, x, 2, "argsort", "x") ||
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
  ft_record_call(
      g,
      &(ft_kernel_call){
          .label = "argsort",
          .kernel = "argsort/argsort",
          FT_ARGUMENTS(argsort_argsort, .x = FT_READ(x), .mask = FT_READ(mask), .y = FT_WRITE(y),
                       .count = (uint32_t)count, .n = (uint32_t)x->shape[1]),
          FT_CONSTANTS(argsort_argsort, .masked = mask != NULL, .back = sorting == FILTRA_UNSORT),
          FT_FLAT(g, (uint32_t)count),
          .bytes = 8.0 * (uint32_t)count});
  return y;
}
