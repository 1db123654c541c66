/* What softmax attention and the mechanisms built on its tiles share: checks, tiles, one way to
 * record a kernel. shaders/attention has the kernels. */
#ifndef FT_OPS_ATTENTION_H
#define FT_OPS_ATTENTION_H

#include "attention/contract.h"
#include "ops/support.h"
#include "ops/tuning.h"

/** Kernels that hold different sums in registers and so have tiles of different heights. */
typedef enum ft_tile { FT_TILE_FORWARD, FT_TILE_KEY, FT_TILE_QUERY, FT_TILE_KINDS } ft_tile;

/** How the device makes tiles of scores, and of how many rows and columns. */
typedef struct ft_tiling {
  bool lanes;
  uint32_t workgroup, subgroup, columns;
  uint32_t own_rows[FT_TILE_KINDS], rows[FT_TILE_KINDS]; /* an invocation's and the tile's */
  uint32_t across, unroll; /* of tiled kernels: invocations side by side, steps of inner loops */
} ft_tiling;

/** The tiling for these arguments, which have been checked; `op` is "attention", "gfsa" or
 * "plaplacian" (ops/attention_tiling.c). */
ft_tiling ft_attention_tiling(const filtra_device *dev, const char *op, const filtra_tensor *q,
                              const filtra_tensor *k, const filtra_tensor *v,
                              const filtra_attention_options *options);

/** The largest tile on matrix units, of the same arguments; zeros: not on matrix units. */
ft_configuration ft_attention_matrix_choice(const filtra_device *dev, const char *op,
                                            const filtra_tensor *q, const filtra_tensor *k,
                                            const filtra_tensor *v,
                                            const filtra_attention_options *options);

typedef struct ft_attention {
  filtra_tensor *q, *k, *v, *mask, *bias;
  filtra_tensor *y;   /* [B,H,Nq,Dv], token by token; of the type of q, k and v */
  filtra_tensor *lse; /* F32 [B,H,Nq]: log-sum-exp of each query's scores */
  ft_tiling tiling;
  ft_configuration matrix; /* FT_TUNE_ATTENTION_MATRIX */
  uint32_t flags, op_id;
  float scale, dropout;
  filtra_tensor *kept; /* from ft_attention_kept, while kernels are recorded; or NULL */
  /* Of families whose kernels define FILTRA_HEADS; else NULL and 0. */
  filtra_tensor *heads;  /* from ft_attention_head_table */
  float family_constant; /* the specialization constant behind those that all have */
  bool norms;            /* p-norm weights: on matrix units these have kernels of their own */
} ft_attention;

/** Checks the arguments and makes y and lse, for the caller's kernel to fill. False after an error;
 * `op` names the op in it. */
bool ft_attention_init(filtra_graph *g, const char *op, filtra_tensor *q, filtra_tensor *k,
                       filtra_tensor *v, const filtra_attention_options *options,
                       ft_attention *out);

/** What of a kernel depends on how its tiles are made. */
typedef struct ft_attention_plan {
  const char *kernel;
  uint32_t workgroup, subgroup, rows; /* of a tile */
  uint32_t own_rows;
  uint32_t unroll, across; /* by tiles through shared memory */
  uint32_t units, columns; /* on matrix units: UNITS, and columns of a tile */
  bool matrix;
} ft_attention_plan;
/** That of matrix units; without a kernel where c->matrix has none, or no tile up to that one fits
 * (ops/attention_matrix.c). */
ft_attention_plan ft_attention_matrix_plan(const filtra_device *dev, const ft_attention *c,
                                           ft_tile kind);
/** Records what draws dropout for the kernels on matrix units that are recorded next, forward or
 * backward: I32 [B H Nq, ceil(Nk / 32)], a bit of each query's weights, 1 where they are kept
 * (shaders/attention/dropout.comp). They all need the same, and to draw takes as many instructions
 * as their own arithmetic. NULL where each draws by itself: without such kernels, for p-norm
 * weights, or where that would take more memory than q, k, v and y. */
filtra_tensor *ft_attention_kept(filtra_graph *g, const ft_attention *c, bool backward);
/** Whether there are matrix units that may be used for attention on this type. */
bool ft_attention_matrix_there(const filtra_device *dev, filtra_dtype type);

/** What decides which tiles fit: columns of q, of v, and of the products of dy with values. */
typedef struct ft_attention_widths {
  int64_t head, value, upstream;
  filtra_dtype type;
  bool norms;   /* p-norm weights */
  bool dropped; /* dropout on the weights */
} ft_attention_widths;
/** Whether a kernel would take that tile of the table itself, or it is the row of zeros. */
bool ft_attention_matrix_usable(const filtra_device *dev, const ft_attention_widths *widths,
                                const ft_configuration *c);

/** What differs from kernel to kernel. */
typedef struct ft_attention_dispatch {
  const char *label;
  const char *kernel; /* of the type of q; by tiles, with a variant for lanes, */
  ft_tile tile;
  bool matrix;        /* there is one for matrix units, too */
  uint32_t flags;     /* besides the op's */
  int64_t tokens;     /* of which a workgroup takes a tile's rows, for each head; 0: groups says */
  uint32_t groups[3]; /* the grid */
  uint32_t workgroup; /* unless this is not 0, but the workgroup of a kernel without tiles */
  const filtra_tensor *dy;
  ft_arg lse, delta, result[2];
  int64_t columns; /* of the products of all queries with all keys */
} ft_attention_dispatch;

/** Fills in the kernel's arguments, constants and grid. */
void ft_attention_emit(filtra_graph *g, const ft_attention *c, const ft_attention_dispatch *d);

/** I32 [H,4]: where q, k and v of a head begin, in elements, and the bits of number[h]. */
filtra_tensor *ft_attention_head_table(filtra_graph *g, const ft_attention *c, const float *number);

/** Records what writes y and lse, or y alone where the op's flags say FT_ATTENTION_KNOWN. */
void ft_attention_emit_forward(filtra_graph *g, const char *label, const ft_attention *c);
/** Contributes to the gradients of q, k, v and bias, with dS = A * (dropout * (dy v^T) - delta) and
 * dv = (dropout * A)^T dy. Under FT_ATTENTION_PAIRED dy is [2,B,N,H,2,Dv]: dS sums over pairs of dy
 * (first plane) and of values (second plane); dv is that of the pair's first dy. */
void ft_attention_emit_backward(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                                filtra_tensor *delta);
/** dv = (dropout * A)^T dy alone, to be written or added. */
void ft_attention_emit_transposed(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                                  filtra_tensor *dv);

/** Tiles that `count` rows take, and heads of all samples. */
uint32_t ft_attention_blocks(int64_t count, uint32_t size);
static inline uint32_t ft_attention_heads(const ft_attention *c) {
  return (uint32_t)(c->q->shape[0] * c->q->shape[1]);
}

#endif
