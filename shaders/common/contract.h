/* What a kernel and the C code that calls it agree on is written once, in the contract.h of its
 * folder, which the C compiler and glslc both read:
 *
 *   #define scale_rows_TENSORS(TENSOR) TENSOR(F32, x) TENSOR(F32, y)
 *   #define scale_rows_SCALARS(SCALAR) SCALAR(uint, count) SCALAR(float, scale)
 *   #define scale_rows_CONSTANTS(CONSTANT) CONSTANT(1, bool, accumulate, false)
 *   FT_CONTRACT(scale_rows)
 *
 * is the contract of the kernel scale/rows: its tensors, with the type that the shader reads them
 * as; its scalars (uint, int, float, or arrays of these); its specialization constants (uint, float
 * or bool), with their ids, from 1 on and in order, and their values where nobody sets them. Flags
 * are plain #defines.
 *
 * The shader writes FT_CONSTANTS(scale_rows) for its constants, and FT_ARGUMENTS(scale_rows) for
 * the block `p`, in which the tensors' addresses come before the scalars. The C code fills in both
 * by name, in an ft_kernel_call:
 *
 *   FT_ARGUMENTS(scale_rows, .x = FT_READ(x), .y = FT_WRITE(y), .count = n, .scale = scale),
 *   FT_CONSTANTS(scale_rows, .accumulate = false)
 *
 * A tensor that is left out has the address 0, a scalar or constant the value 0. */
#ifndef FT_COMMON_CONTRACT_H
#define FT_COMMON_CONTRACT_H

/* Of one kernel that shares nothing with others; the second one has no constants. */
#define FT_CONTRACT(name)                                                                          \
  FT_DECLARE_ARGUMENTS(name)                                                                       \
  FT_DECLARE_CONSTANTS(name)                                                                       \
  FT_KERNEL(name, name, name)
#define FT_CONTRACT_PLAIN(name)                                                                    \
  FT_DECLARE_ARGUMENTS(name)                                                                       \
  FT_KERNEL(name, name, ft_no)
#define ft_no_CONSTANTS(CONSTANT)

/* Of kernels over rows (common/row.glsl), before their own. */
#define ft_row_CONSTANTS(CONSTANT) CONSTANT(1, uint, HELD, 1) CONSTANT(2, bool, WHOLE, false)

/* The constant of random ops' kernels that has this id: elements of a sequence, where the graph has
 * a part of a batch (whole_element of common/philox.glsl). ft_kernel_call has a member for it. */
#define FT_SEQUENCE_ID 13

#ifdef __STDC__

#include "graph/graph.h"

#define FT_C_bool                                 uint32_t
#define FT_C_uint                                 uint32_t
#define FT_C_int                                  int32_t
#define FT_C_float                                float
#define FT_TENSOR_MEMBER(type, name)              ft_arg name;
#define FT_TENSOR_COUNT(type, name)               +1
#define FT_ADDRESS_MEMBER(type, name)             uint64_t name;
#define FT_SCALAR_MEMBER(type, name)              FT_C_##type name;
#define FT_CONSTANT_MEMBER(id, type, name, value) FT_C_##type name;

/* struct ft_NAME: what a call is given. struct ft_NAME_block: the push constants that become of it,
 * for code that dispatches by itself. */
#define FT_DECLARE_ARGUMENTS(name)                                                                 \
  struct ft_##name##_scalars {                                                                     \
    name##_SCALARS(FT_SCALAR_MEMBER)                                                               \
  };                                                                                               \
  struct ft_##name {                                                                               \
    name##_TENSORS(FT_TENSOR_MEMBER) name##_SCALARS(FT_SCALAR_MEMBER)                              \
  };                                                                                               \
  struct ft_##name##_block {                                                                       \
    name##_TENSORS(FT_ADDRESS_MEMBER) name##_SCALARS(FT_SCALAR_MEMBER)                             \
  };                                                                                               \
  enum { ft_##name##_tensors = 0 name##_TENSORS(FT_TENSOR_COUNT) };
#define FT_DECLARE_CONSTANTS(name)                                                                 \
  struct ft_##name##_constants {                                                                   \
    name##_CONSTANTS(FT_CONSTANT_MEMBER)                                                           \
  };
#define FT_KERNEL(kernel, arguments, constants)

/* Members of an ft_kernel_call. _AT takes a pointer to a struct that was filled before. */
#define FT_ARGUMENTS(name, ...) FT_ARGUMENTS_AT(name, (&(const struct ft_##name){__VA_ARGS__}))
#define FT_ARGUMENTS_AT(name, at)                                                                  \
  .given = 1 ? (at) : (const struct ft_##name *)NULL, .tensor_count = ft_##name##_tensors,         \
  .scalar_size = sizeof(struct ft_##name##_scalars)
#define FT_CONSTANTS(name, ...)                                                                    \
  .constants = &(const struct ft_##name##_constants){__VA_ARGS__},                                 \
  .constant_count = sizeof(struct ft_##name##_constants) / sizeof(uint32_t)

#else

#define FT_DECLARE_ARGUMENTS(name)
#define FT_DECLARE_CONSTANTS(name)
#define FT_KERNEL(kernel, arguments, constants)

#define FT_MEMBER(type, name)              type name;
#define FT_CONSTANT(id, type, name, value) layout(constant_id = id) const type name = value;
#define FT_ARGUMENTS(name)                                                                         \
  layout(push_constant) uniform Push{name##_TENSORS(FT_MEMBER) name##_SCALARS(FT_MEMBER)} p;
#define FT_CONSTANTS(name)         name##_CONSTANTS(FT_CONSTANT)
#define FT_SEQUENCE_CONSTANT(name) FT_CONSTANT(FT_SEQUENCE_ID, uint, name, 0)

#endif
#endif
