/* Gradients of w and b in y = x w^T + b. Called by linear.c and gru.c. */
#include "ops/gemm.h"
#include "ops/support.h"

void ft_emit_affine_gradients(filtra_graph *g, const char *label, filtra_tensor *dy,
                              filtra_tensor *x, filtra_tensor *w, filtra_tensor *b) {
  bool add_weight, add_bias;
  filtra_tensor *bias = ft_grad_target(g, b, &add_bias);
  filtra_tensor *weight = ft_grad_target(g, w, &add_weight);
  if (weight)
    ft_emit_gemm(g, &(ft_gemm){.label = label,
                               .a = ft_matrix_rows(dy, true),
                               .b = ft_matrix_rows(x, false),
                               .c = ft_matrix_rows(weight, false),
                               .m = ft_columns(dy),
                               .n = ft_columns(x),
                               .k = ft_rows(dy),
                               .accumulate = add_weight,
                               .row_sums = bias,
                               .add_row_sums = add_bias});
  else if (bias)
    ft_emit_column_sum(g, label, dy, bias, add_bias);
}
