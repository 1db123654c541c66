/* The tape: everything that recording a graph stores. It is constant once compiling begins; the
 * plan (graph/plan.h) and the program (graph/program.h) are made from it and point into it. */
#ifndef FT_GRAPH_TAPE_H
#define FT_GRAPH_TAPE_H

#include "graph/graph.h"

/** One kernel call in the order of recording. */
typedef struct ft_recorded_call {
  const char *label;
  ft_kernel_key key;
  ft_arg args[FT_MAX_ARGS];
  uint32_t arg_count;
  uint8_t push[FT_PUSH_BYTES]; /* addresses are filled in when a program records the call */
  uint32_t push_size;
  uint32_t groups[3];
  double flops, bytes;
  bool cheap, is_sum; /* as the op says: see ft_kernel_call */
  ft_step step;
  bool recomputes; /* a copy of a forward call, before backward rules that read its results */
} ft_recorded_call;

/** One op, with its backward rule. */
typedef struct ft_op {
  const char *label;
  ft_backward_fn backward;
  void *context;
  filtra_tensor **outputs;
  int output_count;
  bool differentiable; /* an input requires a gradient */
} ft_op;

/** A cheaper call that recomputes what one call of the tape writes to one storage. */
typedef struct ft_substitute {
  size_t call; /* on the tape */
  const ft_storage *storage;
  ft_recorded_call how;
} ft_substitute;

/** Ops [op, op_end) and their calls, recomputed together (graph/recompute.c). */
typedef struct ft_segment {
  ft_recompute how;
  size_t op, op_end, call, call_end;
  size_t rules; /* the first call of their backward rules */
} ft_segment;

/** A tensor that each execution copies from the host (input) or to the host (output). */
typedef struct ft_transfer {
  filtra_tensor *tensor;
  const void *constant; /* an input's content, known while recording; NULL: the caller sets it */
} ft_transfer;

typedef enum ft_phase { FT_FORWARD, FT_BACKWARD, FT_DIFFERENTIATED } ft_phase;

struct ft_tape {
  ft_phase phase;
  ft_recorded_call *calls;
  size_t call_count, call_capacity;
  ft_op *ops;
  size_t op_count, op_capacity;
  ft_storage **storages; /* storages[i]->number is i */
  size_t storage_count, storage_capacity;
  ft_transfer *inputs, *outputs;
  size_t input_count, input_capacity, output_count, output_capacity;
  filtra_parameters *params;
  filtra_tensor **parameters; /* by index in `params`; NULL where unused */
  size_t parameter_count;
  size_t cleared;       /* parameters that were declared when the tape was differentiated */
  size_t forward_calls; /* calls there were then */
  ft_segment *segments;
  size_t segment_count, segment_capacity;
  ft_substitute *substitutes;
  size_t substitute_count, substitute_capacity;
  ft_readout *readouts;
  size_t readout_count;
  ft_recompute recompute;
  bool fuses;             /* elementwise calls, and sums; shares repeated calls */
  uint32_t uniform_lanes; /* of fused calls (ft_uniform_lanes) */
  bool keeps;             /* reads kept tensors (graph/keep.c) */
  filtra_tensor *random_state;
  uint32_t random_ids;
  int64_t part_sequences; /* sequences of this part of a batch; 0: batches are whole */
};

typedef struct ft_memory_chunk ft_memory_chunk;
/* A count of users that the graph is part of. */
typedef struct ft_hold ft_hold;
struct ft_hold {
  unsigned *users;
  ft_hold *next;
};
typedef struct ft_outside ft_outside;

/** A graph: recording fills `tape`, compiling adds plan and program. */
struct filtra_graph {
  filtra_device *device;
  filtra_arena *arena; /* the caller's; NULL: compiling makes one of its own */
  filtra_arena *own_arena;
  uint32_t slot_count;
  bool training;
  filtra_status status;    /* the first error while recording; sticky */
  char *error;             /* its message; NULL if memory ran out */
  ft_memory_chunk *memory; /* tensors, names, contexts: freed with the graph */
  ft_hold *holds;
  struct ft_tape tape;
  struct ft_plan *plan;       /* NULL until compiled */
  struct ft_program *program; /* NULL until compiled */
  ft_outside *outside;        /* tensors in buffers shared with an application */
  uint64_t seed, step;        /* of the next execution */
  uint32_t part[3]; /* of the next execution: first sample, samples, the batch's other samples */
};

/** Copies what a call says, without checking its limits. */
void ft_call_take(const ft_kernel_call *call, ft_recorded_call *to);

/** Fails with ARGUMENT for an input or parameter without name or shape. */
filtra_status ft_check_declaration(const char *what, const char *name, const int64_t *shape);

/** Drops calls of the forward pass that repeat earlier ones (graph/share.c); nothing if the pass is
 * not the last thing on the tape, or calls are not fused. Fails with HOST_MEMORY. */
filtra_status ft_tape_share(struct ft_tape *tape);

/** Frees the memory of ft_graph_alloc and the error message (graph/error.c). */
void ft_graph_free_memory(filtra_graph *g);

/** Bytes of a tensor as `rows` windows of `window` bytes, `period` apart, from `low` to `high` in
 * its storage. A tensor of any other pattern is one window from low to high. */
typedef struct ft_span {
  uint64_t low, high, window, period, rows;
} ft_span;
ft_span ft_tensor_span(const filtra_tensor *t);

/** A tensor over an existing storage, dense from its start. */
filtra_tensor *ft_tensor_struct(filtra_graph *g, const char *name, int ndim, const int64_t *shape,
                                ft_storage *storage);

/** Called before and after the backward rule of op `i`, from the last op to the first: notes where
 * a segment's rules begin, then inserts its recomputed calls there (graph/recompute.c). */
void ft_segment_enter(filtra_graph *g, size_t i);
void ft_segment_leave(filtra_graph *g, size_t i);

#endif
