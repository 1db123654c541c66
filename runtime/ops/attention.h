/* Common parts of softmax attention and the ops built on its tiles: checks, tilings, recording of a
 * kernel. Kernels are in shaders/attention. */
#ifndef FT_OPS_ATTENTION_H
#define FT_OPS_ATTENTION_H

#include "attention/contract.h"
#include "ops/support.h"
#include "ops/tuning.h"

/** Kernels whose tiles have different heights, as they keep different sums in registers. */
typedef enum ft_tile { FT_TILE_FORWARD, FT_TILE_KEY, FT_TILE_QUERY, FT_TILE_KINDS } ft_tile;

/** How a device computes tiles of scores, and the tiles' rows and columns. */
typedef struct ft_tiling {
  /* By subgroups, for CPU drivers: shaders/attention/lanes.glsl, or with `uniform` uniform.glsl. */
  bool lanes, uniform;
  uint32_t workgroup, subgroup, columns;
  uint32_t own_rows[FT_TILE_KINDS], rows[FT_TILE_KINDS]; /* per invocation; per tile */
  /* Tiled kernels: invocations side by side; unrolled steps of inner loops. */
  uint32_t across, unroll;
} ft_tiling;

/** The tiling for these arguments, which have been checked. `op` is "attention", "gfsa" or
 * "plaplacian" (ops/attention_tiling.c). */
ft_tiling ft_attention_tiling(const filtra_device *dev, const char *op, const filtra_tensor *q,
                              const filtra_tensor *k, const filtra_tensor *v,
                              const filtra_attention_options *options);

/** The largest tile on matrix units for the same arguments; zeros: do not use matrix units. */
ft_configuration ft_attention_matrix_choice(const filtra_device *dev, const char *op,
                                            const filtra_tensor *q, const filtra_tensor *k,
                                            const filtra_tensor *v,
                                            const filtra_attention_options *options);

typedef struct ft_attention {
  filtra_tensor *q, *k, *v, *mask, *bias;
  filtra_tensor *y;   /* [B,H,Nq,Dv], token-major; of the type of q, k and v */
  filtra_tensor *lse; /* F32 [B,H,Nq]: log-sum-exp of each query's scores */
  ft_tiling tiling;
  ft_configuration matrix; /* FT_TUNE_ATTENTION_MATRIX */
  uint32_t flags, op_id;
  float scale, dropout;
  filtra_tensor *kept; /* from ft_attention_kept while calls are recorded; or NULL */
  /* Only for families whose kernels define FILTRA_HEADS; else NULL and 0. */
  filtra_tensor *heads;  /* from ft_attention_head_table */
  float family_constant; /* the family's specialization constant, after the common ones */
  bool norms;            /* p-norm weights, which have their own kernels on matrix units */
} ft_attention;

/** Checks the arguments and creates y and lse, which the caller's kernel fills. Returns false after
 * an error, which names `op`. */
bool ft_attention_init(filtra_graph *g, const char *op, filtra_tensor *q, filtra_tensor *k,
                       filtra_tensor *v, const filtra_attention_options *options,
                       ft_attention *out);

/** The settings of a kernel that depend on its tiles. */
typedef struct ft_attention_plan {
  const char *kernel;
  uint32_t workgroup, subgroup, rows; /* rows of a tile */
  uint32_t own_rows;
  uint32_t unroll, across; /* of tiled kernels */
  uint32_t units, columns; /* on matrix units: UNITS, and columns of a tile */
  bool matrix;
} ft_attention_plan;
/** The plan on matrix units (ops/attention_matrix.c). Its kernel is NULL if c->matrix is zero, or
 * if no tile up to c->matrix fits. */
ft_attention_plan ft_attention_matrix_plan(const filtra_device *dev, const ft_attention *c,
                                           ft_tile kind);
/** Records a call that draws dropout for the kernels on matrix units recorded next, forward or
 * backward: I32 [B H Nq, ceil(Nk / 32)], one bit for each weight, 1 if it is kept
 * (shaders/attention/dropout.comp). All these kernels need the same bits, and drawing takes as many
 * instructions as their arithmetic. NULL if each kernel draws by itself: if no kernel uses matrix
 * units, with p-norm weights, or if the bits would take more memory than q, k, v and y. */
filtra_tensor *ft_attention_kept(filtra_graph *g, const ft_attention *c, bool backward);
/** Whether attention on this type may use matrix units. */
bool ft_attention_matrix_there(const filtra_device *dev, filtra_dtype type);

/** The sizes that decide which tiles fit: columns of q, of v, and of dy in the products with
 * values. */
typedef struct ft_attention_widths {
  int64_t head, value, upstream;
  filtra_dtype type;
  bool norms;   /* p-norm weights */
  bool dropped; /* dropout on the weights */
} ft_attention_widths;
/** Whether some kernel can use this tile of the table, or the tile is the row of zeros. */
bool ft_attention_matrix_usable(const filtra_device *dev, const ft_attention_widths *widths,
                                const ft_configuration *c);

/** What differs between kernels. */
typedef struct ft_attention_dispatch {
  const char *label;
  const char *kernel; /* of q's type; with tiles, and a variant for lanes */
  ft_tile tile;
  bool matrix;        /* a kernel for matrix units exists as well */
  uint32_t flags;     /* in addition to the op's */
  int64_t tokens;     /* rows per head, a tile of them per workgroup; 0: see `groups` */
  uint32_t groups[3]; /* the grid */
  uint32_t workgroup; /* of a kernel without tiles; 0: a kernel with tiles */
  const filtra_tensor *dy;
  ft_arg lse, delta, result[2];
  int64_t columns; /* columns of the products for each pair of query and key */
} ft_attention_dispatch;

/** Records the kernel's call, with its arguments, constants and grid. */
void ft_attention_emit(filtra_graph *g, const ft_attention *c, const ft_attention_dispatch *d);

/** I32 [H,4]: where q, k and v of each head begin, in elements, and the bits of number[h]. */
filtra_tensor *ft_attention_head_table(filtra_graph *g, const ft_attention *c, const float *number);

/** Records the forward kernel: it writes y and lse, or y only under FT_ATTENTION_KNOWN. */
void ft_attention_emit_forward(filtra_graph *g, const char *label, const ft_attention *c);
/** Adds to the gradients of q, k, v and bias: dS = A * (dropout * (dy v^T) - delta), dv = (dropout
 * * A)^T dy. Under FT_ATTENTION_PAIRED dy is [2,B,N,H,2,Dv]: dS sums over pairs of dy (first plane)
 * and of values (second plane), and dv uses the first dy of each pair. */
void ft_attention_emit_backward(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                                filtra_tensor *delta);
/** Writes dv = (dropout * A)^T dy only. */
void ft_attention_emit_transposed(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                                  filtra_tensor *dv);

/** Number of tiles for `count` rows; number of heads of all samples. */
uint32_t ft_attention_blocks(int64_t count, uint32_t size);
static inline uint32_t ft_attention_heads(const ft_attention *c) {
  return (uint32_t)(c->q->shape[0] * c->q->shape[1]);
}

#endif
