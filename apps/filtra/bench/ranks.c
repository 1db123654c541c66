/* filtra bench --ranks: measures messages between the ranks of a job, and fits the latency and
 * bandwidth of docs/scaling.md's model of a step. Called by bench.c. */
#include "train/ranks.h"
#include "base/file.h"
#include "base/memory.h"
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZES = 7, SAMPLES = 9, DEADLINE = 60 };

static const size_t BYTES[SIZES] = {64, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22};
static const char NAME[] = "filtra bench";

/* Round-trip seconds of a message: medians over samples of the slowest rank's time. */
typedef struct measured {
  double seconds[SIZES];
  double latency, bandwidth; /* seconds = 2 (latency + bytes / bandwidth) */
} measured;

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sets *seconds to the slowest rank's; `all` has a number per rank. */
static filtra_status slowest(const ft_ranks *ranks, double *all, double *seconds) {
  all[ranks->transport->rank] = *seconds;
  FT_TRY(ft_ranks_gather(ranks, all, sizeof *all));
  for (int i = 0; i < ranks->transport->size; i++)
    *seconds = fmax(*seconds, all[i]);
  return FILTRA_OK;
}

/* Times a size. In each round of a gather a rank sends and receives one message; with an odd number
 * of ranks there is one more round than each rank has partners. */
static filtra_status time_size(const ft_ranks *ranks, size_t bytes, char *room, double *all,
                               double *seconds) {
  int size = ranks->transport->size, rounds = size % 2 ? size : size - 1;
  int times = bytes < 1 << 16 ? 200 : bytes < 1 << 20 ? 50 : 10;
  double samples[SAMPLES];
  for (int k = 0; k < SAMPLES; k++) {
    FT_TRY(ft_ranks_barrier(ranks));
    double began = ft_seconds();
    for (int i = 0; i < times; i++)
      FT_TRY(ft_ranks_gather(ranks, room, bytes));
    samples[k] = (ft_seconds() - began) / times / rounds;
    FT_TRY(slowest(ranks, all, &samples[k]));
  }
  qsort(samples, SAMPLES, sizeof *samples, ascending);
  *seconds = samples[SAMPLES / 2];
  return FILTRA_OK;
}

/* Fits by least squares of relative errors, since sizes differ by a factor of 65,536. */
static void fit(measured *m) {
  double w = 0.0, wx = 0.0, wxx = 0.0, wy = 0.0, wxy = 0.0;
  for (int i = 0; i < SIZES; i++) {
    double x = (double)BYTES[i], y = m->seconds[i] / 2.0, weight = 1.0 / (y * y);
    w += weight;
    wx += weight * x;
    wxx += weight * x * x;
    wy += weight * y;
    wxy += weight * x * y;
  }
  double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  m->latency = (wy - slope * wx) / w;
  m->bandwidth = 1.0 / slope;
}

static filtra_status measure(const ft_ranks *ranks, measured *m) {
  size_t size = (size_t)ranks->transport->size;
  char *room = ft_calloc(size, BYTES[SIZES - 1]);
  double *all = ft_calloc(size, sizeof *all);
  filtra_status status = room && all ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (int i = 0; i < SIZES && !status; i++)
    status = time_size(ranks, BYTES[i], room, all, &m->seconds[i]);
  if (!status) fit(m);
  free(room);
  free(all);
  return status;
}

static int print_json(const filtra_transport *t, const measured *m) {
  json_t *messages = json_array();
  for (int i = 0; i < SIZES; i++)
    json_array_append_new(messages, json_pack("{sI sf}", "bytes", (json_int_t)BYTES[i],
                                              "microseconds", 1e6 * m->seconds[i]));
  return command_print_json(NAME,
                            json_pack("{ss si so sf sf}", "transport", t->name, "ranks", t->size,
                                      "messages", messages, "latency_us", 1e6 * m->latency,
                                      "gigabytes_per_second", 1e-9 * m->bandwidth));
}

static int print_table(const filtra_transport *t, const measured *m) {
  command_print("%d ranks over %s: a message to another rank and one from it\n\n", t->size,
                t->name);
  command_print("     bytes  microseconds  fitted\n");
  for (int i = 0; i < SIZES; i++)
    command_print("%10zu  %12.1f  %6.1f\n", BYTES[i], 1e6 * m->seconds[i],
                  2e6 * (m->latency + (double)BYTES[i] / m->bandwidth));
  command_print("\nLatency %.1f us, bandwidth %.2f GB/s\n", 1e6 * m->latency, 1e-9 * m->bandwidth);
  return COMMAND_DONE;
}

int bench_ranks(bool json) {
  filtra_transport transport;
  measured m = {0};
  filtra_status status = filtra_transport_open(&transport);
  if (status) return command_fail(NAME, status);
  const ft_ranks ranks = {&transport, DEADLINE};
  int code = COMMAND_DONE;
  if (transport.size < 2)
    code = command_misused(NAME, "--ranks is for several ranks: mpirun -n 2 filtra bench --ranks");
  else if ((status = measure(&ranks, &m)))
    code = command_fail(NAME, status);
  else if (transport.rank == 0)
    code = json ? print_json(&transport, &m) : print_table(&transport, &m);
  if (code && transport.size > 1) transport.abort(transport.user, code);
  filtra_transport_close(&transport);
  return code;
}
