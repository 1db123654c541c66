/* The plan: the order of a tape's calls, the barriers, and the place of each storage. Planning only
 * reads the tape and changes nothing on the device; the same tape gives the same plan. */
#ifndef FT_GRAPH_PLAN_H
#define FT_GRAPH_PLAN_H

#include "graph/tape.h"

/** Where a storage begins: an offset in a buffer or in a block of the arena. */
typedef struct ft_place {
  const ft_buffer *buffer; /* NULL: in the arena */
  uint32_t block;          /* of the arena; before memory is planned, the storage's number */
  uint64_t offset;         /* bytes */
} ft_place;

/** The intervals from a storage's first access to its last, both included. */
typedef struct ft_life {
  int32_t first, last; /* -1: none */
} ft_life;

typedef struct ft_planned_storage {
  ft_place place;
  ft_life life;   /* the only life; of a recomputed storage, the one before recomputation */
  ft_life second; /* of a recomputed storage, the one from recomputation on */
} ft_planned_storage;

typedef struct ft_planned_call {
  const ft_recorded_call *call; /* one of the plan's tasks */
  uint32_t position;            /* its index among them */
  uint32_t interval;            /* calls of one interval are independent of one another */
  bool barrier;                 /* wait for all calls before this one */
} ft_planned_call;

typedef struct ft_plan {
  const struct ft_tape *tape;
  const ft_recorded_call **tasks; /* calls of the tape, and those made of several of them */
  ft_recorded_call *fused, *sums; /* the tasks that are not on the tape */
  ft_planned_call *calls;         /* the tasks in order of execution */
  size_t call_count;
  ft_planned_storage *storages; /* tape->storage_count, by number */
  uint64_t *blocks;             /* bytes of each block that the arena must have */
  size_t block_count;
  uint64_t bytes;     /* of all blocks */
  uint32_t *readouts; /* by readout: the call after which its bytes are final */
} ft_plan;

/** Plans a recorded graph. A block has at most `block_limit` bytes. Fails with DEVICE_MEMORY when
 * one tensor needs more, with ARGUMENT when the parameters do not fit the tape. */
filtra_status ft_plan_make(const struct ft_tape *tape, uint64_t block_limit, ft_plan **out);
/** Sets *plan to NULL. */
void ft_plan_destroy(ft_plan **plan);

/** Where the tensor's storage lies. */
ft_place ft_place_of(const ft_plan *plan, const filtra_tensor *t);
/** The tensor's bytes, counted from the beginning of its buffer or block. */
ft_span ft_plan_span(const ft_plan *plan, const filtra_tensor *t);
bool ft_same_memory(const ft_place *a, const ft_place *b);

/** Whether planned call `index` opens an interval in which a life of the storage begins: its bytes
 * still hold data of other storages. False for inputs, which hold their data before the first call.
 */
bool ft_life_begins(const ft_plan *plan, size_t index, const ft_storage *s);

/** Proves the plan without the planner's own data, word by word (graph/checker.c). Fails with
 * ARGUMENT at the first hazard. */
filtra_status ft_plan_check(const ft_plan *plan);

/* ---- the steps of ft_plan_make, in this order ---- */

/** Sets the tasks: calls of the tape, some of them fused (graph/fusion.c). */
filtra_status ft_plan_fuse(ft_plan *plan);
/** Makes one task of several sums (graph/sums.c). */
filtra_status ft_plan_join_sums(ft_plan *plan);
/** Orders the calls and numbers their intervals (graph/schedule.c). */
filtra_status ft_plan_order(ft_plan *plan);
/** Gives each storage of the arena its lives, block and offset (graph/memory.c). */
filtra_status ft_plan_memory(ft_plan *plan, uint64_t block_limit);
/** Sets `barrier` on the calls that need one (graph/barriers.c). */
filtra_status ft_plan_barriers(ft_plan *plan);

/* ---- what calls access (graph/access.c) ---- */

typedef struct ft_access {
  ft_place place;
  ft_span span; /* from the beginning of the place's buffer or block */
  bool write;
} ft_access;

typedef struct ft_accesses {
  ft_access *list;
  size_t count, capacity;
} ft_accesses;

/** Whether the call must wait for a call whose accesses are listed. */
bool ft_accesses_conflict(const ft_plan *plan, const ft_accesses *all, const ft_recorded_call *c);
filtra_status ft_accesses_add(const ft_plan *plan, ft_accesses *all, const ft_recorded_call *c);

#endif
