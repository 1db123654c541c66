/* Learning curves of a report's page: one line for each method, the mean of its seeds with the band
 * between the lowest and the highest. Called by write.c. */
#include "report.h"

#include "base/file.h"
#include "base/memory.h"
#include "common/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One kind of curve of the runs that are comparable with the first. */
typedef struct kind {
  const report_view *view;
  const report_run *first;
  size_t offset; /* offset of the curve in report_run */
  double scale;
} kind;

/* A line of the chart: a method's runs. */
typedef struct line {
  char *name;
  double *mean, *low, *high; /* [count] */
  const report_curve *longest;
  size_t runs;
} line;

static const report_curve *curve_of(const kind *k, const report_run *r) {
  return (const report_curve *)((const char *)r + k->offset);
}

static bool belongs(const kind *k, const report_run *r, size_t method) {
  return r->method == method && report_comparable(k->first, r);
}

/* The part of a path after the folders that all runs of the report share. */
static const char *short_path(const report_set *set, const char *path) {
  size_t shared = 0;
  for (size_t at = 0; path[at]; at++) {
    for (size_t i = 0; i < set->count; i++)
      if (strncmp(path, set->runs[i].path, at + 1) != 0) return path + shared;
    if (ft_is_separator(path[at])) shared = at + 1;
  }
  return set->count > 1 ? path + shared : path;
}

static void free_line(line *l) {
  free(l->name);
  free(l->mean);
  free(l->low);
  free(l->high);
}

/* The mean over runs that have a value at the same step as point i of the longest curve. */
static void average(const kind *k, size_t method, line *l, size_t i) {
  const report_set *set = k->view->set;
  double sum = 0.0, count = 0.0;
  l->low[i] = INFINITY;
  l->high[i] = -INFINITY;
  for (size_t r = 0; r < set->count; r++) {
    const report_curve *c = curve_of(k, &set->runs[r]);
    if (!belongs(k, &set->runs[r], method) || i >= c->count || c->step[i] != l->longest->step[i])
      continue;
    const double value = k->scale * c->value[i];
    sum += value;
    count += 1.0;
    l->low[i] = fmin(l->low[i], value);
    l->high[i] = fmax(l->high[i], value);
  }
  l->mean[i] = sum / count;
}

static filtra_status make_line(const kind *k, size_t method, line *l) {
  const report_set *set = k->view->set;
  const report_run *only = NULL;
  for (size_t i = 0; i < set->count; i++) {
    const report_run *r = &set->runs[i];
    if (!belongs(k, r, method)) continue;
    if (!l->longest || curve_of(k, r)->count > l->longest->count) l->longest = curve_of(k, r);
    only = r;
    l->runs++;
  }
  if (!l->runs) return FILTRA_OK;
  const size_t count = l->longest->count;
  l->name = l->runs == 1 ? ft_strdup(short_path(set, only->path))
                         : ft_format("%s, %zu runs", k->view->summary->methods[method], l->runs);
  l->mean = ft_calloc(count + 1, sizeof *l->mean);
  l->low = ft_calloc(count + 1, sizeof *l->low);
  l->high = ft_calloc(count + 1, sizeof *l->high);
  if (!l->name || !l->mean || !l->low || !l->high) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++)
    average(k, method, l, i);
  return FILTRA_OK;
}

filtra_status report_write_curves(FILE *to, const report_view *view, const report_run *first,
                                  size_t offset, const char *title, const char *label,
                                  double scale) {
  const kind k = {view, first, offset, scale};
  const size_t methods = view->summary->method_count;
  chart_series *series = ft_calloc(methods + 1, sizeof *series);
  line *lines = ft_calloc(methods + 1, sizeof *lines);
  size_t used = 0, longest = 0;
  filtra_status status = series && lines ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (size_t m = 0; m < methods && !status; m++) {
    line *l = &lines[m];
    status = make_line(&k, m, l);
    if (status || !l->runs) continue;
    if (l->longest->count > longest) longest = l->longest->count;
    series[used++] = (chart_series){.name = l->name,
                                    .x = l->longest->step,
                                    .y = l->mean,
                                    .count = l->longest->count,
                                    .low = l->runs > 1 ? l->low : NULL,
                                    .high = l->runs > 1 ? l->high : NULL};
  }
  if (!status)
    chart_write(to, &(chart){.title = title,
                             .x_label = "step",
                             .y_label = label,
                             .points = longest <= 30,
                             .series = series,
                             .count = used});
  for (size_t m = 0; m < methods && lines; m++)
    free_line(&lines[m]);
  free(lines);
  free(series);
  return status;
}
