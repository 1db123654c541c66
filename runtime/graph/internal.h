/* What the files of graph/ share about a graph. */
#ifndef FT_GRAPH_INTERNAL_H
#define FT_GRAPH_INTERNAL_H

#include "graph/graph.h"

enum { FT_MAX_SLOTS = 4 };

typedef struct ft_recorded_call {
  const char *label;
  ft_kernel_key key;
  ft_arg args[FT_MAX_ARGS];
  uint32_t arg_count;
  uint8_t push[FT_PUSH_BYTES]; /* addresses are filled in when recording */
  uint32_t push_size;
  uint32_t groups[3];
  double flops, bytes;
  bool cheap;
  ft_pipeline *pipeline;
  uint32_t place;   /* on the tape */
  uint32_t stretch; /* of calls that need nothing of one another, decided by the schedule */
  bool barrier;     /* wait for everything before, decided by the planner */
  bool again;       /* a copy of a forward call, in front of backward rules */
} ft_recorded_call;

typedef struct ft_op {
  const char *label;
  ft_backward_fn backward;
  void *context;
  filtra_tensor **outputs;
  int output_count;
  bool differentiable; /* an input requires a gradient */
} ft_op;

/** Another call that makes what a call of the tape writes to a storage. */
typedef struct ft_substitute {
  size_t call;
  const ft_storage *storage;
  ft_recorded_call how;
} ft_substitute;

/** Ops [op, op_end) with their calls, between ft_stretch_begin and ft_stretch_end. */
typedef struct ft_stretch {
  ft_recompute how;
  size_t op, op_end, call, call_end;
  size_t rules; /* the first call of their backward rules */
} ft_stretch;

/** A tensor that crosses between host and device each run. */
typedef struct ft_port {
  filtra_tensor *tensor;
  const void *constant; /* inputs: what graph_constant was given; NULL: the caller sets it */
  uint64_t bytes;       /* extent in its storage */
  uint64_t offset;      /* in the slot's staging or readback buffer */
  int latest_slot;      /* inputs: the slot that holds the newest data; -1: never set */
  bool fresh;           /* inputs: set for the next run */
} ft_port;

/** A readout with the last call that it or one before it waits for. */
typedef struct ft_planned_readout {
  ft_readout copy;
  uint32_t call;
  uint64_t ticket; /* of the newest run; 0: none was made */
} ft_planned_readout;

/** One run in flight: its own host-visible buffers and the small command buffers that copy. */
typedef struct ft_slot {
  ft_buffer staging, readback;
  ft_commands upload, download;
  uint64_t ticket; /* of the run that last used it; 0: none */
} ft_slot;

typedef struct ft_chunk ft_chunk;

struct filtra_graph {
  filtra_device *device;
  ft_chunk *memory;     /* everything below that lives as long as the graph */
  filtra_status status; /* sticky */
  char *error;          /* NULL when there was no memory for it */
  bool training, declaring, compiled, differentiated, in_backward;

  ft_recorded_call *calls;
  size_t call_count, call_capacity;
  ft_op *ops;
  size_t op_count, op_capacity;
  ft_storage **storages;
  size_t storage_count, storage_capacity;
  ft_port *inputs, *outputs;
  size_t input_count, input_capacity, output_count, output_capacity;
  filtra_tensor **parameters; /* by index in `params`; NULL where unused */
  size_t parameter_count;
  filtra_parameters *params;
  ft_stretch *stretches;
  size_t stretch_count, stretch_capacity;
  ft_substitute *substitutes;
  size_t substitute_count, substitute_capacity;
  ft_recompute recompute;
  filtra_tensor *random_state;
  uint32_t random_ids;
  uint64_t seed, step;
  int64_t part_sequences; /* 0: batches are whole */
  uint32_t part[3];       /* first sample, samples, samples of the batch besides */

  filtra_arena *arena;
  bool own_arena;
  uint64_t plan_bytes;
  ft_command_pool pool;
  struct ft_submissions *submissions; /* the calls as command buffers */
  ft_planned_readout *readouts;
  size_t readout_count;
  ft_slot slots[FT_MAX_SLOTS];
  uint32_t slot_count, next_slot;
  int done_slot; /* of the run last waited for; -1 */
};

struct filtra_arena {
  filtra_device *device;
  ft_buffer **blocks; /* each on its own: graphs keep pointers to them */
  size_t count, capacity;
};

/** Bytes of a tensor as `rows` windows of `window` bytes, `period` apart, from `low` to `high` in
 * its storage. Tensors of any other pattern are one window from low to high. */
typedef struct ft_span {
  uint64_t low, high, window, period, rows;
} ft_span;
ft_span ft_tensor_span(const filtra_tensor *t);

filtra_tensor *ft_tensor_struct(filtra_graph *g, const char *name, int ndim, const int64_t *shape,
                                ft_storage *storage);

/** Around the backward rule of op `i`, walking backwards: behind a stretch's last one, what its
 * rules read of it and was not kept is made again before them (graph/recompute.c). */
void ft_stretch_enter(filtra_graph *g, size_t i);
void ft_stretch_leave(filtra_graph *g, size_t i);

/** Gives every planned storage a place in the arena (graph/planner.c). */
filtra_status ft_plan_memory(filtra_graph *g, bool bind);
/** Whether the call opens a stretch in which the storage begins to live, or to live again: its
 * place in the arena holds what another one left. Inputs hold their data before the first call. */
bool ft_life_begins(const filtra_graph *g, size_t call, const ft_storage *s);
/** Sets `barrier` on the calls that need one (graph/barriers.c). */
filtra_status ft_plan_barriers(filtra_graph *g);

/** What calls touch: bytes [span.low, span.high) of a storage's buffer. */
typedef struct ft_access {
  const ft_storage *storage;
  ft_span span;
  bool write;
} ft_access;

typedef struct ft_accesses {
  ft_access *list;
  size_t count, capacity;
} ft_accesses;

/** Whether a call has to wait for one of those whose accesses are listed. */
bool ft_accesses_conflict(const ft_accesses *all, const ft_recorded_call *call);
filtra_status ft_accesses_add(ft_accesses *all, const ft_recorded_call *call);
/** Puts the calls in the order in which they run, and numbers their stretches
 * (graph/schedule.c). */
filtra_status ft_schedule(filtra_graph *g);

uint64_t ft_tensor_address(const filtra_tensor *t);
/** Records a call's pipeline, push constants and dispatch of the workgroups from `base` on. */
void ft_record_groups(filtra_graph *g, ft_commands commands, const ft_recorded_call *call,
                      const uint32_t base[3], const uint32_t groups[3]);
/** Cuts the calls into submissions and records them (graph/submissions.c). */
filtra_status ft_prepare_submissions(filtra_graph *g);
void ft_destroy_submissions(filtra_graph *g);
/** Submits a run; slot->ticket is its end. A graph's first run may be waited for, to be measured.
 */
filtra_status ft_submit_run(filtra_graph *g, ft_slot *slot);
/** How many a run consists of. */
size_t ft_submission_count(const filtra_graph *g);

/** How calls are recorded; all zero: as for a step. */
typedef struct ft_recording {
  bool apart;               /* each with full barriers around it, so that it runs alone */
  ft_timestamps timestamps; /* 2 i and 2 i + 1 lie around part i */
  /** Record more before a call, and behind one that is complete; they and their own barriers are
   * brief. */
  void (*before)(filtra_graph *g, ft_commands commands, uint32_t call, void *context);
  void (*after)(filtra_graph *g, ft_commands commands, uint32_t call, void *context);
  void *context;
} ft_recording;
/** Runs the calls once more, recorded like this and cut as a step is, from the slot's inputs to its
 * outputs, and waits. */
filtra_status ft_replay(filtra_graph *g, const ft_slot *slot, const ft_recording *how,
                        uint64_t *ticket);
/** The same, adding each call's time to seconds[call]. Needs timestamps. */
filtra_status ft_replay_timed(filtra_graph *g, const ft_slot *slot, double *seconds,
                              uint64_t *ticket);

#endif
