/* Times by the device's clock or the host's, and what is made of them. */
#include "bench.h"

#include "base/file.h"
#include "base/memory.h"
#include "graph/graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* `repeats` runs, or those that begin within `enough` seconds. A first run that takes long counts:
 * what a warm-up changes is nothing beside that. */
static filtra_status repeat(filtra_status (*once)(void *context, double *seconds), void *context,
                            int repeats, bench_timing *out) {
  const double enough = 6.0, too_long_to_waste = 0.5;
  double seconds[BENCH_REPEATS], sum = 0.0;
  int runs = 0;
  FT_TRY(once(context, &seconds[0]));
  if (seconds[0] > too_long_to_waste) sum = seconds[runs++];
  while (runs == 0 || (runs < repeats && sum < enough)) {
    FT_TRY(once(context, &seconds[runs]));
    sum += seconds[runs++];
  }
  qsort(seconds, (size_t)runs, sizeof *seconds, ascending);
  *out = (bench_timing){seconds[0], seconds[runs / 2], seconds[runs - 1], runs};
  return FILTRA_OK;
}

/* ---- graphs ---- */

static filtra_status profile_once(void *context, double *seconds) {
  ft_profile_entry *entries;
  size_t count;
  FT_TRY(ft_graph_profile(context, &entries, &count));
  *seconds = 0.0;
  for (size_t i = 0; i < count; i++)
    *seconds += entries[i].seconds;
  free(entries);
  return FILTRA_OK;
}

static filtra_status run_once(void *context, double *seconds) {
  double start = ft_seconds();
  FT_TRY(filtra_graph_run(context));
  *seconds = ft_seconds() - start;
  return FILTRA_OK;
}

filtra_status bench_time_graph(filtra_graph *g, int repeats, bench_timing *out) {
  bool timestamps = filtra_device_get_info(ft_graph_device(g))->timestamps;
  return repeat(timestamps ? profile_once : run_once, g, repeats, out);
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

filtra_status bench_time(filtra_status (*run)(void *context), void *context, int repeats,
                         bench_timing *out) {
  return repeat(act_once, &(action){run, context}, repeats, out);
}

/* ---- the rest ---- */

void bench_timing_json(json_t *object, const char *prefix, const bench_timing *t) {
  const struct {
    const char *name;
    double value;
  } numbers[] = {{"best", t->best}, {"median", t->median}, {"worst", t->worst}};
  char key[64];
  for (size_t i = 0; i < FT_COUNT(numbers); i++) {
    snprintf(key, sizeof key, "%sseconds_%s", prefix, numbers[i].name);
    json_object_set_new(object, key, json_real(numbers[i].value));
  }
  snprintf(key, sizeof key, "%sruns", prefix);
  json_object_set_new(object, key, json_integer(t->runs));
}

filtra_status bench_fill(filtra_graph *g, filtra_tensor *t, float offset) {
  int64_t count = filtra_tensor_elements(t);
  float *values = ft_calloc((size_t)count, sizeof *values);
  if (!values) return FILTRA_ERROR_HOST_MEMORY;
  for (int64_t i = 0; i < count; i++)
    values[i] = offset + (float)((i * 2654435761u >> 8) & 1023) / 1024.0f - 0.5f;
  filtra_status status = filtra_graph_set(g, t, values);
  free(values);
  return status;
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
