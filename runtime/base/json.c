/* JSON files, JSON text that notices when memory runs out, and nearest names for "did you mean".
 * Called by readers and writers of configurations, metadata, run files and reports. */
#include "base/json.h"

#include "base/file.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_LIMIT = 16 << 20, NAME_LIMIT = 64 };

/* Reads JSON; *overflow: a number is too big. */
static filtra_status parse(const char *text, size_t size, const char *context, json_t **out,
                           bool *overflow) {
  static const char MARK[] = "\xef\xbb\xbf"; /* as Windows' editors put before UTF-8 */
  const size_t mark = size >= 3 && !memcmp(text, MARK, 3) ? 3 : 0;
  json_error_t error = {0};
  bool starved;
  *out = ft_json_decode(text + mark, size - mark, JSON_REJECT_DUPLICATES, &error, &starved);
  *overflow = !*out && !starved && json_error_code(&error) == json_error_numeric_overflow;
  if (*out) return FILTRA_OK;
  if (starved) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory: reading %s", context);
  return ft_fail(FILTRA_ERROR_INPUT, "%s:%d:%d: not valid JSON: %s", context, error.line,
                 error.column, error.text);
}

filtra_status ft_json_parse(const char *text, size_t size, const char *context, json_t **out) {
  bool overflow;
  return parse(text, size, context, out, &overflow);
}

/* ---- files ---- */

/* Whether digits are a whole number above 2^63 - 1. */
static bool is_too_big(const char *digits, size_t count) {
  static const char MOST[] = "9223372036854775807";
  const size_t most = sizeof MOST - 1;
  return count > most || (count == most && strncmp(digits, MOST, most) > 0);
}

static size_t count_digits(const char *text, const char *end) {
  size_t count = 0;
  while (text + count < end && text[count] >= '0' && text[count] <= '9')
    count++;
  return count;
}

/* Copies JSON text and appends ".0" to whole numbers that do not fit 64 bits: they become
 * floating-point. NULL when out of memory. */
static char *widen(const char *text, size_t size, size_t *length) {
  const char *end = text + size;
  char *copy = ft_calloc(size + size / 8 + 1, 1), *to = copy, before = ' ';
  bool within = false; /* inside a string */
  while (copy && text < end) {
    const size_t digits = count_digits(text, end);
    const bool escape = within && *text == '\\' && text + 1 < end;
    const size_t count = digits ? digits : escape ? 2 : 1;
    const int next = text + count < end ? text[count] : ' ';
    if (*text == '"') within = !within;
    memcpy(to, text, count);
    to += count;
    if (!within && is_too_big(text, digits) && !strchr(".eE+", before) && !strchr(".eE", next))
      to += sprintf(to, ".0");
    text += count;
    before = text[-1];
  }
  *length = copy ? (size_t)(to - copy) : 0;
  return copy;
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

filtra_status ft_json_load_foreign(const char *path, uint64_t limit, json_t **out) {
  char *text, *wide = NULL;
  size_t size, length;
  bool overflow;
  *out = NULL;
  FT_TRY(ft_file_read(path, limit ? limit : CONFIG_LIMIT, &text, &size));
  filtra_status status = parse(text, size, path, out, &overflow);
  if (overflow) {
    wide = widen(text, size, &length);
    status = wide ? parse(wide, length, path, out, &overflow) : FILTRA_ERROR_HOST_MEMORY;
  }
  free(wide);
  free(text);
  return status;
}

/* ---- writing ---- */

typedef struct growing_text {
  char *text;
  size_t size, capacity;
  bool failed;
} growing_text;

/* Jansson ignores refused bytes and writes the next ones: refuse those too, so that no gap
 * remains. */
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
