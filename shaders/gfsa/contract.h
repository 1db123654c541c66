/* The graph filter of GFSA, for runtime/ops/gfsa.c. Tensors of rows have the kernel's type. */
#ifndef FT_GFSA_CONTRACT_H
#define FT_GFSA_CONTRACT_H

#include "common/contract.h"

/* Of kernels over rows of [B,N,H,D], as common/row.glsl divides them. */
#define gfsa_own_CONSTANTS(CONSTANT)                                                               \
  CONSTANT(3, uint, HEADS, 1)                                                                      \
  CONSTANT(4, uint, WIDTH, 1) /* columns of v and y */
#define gfsa_rows_CONSTANTS(CONSTANT) ft_row_CONSTANTS(CONSTANT) gfsa_own_CONSTANTS(CONSTANT)
FT_DECLARE_CONSTANTS(gfsa_rows)

#define gfsa_coefficients_TENSORS(TENSOR)                                                          \
  TENSOR(F32, products) /* [tokens, heads, 3] */                                                   \
  TENSOR(F32, dw0)      /* [heads], or absent; likewise the others */                              \
  TENSOR(F32, dw1)                                                                                 \
  TENSOR(F32, dwK)
#define gfsa_coefficients_SCALARS(SCALAR)                                                          \
  SCALAR(uint, order)                                                                              \
  SCALAR(uint, tokens)
#define gfsa_coefficients_CONSTANTS(CONSTANT)                                                      \
  CONSTANT(1, bool, ADD_0, false) /* to dw0 */                                                     \
  CONSTANT(2, bool, ADD_1, false)                                                                  \
  CONSTANT(3, bool, ADD_K, false)
FT_CONTRACT(gfsa_coefficients)

#define gfsa_combine_TENSORS(TENSOR)                                                               \
  TENSOR(F32, v)  /* [B,H,N,D], any view with a dense last axis */                                 \
  TENSOR(F32, u)  /* [B,N,H,D] */                                                                  \
  TENSOR(F32, au) /* [B,N,H,D] */                                                                  \
  TENSOR(F32, y)  /* [B,N,H,D] */                                                                  \
  TENSOR(F32, w0) /* [H] */                                                                        \
  TENSOR(F32, w1) /* [H] */                                                                        \
  TENSOR(F32, wK) /* [H] */
#define gfsa_combine_SCALARS(SCALAR)                                                               \
  SCALAR(uint, order)                                                                              \
  SCALAR(uint, count)                                                                              \
  SCALAR(uint, tokens)                                                                             \
  SCALAR(uint, v_batch) /* strides of v, in elements */                                            \
  SCALAR(uint, v_head)                                                                             \
  SCALAR(uint, v_token)
#define gfsa_combine_CONSTANTS(CONSTANT) CONSTANT(1, uint, HEADS, 1) CONSTANT(2, uint, WIDTH, 1)
FT_CONTRACT(gfsa_combine)

#define gfsa_products_TENSORS(TENSOR)                                                              \
  TENSOR(F32, dy)       /* [B,N,H,D] */                                                            \
  TENSOR(F32, v)        /* [B,H,N,D], any view with a dense last axis */                           \
  TENSOR(F32, u)        /* [B,N,H,D] */                                                            \
  TENSOR(F32, au)       /* [B,N,H,D] */                                                            \
  TENSOR(F32, products) /* [B,N,H,3] */
#define gfsa_products_SCALARS(SCALAR)                                                              \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, tokens)                                                                             \
  SCALAR(uint, v_batch) /* strides of v, in elements */                                            \
  SCALAR(uint, v_head)                                                                             \
  SCALAR(uint, v_token)
FT_DECLARE_ARGUMENTS(gfsa_products)
FT_KERNEL(gfsa_products, gfsa_products, gfsa_rows)

#define gfsa_upstream_TENSORS(TENSOR)                                                              \
  TENSOR(F32, dy)    /* [B,N,H,D]: the gradient of y */                                            \
  TENSOR(F32, ady)   /* [B,N,H,D]: A^T of that */                                                  \
  TENSOR(F32, v)     /* [B,H,N,D], any view with a dense last axis */                              \
  TENSOR(F32, u)     /* [B,N,H,D] */                                                               \
  TENSOR(F32, au)    /* [B,N,H,D] */                                                               \
  TENSOR(F32, w0)    /* [H] */                                                                     \
  TENSOR(F32, w1)    /* [H] */                                                                     \
  TENSOR(F32, wK)    /* [H] */                                                                     \
  TENSOR(F32, pairs) /* [2,B,N,H,2D]: (du, d(A u)), then (v, u) */                                 \
  TENSOR(F32, delta) /* [B,H,N]: <du, u> + <d(A u), A u> */                                        \
  TENSOR(F32, dv)    /* as v: w0 dy, written or added; or absent */
#define gfsa_upstream_SCALARS(SCALAR)                                                              \
  SCALAR(uint, order)                                                                              \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, tokens)                                                                             \
  SCALAR(uint, v_batch) /* strides of v, in elements */                                            \
  SCALAR(uint, v_head)                                                                             \
  SCALAR(uint, v_token)
#define gfsa_upstream_own_CONSTANTS(CONSTANT) CONSTANT(5, bool, ADD, false)
#define gfsa_upstream_CONSTANTS(CONSTANT)                                                          \
  gfsa_rows_CONSTANTS(CONSTANT) gfsa_upstream_own_CONSTANTS(CONSTANT)
FT_CONTRACT(gfsa_upstream)

#endif
