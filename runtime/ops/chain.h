/* Walks along the tokens with a carry: chains of rotations and affine recurrences.
 * shaders/dhhp/chain.glsl defines one step. Arguments have been checked. */
#ifndef FT_OPS_CHAIN_H
#define FT_OPS_CHAIN_H

#include "dhhp/contract.h"
#include "ops/support.h"

/** Whether an operation applies to input rows, to output rows or to none (FT_CHAIN_NOWHERE). */
typedef uint32_t ft_chain_side;

typedef struct ft_chain {
  const char *label;
  const filtra_tensor *coefficients; /* rotations [B,N-1,4,2]; affine: [B,N,2] */
  bool affine;
  uint32_t shift; /* affine: row k + shift holds the coefficient between rows k and k + 1 */
  bool up;        /* from the last token to the first */
  bool adjoint;   /* conjugate transposes of the rotations, conjugate coefficients */

  /* [B,N,2], may be NULL: multiplies input rows by their conjugates, or output rows by them, see
   * `phased` */
  const filtra_tensor *phases;
  ft_chain_side phased;   /* FT_CHAIN_INPUT or FT_CHAIN_OUTPUT */
  int64_t permutation;    /* m of filtra_dhhp_options, or 0 */
  ft_chain_side permuted; /* P on the input, or its inverse on the output */

  int vectors;                 /* 1 or 2, walked with the same coefficients */
  const filtra_tensor *in[2];  /* [B,N,F,2] */
  const filtra_tensor *out[2]; /* may be NULL */

  /** With two vectors: in[0] is the upstream gradient, in[1] the state of a product of rotations,
   * which this walk undoes. Receives the gradient of the rotations' entries, [B,N-1,4,2]. May be
   * NULL. */
  const filtra_tensor *gradient;
  bool accumulate; /* add to `gradient` */
} ft_chain;

void ft_emit_chain(filtra_graph *g, const ft_chain *chain);

/** out[b,t] = phases[b,t] * sum over features of conj(x[b, t - shift]) y[b,t], or times the sum's
 * conjugate; 0 if there is no token t - shift. x, y [B,N,F,2]; out and phases (may be NULL)
 * [B,N,2]. */
typedef struct ft_token_products {
  const char *label;
  const filtra_tensor *x, *y, *phases, *out;
  int32_t shift;
  bool conjugated, accumulate;
} ft_token_products;

void ft_emit_token_products(filtra_graph *g, const ft_token_products *products);

/** Whether t is complex, [B,N,F,2], and not empty; sets the graph's error otherwise. */
bool ft_usable_features(filtra_graph *g, const filtra_tensor *t, const char *op,
                        const char *argument);
/** Whether t is dense F32 with that shape; sets the graph's error otherwise. */
bool ft_usable_shape(filtra_graph *g, const filtra_tensor *t, int ndim, const int64_t *shape,
                     const char *op, const char *argument);

#endif
