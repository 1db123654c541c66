/* p-Laplacian attention, for runtime/ops/plaplacian.c. */
#ifndef FT_PLAPLACIAN_CONTRACT_H
#define FT_PLAPLACIAN_CONTRACT_H

#include "attention/contract.h"

/* FLAGS, besides attention's. */
#define FT_PLAPLACIAN_EULER         2048u
#define FT_PLAPLACIAN_DIAGONAL_ZERO 4096u
#define FT_PLAPLACIAN_DIAGONAL_ONE  8192u

/* Attention's, but a table says what differs from head to head. */
#define plaplacian_TENSORS(TENSOR) attention_TENSORS(TENSOR) TENSOR(HeadTable, heads) /* [HEADS] */
#define plaplacian_SCALARS(SCALAR)                                                                 \
  SCALAR(uint, batches)                                                                            \
  SCALAR(uint, queries)                                                                            \
  SCALAR(uint, keys)                                                                               \
  SCALAR(uint, q_batch)                                                                            \
  SCALAR(uint, k_batch)                                                                            \
  SCALAR(uint, v_batch)                                                                            \
  SCALAR(uint, op_id)
#define plaplacian_own_CONSTANTS(CONSTANT) CONSTANT(13, float, EPS, 1)
#define plaplacian_tiled_CONSTANTS(CONSTANT)                                                       \
  attention_tiled_CONSTANTS(CONSTANT) plaplacian_own_CONSTANTS(CONSTANT)
#define plaplacian_matrix_CONSTANTS(CONSTANT)                                                      \
  attention_matrix_CONSTANTS(CONSTANT) plaplacian_own_CONSTANTS(CONSTANT)
FT_DECLARE_ARGUMENTS(plaplacian)
FT_DECLARE_CONSTANTS(plaplacian_tiled)
FT_DECLARE_CONSTANTS(plaplacian_matrix)
FT_KERNEL(plaplacian_forward, plaplacian, plaplacian_tiled)
FT_KERNEL(plaplacian_delta, plaplacian, plaplacian_tiled)
FT_KERNEL(plaplacian_backward_query, plaplacian, plaplacian_tiled)
FT_KERNEL(plaplacian_backward_key, plaplacian, plaplacian_tiled)
FT_KERNEL(plaplacian_backward_bias, plaplacian, plaplacian_tiled)
FT_KERNEL(plaplacian_forward_matrix, plaplacian, plaplacian_matrix)
FT_KERNEL(plaplacian_backward_query_matrix, plaplacian, plaplacian_matrix)
FT_KERNEL(plaplacian_backward_key_matrix, plaplacian, plaplacian_matrix)

#endif
