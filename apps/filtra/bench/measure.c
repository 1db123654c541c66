/* Times runs by the device's or the host's clock, and derives rates from them. Called by all parts
 * of bench/. */
#include "bench.h"

#include "base/file.h"
#include "base/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- repeating ---- */

typedef filtra_status (*timed)(void *context, double *seconds);

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

enum { MOST_RUNS = 15, MOST_RUNS_QUICK = 5, LEAST_RUNS = 3 };

static bool in_a_hurry;

void bench_hurry(void) {
  in_a_hurry = true;
}

static filtra_status one_more(timed once, void *context, double *seconds) {
  if (command_interrupted()) return ft_fail(FILTRA_ERROR_CANCELLED, "interrupted");
  return once(context, seconds);
}

void bench_sort(double *seconds, size_t count, bench_timing *out) {
  qsort(seconds, count, sizeof *seconds, ascending);
  *out = (bench_timing){.best = seconds[0],
                        .median = seconds[count / 2],
                        .worst = seconds[count - 1],
                        .runs = (int)count};
}

/* Repeats runs for a median in limited time: long runs three times, very long ones once. `first` is
 * the first run's seconds. */
static filtra_status repeat(timed once, void *context, double first, bool quick,
                            bench_timing *out) {
  const double enough = quick ? 0.4 : 2.0, most = quick ? 1.0 : 20.0;
  const int most_runs = quick ? MOST_RUNS_QUICK : MOST_RUNS;
  double seconds[MOST_RUNS] = {first}, sum = first;
  int runs = 1;
  while (!in_a_hurry && runs < most_runs && sum < most && (runs < LEAST_RUNS || sum < enough)) {
    FT_TRY(one_more(once, context, &seconds[runs]));
    sum += seconds[runs++];
  }
  const bool device_clock = out->device_clock;
  bench_sort(seconds, (size_t)runs, out);
  out->device_clock = device_clock;
  return FILTRA_OK;
}

/* Warms up with an uncounted run, since the driver may compile during it. After bench_hurry, a long
 * first run is the only one. */
static filtra_status warm_up(timed once, void *context, double *seconds) {
  const double long_run = 3.0;
  FT_TRY(one_more(once, context, seconds));
  return in_a_hurry && *seconds > long_run ? FILTRA_OK : one_more(once, context, seconds);
}

/* ---- graphs ---- */

static filtra_status profile_once(void *context, double *seconds) {
  return ft_graph_seconds(context, seconds);
}

static filtra_status run_once(void *context, double *seconds) {
  double start = ft_seconds();
  FT_TRY(filtra_graph_execute(context));
  *seconds = ft_seconds() - start;
  return FILTRA_OK;
}

filtra_status bench_time_graph(filtra_graph *g, bool quick, bench_timing *out) {
  const double long_run = 0.1; /* then overhead is less than a thousandth */
  double seconds = 0.0;
  FT_TRY(warm_up(run_once, g, &seconds));
  out->device_clock = seconds < long_run && filtra_device_get_info(ft_graph_device(g))->timestamps;
  if (!out->device_clock) return repeat(run_once, g, seconds, quick, out);
  FT_TRY(one_more(profile_once, g, &seconds));
  return repeat(profile_once, g, seconds, quick, out);
}

/* ---- anything else ---- */

typedef struct action {
  filtra_status (*run)(void *context);
  void *context;
} action;

static filtra_status act_once(void *context, double *seconds) {
  const action *a = context;
  double start = ft_seconds();
  FT_TRY(a->run(a->context));
  *seconds = ft_seconds() - start;
  return FILTRA_OK;
}

filtra_status bench_time(filtra_status (*run)(void *context), void *context, bool quick,
                         bench_timing *out) {
  action a = {run, context};
  double seconds = 0.0;
  FT_TRY(warm_up(act_once, &a, &seconds));
  out->device_clock = false;
  return repeat(act_once, &a, seconds, quick, out);
}

/* ---- what is left out, which is no failure ---- */

filtra_status bench_skip(json_t *entry, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = ft_format_list(format, arguments);
  va_end(arguments);
  bool kept = text && !json_object_set_new(entry, "skipped", json_string(text));
  free(text);
  return kept ? FILTRA_OK : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

/* ---- rates ---- */

void bench_add_timing(json_t *entry, const bench_timing *t) {
  json_object_update_new(entry,
                         json_pack("{sf sf sf si ss}", "seconds_best", t->best, "seconds_median",
                                   t->median, "seconds_worst", t->worst, "runs", t->runs, "clock",
                                   t->device_clock ? "device" : "host"));
}

void bench_add_work(const bench *b, json_t *entry, ft_work work, const bench_timing *t) {
  json_object_update_new(entry, json_pack("{sf sf sf sf}", "flops", work.flops, "bytes", work.bytes,
                                          "gflops", 1e-9 * work.flops / t->median,
                                          "gbytes_per_second", 1e-9 * work.bytes / t->median));
  if (work.matrix_flops > 0.0)
    json_object_set_new(entry, "matrix_flops", json_real(work.matrix_flops));
  bench_add_timing(entry, t);
  bench_set_fraction(b, entry);
}

static double number(const json_t *entry, const char *key) {
  return json_number_value(json_object_get(entry, key));
}

/* Peak of matrix units in an entry's precision; 0: not measured. */
static double matrix_peak(const bench *b, const json_t *entry) {
  const char *precision = json_string_value(json_object_get(entry, "precision"));
  for (int p = 0; precision && p < BENCH_PRECISIONS; p++)
    if (!strcmp(precision, filtra_precision_name(p))) return b->peak_matrix_flops[p];
  return 0.0;
}

/* The roof is the resource that needs the longest time for its amount at peak rate: no run can be
 * faster, however much overlaps. */
void bench_set_fraction(const bench *b, json_t *entry) {
  const double seconds = number(entry, "seconds_median");
  const double on_matrices = number(entry, "matrix_flops");
  const struct {
    const char *name;
    double amount, peak; /* per second */
  } roofs[] = {{"fma", number(entry, "flops") - on_matrices, b->peak_flops},
               {"matrix", on_matrices, matrix_peak(b, entry)},
               {"copy", number(entry, "bytes"), b->peak_bytes}};
  const char *roof = NULL;
  double least = 0.0;
  for (size_t i = 0; i < FT_COUNT(roofs); i++) {
    if (roofs[i].amount <= 0.0) continue;
    if (roofs[i].peak <= 0.0) return;
    if (roofs[i].amount <= least * roofs[i].peak) continue;
    least = roofs[i].amount / roofs[i].peak;
    roof = roofs[i].name;
  }
  if (!roof) return;
  json_object_set_new(entry, "fraction_of_peak", json_real(least / seconds));
  json_object_set_new(entry, "roof", json_string(roof));
}

double bench_exponent(const double *x, const double *y, size_t count) {
  double mean_x = 0.0, mean_y = 0.0, xx = 0.0, xy = 0.0;
  for (size_t i = 0; i < count; i++) {
    mean_x += log(x[i]) / (double)count;
    mean_y += log(y[i]) / (double)count;
  }
  for (size_t i = 0; i < count; i++) {
    xx += (log(x[i]) - mean_x) * (log(x[i]) - mean_x);
    xy += (log(x[i]) - mean_x) * (log(y[i]) - mean_y);
  }
  return xy / xx;
}
