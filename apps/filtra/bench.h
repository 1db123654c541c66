/* What the parts of `filtra bench` share. Each part measures one kind of thing, prints its lines
 * unless --json is given, and adds an object to `results` for each. */
#ifndef FILTRA_BENCH_H
#define FILTRA_BENCH_H

#include "command.h"

#include <filtra/filtra.h>

typedef struct bench_arguments {
  filtra_device_options device;
  const char *ops, *mixers, *out; /* ops and mixers: NULL for none */
  bool quick, json;
} bench_arguments;

enum { BENCH_REPEATS = 7, BENCH_QUICK_REPEATS = 5 };

/** Matrix products in each kernel variant (bench_gemm.c). */
filtra_status bench_gemm(const bench_arguments *a, json_t *results);
/** One layer of each mixer at growing lengths, and a train step with it (bench_mixers.c). */
filtra_status bench_mixers(const bench_arguments *a, json_t *results);
/** Whether `list` is "all" or names mixers that there are; if not, *unknown is what does not. */
bool bench_mixers_known(const char *list, char unknown[64]);

/* ---- measuring (bench_measure.c) ---- */

typedef struct bench_timing {
  double best, median, worst; /* seconds */
  int runs;
} bench_timing;

/** Time of all calls of a compiled graph by the device's clock, or of a run by the host's where
 * a device has no timestamps. The first run warms up; fewer than `repeats` follow when they take
 * long. */
filtra_status bench_time_graph(filtra_graph *g, int repeats, bench_timing *out);
/** The same by the host's clock for anything else that can be repeated. */
filtra_status bench_time(filtra_status (*run)(void *context), void *context, int repeats,
                         bench_timing *out);
/** Adds seconds_best, seconds_median, seconds_worst and runs, behind `prefix`. */
void bench_timing_json(json_t *object, const char *prefix, const bench_timing *t);

/** Fills an input with numbers between -0.5 and 0.5, the same ones each time, plus `offset`. */
filtra_status bench_fill(filtra_graph *g, filtra_tensor *t, float offset);

/** Exponent of the power law through (x, y): least squares between the logarithms. */
double bench_exponent(const double *x, const double *y, size_t count);

#endif
