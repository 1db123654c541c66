/* The transport over MPI, one module for each MPI: libfiltra loads the one whose mpirun started the
 * process, so that a process alone needs no MPI. MPI's blocking calls wait forever; this module
 * polls, so that a rank that hangs is noticed. */
#define _GNU_SOURCE
#include <filtra/transport.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/** The module's only export. Returns NULL, or an error message. */
__attribute__((visibility("default"))) const char *filtra_mpi_open(filtra_transport *out);

static double deadline = 300.0; /* seconds, of the last call */
static int own_rank;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Polls first without pauses, long enough for a message within a machine, then with growing pauses,
 * so that waiting takes no time from the device's host threads. */
static int finish(MPI_Request *request, double seconds) {
  double begin = now(), pause = 2e-6;
  deadline = seconds;
  for (int done = 0;;) {
    if (MPI_Test(request, &done, MPI_STATUS_IGNORE)) return FILTRA_TRANSPORT_BROKEN;
    if (done) return FILTRA_TRANSPORT_DONE;
    double waited = now() - begin;
    if (waited > seconds) return FILTRA_TRANSPORT_LATE;
    if (waited < 20e-6) continue;
    nanosleep(&(struct timespec){.tv_nsec = (long)(pause * 1e9)}, NULL);
    if (pause < 1e-3) pause *= 1.5;
  }
}

/* The analyzer looks for MPI_Wait, which knows no deadline; finish tests until it is done.
 * NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */
enum { TAG = 1, MOST_BYTES = INT_MAX / 2 };

/* MPI counts in int. */
static int send_to(void *user, int to, const void *data, size_t bytes, double seconds) {
  (void)user;
  for (size_t done = 0; done < bytes;) {
    size_t piece = bytes - done < MOST_BYTES ? bytes - done : MOST_BYTES;
    MPI_Request request;
    if (MPI_Isend((const char *)data + done, (int)piece, MPI_BYTE, to, TAG, MPI_COMM_WORLD,
                  &request))
      return FILTRA_TRANSPORT_BROKEN;
    int result = finish(&request, seconds);
    if (result) return result;
    done += piece;
  }
  return FILTRA_TRANSPORT_DONE;
}

static int receive(void *user, int from, void *data, size_t bytes, double seconds) {
  (void)user;
  for (size_t done = 0; done < bytes;) {
    size_t piece = bytes - done < MOST_BYTES ? bytes - done : MOST_BYTES;
    MPI_Request request;
    if (MPI_Irecv((char *)data + done, (int)piece, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &request))
      return FILTRA_TRANSPORT_BROKEN;
    int result = finish(&request, seconds);
    if (result) return result;
    done += piece;
  }
  return FILTRA_TRANSPORT_DONE;
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

static int barrier(void *user, double seconds) {
  (void)user;
  MPI_Request request;
  if (MPI_Ibarrier(MPI_COMM_WORLD, &request)) return FILTRA_TRANSPORT_BROKEN;
  return finish(&request, seconds);
}

static void end_all(void *user, int code) {
  (void)user;
  fflush(NULL);
  MPI_Abort(MPI_COMM_WORLD, code);
  abort();
}

static void *end_late(void *code) {
  double left = now() + deadline;
  while (now() < left)
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  fprintf(stderr, "rank %d waited %g seconds for the others to end; what it did is complete\n",
          own_rank, deadline);
  _exit(*(const int *)code);
}

/* MPI_Finalize waits for all ranks, forever if one hangs. */
static void finalize(void *user) {
  static const int hangs = 5; /* the exit code for this in docs/scaling.md */
  pthread_t thread;
  (void)user;
  fflush(NULL);
  if (!pthread_create(&thread, NULL, end_late, (void *)&hangs)) pthread_detach(thread);
  MPI_Finalize();
}

const char *filtra_mpi_open(filtra_transport *out) {
  int given, ready = 0;
  MPI_Comm machine;
  if (MPI_Initialized(&ready) || ready) return "MPI is in use by this process already";
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given)) return "MPI_Init_thread failed";
  if (given < MPI_THREAD_SERIALIZED) return "this MPI was built without threads";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &out->rank);
  own_rank = out->rank;
  MPI_Comm_size(MPI_COMM_WORLD, &out->size);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, out->rank, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &out->local_rank);
  MPI_Comm_size(machine, &out->local_size);
  MPI_Comm_free(&machine);
  out->name = FILTRA_MPI_NAME;
  out->send = send_to;
  out->receive = receive;
  out->barrier = barrier;
  out->abort = end_all;
  out->close = finalize;
  return NULL;
}
