/* --set KEY=VALUE: lists assignments, and applies them to a configuration. Called by train, import,
 * and where a run reads other data. */
#include "common/sets.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

void command_add_set(command_sets *s, const char *key, const char *value) {
  char *text = key ? ft_format("%s=%s", key, value) : NULL;
  if ((key && !text) || json_array_append_new(s->list, json_string_nocheck(text ? text : value)))
    s->starved = true;
  free(text);
}

void command_add_text(command_sets *s, const char *key, const char *value) {
  bool valid = ft_utf8_valid(value, strlen(value)); /* otherwise its use reports an error */
  json_t *string = valid ? json_string(value) : NULL;
  char *quoted = string ? ft_json_dumps(string, JSON_ENCODE_ANY) : NULL;
  if (valid && !quoted) s->starved = true;
  command_add_set(s, key, quoted ? quoted : value);
  free(quoted);
  json_decref(string);
}

/* The object at `key`. If a name is there ("mixer": "agf"), it becomes {"name": "agf"}. NULL when
 * out of memory. */
static json_t *enter(json_t *object, const char *key) {
  json_t *inner = json_object_get(object, key);
  if (json_is_object(inner)) return inner;
  json_t *made = json_object();
  if (json_is_string(inner) && json_object_set(made, "name", inner)) {
    json_decref(made);
    return NULL;
  }
  return json_object_set_new(object, key, made) ? NULL : made;
}

/* Sets the value at path "a.b.c", which is modified; takes `value`. False when out of memory. */
static bool set_value(json_t *object, char *path, json_t *value) {
  for (char *dot; object && (dot = strchr(path, '.')); path = dot + 1) {
    *dot = '\0';
    object = enter(object, path);
  }
  /* A name that follows options ("mixer.K=5", then "mixer=agf") keeps the options. */
  json_t *present = object ? json_object_get(object, path) : NULL;
  if (json_is_string(value) && json_is_object(present) && !json_object_get(present, "name")) {
    object = present;
    path = "name";
  }
  if (object) return !json_object_set_new(object, path, value);
  json_decref(value);
  return false;
}

/* Applies "key=value". The value is JSON if it parses as such, else a string. "mixer.K=5" sets a
 * key of an object. */
static filtra_status assign(json_t *object, const char *assignment) {
  const char *equals = strchr(assignment, '=');
  if (!equals || equals == assignment)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "\"%.100s\" is not key=value", assignment);
  if (!ft_utf8_valid(assignment, strlen(assignment)))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "\"%.100s\" is not UTF-8 text", assignment);
  json_error_t error = {0};
  bool starved;
  json_t *value = ft_json_decode(equals + 1, strlen(equals + 1),
                                 JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error, &starved);
  if (!value && !starved) value = json_string(equals + 1);
  char *path = value ? ft_strdup(assignment) : NULL;
  if (!path) {
    json_decref(value);
    return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  }
  path[equals - assignment] = '\0';
  const size_t first = strcspn(path, ".");
  if (path[first]) {
    path[first] = '\0';
    const bool list = json_is_array(json_object_get(object, path));
    path[first] = '.';
    if (list) {
      free(path);
      json_decref(value);
      return ft_fail(FILTRA_ERROR_ARGUMENT, "\"%.100s\": the key is a list; give it whole",
                     assignment);
    }
  }
  bool done = set_value(object, path, value);
  free(path);
  return done ? FILTRA_OK : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

filtra_status command_apply_sets(const command_sets *s, json_t *object) {
  if (!s->list || s->starved) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  for (size_t i = 0; i < json_array_size(s->list); i++)
    FT_TRY(assign(object, json_string_value(json_array_get(s->list, i))));
  return FILTRA_OK;
}

filtra_status command_sets_text(const command_sets *s, char **out) {
  json_t *object = json_object();
  filtra_status status = object ? command_apply_sets(s, object)
                                : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  *out = status ? NULL : ft_json_dumps(object, 0);
  json_decref(object);
  return status || *out ? status : FILTRA_ERROR_HOST_MEMORY;
}

filtra_status command_reading_settings(const command_sets *s, char **out) {
  *out = NULL;
  return s->list && !json_array_size(s->list) && !s->starved ? FILTRA_OK
                                                             : command_sets_text(s, out);
}

const char command_reading_help[] =
    "  --set KEY=VALUE    how the file of --data is written, where it differs from the run's:\n"
    "                     format, delimiter, decimal, quoting, text_column, target_column,\n"
    "                     label_separator, group_column, time_column or id_column\n";
