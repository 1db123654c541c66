/* Surveys all fields of a table's first file, to distinguish numbers, categories and text. Called
 * by table_learn.c. */
#include "data/table_survey.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* A column is categorical if it has few distinct texts: at most 50, and at most 10 or half the
 * number of rows. */
enum { MOST_VALUES = 50, ALWAYS_FEW = 10, LONGEST_VALUE = 200, MOST_DIGITS = 15 };

static bool is_known(const ft_column_survey *c, const char *text, size_t length) {
  for (size_t i = 0; i < c->value_count; i++)
    if (!strncmp(c->values[i], text, length) && !c->values[i][length]) return true;
  return false;
}

static filtra_status add_value(ft_column_survey *c, const char *text, size_t length) {
  if (c->many || ft_is_missing(text, length) || is_known(c, text, length)) return FILTRA_OK;
  if (c->value_count == MOST_VALUES || length > LONGEST_VALUE) {
    c->many = true;
    return FILTRA_OK;
  }
  FT_TRY(FT_GROW(c->values, c->value_count, c->value_capacity));
  char *copy = ft_calloc(length + 1, 1);
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  c->values[c->value_count++] = memcpy(copy, text, length);
  return FILTRA_OK;
}

static bool names_image(const char *text, size_t length) {
  static const char *const endings[] = {".png", ".jpg", ".jpeg"};
  for (size_t i = 0; i < FT_COUNT(endings); i++) {
    const size_t size = strlen(endings[i]);
    if (length > size && !ft_strncasecmp(text + length - size, endings[i], size)) return true;
  }
  return false;
}

static filtra_status add_field(ft_column_survey *c, const char *text, uint64_t line) {
  size_t length = strlen(text), digits = strspn(text, "0123456789");
  ft_trim(&text, &length);
  ft_forms_add(&c->forms, text, length, line);
  c->spaced += !ft_is_missing(text, length) && memchr(text, ' ', length);
  c->images += names_image(text, length);
  if (digits == length && digits > 1) c->codes = c->codes || *text == '0' || digits > MOST_DIGITS;
  return add_value(c, text, length);
}

static filtra_status take_first(ft_table_survey *s, const ft_row_reader *rows) {
  s->first = ft_calloc(rows->count, sizeof *s->first);
  s->columns = ft_calloc(rows->count, sizeof *s->columns);
  if (!s->first || !s->columns) return FILTRA_ERROR_HOST_MEMORY;
  s->line = rows->number;
  s->named = rows->named;
  for (; s->count < rows->count; s->count++) {
    const char *text = rows->fields[s->count];
    size_t length = strlen(text);
    ft_trim(&text, &length);
    s->first[s->count] = ft_format("%.*s", (int)length, text);
    if (!s->first[s->count]) return FILTRA_ERROR_HOST_MEMORY;
  }
  return FILTRA_OK;
}

static bool is_first(const ft_table_survey *s, const ft_row_reader *rows) {
  for (size_t i = 0; i < s->count; i++) {
    const char *text = rows->fields[i];
    size_t length = strlen(text);
    ft_trim(&text, &length);
    if (strncmp(text, s->first[i], length) != 0 || s->first[i][length]) return false;
  }
  return true;
}

static filtra_status take_row(ft_table_survey *s, ft_row_reader *rows) {
  bool longer;
  if (!s->first) return take_first(s, rows);
  FT_TRY(ft_rows_check(rows, s->count, &longer));
  s->rows++;
  if (!s->again && is_first(s, rows)) s->again = rows->number;
  for (size_t i = 0; i < s->count; i++)
    FT_TRY(add_field(&s->columns[i], rows->fields[i], rows->number));
  return FILTRA_OK;
}

static filtra_status walk(ft_row_reader *rows, ft_table_survey *s) {
  for (bool more = true; more;) {
    FT_TRY(ft_rows_next(rows, &more));
    filtra_status status = more ? take_row(s, rows) : FILTRA_OK;
    if (status) return ft_rows_fail(rows, status);
  }
  return FILTRA_OK;
}

filtra_status ft_table_look(const ft_table *table, const char *path, ft_table_survey *survey) {
  ft_row_reader rows;
  *survey = (ft_table_survey){0};
  FT_TRY(ft_rows_open(path, ft_table_form(table->options), &rows));
  filtra_status status = walk(&rows, survey);
  ft_rows_close(&rows);
  if (status || survey->first) return status;
  return ft_fail(FILTRA_ERROR_INPUT, "%s has no samples", path);
}

filtra_status ft_survey_add_first(ft_table_survey *s) {
  s->rows++;
  for (size_t i = 0; i < s->count; i++)
    FT_TRY(add_field(&s->columns[i], s->first[i], s->line));
  return FILTRA_OK;
}

void ft_survey_free(ft_table_survey *s) {
  for (size_t i = 0; s->columns && i < s->count; i++)
    ft_free_names(s->columns[i].values, s->columns[i].value_count);
  ft_free_names(s->first, s->count);
  free(s->columns);
  *s = (ft_table_survey){0};
}

bool ft_column_is_numbers(const ft_column_survey *column) {
  return ft_forms_are_numbers(&column->forms);
}

bool ft_column_is_categories(const ft_table_survey *s, size_t column) {
  const ft_column_survey *c = &s->columns[column];
  const bool few = c->value_count <= ALWAYS_FEW || c->value_count * 2 <= s->rows;
  return !c->many && few && c->value_count > 0 && !ft_column_is_numbers(c);
}

static bool is_infinite(const char *text) {
  text += *text == '-' || *text == '+';
  return !ft_strcasecmp(text, "inf") || !ft_strcasecmp(text, "infinity");
}

filtra_status ft_survey_check_categories(const ft_table_survey *survey, size_t column,
                                         const char *path) {
  const ft_column_survey *c = &survey->columns[column];
  const ft_number_forms *f = &c->forms;
  const char *name = survey->first[column];
  for (size_t k = 0; k < c->value_count && f->numbers; k++)
    if (is_infinite(c->values[k]))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "column %zu, \"%.64s\", holds numbers and \"%s\"; an infinity cannot be used",
                     column + 1, name, c->values[k]);
  if (f->numbers * 2 > f->total)
    ft_log(FILTRA_LOG_WARNING,
           "%s: column \"%s\" is read as categories: %llu of %llu cells are numbers, but \"%s\" in "
           "line %llu is none",
           path, name, (unsigned long long)f->numbers, (unsigned long long)f->total, f->other,
           (unsigned long long)f->other_line);
  else if (c->value_count == f->total && f->total > 3)
    ft_log(FILTRA_LOG_WARNING,
           "%s: column \"%s\" is read as categories, and each of its %llu cells is another one",
           path, name, (unsigned long long)f->total);
  return FILTRA_OK;
}
