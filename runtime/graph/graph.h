/* Recording: how op files record kernel calls and backward rules on a graph's tape.
 *
 * An op file has three parts: a public function that checks shapes, creates outputs and records a
 * call for each kernel; a context struct; a backward rule that gets the context and records more
 * calls. Lives, memory and barriers follow from the calls' arguments.
 *
 *   filtra_tensor *y = ft_tensor_like(g, x, "scale");
 *   ft_record_call(g, &(ft_kernel_call){ .label = "scale", .kernel = "elementwise/scale",
 *     FT_ARGUMENTS(elementwise_scale, .x = FT_READ(x), .y = FT_WRITE(y), .count = n, .scale = 2),
 *     FT_CONSTANTS(elementwise_scale, .accumulate = false), FT_FLAT(g, n) });
 *   return ft_record_op(g, "scale", scale_backward, &call, sizeof call, 1, &x, 1, &y);
 *
 * shaders/elementwise/contract.h has the arguments and constants of that kernel by name, for both
 * languages; shaders/common/contract.h says how.
 */
#ifndef FT_GRAPH_GRAPH_H
#define FT_GRAPH_GRAPH_H

#include "base/element.h"
#include "base/memory.h"
#include "gpu/gpu.h"

#include <filtra/graph.h>

enum { FT_MAX_ARGS = 13 };

/** Where a storage's bytes are. */
typedef enum ft_home {
  FT_HOME_ARENA,    /* where the plan puts them */
  FT_HOME_BUFFER,   /* at a fixed place in a buffer that outlives the graph */
  FT_HOME_VALUES,   /* the F32 values of a parameter, */
  FT_HOME_COPIES,   /* its 16-bit copy, */
  FT_HOME_GRADIENTS /* or its gradient: at a place that the parameters' layout decides */
} ft_home;

/** The bytes that one tensor and its views share. */
typedef struct ft_storage {
  uint32_t number; /* index in the graph */
  filtra_dtype dtype;
  uint64_t bytes; /* a multiple of 4: kernels move 16-bit elements in pairs */
  ft_home home;
  const ft_buffer *buffer; /* FT_HOME_BUFFER: the buffer, */
  uint64_t offset;         /* and bytes into it */
  size_t parameter;        /* index of the parameter */
  bool pinned;             /* alive during the whole run: an output */
  bool shared;             /* FT_HOME_BUFFER: an application uses the buffer as well (outside.h) */
  bool recomputed;         /* freed after the forward pass, recomputed for backward rules */
  filtra_tensor *tensors;  /* that lie in it: the latest, which leads to the others */
} ft_storage;

struct filtra_tensor {
  filtra_graph *graph;
  const char *name; /* owned by the graph */
  int ndim;
  int64_t shape[FILTRA_MAX_DIMS];
  int64_t stride[FILTRA_MAX_DIMS]; /* in elements */
  int64_t offset;                  /* in elements, into the storage */
  ft_storage *storage;
  filtra_tensor *next; /* of the same storage */
  bool requires_grad;
  filtra_tensor *owner; /* the tensor with the gradient: this one, or of a view the viewed one */
  filtra_tensor *whole; /* owners only, of chunks: the tensor that was cut; else NULL */
  filtra_tensor *grad;  /* owners only: the gradient, once a rule has contributed to it */
  bool grad_partial;    /* of a tensor that was cut: only some chunks have contributed so far */
  bool grad_inner;      /* owners only: a part of its producer's rule has been applied to `grad` */
  bool input;
  bool read;                        /* owners only: an op has read it */
  bool made_by_caller;              /* owners only: a tensor of filtra_kernel_output, */
  bool unwritten;                   /* which no kernel has written yet */
  struct filtra_parameters *params; /* set for parameters */
  size_t param_index;
};

typedef enum ft_access_mode {
  FT_ACCESS_READ = 1,
  FT_ACCESS_WRITE = 2,
  FT_ACCESS_READ_BACK = 4 /* with WRITE: the call reads what it has written itself */
} ft_access_mode;

typedef struct ft_arg {
  const filtra_tensor *tensor; /* NULL passes address 0 */
  ft_access_mode mode;         /* READ | WRITE for accumulation */
} ft_arg;
#define FT_READ(t)                                                                                 \
  { (t), FT_ACCESS_READ }
#define FT_WRITE(t)                                                                                \
  { (t), FT_ACCESS_WRITE }
#define FT_UPDATE(t)                                                                               \
  { (t), (ft_access_mode)(FT_ACCESS_READ | FT_ACCESS_WRITE) }
/** Written, and then read by the same call. */
#define FT_WORK(t)                                                                                 \
  { (t), (ft_access_mode)(FT_ACCESS_WRITE | FT_ACCESS_READ_BACK) }
/** For gradient targets: also read when accumulating. */
#define FT_TARGET(t, accumulate)                                                                   \
  { (t), (accumulate) ? (ft_access_mode)(FT_ACCESS_READ | FT_ACCESS_WRITE) : FT_ACCESS_WRITE }

/** What an elementwise call or a copy computes, so that it can be fused with others
 * (graph/fusion.c): of its first argument and, if there are three, the second; both F32, and dense
 * except those of copies. The last argument receives the result, which is added to it if the call
 * reads it. Or a sum of the first argument, dense F32, along its last axis of 2 to FUSED_ROW
 * elements, in order. */
typedef struct ft_step {
  uint32_t operation;  /* STEP_... of shaders/fused/contract.h; 0: the call is no step */
  uint32_t activation; /* filtra_activation, of STEP_ACTIVATE and STEP_DERIVATIVE */
  uint32_t axis;       /* of STEP_SCALE: the result's axis that the argument lacks */
  float scale, offset; /* of STEP_AFFINE, STEP_SCALE and STEP_SUM_AFFINE */
} ft_step;

/** One dispatch. */
typedef struct ft_kernel_call {
  const char *label;       /* for the profiler: op and direction, "layer_norm.backward" */
  const char *kernel;      /* "folder/file" */
  const ft_module *module; /* an application's kernel; NULL: the build's of that name */
  /* FT_ARGUMENTS: `tensor_count` ft_arg, then the bytes of scalars. The kernel gets an address of 8
   * bytes for each tensor, then the scalars, together at most FT_PUSH_BYTES. */
  const void *given;
  uint32_t tensor_count, scalar_size;
  /* FT_CONSTANTS: words of specialization constants, from id 1 on; at most FT_MAX_SPEC. */
  const void *constants;
  uint32_t constant_count;
  /* Of random ops: ft_graph_sequence_elements, which their kernels take as the last constant. */
  uint32_t sequence_elements;
  uint32_t workgroup; /* local_size_x */
  uint32_t subgroup;  /* required subgroup size; 0: any */
  uint32_t groups[3]; /* 0 counts as 1 */
  bool cheap;         /* one pass over memory with little arithmetic: may be recomputed */
  bool is_sum;        /* of elementwise/sum_leading, which computes several (graph/sums.c) */
  ft_step step;
  double flops, bytes; /* for the profiler; 0: unknown */
} ft_kernel_call;

/* Members of a call whose invocations stride over a flat range of elements. */
#define FT_FLAT(g, count) .workgroup = FT_FLAT_WORKGROUP, .groups = {ft_flat_groups(g, count)}

/** Copies the call onto the tape. A grid beyond the device's group limits is a sticky error. */
void ft_record_call(filtra_graph *g, const ft_kernel_call *call);
/** A substitute for the last recorded call: a pass over memory that computes `t` from tensors that
 * the backward pass reads anyway. It runs only when `t` is recomputed. */
void ft_record_substitute(filtra_graph *g, const filtra_tensor *t, const ft_kernel_call *call);

/* ---- tensors ---- */

/** A dense tensor in the arena. NULL after an error. */
filtra_tensor *ft_tensor_new(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                             const int64_t *shape);
/** A tensor with the type and shape of `t`; token-major order is kept, other views become dense. */
filtra_tensor *ft_tensor_like(filtra_graph *g, const filtra_tensor *t, const char *name);
/** [B,H,N,D] stored [B,N,H,D]. */
filtra_tensor *ft_tensor_token_major(filtra_graph *g, const char *name, filtra_dtype dtype,
                                     const int64_t shape[4]);
/** A tensor at a fixed place in a buffer that outlives the graph. */
filtra_tensor *ft_tensor_external(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                                  const int64_t *shape, const ft_buffer *buffer, uint64_t offset);
/** Bytes of that many elements, rounded up to whole words. */
uint64_t ft_dtype_extent(filtra_dtype dtype, int64_t elements);
/** A tensor over a parameter's value, copy or gradient; `index` is that of the parameter in the
 * graph's set. The plan decides its place. */
filtra_tensor *ft_tensor_of_parameter(filtra_graph *g, const char *name, filtra_dtype dtype,
                                      int ndim, const int64_t *shape, ft_home home, size_t index);
/** A view of all of `t` with other dimensions. It has t's owner; its gradient is the same view of
 * t's. */
filtra_tensor *ft_tensor_view(filtra_graph *g, filtra_tensor *t, int ndim, const int64_t *shape,
                              const int64_t *stride);
/** As filtra_chunk, in two: the first columns of a dense t, and the others (graph/chunk.c). */
void ft_cut(filtra_graph *g, filtra_tensor *t, int64_t first, filtra_tensor *out[2]);
bool ft_dense(const filtra_tensor *t);
/** Whether a tensor's first element is aligned to `bytes`, at most 32. */
bool ft_begins_at(const filtra_tensor *t, size_t bytes);
/** Product of all dimensions except the last; the last dimension. */
int64_t ft_rows(const filtra_tensor *t);
int64_t ft_columns(const filtra_tensor *t);
bool ft_same_shape(const filtra_tensor *a, const filtra_tensor *b);
/** Zeroed memory that lives as long as the graph; NULL, with the sticky error set, when out of
 * memory. */
void *ft_graph_alloc(filtra_graph *g, size_t bytes);
/** Counts the graph, once, among the users of an object that has to outlive it. */
void ft_graph_hold(filtra_graph *g, unsigned *users);
/** Sets the sticky error, if there is none yet; returns NULL, for tail calls. */
void *ft_graph_fail(filtra_graph *g, filtra_status status, const char *format, ...) FT_PRINTF(3, 4);
/** Computes the bytes that compiling would allocate for activations, and for inputs and outputs of
 * all slots. Allocates and changes nothing; the parameters need not be committed. */
filtra_status ft_graph_measure(filtra_graph *g, uint64_t *activations, uint64_t *transfers);
/** Whether the graph has no error and `status` is OK; otherwise the current error message becomes
 * the graph's sticky error. */
bool ft_graph_accept(filtra_graph *g, filtra_status status);
/** Puts "context: " before the sticky error's message. */
void ft_graph_fail_context(filtra_graph *g, const char *format, ...) FT_PRINTF(2, 3);
/** The sticky status; if it is an error, sets its message. */
filtra_status ft_graph_status(const filtra_graph *g);
/** Whether an op can use t; if not, the graph has an error. Every op calls it first. */
bool ft_usable(filtra_graph *g, const filtra_tensor *t);
/** As ft_usable, and t must be dense F32; the error names op and argument. */
bool ft_usable_dense(filtra_graph *g, const filtra_tensor *t, const char *op, const char *argument);
/** As ft_usable, and t must be F32, or F16 or BF16 on a device whose kernels can compute with them;
 * dense or not. The error names op and argument. */
bool ft_usable_elements(filtra_graph *g, const filtra_tensor *t, const char *op,
                        const char *argument);
/** "[2, 7, 16]", valid until the eighth next call on this thread. */
const char *ft_shape_text(const filtra_tensor *t);
filtra_device *ft_graph_device(const filtra_graph *g);
/** Number of inputs recorded so far that a caller sets: no constants, no random state. */
size_t ft_graph_input_count(const filtra_graph *g);
bool ft_graph_training(const filtra_graph *g);
bool ft_graph_compiled(const filtra_graph *g);
/** A new number for each op that draws random numbers: a word of Philox' counter. */
uint32_t ft_graph_random_id(filtra_graph *g);
/** The input that random ops read, set before each execution: I32 [4], seed low, seed high, step
 * low, step high. In a graph for parts of batches [7], followed by the part's numbers, which
 * whole_element of shaders/common/philox.glsl reads. */
filtra_tensor *ft_graph_random_state(filtra_graph *g);
/** Makes this a graph for a part of a batch; call it before any op. Random ops then draw the same
 * numbers as for the whole batch. */
void ft_graph_take_part(filtra_graph *g, int64_t sequences);
/** The part of the next executions: samples first .. first + count - 1 of `all`. */
void ft_graph_set_part(filtra_graph *g, int64_t first, int64_t count, int64_t all);
/** Elements of t per sequence; 0 in a graph for whole batches. For random ops. */
uint32_t ft_graph_sequence_elements(const filtra_graph *g, const filtra_tensor *t);
/** A dense tensor with constant content, which is copied: for numbers that do not fit into a call's
 * scalars. */
filtra_tensor *ft_graph_constant(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                                 const int64_t *shape, const void *data);

/* ---- tensors that depend on a parameter alone (graph/keep.c) ---- */

/** Numbers that say how a kept tensor is computed. */
typedef struct ft_keep_numbers {
  int64_t number[10];
} ft_keep_numbers;
/** Records the calls that compute the kept tensor y from the parameter x, both dense. */
typedef void (*ft_keep_fn)(filtra_graph *g, filtra_tensor *x, filtra_tensor *y,
                           const ft_keep_numbers *numbers);
/** Whether the graph can keep what it computes from t alone: t begins at a parameter of a set that
 * is not trained and takes little of the device's memory. */
bool ft_graph_keeps(const filtra_graph *g, const filtra_tensor *t);
/** For such an x: an F32 tensor that the graphs of the set share. It is computed before the first
 * execution, and again after the parameter was set. NULL after an error. */
filtra_tensor *ft_graph_keep(filtra_graph *g, const filtra_tensor *x, ft_keep_fn record,
                             const ft_keep_numbers *numbers, int ndim, const int64_t *shape);

/* ---- differentiation ---- */

/** A backward rule: reads the outputs' gradients with ft_grad and contributes to the inputs'. Not
 * called when no output has a gradient. */
typedef void (*ft_backward_fn)(filtra_graph *g, const void *context);

/** Records an op, with a copy of the context for its rule; returns the first output, NULL after an
 * error. Outputs require a gradient if an input does. The rule runs only then, and if it is not
 * NULL. */
filtra_tensor *ft_record_op(filtra_graph *g, const char *label, ft_backward_fn backward,
                            const void *context, size_t context_size, int input_count,
                            filtra_tensor *const *inputs, int output_count,
                            filtra_tensor *const *outputs);

/** The complete gradient of t, in t's geometry; NULL if there is none. For the rule of the op that
 * made t. */
filtra_tensor *ft_grad(filtra_graph *g, const filtra_tensor *t);
/** The context of the op that made x, if `rule` is its rule and one call alone has read x, so that
 * the gradient of x comes from one rule; else NULL. That rule may apply a part of `rule` to the
 * gradient, and then sets x->grad_inner. */
const void *ft_sole_producer(const filtra_graph *g, const filtra_tensor *x, ft_backward_fn rule);
/** Where to write a contribution to t's gradient, in t's geometry; *accumulate: add it to the
 * present values. NULL if t needs no gradient. */
filtra_tensor *ft_grad_target(filtra_graph *g, filtra_tensor *t, bool *accumulate);
/** Contributes `from`, dense and of t's shape. If t has no gradient yet, `from` becomes it without
 * a copy: the rule must not read or write `from` afterwards. */
void ft_grad_give(filtra_graph *g, filtra_tensor *t, filtra_tensor *from);

/* ---- recomputation (graph/recompute.c) ---- */

/** The results of a segment that are not kept for its backward rules, but recomputed before these
 * run: by the same calls, which give the same bits, or by substitutes. */
typedef enum ft_recompute {
  FT_RECOMPUTE_NONE = 0,
  FT_RECOMPUTE_CHEAP,        /* results of calls that are cheap */
  FT_RECOMPUTE_FEED_FORWARD, /* those, and all results of feed-forward layers */
  FT_RECOMPUTE_BLOCKS        /* all results */
} ft_recompute;

/** What blocks recompute; NONE at first. */
void ft_graph_set_recompute(filtra_graph *g, ft_recompute how);
ft_recompute ft_graph_recompute(const filtra_graph *g);
/** Ops recorded between these two calls form a segment, unless `how` is NONE. Segments do not
 * overlap. Calls of a segment must not update tensors that were computed before it. */
void ft_segment_begin(filtra_graph *g, ft_recompute how);
void ft_segment_end(filtra_graph *g);

/* ---- readouts: results that the host receives before an execution ends ---- */

/** Bytes that each execution copies to host-visible memory. */
typedef struct ft_readout {
  const ft_buffer *from, *to;
  uint64_t from_offset, to_offset, bytes;
} ft_readout;
/** Sets the readouts; call it before compiling. Executions copy them in this order, each as soon as
 * its bytes and those of earlier readouts are final, and end a submission there; the host can wait
 * for its ticket. */
filtra_status ft_graph_read_out(filtra_graph *g, const ft_readout *list, size_t count);
/** The ticket of a readout of the newest execution; 0: none, because that execution was measured.
 */
uint64_t ft_graph_readout_ticket(const filtra_graph *g, size_t index);

/* ---- copies and fills, for differentiation and all ops (graph/copy.c) ---- */

/* local_size_x of kernels whose invocations stride over a flat range of elements. */
enum { FT_FLAT_WORKGROUP = 64 };
/** Workgroups for `count` elements, with several elements per invocation; at most FT_MOST_GROUPS.
 */
uint32_t ft_flat_groups(const filtra_graph *g, int64_t count);
/** Workgroups for `count` items, `per_group` each; at least 1, at most FT_MOST_GROUPS. */
uint32_t ft_groups_for(int64_t count, int64_t per_group);
/** Whether kernels that move whole words can process t: 16-bit elements must be packed, and begin
 * and end at word boundaries. Otherwise sets a sticky error. */
bool ft_in_words(filtra_graph *g, const filtra_tensor *t, const char *op);

enum { FT_AXES_A = 1, FT_AXES_B = 2 };
/** Axes along which a kernel walks two tensors a and b: arguments of shaders/common/axes.glsl. */
typedef struct ft_axes {
  uint32_t count; /* elements, or groups of four */
  uint32_t shape[FILTRA_MAX_DIMS - 1], factor[FILTRA_MAX_DIMS - 1], shift[FILTRA_MAX_DIMS - 1];
  uint32_t a_stride[FILTRA_MAX_DIMS], b_stride[FILTRA_MAX_DIMS];
  uint32_t axes;     /* AXES */
  bool whole;        /* counts and strides are of groups of four elements */
  unsigned repeated; /* whole: tensors of which a group is one element, with strides in elements */
} ft_axes;
/** Merges axes where possible. Counts groups of four if the tensors are aligned to them (`quads`)
 * and, in each, groups are contiguous, or a group is one repeated element in a `repeatable` one. */
ft_axes ft_axes_of(int ndim, const int64_t *shape, const int64_t *a_stride, const int64_t *b_stride,
                   bool quads, bool repeatable);
/** n / length = (n * factor / 2^32 + n) / 2^shift for n below 2^31; *shift is 0 at first. */
void ft_divide_by(uint32_t length, uint32_t *factor, uint32_t *shift);
/** Sets the ft_axes_SCALARS of a kernel's arguments. */
#define FT_SET_AXES(given, from)                                                                   \
  do {                                                                                             \
    (given).count = (from).count;                                                                  \
    memcpy((given).shape, (from).shape, sizeof(given).shape);                                      \
    memcpy((given).factor, (from).factor, sizeof(given).factor);                                   \
    memcpy((given).shift, (from).shift, sizeof(given).shift);                                      \
    memcpy((given).a_stride, (from).a_stride, sizeof(given).a_stride);                             \
    memcpy((given).b_stride, (from).b_stride, sizeof(given).b_stride);                             \
  } while (0)

/** y = x, or y += x. Both have one type and one number of elements; they are dense or of one shape.
 * 16-bit elements that do not fill contiguous words need a device with 16-bit storage. */
void ft_emit_copy(filtra_graph *g, filtra_tensor *x, filtra_tensor *y, bool accumulate);
void ft_emit_fill(filtra_graph *g, filtra_tensor *y, float value);

/* ---- tools (graph/checker.c, graph/inspect.c) ---- */

/** Proves, independently of the planner, that the compiled plan has no hazard: a barrier separates
 * conflicting accesses, live tensors share no bytes, and every read finds bytes of its own tensor.
 */
filtra_status ft_graph_check(const filtra_graph *g);

typedef struct ft_profile_entry {
  const char *label, *kernel;
  double seconds, flops, bytes;
} ft_profile_entry;
/** Executes once with the inputs last set, and timestamps before and after each call. Entries are
 * in the order of execution; caller frees *entries. Fails with UNSUPPORTED without timestamps. */
filtra_status ft_graph_profile(filtra_graph *g, ft_profile_entry **entries, size_t *count);
/** The sum of the calls' times. */
filtra_status ft_graph_seconds(filtra_graph *g, double *seconds);

/** Work of calls, as ops state it. */
typedef struct ft_work {
  double flops, matrix_flops; /* all, and those on matrix units */
  double bytes;
} ft_work;
/** The sum over all calls. */
ft_work ft_graph_work(const filtra_graph *g);

/** Repeats the execution with that ticket, with a check after every call. *name receives the name
 * of the first tensor with a NaN or an infinity and the parameter that was read last, such as
 * "activate, after layers.0.mixer.value.weight,"; NULL if there is none. */
filtra_status ft_graph_find_nonfinite(filtra_graph *g, uint64_t ticket, const char **name);

#endif
