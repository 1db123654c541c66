/* Tensors, static graphs and reverse-mode differentiation.
 *
 * A graph is built once, compiled once and run many times. Where it has parameters, one that is
 * built before it declares them:
 *
 *   filtra_parameters *params;  filtra_parameters_create(dev, &params);
 *   filtra_graph *g = NULL;
 *   filtra_tensor *x = NULL, *y = NULL;
 *   for (int built = 0; built < 2; built++) {
 *     filtra_graph_destroy(&g);  filtra_graph_create(dev, NULL, &g);
 *     x = filtra_graph_input(g, "x", FILTRA_F32, 2, (int64_t[]){8, 16});
 *     filtra_tensor *w = filtra_graph_parameter(g, params, "w", 2, (int64_t[]){4, 16}, NULL);
 *     y = filtra_graph_output(g, filtra_linear(g, x, w, NULL, NULL));
 *     if (!built) filtra_parameters_commit(params, 1, FILTRA_TRAINABLE);
 *   }
 *   filtra_status status = filtra_graph_compile(g);
 *   if (!status) status = filtra_graph_set(g, x, data);
 *   if (!status) status = filtra_graph_execute(g);
 *   if (!status) status = filtra_graph_get(g, y, out);
 *   if (status) puts(filtra_error_message());
 *
 * Errors while building are sticky: an op that is given a wrong shape returns NULL, every op
 * accepts NULL and passes it on, and filtra_graph_compile reports the first error. So ops compose
 * as expressions and nothing fails unseen.
 *
 * One thread at a time per device.
 *
 * A tensor belongs to its graph and dies with it. Shapes are outermost first; elements are of
 * a filtra_dtype. A view (heads, split, reshape) shares its parent's bytes.
 */
#ifndef FILTRA_GRAPH_H
#define FILTRA_GRAPH_H

#include <filtra/device.h>
#include <filtra/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FILTRA_MAX_DIMS 4

typedef struct filtra_graph filtra_graph;
typedef struct filtra_tensor filtra_tensor;
typedef struct filtra_parameters filtra_parameters;
typedef struct filtra_arena filtra_arena;

/* ---- parameters ------------------------------------------------------------------------- */

typedef enum filtra_init_kind {
  FILTRA_INIT_ZERO = 0,
  FILTRA_INIT_CONSTANT, /**< every entry = value */
  FILTRA_INIT_NORMAL,   /**< N(0, value^2) */
  FILTRA_INIT_UNIFORM,  /**< U(-value, value) */
  FILTRA_INIT_SERIES,   /**< every entry = value but the first, value / 2: a Chebyshev series */
  /** Rows, as long as the last axis, each in the direction and of the length of a vector of
   * N(0, value^2); rows 0 to C-1, C to 2C-1 and so on are orthogonal to each other, C columns. */
  FILTRA_INIT_ORTHOGONAL
} filtra_init_kind;

/** Whether committed parameters get gradients. */
typedef enum filtra_trainable { FILTRA_FIXED = 0, FILTRA_TRAINABLE } filtra_trainable;

/** How a parameter starts and how the optimizer treats it. */
typedef struct filtra_parameter_options {
  filtra_init_kind init;
  float value; /**< scale or constant, see filtra_init_kind */
  bool decay;  /**< weight decay applies (matrices yes; biases, norms, filter weights no) */
  bool buffer; /**< kept in files, but not trained: it has no gradient and no update touches it */
  /** F16 or BF16: a working copy in this type beside the F32 master, for
   * filtra_graph_parameter_copy. It follows every change of the master, updates included.
   * FILTRA_F32, which is 0: none. */
  filtra_dtype copy;
  uint64_t reserved[4]; /**< 0 */
} filtra_parameter_options;

/** Named parameters as views into one flat F32 buffer; decayed ones lie first, buffers last.
 * Values, gradients and optimizer state are parallel flat buffers. One thread at a time per
 * device. */
FILTRA_API filtra_status filtra_parameters_create(filtra_device *device, filtra_parameters **out);

/** Frees the buffers; sets *params to NULL. */
FILTRA_API void filtra_parameters_destroy(filtra_parameters **params);

/** Fixes the layout, allocates device memory and fills in the initial values, a function of
 * (seed, name) only. `trainable` allocates gradients too. Graphs that used the parameters before
 * this call served to declare them and can only be destroyed; graphs that shall run are built
 * after it. */
FILTRA_API filtra_status filtra_parameters_commit(filtra_parameters *params, uint64_t seed,
                                                  filtra_trainable trainable);

FILTRA_API size_t filtra_parameters_count(const filtra_parameters *params);
/** Total number of scalars, without padding. */
FILTRA_API uint64_t filtra_parameters_scalars(const filtra_parameters *params);
/** Name, dimensions and shape of parameter i, in order of declaration. */
FILTRA_API const char *filtra_parameters_name(const filtra_parameters *params, size_t i);
FILTRA_API int filtra_parameters_shape(const filtra_parameters *params, size_t i,
                                       int64_t shape[FILTRA_MAX_DIMS]);
/** Copies one parameter's values from or to the device (waits for the device). `count` must be the
 * parameter's number of elements. */
FILTRA_API filtra_status filtra_parameters_get(filtra_parameters *params, const char *name,
                                               float *values, size_t count);
FILTRA_API filtra_status filtra_parameters_set(filtra_parameters *params, const char *name,
                                               const float *values, size_t count);
/** As filtra_parameters_get, for the gradient of the last run. */
FILTRA_API filtra_status filtra_parameters_get_gradient(filtra_parameters *params, const char *name,
                                                        float *values, size_t count);

/** Replaces it, for filtra_optimizer_step: by the sum over several devices, say. */
FILTRA_API filtra_status filtra_parameters_set_gradient(filtra_parameters *params, const char *name,
                                                        const float *values, size_t count);

/** Writes all values by name to a safetensors file, atomically. A value that is not finite fails
 * with NONFINITE naming the parameter, and leaves an older file as it was. */
FILTRA_API filtra_status filtra_parameters_save(filtra_parameters *params, const char *path);
/** Reads values that filtra_parameters_save wrote, or another program: F32, F64, F16 or BF16, every
 * parameter with its shape and nothing else. Fails with INPUT; then no value has changed. */
FILTRA_API filtra_status filtra_parameters_load(filtra_parameters *params, const char *path);

/* ---- graphs ----------------------------------------------------------------------------- */

/** Activation memory that graphs of one device can share when only one of them runs at a time. */
FILTRA_API filtra_status filtra_arena_create(filtra_device *device, filtra_arena **out);
FILTRA_API void filtra_arena_destroy(filtra_arena **arena);

typedef struct filtra_graph_options {
  filtra_arena *arena; /**< NULL: a private one */
  /** Runs that may be in flight at once, each with its own input and output slots. 0: 3. */
  uint32_t slots;
  bool training;        /**< dropout is active */
  uint64_t reserved[8]; /**< 0 */
} filtra_graph_options;

FILTRA_API filtra_status filtra_graph_create(filtra_device *device,
                                             const filtra_graph_options *options,
                                             filtra_graph **out);
/** Waits for runs in flight, frees everything the graph owns; sets *graph to NULL. */
FILTRA_API void filtra_graph_destroy(filtra_graph **graph);

/** A tensor whose content the caller sets before each run. F32 inputs take part in
 * differentiation when filtra_graph_require_gradient was called on them. */
FILTRA_API filtra_tensor *filtra_graph_input(filtra_graph *g, const char *name, filtra_dtype dtype,
                                             int ndim, const int64_t *shape);
FILTRA_API void filtra_graph_require_gradient(filtra_graph *g, filtra_tensor *t);

/** The parameter of that name; declared with `options` on first use (NULL: zeros, no decay). The
 * shape must agree with the declaration. */
FILTRA_API filtra_tensor *filtra_graph_parameter(filtra_graph *g, filtra_parameters *params,
                                                 const char *name, int ndim, const int64_t *shape,
                                                 const filtra_parameter_options *options);

/** The 16-bit working copy of a parameter that was declared with one; its gradient is the
 * parameter's, in F32. Declares nothing. */
FILTRA_API filtra_tensor *filtra_graph_parameter_copy(filtra_graph *g, filtra_parameters *params,
                                                      const char *name);

/** Marks a tensor to be copied back after each run, for filtra_graph_get. Returns it. */
FILTRA_API filtra_tensor *filtra_graph_output(filtra_graph *g, filtra_tensor *t);

/** Extends the tape by the gradients of sum_i <upstream_i, outputs_i> with respect to every
 * parameter and every input that requires one. upstream[i] NULL means all ones; `upstream` NULL
 * means all ones for every output. Parameters the outputs do not depend on get zero gradients.
 * Call at most once per graph. */
FILTRA_API filtra_status filtra_graph_backward(filtra_graph *g, size_t count,
                                               filtra_tensor *const *outputs,
                                               filtra_tensor *const *upstream);
/** The gradient of t, a parameter or an input that requires one, after filtra_graph_backward; NULL
 * if none reached it. (Gradients of intermediate tensors are taken over by others on the way.) */
FILTRA_API filtra_tensor *filtra_graph_gradient(filtra_graph *g, filtra_tensor *t);

/** Plans memory, creates pipelines in parallel and records the command buffers. Reports the first
 * error met while building. Fails with DEVICE_MEMORY, saying how much the plan needs. */
FILTRA_API filtra_status filtra_graph_compile(filtra_graph *g);

/** Sets an input for the next run; shape and type are the input's. */
FILTRA_API filtra_status filtra_graph_set(filtra_graph *g, filtra_tensor *input, const void *data);
/** Submits one run and returns at once; *ticket identifies it. Waits only when all slots are in
 * flight. */
FILTRA_API filtra_status filtra_graph_submit(filtra_graph *g, uint64_t *ticket);
/** Waits until that run is done. */
FILTRA_API filtra_status filtra_graph_wait(filtra_graph *g, uint64_t ticket);
/** Whether that run is done; asks without waiting. A run that failed, on a lost device too, counts
 * as done: filtra_graph_wait says how it ended. */
FILTRA_API bool filtra_graph_done(const filtra_graph *g, uint64_t ticket);
/** Submit and wait. */
FILTRA_API filtra_status filtra_graph_execute(filtra_graph *g);
/** An output of the run last waited for, densely packed in the tensor's shape. */
FILTRA_API filtra_status filtra_graph_get(filtra_graph *g, filtra_tensor *output, void *data);

/** Sets the seed and step that dropout masks are derived from; step counts from 0. */
FILTRA_API void filtra_graph_set_step(filtra_graph *g, uint64_t seed, uint64_t step);

/** Bytes of activation memory in the plan (0 before compile). */
FILTRA_API uint64_t filtra_graph_activation_bytes(const filtra_graph *g);

/* ---- tensors ---------------------------------------------------------------------------- */

FILTRA_API int filtra_tensor_shape(const filtra_tensor *t, int64_t shape[FILTRA_MAX_DIMS]);
FILTRA_API int64_t filtra_tensor_elements(const filtra_tensor *t);
FILTRA_API filtra_dtype filtra_tensor_dtype(const filtra_tensor *t);

/** Views; no data moves. All take and return tensors of the same graph. */
/** The same elements as a constant: no gradient goes through it. */
FILTRA_API filtra_tensor *filtra_detach(filtra_graph *g, filtra_tensor *t);
/** Same elements in another shape; t must be densely packed. */
FILTRA_API filtra_tensor *filtra_reshape(filtra_graph *g, filtra_tensor *t, int ndim,
                                         const int64_t *shape);
/** [B,N,C] -> [B,heads,N,C/heads]; channel c = head * (C/heads) + d. */
FILTRA_API filtra_tensor *filtra_split_heads(filtra_graph *g, filtra_tensor *t, int64_t heads);
/** The inverse of filtra_split_heads: [B,H,N,D] stored token by token -> [B,N,H*D]. */
FILTRA_API filtra_tensor *filtra_merge_heads(filtra_graph *g, filtra_tensor *t);
/** Cuts the last axis into `parts` equal pieces; out[i] receives piece i. t must not be used by any
 * other op when gradients are wanted. */
FILTRA_API void filtra_chunk(filtra_graph *g, filtra_tensor *t, int parts, filtra_tensor **out);

#ifdef __cplusplus
}
#endif
#endif
