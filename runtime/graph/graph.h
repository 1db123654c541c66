/* The tape: how op files record kernels and backward rules.
 *
 * An op file has three parts: a public function that checks shapes, makes outputs and calls
 * ft_call for each kernel; a context struct; a backward rule that is given the context and records
 * more calls. Liveness, memory, barriers and command recording follow from the calls' arguments.
 *
 *   filtra_tensor *y = ft_tensor_like(g, x, "scale");
 *   ft_call(g, &(ft_kernel_call){ .label = "scale", .kernel = "elementwise/scale",
 *     FT_ARGUMENTS(elementwise_scale, .x = FT_READ(x), .y = FT_WRITE(y), .count = n, .scale = 2),
 *     FT_CONSTANTS(elementwise_scale, .accumulate = false), FT_FLAT(g, n) });
 *   return ft_tape(g, "scale", scale_backward, &call, sizeof call, 1, &x, 1, &y);
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

/** Where bytes live: planned into an arena, or at a fixed place in a buffer. */
typedef struct ft_storage {
  uint32_t number;           /* among the graph's */
  filtra_dtype dtype;        /* of its elements */
  uint64_t bytes;            /* a multiple of 4: kernels move 16-bit elements in pairs */
  const ft_buffer *buffer;   /* NULL until planned (arena) */
  uint64_t offset;           /* bytes into buffer */
  bool planned;              /* an arena tensor; otherwise external */
  bool pinned;               /* alive during the whole run: inputs and outputs */
  int32_t first, last;       /* stretches that touch it; set by the planner; -1 none */
  bool remade;               /* dropped after `last`, and made again for backward rules: */
  int32_t again, again_last; /* in the stretch `again`; set by the planner */
} ft_storage;

struct filtra_tensor {
  filtra_graph *graph;
  const char *name; /* owned by the graph */
  int ndim;
  int64_t shape[FILTRA_MAX_DIMS];
  int64_t stride[FILTRA_MAX_DIMS]; /* in elements */
  int64_t offset;                  /* in elements, into the storage */
  ft_storage *storage;
  bool requires_grad;
  filtra_tensor *owner; /* whose gradient state this shares: itself, or what a whole view views */
  filtra_tensor *whole; /* a split piece's root; NULL otherwise. Set on owners only */
  filtra_tensor *grad;  /* owners only: the gradient, once something contributed */
  bool grad_partial;    /* roots of pieces: some pieces have contributed, not yet all */
  bool input;
  bool made_by_caller; /* owners only: filtra_graph_tensor made it, for kernels to write, */
  bool unwritten;      /* and none has yet */
  struct filtra_parameters *params; /* set for parameters */
  size_t param_index;
};

typedef enum ft_access_mode { FT_ACCESS_READ = 1, FT_ACCESS_WRITE = 2 } ft_access_mode;

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
/** For gradient targets: read as well when accumulating. */
#define FT_TARGET(t, accumulate)                                                                   \
  { (t), (accumulate) ? (ft_access_mode)(FT_ACCESS_READ | FT_ACCESS_WRITE) : FT_ACCESS_WRITE }

/** One dispatch. */
typedef struct ft_kernel_call {
  const char *label;       /* for the profiler: op and direction, "layer_norm.backward" */
  const char *kernel;      /* "folder/file" */
  const ft_module *module; /* an application's kernel; NULL: the build's of that name */
  /* FT_ARGUMENTS: `tensor_count` ft_arg, and after them bytes of scalars. The kernel gets an address
   * of 8 bytes for each tensor, then the scalars, together at most FT_PUSH_BYTES. */
  const void *given;
  uint32_t tensor_count, scalar_size;
  /* FT_CONSTANTS: so many words, specialization constants from 1 on; at most FT_MAX_SPEC. */
  const void *constants;
  uint32_t constant_count;
  /* Of random ops: ft_graph_sequence_elements, which their kernels take as the last constant. */
  uint32_t sequence_elements;
  uint32_t workgroup;  /* local_size_x */
  uint32_t subgroup;   /* required subgroup size; 0: any */
  uint32_t groups[3];  /* 0 counts as 1 */
  bool cheap;          /* one pass over memory with little arithmetic: may be recomputed */
  double flops, bytes; /* for the profiler; 0: unknown */
} ft_kernel_call;

/* Members of a call whose invocations stride over a flat range of elements. */
#define FT_FLAT(g, count) .workgroup = FT_FLAT_WORKGROUP, .groups = {ft_flat_groups(g, count)}

/** Copies the call onto the tape. A grid beyond the device's group limits is a sticky error. */
void ft_call(filtra_graph *g, const ft_kernel_call *call);
/** Of the call recorded last: what it writes to `t` can also be made by this one, a pass over
 * memory that reads what the backward pass reads anyway. Runs only where `t` is made again. */
void ft_call_substitute(filtra_graph *g, const filtra_tensor *t, const ft_kernel_call *call);

/* ---- tensors ---- */

/** A dense tensor in the arena. NULL after an error. */
filtra_tensor *ft_tensor_new(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                             const int64_t *shape);
/** As `t`: type, shape and strides (a view's piece becomes dense, token-major order is kept). */
filtra_tensor *ft_tensor_like(filtra_graph *g, const filtra_tensor *t, const char *name);
/** [B,H,N,D] stored [B,N,H,D]. */
filtra_tensor *ft_tensor_token_major(filtra_graph *g, const char *name, filtra_dtype dtype,
                                     const int64_t shape[4]);
/** A tensor at a fixed place in a buffer that outlives the graph. */
filtra_tensor *ft_tensor_external(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                                  const int64_t *shape, const ft_buffer *buffer, uint64_t offset);
/** Bytes that so many elements take, rounded up to whole words. */
uint64_t ft_dtype_extent(filtra_dtype dtype, int64_t elements);
/** A whole view of `t` with other dimensions: same owner, gradients are the same view of t's. */
filtra_tensor *ft_tensor_view(filtra_graph *g, filtra_tensor *t, int ndim, const int64_t *shape,
                              const int64_t *stride);
bool ft_dense(const filtra_tensor *t);
/** Whether a tensor's first element lies at a multiple of so many bytes, 256 at most. */
bool ft_begins_at(const filtra_tensor *t, size_t bytes);
/** Product of all dimensions but the last, and the last. */
int64_t ft_rows(const filtra_tensor *t);
int64_t ft_columns(const filtra_tensor *t);
/** Memory that lives as long as the graph, zeroed; NULL after setting the sticky error. */
void *ft_graph_alloc(filtra_graph *g, size_t bytes);
/** Marks an error that compile will report; returns NULL for tail calls. */
void *ft_graph_fail(filtra_graph *g, filtra_status status, const char *format, ...) FT_PRINTF(3, 4);
/** Bytes that compiling would take for activations, and for inputs and outputs of all slots; takes
 * none. The graph can only be destroyed after it. */
filtra_status ft_graph_measure(filtra_graph *g, uint64_t *activations, uint64_t *transfers);
/** Whether the graph is good and a check passed; if not, its message becomes the graph's error. */
bool ft_graph_accept(filtra_graph *g, filtra_status status);
/** The sticky status; sets the error message when there is one. */
filtra_status ft_graph_status(const filtra_graph *g);
/** Checks for op entry: false when g is in error or t is NULL (an error is then already set). */
bool ft_usable(filtra_graph *g, const filtra_tensor *t);
/** As ft_usable, and t must be dense F32: error naming op and argument otherwise. */
bool ft_usable_dense(filtra_graph *g, const filtra_tensor *t, const char *op, const char *argument);
/** As ft_usable, and t must be F32, or F16 or BF16 on a device whose kernels can compute with
 * these: error naming op and argument otherwise. Dense or not. */
bool ft_usable_elements(filtra_graph *g, const filtra_tensor *t, const char *op,
                        const char *argument);
/** "[2, 7, 16]" in a buffer that the next 7 calls on this thread leave alone. */
const char *ft_shape_text(const filtra_tensor *t);
filtra_device *ft_graph_device(const filtra_graph *g);
bool ft_graph_training(const filtra_graph *g);
bool ft_graph_compiled(const filtra_graph *g);
/** A fresh number for each op that draws random numbers (Philox counter word). */
uint32_t ft_graph_random_id(filtra_graph *g);
/** I32 [4]: seed low, seed high, step low, step high, uploaded before each run; what random ops
 * read. Of a graph for parts of batches [7]: what whole_element of shaders/common/philox.glsl reads
 * besides. */
filtra_tensor *ft_graph_random_state(filtra_graph *g);
/** Says, before any op, that this graph's sequences are a part of a batch's: random ops draw what
 * they draw for the whole batch. */
void ft_graph_take_part(filtra_graph *g, int64_t sequences);
/** Which samples the next runs have: `count` from `first` on, of `all`. */
void ft_graph_set_part(filtra_graph *g, int64_t first, int64_t count, int64_t all);
/** Elements of t that each sequence has; 0 where the graph has whole batches. For random ops. */
uint32_t ft_graph_sequence_elements(const filtra_graph *g, const filtra_tensor *t);
/** A dense tensor with the content of `data`, which is copied: a few numbers that do not fit among
 * a call's scalars. Uploaded before each run like an input. */
filtra_tensor *ft_graph_constant(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                                 const int64_t *shape, const void *data);

/* ---- differentiation ---- */

/** A backward rule: reads gradients of outputs with ft_grad, contributes to the inputs'. Not called
 * when no gradient reached any output. */
typedef void (*ft_backward_fn)(filtra_graph *g, const void *context);

/** Records an op on the tape, with a copy of what its rule is to know; returns the first output,
 * NULL after an error. Outputs require a gradient if any input does; when none does, or backward is
 * NULL, the rule never runs. */
filtra_tensor *ft_tape(filtra_graph *g, const char *label, ft_backward_fn backward,
                       const void *context, size_t context_size, int input_count,
                       filtra_tensor *const *inputs, int output_count,
                       filtra_tensor *const *outputs);

/** The finished gradient of t in t's geometry, NULL if none. For backward rules of t's producer. */
filtra_tensor *ft_grad(filtra_graph *g, const filtra_tensor *t);
/** Where to write a contribution to t's gradient, in t's geometry; *accumulate says whether to add
 * to what is there. NULL when t needs none. */
filtra_tensor *ft_grad_target(filtra_graph *g, filtra_tensor *t, bool *accumulate);
/** Contributes `from` as it stands. Takes it over without a copy when t has no gradient yet;
 * `from` must have no later reader or writer in the caller's rule. Dense, t's shape. */
void ft_grad_give(filtra_graph *g, filtra_tensor *t, filtra_tensor *from);

/* ---- recomputation (graph/recompute.c) ---- */

/** What is not kept from a stretch of the forward pass for its backward rules, but made again
 * before they run: by the same calls, so with the same bits, or by their substitutes. */
typedef enum ft_recompute {
  FT_RECOMPUTE_NONE = 0,
  FT_RECOMPUTE_CHEAP,        /* what kernels give that only pass over memory */
  FT_RECOMPUTE_FEED_FORWARD, /* of blocks: everything of feed-forward layers, else the same */
  FT_RECOMPUTE_BLOCKS        /* everything */
} ft_recompute;

/** What the graph's blocks are to do; NONE at first. */
void ft_graph_set_recompute(filtra_graph *g, ft_recompute how);
ft_recompute ft_graph_recompute(const filtra_graph *g);
/** Ops recorded between these two make a stretch. Stretches do not overlap; NONE makes none. Calls
 * in it must not add to what was there before it. */
void ft_stretch_begin(filtra_graph *g, ft_recompute how);
void ft_stretch_end(filtra_graph *g);

/* ---- what leaves a run before its end (graph/submissions.c) ---- */

/** Bytes that each run copies to memory that the host reads. */
typedef struct ft_readout {
  const ft_buffer *from, *to;
  uint64_t from_offset, to_offset, bytes;
} ft_readout;
/** Before compiling. A run makes these copies in this order, each as soon as its bytes and those
 * before it are final, and ends a submission behind it, so that there is a ticket to wait for. */
filtra_status ft_graph_read_out(filtra_graph *g, const ft_readout *list, size_t count);
/** Of the newest run. 0: it made no copies, as a first run that was measured. */
uint64_t ft_graph_readout_ticket(const filtra_graph *g, size_t index);

/* ---- kernels that differentiation needs and every op may use (graph/copy.c) ---- */

/* local_size_x of kernels whose invocations stride over a flat range of elements. */
enum { FT_FLAT_WORKGROUP = 64 };
/** Workgroups for `count` elements: several elements per invocation, and never more groups than
 * every Vulkan device takes in one dimension. */
uint32_t ft_flat_groups(const filtra_graph *g, int64_t count);
/** Workgroups that do `per_group` of `count` each, at least 1 and at most what fits a dimension. */
uint32_t ft_groups_for(int64_t count, int64_t per_group);
/** Whether kernels that move whole words can take t: 16-bit elements must lie side by side and
 * begin and end with a word. A sticky error otherwise. */
bool ft_in_words(filtra_graph *g, const filtra_tensor *t, const char *op);

/** The shape of up to four axes without the outermost one, and the strides of two tensors, as
 * kernels take them: counts `count` elements and the axes by groups of four, where such groups lie
 * side by side in both tensors; else changes nothing and returns false. Not `strided`: the axes are
 * not used. */
bool ft_axes_by_fours(uint32_t shape[FILTRA_MAX_DIMS - 1], uint32_t a_stride[FILTRA_MAX_DIMS],
                      uint32_t b_stride[FILTRA_MAX_DIMS], uint32_t *count, bool strided);

/** y = x, or y += x. One type and number of elements; dense, or both of one shape. 16-bit elements
 * that are not whole words side by side need a device whose kernels can take them one by one. */
void ft_emit_copy(filtra_graph *g, filtra_tensor *x, filtra_tensor *y, bool accumulate);
void ft_emit_fill(filtra_graph *g, filtra_tensor *y, float value);

/* ---- tools (graph/checker.c, graph/inspect.c) ---- */

/** Proves independently of the planner that the compiled plan has no hazard: conflicting accesses
 * are separated by a barrier, live tensors share no bytes, every read finds what its writer left.
 */
filtra_status ft_graph_check(filtra_graph *g);

typedef struct ft_profile_entry {
  const char *label, *kernel;
  double seconds, flops, bytes;
} ft_profile_entry;
/** Runs once with a timestamp pair around each call (in the order in which they
 * run, inputs as last set). *entries
 * is freed by the caller. UNSUPPORTED without timestamps. */
filtra_status ft_graph_profile(filtra_graph *g, ft_profile_entry **entries, size_t *count);
/** The sum of the calls' times. */
filtra_status ft_graph_seconds(filtra_graph *g, double *seconds);

/** What calls say that they take. */
typedef struct ft_work {
  double flops, matrix_flops; /* all; of these, those of kernels that work on matrix units */
  double bytes;
} ft_work;
/** The sum over all calls. */
ft_work ft_graph_work(const filtra_graph *g);

/** Re-runs the inputs of `ticket`'s slot with a check behind every call. Returns the name of the
 * first tensor that holds a NaN or an infinity in *name, NULL if none. */
filtra_status ft_graph_find_nonfinite(filtra_graph *g, uint64_t ticket, const char **name);

#endif
