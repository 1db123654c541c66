/* Declarations shared by `filtra bench`.
 *
 * Each part adds tasks to a plan; a task fills in an entry of the file. bench.c runs the tasks,
 * prints their results, and keeps failed entries with the reason. */
#ifndef FILTRA_BENCH_H
#define FILTRA_BENCH_H

#include "base/file.h"
#include "common/command.h"
#include "gpu/gpu.h"
#include "graph/graph.h"

#include <filtra/filtra.h>

enum { BENCH_LENGTHS = 16, BENCH_LONGEST = 1 << 20, BENCH_THREADS = 64 };

typedef struct bench_arguments {
  filtra_device_options device;
  const char *ops, *mixers, *precisions, *out; /* lists; NULL: empty */
  bool quick, json, ranks;
  /* for layers only */
  const char *lengths;
  int64_t length[BENCH_LENGTHS]; /* [length_count], ascending; none: those of layers.c */
  size_t length_count;
  float most_seconds;   /* most seconds of a run; 0: any */
  uint64_t most_memory; /* most MiB of device memory; 0: any */
  /* for a run's model only */
  const char *run;
  uint64_t threads; /* that send requests; 0: 4 */
} bench_arguments;

enum { BENCH_PRECISIONS = FILTRA_PRECISION_FP16 + 1 };

/** The benchmark in progress. */
typedef struct bench {
  const bench_arguments *arguments;
  filtra_device *device;
  /* Per second; 0: not measured. */
  double peak_flops, peak_bytes;
  double peak_matrix_flops[BENCH_PRECISIONS]; /* of matrix units, by type of their operands */
  json_t *document, *peaks, *results, *losses;
  struct bench_served *served; /* with --run */
} bench;

/** The part of the file that an entry belongs to. */
typedef enum bench_part { BENCH_PEAK, BENCH_RESULT, BENCH_LOSSES } bench_part;

typedef struct bench_task {
  bench_part part;
  json_t *entry; /* the known fields: op, case, variant, pass, shape; owned */
  filtra_status (*run)(bench *b, const struct bench_task *task);
  const void *what; /* for run */
  int64_t number;   /* for run */
  double weight;    /* fraction of the total time */
  filtra_precision precision;
} bench_task;

typedef struct bench_plan {
  bench_task *tasks;
  size_t count, capacity;
  bool failed; /* out of memory */
} bench_plan;

/** Measures as --quick does in a list of precisions, and prints only progress; the caller frees
 * *document. *failed: the last failure of a case. */
filtra_status bench_quick(const filtra_device_options *device, const char *precisions,
                          json_t **document, filtra_status *failed);
/** Writes a document and commits the file, or aborts it. */
filtra_status bench_save(const json_t *document, ft_atomic_file *file);

/** Measures messages between ranks (ranks.c); returns the exit code. */
int bench_ranks(bool json);

/** Adds a task and takes ownership of its entry. */
void bench_plan_add(bench_plan *plan, const bench_task *task);

/** Adds tasks for peaks: multiply-adds, matrix units, copies, an empty dispatch. `again` repeats
 * all but the last, so that a momentary disturbance does not decide (peaks.c). */
void bench_plan_peaks(const bench *b, bench_plan *plan, bool again);
/** Fails with UNSUPPORTED, with the reason, if matrix units may not be used in that precision. */
filtra_status bench_need_matrices(const bench *b, filtra_precision precision);
/** Whether --precision includes the precision. */
bool bench_precise(const bench_arguments *a, filtra_precision precision);
/** Adds matrix products in each kernel variant and precision (gemm.c). */
void bench_plan_gemm(const bench *b, bench_plan *plan);
/** Adds the other ops (ops.c). */
void bench_plan_ops(const bench_arguments *a, bench_plan *plan);
/** Adds one layer of each mixer at increasing lengths (layers.c). */
void bench_plan_layers(const bench *b, bench_plan *plan);
/** Reads --lengths; prints an error and returns false unless it is an ascending list. */
bool bench_read_lengths(const char *name, bench_arguments *a);
/** Adds a train step and inference with each mixer in each precision (steps.c). */
void bench_plan_steps(const bench_arguments *a, bench_plan *plan);
/** Opens the model of --run and adds its requests, by length and threads, and tokens that it
 * generates (serving.c). */
filtra_status bench_plan_serving(bench *b, bench_plan *plan);
void bench_served_close(struct bench_served **served);
/** Adds the losses of a training's first steps (losses.c). */
void bench_plan_losses(const bench_arguments *a, bench_plan *plan);

/** Whether an op of that name exists; prints all names, for help (ops.c). */
bool bench_op_exists(const char *name);
void bench_print_ops(void);

/** Makes the file's object without results; bench_keep adds the entries of finished tasks
 * (document.c). */
filtra_status bench_document(bench *b);
void bench_keep(bench *b, const bench_task *task);
/** Stores a peak unless the file has a higher one. */
void bench_keep_peak(bench *b, const bench_task *task);

/* ---- measuring (measure.c) ---- */

typedef struct bench_timing {
  double best, median, worst; /* seconds */
  int runs;
  bool device_clock; /* measured by the device's clock; else by the host's */
} bench_timing;

/** From now on, one run after the warm-up is enough. */
void bench_hurry(void);

/** Times all calls of a compiled graph. Uses the device's clock if there is one, and if runs are so
 * short that the host's clock would include its own overhead; else the host's. The first run warms
 * up. */
filtra_status bench_time_graph(filtra_graph *g, bool quick, bench_timing *out);
/** As bench_time_graph, by the host's clock, for anything repeatable. */
filtra_status bench_time(filtra_status (*run)(void *context), void *context, bool quick,
                         bench_timing *out);
/** Sorts times of the host's clock and takes best, median and worst. */
void bench_sort(double *seconds, size_t count, bench_timing *out);
/** Adds seconds_best, seconds_median, seconds_worst, runs and clock. */
void bench_add_timing(json_t *entry, const bench_timing *t);
/** As bench_add_timing; also adds flops and bytes, in total and per second, and the fraction of the
 * peaks' limit, all by the median. */
void bench_add_work(const bench *b, json_t *entry, ft_work work, const bench_timing *t);
/** Sets an entry's fraction and roof by the current peaks, if it has the numbers. */
void bench_set_fraction(const bench *b, json_t *entry);
/** Keeps in an entry why it is left out, which is no failure. */
filtra_status bench_skip(json_t *entry, const char *format, ...) FT_PRINTF(2, 3);

/** Exponent of the power law through (x, y), by least squares of the logarithms. */
double bench_exponent(const double *x, const double *y, size_t count);

/* ---- graphs of one op (graph.c) ---- */

enum { BENCH_OPERANDS = 8 };

/** A graph whose operands have their own buffers, filled once: a run copies nothing between host
 * and device. Do not move the struct. */
typedef struct bench_graph {
  filtra_device *device;
  filtra_graph *graph;
  bool backward; /* operands need gradients */
  ft_buffer operands[BENCH_OPERANDS];
  int count;
} bench_graph;

/** An operand with content `words`; NULL: zeros. */
filtra_tensor *bench_operand(bench_graph *g, const char *name, filtra_dtype dtype, int ndim,
                             const int64_t *shape, const void *words);
/** An operand of a float type: fixed pseudo-random numbers from -0.5 to 0.5. */
filtra_tensor *bench_floats(bench_graph *g, const char *name, filtra_dtype dtype, int ndim,
                            const int64_t *shape);
/** As bench_floats, in F32, plus `offset`. */
filtra_tensor *bench_numbers(bench_graph *g, const char *name, float offset, int ndim,
                             const int64_t *shape);
/** An operand of whole numbers from 0 to bound - 1. */
filtra_tensor *bench_integers(bench_graph *g, const char *name, int64_t bound, int ndim,
                              const int64_t *shape);
/** Frees graph and operands; safe if there are none. */
void bench_graph_close(bench_graph *g);
/** Times what `build` records, with gradients if `backward`, and fills in the entry. */
filtra_status bench_op(const bench *b, filtra_device *device, json_t *entry,
                       filtra_tensor *(*build)(bench_graph *g, const void *what), const void *what,
                       bool backward);

/* ---- terminal output (show.c) ---- */

/** Shows the current task on a terminal; `done` is a fraction, `seconds` the time since its
 * start. */
void bench_show_progress(const bench_task *task, size_t index, size_t count, double done,
                         double seconds);
void bench_end_progress(void);
/** Prints a finished task's row, after a headline if it is a new one. */
void bench_show(const bench_task *task);
/** Says that peaks have risen since rows were printed; `least`: the lowest new fraction of a peak
 * over the printed one. */
void bench_show_higher_peaks(double least);

#endif
