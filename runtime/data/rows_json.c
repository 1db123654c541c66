/* Rows of JSON Lines: a flat object a line. Its keys are the columns, as the first object has them;
 * the first row has their names. Called by rows.c. */
#include "data/rows.h"

#include "base/json.h"
#include "base/number.h"

#include <stdio.h>
#include <string.h>

const char *const ft_json_lines_endings[] = {".jsonl", ".ndjson", NULL};

static filtra_status add_text(ft_row_reader *r, const char *key, const json_t *value) {
  const char *text = json_string_value(value);
  const size_t length = json_string_length(value);
  if (strlen(text) == length) return ft_row_add(r, text, length);
  return ft_fail(FILTRA_ERROR_INPUT, "\"%.64s\" has a NUL character", key);
}

/* Adds the shortest text that is read as the same number. Three digits after the point get a zero
 * more, since readers of tables would ask whether they are thousands. */
static filtra_status add_number(ft_row_reader *r, const json_t *value) {
  char text[40];
  if (json_is_integer(value))
    snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
  const double number = json_number_value(value);
  for (int digits = 15; json_is_real(value) && digits <= 17; digits++) {
    ft_print(text, sizeof text, "%.*g", digits, number);
    if (ft_strtod(text, NULL) == number) break;
  }
  const char *point = strchr(text, '.');
  if (point && strlen(point) == 4 && !strchr(point, 'e')) strcat(text, "0");
  return ft_row_add(r, text, strlen(text));
}

static filtra_status add_field(ft_row_reader *r, const char *key, const json_t *value) {
  FT_TRY(ft_row_begin_field(r));
  if (!value || json_is_null(value)) return FILTRA_OK; /* a missing field */
  if (json_is_string(value)) return add_text(r, key, value);
  if (json_is_number(value)) return add_number(r, value);
  if (json_is_boolean(value)) {
    const char *text = json_is_true(value) ? "true" : "false";
    return ft_row_add(r, text, strlen(text));
  }
  return ft_fail(FILTRA_ERROR_INPUT,
                 "\"%.64s\" is %s; accepted are texts, numbers, true, false and null", key,
                 json_is_array(value) ? "an array" : "an object");
}

static filtra_status add_names(ft_row_reader *r) {
  const char *key;
  json_t *value;
  json_object_foreach(r->first, key, value) {
    FT_TRY(ft_row_begin_field(r));
    FT_TRY(ft_row_add(r, key, strlen(key)));
  }
  return ft_row_end(r);
}

/* Fails for a key that the first object lacks: it would be left out. */
static filtra_status check_keys(json_t *object, const json_t *first) {
  const char *key;
  json_t *value;
  json_object_foreach(object, key, value) {
    if (json_object_get(first, key)) continue;
    return ft_fail(FILTRA_ERROR_INPUT,
                   "\"%.64s\" is no key of the first line; write all keys there, null where "
                   "nothing is known",
                   key);
  }
  return FILTRA_OK;
}

static filtra_status add_values(ft_row_reader *r, json_t *object) {
  const char *key;
  json_t *value;
  FT_TRY(check_keys(object, r->first));
  json_object_foreach(r->first, key, value) {
    FT_TRY(add_field(r, key, json_object_get(object, key)));
  }
  return ft_row_end(r);
}

static filtra_status read_line(const ft_row_reader *r, json_t **object) {
  json_error_t error = {0};
  bool starved;
  *object =
      ft_json_decode(r->lines.line, r->lines.length, JSON_REJECT_DUPLICATES, &error, &starved);
  if (starved) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  if (!*object)
    return ft_fail(FILTRA_ERROR_INPUT, "not valid JSON: %s, at column %d", error.text,
                   error.column);
  if (json_object_size(*object)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "not a JSON object with keys, such as {\"text\": \"so\"}");
}

filtra_status ft_rows_read_object(ft_row_reader *r) {
  json_t *object = NULL;
  ft_row_begin(r);
  if (r->again) {
    r->again = false;
    return add_values(r, r->first);
  }
  filtra_status status = read_line(r, &object);
  if (!status && !r->first) {
    r->first = object;
    r->again = true;
    return add_names(r);
  }
  if (!status) status = add_values(r, object);
  json_decref(object);
  return status;
}
