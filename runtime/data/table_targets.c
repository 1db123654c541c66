/* Targets of a table's rows, and whether its classes are plausible. Called by table.c and its other
 * parts. */
#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"
#include "data/number_form.h"
#include "data/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one target ---- */

static bool is_missing_class(const ft_table *t, const char *text, size_t length) {
  if (t->numbered) return ft_is_missing(text, length);
  return length == 0 || (length == 3 && !ft_strncasecmp(text, "nan", 3)) ||
         (length == 1 && *text == '?');
}

static filtra_status read_class(ft_table *t, const char *text, size_t length, int32_t *label) {
  if (is_missing_class(t, text, length)) {
    *label = -1;
    if (t->options->unlabelled) return FILTRA_OK;
    if (length > 0)
      return ft_fail(FILTRA_ERROR_INPUT, "the class is missing (\"%.*s\")", (int)length, text);
  }
  return ft_labels_find(&t->labels, text, length, label);
}

static filtra_status read_value(const ft_table *t, uint64_t line, const char *text, size_t length,
                                float *value) {
  *value = NAN;
  if (t->options->unlabelled && ft_is_missing(text, length)) return FILTRA_OK;
  if (t->later) ft_forms_add(t->later, text, length, line);
  filtra_status status = ft_read_form(text, length, t->fit->decimal, t->fit->unit, value);
  return status ? ft_fail_context(status, "the target") : FILTRA_OK;
}

filtra_status ft_table_target(ft_table *t, const ft_row_reader *rows, const ft_places *places,
                              ft_samples *samples, ft_sample_row *row) {
  if (!ft_places_target(t, places)) {
    if (t->values)
      row->value = NAN;
    else
      row->label = -1;
    return FILTRA_OK;
  }
  if (t->several) return ft_table_labels(t, rows, places, samples, &row->label);
  const char *text = rows->fields[places->target];
  size_t length = strlen(text);
  ft_trim(&text, &length);
  return t->values ? read_value(t, rows->number, text, length, &row->value)
                   : read_class(t, text, length, &row->label);
}

filtra_status ft_table_name(const ft_row_reader *rows, const ft_places *places,
                            ft_samples *samples) {
  if (places->id == FT_NOWHERE) return FILTRA_OK;
  const char *text = rows->fields[places->id];
  size_t length = strlen(text);
  ft_trim(&text, &length);
  if (!ft_utf8_valid(text, length))
    return ft_fail(FILTRA_ERROR_INPUT, "the id is no UTF-8; save the file as that");
  return ft_samples_add_name(samples, text, length);
}

/* ---- several labels in one ---- */

/* Parts of labels such as "cats;sun". */
typedef struct part {
  const char *text;
  size_t length, label;
} part;

typedef struct parts {
  part *list;
  size_t count, capacity;
} parts;

static int compare_parts(const void *a, const void *b) {
  const part *x = a, *y = b;
  int order = strncmp(x->text, y->text, x->length < y->length ? x->length : y->length);
  if (order) return order;
  if (x->length != y->length) return x->length < y->length ? -1 : 1;
  return (x->label > y->label) - (x->label < y->label);
}

static filtra_status add_parts(parts *p, const char *name, size_t label, char separator) {
  const char ends[2] = {separator, '\0'};
  for (size_t length; name; name = name[length] ? name + length + 1 : NULL) {
    const char *text = name;
    length = strcspn(name, ends);
    size_t count = length;
    for (; count > 0 && strchr(" '\"[](){}", *text); text++) /* signs of printed lists */
      count--;
    while (count > 0 && strchr(" '\"[](){}", text[count - 1]))
      count--;
    FT_TRY(FT_GROW(p->list, p->count, p->capacity));
    if (count > 0) p->list[p->count++] = (part){text, count, label};
  }
  return FILTRA_OK;
}

/* Whether more than half of the distinct parts occur in several labels. */
static bool most_recur(const parts *p) {
  size_t different = 0, recur = 0;
  for (size_t i = 0, next; i < p->count; i = next) {
    bool again = false;
    for (next = i + 1; next < p->count && p->list[next].length == p->list[i].length &&
                       !strncmp(p->list[next].text, p->list[i].text, p->list[i].length);
         next++)
      again = again || p->list[next].label != p->list[i].label;
    different++;
    recur += again;
  }
  return recur * 2 > different;
}

static filtra_status have_parts(const ft_table *t, const ft_samples *samples, char separator,
                                bool *have) {
  parts p = {0};
  size_t with = 0;
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < samples->count; i++)
    with += samples->rows[i].label >= 0 &&
            strchr(t->labels.names[samples->rows[i].label], separator) != NULL;
  *have = with * 2 > samples->count;
  for (size_t i = 0; i < t->labels.count && *have && !status; i++)
    status = add_parts(&p, t->labels.names[i], i, separator);
  if (p.count) qsort(p.list, p.count, sizeof *p.list, compare_parts);
  *have = *have && !status && most_recur(&p);
  free(p.list);
  return status;
}

/* A label that contains the separator. */
static const char *label_with(const ft_table *t, char separator) {
  size_t i = 0;
  while (i + 1 < t->labels.count && !strchr(t->labels.names[i], separator))
    i++;
  return t->labels.names[i];
}

static filtra_status check_parts(const ft_table *t, const char *path, const ft_samples *samples) {
  for (const char *c = ";|,"; *c; c++) {
    bool have;
    FT_TRY(have_parts(t, samples, *c, &have));
    if (have)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: column \"%s\" holds several labels a row, as in \"%.64s\": set task to "
                     "multi_label, or to classification to take each combination as a class",
                     path, t->fit->target, label_with(t, *c));
  }
  return FILTRA_OK;
}

/* ---- implausible classes ---- */

/* Fails if there are more classes than half the rows. */
static filtra_status check_number(const ft_table *t, const char *path) {
  char *where = ft_format("%s: column \"%s\"", path, t->fit->target);
  if (!where) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status =
      ft_labels_check(&t->labels, t->ds, t->options, where,
                      t->numbered ? FT_NUMBERS_ADVICE
                                  : "set target_column to another, or task to classification if "
                                    "they are classes. Dates and other forms of numbers are to be "
                                    "written as numbers first");
  free(where);
  return status;
}

static filtra_status warn_of_single(const ft_table *t, const char *path,
                                    const ft_samples *samples) {
  uint32_t *counts = ft_calloc(t->labels.count, sizeof *counts);
  size_t single = 0, first = 0;
  if (!counts) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < samples->count; i++)
    if (samples->rows[i].label >= 0) counts[samples->rows[i].label]++;
  for (size_t i = t->labels.count; i-- > 0;)
    if (counts[i] == 1) {
      first = i;
      single++;
    }
  free(counts);
  if (single)
    ft_log(FILTRA_LOG_WARNING,
           "%s: column \"%s\": %zu of %zu classes, such as \"%.64s\", have one sample", path,
           t->fit->target, single, t->labels.count, t->labels.names[first]);
  return FILTRA_OK;
}

/* Warns that NA, which may be Namibia, was read as a missing target. */
static void warn_of_missing(const ft_table *t, const char *path) {
  for (size_t i = 0; i < t->labels.count; i++)
    if (ft_is_missing(t->labels.names[i], strlen(t->labels.names[i])))
      ft_log(FILTRA_LOG_WARNING,
             "%s: column \"%s\": \"%s\" is taken as a class; where it means that the class is "
             "unknown, take these rows out",
             path, t->fit->target, t->labels.names[i]);
}

/* Fails, or warns, if the classes of a first file are implausible. */
static filtra_status check_classes(const ft_table *t, const char *path, const ft_samples *samples) {
  const bool training = samples == &t->ds->samples[FILTRA_SPLIT_TRAIN];
  if (!t->learnt || !t->labels.count) return FILTRA_OK;
  if (t->options->targets == FILTRA_TARGETS_AUTO) FT_TRY(check_parts(t, path, samples));
  if (!training) return FILTRA_OK;
  warn_of_missing(t, path);
  FT_TRY(check_number(t, path));
  return warn_of_single(t, path, samples);
}

filtra_status ft_table_end_file(ft_table *t, filtra_split split) {
  ft_samples *samples = &t->ds->samples[split];
  const char *path = t->files.path[split];
  if (samples->count == 0) return ft_fail(FILTRA_ERROR_INPUT, "%s has no samples", path);
  if (t->longer)
    ft_log(FILTRA_LOG_WARNING,
           "%s: %llu row%s more fields than the first, as in line %llu; what is beyond is left "
           "out",
           path, (unsigned long long)t->longer, t->longer == 1 ? " has" : "s have",
           (unsigned long long)t->longer_line);
  if (t->several && t->targeted) FT_TRY(ft_table_check_labels(t, path, samples));
  if (t->labels.closed || t->values || !t->targeted) return FILTRA_OK;
  FT_TRY(ft_labels_close(&t->labels, true, samples));
  if (t->several && !t->labels.count)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: no row has a label in column \"%s\"", path,
                   t->fit->target);
  if (t->several) return FILTRA_OK;
  return check_classes(t, path, samples);
}
