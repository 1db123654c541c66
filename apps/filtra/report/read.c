/* Reads a run folder for `filtra report`. Called by collect.c. */
#include "base/file.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/memory.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE_POINTS = 240 };

static double number_of(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : NAN;
}

filtra_status report_add_point(report_curve *c, double step, double value) {
  size_t capacity = c->capacity;
  FT_TRY(FT_GROW(c->step, c->count, capacity));
  FT_TRY(FT_GROW(c->value, c->count, c->capacity));
  c->step[c->count] = step;
  c->value[c->count++] = value;
  return FILTRA_OK;
}

static filtra_status add_point(report_curve *c, double step, double value) {
  return isnan(step) || isnan(value) ? FILTRA_OK : report_add_point(c, step, value);
}

/* ---- metrics.jsonl ---- */

typedef struct metrics {
  report_curve speed, time; /* tokens per second, milliseconds per step */
  report_curve selected;    /* the measure that selects the best model */
  char select_by[64];       /* its key in evaluations */
} metrics;

static const char *validation_key(report_score score) {
  return score == REPORT_ACCURACY     ? "validation_accuracy"
         : score == REPORT_PERPLEXITY ? "validation_perplexity"
                                      : "validation_mae";
}

static filtra_status add_line(report_run *run, metrics *m, const json_t *line) {
  double step = number_of(line, "step"), memory = number_of(line, "device_memory_bytes");
  double speed = number_of(line, "tokens_per_second"), time = number_of(line, "milliseconds");
  if (isnan(step)) return ft_fail(FILTRA_ERROR_INPUT, "\"step\" is missing");
  run->last_step = fmax(run->last_step, step);
  run->memory_bytes = fmax(run->memory_bytes, memory); /* fmax(NaN, x) is x */
  FT_TRY(add_point(&run->loss, step, number_of(line, "loss")));
  FT_TRY(add_point(&run->validation_loss, step, number_of(line, "validation_loss")));
  FT_TRY(add_point(&run->validation_score, step, number_of(line, validation_key(run->score))));
  FT_TRY(add_point(&m->selected, step, number_of(line, m->select_by)));
  if (speed > 0.0) FT_TRY(add_point(&m->speed, step, speed));
  return time > 0.0 ? add_point(&m->time, step, time) : FILTRA_OK;
}

/* Ignores a last line that is blank or that a power failure left incomplete. */
static filtra_status read_lines(report_run *run, metrics *m, ft_lines *lines) {
  bool more, broken = false;
  for (;;) {
    filtra_status status = ft_lines_next(lines, &more);
    if (!status && !more) return FILTRA_OK;
    if (status && status != FILTRA_ERROR_INPUT) return status;
    if (broken)
      return ft_fail(FILTRA_ERROR_INPUT, "%s:%llu: not a JSON object", lines->path,
                     (unsigned long long)lines->number - 1);
    json_t *line = NULL;
    if (!status) status = ft_json_parse(lines->line, lines->length, lines->path, &line);
    if (status == FILTRA_ERROR_HOST_MEMORY) return status;
    broken = !json_is_object(line);
    status = broken ? FILTRA_OK : add_line(run, m, line);
    json_decref(line);
    if (status)
      return ft_fail_context(status, "%s:%llu", lines->path, (unsigned long long)lines->number);
  }
}

static int compare_numbers(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median; sorts the values. */
static double median(report_curve *c) {
  if (c->count == 0) return NAN;
  qsort(c->value, c->count, sizeof *c->value, compare_numbers);
  return 0.5 * (c->value[c->count / 2] + c->value[(c->count - 1) / 2]);
}

static void free_curve(report_curve *c) {
  free(c->step);
  free(c->value);
}

/* The key of the measure that selects the best model: the configuration's; by default accuracy in
 * classification, else the loss. Returns whether less is better. */
static bool selection_key(const report_run *run, char key[64]) {
  const char *by = json_string_value(json_object_get(run->config, "select_by"));
  if (!by || !strcmp(by, "auto")) by = run->score == REPORT_ACCURACY ? "accuracy" : "loss";
  snprintf(key, 64, "validation_%s", by);
  return !strcmp(by, "loss") || !strcmp(by, "mae");
}

/* Finds the best model as training does; between equal ones the loss decides. */
static void find_best(report_run *run, const report_curve *selected, bool lower) {
  const double *by = selected->value, *loss = run->validation_loss.value;
  size_t best = 0, count = run->validation_loss.count;
  if (count == 0 || run->validation_score.count != count || selected->count != count) return;
  for (size_t i = 1; i < count; i++) {
    bool better = lower ? by[i] < by[best] : by[i] > by[best];
    if (by[i] == by[best] ? loss[i] < loss[best] : better) best = i;
  }
  run->best = run->validation_score.value[best];
  run->best_step = run->validation_loss.step[best];
}

static filtra_status read_metrics(report_run *run) {
  ft_lines lines;
  metrics m = {0};
  const bool lower = selection_key(run, m.select_by);
  char *path = ft_path_join(run->path, FILTRA_RUN_METRICS);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_file_exists(path) ? ft_lines_open(path, &lines) : FILTRA_OK;
  if (!status && ft_file_exists(path)) {
    status = read_lines(run, &m, &lines);
    ft_lines_close(&lines);
  }
  run->tokens_per_second = median(&m.speed);
  run->milliseconds = median(&m.time);
  if (!status) find_best(run, &m.selected, lower);
  free_curve(&m.selected);
  free_curve(&m.speed);
  free_curve(&m.time);
  free(path);
  return status;
}

/* ---- the other files ---- */

/* Reads an object if the file exists; else *out is NULL. */
static filtra_status read_object(const char *path, json_t **out) {
  *out = NULL;
  if (!ft_file_exists(path)) return FILTRA_OK;
  FT_TRY(ft_json_load(path, out));
  if (json_is_object(*out)) return FILTRA_OK;
  json_decref(*out);
  *out = NULL;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: must be a JSON object", path);
}

static filtra_status read_about(report_run *run) {
  char *path = ft_path_join(run->path, FILTRA_RUN_ABOUT);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = read_object(path, &run->about);
  run->parameters = number_of(run->about, "parameters");
  run->device = ft_json_string(run->about, "device");
  run->driver = ft_json_string(run->about, "driver");
  run->filtra = ft_json_string(run->about, "filtra");
  run->fingerprint = ft_json_string(run->about, "data_fingerprint");
  free(path);
  return status;
}

static filtra_status read_test(report_run *run) {
  static const char *const KEYS[] = {"accuracy", "perplexity", "mae"};
  char *path = ft_format("%s/" FILTRA_RUN_EVALUATION, run->path, "test");
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = read_object(path, &run->evaluation);
  const json_t *result = run->evaluation;
  run->test = number_of(result, KEYS[run->score]);
  run->test_top5 = number_of(result, "top5_accuracy");
  run->accuracy_low = number_of(result, "accuracy_low");
  run->accuracy_high = number_of(result, "accuracy_high");
  run->chance = number_of(result, "chance");
  run->majority = number_of(result, "majority");
  run->balanced_accuracy = number_of(result, "balanced_accuracy");
  run->macro_f1 = number_of(result, "macro_f1");
  run->auc = number_of(result, "auc");
  run->test_f1 = number_of(result, "f1");
  run->matthews = number_of(result, "matthews");
  run->r2 = number_of(result, "r2");
  run->pearson = number_of(result, "pearson");
  run->spearman = number_of(result, "spearman");
  free(path);
  return status;
}

/* Thins a curve out to CURVE_POINTS means over groups of steps: more points would be noise and take
 * space. A curve with fewer points stays as it is. */
static void thin_out(report_curve *c) {
  size_t points = c->count < CURVE_POINTS ? c->count : CURVE_POINTS;
  for (size_t k = 0; k < points; k++) {
    size_t first = k * c->count / points, end = (k + 1) * c->count / points;
    double step = 0.0, value = 0.0;
    for (size_t i = first; i < end; i++) {
      step += c->step[i] / (double)(end - first);
      value += c->value[i] / (double)(end - first);
    }
    c->step[k] = step; /* k <= first: the old value was already used */
    c->value[k] = value;
  }
  c->count = points;
}

static filtra_status read_config(report_run *run) {
  FT_TRY(filtra_run_open(run->path, &run->open));
  const filtra_run_info *info = filtra_run_get_info(run->open);
  FT_TRY(ft_json_parse(info->config, strlen(info->config), run->path, &run->config));
  const char *name = ft_path_name(info->data);
  run->data_path = info->data;
  run->data = *name ? name : info->data;
  run->mixer = info->mixer;
  run->batch_size = info->batch_size;
  run->seed = number_of(run->config, "seed");
  run->score = info->task == FILTRA_TASK_LANGUAGE_MODEL ? REPORT_PERPLEXITY
               : info->task == FILTRA_TASK_REGRESSION   ? REPORT_ERROR
                                                        : REPORT_ACCURACY;
  return FILTRA_OK;
}

filtra_status report_read(const char *path, report_run *run) {
  *run = (report_run){.folder = ft_strdup(path), .best = NAN, .best_step = NAN, .test = NAN};
  run->test_top5 = run->macro_f1 = run->spearman = NAN;
  run->memory_bytes = run->parameters = run->tokens_per_second = run->milliseconds = NAN;
  run->seed = run->seconds = NAN;
  run->commit = "";
  run->path = run->folder;
  if (!run->path) return FILTRA_ERROR_HOST_MEMORY;
  FT_TRY(read_config(run));
  FT_TRY(read_metrics(run));
  FT_TRY(read_about(run));
  FT_TRY(read_test(run));
  thin_out(&run->loss);
  thin_out(&run->validation_loss);
  thin_out(&run->validation_score);
  return FILTRA_OK;
}

void report_free(report_run *run) {
  filtra_run_close(&run->open);
  json_decref(run->config);
  json_decref(run->about);
  json_decref(run->evaluation);
  free(run->folder);
  free_curve(&run->loss);
  free_curve(&run->validation_loss);
  free_curve(&run->validation_score);
}
