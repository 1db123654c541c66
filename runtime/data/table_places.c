/* Finds the columns of a table in one of its files by the names that the training file has, in any
 * order. Called by table.c and its other parts. */
#include "base/memory.h"
#include "base/text.h"
#include "data/number_form.h"
#include "data/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ft_row_form ft_table_form(const filtra_dataset_options *options) {
  return (ft_row_form){"\0,\t;|"[options->delimiter], options -> quoting};
}

long ft_find_column(const char *const *fields, size_t count, const char *name, bool *twice) {
  long found = FT_NOWHERE;
  size_t exact = 0, near = 0;
  for (size_t i = 0; i < count; i++) {
    const char *field = fields[i];
    size_t length = strlen(field);
    ft_trim(&field, &length);
    if (length != strlen(name) || ft_strncasecmp(field, name, length) != 0) continue;
    bool same = !strncmp(field, name, length);
    if (same ? !exact : !exact && !near) found = (long)i;
    exact += same;
    near += !same;
  }
  *twice = exact > 1 || (!exact && near > 1);
  return found;
}

long ft_find_id(const char *const *fields, size_t count) {
  /* pandas writes the last two */
  static const char *const names[] = {"id", "index", "", "unnamed: 0"};
  long found = FT_NOWHERE;
  for (size_t i = 0; i < FT_COUNT(names) && found == FT_NOWHERE; i++) {
    bool twice;
    found = ft_find_column(fields, count, names[i], &twice);
    if (twice || (!*names[i] && found > 0)) found = FT_NOWHERE; /* or a delimiter ends rows */
  }
  return found;
}

/* ---- one file ---- */

/* A file and its first row. */
typedef struct header {
  const ft_table *table;
  const ft_row_reader *rows;
} header;

static filtra_status fail_missing(const header *h, const char *name) {
  const bool target = name == h->table->fit->target;
  char list[FT_LISTED];
  ft_list_quoted(h->rows->fields, h->rows->count, list);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "there is no column \"%.64s\", which the training file has; the columns are %s%s",
                 name, list, target ? ". Without targets a file can only be predicted" : "");
}

static filtra_status place(const header *h, const char *name, bool needed, long *found) {
  const ft_table_fit *fit = h->table->fit;
  bool twice = false;
  *found = FT_NOWHERE;
  if (!name) return FILTRA_OK;
  if (fit->header)
    *found = ft_find_column(h->rows->fields, h->rows->count, name, &twice);
  else
    *found = atol(name) - 1;
  if (twice) return ft_fail(FILTRA_ERROR_INPUT, "two columns are called \"%.64s\"", name);
  if (*found >= (long)h->rows->count) *found = FT_NOWHERE;
  return *found == FT_NOWHERE && needed ? fail_missing(h, name) : FILTRA_OK;
}

/* Without a header, only the last column, the target, can be missing. */
static filtra_status check_count(const header *h) {
  const ft_table_fit *fit = h->table->fit;
  const bool last = fit->target && (size_t)atol(fit->target) == fit->count;
  size_t count = h->rows->count;
  if (fit->header || count == fit->count) return FILTRA_OK;
  if (h->table->options->unlabelled && last && count + 1 == fit->count) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%zu field%s where the training file has %zu", count,
                 &"s"[count == 1], fit -> count);
}

/* Takes names of samples from a column of ids that is not read otherwise, if the training file had
 * none. */
static void place_id(const header *h, ft_places *p) {
  const ft_table_fit *fit = h->table->fit;
  if (!fit->header || fit->id || h->table->learnt) return;
  p->id = ft_find_id(h->rows->fields, h->rows->count);
  bool read = p->id == p->text || p->id == p->second || p->id == p->target || p->id == p->group ||
              p->id == p->time;
  for (size_t i = 0; i < fit->column_count; i++)
    read = read || p->id == p->columns[i];
  for (size_t i = 0; i < fit->label_count; i++)
    read = read || p->id == p->labels[i];
  if (read) p->id = FT_NOWHERE;
}

/* Without one of the columns of labels, a file counts as one without targets. */
static void forget_labels(const header *h, ft_places *p, const char *missing) {
  for (size_t i = 0; i < h->table->fit->label_count; i++)
    p->labels[i] = FT_NOWHERE;
  ft_log(
      FILTRA_LOG_WARNING,
      "%s: there is no column \"%.64s\", a label of the training file: no labels are read, and the "
      "samples can only be predicted",
      h->rows->lines.path, missing);
}

/* Places the columns of labels: all of them, or none in a file without targets. */
static filtra_status place_labels(const header *h, ft_places *p) {
  const ft_table_fit *fit = h->table->fit;
  size_t found = 0;
  p->labels = ft_calloc(fit->label_count, sizeof *p->labels);
  if (!p->labels) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < fit->label_count; i++) {
    FT_TRY(place(h, fit->labels[i], !h->table->options->unlabelled, &p->labels[i]));
    found += p->labels[i] != FT_NOWHERE;
  }
  for (size_t i = 0; i < fit->label_count && found && found < fit->label_count; i++)
    if (p->labels[i] == FT_NOWHERE) {
      forget_labels(h, p, fit->labels[i]);
      found = 0;
    }
  return FILTRA_OK;
}

static filtra_status place_all(const header *h, ft_places *p) {
  const ft_table_fit *fit = h->table->fit;
  p->count = h->rows->count;
  FT_TRY(check_count(h));
  FT_TRY(place(h, fit->text, true, &p->text));
  FT_TRY(place(h, fit->second, true, &p->second));
  FT_TRY(place(h, fit->target, !h->table->options->unlabelled, &p->target));
  FT_TRY(place(h, fit->id, false, &p->id));
  FT_TRY(place(h, fit->group, true, &p->group));
  FT_TRY(place(h, fit->time, true, &p->time));
  p->columns = ft_calloc(fit->column_count, sizeof *p->columns);
  if (!p->columns) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < fit->column_count; i++)
    FT_TRY(place(h, fit->columns[i].name, true, &p->columns[i]));
  FT_TRY(place_labels(h, p));
  place_id(h, p);
  return FILTRA_OK;
}

bool ft_places_target(const ft_table *t, const ft_places *places) {
  return t->fit->label_count ? places->labels[0] != FT_NOWHERE : places->target != FT_NOWHERE;
}

static filtra_status take_row(ft_table *t, ft_row_reader *rows, ft_places *p, ft_row_fn take,
                              void *user) {
  if (p->count == 0) {
    FT_TRY(place_all(&(header){t, rows}, p));
    t->targeted = t->targeted || ft_places_target(t, p);
    if (t->fit->header || rows->named) return FILTRA_OK;
  }
  bool longer;
  FT_TRY(ft_rows_check(rows, p->count, &longer));
  if (longer && t->longer++ == 0) t->longer_line = rows->number;
  return take(rows, p, user);
}

static filtra_status walk_rows(ft_table *t, ft_row_reader *rows, ft_places *p, ft_row_fn take,
                               void *user) {
  for (bool more = true; more;) {
    FT_TRY(ft_rows_next(rows, &more));
    filtra_status status = more ? take_row(t, rows, p, take, user) : FILTRA_OK;
    if (status) return ft_rows_fail(rows, status);
  }
  return FILTRA_OK;
}

filtra_status ft_table_walk(ft_table *t, const char *path, ft_row_fn take, void *user) {
  ft_row_reader rows;
  ft_places places = {0};
  ft_number_forms later = {0};
  const bool decides = t->learnt && path == t->first;
  FT_TRY(ft_rows_open(path, ft_table_form(t->options), &rows));
  t->longer = 0;
  t->later = decides ? NULL : &later;
  filtra_status status = walk_rows(t, &rows, &places, take, user);
  t->later = NULL;
  if (!status)
    ft_forms_warn(&later, path, t->fit->decimal, t->fit->decimal_seen, t->fit->thousands_seen);
  ft_rows_close(&rows);
  free(places.columns);
  free(places.labels);
  return status;
}
