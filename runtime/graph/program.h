/* The program: a plan bound to memory and pipelines, and recorded into command buffers that every
 * execution submits again. */
#ifndef FT_GRAPH_PROGRAM_H
#define FT_GRAPH_PROGRAM_H

#include "graph/plan.h"

enum { FT_MAX_SLOTS = 4 };

/** A transfer of the tape, with its place in a slot's buffers. */
typedef struct ft_port {
  const filtra_tensor *tensor;
  uint64_t bytes;  /* of the tensor's span */
  uint64_t offset; /* in the slot's staging or readback buffer */
  int latest_slot; /* inputs: the slot that holds the newest data; -1: never set */
  bool fresh;      /* inputs: set for the next execution */
} ft_port;

/** Resources of one execution in flight: host-visible buffers, and the commands that copy to and
 * from them. */
typedef struct ft_slot {
  ft_buffer staging, readback;
  ft_commands upload, download;
  uint64_t ticket; /* of the execution that last used it; 0: none */
} ft_slot;

typedef struct ft_program {
  filtra_device *device;
  const ft_plan *plan;
  const ft_buffer **blocks; /* of the arena, by the plan's number */
  ft_pipeline **pipelines;  /* by planned call */
  ft_command_pool pool;
  struct ft_submissions *submissions; /* NULL on a device that only compiles */
  uint64_t *readout_tickets;          /* of the newest execution, by readout; 0: none */
  ft_port *inputs, *outputs;          /* by index of the tape's */
  ft_slot slots[FT_MAX_SLOTS];
  uint32_t slot_count, next_slot;
  int done_slot; /* of the execution last waited for; -1: none */
} ft_program;

/** Binds the plan, which must outlive the program, to blocks of the arena. On failure everything is
 * undone, in the arena too. On a device that only compiles, the program cannot execute. */
filtra_status ft_program_create(filtra_device *device, const ft_plan *plan, filtra_arena *arena,
                                uint32_t slot_count, ft_program **out);
/** Waits for executions in flight; sets *program to NULL. */
void ft_program_destroy(ft_program **program);
/** Bytes of staging and readback buffers that a program of this tape allocates for each slot. */
uint64_t ft_program_transfers(const struct ft_tape *tape);

/* ---- addresses (graph/address.c) ---- */

/** The buffer, or block of the arena, that contains the place. */
const ft_buffer *ft_program_buffer(const ft_program *p, const ft_place *place);
/** The device address of the tensor's first element. */
uint64_t ft_program_address(const ft_program *p, const filtra_tensor *t);

/* ---- submissions (graph/submissions.c) ---- */

/** Cuts the planned calls into submissions, and records these unless the first execution will
 * measure the calls. */
filtra_status ft_submissions_create(ft_program *p);
void ft_submissions_destroy(ft_program *p);
/** Number of submissions per execution. */
size_t ft_submissions_count(const ft_program *p);
/** Submits an execution, between an application's semaphores unless `run` is NULL; slot->ticket is
 * its end. An execution that is measured is waited for; on an application's device only executions
 * that the caller `waits` for, which have no `run`, are measured. */
filtra_status ft_submit_run(ft_program *p, ft_slot *slot, const struct filtra_vulkan_run *run,
                            bool waits);
/** As filtra_graph_submit, between the semaphores of `run`; NULL: none. */
filtra_status ft_graph_submit_between(filtra_graph *g, const struct filtra_vulkan_run *run,
                                      uint64_t *ticket);

/** How to record calls; all zero: as for a normal execution. */
typedef struct ft_recording {
  bool apart;               /* full barriers around each call, so that it runs alone */
  ft_timestamps timestamps; /* 2 i before and 2 i + 1 after piece i of the submissions */
  /** Record further commands, with their own barriers, before a call and after a complete one.
   * These commands must be short. */
  void (*before)(ft_program *p, ft_commands commands, uint32_t call, void *context);
  void (*after)(ft_program *p, ft_commands commands, uint32_t call, void *context);
  void *context;
} ft_recording;
/** Executes the calls again, recorded by `how` and cut into the usual submissions, from the slot's
 * inputs to its outputs, and waits. */
filtra_status ft_replay(ft_program *p, const ft_slot *slot, const ft_recording *how,
                        uint64_t *ticket);
/** As ft_replay, adding each call's time to seconds[call]. Needs timestamps. */
filtra_status ft_replay_timed(ft_program *p, const ft_slot *slot, double *seconds,
                              uint64_t *ticket);

#endif
