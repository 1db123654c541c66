/* Finds the runs of a report: run folders, folders of them, sweeps' folders, and earlier reports.
 * Called by report.c. */
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "common/record.h"
#include "report.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static filtra_status has(const char *folder, const char *name, bool *found) {
  char *path = ft_path_join(folder, name);
  *found = path && ft_file_exists(path);
  free(path);
  return path ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

report_run *report_add(report_set *set) {
  if (FT_GROW(set->runs, set->count, set->room)) return NULL;
  set->runs[set->count] = (report_run){0};
  return &set->runs[set->count++];
}

filtra_status report_keep(report_set *set, json_t *root) {
  if (!set->kept) set->kept = json_array();
  bool kept = set->kept && !json_array_append_new(set->kept, root);
  if (!set->kept) json_decref(root);
  return kept ? FILTRA_OK : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

static filtra_status add_run(report_set *set, const char *path) {
  report_run *run = report_add(set);
  return run ? report_read(path, run) : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status add_if_run(void *user, const char *path, const char *name) {
  bool is_run;
  (void)name;
  FT_TRY(has(path, FILTRA_RUN_CONFIG, &is_run));
  return is_run ? add_run(user, path) : FILTRA_OK;
}

/* ---- sweeps ---- */

/* Whether a cell's name begins with a data set's name, as `filtra sweep` writes it. */
static bool is_cell_of(const char *cell, const char *data) {
  for (; *data; data++, cell++) {
    bool plain = isalnum((unsigned char)*data) || strchr("._+-", *data);
    if (*cell != (plain ? *data : '_')) return false;
  }
  return *cell == '-';
}

/* Sets the run's sweep, and the sweep's name for its data: the longest one that the cell's name
 * begins with. */
static void name_data(const json_t *file, report_run *run) {
  const char *cell = ft_path_name(run->path), *name;
  const json_t *entry;
  size_t longest = 0;
  run->sweep = file;
  json_object_foreach(json_object_get(file, "datasets"), name,
                      entry) if (is_cell_of(cell, name) && strlen(name) > longest) {
    longest = strlen(name);
    run->data = name;
  }
}

/* The cells of one sweep. */
typedef struct cells {
  report_set *set;
  size_t first;        /* their runs are those of the set from here on */
  const json_t *names; /* of the cells that the sweep's last call was asked for; NULL: unknown */
} cells;

/* Takes the cells of a call; or adds the time that one spent on a cell, and keeps the commit of the
 * last line. */
static filtra_status take_line(void *user, json_t *line) {
  cells *c = user;
  const json_t *names = json_object_get(line, "cells");
  if (json_is_array(names)) {
    c->names = names;
    return report_keep(c->set, json_incref(line));
  }
  const char *cell = ft_json_string(line, "cell");
  double seconds = json_number_value(json_object_get(line, "seconds"));
  for (size_t i = c->first; i < c->set->count; i++) {
    report_run *run = &c->set->runs[i];
    if (strcmp(ft_path_name(run->path), cell) != 0) continue;
    run->seconds = isnan(run->seconds) ? seconds : run->seconds + seconds;
    run->commit = ft_json_string(line, "commit");
    return report_keep(c->set, json_incref(line));
  }
  return FILTRA_OK;
}

static filtra_status load_sweep(report_set *set, const char *path, json_t **file) {
  FT_TRY(ft_json_load(path, file));
  FT_TRY(report_keep(set, *file));
  if (json_is_object(*file)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: must be a JSON object", path);
}

const json_t *report_entry(const report_run *run) {
  return json_object_get(json_object_get(run->sweep, "datasets"), run->data);
}

/* Whether a cell was evaluated, which is the last that `filtra sweep` does with it. */
static filtra_status has_ended(const report_run *run, bool *ended) {
  const char *split = ft_json_string(report_entry(run), "evaluate");
  if (!*split) split = ft_json_string(run->sweep, "evaluate");
  char *name = ft_format(FILTRA_RUN_EVALUATION, *split ? split : "test");
  const filtra_status status =
      name ? has(run->path, name, ended) : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  free(name);
  return status;
}

/* Number of cells without a run among the set's; a name that is not text has none. */
static size_t count_missing(const report_set *set, size_t first, const json_t *names) {
  size_t missing = 0, i;
  const json_t *name;
  json_array_foreach(names, i, name) {
    bool found = false;
    for (size_t k = first; k < set->count && json_is_string(name) && !found; k++)
      found = !strcmp(ft_path_name(set->runs[k].path), json_string_value(name));
    missing += !found;
  }
  return missing;
}

/* Leaves out cells that have not ended: their scores are those of models half trained. */
static filtra_status leave_out_unfinished(const cells *c, const char *folder) {
  report_set *set = c->set;
  const size_t first = c->first, before = set->count;
  filtra_status status = FILTRA_OK;
  set->count = first;
  for (size_t i = first; i < before; i++) {
    bool ended = false;
    if (!status) status = has_ended(&set->runs[i], &ended);
    if (ended || status)
      set->runs[set->count++] = set->runs[i];
    else
      report_free(&set->runs[i]);
  }
  if (status) return status;
  if (set->count == first)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: none of its runs is finished", folder);
  size_t missing = count_missing(set, first, c->names);
  if (missing < before - set->count) missing = before - set->count; /* begun by an earlier call */
  if (missing)
    ft_log(FILTRA_LOG_WARNING, "%s: %zu of %zu runs are not finished and left out", folder, missing,
           set->count - first + missing);
  return FILTRA_OK;
}

/* Reads what a sweep's folder says about the runs from `first` on. */
static filtra_status read_sweep(report_set *set, const char *folder, size_t first) {
  json_t *file = NULL;
  cells c = {.set = set, .first = first};
  char *path = ft_path_join(folder, "sweep.json");
  filtra_status status = path ? load_sweep(set, path, &file) : FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = first; i < set->count && !status; i++)
    name_data(file, &set->runs[i]);
  if (!status) status = record_each(folder, take_line, &c);
  if (!status) status = leave_out_unfinished(&c, folder);
  free(path);
  return status;
}

/* ---- runs that should not stand side by side ---- */

/* Whether all settings are equal, except those of the list, which ends in NULL. */
static bool equal_except(const json_t *a, const json_t *b, const char *const *except) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)a, key, value) {
    const json_t *other = json_object_get(b, key);
    bool compared = true;
    for (size_t i = 0; except[i] && compared; i++)
      compared = strcmp(key, except[i]) != 0;
    if (!other || (compared && !json_equal(value, other))) return false;
  }
  return json_object_size(a) == json_object_size(b);
}

/* Whether all settings are equal, including seed and mixer; the data's path may differ. */
static bool same_settings(const json_t *a, const json_t *b) {
  static const char *const EXCEPT[] = {"data", NULL};
  return equal_except(a, b, EXCEPT);
}

/* Warns of a run that read the same data set in the same way as another, and found other samples:
 * once for each data set. */
static void warn_of_changed_data(const report_set *set) {
  static const char *const EXCEPT[] = {"data", "seed", "mixer", NULL};
  const report_run *said = NULL;
  for (size_t i = 0; i < set->count; i++)
    for (size_t k = 0; k < i; k++) {
      const report_run *a = &set->runs[k], *b = &set->runs[i];
      if (!*a->fingerprint || !*b->fingerprint || !strcmp(a->fingerprint, b->fingerprint) ||
          (said && report_comparable(said, b)) || !report_comparable(a, b) ||
          !equal_except(a->config, b->config, EXCEPT))
        continue;
      ft_log(FILTRA_LOG_WARNING, "%s and %s were trained on different samples: %s has changed",
             a->path, b->path, b->data_path);
      said = b;
    }
}

/* Whether two runs are the same: a folder and its entry in a report, or copies of either. Runs with
 * equal settings are different, for example on two devices, unless both are cells of sweeps, or
 * their median step times agree to the last digit. */
static bool is_same_run(const report_run *a, const report_run *b) {
  if (a->folder && b->folder && !strcmp(a->path, b->path)) return true;
  if (!report_comparable(a, b) || !same_settings(a->config, b->config)) return false;
  return (a->sweep && b->sweep) || a->milliseconds == b->milliseconds;
}

static filtra_status check_repeats(const report_set *set) {
  for (size_t i = 0; i < set->count; i++)
    for (size_t k = 0; k < i; k++) {
      const report_run *a = &set->runs[k], *b = &set->runs[i];
      if (is_same_run(a, b))
        return ft_fail(FILTRA_ERROR_INPUT,
                       "%s, which %s has, and %s, which %s has, are the same run; leave one out",
                       a->path, a->input, b->path, b->input);
    }
  return FILTRA_OK;
}

/* ---- paths ---- */

static filtra_status add_path(report_set *set, const char *path) {
  bool is_run, is_sweep;
  size_t first = set->count;
  FT_TRY(has(path, FILTRA_RUN_CONFIG, &is_run));
  if (!is_run && ft_file_exists(path) && !ft_is_directory(path)) return report_read_json(set, path);
  if (is_run || !ft_is_directory(path)) return add_run(set, path);
  FT_TRY(ft_each_entry(path, add_if_run, set));
  if (set->count == first) return add_run(set, path); /* fails with a message about this path */
  FT_TRY(has(path, "sweep.json", &is_sweep));
  return is_sweep ? read_sweep(set, path, first) : FILTRA_OK;
}

filtra_status report_collect(char *const *paths, size_t count, report_set *set) {
  *set = (report_set){0};
  for (size_t i = 0; i < count; i++) {
    paths[i][ft_path_length(paths[i])] = '\0';
    size_t first = set->count;
    FT_TRY(add_path(set, paths[i]));
    for (size_t k = first; k < set->count; k++)
      set->runs[k].input = paths[i];
  }
  FT_TRY(check_repeats(set));
  warn_of_changed_data(set);
  return FILTRA_OK;
}

void report_free_set(report_set *set) {
  for (size_t i = 0; i < set->count; i++)
    report_free(&set->runs[i]);
  free(set->runs);
  json_decref(set->kept);
}
