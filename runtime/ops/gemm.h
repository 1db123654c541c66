/* The library's matrix product, batched and strided, with an epilogue. */
#ifndef FT_OPS_GEMM_H
#define FT_OPS_GEMM_H

#include "graph/graph.h"

#include <filtra/ops.h>

/** A matrix, or a batch of matrices, in a tensor; strides in elements. `row` or `column` is 1. A
 * transposed matrix has both swapped. */
typedef struct ft_matrix {
  filtra_tensor *tensor;
  int64_t row, column;
  int64_t outer, inner; /* between entries of the batch */
} ft_matrix;

/** The last two axes of a tensor of 2 to 4 dimensions as a matrix, the others as batch; transposed
 * if `transpose`. */
ft_matrix ft_matrix_of(filtra_tensor *t, bool transpose);
/** A dense tensor as one matrix: the last axis as columns, all others as rows. */
ft_matrix ft_matrix_rows(filtra_tensor *t, bool transpose);

/** C[b,m,n] (+)= residual + dropout(activation(scale * sum_k A[b,m,k] B[b,k,n] + bias[n])), for
 * `outer` x `inner` batch entries; with `slope`, dropout(activation'(z[b,m,n]) * scale * sum), or
 * without activation dropout(z[b,m,n] * scale * sum).
 * A and B are of one type, F32, F16 or BF16; C is F32 or of that type. Sums and epilogue are fp32,
 * in an order that depends on shape and device only; C and z are rounded once. k is at least 1. */
typedef struct ft_gemm {
  const char *label;
  ft_matrix a, b, c;
  int64_t m, n, k;
  int64_t outer, inner; /* 0: 1 */
  float scale;          /* 0: 1 */
  bool accumulate;      /* add to C */
  /* For the gradient of a bias beside that of a weight, without batch: F32 [m], receives the sums
   * of A's rows, or is NULL. A must be a whole dense tensor, transposed. Summed by this kernel or
   * by a separate one. */
  filtra_tensor *row_sums;
  bool add_row_sums; /* add to row_sums */
  /* Epilogue; if any of these is used, C's columns must be dense. */
  filtra_tensor *bias;     /* F32 [n] */
  filtra_tensor *z;        /* as C: receives the activation's argument or its slope; or NULL */
  bool slope;              /* z is read, see above; without bias, residual and accumulate */
  bool keep_slope;         /* z receives activation' at the argument */
  filtra_tensor *residual; /* as C, which must be F32; or NULL */
  filtra_activation activation;
  float dropout;      /* rate; elements are numbered as in a dense [outer, inner, m, n] */
  uint32_t random_id; /* ft_graph_random_id */
} ft_gemm;

void ft_emit_gemm(filtra_graph *g, const ft_gemm *gemm);

#endif
