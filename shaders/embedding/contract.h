/* Embeddings and positions, for runtime/ops/embedding.c. */
#ifndef FT_EMBEDDING_CONTRACT_H
#define FT_EMBEDDING_CONTRACT_H

#include "common/contract.h"

#define embedding_chunk_sums_TENSORS(TENSOR)                                                       \
  TENSOR(F32, dy)                                                    /* [tokens, columns] */       \
  TENSOR(U32, link)                                                  /* [tokens] */                \
  TENSOR(F32, sums)                                                  /* [tokens, columns] */
#define embedding_chunk_sums_SCALARS(SCALAR)     SCALAR(uint, count) /* elements of dy */
#define embedding_chunk_sums_CONSTANTS(CONSTANT) CONSTANT(1, uint, columns, 1)
FT_CONTRACT(embedding_chunk_sums)

#define embedding_embedding_TENSORS(TENSOR)                                                        \
  TENSOR(Elements, table) /* [vocabulary, columns] */                                              \
  TENSOR(I32, tokens)                                                                              \
  TENSOR(F32, y) /* [tokens, columns] */
#define embedding_embedding_SCALARS(SCALAR)                                                        \
  SCALAR(uint, count) /* elements of y */                                                          \
  SCALAR(uint, vocabulary)
#define embedding_embedding_CONSTANTS(CONSTANT) CONSTANT(1, uint, columns, 1)
FT_CONTRACT(embedding_embedding)

#define embedding_link_TENSORS(TENSOR)                                                             \
  TENSOR(I32, tokens)                                                                              \
  TENSOR(U32, link)  /* [count] */                                                                 \
  TENSOR(U32, heads) /* [vocabulary, 1 + chunks] */
#define embedding_link_SCALARS(SCALAR)                                                             \
  SCALAR(uint, count)                                                                              \
  SCALAR(uint, vocabulary)                                                                         \
  SCALAR(uint, chunk)                                                                              \
  SCALAR(uint, chunks)
FT_CONTRACT_PLAIN(embedding_link)

#define embedding_positions_TENSORS(TENSOR)                                                        \
  TENSOR(F32, x)                                                                                   \
  TENSOR(F32, table)                                                                               \
  TENSOR(F32, y)
#define embedding_positions_SCALARS(SCALAR)                                                        \
  SCALAR(uint, period) /* elements per sample */                                                   \
  SCALAR(uint, batch)
#define embedding_positions_CONSTANTS(CONSTANT)                                                    \
  CONSTANT(1, uint, columns, 0) /* in the variant "uniform" */
FT_CONTRACT(embedding_positions)

#define embedding_row_sums_TENSORS(TENSOR)                                                         \
  TENSOR(F32, sums)  /* [tokens, columns] */                                                       \
  TENSOR(U32, heads) /* [vocabulary, 1 + chunks] */                                                \
  TENSOR(F32, rows)  /* [splits, vocabulary, columns] */
#define embedding_row_sums_SCALARS(SCALAR)                                                         \
  SCALAR(uint, count) /* vocabulary * columns */                                                   \
  SCALAR(uint, chunks)                                                                             \
  SCALAR(uint, per_split)
#define embedding_row_sums_CONSTANTS(CONSTANT)                                                     \
  CONSTANT(1, uint, columns, 1)                                                                    \
  CONSTANT(2, bool, accumulate, false)
FT_CONTRACT(embedding_row_sums)

/* Number of bits of floor(c/2); sinusoids multiply one power for each bit that is set. */
#define EMBEDDING_FREQUENCY_BITS 11
#define embedding_sinusoids_TENSORS(TENSOR)                                                        \
  TENSOR(F32, x)                                                                                   \
  TENSOR(I32, first)                                                                               \
  TENSOR(F32, y)
/* power: base^(-2 2^j / C) as 64-bit fractions, low and high word, j = 0, 1, .. */
#define embedding_sinusoids_SCALARS(SCALAR)                                                        \
  SCALAR(uint, period) /* elements per sample */                                                   \
  SCALAR(uint, batch)                                                                              \
  SCALAR(uint, power[2 * EMBEDDING_FREQUENCY_BITS])
#define embedding_sinusoids_CONSTANTS(CONSTANT)                                                    \
  CONSTANT(1, uint, columns, 1)                                                                    \
  CONSTANT(2, bool, shifted, false) /* sequences start at first[b], not at 0 */
FT_CONTRACT(embedding_sinusoids)

#endif
