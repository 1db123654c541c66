/* Elements: sizes, names and conversions of the types that tensors and files have. */
#ifndef FT_BASE_ELEMENT_H
#define FT_BASE_ELEMENT_H

#include <filtra/dtype.h>

/** Whether tensors on a device may be of this type. */
bool ft_dtype_on_device(filtra_dtype dtype);
/** Whether it is a floating-point type. */
bool ft_dtype_is_float(filtra_dtype dtype);
/** The type that safetensors calls `name`; false when there is none. */
bool ft_dtype_find(const char *name, filtra_dtype *dtype);
/** "F32, I32, ...": all of them. */
const char *ft_dtype_names(void);

/** One element as a double; exact but for large I64. */
double ft_element_get(filtra_dtype dtype, const void *elements, size_t index);
/** Rounds to the nearest value of a floating-point type, ties to even; overflow gives infinity. */
void ft_element_set(filtra_dtype dtype, void *elements, size_t index, float value);

#endif
