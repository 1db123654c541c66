/* Common parts of op files: grids, checks of arguments, and helpers with their own files. */
#ifndef FT_OPS_SUPPORT_H
#define FT_OPS_SUPPORT_H

#include "graph/graph.h"

#include <filtra/ops.h>

/** Groups along the second grid dimension, for kernels that do the same to each of `batch` samples
 * of `count` elements. Kernels stride over samples, so a group may take several. */
uint32_t ft_batch_groups(const filtra_graph *g, int64_t count, int64_t batch);

/** Number of workgroups, of caps.row_workgroup invocations, for summing `count` elements, one sum
 * per workgroup: few enough for a short second stage. */
uint32_t ft_sum_groups(const filtra_device *dev, int64_t count);

/** Grid of a kernel whose teams (shaders/common/reduce.glsl) stride over `rows` rows. */
typedef struct ft_team_grid {
  uint32_t workgroup, groups;
} ft_team_grid;
ft_team_grid ft_teams(const filtra_device *dev, int64_t rows);

/** How kernels divide rows of `columns` numbers (shaders/common/row.glsl). */
typedef struct ft_row_part {
  ft_team_grid grid;
  uint32_t held, whole; /* the constants HELD and WHOLE */
  uint32_t numbers;     /* numbers of a whole row, including those after its end */
  uint32_t subgroup;    /* subgroup size that a kernel with whole rows must require; 0: any */
  const char *variant;  /* "lanes": an invocation takes a row; "uniform": loads are; or NULL */
} ft_row_part;
/** in_pairs: ft_in_pairs of all tensors with such rows; then, on CPU drivers, lanes take short
 * rows. */
ft_row_part ft_row_parts(const filtra_device *dev, int64_t rows, int64_t columns, bool in_pairs);
/** Sets *part to that of the variant "uniform", and returns true, where it fits. */
bool ft_take_uniform_rows(const filtra_device *dev, int64_t rows, int64_t columns, bool in_pairs,
                          ft_row_part *part);
/** That of the variant "uniform" where it fits, else ft_row_parts; of kernels of F32 with all
 * variants. */
ft_row_part ft_f32_row_parts(const filtra_device *dev, int64_t rows, int64_t columns,
                             bool in_pairs);
/** The grid of a kernel with an invocation per element of [rows, columns] that has the variant
 * "uniform", too, in which a team takes a row. */
typedef struct ft_row_way {
  const char *kernel;
  uint32_t workgroup, subgroup, groups;
  bool rows; /* the variant "uniform" */
} ft_row_way;
ft_row_way ft_row_or_flat(filtra_graph *g, const char *name, filtra_dtype dtype, int64_t rows,
                          int64_t columns, bool in_pairs);
/** The variant of a kernel over rows, as ft_kernel_typed. */
const char *ft_row_kernel(const filtra_device *dev, const char *name, filtra_dtype dtype,
                          const ft_row_part *part);
/** Whether the elements along t's last axis form whole, aligned pairs; true for NULL. */
bool ft_in_pairs(const filtra_tensor *t);

/** Rows that the first stage of a column sum adds up: small enough that there are chunks for all of
 * the device, large enough that adding up chunks is cheap. */
int64_t ft_chunk_rows(int64_t rows);

/** Whether t has exactly `ndim` dimensions; otherwise an error names op and argument. */
bool ft_has_dims(filtra_graph *g, const filtra_tensor *t, int ndim, const char *op,
                 const char *argument);
/** As ft_usable_dense for I32 tensors with exactly `ndim` dimensions. */
bool ft_usable_integers(filtra_graph *g, const filtra_tensor *t, int ndim, const char *op,
                        const char *argument);
/** As ft_usable_dense, with exactly `ndim` dimensions. */
bool ft_usable_floats(filtra_graph *g, const filtra_tensor *t, int ndim, const char *op,
                      const char *argument);
bool ft_known_activation(filtra_graph *g, filtra_activation activation, const char *op);
/** Whether a choice is one of the enumerators 0 to `last`; otherwise an error: "there is no". */
bool ft_known_choice(filtra_graph *g, int value, int last, const char *op, const char *choice);
/** Whether the first element is aligned to four elements. */
bool ft_begins_quad(const filtra_tensor *t);
/** Whether shaders/common/quads.glsl may take a dense tensor by groups of four; true for NULL. */
bool ft_whole_quads(const filtra_tensor *t);

/** filtra_layer_norm with a result of that type, rounded once (ops/layer_norm.c). */
filtra_tensor *ft_layer_norm(filtra_graph *g, filtra_tensor *x, filtra_tensor *gain,
                             filtra_tensor *bias, float eps, filtra_dtype dtype);
/** y = x or y += x between F32 and a 16-bit type, or within a type; dense (ops/cast.c). Does
 * nothing if either is NULL. */
void ft_emit_cast(filtra_graph *g, filtra_tensor *x, filtra_tensor *y, bool accumulate);
/** t if it has that type; otherwise a cast of dense t, without a gradient (ops/cast.c). */
filtra_tensor *ft_emit_in_type(filtra_graph *g, filtra_tensor *t, filtra_dtype type,
                               const char *name);
/** y = sum over the first axis of x, in order, or y += it. x is F32, both are dense. y, F32 or of
 * 16 bits, may be longer than a slice of x, and gets zeros there (ops/elementwise.c). */
void ft_emit_sum_leading(filtra_graph *g, const char *label, const filtra_tensor *x,
                         const filtra_tensor *y, bool accumulate);
/** y = sum over all axes of x but the last, in a fixed order, or y += it. x is of a float type,
 * dense and not empty; y is F32 (ops/column_sum.c). */
void ft_emit_column_sum(filtra_graph *g, const char *label, const filtra_tensor *x,
                        const filtra_tensor *y, bool accumulate);

/** Gradients of w [out, in] and b [out] in y = x w^T + b; b may be NULL, and neither need have a
 * gradient. dy [.., out] and x [.., in] are dense and of one type (ops/affine_gradients.c). */
void ft_emit_affine_gradients(filtra_graph *g, const char *label, filtra_tensor *dy,
                              filtra_tensor *x, filtra_tensor *w, filtra_tensor *b);

/** rows [V, ..]: each row = the sum of all dy [tokens, ..] whose token is that row, in a fixed
 * order; or rows += that. All dense (ops/embedding.c). */
void ft_emit_rows_gradient(filtra_graph *g, const char *label, filtra_tensor *tokens,
                           filtra_tensor *dy, filtra_tensor *rows, int64_t vocabulary,
                           bool accumulate);
/** y = scale * x, summed over the axes along which y is broadcast to x's shape, or y += it. All
 * dense; in a fixed order (ops/reduce.c). */
void ft_emit_sum_to(filtra_graph *g, const char *label, const filtra_tensor *x, float scale,
                    const filtra_tensor *y, bool accumulate);

/** filtra_givens of all tokens' angles, [B,N] or [B,N,1], chunks of one tensor: rotation k has
 * those of token k + first, which is 0 or 1. One token's angles are not used (ops/givens.c). */
filtra_tensor *ft_givens_of_tokens(filtra_graph *g, filtra_tensor *const angles[3], int64_t first,
                                   filtra_tensor *mask);

/** filtra_sum plus a number; the axis keeps length 1 (ops/reduce.c). */
filtra_tensor *ft_sum_plus(filtra_graph *g, filtra_tensor *x, int axis, float offset);

/** scale [1] times the sum of weights * x: [1]. For a part of a batch, with scale = 1 / the sum of
 * the whole batch's weights (ops/loss.c). */
filtra_tensor *ft_weighted_sum(filtra_graph *g, filtra_tensor *x, filtra_tensor *weights,
                               filtra_tensor *scale);

#endif
