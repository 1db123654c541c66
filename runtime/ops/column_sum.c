/* Sums over the rows of a matrix, for gradients of vectors that were added to each row. */
#include "ops/support.h"
#include "reduce/contract.h"

/* Rows per chunk: about as many as there are chunks, so that neither pass is long. */
static int64_t chunk_rows(int64_t rows) {
  int64_t chunk = 16;
  while (chunk * chunk < rows)
    chunk *= 2;
  return chunk;
}

void ft_emit_column_sum(filtra_graph *g, const char *label, const filtra_tensor *x,
                        const filtra_tensor *y, bool accumulate) {
  int64_t rows = ft_rows(x), columns = ft_columns(x), chunk = chunk_rows(rows);
  int64_t parts = (rows + chunk - 1) / chunk;
  const filtra_tensor *to = y;
  if (parts > 1) to = ft_tensor_new(g, label, FILTRA_F32, 2, (int64_t[]){parts, columns});
  if (!to) return;
  uint32_t workgroup = ft_caps_of(ft_graph_device(g))->row_workgroup;
  bool add = accumulate && parts == 1;
  ft_record_call(
      g,
      &(ft_kernel_call){
          .label = label,
          .kernel = ft_kernel_typed(ft_graph_device(g), "reduce/columns", filtra_tensor_dtype(x)),
          FT_ARGUMENTS(reduce_columns, .x = FT_READ(x), .y = FT_TARGET(to, add),
                       .rows = (uint32_t)rows, .columns = (uint32_t)columns,
                       .chunk = (uint32_t)chunk),
          .workgroup = workgroup,
          FT_CONSTANTS(reduce_columns, .ACCUMULATE = add),
          .groups = {(uint32_t)((columns + workgroup - 1) / workgroup), (uint32_t)parts},
          .flops = (double)rows * (double)columns,
          .bytes = ((double)filtra_dtype_bytes(filtra_tensor_dtype(x)) * (double)rows +
                    4.0 * (double)parts) *
                   (double)columns});
  if (parts > 1) ft_emit_sum_leading(g, label, to, y, accumulate);
}
