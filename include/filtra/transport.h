/* How the processes of one training run reach each other. Filtra brings one transport, MPI (Open
 * MPI and MPICH), which is loaded where `mpirun` started the program; an application can bring its
 * own:
 *
 *   static int send_to(void *user, int to, const void *data, size_t bytes, double seconds) { ... }
 *   const filtra_transport transport = {.rank = 1, .size = 2, .send = send_to, ...};
 *   filtra_trainer_create(model, &(filtra_train_options){.transport = &transport}, &trainer);
 *
 * Sums, their order and everything else that decides a bit are Filtra's own: a transport moves
 * bytes. One thread calls it at a time.
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
  FILTRA_TRANSPORT_LATE,  /**< not within the time that was given */
  FILTRA_TRANSPORT_BROKEN /**< the other side is gone, or the network failed */
};

/** Processes are numbered by rank, from 0 to size - 1. All pointers but `close` are needed where
 * size is more than 1. Zero-initialise it. */
typedef struct filtra_transport {
  int rank, size;
  int local_rank, local_size; /**< among those of this machine */
  const char *name;           /**< for people: "Open MPI"; NULL: "transport" */
  void *user;                 /**< handed to each function */
  /** Sends `bytes` to a rank; returns when `data` may change. Between two ranks messages keep their
   * order. Fails with LATE after so many seconds. */
  int (*send)(void *user, int to, const void *data, size_t bytes, double seconds);
  /** Receives exactly `bytes` from a rank. */
  int (*receive)(void *user, int from, void *data, size_t bytes, double seconds);
  /** Returns when all ranks have called it. */
  int (*barrier)(void *user, double seconds);
  /** Ends the processes of all ranks with this exit code; does not return. */
  void (*abort)(void *user, int code);
  /** Lets go of the transport; all ranks call it. */
  void (*close)(void *user);
  uint64_t reserved[8]; /**< 0 */
} filtra_transport;

/** The MPI transport of whoever started this process. Where none did, *out has size 1 and the call
 * succeeds without any MPI. Fails with UNSUPPORTED, saying what is missing, where mpirun is of an
 * MPI that this build of Filtra has no module for. Once per process; ends with
 * filtra_transport_close. */
FILTRA_API filtra_status filtra_transport_open(filtra_transport *out);
/** Calls its `close`; *transport becomes zero. */
FILTRA_API void filtra_transport_close(filtra_transport *transport);

#ifdef __cplusplus
}
#endif
#endif
