/* The C side of contracts (shaders/common/contract.h): structs of arguments and specialization
 * constants, and macros that pass them to a call. */
#ifndef FT_GRAPH_CONTRACT_H
#define FT_GRAPH_CONTRACT_H

#include "graph/graph.h"

_Static_assert(FT_SEQUENCE_ID == FT_MAX_SPEC, "the last constant");

#define FT_C_bool                                 uint32_t
#define FT_C_uint                                 uint32_t
#define FT_C_int                                  int32_t
#define FT_C_float                                float
#define FT_TENSOR_MEMBER(type, name)              ft_arg name;
#define FT_TENSOR_BYTE(type, name)                char name;
#define FT_ADDRESS_MEMBER(type, name)             uint64_t name;
#define FT_SCALAR_MEMBER(type, name)              FT_C_##type name;
#define FT_CONSTANT_MEMBER(id, type, name, value) FT_C_##type name;
/* NOLINTNEXTLINE(bugprone-macro-parentheses): an enumerator is no expression */
#define FT_ENUMERATOR(name, value) name = (value),

/* struct ft_NAME_arguments: what a caller passes. struct ft_NAME_block: the resulting push
 * constants, for code that dispatches by itself. */
#define FT_DECLARE_ARGUMENTS(name)                                                                 \
  struct ft_##name##_scalars {                                                                     \
    name##_SCALARS(FT_SCALAR_MEMBER)                                                               \
  };                                                                                               \
  struct ft_##name##_arguments {                                                                   \
    name##_TENSORS(FT_TENSOR_MEMBER) name##_SCALARS(FT_SCALAR_MEMBER)                              \
  };                                                                                               \
  struct ft_##name##_block {                                                                       \
    name##_TENSORS(FT_ADDRESS_MEMBER) name##_SCALARS(FT_SCALAR_MEMBER)                             \
  };                                                                                               \
  enum { ft_##name##_tensors = sizeof(struct {name##_TENSORS(FT_TENSOR_BYTE)}) };                  \
  _Static_assert(8 * ft_##name##_tensors + sizeof(struct ft_##name##_scalars) <= FT_PUSH_BYTES,    \
                 "too many push constants: " #name);
#define FT_DECLARE_CONSTANTS(name)                                                                 \
  struct ft_##name##_constants {                                                                   \
    name##_CONSTANTS(FT_CONSTANT_MEMBER)                                                           \
  };
#define FT_DECLARE_VALUES(name) enum { name##_VALUES(FT_ENUMERATOR) };
#define FT_KERNEL(kernel, arguments, constants)

/* Members of an ft_kernel_call. _AT takes a pointer to a filled struct. */
#define FT_ARGUMENTS(name, ...)                                                                    \
  FT_ARGUMENTS_AT(name, (&(const struct ft_##name##_arguments){__VA_ARGS__}))
#define FT_ARGUMENTS_AT(name, at)                                                                  \
  .given = 1 ? (at) : (const struct ft_##name##_arguments *)NULL,                                  \
  .tensor_count = ft_##name##_tensors, .scalar_size = sizeof(struct ft_##name##_scalars)
#define FT_CONSTANT_COUNT(name) (sizeof(struct ft_##name##_constants) / sizeof(uint32_t))
#define FT_CONSTANTS(name, ...)                                                                    \
  FT_CONSTANTS_AT(name, (&(const struct ft_##name##_constants){__VA_ARGS__}))
#define FT_CONSTANTS_AT(name, at)                                                                  \
  .constants = 1 ? (at) : (const struct ft_##name##_constants *)NULL,                              \
  .constant_count = FT_CONSTANT_COUNT(name)

#endif
