/* What op files share: grids over flat ranges, and checks of arguments. */
#ifndef FT_OPS_SUPPORT_H
#define FT_OPS_SUPPORT_H

#include "graph/graph.h"

#include <filtra/ops.h>

/** Second grid dimension for kernels that do the same to each of `batch` samples of `count`
 * elements: they take samples with a stride, so that one group may do several. */
uint32_t ft_batch_groups(const filtra_graph *g, int64_t count, int64_t batch);

/** Workgroups of caps.row_workgroup invocations that add up `count` elements, a sum each: few
 * enough for a short second stage. */
uint32_t ft_sum_groups(const filtra_device *dev, int64_t count);

/** Grid of a kernel whose teams (shaders/common/reduce.glsl) walk over `rows` rows. */
typedef struct ft_team_grid {
  uint32_t workgroup, groups;
} ft_team_grid;
ft_team_grid ft_teams(const filtra_device *dev, int64_t rows);

/** Who takes a row of `columns` numbers, and what of it at once (shaders/common/row.glsl). */
typedef struct ft_row_part {
  ft_team_grid grid;
  uint32_t held, whole; /* the constants HELD and WHOLE */
  uint32_t numbers;     /* of a whole row, and what stands for those behind its end */
  uint32_t subgroup;    /* that the kernel has to require: a whole row counts on it; or 0 */
  bool lanes;           /* its variant "lanes": an invocation has a row to itself */
} ft_row_part;
/** in_pairs: what ft_in_pairs says of all tensors of such rows. Then lanes take short ones, on CPU
 * drivers. */
ft_row_part ft_row_parts(const filtra_device *dev, int64_t rows, int64_t columns, bool in_pairs);
/** The variant of a kernel over rows, as ft_kernel_typed. */
const char *ft_row_kernel(const filtra_device *dev, const char *name, filtra_dtype dtype,
                          const ft_row_part *part);
/** Whether all elements along t's last axis lie in whole pairs; true for NULL. */
bool ft_in_pairs(const filtra_tensor *t);

/** Rows that the first stage of a column sum adds up: enough chunks to keep the device busy, few
 * enough that adding those up costs little. */
int64_t ft_chunk_rows(int64_t rows);

/** Whether t has exactly `ndim` dimensions: error naming op and argument otherwise. */
bool ft_has_dims(filtra_graph *g, const filtra_tensor *t, int ndim, const char *op,
                 const char *argument);
/** As ft_usable_dense for I32 tensors, and with exactly `ndim` dimensions. */
bool ft_usable_integers(filtra_graph *g, const filtra_tensor *t, int ndim, const char *op,
                        const char *argument);
/** As ft_usable_dense, and with exactly `ndim` dimensions. */
bool ft_usable_floats(filtra_graph *g, const filtra_tensor *t, int ndim, const char *op,
                      const char *argument);
bool ft_known_activation(filtra_graph *g, filtra_activation activation, const char *op);
/** Whether a tensor's first element lies at a whole group of four. */
bool ft_begins_quad(const filtra_tensor *t);
/** Whether shaders/common/quads.glsl may take a dense tensor's elements by four; true for NULL. */
bool ft_whole_quads(const filtra_tensor *t);
bool ft_same_shape(const filtra_tensor *a, const filtra_tensor *b);

/** filtra_layer_norm with a result of that type, rounded once (ops/layer_norm.c). */
filtra_tensor *ft_layer_norm(filtra_graph *g, filtra_tensor *x, filtra_tensor *gain,
                             filtra_tensor *bias, float eps, filtra_dtype dtype);
/** y = x or y += x between F32 and a 16-bit type, or within one type; dense (ops/cast.c). NULL for
 * either does nothing. */
void ft_emit_cast(filtra_graph *g, filtra_tensor *x, filtra_tensor *y, bool accumulate);
/** t itself where it has that type, else what it becomes in it, which has no gradient of its own; t
 * is dense then (ops/cast.c). */
filtra_tensor *ft_emit_in_type(filtra_graph *g, filtra_tensor *t, filtra_dtype type,
                               const char *name);
/** y = sum over the first axis of x, in order, or y += it. x F32; both dense; y, F32 or of 16 bits,
 * may be longer than one slice of x, and gets zeros there (ops/elementwise.c). */
void ft_emit_sum_leading(filtra_graph *g, const char *label, const filtra_tensor *x,
                         const filtra_tensor *y, bool accumulate);
/** y = the sum over all axes of x but the last, in a fixed order, or y += it. x floats, dense, not
 * empty; y F32 (ops/column_sum.c). */
void ft_emit_column_sum(filtra_graph *g, const char *label, const filtra_tensor *x,
                        const filtra_tensor *y, bool accumulate);

/** The gradients of w [out, in] and b [out], given those of y = x w^T + b; b may be NULL, and both
 * may need none. dy [.., out] and x [.., in] of one type, dense (ops/affine_gradients.c). */
void ft_emit_affine_gradients(filtra_graph *g, const char *label, filtra_tensor *dy,
                              filtra_tensor *x, filtra_tensor *w, filtra_tensor *b);

/** rows [V, ..] = for each row the sum of the dy [tokens, ..] whose token is that row, in a fixed
 * order, or rows += it. All dense (ops/embedding.c). */
void ft_emit_rows_gradient(filtra_graph *g, const char *label, filtra_tensor *tokens,
                           filtra_tensor *dy, filtra_tensor *rows, int64_t vocabulary,
                           bool accumulate);
/** y = scale * x summed over the axes along which y was repeated to give x's shape, or y += it. All
 * dense, in a fixed order (ops/reduce.c). */
void ft_emit_sum_to(filtra_graph *g, const char *label, const filtra_tensor *x, float scale,
                    const filtra_tensor *y, bool accumulate);

/** scale [1] times the sum of weights x: [1]. Of a part of a batch, where the scale is one over the
 * whole batch's sum of weights (ops/loss.c). */
filtra_tensor *ft_weighted_sum(filtra_graph *g, filtra_tensor *x, filtra_tensor *weights,
                               filtra_tensor *scale);

#endif
