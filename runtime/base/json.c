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
  char *text;
  size_t size;
  *out = NULL;
  FT_TRY(ft_file_read(path, CONFIG_LIMIT, &text, &size));
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

/* Jansson goes on after a piece that was refused, so that others would close the gap. */
static int add_piece(const char *piece, size_t size, void *user) {
  growing_text *t = user;
  while (!t->failed && t->capacity - t->size <= size) { /* room for the 0, too */
    size_t capacity = t->capacity ? 2 * t->capacity : 256;
    char *larger = ft_realloc(t->text, capacity, 1);
    t->failed = !larger;
    if (!larger) break;
    t->text = larger;
    t->capacity = capacity;
  }
  if (t->failed) return -1;
  memcpy(t->text + t->size, piece, size);
  t->size += size;
  t->text[t->size] = '\0';
  return 0;
}

char *ft_json_dumps(const json_t *value, size_t flags) {
  growing_text t = {0};
  if (value && !json_dump_callback(value, add_piece, &t, flags) && !t.failed && t.text)
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

/* ---- unknown keys ---- */

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

static filtra_status unknown_key(const char *key, const ft_json_field *fields, size_t count,
                                 const char *context) {
  const char *nearest = ft_nearest_name(key, fields, count, sizeof *fields);
  if (nearest)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: unknown key \"%.64s\" (did you mean \"%s\"?)", context,
                   key, nearest);
  return ft_fail(FILTRA_ERROR_INPUT, "%s: unknown key \"%.64s\"", context, key);
}

static filtra_status check_keys(const json_t *object, const ft_json_field *fields, size_t count,
                                const char *context) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)object, key, value) {
    size_t i = 0;
    while (i < count && strcmp(fields[i].name, key))
      i++;
    if (i == count) return unknown_key(key, fields, count, context);
  }
  return FILTRA_OK;
}

/* ---- reading ---- */

static filtra_status wrong_type(const ft_json_field *f, const char *context, const char *wanted) {
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" must be %s", context, f->name, wanted);
}

static filtra_status read_number(const json_t *value, const ft_json_field *f, const char *context,
                                 double *out) {
  bool whole = f->type == FT_JSON_INT;
  if (whole ? !json_is_integer(value) : !json_is_number(value))
    return wrong_type(f, context, whole ? "a whole number" : "a number");
  *out = json_number_value(value);
  if (*out >= f->low && *out <= f->high) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is %.10g, accepted are %.10g to %.10g", context,
                 f->name, *out, f->low, f->high);
}

static filtra_status read_enum(const json_t *value, const ft_json_field *f, const char *context,
                               int *out) {
  char list[256] = "";
  for (int i = 0; f->names[i]; i++) {
    if (json_is_string(value) && !strcmp(json_string_value(value), f->names[i])) {
      *out = i;
      return FILTRA_OK;
    }
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", f->names[i]);
  }
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" must be one of %s", context, f->name, list);
}

static filtra_status read_string(const json_t *value, const ft_json_field *f, const char *context,
                                 char *out) {
  if (!json_is_string(value)) return wrong_type(f, context, "a string");
  if (json_string_length(value) >= (size_t)f->high)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is longer than %.0f characters", context,
                   f->name, f->high - 1.0);
  memcpy(out, json_string_value(value), json_string_length(value) + 1);
  return FILTRA_OK;
}

static filtra_status read_floats(const json_t *value, const ft_json_field *f, const char *context,
                                 ft_json_floats *out) {
  size_t count = json_is_array(value) ? json_array_size(value) : json_is_number(value);
  if (!count || count > FT_JSON_MAX_FLOATS)
    return wrong_type(f, context, "a number, or a list of 1 to 256 numbers");
  for (size_t i = 0; i < count; i++) {
    double number;
    FT_TRY(
        read_number(json_is_array(value) ? json_array_get(value, i) : value, f, context, &number));
    out->values[i] = (float)number;
  }
  out->count = (int64_t)count;
  return FILTRA_OK;
}

static void default_floats(const ft_json_field *f, ft_json_floats *out) {
  for (out->count = 0; f->list[out->count] != 0; out->count++)
    out->values[out->count] = f->list[out->count];
}

static filtra_status read_field(const json_t *value, const ft_json_field *f, const char *context,
                                void *at) {
  double number = f->fallback;
  switch (f->type) {
  case FT_JSON_ANY:
    return FILTRA_OK;
  case FT_JSON_INT:
    if (value) FT_TRY(read_number(value, f, context, &number));
    *(int64_t *)at = value ? (int64_t)json_integer_value(value) : (int64_t)number;
    return FILTRA_OK;
  case FT_JSON_FLOAT:
    if (value) FT_TRY(read_number(value, f, context, &number));
    *(float *)at = (float)number;
    return FILTRA_OK;
  case FT_JSON_BOOL:
    if (value && !json_is_boolean(value)) return wrong_type(f, context, "true or false");
    *(bool *)at = value ? json_is_true(value) : f->fallback != 0.0;
    return FILTRA_OK;
  case FT_JSON_ENUM:
    *(int *)at = (int)f->fallback;
    return value ? read_enum(value, f, context, at) : FILTRA_OK;
  case FT_JSON_STRING:
    *(char *)at = '\0';
    return value ? read_string(value, f, context, at) : FILTRA_OK;
  case FT_JSON_FLOATS:
    default_floats(f, at);
    return value ? read_floats(value, f, context, at) : FILTRA_OK;
  }
  return FILTRA_OK;
}

filtra_status ft_json_read_struct(const json_t *object, const ft_json_field *fields, size_t count,
                                  void *out, const char *context) {
  if (!json_is_object(object))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: must be a JSON object", context);
  FT_TRY(check_keys(object, fields, count, context));
  for (size_t i = 0; i < count; i++)
    FT_TRY(read_field(json_object_get(object, fields[i].name), &fields[i], context,
                      (char *)out + fields[i].offset));
  return FILTRA_OK;
}

/* ---- writing ---- */

double ft_shortest(float value) {
  char text[32];
  for (int digits = 6; digits < 10; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)value);
    if (strtof(text, NULL) == value) break;
  }
  return strtod(text, NULL);
}

/* One number stands for itself. */
static json_t *write_floats(const ft_json_floats *list) {
  if (list->count == 1) return json_real(ft_shortest(list->values[0]));
  json_t *array = json_array();
  for (int64_t i = 0; i < list->count; i++)
    ft_json_append(&array, json_real(ft_shortest(list->values[i])));
  return array;
}

static json_t *write_field(const ft_json_field *f, const void *at) {
  switch (f->type) {
  case FT_JSON_INT:
    return json_integer(*(const int64_t *)at);
  case FT_JSON_FLOAT:
    return json_real(ft_shortest(*(const float *)at));
  case FT_JSON_BOOL:
    return json_boolean(*(const bool *)at);
  case FT_JSON_ENUM:
    return json_string(f->names[*(const int *)at]);
  case FT_JSON_STRING:
    return json_string(at);
  case FT_JSON_FLOATS:
    return write_floats(at);
  case FT_JSON_ANY:
    break;
  }
  return NULL;
}

json_t *ft_json_write_struct(const ft_json_field *fields, size_t count, const void *from) {
  json_t *object = json_object();
  for (size_t i = 0; i < count && object; i++) {
    if (fields[i].type == FT_JSON_ANY) continue;
    json_t *value = write_field(&fields[i], (const char *)from + fields[i].offset);
    if (!json_object_set_new(object, fields[i].name, value)) continue;
    json_decref(object);
    object = NULL;
  }
  if (!object) ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  return object;
}
