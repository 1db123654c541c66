/* Panels: a product's operands, copied into the order in which gemm/s64 reads them. Called by
 * gemm.c. */
#include "ops/gemm_plan.h"

#include <string.h>

/* How operands of k lines and some columns become panels of `width` columns; `lanes` as LANES in
 * gemm/pack. */
typedef struct panels {
  int64_t k, columns;
  int64_t line, column;               /* strides of an operand */
  int64_t entries, inner;             /* of the batch, and inner ones per outer one */
  int64_t outer_stride, inner_stride; /* from entry to entry */
  int64_t width, lanes;
} panels;

/* Panels of an operand's columns. */
static int64_t panels_across(const panels *s) {
  return ft_ceil_div(s->columns, s->width);
}

static void copy(filtra_graph *g, const char *label, filtra_tensor *x, filtra_tensor *y,
                 const panels *s) {
  const int64_t count = s->entries * panels_across(s);
  const bool even = ft_aligned(x, 2) && s->outer_stride % 2 == 0 && s->inner_stride % 2 == 0;
  const bool along_line = even && s->column == 1 && s->columns % 2 == 0 && s->line % 2 == 0;
  const bool along_column =
      even && !along_line && s->line == 1 && s->k % 2 == 0 && s->column % 2 == 0;
  const int64_t lines = along_column ? ft_ceil_div(s->k, 2 * PACK_BLOCK) * PACK_BLOCK : s->k;
  const int64_t loads = lines * s->width / (along_line ? 2 : 1);
  ft_record_call(
      g,
      &(ft_kernel_call){
          .label = label,
          .kernel = ft_kernel_typed(ft_graph_device(g), "gemm/pack", filtra_tensor_dtype(x)),
          FT_ARGUMENTS(gemm_pack, .x = FT_READ(x), .y = FT_WRITE(y), .count = (uint32_t)loads,
                       .across = (uint32_t)panels_across(s), .panels = (uint32_t)count,
                       .inner = (uint32_t)s->inner, .k = (uint32_t)s->k, .n = (uint32_t)s->columns,
                       .line = (uint32_t)s->line, .column = (uint32_t)s->column,
                       .x_outer = (uint32_t)s->outer_stride, .x_inner = (uint32_t)s->inner_stride),
          FT_CONSTANTS(gemm_pack, .WIDTH = (uint32_t)s->width, .ALONG_LINE = along_line,
                       .ALONG_COLUMN = along_column, .LANES = (uint32_t)s->lanes),
          .workgroup = FT_FLAT_WORKGROUP,
          .groups = {ft_flat_groups(g, loads), ft_groups_for(count, 1)},
          .bytes = (double)(4 + ft_element_bytes(x)) * (double)filtra_tensor_elements(y)});
}

static void copy_kept(filtra_graph *g, filtra_tensor *x, filtra_tensor *y,
                      const ft_keep_numbers *numbers) {
  panels s;
  memcpy(&s, numbers->number, sizeof s);
  copy(g, "panels", x, y, &s);
}

/* The panels of p's operand x, which has so many columns, as a matrix. */
static ft_matrix pack(filtra_graph *g, const ft_gemm *p, const ft_matrix *x, int64_t columns,
                      int64_t width, int64_t lanes, bool keep) {
  const bool is_a = x == &p->a;
  const panels s = {.k = p->k,
                    .columns = columns,
                    .line = is_a ? x->column : x->row,
                    .column = is_a ? x->row : x->column,
                    .entries = ft_gemm_batches(p),
                    .inner = p->inner,
                    .outer_stride = p->outer > 1 ? x->outer : 0,
                    .inner_stride = p->inner > 1 ? x->inner : 0,
                    .width = width,
                    .lanes = lanes};
  const int64_t entry = panels_across(&s) * p->k * width;
  const int64_t shape[3] = {s.entries * panels_across(&s), p->k, width};
  ft_keep_numbers numbers = {{0}};
  memcpy(numbers.number, &s, sizeof s);
  filtra_tensor *y = keep ? ft_graph_keep(g, x->tensor, copy_kept, &numbers, 3, shape)
                          : ft_tensor_new(g, "panels", FILTRA_F32, 3, shape);
  if (y && !keep) copy(g, p->label, x->tensor, y, &s);
  return (ft_matrix){.tensor = y,
                     .row = is_a ? 1 : width,
                     .column = is_a ? width : 1,
                     .outer = p->inner * entry,
                     .inner = entry};
}

void ft_gemm_pack(filtra_graph *g, ft_gemm *p, const ft_gemm_plan *plan, bool kept) {
  if (plan->pack_a) p->a = pack(g, p, &p->a, p->m, plan->tile_m, 0, false);
  const uint32_t lanes = plan->uniform_loads ? plan->subgroup : 0;
  if (plan->pack_b) p->b = pack(g, p, &p->b, p->n, plan->tile_n, lanes, kept);
}
