/* The scalars of kernels that walk two tensors along common axes: common/axes.glsl in a shader,
 * ft_axes in C. */
#ifndef FT_COMMON_AXES_H
#define FT_COMMON_AXES_H

#define ft_axes_SCALARS(SCALAR)                                                                    \
  SCALAR(uint, count)     /* elements, or groups of four */                                        \
  SCALAR(uint, shape[3])  /* without the outermost axis */                                         \
  SCALAR(uint, factor[3]) /* division by shape: times factor, and shift */                         \
  SCALAR(uint, shift[3])                                                                           \
  SCALAR(uint, a_stride[4])                                                                        \
  SCALAR(uint, b_stride[4])

#endif
