/* What the parts of `filtra bench` share.
 *
 * Each part puts tasks on a plan; a task fills in an entry of the file. bench.c takes one after the
 * other, shows what came of it, and keeps an entry that failed with the reason in it.
 */
#ifndef FILTRA_BENCH_H
#define FILTRA_BENCH_H

#include "common/command.h"
#include "gpu/gpu.h"
#include "graph/graph.h"

#include <filtra/filtra.h>

enum { BENCH_LENGTHS = 16, BENCH_LONGEST = 1 << 20 };

typedef struct bench_arguments {
  filtra_device_options device;
  const char *ops, *mixers, *precisions, *out; /* lists; NULL: none of them */
  bool quick, json, ranks;
  /* of nothing but layers */
  const char *lengths;
  int64_t length[BENCH_LENGTHS]; /* [length_count] as numbers, growing; none: as layers.c says */
  size_t length_count;
  float most_seconds;   /* that a run may take; 0: any */
  uint64_t most_memory; /* MiB that it may take of the device's memory; 0: any */
} bench_arguments;

enum { BENCH_PRECISIONS = FILTRA_PRECISION_FP16 + 1 };

/** A run of the command. */
typedef struct bench {
  const bench_arguments *arguments;
  filtra_device *device;
  /* Per second; 0: not measured. */
  double peak_flops, peak_bytes;
  double peak_matrix_flops[BENCH_PRECISIONS]; /* of matrix units, by their operands' type */
  json_t *document, *peaks, *results, *losses;
} bench;

/** Where an entry belongs. */
typedef enum bench_part { BENCH_PEAK, BENCH_RESULT, BENCH_LOSSES } bench_part;

typedef struct bench_task {
  bench_part part;
  json_t *entry; /* what is known before: op, case, variant, pass, shape; owned */
  filtra_status (*run)(bench *b, const struct bench_task *task);
  const void *what; /* for run */
  int64_t number;   /* for run */
  double weight;    /* of the time that the whole takes */
  filtra_precision precision;
} bench_task;

typedef struct bench_plan {
  bench_task *tasks;
  size_t count, capacity;
  bool failed; /* out of memory */
} bench_plan;

/** Messages between ranks (ranks.c); the command's exit code. */
int bench_ranks(bool json);

/** Adds a task and takes its entry over. */
void bench_plan_add(bench_plan *plan, const bench_task *task);

/** Multiply-adds, those of matrix units, copies, an empty dispatch; `again`: all but the last once
 * more, since what disturbs a moment shall not decide (peaks.c). */
void bench_plan_peaks(const bench *b, bench_plan *plan, bool again);
/** Fails with UNSUPPORTED, saying why, where matrix units may not be used in that precision. */
filtra_status bench_need_matrices(const bench *b, filtra_precision precision);
/** Whether --precision lists it. */
bool bench_precise(const bench_arguments *a, filtra_precision precision);
/** Matrix products in each kernel variant and precision (gemm.c). */
void bench_plan_gemm(const bench *b, bench_plan *plan);
/** The other ops (ops.c). */
void bench_plan_ops(const bench_arguments *a, bench_plan *plan);
/** One layer of each mixer at growing lengths (layers.c). */
void bench_plan_layers(const bench *b, bench_plan *plan);
/** Reads --lengths; false: it is no growing list, said so. */
bool bench_read_lengths(const char *name, bench_arguments *a);
/** A train step with each mixer in each precision (steps.c). */
void bench_plan_steps(const bench_arguments *a, bench_plan *plan);
/** What the first steps of a training come to (losses.c). */
void bench_plan_losses(const bench_arguments *a, bench_plan *plan);

/** Whether there is an op of that name; all their names, for help (ops.c). */
bool bench_op_exists(const char *name);
void bench_print_ops(void);

/** Makes the file's frame around no results yet, and puts the entry of a finished task where it
 * belongs (document.c). */
filtra_status bench_document(bench *b);
void bench_keep(bench *b, const bench_task *task);
/** Puts a peak into the file unless a higher one is there. */
void bench_keep_peak(bench *b, const bench_task *task);

/* ---- measuring (measure.c) ---- */

typedef struct bench_timing {
  double best, median, worst; /* seconds */
  int runs;
  bool device_clock; /* else the host's */
} bench_timing;

/** From now on one run behind the warm-up has to do. */
void bench_hurry(void);

/** Time of all calls of a compiled graph, by the device's clock where it has one and a run is so
 * short that the host's would count its own part; else time of a run by the host's clock. The first
 * run warms up. */
filtra_status bench_time_graph(filtra_graph *g, bool quick, bench_timing *out);
/** The same by the host's clock for anything that can be repeated. */
filtra_status bench_time(filtra_status (*run)(void *context), void *context, bool quick,
                         bench_timing *out);
/** Adds seconds_best, seconds_median, seconds_worst, runs and clock. */
void bench_add_timing(json_t *entry, const bench_timing *t);
/** The same and flops, bytes, what they come to per second, and the fraction of what the peaks
 * would allow; all of the median. */
void bench_add_work(const bench *b, json_t *entry, ft_work work, const bench_timing *t);
/** Sets that fraction, and the roof that it is of, by the peaks as they are now, where the entry
 * has what it takes. */
void bench_set_fraction(const bench *b, json_t *entry);

/** Exponent of the power law through (x, y): least squares between the logarithms. */
double bench_exponent(const double *x, const double *y, size_t count);

/* ---- graphs of one op (graph.c) ---- */

enum { BENCH_OPERANDS = 8 };

/** A graph whose operands lie in buffers of their own, filled once: a run moves nothing between
 * host and device. Stays where it was opened. */
typedef struct bench_graph {
  filtra_device *device;
  filtra_graph *graph;
  bool backward; /* operands want gradients */
  ft_buffer operands[BENCH_OPERANDS];
  int count;
} bench_graph;

/** An operand with the content of `words`; NULL: zeros. */
filtra_tensor *bench_operand(bench_graph *g, const char *name, filtra_dtype dtype, int ndim,
                             const int64_t *shape, const void *words);
/** One of numbers between -0.5 and 0.5, the same ones each time, of a type of floats. */
filtra_tensor *bench_floats(bench_graph *g, const char *name, filtra_dtype dtype, int ndim,
                            const int64_t *shape);
/** The same in F32, plus `offset`. */
filtra_tensor *bench_numbers(bench_graph *g, const char *name, float offset, int ndim,
                             const int64_t *shape);
/** One of whole numbers from 0 to below `bound`. */
filtra_tensor *bench_integers(bench_graph *g, const char *name, int64_t bound, int ndim,
                              const int64_t *shape);
/** Frees graph and operands; safe where none was made. */
void bench_graph_close(bench_graph *g);
/** Times what `build` records, with its gradients if `backward`, and adds to the entry whatever a
 * result has. */
filtra_status bench_op(const bench *b, filtra_device *device, json_t *entry,
                       filtra_tensor *(*build)(bench_graph *g, const void *what), const void *what,
                       bool backward);

/* ---- for the reader (show.c) ---- */

/** A line on a terminal that says what is being measured; `done` of 1, begun `seconds` ago. */
void bench_show_progress(const bench_task *task, size_t index, size_t count, double done,
                         double seconds);
void bench_end_progress(void);
/** The row of a finished task, under its headline where that is a new one. */
void bench_show(const bench_task *task);

#endif
