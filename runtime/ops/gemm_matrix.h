/* Products on matrix units: shaders/gemm/matrix.comp. */
#ifndef FT_OPS_GEMM_MATRIX_H
#define FT_OPS_GEMM_MATRIX_H

#include "ops/gemm_plan.h"

/** Whether products of that type may use matrix units. */
bool ft_gemm_matrix_there(const filtra_device *dev, filtra_dtype type);
/** Whether matrix units can use these tiles. The row of zeros, which means the other kernels, is
 * always usable. */
bool ft_gemm_matrix_usable(const filtra_device *dev, filtra_dtype type, const ft_configuration *c);
/** The row to take without tuning; zeros if matrix units are used only after they were measured. */
ft_configuration ft_gemm_matrix_standard(const filtra_device *dev, const ft_gemm *p);
/** Whether the row uses matrix units. */
bool ft_gemm_matrix_taken(const ft_configuration *c);
ft_gemm_plan ft_gemm_matrix_plan(const filtra_device *dev, filtra_dtype type,
                                 const ft_configuration *c);

#endif
