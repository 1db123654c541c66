/* Rows of a table as features: each row is a sample, each column a step with one number. Called by
 * table.c. */
#include "base/memory.h"
#include "data/number_form.h"
#include "data/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the numbers of a row ---- */

static filtra_status read_category(const ft_table_column *c, const char *text, size_t length,
                                   float *values) {
  const bool missing = ft_is_missing(text, length);
  bool found = missing;
  for (size_t i = 0; i < c->value_count; i++) {
    bool same = !missing && !strncmp(c->values[i], text, length) && !c->values[i][length];
    values[i] = missing ? NAN : same ? 1.0f : 0.0f;
    found = found || same;
  }
  if (found) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "column \"%s\": \"%.*s\" is none of the %zu texts of the "
                 "training file",
                 c->name, (int)(length < 40 ? length : 40), text, c->value_count);
}

static filtra_status read_number(const ft_table *t, const ft_table_column *c, uint64_t line,
                                 const char *text, size_t length, float *value) {
  *value = NAN;
  if (ft_is_missing(text, length)) return FILTRA_OK;
  if (t->later) ft_forms_add(t->later, text, length, line);
  filtra_status status = ft_read_form(text, length, t->fit->decimal, c->unit, value);
  return status ? ft_fail_context(status, "column \"%s\"", c->name) : FILTRA_OK;
}

filtra_status ft_table_numbers(const ft_table *t, const ft_row_reader *rows,
                               const ft_places *places, float *values) {
  for (size_t i = 0; i < t->fit->column_count; i++) {
    const ft_table_column *c = &t->fit->columns[i];
    const char *text = rows->fields[places->columns[i]];
    size_t length = strlen(text);
    ft_trim(&text, &length);
    FT_TRY(c->values ? read_category(c, text, length, values)
                     : read_number(t, c, rows->number, text, length, values));
    values += c->values ? c->value_count : 1;
  }
  return FILTRA_OK;
}

/* ---- a row as a sample ---- */

typedef struct row_reader {
  ft_table *table;
  ft_samples *samples;
  size_t width;
} row_reader;

static filtra_status read_row(const ft_row_reader *rows, const ft_places *places, void *user) {
  const row_reader *r = user;
  ft_samples *s = r->samples;
  ft_sample_row row = {.first = s->value_count, .length = (uint32_t)r->width};
  size_t wanted = s->value_count + r->width;
  if (wanted > s->value_capacity) {
    float *values = ft_realloc(s->values, 2 * wanted, sizeof *values);
    if (!values) return FILTRA_ERROR_HOST_MEMORY;
    s->values = values;
    s->value_capacity = 2 * wanted;
  }
  FT_TRY(ft_table_numbers(r->table, rows, places, s->values + s->value_count));
  FT_TRY(ft_table_target(r->table, rows, places, s, &row));
  FT_TRY(ft_table_name(rows, places, s));
  FT_TRY(FT_GROW(s->rows, s->count, s->capacity));
  s->value_count += r->width;
  s->rows[s->count++] = row;
  return FILTRA_OK;
}

filtra_status ft_table_read_features(ft_table *t, filtra_split split) {
  row_reader r = {t, &t->ds->samples[split], ft_table_width(t->fit)};
  const uint32_t limit = t->options->max_length;
  if (limit && r.width > limit)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: a row becomes %zu numbers, but max_length is %u; raise it, or name fewer "
                   "columns by feature_columns",
                   t->files.path[split], r.width, limit);
  FT_TRY(ft_table_walk(t, t->files.path[split], read_row, &r));
  return ft_table_end_file(t, split);
}
