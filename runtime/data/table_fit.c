/* Writes and reads the columns of a training table, in data.json and model files. Called by
 * describe.c and train/folder.c. */
#include "data/table_fit.h"

#include "base/memory.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Columns with one role, by their keys. */
static const struct {
  const char *key;
  size_t offset;
} USES[] = {
    {"text", offsetof(ft_table_fit, text)},     {"second_text", offsetof(ft_table_fit, second)},
    {"target", offsetof(ft_table_fit, target)}, {"id", offsetof(ft_table_fit, id)},
    {"group", offsetof(ft_table_fit, group)},   {"time", offsetof(ft_table_fit, time)}};

void ft_table_fit_free(ft_table_fit *fit) {
  if (!fit) return;
  for (size_t i = 0; fit->columns && i < fit->column_count; i++) {
    free(fit->columns[i].name);
    ft_free_names(fit->columns[i].values, fit->columns[i].value_count);
  }
  ft_free_names(fit->labels, fit->labels ? fit->label_count : 0);
  free(fit->columns);
  free(fit->text);
  free(fit->second);
  free(fit->target);
  free(fit->id);
  free(fit->group);
  free(fit->time);
  free(fit);
}

size_t ft_table_width(const ft_table_fit *fit) {
  size_t width = 0;
  for (size_t i = 0; i < fit->column_count; i++)
    width += fit->columns[i].values ? fit->columns[i].value_count : 1;
  return width;
}

/* ---- for people ---- */

/* Appends words and a name, which may be NULL, to *text, which is NULL once memory has run out. */
static void append(char **text, const char *words, const char *name) {
  char *longer = *text ? ft_format("%s%s%s", *text, words, name ? name : "") : NULL;
  free(*text);
  *text = longer;
}

/* Lists what column(fit, i) says of `count` columns. */
static void append_list(char **text, const ft_table_fit *fit, size_t count,
                        void (*column)(char **text, const ft_table_fit *fit, size_t i)) {
  enum { LISTED = 50 };
  for (size_t i = 0; i < count && i < LISTED; i++) {
    if (i) append(text, ", ", NULL);
    column(text, fit, i);
  }
  if (count > LISTED) append(text, ", ...", NULL);
}

static void append_feature(char **text, const ft_table_fit *fit, size_t i) {
  append(text, fit->columns[i].name, fit->columns[i].values ? " (texts)" : NULL);
}

static void append_label(char **text, const ft_table_fit *fit, size_t i) {
  append(text, fit->labels[i], NULL);
}

char *ft_table_fit_say(const ft_table_fit *fit) {
  char *text = ft_strdup(fit->text ? fit->text : "");
  if (fit->second) append(&text, ", ", fit->second);
  append_list(&text, fit, fit->column_count, append_feature);
  if (fit->label_count) append(&text, "; labels ", NULL);
  append_list(&text, fit, fit->label_count, append_label);
  if (fit->target) append(&text, fit->separator ? "; labels " : "; target ", fit->target);
  if (fit->group) append(&text, "; series by ", fit->group);
  if (fit->time) append(&text, ", in the order of ", fit->time);
  if (fit->id) append(&text, "; names of samples ", fit->id);
  return text;
}

/* ---- writing ---- */

static json_t *column_json(const ft_table_column *c) {
  json_t *object = json_pack("{ss sI}", "name", c->name, "unit", (json_int_t)c->unit);
  json_t *list = object && c->values ? json_array() : NULL;
  for (size_t i = 0; list && i < c->value_count; i++)
    ft_json_append(&list, json_string(c->values[i]));
  if (c->values && json_object_set_new(object, "values", list)) {
    json_decref(object);
    return NULL;
  }
  return object;
}

/* Writes the labels' columns or separator. */
static bool write_labels(json_t *table, const ft_table_fit *fit) {
  const char separator[2] = {fit->separator, '\0'};
  json_t *list = json_array();
  for (size_t i = 0; i < fit->label_count; i++)
    ft_json_append(&list, json_string(fit->labels[i]));
  if (!fit->label_count) {
    json_decref(list);
    list = NULL;
  }
  if (fit->label_count && json_object_set_new(table, "label_columns", list)) return false;
  return !*separator || !json_object_set_new(table, "label_separator", json_string(separator));
}

bool ft_table_fit_write(json_t *object, const ft_table_fit *fit) {
  json_t *table = json_pack(
      "{sb sI ss sI}", "header", (int)fit->header, "fields", (json_int_t)fit->count, "decimal",
      fit->decimal == FILTRA_DECIMAL_COMMA ? "comma" : "point", "unit", (json_int_t)fit->unit);
  json_t *columns = json_array();
  bool done = table != NULL;
  for (size_t i = 0; done && i < FT_COUNT(USES); i++) {
    const char *name = *(char *const *)((const char *)fit + USES[i].offset);
    if (name) done = !json_object_set_new(table, USES[i].key, json_string(name));
  }
  done = done && write_labels(table, fit);
  if (done && !fit->decimal_seen) done = !json_object_set_new(table, "decimal_seen", json_false());
  if (done && !fit->thousands_seen)
    done = !json_object_set_new(table, "thousands_seen", json_false());
  for (size_t i = 0; done && i < fit->column_count; i++)
    ft_json_append(&columns, column_json(&fit->columns[i]));
  if (!done) json_decref(columns);
  if (done) done = !json_object_set_new(table, "columns", columns);
  if (done) return !json_object_set_new(object, "table", table);
  json_decref(table);
  return false;
}

/* ---- reading ---- */

/* Reads a list of texts; *texts stays NULL if there is none. */
static filtra_status read_texts(const json_t *object, const char *key, const char *context,
                                char ***texts, size_t *count) {
  const json_t *list = json_object_get(object, key);
  const size_t size = json_array_size(list);
  if (!list) return FILTRA_OK;
  *texts = ft_calloc(size, sizeof **texts);
  if (!*texts) return FILTRA_ERROR_HOST_MEMORY;
  for (; *count < size; ++*count) {
    const char *text = json_string_value(json_array_get(list, *count));
    if (!text)
      return ft_fail(FILTRA_ERROR_INPUT, "%s: \"table\": \"%s\" must be a list of texts", context,
                     key);
    (*texts)[*count] = ft_strdup(text);
    if (!(*texts)[*count]) return FILTRA_ERROR_HOST_MEMORY;
  }
  return FILTRA_OK;
}

static filtra_status read_columns(const json_t *list, const char *context, ft_table_fit *fit) {
  size_t count = json_array_size(list);
  fit->columns = ft_calloc(count, sizeof *fit->columns);
  if (!fit->columns) return FILTRA_ERROR_HOST_MEMORY;
  while (fit->column_count < count) {
    const json_t *item = json_array_get(list, fit->column_count);
    ft_table_column *c = &fit->columns[fit->column_count++];
    const char *name = json_string_value(json_object_get(item, "name"));
    if (!name)
      return ft_fail(FILTRA_ERROR_INPUT, "%s: \"table\": a column needs a \"name\"", context);
    c->name = ft_strdup(name);
    if (!c->name) return FILTRA_ERROR_HOST_MEMORY;
    c->unit = (uint32_t)json_integer_value(json_object_get(item, "unit"));
    FT_TRY(read_texts(item, "values", context, &c->values, &c->value_count));
  }
  return FILTRA_OK;
}

/* The i-th of all names: roles, columns and labels. */
static const char *name_at(const ft_table_fit *fit, size_t i) {
  if (i < FT_COUNT(USES)) return *(char *const *)((const char *)fit + USES[i].offset);
  i -= FT_COUNT(USES);
  return i < fit->column_count ? fit->columns[i].name : fit->labels[i - fit->column_count];
}

static filtra_status check_numbers(const ft_table_fit *fit, const char *context) {
  const size_t count = FT_COUNT(USES) + fit->column_count + fit->label_count;
  for (size_t i = 0; i < count && !fit->header; i++) {
    const char *name = name_at(fit, i);
    if (name && (strlen(name) > 6 || atol(name) < 1))
      return ft_fail(
          FILTRA_ERROR_INPUT,
          "%s: \"table\": column \"%.64s\" must be a number from 1, as there is no header", context,
          name);
  }
  return FILTRA_OK;
}

static filtra_status read_table(const json_t *table, const char *context, ft_table_fit *fit) {
  const char *decimal = json_string_value(json_object_get(table, "decimal"));
  fit->header = json_is_true(json_object_get(table, "header"));
  fit->count = (size_t)json_integer_value(json_object_get(table, "fields"));
  fit->unit = (uint32_t)json_integer_value(json_object_get(table, "unit"));
  fit->decimal = decimal && !strcmp(decimal, "comma") ? FILTRA_DECIMAL_COMMA : FILTRA_DECIMAL_POINT;
  fit->decimal_seen = !json_is_false(json_object_get(table, "decimal_seen"));
  fit->thousands_seen = !json_is_false(json_object_get(table, "thousands_seen"));
  for (size_t i = 0; i < FT_COUNT(USES); i++) {
    const char *name = json_string_value(json_object_get(table, USES[i].key));
    char **to = (char **)((char *)fit + USES[i].offset);
    if (name && !(*to = ft_strdup(name))) return FILTRA_ERROR_HOST_MEMORY;
  }
  const char *separator = json_string_value(json_object_get(table, "label_separator"));
  if (separator) fit->separator = *separator;
  FT_TRY(read_texts(table, "label_columns", context, &fit->labels, &fit->label_count));
  FT_TRY(read_columns(json_object_get(table, "columns"), context, fit));
  if (!fit->text && !fit->column_count)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"table\" names no column to read", context);
  return check_numbers(fit, context);
}

filtra_status ft_table_fit_read(const json_t *object, const char *context, ft_table_fit **out) {
  const json_t *table = json_object_get(object, "table");
  *out = NULL;
  if (!table) return FILTRA_OK;
  ft_table_fit *fit = ft_calloc(1, sizeof *fit);
  if (!fit) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = read_table(table, context, fit);
  if (status) ft_table_fit_free(fit);
  *out = status ? NULL : fit;
  return status;
}

filtra_status ft_table_fit_copy(const ft_table_fit *fit, ft_table_fit **out) {
  json_t *object = json_object();
  *out = NULL;
  filtra_status status = object && ft_table_fit_write(object, fit)
                             ? ft_table_fit_read(object, "table", out)
                             : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  json_decref(object);
  return status;
}
