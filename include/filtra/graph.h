/* Tensors, static graphs and reverse-mode differentiation.
 *
 * A graph is recorded once, compiled once and executed many times:
 *
 *   filtra_parameters *params;  filtra_parameters_create(dev, &params);
 *   filtra_graph *g;            filtra_graph_create(dev, NULL, &g);
 *   filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F32, 2, (int64_t[]){8, 16});
 *   filtra_tensor *w = filtra_graph_parameter(g, params, "w", 2, (int64_t[]){4, 16}, NULL);
 *   filtra_tensor *y = filtra_graph_output(g, filtra_linear(g, x, w, NULL, NULL));
 *   filtra_status status = filtra_parameters_commit(params, 1, FILTRA_TRAINABLE);
 *   if (!status) status = filtra_graph_compile(g);
 *   if (!status) status = filtra_graph_set(g, x, data);
 *   if (!status) status = filtra_graph_execute(g);
 *   if (!status) status = filtra_graph_get(g, y, out);
 *   if (status) puts(filtra_error_message());
 *
 * Errors while recording are sticky: an op that gets a wrong shape returns NULL, every op accepts
 * NULL and passes it on, and filtra_graph_compile reports the first error. So ops can be nested in
 * one expression, and no error is lost. On a compiled graph ops return NULL, and
 * filtra_error_message says that nothing can be added to it.
 *
 * One thread at a time per device.
 *
 * A tensor belongs to its graph and is freed with it. Shapes are given outermost axis first;
 * elements have a filtra_dtype. A view (heads, chunk, reshape) shares the bytes of its tensor.
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
  FILTRA_INIT_SERIES,   /**< a Chebyshev series: the first entry = value / 2, all others = value */
  /** Orthogonal rows (Yu et al. 2016). With C columns, rows 0 to C-1 are orthogonal to each other,
   * then rows C to 2C-1, and so on. Each row has the length of a vector drawn from N(0, value^2).
   */
  FILTRA_INIT_ORTHOGONAL
} filtra_init_kind;

/** Whether filtra_parameters_commit allocates gradients. */
typedef enum filtra_trainable { FILTRA_FIXED = 0, FILTRA_TRAINABLE } filtra_trainable;

/** Initial values of a parameter, and how the optimizer treats it. */
typedef struct filtra_parameter_options {
  filtra_init_kind init;
  float value; /**< finite: scale or constant, see filtra_init_kind */
  bool decay;  /**< weight decay applies: for matrices; not for biases, norms, filter weights */
  bool buffer; /**< saved in files, but not trained: no gradient, no update */
  /** F16 or BF16: the parameter also has a copy of this type, for filtra_graph_parameter_copy. The
   * copy follows every change of the F32 values. FILTRA_F32, which is 0: no copy. */
  filtra_dtype copy;
  uint64_t reserved[4]; /**< 0 */
} filtra_parameter_options;

/** A set of named parameters. All values lie in one flat F32 buffer: decayed parameters first,
 * then the others, then buffers. Gradients and optimizer state are flat buffers of the same layout.
 * One thread at a time per device. */
FILTRA_API filtra_status filtra_parameters_create(filtra_device *device, filtra_parameters **out);

/** Frees the buffers; sets *params to NULL. Fails with ARGUMENT, and leaves the set as it is, while
 * a graph or an optimizer that uses it has not been destroyed. */
FILTRA_API filtra_status filtra_parameters_destroy(filtra_parameters **params);

/** Lays the declared parameters out, allocates device memory for their values, and for gradients
 * when FILTRA_TRAINABLE, and fills in the initial values, which depend on (seed, name) only. Graphs
 * may be recorded before or after this call, and are compiled after it. No parameter can be
 * declared later. */
FILTRA_API filtra_status filtra_parameters_commit(filtra_parameters *params, uint64_t seed,
                                                  filtra_trainable trainable);

FILTRA_API size_t filtra_parameters_count(const filtra_parameters *params);
/** Total number of scalars, without padding. */
FILTRA_API uint64_t filtra_parameters_scalars(const filtra_parameters *params);
/** Name of parameter i, in order of declaration; NULL beyond the last. */
FILTRA_API const char *filtra_parameters_name(const filtra_parameters *params, size_t i);
/** Writes the shape of parameter i; returns its number of dimensions, 0 beyond the last. */
FILTRA_API int filtra_parameters_shape(const filtra_parameters *params, size_t i,
                                       int64_t shape[FILTRA_MAX_DIMS]);
/** Reads one parameter's values, after waiting for the device. `count` must be the parameter's
 * number of elements. */
FILTRA_API filtra_status filtra_parameters_get(filtra_parameters *params, const char *name,
                                               float *values, size_t count);
/** Writes one parameter's values, after waiting for the device. */
FILTRA_API filtra_status filtra_parameters_set(filtra_parameters *params, const char *name,
                                               const float *values, size_t count);
/** As filtra_parameters_get, for the gradient of the last execution: of a trainer's step with
 * `accumulate`, that of the batch's last part. */
FILTRA_API filtra_status filtra_parameters_get_gradient(filtra_parameters *params, const char *name,
                                                        float *values, size_t count);
/** Replaces a gradient before filtra_optimizer_step, for example by the sum over several devices.
 */
FILTRA_API filtra_status filtra_parameters_set_gradient(filtra_parameters *params, const char *name,
                                                        const float *values, size_t count);

/** Writes all values by name to a safetensors file, atomically. Fails with NONFINITE, naming the
 * parameter, when a value is a NaN or an infinity; an older file then stays as it was. */
FILTRA_API filtra_status filtra_parameters_save(filtra_parameters *params, const char *path);
/** Reads values from a safetensors file of filtra_parameters_save or of another program. The file
 * must hold every parameter with its shape, as F32, F64, F16 or BF16, and nothing else. On failure,
 * with INPUT, no value has changed. */
FILTRA_API filtra_status filtra_parameters_load(filtra_parameters *params, const char *path);

/* ---- graphs ----------------------------------------------------------------------------- */

/** Memory for intermediate tensors. Graphs of one device that are never executed at the same time
 * can share an arena; the largest decides its size. */
FILTRA_API filtra_status filtra_arena_create(filtra_device *device, filtra_arena **out);
/** Sets *arena to NULL. Fails with ARGUMENT, and leaves the arena as it is, while a graph that uses
 * it has not been destroyed. */
FILTRA_API filtra_status filtra_arena_destroy(filtra_arena **arena);

typedef struct filtra_graph_options {
  filtra_arena *arena; /**< NULL: one of the graph's own */
  /** Executions that may be in flight at once, each with its own copy of inputs and outputs; at
   * most 4. 0: 3. */
  uint32_t slots;
  bool training;        /**< dropout is active */
  uint64_t reserved[8]; /**< 0 */
} filtra_graph_options;

FILTRA_API filtra_status filtra_graph_create(filtra_device *device,
                                             const filtra_graph_options *options,
                                             filtra_graph **out);
/** Waits for executions in flight, frees everything the graph owns; sets *graph to NULL. */
FILTRA_API void filtra_graph_destroy(filtra_graph **graph);

/** A tensor whose content the caller sets. An input that is not set again keeps its content. */
FILTRA_API filtra_tensor *filtra_graph_input(filtra_graph *g, const char *name, filtra_dtype dtype,
                                             int ndim, const int64_t *shape);
/** Has filtra_graph_backward compute the gradient of an input of floating-point numbers. Call it
 * before any op uses the input; afterwards it fails with ARGUMENT. */
FILTRA_API void filtra_graph_require_gradient(filtra_graph *g, filtra_tensor *t);

/** The parameter of that name. The first use declares it, with its shape and `options` (NULL:
 * initial values 0, no decay); later uses must give the same shape. */
FILTRA_API filtra_tensor *filtra_graph_parameter(filtra_graph *g, filtra_parameters *params,
                                                 const char *name, int ndim, const int64_t *shape,
                                                 const filtra_parameter_options *options);

/** The 16-bit copy of a parameter that was declared with one. Its gradient is the parameter's, in
 * F32. Fails for a parameter that is not declared. */
FILTRA_API filtra_tensor *filtra_graph_parameter_copy(filtra_graph *g, filtra_parameters *params,
                                                      const char *name);

/** Marks a tensor to be copied back after each execution, for filtra_graph_get. Returns it. */
FILTRA_API filtra_tensor *filtra_graph_output(filtra_graph *g, filtra_tensor *t);

/** Records the gradients of sum_i <upstream_i, outputs_i> with respect to every parameter and every
 * input that requires a gradient. upstream[i] has the output's shape; NULL: all ones; `upstream`
 * NULL: all ones for every output. Parameters that the outputs do not depend on get gradients of
 * zero. At most once per graph, before compiling. */
FILTRA_API filtra_status filtra_graph_backward(filtra_graph *g, size_t count,
                                               filtra_tensor *const *outputs,
                                               filtra_tensor *const *upstream);
/** After filtra_graph_backward: the gradient of a parameter, or of an input that requires one; NULL
 * if no output depends on it. Intermediate tensors do not keep their gradients. */
FILTRA_API filtra_tensor *filtra_graph_gradient(filtra_graph *g, filtra_tensor *t);

/** Plans memory, creates pipelines on several threads and records command buffers. Returns the
 * first error met while recording. Fails with DEVICE_MEMORY, saying how much is needed, and with
 * ARGUMENT when the parameters are not committed. After a failure that does not come from
 * recording, it can be called again. */
FILTRA_API filtra_status filtra_graph_compile(filtra_graph *g);

/** Sets an input for the next execution; `data` has the input's shape and type, densely packed. */
FILTRA_API filtra_status filtra_graph_set(filtra_graph *g, filtra_tensor *input, const void *data);
/** Submits one execution and returns while the device works; *ticket (may be NULL) identifies it.
 * Waits only when all slots are in flight. */
FILTRA_API filtra_status filtra_graph_submit(filtra_graph *g, uint64_t *ticket);
/** Waits until that execution is done. */
FILTRA_API filtra_status filtra_graph_wait(filtra_graph *g, uint64_t ticket);
/** Whether that execution is done, without waiting. One that failed counts as done, on a lost
 * device too: filtra_graph_wait returns how it ended. */
FILTRA_API bool filtra_graph_done(const filtra_graph *g, uint64_t ticket);
/** Submit and wait. */
FILTRA_API filtra_status filtra_graph_execute(filtra_graph *g);
/** Copies an output of the execution last waited for, densely packed in the tensor's shape. */
FILTRA_API filtra_status filtra_graph_get(filtra_graph *g, filtra_tensor *output, void *data);

/** Sets the seed and step of the next execution, from which dropout masks follow. A graph begins
 * with seed 0 and step 0; each submitted execution increments the step. */
FILTRA_API void filtra_graph_set_step(filtra_graph *g, uint64_t seed, uint64_t step);

/** Bytes that intermediate tensors take in the arena; 0 before compiling. */
FILTRA_API uint64_t filtra_graph_activation_bytes(const filtra_graph *g);

/* ---- tensors ---------------------------------------------------------------------------- */

/** Writes the shape; returns the number of dimensions. */
FILTRA_API int filtra_tensor_shape(const filtra_tensor *t, int64_t shape[FILTRA_MAX_DIMS]);
FILTRA_API int64_t filtra_tensor_elements(const filtra_tensor *t);
FILTRA_API filtra_dtype filtra_tensor_dtype(const filtra_tensor *t);

/* Views: no data moves. All take and return tensors of the same graph. */

/** The same elements as a constant: no gradient flows through it. */
FILTRA_API filtra_tensor *filtra_detach(filtra_graph *g, filtra_tensor *t);
/** Same elements in another shape; t must be densely packed. */
FILTRA_API filtra_tensor *filtra_reshape(filtra_graph *g, filtra_tensor *t, int ndim,
                                         const int64_t *shape);
/** [B,N,C] -> [B,heads,N,C/heads]; channel c = head * (C/heads) + d. */
FILTRA_API filtra_tensor *filtra_split_heads(filtra_graph *g, filtra_tensor *t, int64_t heads);
/** The inverse of filtra_split_heads: [B,H,N,D] stored token by token -> [B,N,H*D]. */
FILTRA_API filtra_tensor *filtra_merge_heads(filtra_graph *g, filtra_tensor *t);
/** Cuts the last axis into `count` equal chunks; out[i] receives chunk i. When gradients are
 * wanted, a second cut of t fails with ARGUMENT; other ops may use t before it is cut, or after all
 * ops that use its chunks, else filtra_graph_backward fails. */
FILTRA_API void filtra_chunk(filtra_graph *g, filtra_tensor *t, int count, filtra_tensor **out);

#ifdef __cplusplus
}
#endif
#endif
