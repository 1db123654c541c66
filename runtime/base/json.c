/* JSON files, JSON text that notices when memory runs out, and nearest names for "did you mean".
 * Called by readers and writers of configurations, metadata, run files and reports. */
#include "base/json.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_LIMIT = 16 << 20, NAME_LIMIT = 64 };

filtra_status ft_json_parse(const char *text, size_t size, const char *context, json_t **out) {
  json_error_t error = {0};
  bool starved;
  *out = ft_json_decode(text, size, JSON_REJECT_DUPLICATES, &error, &starved);
  if (*out) return FILTRA_OK;
  if (starved) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory: reading %s", context);
  return ft_fail(FILTRA_ERROR_INPUT, "%s:%d:%d: not valid JSON: %s", context, error.line,
                 error.column, error.text);
}

filtra_status ft_json_load(const char *path, json_t **out) {
  return ft_json_load_up_to(path, CONFIG_LIMIT, out);
}

filtra_status ft_json_load_up_to(const char *path, uint64_t limit, json_t **out) {
  char *text;
  size_t size;
  *out = NULL;
  FT_TRY(ft_file_read(path, limit, &text, &size));
  filtra_status status = ft_json_parse(text, size, path, out);
  free(text);
  return status;
}

/* ---- writing ---- */

typedef struct growing_text {
  char *text;
  size_t size, capacity;
  bool failed;
} growing_text;

/* Jansson ignores refused bytes and writes the next: refuse those too, so that none is missing
 * between others. */
static int add_bytes(const char *bytes, size_t size, void *user) {
  growing_text *t = user;
  while (!t->failed && t->capacity - t->size <= size) { /* room for the NUL */
    size_t capacity = t->capacity ? 2 * t->capacity : 256;
    char *larger = ft_realloc(t->text, capacity, 1);
    t->failed = !larger;
    if (!larger) break;
    t->text = larger;
    t->capacity = capacity;
  }
  if (t->failed) return -1;
  memcpy(t->text + t->size, bytes, size);
  t->size += size;
  t->text[t->size] = '\0';
  return 0;
}

char *ft_json_dumps(const json_t *value, size_t flags) {
  growing_text t = {0};
  if (value && !json_dump_callback(value, add_bytes, &t, flags) && !t.failed && t.text)
    return t.text;
  free(t.text);
  ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  return NULL;
}

char *ft_json_text(json_t *object, size_t flags) {
  char *text = ft_json_dumps(object, flags);
  json_decref(object);
  return text;
}

char *ft_json_line(json_t *object, size_t flags) {
  char *text = ft_json_text(object, flags), *line = text ? ft_format("%s\n", text) : NULL;
  free(text);
  return line;
}

json_t *ft_json_join(json_t *object, json_t *more) {
  bool done = object && more && !json_object_update(object, more);
  json_decref(more);
  if (done) return object;
  json_decref(object);
  return NULL;
}

void ft_json_append(json_t **list, json_t *value) {
  if (*list && !json_array_append_new(*list, value)) return;
  if (!*list) json_decref(value);
  json_decref(*list);
  *list = NULL;
}

const char *ft_json_string(const json_t *object, const char *key) {
  const char *text = json_string_value(json_object_get(object, key));
  return text ? text : "";
}

/* ---- names and numbers ---- */

size_t ft_name_distance(const char *a, const char *b) {
  size_t row[NAME_LIMIT + 1], n = strlen(b);
  if (strlen(a) > NAME_LIMIT || n > NAME_LIMIT) return NAME_LIMIT;
  for (size_t j = 0; j <= n; j++)
    row[j] = j;
  for (size_t i = 1; a[i - 1]; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      if (row[j] + 1 < change) change = row[j] + 1;
      if (row[j - 1] + 1 < change) change = row[j - 1] + 1;
      row[j] = change;
    }
  }
  return row[n];
}

const char *ft_nearest_name(const char *name, const void *rows, size_t count, size_t bytes) {
  const char *nearest = NULL;
  size_t best = strlen(name) / 2 + 1;
  for (size_t i = 0; i < count; i++) {
    const char *other;
    memcpy(&other, (const char *)rows + i * bytes, sizeof other);
    size_t distance = ft_name_distance(name, other);
    if (distance >= best) continue;
    best = distance;
    nearest = other;
  }
  return nearest;
}

double ft_shortest(float value) {
  char text[32];
  for (int digits = 6; digits < 10; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)value);
    if (strtof(text, NULL) == value) break;
  }
  return strtod(text, NULL);
}
