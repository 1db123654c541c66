/* Messages between the processes (ranks) of one training run. Filtra has a transport over MPI (Open
 * MPI and MPICH), which it loads in programs that `mpirun` started; an application can provide its
 * own:
 *
 *   static int send_to(void *user, int to, const void *data, size_t bytes, double seconds) { ... }
 *   const filtra_transport transport = {.rank = 1, .size = 2, .send = send_to, ...};
 *   filtra_trainer_create(model, &(filtra_train_options){.transport = &transport}, &trainer);
 *
 * A transport only moves bytes: sums and their order, which decide the bits of results, are done by
 * Filtra. One thread calls it at a time.
 */
#ifndef FILTRA_TRANSPORT_H
#define FILTRA_TRANSPORT_H

#include <filtra/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What send, receive and barrier return. */
enum {
  FILTRA_TRANSPORT_DONE = 0,
  FILTRA_TRANSPORT_LATE,  /**< not done within the given time */
  FILTRA_TRANSPORT_BROKEN /**< the other process is gone, or the network failed */
};

/** Ranks count from 0 to size - 1. With more than one rank, all pointers except `close` are
 * required. Zero-initialise it. */
typedef struct filtra_transport {
  int rank, size;
  int local_rank, local_size; /**< among those of this machine */
  const char *name;           /**< for messages: "Open MPI"; NULL: "transport" */
  void *user;                 /**< passed to each function */
  /** Sends `bytes` to rank `to`; returns when `data` may be overwritten. Messages between two ranks
   * keep their order. Returns LATE after `seconds`. */
  int (*send)(void *user, int to, const void *data, size_t bytes, double seconds);
  /** Receives exactly `bytes` from rank `from`. Returns LATE after `seconds`. */
  int (*receive)(void *user, int from, void *data, size_t bytes, double seconds);
  /** Returns when all ranks have called it. */
  int (*barrier)(void *user, double seconds);
  /** Ends the processes of all ranks with this exit code; does not return. */
  void (*abort)(void *user, int code);
  /** Frees the transport; all ranks call it. */
  void (*close)(void *user);
  uint64_t reserved[8]; /**< 0 */
} filtra_transport;

/** Opens the transport of the MPI that started this process. In a process that no mpirun started,
 * *out has size 1, and no MPI is needed. Fails with UNSUPPORTED, saying what is missing, where this
 * build of Filtra has no module for that MPI. Once per process; close with
 * filtra_transport_close. */
FILTRA_API filtra_status filtra_transport_open(filtra_transport *out);
/** Calls its `close`; *transport becomes zero. */
FILTRA_API void filtra_transport_close(filtra_transport *transport);

#ifdef __cplusplus
}
#endif
#endif
