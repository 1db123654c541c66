/* Products on matrix units: shaders/gemm/matrix.comp. */
#ifndef FT_OPS_GEMM_MATRIX_H
#define FT_OPS_GEMM_MATRIX_H

#include "ops/gemm_plan.h"

/** Whether there are matrix units for operands of that type, which may be used. */
bool ft_gemm_matrix_there(const filtra_device *dev, filtra_dtype type);
/** Whether they can work in these tiles; the row of zeros, which stands for the other kernels, is
 * always usable. */
bool ft_gemm_matrix_usable(const filtra_device *dev, filtra_dtype type, const ft_configuration *c);
/** The row to take without a measurement: where matrix units are only for who has measured them,
 * that of zeros. */
ft_configuration ft_gemm_matrix_standard(const filtra_device *dev, const ft_gemm *p);
/** Whether the row takes matrix units. */
bool ft_gemm_matrix_taken(const ft_configuration *c);
ft_gemm_plan ft_gemm_matrix_plan(const filtra_device *dev, filtra_dtype type,
                                 const ft_configuration *c);

#endif
