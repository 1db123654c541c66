/* Finds the state of a sweep's cells. OUT/NAME is a cell's run folder; OUT/settings/NAME.json has
 * the settings it was begun with. Called by run.c and sweep.c. */
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "common/record.h"
#include "sweep.h"

#include <filtra/filtra.h>
#include <stdlib.h>
#include <string.h>

const char *sweep_state_name(sweep_state state) {
  static const char *const NAMES[] = {"new", "begun", "finished", "done", "interrupted", "failed"};
  return NAMES[state];
}

size_t sweep_count(const sweep *s, sweep_state state) {
  size_t count = 0;
  for (size_t i = 0; i < s->count; i++)
    count += s->cells[i].state == state;
  return count;
}

static char *settings_path(const sweep *s, const char *name) {
  return ft_format("%s/settings/%s.json", s->out, name);
}

/* The first key that differs between two complete configurations; NULL: none. */
static const char *find_difference(const json_t *a, const json_t *b, bool ignore_data) {
  const char *key;
  const json_t *value;
  json_object_foreach((json_t *)a, key,
                      value) if (!(ignore_data && !strcmp(key, "data")) &&
                                 !json_equal(value, json_object_get(b, key))) return key;
  return NULL;
}

static filtra_status complete(const json_t *config, const char *context, json_t **out) {
  char *text = ft_json_dumps(config, 0), *full = NULL;
  filtra_status status =
      text ? filtra_config_complete(text, context, &full) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = ft_json_parse(full, strlen(full), context, out);
  filtra_free(full);
  free(text);
  return status;
}

static filtra_status compare(const sweep_cell *cell, const char *path, const json_t *before) {
  json_t *was = NULL, *is = NULL;
  filtra_status status = complete(before, path, &was);
  if (!status) status = complete(cell->config, cell->name, &is);
  const char *key = status ? NULL : find_difference(was, is, cell->data->generate != NULL);
  if (key) {
    char *old = ft_json_dumps(json_object_get(was, key), JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    char *new = ft_json_dumps(json_object_get(is, key), JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    status = ft_fail(FILTRA_ERROR_INPUT,
                     "%s was begun with other settings: \"%s\" was %s and is %s now; remove the "
                     "folder to run it anew, or give another --out",
                     cell->folder, key, old ? old : "?", new ? new : "?");
    free(old);
    free(new);
  }
  json_decref(was);
  json_decref(is);
  return status;
}

/* A cell was begun if its run has a configuration; it is finished if it was evaluated, which is the
 * last step. */
filtra_status sweep_find_state(const sweep *s, sweep_cell *cell) {
  json_t *before = NULL;
  char *config = ft_path_join(cell->folder, FILTRA_RUN_CONFIG);
  char *result = ft_format("%s/" FILTRA_RUN_EVALUATION, cell->folder, cell->data->evaluate);
  char *settings = settings_path(s, cell->name);
  filtra_status status = config && result && settings ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = ft_check_in(s->out, config);
  if (!status) status = ft_check_in(s->out, result);
  if (!status) status = ft_check_in(s->out, settings);
  if (!status && ft_file_exists(config)) {
    status = ft_json_load(settings, &before);
    if (!status) status = compare(cell, settings, before);
    cell->state = ft_file_exists(result) ? SWEEP_FINISHED : SWEEP_BEGUN;
  }
  json_decref(before);
  free(config);
  free(result);
  free(settings);
  return status;
}

filtra_status sweep_find_states(sweep *s) {
  for (size_t i = 0; i < s->count; i++)
    FT_TRY(sweep_find_state(s, &s->cells[i]));
  return FILTRA_OK;
}

/* ---- the record of earlier calls ---- */

static filtra_status take_failure(void *user, json_t *line) {
  sweep *s = user;
  const char *name = ft_json_string(line, "cell");
  const bool failed = !strcmp(ft_json_string(line, "state"), sweep_state_name(SWEEP_FAILED));
  for (size_t i = 0; i < s->count; i++) {
    sweep_cell *cell = &s->cells[i];
    if (strcmp(cell->name, name) != 0) continue;
    free(cell->error);
    cell->error = failed ? ft_strdup(ft_json_string(line, "error")) : NULL;
    if (failed && !cell->error) return FILTRA_ERROR_HOST_MEMORY;
  }
  return FILTRA_OK;
}

filtra_status sweep_recall_failures(sweep *s) {
  FT_TRY(record_each(s->out, take_failure, s));
  for (size_t i = 0; i < s->count; i++) {
    sweep_cell *cell = &s->cells[i];
    if (cell->error && cell->state != SWEEP_FINISHED) cell->state = SWEEP_FAILED;
  }
  return FILTRA_OK;
}

filtra_status sweep_write_settings(const sweep *s, const sweep_cell *cell, char **path) {
  char *text = ft_json_line(json_incref(cell->config), JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  *path = settings_path(s, cell->name);
  filtra_status status = text && *path ? ft_file_write_in(s->out, *path, text, strlen(text))
                                       : FILTRA_ERROR_HOST_MEMORY;
  free(text);
  if (!status) return FILTRA_OK;
  free(*path);
  *path = NULL;
  return status;
}
