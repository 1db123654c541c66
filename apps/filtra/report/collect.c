/* Finding the runs of a report: run folders, folders of them, and the folders of sweeps. */
#include "base/file.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/memory.h"
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

static filtra_status add_run(report_set *set, const char *path) {
  FT_TRY(FT_GROW(set->runs, set->count, set->room));
  return report_read(path, &set->runs[set->count++]);
}

static filtra_status add_if_run(void *user, const char *path, const char *name) {
  bool is_run;
  (void)name;
  FT_TRY(has(path, FILTRA_RUN_CONFIG, &is_run));
  return is_run ? add_run(user, path) : FILTRA_OK;
}

/* ---- sweeps ---- */

/* Whether a cell's name begins with a data set's, written as `filtra sweep` writes it there. */
static bool is_cell_of(const char *cell, const char *data) {
  for (; *data; data++, cell++) {
    bool plain = isalnum((unsigned char)*data) || strchr("._+-", *data);
    if (*cell != (plain ? *data : '_')) return false;
  }
  return *cell == '-';
}

/* The sweep's own name of a run's data: the longest that the cell's begins with. */
static void name_data(const json_t *sweep, report_run *run) {
  const char *slash = strrchr(run->path, '/'), *cell = slash ? slash + 1 : run->path, *name;
  const json_t *entry;
  size_t longest = 0;
  json_object_foreach(json_object_get(sweep, "datasets"), name,
                      entry) if (is_cell_of(cell, name) && strlen(name) > longest) {
    longest = strlen(name);
    run->data = name;
  }
}

static void add_seconds(const json_t *line, report_run *runs, size_t count) {
  const char *cell = json_string_value(json_object_get(line, "cell"));
  double seconds = json_number_value(json_object_get(line, "seconds"));
  for (size_t i = 0; i < count && cell; i++) {
    const char *slash = strrchr(runs[i].path, '/');
    if (strcmp(slash ? slash + 1 : runs[i].path, cell)) continue;
    runs[i].seconds = isnan(runs[i].seconds) ? seconds : runs[i].seconds + seconds;
  }
}

/* What the sweep has recorded of its cells, over all its calls. A line that is not whole was being
 * written when the power went. */
static filtra_status read_record(const char *path, report_run *runs, size_t count) {
  ft_lines lines;
  bool more = true;
  if (!ft_file_exists(path)) return FILTRA_OK;
  FT_TRY(ft_lines_open(path, &lines));
  filtra_status status = FILTRA_OK;
  while (!status && more) {
    json_t *line = NULL;
    status = ft_lines_next(&lines, &more);
    if (!status && more && !ft_json_parse(lines.line, lines.length, path, &line))
      add_seconds(line, runs, count);
    json_decref(line);
  }
  ft_lines_close(&lines);
  return status;
}

/* Takes what a sweep's folder says of the runs from `first` on. */
static filtra_status read_sweep(report_set *set, const char *folder, size_t first) {
  json_t *sweep;
  char *path = ft_path_join(folder, "sweep.json"), *record = ft_path_join(folder, "sweep.jsonl");
  filtra_status status = path && record ? ft_json_load(path, &sweep) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) {
    for (size_t i = first; i < set->count; i++)
      name_data(sweep, &set->runs[i]);
    json_t *all = set->sweep ? set->sweep : json_array();
    if (json_array_append_new(all, sweep)) status = FILTRA_ERROR_HOST_MEMORY;
    set->sweep = all; /* names of data point into it */
  }
  if (!status) status = read_record(record, set->runs + first, set->count - first);
  free(path);
  free(record);
  return status;
}

/* ---- paths ---- */

static filtra_status add_path(report_set *set, const char *path) {
  bool is_run, is_sweep;
  size_t first = set->count;
  FT_TRY(has(path, FILTRA_RUN_CONFIG, &is_run));
  if (is_run || !ft_is_directory(path)) return add_run(set, path);
  FT_TRY(ft_each_entry(path, add_if_run, set));
  if (set->count == first) return add_run(set, path); /* says what is wrong */
  FT_TRY(has(path, "sweep.json", &is_sweep));
  return is_sweep ? read_sweep(set, path, first) : FILTRA_OK;
}

filtra_status report_collect(char *const *paths, size_t count, report_set *set) {
  *set = (report_set){0};
  for (size_t i = 0; i < count; i++) {
    for (size_t end = strlen(paths[i]); end > 1 && paths[i][end - 1] == '/'; end--)
      paths[i][end - 1] = '\0';
    FT_TRY(add_path(set, paths[i]));
  }
  return FILTRA_OK;
}

void report_free_set(report_set *set) {
  for (size_t i = 0; i < set->count; i++)
    report_free(&set->runs[i]);
  free(set->runs);
  json_decref(set->sweep);
}
