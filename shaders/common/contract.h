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
 * or bool), with their ids, from 1 on and in order, and their values where nobody sets them.
 * Kernels may share lists, and a list may contain another. Numbers and bits that scalars or
 * constants stand for are #defines, or
 *
 *   #define scale_mode_VALUES(VALUE) VALUE(SCALE_ROWS, 0) VALUE(SCALE_COLUMNS, 1)
 *   FT_DECLARE_VALUES(scale_mode)
 *
 * which are enumerators in C, and constants in a shader that says FT_VALUES(scale_mode).
 *
 * The shader writes FT_CONSTANTS(scale_rows) for its constants, and FT_ARGUMENTS(scale_rows) for
 * the block `p`, in which the tensors' addresses come before the scalars. The C code fills in both
 * by name, in an ft_kernel_call:
 *
 *   FT_ARGUMENTS(scale_rows, .x = FT_READ(x), .y = FT_WRITE(y), .count = n, .scale = scale),
 *   FT_CONSTANTS(scale_rows, .accumulate = false)
 *
 * A tensor that is left out has the address 0, a scalar or constant the value 0. What C makes of
 * the lists is in runtime/graph/contract.h. The build compares compiled kernels with them
 * (cmake/contracts). */
#ifndef FT_COMMON_CONTRACT_H
#define FT_COMMON_CONTRACT_H

/* Of a kernel that shares no arguments with others; the second is for one without constants. Else
 * FT_KERNEL names the lists of a kernel, and the other two declare what C needs of each. */
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

#include "graph/contract.h"

#else

#define FT_DECLARE_ARGUMENTS(name)
#define FT_DECLARE_CONSTANTS(name)
#define FT_DECLARE_VALUES(name)
#define FT_KERNEL(kernel, arguments, constants)

#define FT_MEMBER(type, name)              type name;
#define FT_CONSTANT(id, type, name, value) layout(constant_id = id) const type name = value;
#define FT_CONSTANTS(name)                 name##_CONSTANTS(FT_CONSTANT)
#define FT_VALUE(name, value)              const uint name = value;
#define FT_VALUES(name)                    name##_VALUES(FT_VALUE)
#define FT_SEQUENCE_CONSTANT(name)         FT_CONSTANT(FT_SEQUENCE_ID, uint, name, 0)
#define FT_ARGUMENTS(name)                 FT_ARGUMENTS_AS(p, name)
/* The same block by another name. */
#define FT_ARGUMENTS_AS(block, name)                                                               \
  layout(push_constant) uniform Push{name##_TENSORS(FT_MEMBER) name##_SCALARS(FT_MEMBER)} block;
/* The same block as `given`, and a variable `p` that main copies it to. */
#define FT_ARGUMENTS_COPIED(name)                                                                  \
  struct Arguments {                                                                               \
    name##_TENSORS(FT_MEMBER) name##_SCALARS(FT_MEMBER)                                            \
  };                                                                                               \
  layout(push_constant) uniform Push {                                                             \
    Arguments given;                                                                               \
  };                                                                                               \
  Arguments p;

#endif
#endif
