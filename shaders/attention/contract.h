/* Softmax attention, for runtime/ops/attention.c and attention_matrix.c. */
#ifndef FT_ATTENTION_CONTRACT_H
#define FT_ATTENTION_CONTRACT_H

#include "common/contract.h"

/* FLAGS. Those from 2048 to 0x8000000 are each family's own. */
#define FT_ATTENTION_CAUSAL         1u
#define FT_ATTENTION_MASKED         2u
#define FT_ATTENTION_BIASED         4u
#define FT_ATTENTION_BIAS_PER_HEAD  8u
#define FT_ATTENTION_BIAS_PER_BATCH 16u
#define FT_ATTENTION_ADD_0          32u /* results are added to what is there */
#define FT_ATTENTION_ADD_1          64u
#define FT_ATTENTION_WANT_0         128u
#define FT_ATTENTION_WANT_1         256u
#define FT_ATTENTION_PAIRED         512u        /* dy comes in pairs, as gfsa/upstream makes them */
#define FT_ATTENTION_KNOWN          1024u       /* forward: the log-sum-exp is given */
#define FT_ATTENTION_EIGHTS         0x10000000u /* rows of q, k, v and dy are whole eights */
#define FT_ATTENTION_DRAWN          0x20000000u /* `random` has the words of attention/dropout */
#define FT_ATTENTION_PART           0x40000000u /* of a batch: see whole_element */
#define FT_ATTENTION_WIDE           0x80000000u /* rows of q, k, v and dy are whole fours */

/* FILTRA_RESULT: the type of results, Elements or another. Strides are in elements. */
#define attention_TENSORS(TENSOR)                                                                  \
  TENSOR(Elements, q)                                                                              \
  TENSOR(Elements, k)                                                                              \
  TENSOR(Elements, v)                                                                              \
  TENSOR(F32, lse)                                                                                 \
  TENSOR(F32, mask)                                                                                \
  TENSOR(F32, bias)                                                                                \
  TENSOR(Elements, dy)                                                                             \
  TENSOR(F32, delta)                                                                               \
  TENSOR(FILTRA_RESULT, result_0)                                                                  \
  TENSOR(FILTRA_RESULT, result_1)                                                                  \
  TENSOR(U32, random)
#define attention_SCALARS(SCALAR)                                                                  \
  SCALAR(uint, batches)                                                                            \
  SCALAR(uint, queries)                                                                            \
  SCALAR(uint, keys)                                                                               \
  SCALAR(uint, q_batch)                                                                            \
  SCALAR(uint, q_head)                                                                             \
  SCALAR(uint, k_batch)                                                                            \
  SCALAR(uint, k_head)                                                                             \
  SCALAR(uint, v_batch)                                                                            \
  SCALAR(uint, v_head)                                                                             \
  SCALAR(uint, op_id)
#define attention_CONSTANTS(CONSTANT)                                                              \
  CONSTANT(1, uint, HEAD, 1)  /* D, columns of q and k */                                          \
  CONSTANT(2, uint, VALUE, 1) /* Dv, columns of v and y */                                         \
  CONSTANT(3, uint, HEADS, 1)                                                                      \
  CONSTANT(4, uint, FLAGS, 0)                                                                      \
  CONSTANT(5, uint, OWN_ROWS, 1) /* rows of a tile per invocation */                               \
  CONSTANT(6, uint, Q_STRIDE, 1) /* from token to token, in elements */                            \
  CONSTANT(7, uint, K_STRIDE, 1)                                                                   \
  CONSTANT(8, uint, V_STRIDE, 1)                                                                   \
  CONSTANT(9, float, SCALE, 1)                                                                     \
  CONSTANT(10, float, RATE, 0) /* of dropout on the weights */
/* More of the tiles that pass through shared memory, and of those on matrix units. */
#define attention_tiled_own_CONSTANTS(CONSTANT)                                                    \
  CONSTANT(11, uint, UNROLL, 1) /* 1, 2, 4 or 8 */                                                 \
  CONSTANT(12, uint, ACROSS, 8) /* a power of two, at least 8 */
#define attention_matrix_own_CONSTANTS(CONSTANT)                                                   \
  CONSTANT(11, uint, UNITS, 0x10101020u) /* lanes, then M, N and K of the units, a byte each */    \
  CONSTANT(12, uint, TILE_COLS, 32)      /* 8, 16 or 32; multiple of MATRIX_N, _K */
#define attention_tiled_CONSTANTS(CONSTANT)                                                        \
  attention_CONSTANTS(CONSTANT) attention_tiled_own_CONSTANTS(CONSTANT)
#define attention_matrix_CONSTANTS(CONSTANT)                                                       \
  attention_CONSTANTS(CONSTANT) attention_matrix_own_CONSTANTS(CONSTANT)
FT_DECLARE_ARGUMENTS(attention)
FT_DECLARE_CONSTANTS(attention_tiled)
FT_DECLARE_CONSTANTS(attention_matrix)
FT_KERNEL(attention_forward, attention, attention_tiled)
FT_KERNEL(attention_delta, attention, attention_tiled)
FT_KERNEL(attention_backward_query, attention, attention_tiled)
FT_KERNEL(attention_backward_key, attention, attention_tiled)
FT_KERNEL(attention_backward_bias, attention, attention_tiled)
FT_KERNEL(attention_forward_matrix, attention, attention_matrix)
FT_KERNEL(attention_backward_query_matrix, attention, attention_matrix)
FT_KERNEL(attention_backward_key_matrix, attention, attention_matrix)

#define attention_dropout_TENSORS(TENSOR)                                                          \
  TENSOR(U32, random) /* ft_graph_random_state */                                                  \
  TENSOR(U32, kept)   /* [rows, ceil(keys / 32)] */
#define attention_dropout_SCALARS(SCALAR)                                                          \
  SCALAR(uint, rows)                                                                               \
  SCALAR(uint, keys)                                                                               \
  SCALAR(uint, op_id)
#define attention_dropout_CONSTANTS(CONSTANT)                                                      \
  CONSTANT(1, float, RATE, 0)                                                                      \
  CONSTANT(2, uint, SEQUENCE, 0) /* as whole_element has it */
FT_CONTRACT(attention_dropout)

#endif
