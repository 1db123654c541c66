/* Panels: a product's operand, copied into the order in which gemm/s64 reads it. Called by gemm.c.
 */
#include "ops/gemm_plan.h"

#include <string.h>

static void copy(filtra_graph *g, const char *label, filtra_tensor *x, filtra_tensor *y,
                 const ft_panels *s) {
  const int64_t panels = ft_ceil_div(s->columns, s->width);
  const bool along_line =
      s->column == 1 && s->columns % 2 == 0 && s->line % 2 == 0 && ft_aligned(x, 2);
  const bool along_column =
      !along_line && s->line == 1 && s->k % 2 == 0 && s->column % 2 == 0 && ft_aligned(x, 2);
  const int64_t lines = along_column ? ft_ceil_div(s->k, 2 * PACK_BLOCK) * PACK_BLOCK : s->k;
  const int64_t count = lines * s->width / (along_line ? 2 : 1);
  ft_record_call(
      g,
      &(ft_kernel_call){
          .label = label,
          .kernel = ft_kernel_typed(ft_graph_device(g), "gemm/pack", filtra_tensor_dtype(x)),
          FT_ARGUMENTS(gemm_pack, .x = FT_READ(x), .y = FT_WRITE(y), .count = (uint32_t)count,
                       .panels = (uint32_t)panels, .k = (uint32_t)s->k, .n = (uint32_t)s->columns,
                       .line = (uint32_t)s->line, .column = (uint32_t)s->column),
          FT_CONSTANTS(gemm_pack, .WIDTH = (uint32_t)s->width, .ALONG_LINE = along_line,
                       .ALONG_COLUMN = along_column, .LANES = (uint32_t)s->lanes),
          .workgroup = FT_FLAT_WORKGROUP,
          .groups = {ft_flat_groups(g, count), ft_groups_for(panels, 1)},
          .bytes = (double)(4 + ft_element_bytes(x)) * (double)filtra_tensor_elements(y)});
}

static void copy_kept(filtra_graph *g, filtra_tensor *x, filtra_tensor *y,
                      const ft_keep_numbers *numbers) {
  ft_panels panels;
  memcpy(&panels, numbers->number, sizeof panels);
  copy(g, "panels", x, y, &panels);
}

ft_matrix ft_gemm_pack(filtra_graph *g, const char *label, filtra_tensor *x, const ft_panels *s,
                       bool keep) {
  const int64_t shape[3] = {ft_ceil_div(s->columns, s->width), s->k, s->width};
  ft_keep_numbers numbers = {{0}};
  memcpy(numbers.number, s, sizeof *s);
  filtra_tensor *y = keep ? ft_graph_keep(g, x, copy_kept, &numbers, 3, shape)
                          : ft_tensor_new(g, "panels", FILTRA_F32, 3, shape);
  if (!y) return (ft_matrix){0};
  if (!keep) copy(g, label, x, y, s);
  return (ft_matrix){.tensor = y, .row = s->width, .column = 1};
}
