/* GPU kernels of an application, as SPIR-V, recorded among Filtra's ops.
 *
 *   filtra_tensor *y = filtra_kernel_output(g, "halves", FILTRA_F32, 1, &count);
 *   uint32_t push[] = {(uint32_t)count};
 *   filtra_kernel_record(g, &(filtra_kernel){.name = "halve",
 *       .words = spirv, .word_count = sizeof spirv / sizeof *spirv,
 *       .arguments = (filtra_kernel_argument[]){{x, FILTRA_ACCESS_READ}, {y, FILTRA_ACCESS_WRITE}},
 *       .argument_count = 2, .push = push, .push_size = sizeof push,
 *       .workgroup = 64, .groups = {(uint32_t)(count + 63) / 64}});
 *
 * Memory and barriers follow from the declared accesses, which must be those of the kernel. What
 * the shader gets, in GLSL (glslc --target-env=vulkan1.3):
 *
 *   layout(local_size_x_id = 0) in;                    // workgroup, constant 0
 *   layout(constant_id = 1) const uint mode = 0;       // constants, from 1 on
 *   layout(buffer_reference, std430, buffer_reference_align = 4) buffer F32 { float v[]; };
 *   layout(push_constant) uniform Push {
 *     F32 x;                                           // the arguments' addresses, 8 bytes each,
 *     F32 y;                                           // in their order
 *     uint count;                                      // then `push`
 *   } p;
 *
 * There are no descriptors, and no robust access: a kernel must check its own bounds. Tensors begin
 * at multiples of 64 bytes, views at multiples of 4. No workgroup may wait for another, since a
 * long dispatch may be cut into several (unless the kernel reads gl_NumWorkGroups).
 */
#ifndef FILTRA_KERNEL_H
#define FILTRA_KERNEL_H

#include <filtra/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum filtra_access {
  FILTRA_ACCESS_READ = 1,
  FILTRA_ACCESS_WRITE = 2, /**< writes every element and reads none */
  FILTRA_ACCESS_UPDATE = 3 /**< reads and writes, or writes only some elements */
} filtra_access;

typedef struct filtra_kernel_argument {
  /** Dense. NULL passes address 0. A kernel may write tensors from filtra_kernel_output, and
   * buffers (see filtra_parameter_options) without a 16-bit copy. Results of ops, inputs and
   * learned parameters are read-only. */
  filtra_tensor *tensor;
  filtra_access access;
} filtra_kernel_argument;

/** Records ops and kernels that compute the gradients of a kernel's inputs from those of its
 * outputs, and passes them to filtra_kernel_add_gradient. filtra_graph_backward calls it. */
typedef void (*filtra_backward_fn)(filtra_graph *g, const void *context);

/** One dispatch. */
typedef struct filtra_kernel {
  const char *name; /**< for messages and profiles; copied */
  const uint32_t
      *words; /**< SPIR-V up to version 1.6, entry point "main"; copied, once per device */
  size_t word_count;
  const filtra_kernel_argument *arguments;
  uint32_t argument_count;   /**< 1 to 13 */
  const void *push;          /**< push constants after the addresses; copied */
  uint32_t push_size;        /**< bytes, a multiple of 4; at most 128 - 8 * argument_count */
  uint32_t workgroup;        /**< invocations, up to filtra_device_info.max_workgroup_invocations */
  uint32_t subgroup;         /**< required size of subgroups, a power of two; 0: any */
  const uint32_t *constants; /**< specialization constants 1, 2 and so on */
  uint32_t constant_count;   /**< at most 13 */
  uint32_t groups[3];  /**< workgroups; 0 counts as 1; 65,535 are within every device's limits */
  double flops, bytes; /**< operations and memory traffic, for profiles; 0: unknown */
  /** NULL: no gradient flows through the kernel. With `backward`, no argument may have
   * FILTRA_ACCESS_UPDATE. */
  filtra_backward_fn backward;
  const void *context; /**< copied, for backward; holds the tensors that it needs */
  size_t context_size;
  uint64_t reserved[8]; /**< zero; later versions' fields */
} filtra_kernel;

/** A dense tensor for a kernel to write. No op can read it before a kernel has written it. */
FILTRA_API filtra_tensor *filtra_kernel_output(filtra_graph *g, const char *name,
                                               filtra_dtype dtype, int ndim, const int64_t *shape);

/** Records a dispatch. A failure is also the graph's sticky error. Fails with ARGUMENT where a rule
 * above is broken or the SPIR-V is not such a kernel, takes another number of addresses or reads
 * more push constants than given; with UNSUPPORTED where the device lacks what the kernel needs.
 * What the shader does is not checked. */
FILTRA_API filtra_status filtra_kernel_record(filtra_graph *g, const filtra_kernel *kernel);

/** Within backward: the gradient of a tensor that the kernel wrote, in its shape; NULL if none
 * reached it. */
FILTRA_API filtra_tensor *filtra_kernel_gradient(filtra_graph *g, filtra_tensor *output);
/** Whether the backward pass needs a gradient of the tensor. */
FILTRA_API bool filtra_kernel_wants_gradient(const filtra_tensor *input);
/** Within backward: adds `gradient`, dense and of the input's shape, to the gradient of a tensor
 * that the kernel read. Does nothing where none is needed. */
FILTRA_API void filtra_kernel_add_gradient(filtra_graph *g, filtra_tensor *input,
                                           filtra_tensor *gradient);

#ifdef __cplusplus
}
#endif
#endif
