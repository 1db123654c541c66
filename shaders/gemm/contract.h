/* Matrix products, for runtime/ops/gemm.c and gemm_matrix.c; gemm.glsl says what they compute. */
#ifndef FT_GEMM_CONTRACT_H
#define FT_GEMM_CONTRACT_H

#include "common/contract.h"

/* Bits of SHAPE. Element (m,k) of A lies at m*lda + k, or at k*lda + m when transposed; (k,n) of B
 * at k*ldb + n, or at n*ldb + k when transposed. Wide: rows can be read in aligned groups of 2
 * (s64), 4 (tiled) or 8 (matrix) elements that end inside the row; of C: columns, and in z and the
 * residual as well. Packed, for s64: the operand was copied into panels (pack.comp), as wide as a
 * tile of C: element (k,i) of panel j lies at (j*K + k)*width + i. It counts as TRANSPOSED_A, or as
 * not TRANSPOSED_B. Row sums, by all but naive: sums over k of A's rows, A transposed and one batch
 * entry, go to `bias`, [parts, m], or are added to what is there. */
#define gemm_shape_VALUES(VALUE)                                                                   \
  VALUE(GEMM_TRANSPOSED_A, 1)                                                                      \
  VALUE(GEMM_TRANSPOSED_B, 2)                                                                      \
  VALUE(GEMM_WIDE_A, 4)                                                                            \
  VALUE(GEMM_WIDE_B, 8)                                                                            \
  VALUE(GEMM_WIDE_C, 16)                                                                           \
  VALUE(GEMM_BATCHED, 32) /* several batch entries or parts of K */                                \
  VALUE(GEMM_K_TAIL, 64)  /* some part of K is no multiple of the kernel's step */                 \
  VALUE(GEMM_PACKED_A, 128)                                                                        \
  VALUE(GEMM_PACKED_B, 256)                                                                        \
  VALUE(GEMM_NARROW_C, 512)      /* C and z have A's 16-bit type */                                \
  VALUE(GEMM_ACROSS_FIRST, 1024) /* tiles side by side follow each other, not those below */       \
  VALUE(GEMM_ROW_SUMS, 2048)                                                                       \
  VALUE(GEMM_ADD_ROW_SUMS, 4096)
/* More of s64 and s64_uniform. */
#define gemm_s64_VALUES(VALUE)                                                                     \
  VALUE(GEMM_WHOLE_TILES, 8192) /* C is a whole number of tiles: stores need no masks of lanes */
/* Bits of EPILOGUE, with the activation above them. */
#define gemm_epilogue_VALUES(VALUE)                                                                \
  VALUE(GEMM_ACCUMULATE, 1)                                                                        \
  VALUE(GEMM_BIAS, 2)                                                                              \
  VALUE(GEMM_STORE_Z, 4)                                                                           \
  VALUE(GEMM_DROPOUT, 8)                                                                           \
  VALUE(GEMM_RESIDUAL, 16)                                                                         \
  VALUE(GEMM_SLOPE, 32) /* times the activation's derivative at z, or without activation, z */     \
  VALUE(GEMM_KEEP_SLOPE, 64) /* stores the derivative at z as z */                                 \
  VALUE(GEMM_ACTIVATION_SHIFT, 7)
FT_DECLARE_VALUES(gemm_shape)
FT_DECLARE_VALUES(gemm_s64)
FT_DECLARE_VALUES(gemm_epilogue)

#define gemm_TENSORS(TENSOR)                                                                       \
  TENSOR(F32, a)                                                                                   \
  TENSOR(F32, b)                                                                                   \
  TENSOR(F32, c)                                                                                   \
  TENSOR(F32, bias)                                                                                \
  TENSOR(F32, z) /* the activation's argument or its slope: kept for backward, or read there */    \
  TENSOR(F32, residual)                                                                            \
  TENSOR(U32, random) /* ft_graph_random_state */
#define gemm_SCALARS(SCALAR)                                                                       \
  SCALAR(uint, m)                                                                                  \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, k)                                                                                  \
  SCALAR(uint, lda)                                                                                \
  SCALAR(uint, ldb)                                                                                \
  SCALAR(uint, ldc)                                                                                \
  SCALAR(uint, batches) /* all entries */                                                          \
  SCALAR(uint, inner)   /* inner ones per outer one */                                             \
  SCALAR(uint, a_outer)                                                                            \
  SCALAR(uint, a_inner)                                                                            \
  SCALAR(uint, b_outer)                                                                            \
  SCALAR(uint, b_inner)                                                                            \
  SCALAR(uint, c_outer)                                                                            \
  SCALAR(uint, c_inner)                                                                            \
  SCALAR(float, scale)                                                                             \
  SCALAR(float, rate)                                                                              \
  SCALAR(uint, op_id)                                                                              \
  SCALAR(uint, chunk) /* length of a part of K */
#define gemm_CONSTANTS(CONSTANT)                                                                   \
  CONSTANT(1, uint, SHAPE, 0)                                                                      \
  CONSTANT(2, uint, EPILOGUE, 0)                                                                   \
  CONSTANT(3, uint, ROWS, 1) /* of C per invocation; matrix: matrices of a subgroup */
FT_DECLARE_ARGUMENTS(gemm)
FT_DECLARE_CONSTANTS(gemm)
FT_KERNEL(gemm_naive, gemm, gemm)

#define gemm_tiled_own_CONSTANTS(CONSTANT)                                                         \
  CONSTANT(4, uint, COLUMNS, 4) /* per invocation; as ROWS a multiple of 4 */                      \
  CONSTANT(5, uint, TILE_K, 16) /* a multiple of 4 */                                              \
  CONSTANT(6, uint, ACROSS, 16) /* invocations side by side along the columns */
#define gemm_tiled_CONSTANTS(CONSTANT) gemm_CONSTANTS(CONSTANT) gemm_tiled_own_CONSTANTS(CONSTANT)
FT_DECLARE_CONSTANTS(gemm_tiled)
FT_KERNEL(gemm_tiled, gemm, gemm_tiled)

#define gemm_s64_own_CONSTANTS(CONSTANT)                                                           \
  CONSTANT(4, uint, PAIRS, 1)                                                                      \
  CONSTANT(5, uint, STEP, 8) /* of K; even, and lanes are a multiple of half of it */
#define gemm_s64_CONSTANTS(CONSTANT) gemm_CONSTANTS(CONSTANT) gemm_s64_own_CONSTANTS(CONSTANT)
FT_DECLARE_CONSTANTS(gemm_s64)
FT_KERNEL(gemm_s64, gemm, gemm_s64)
FT_KERNEL(gemm_s64_uniform, gemm, gemm_s64)

#define gemm_matrix_own_CONSTANTS(CONSTANT)                                                        \
  CONSTANT(4, uint, COLUMNS, 2) /* matrices of a subgroup */                                       \
  CONSTANT(5, uint, TILE_K, 32) /* a multiple of 8 and of MATRIX_K */                              \
  CONSTANT(6, uint, ACROSS, 1)  /* subgroups side by side along the columns */                     \
  CONSTANT(7, uint, LANES, 32)  /* of a subgroup */                                                \
  CONSTANT(8, uint, MATRIX_M, 16)                                                                  \
  CONSTANT(9, uint, MATRIX_N, 16)                                                                  \
  CONSTANT(10, uint, MATRIX_K, 16)
#define gemm_matrix_CONSTANTS(CONSTANT) gemm_CONSTANTS(CONSTANT) gemm_matrix_own_CONSTANTS(CONSTANT)
FT_DECLARE_CONSTANTS(gemm_matrix)
FT_KERNEL(gemm_matrix, gemm, gemm_matrix)

#define gemm_pack_block_VALUES(VALUE) VALUE(PACK_BLOCK, 16) /* pairs along a column */
FT_DECLARE_VALUES(gemm_pack_block)
#define gemm_pack_TENSORS(TENSOR)                                                                  \
  TENSOR(Elements, x)                                                                              \
  TENSOR(F32, y)
#define gemm_pack_SCALARS(SCALAR)                                                                  \
  SCALAR(uint, count)  /* of a panel: elements or pairs, in whole blocks along columns */          \
  SCALAR(uint, across) /* panels of a batch entry */                                               \
  SCALAR(uint, panels) /* of all entries */                                                        \
  SCALAR(uint, inner)  /* inner entries per outer one */                                           \
  SCALAR(uint, k)                                                                                  \
  SCALAR(uint, n)                                                                                  \
  SCALAR(uint, line) /* strides of x */                                                            \
  SCALAR(uint, column)                                                                             \
  SCALAR(uint, x_outer)                                                                            \
  SCALAR(uint, x_inner)
#define gemm_pack_CONSTANTS(CONSTANT)                                                              \
  CONSTANT(1, uint, WIDTH, 2)          /* even */                                                  \
  CONSTANT(2, bool, ALONG_LINE, false) /* x can be read in aligned pairs: neighbours in a line */  \
  CONSTANT(3, bool, ALONG_COLUMN, false) /* or in a column */                                      \
  CONSTANT(4, uint, LANES, 0)            /* of s64_uniform; 0: for s64 */
FT_CONTRACT(gemm_pack)

#endif
