/* Kernels of an application's own, as SPIR-V, recorded beside Filtra's ops.
 *
 *   filtra_tensor *y = filtra_kernel_output(g, "halves", FILTRA_F32, 1, &count);
 *   uint32_t push[] = {(uint32_t)count};
 *   filtra_kernel_record(g, &(filtra_kernel){.name = "halve",
 *       .words = spirv, .word_count = sizeof spirv / sizeof *spirv,
 *       .arguments = (filtra_kernel_argument[]){{x, FILTRA_ACCESS_READ}, {y, FILTRA_ACCESS_WRITE}},
 *       .argument_count = 2, .push = push, .push_size = sizeof push,
 *       .workgroup = 64, .groups = {(uint32_t)(count + 63) / 64}});
 *
 * Memory, barriers and replay follow from the declared accesses: they must be what the kernel does.
 * What the shader is given, here in GLSL (glslc --target-env=vulkan1.3):
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
 * There are no descriptors and no robustness: a kernel checks its own bounds. Tensors lie at
 * multiples of 64 bytes, views of them at multiples of 4. No workgroup may wait for another: a long
 * dispatch may be cut into several, unless the kernel asks for gl_NumWorkGroups.
 */
#ifndef FILTRA_KERNEL_H
#define FILTRA_KERNEL_H

#include <filtra/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum filtra_access {
  FILTRA_ACCESS_READ = 1,
  FILTRA_ACCESS_WRITE = 2, /**< every element, whatever was there */
  FILTRA_ACCESS_UPDATE = 3 /**< of what was written before: reads and writes, or writes a part */
} filtra_access;

typedef struct filtra_kernel_argument {
  /** Dense. NULL passes address 0. Written are tensors from filtra_kernel_output and buffers (see
   * filtra_parameter_options) without a working copy; what other ops made, inputs and learned
   * parameters are read only. */
  filtra_tensor *tensor;
  filtra_access access;
} filtra_kernel_argument;

/** Records what gives a kernel's inputs their gradients, once those of its outputs are known: ops,
 * further kernels, and filtra_kernel_add_gradient. Called by filtra_graph_backward. */
typedef void (*filtra_backward_fn)(filtra_graph *g, const void *context);

/** One dispatch. */
typedef struct filtra_kernel {
  const char *name; /**< for messages and profiles; copied */
  const uint32_t
      *words; /**< SPIR-V up to version 1.6, entry point "main"; copied, once per device */
  size_t word_count;
  const filtra_kernel_argument *arguments;
  uint32_t argument_count;   /**< 1 to 13 */
  const void *push;          /**< behind the addresses; copied */
  uint32_t push_size;        /**< bytes, a multiple of 4; with 8 per argument at most 128 */
  uint32_t workgroup;        /**< invocations, up to filtra_device_info.max_workgroup_invocations */
  uint32_t subgroup;         /**< required size of subgroups, a power of two; 0: any */
  const uint32_t *constants; /**< specialization constants 1, 2 and so on */
  uint32_t constant_count;   /**< at most 13 */
  uint32_t groups[3];  /**< workgroups; 0 counts as 1; 65,535 are within every device's limits */
  double flops, bytes; /**< what it computes and moves, for profiles; 0: unknown */
  /** NULL: no gradient leads through the kernel. Otherwise what it writes depends on what it reads,
   * and it updates nothing. */
  filtra_backward_fn backward;
  const void *context; /**< copied, for backward; holds the tensors that it needs */
  size_t context_size;
  uint64_t reserved[8]; /**< zero; later versions' fields */
} filtra_kernel;

/** A dense tensor for a kernel to write. Nothing can read it before. */
FILTRA_API filtra_tensor *filtra_kernel_output(filtra_graph *g, const char *name,
                                               filtra_dtype dtype, int ndim, const int64_t *shape);

/** Records a dispatch. Its failure is the graph's as well, as that of ops: ARGUMENT for what breaks
 * a rule above or is no SPIR-V for this purpose, UNSUPPORTED for what the device cannot do. What
 * the shader does is not checked. */
FILTRA_API filtra_status filtra_kernel_record(filtra_graph *g, const filtra_kernel *kernel);

/** Within backward: the gradient of a tensor that the kernel wrote, in its shape; NULL if none
 * reached it. */
FILTRA_API filtra_tensor *filtra_kernel_gradient(filtra_graph *g, filtra_tensor *output);
/** Whether a tensor wants a gradient at all. */
FILTRA_API bool filtra_kernel_wants_gradient(const filtra_tensor *input);
/** Within backward: adds dense `gradient`, of the input's shape, to that of a tensor that the
 * kernel read. Does nothing where none is wanted. */
FILTRA_API void filtra_kernel_add_gradient(filtra_graph *g, filtra_tensor *input,
                                           filtra_tensor *gradient);

#ifdef __cplusplus
}
#endif
#endif
