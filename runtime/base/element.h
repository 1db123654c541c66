/* Element types of tensors and files: names and conversions. */
#ifndef FT_BASE_ELEMENT_H
#define FT_BASE_ELEMENT_H

#include <filtra/dtype.h>

/** Whether tensors on a device may be of this type. */
bool ft_dtype_on_device(filtra_dtype dtype);
/** Whether the type is a floating-point type. */
bool ft_dtype_is_float(filtra_dtype dtype);
/** The type that safetensors calls `name`; false if there is none. */
bool ft_dtype_find(const char *name, filtra_dtype *dtype);
/** All names, for messages: "F32, I32, ...". */
const char *ft_dtype_names(void);

/** One element as a double; exact, except for large I64. */
double ft_element_get(filtra_dtype dtype, const void *elements, size_t index);
/** `count` elements as floats, rounded where the type is wider. */
void ft_elements_get(filtra_dtype dtype, const void *elements, size_t count, float *to);
/** Whether `count` elements of a floating-point type are neither NaN nor infinite. */
bool ft_elements_finite(filtra_dtype dtype, const void *elements, size_t count);
/** Sets one element of a floating-point type; rounds to nearest, ties to even; overflow gives
 * infinity. */
void ft_element_set(filtra_dtype dtype, void *elements, size_t index, float value);

#endif
