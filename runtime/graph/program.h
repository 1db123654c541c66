/* The program: a plan bound to memory and pipelines, recorded into command buffers that every run
 * submits again. Made whole or not at all. */
#ifndef FT_GRAPH_PROGRAM_H
#define FT_GRAPH_PROGRAM_H

#include "graph/plan.h"

enum { FT_MAX_SLOTS = 4 };

/** A transfer of the tape as a program makes it. */
typedef struct ft_port {
  const filtra_tensor *tensor;
  uint64_t bytes;  /* of its span */
  uint64_t offset; /* in the slot's staging or readback buffer */
  int latest_slot; /* inputs: the slot that holds the newest data; -1: never set */
  bool fresh;      /* inputs: set for the next run */
} ft_port;

/** What one run in flight needs for itself: host-visible buffers, and commands that copy. */
typedef struct ft_slot {
  ft_buffer staging, readback;
  ft_commands upload, download;
  uint64_t ticket; /* of the run that last used it; 0: none */
} ft_slot;

typedef struct ft_program {
  filtra_device *device;
  const ft_plan *plan;
  const ft_buffer **blocks; /* of the arena, by the plan's */
  ft_pipeline **pipelines;  /* by planned call */
  ft_command_pool pool;
  struct ft_submissions *submissions; /* NULL on a device that compiles only */
  uint64_t *readout_tickets;          /* of the newest run, by readout; 0: not made */
  ft_port *inputs, *outputs;          /* by the tape's */
  ft_slot slots[FT_MAX_SLOTS];
  uint32_t slot_count, next_slot;
  int done_slot; /* of the run last waited for; -1: none */
} ft_program;

/** Binds the plan, which must outlive the program, to blocks of the arena. On failure nothing is
 * left of it, in the arena neither. On a device that compiles only, it can run nothing. */
filtra_status ft_program_create(filtra_device *device, const ft_plan *plan, filtra_arena *arena,
                                uint32_t slot_count, ft_program **out);
/** Waits for runs in flight; sets *program to NULL. */
void ft_program_destroy(ft_program **program);
/** Bytes of staging and readback buffers that a program of this tape makes for each slot. */
uint64_t ft_program_transfers(const struct ft_tape *tape);

/* ---- addresses (graph/address.c) ---- */

/** The buffer or the block of the arena that the place is in. */
const ft_buffer *ft_program_buffer(const ft_program *p, const ft_place *place);
/** The device address of the tensor's first element. */
uint64_t ft_program_address(const ft_program *p, const filtra_tensor *t);

/* ---- submissions (graph/submissions.c) ---- */

/** Cuts the planned calls into submissions, and records these unless a first run is to measure
 * them. */
filtra_status ft_submissions_create(ft_program *p);
void ft_submissions_destroy(ft_program *p);
/** Number of submissions per run. */
size_t ft_submissions_count(const ft_program *p);
/** Submits a run, between an application's semaphores unless `run` is NULL; slot->ticket is its
 * end. Where a first run is measured, waits for it; on an application's device only such a run is
 * that the caller `waits` for, which has no `run`. */
filtra_status ft_submit_run(ft_program *p, ft_slot *slot, const struct filtra_vulkan_run *run,
                            bool waits);
/** As filtra_graph_submit, between those semaphores; NULL: none. */
filtra_status ft_graph_submit_between(filtra_graph *g, const struct filtra_vulkan_run *run,
                                      uint64_t *ticket);

/** How calls are recorded; all zero: as for a step. */
typedef struct ft_recording {
  bool apart;               /* full barriers around each call, so that it runs alone */
  ft_timestamps timestamps; /* 2 i and 2 i + 1 lie around piece i of the submissions */
  /** Record more before a call, and after a complete one, with barriers of their own. They are to
   * be brief. */
  void (*before)(ft_program *p, ft_commands commands, uint32_t call, void *context);
  void (*after)(ft_program *p, ft_commands commands, uint32_t call, void *context);
  void *context;
} ft_recording;
/** Runs the calls once more, recorded like this and cut as a step is, from the slot's inputs to its
 * outputs, and waits. */
filtra_status ft_replay(ft_program *p, const ft_slot *slot, const ft_recording *how,
                        uint64_t *ticket);
/** As ft_replay, adding each call's time to seconds[call]. Needs timestamps. */
filtra_status ft_replay_timed(ft_program *p, const ft_slot *slot, double *seconds,
                              uint64_t *ticket);

#endif
