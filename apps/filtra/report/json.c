/* Writes reports as JSON, and reads runs from such files, so that one report can combine runs of
 * several machines, or of deleted folders. Called by report.c and collect.c. */
#include "base/json.h"
#include "base/file.h"
#include "base/memory.h"
#include "common/fields.h"
#include "report.h"

#include <filtra/filtra.h>
#include <stdlib.h>
#include <string.h>

static const char FORMAT[] = "filtra-report-1";

enum { MOST_BYTES = 64 << 20, MOST_RUNS = 2000, MOST_POINTS = 10000 };

/* Fields of a run, for writing and reading. */
static const field RUN_FIELDS[] = {
    {"run", offsetof(report_run, path), FIELD_TEXT, true},
    {"data", offsetof(report_run, data_path), FIELD_TEXT, true},
    {"data_set", offsetof(report_run, data), FIELD_TEXT, true},
    {"mixer", offsetof(report_run, mixer), FIELD_TEXT, true},
    {"seed", offsetof(report_run, seed), FIELD_NUMBER, false},
    {"validation", offsetof(report_run, best), FIELD_NUMBER, false},
    {"test", offsetof(report_run, test), FIELD_NUMBER, false},
    {"test_top5", offsetof(report_run, test_top5), FIELD_NUMBER, false},
    {"test_accuracy_low", offsetof(report_run, accuracy_low), FIELD_NUMBER, false},
    {"test_accuracy_high", offsetof(report_run, accuracy_high), FIELD_NUMBER, false},
    {"test_chance", offsetof(report_run, chance), FIELD_NUMBER, false},
    {"test_majority", offsetof(report_run, majority), FIELD_NUMBER, false},
    {"test_balanced_accuracy", offsetof(report_run, balanced_accuracy), FIELD_NUMBER, false},
    {"test_macro_f1", offsetof(report_run, macro_f1), FIELD_NUMBER, false},
    {"test_auc", offsetof(report_run, auc), FIELD_NUMBER, false},
    {"test_f1", offsetof(report_run, test_f1), FIELD_NUMBER, false},
    {"test_matthews", offsetof(report_run, matthews), FIELD_NUMBER, false},
    {"test_r2", offsetof(report_run, r2), FIELD_NUMBER, false},
    {"test_pearson", offsetof(report_run, pearson), FIELD_NUMBER, false},
    {"test_spearman", offsetof(report_run, spearman), FIELD_NUMBER, false},
    {"best_step", offsetof(report_run, best_step), FIELD_AMOUNT, false},
    {"steps", offsetof(report_run, last_step), FIELD_AMOUNT, true},
    {"batch_size", offsetof(report_run, batch_size), FIELD_AMOUNT, true},
    {"parameters", offsetof(report_run, parameters), FIELD_AMOUNT, false},
    {"tokens_per_second", offsetof(report_run, tokens_per_second), FIELD_AMOUNT, false},
    {"milliseconds", offsetof(report_run, milliseconds), FIELD_AMOUNT, false},
    {"seconds", offsetof(report_run, seconds), FIELD_AMOUNT, false},
    {"device_memory_bytes", offsetof(report_run, memory_bytes), FIELD_AMOUNT, false},
    {"device", offsetof(report_run, device), FIELD_TEXT, false},
    {"driver", offsetof(report_run, driver), FIELD_TEXT, false},
    {"filtra", offsetof(report_run, filtra), FIELD_TEXT, false},
    {"commit", offsetof(report_run, commit), FIELD_TEXT, false},
    {"data_fingerprint", offsetof(report_run, fingerprint), FIELD_TEXT, false},
};

static const struct {
  const char *name;
  size_t offset;
} CURVES[] = {{"loss", offsetof(report_run, loss)},
              {"validation_loss", offsetof(report_run, validation_loss)},
              {"validation_score", offsetof(report_run, validation_score)}};

/* ---- writing: NULL when out of memory, which json_pack passes on ---- */

static json_t *numbers(const double *values, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    ft_json_append(&list, fields_number(values[i]));
  return list;
}

static json_t *curves_json(const report_run *r) {
  json_t *all = json_object();
  for (size_t i = 0; i < FT_COUNT(CURVES); i++) {
    const report_curve *c = (const report_curve *)((const char *)r + CURVES[i].offset);
    json_t *curve = json_pack("{so so}", "step", numbers(c->step, c->count), "value",
                              numbers(c->value, c->count));
    all = ft_json_join(all, json_pack("{so}", CURVES[i].name, curve));
  }
  return all;
}

static json_t *fields_json(const report_run *r) {
  json_t *all = json_object();
  for (size_t i = 0; i < FT_COUNT(RUN_FIELDS); i++) {
    const char *at = (const char *)r + RUN_FIELDS[i].offset;
    json_t *value = RUN_FIELDS[i].kind == FIELD_TEXT ? json_string(*(const char *const *)at)
                                                     : fields_number(*(const double *)at);
    all = ft_json_join(all, json_pack("{so}", RUN_FIELDS[i].name, value));
  }
  return all;
}

/* Index of a sweep's file in the list, added if new; -1: the run is not part of a sweep. */
static json_int_t find_sweep(json_t **sweeps, const json_t *sweep) {
  size_t i;
  json_t *other;
  if (!sweep) return -1;
  json_array_foreach(*sweeps, i, other) if (json_equal(other, sweep)) return (json_int_t)i;
  ft_json_append(sweeps, json_incref((json_t *)sweep));
  return (json_int_t)i;
}

static json_t *run_json(const report_view *v, const report_run *r, json_t **sweeps) {
  json_int_t sweep = find_sweep(sweeps, r->sweep);
  json_t *more = json_pack("{ss ss sO so so}", "method", v->summary->methods[r->method], "measure",
                           report_score_name(r->score), "config", r->config, "sweep",
                           sweep < 0 ? json_null() : json_integer(sweep), "curves", curves_json(r));
  return ft_json_join(fields_json(r), more);
}

static json_t *group_json(const report_summary *s, size_t g) {
  json_t *methods = json_array();
  for (size_t m = 0; m < s->method_count; m++) {
    const report_mean *mean = report_mean_of(s, g, m);
    ft_json_append(&methods,
                   json_pack("{ss sI so so so so so so}", "method", s->methods[m], "runs",
                             (json_int_t)mean->runs, "mean", fields_number(mean->mean), "deviation",
                             fields_number(mean->deviation), "rank", fields_number(mean->rank),
                             "validation", fields_number(mean->validation), "milliseconds",
                             fields_number(mean->milliseconds), "seconds",
                             fields_number(mean->seconds)));
  }
  return json_pack("{ss ss ss so}", "data", s->groups[g].first->data, "measure",
                   report_score_name(s->groups[g].first->score), "split",
                   s->groups[g].test ? "test" : "val", "methods", methods);
}

static json_t *summary_json(const report_summary *s) {
  json_t *groups = json_array(), *ranks = json_array(), *tests = json_array();
  for (size_t g = 0; g < s->group_count; g++)
    ft_json_append(&groups, group_json(s, g));
  for (size_t m = 0; m < s->method_count; m++)
    ft_json_append(&ranks, json_pack("{ss so}", "method", s->methods[m], "mean_rank",
                                     fields_number(s->mean_ranks[m])));
  for (size_t i = 0; i < s->test_count; i++) {
    const report_test *t = &s->tests[i];
    ft_json_append(&tests,
                   json_pack("{ss ss sI sf sf so}", "a", s->methods[t->a], "b", s->methods[t->b],
                             "pairs", (json_int_t)t->result.pairs, "plus", t->result.plus, "minus",
                             t->result.minus, "p", fields_number(t->result.p)));
  }
  json_t *wilcoxon = json_pack("{ss ss so}", "measure", report_score_name(s->score), "pairs",
                               s->by_seed ? "seeds" : "data sets", "tests", tests);
  return json_pack("{so so sI so}", "data_sets", groups, "methods", ranks, "ranked_data_sets",
                   (json_int_t)s->ranked, "wilcoxon", wilcoxon);
}

json_t *report_json(const report_view *v) {
  json_t *runs = json_array(), *sweeps = json_array();
  for (size_t i = 0; i < v->set->count; i++)
    ft_json_append(&runs, run_json(v, &v->set->runs[i], &sweeps));
  return json_pack("{ss ss ss so so so}", "format", FORMAT, "filtra", filtra_version(), "commit",
                   filtra_commit, "sweeps", sweeps, "runs", runs, "summary",
                   summary_json(v->summary));
}

/* ---- reading ---- */

static filtra_status read_measure(const json_t *object, const char *where, report_run *r) {
  const char *name = ft_json_string(object, "measure");
  for (r->score = REPORT_ACCURACY; r->score <= REPORT_ERROR; r->score++)
    if (!strcmp(name, report_score_name(r->score))) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: \"measure\" must be one of accuracy, perplexity and mean absolute error",
                 where);
}

static filtra_status read_curve(const json_t *object, const char *where, report_curve *c) {
  const json_t *steps, *values;
  FT_TRY(fields_find(object, where, "step", JSON_ARRAY, true, &steps));
  FT_TRY(fields_find(object, where, "value", JSON_ARRAY, true, &values));
  size_t count = json_array_size(steps);
  if (json_array_size(values) != count || count > MOST_POINTS)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"step\" has %zu numbers and \"value\" %zu, accepted are equally many, at "
                   "most %d",
                   where, count, json_array_size(values), MOST_POINTS);
  for (size_t i = 0; i < count; i++) {
    const json_t *step = json_array_get(steps, i), *value = json_array_get(values, i);
    if (!json_is_number(step) || !json_is_number(value))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: %s[%zu] must be a number, not %s", where,
                     json_is_number(step) ? "value" : "step", i,
                     fields_type(json_is_number(step) ? value : step));
    FT_TRY(report_add_point(c, json_number_value(step), json_number_value(value)));
  }
  return FILTRA_OK;
}

static filtra_status read_curves(const json_t *object, const char *where, report_run *r) {
  const json_t *all, *curve;
  char within[640];
  FT_TRY(fields_find(object, where, "curves", JSON_OBJECT, true, &all));
  for (size_t i = 0; i < FT_COUNT(CURVES); i++) {
    snprintf(within, sizeof within, "%s: \"%s\"", where, CURVES[i].name);
    FT_TRY(fields_find(all, where, CURVES[i].name, JSON_OBJECT, true, &curve));
    FT_TRY(read_curve(curve, within, (report_curve *)((char *)r + CURVES[i].offset)));
  }
  return FILTRA_OK;
}

static filtra_status read_sweep(const json_t *object, const json_t *sweeps, const char *where,
                                report_run *r) {
  const json_t *index = json_object_get(object, "sweep");
  if (!index || json_is_null(index)) return FILTRA_OK;
  size_t count = json_array_size(sweeps);
  json_int_t i = json_is_integer(index) ? json_integer_value(index) : -1;
  if (i < 0 || (uint64_t)i >= count)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"sweep\" must be null or the index of one of the file's %zu \"sweeps\", "
                   "from 0",
                   where, count);
  r->sweep = json_array_get(sweeps, (size_t)i);
  return FILTRA_OK;
}

static filtra_status read_run(report_set *set, const json_t *object, const json_t *sweeps,
                              const char *where) {
  const json_t *config;
  if (!json_is_object(object))
    return ft_fail(FILTRA_ERROR_INPUT, "%s must be an object, not %s", where, fields_type(object));
  report_run *r = report_add(set);
  if (!r) return FILTRA_ERROR_HOST_MEMORY;
  FT_TRY(fields_read(object, RUN_FIELDS, FT_COUNT(RUN_FIELDS), where, r));
  FT_TRY(read_measure(object, where, r));
  FT_TRY(fields_find(object, where, "config", JSON_OBJECT, true, &config));
  r->config = json_incref((json_t *)config);
  FT_TRY(read_sweep(object, sweeps, where, r));
  return read_curves(object, where, r);
}

static filtra_status read_runs(report_set *set, const json_t *root, const char *path) {
  const json_t *runs, *sweeps;
  char where[512];
  FT_TRY(fields_find(root, path, "runs", JSON_ARRAY, true, &runs));
  FT_TRY(fields_find(root, path, "sweeps", JSON_ARRAY, true, &sweeps));
  for (size_t i = 0; i < json_array_size(sweeps); i++)
    if (!json_is_object(json_array_get(sweeps, i)))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: sweeps[%zu] must be an object, not %s", path, i,
                     fields_type(json_array_get(sweeps, i)));
  size_t count = json_array_size(runs);
  if (count < 1 || count > MOST_RUNS)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"runs\" has %zu entries, accepted are 1 to %d", path,
                   count, MOST_RUNS);
  for (size_t i = 0; i < count; i++) {
    snprintf(where, sizeof where, "%.400s: runs[%zu]", path, i);
    FT_TRY(read_run(set, json_array_get(runs, i), sweeps, where));
  }
  return FILTRA_OK;
}

static filtra_status check_format(const json_t *root, const char *path) {
  const char *format = ft_json_string(root, "format");
  if (!strcmp(format, FORMAT)) return FILTRA_OK;
  if (*format)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"format\" is \"%.40s\", accepted is \"%s\"", path,
                   format, FORMAT);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s is neither a run folder nor a file of 'filtra report --json': \"format\": "
                 "\"%s\" is missing",
                 path, FORMAT);
}

filtra_status report_read_json(report_set *set, const char *path) {
  char *text;
  size_t size;
  json_t *root = NULL;
  FT_TRY(ft_file_read(path, MOST_BYTES, &text, &size));
  filtra_status status = ft_json_parse(text, size, path, &root);
  free(text);
  FT_TRY(status);
  FT_TRY(report_keep(set, root));
  FT_TRY(check_format(root, path));
  return read_runs(set, root, path);
}
