/* Targets of several labels: texts such as "cats;sun", or for each label a column of 0, 1 and empty
 * fields, where it is unknown.
 * Called by table.c, table_learn.c and table_targets.c. */
#include "base/memory.h"
#include "base/text.h"
#include "data/number_form.h"
#include "data/table.h"

#include <stdlib.h>
#include <string.h>

/* ---- one row ---- */

static bool is_unknown(const char *text, size_t length) {
  return length > 0 && ft_is_missing(text, length);
}

static bool is_quote(char c) {
  return c == '\'' || c == '"';
}

/* Removes the brackets of a list as Python prints it; false: the text is no list, and neither is
 * "(a);(b)". */
static bool open_list(const char **text, size_t *length) {
  const char *const pairs[] = {"[]", "()", "{}"};
  for (size_t i = 0; i < 3; i++) {
    if (*length < 2 || **text != pairs[i][0] || (*text)[*length - 1] != pairs[i][1]) continue;
    if (!is_quote((*text)[1]) && memchr(*text + 1, pairs[i][1], *length - 2)) continue;
    ++*text;
    *length -= 2;
    return true;
  }
  return false;
}

/* Removes the quotes of an element of such a list. */
static void open_quotes(const char **text, size_t *length) {
  if (*length < 2 || !is_quote(**text) || (*text)[*length - 1] != **text) return;
  ++*text;
  *length -= 2;
}

/* Finds the separator after a label, or the end; a quoted element of a list may contain the
 * separator. */
static const char *find_end(const char *text, const char *end, char separator, bool list) {
  while (list && text < end && *text == ' ')
    text++;
  const char *close = list && text < end && is_quote(*text)
                          ? memchr(text + 1, *text, (size_t)(end - text - 1))
                          : NULL;
  if (close) text = close;
  const char *next = memchr(text, separator, (size_t)(end - text));
  return next ? next : end;
}

static filtra_status read_text(ft_table *t, const char *text, size_t length, ft_samples *samples) {
  const bool list = open_list(&text, &length);
  for (const char *end = text + length; text < end;) {
    const char *part = text, *next = find_end(text, end, t->fit->separator, list);
    size_t count = (size_t)(next - text);
    int32_t label;
    ft_trim(&part, &count);
    if (list) open_quotes(&part, &count);
    if (count > 0) FT_TRY(ft_labels_find(&t->labels, part, count, &label));
    if (count > 0) FT_TRY(ft_samples_add_label(samples, label, true));
    text = next < end ? next + 1 : end;
  }
  return FILTRA_OK;
}

/* Reads 0 or 1; -1: it is missing, -2: something else. */
static int read_flag(const char *text, size_t length) {
  static const char *const names[2][4] = {{"0", "0.0", "false", "no"}, {"1", "1.0", "true", "yes"}};
  if (ft_is_missing(text, length)) return -1;
  for (int value = 0; value < 2; value++)
    for (size_t i = 0; i < 4; i++)
      if (strlen(names[value][i]) == length && !ft_strncasecmp(text, names[value][i], length))
        return value;
  return -2;
}

static filtra_status read_column(const ft_table *t, const char *text, size_t i,
                                 ft_samples *samples) {
  size_t length = strlen(text);
  ft_trim(&text, &length);
  const int flag = read_flag(text, length);
  if (flag == 0) return FILTRA_OK;
  if (flag >= -1) return ft_samples_add_label(samples, (int32_t)i, flag == 1);
  return ft_fail(
      FILTRA_ERROR_INPUT,
      "column \"%s\", a label, is \"%.*s\"; accepted are 0 and 1, false and true, no and "
      "yes, and an empty field where it is unknown",
      t->fit->labels[i], (int)(length < 40 ? length : 40), text);
}

static filtra_status read_columns(const ft_table *t, const ft_row_reader *rows,
                                  const ft_places *places, ft_samples *samples) {
  for (size_t i = 0; i < t->fit->label_count; i++)
    FT_TRY(read_column(t, rows->fields[places->labels[i]], i, samples));
  return FILTRA_OK;
}

static filtra_status read_target(ft_table *t, const char *text, ft_samples *samples, bool *known) {
  size_t length = strlen(text);
  ft_trim(&text, &length);
  *known = !is_unknown(text, length);
  if (*known) return read_text(t, text, length, samples);
  if (t->options->unlabelled) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "the labels are missing (\"%.*s\"); a row without any has an empty field",
                 (int)length, text);
}

filtra_status ft_table_labels(ft_table *t, const ft_row_reader *rows, const ft_places *places,
                              ft_samples *samples, int32_t *set) {
  bool known = true;
  FT_TRY(t->fit->label_count ? read_columns(t, rows, places, samples)
                             : read_target(t, rows->fields[places->target], samples, &known));
  FT_TRY(ft_samples_end_set(samples, set));
  if (!known) *set = -1;
  return FILTRA_OK;
}

/* ---- unknown labels ---- */

/* How often a label applies in a file, and how often it is unknown. */
typedef struct label_count {
  uint64_t ones, unknown;
} label_count;

/* Counts each label; returns all that are unknown. */
static uint64_t count_labels(const ft_samples *samples, label_count *counts) {
  uint64_t unknown = 0;
  for (size_t i = 0; i < samples->count; i++) {
    uint32_t count[2];
    const int32_t *labels = ft_samples_labels(samples, samples->rows[i].label, count);
    for (uint32_t k = 0; k < count[0]; k++)
      counts[labels[k]].ones++;
    for (uint32_t k = count[0]; k < count[0] + count[1]; k++)
      counts[labels[k]].unknown++;
    unknown += count[1];
  }
  return unknown;
}

/* An empty field means an unknown label only where others say 0: in a column of 1 and nothing else
 * it may mean 0. `decides`: a model may learn from this file. */
static filtra_status check_column(const char *path, const char *name, const label_count *count,
                                  uint64_t rows, bool decides) {
  if (count->unknown == 0 || count->ones + count->unknown < rows) return FILTRA_OK;
  if (decides && count->ones == 0)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: column \"%s\", a label, is empty", path, name);
  if (decides)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: column \"%s\", a label, holds 1 and empty fields, which may mean 0 or "
                   "unknown: write 0 where the label does not apply",
                   path, name);
  if (count->ones)
    ft_log(FILTRA_LOG_WARNING,
           "%s: column \"%s\", a label, holds 1 and empty fields, which are taken as unknown", path,
           name);
  return FILTRA_OK;
}

/* Marks all samples as without a target. */
static void drop_labels(ft_samples *samples) {
  for (size_t i = 0; i < samples->count; i++)
    samples->rows[i].label = -1;
}

static filtra_status check_labels(const ft_table *t, const char *path, ft_samples *samples,
                                  label_count *counts) {
  const size_t labels = t->fit->label_count;
  const uint64_t unknown = count_labels(samples, counts), all = (uint64_t)samples->count * labels;
  const bool training = samples == &t->ds->samples[FILTRA_SPLIT_TRAIN];
  const bool decides = t->learnt && path == t->first && (training || !t->options->unlabelled);
  if (unknown == all && t->options->unlabelled) {
    drop_labels(samples);
    return FILTRA_OK;
  }
  if (unknown == all) return ft_fail(FILTRA_ERROR_INPUT, "%s: no label of any row is known", path);
  for (size_t i = 0; i < labels; i++)
    FT_TRY(check_column(path, t->fit->labels[i], &counts[i], samples->count, decides));
  if (unknown)
    ft_log(FILTRA_LOG_WARNING,
           "%s: %llu of %llu labels are empty fields: unknown, and left out of losses and scores",
           path, (unsigned long long)unknown, (unsigned long long)all);
  return FILTRA_OK;
}

filtra_status ft_table_check_labels(const ft_table *t, const char *path, ft_samples *samples) {
  if (!t->fit->label_count || !samples->sets) return FILTRA_OK;
  label_count *counts = ft_calloc(t->fit->label_count, sizeof *counts);
  if (!counts) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = check_labels(t, path, samples, counts);
  free(counts);
  return status;
}

filtra_status ft_table_name_labels(ft_table *t) {
  int32_t label;
  for (size_t i = 0; i < t->fit->label_count; i++) {
    FT_TRY(ft_labels_find(&t->labels, t->fit->labels[i], strlen(t->fit->labels[i]), &label));
    if ((size_t)label < i)
      return ft_fail(FILTRA_ERROR_INPUT, "two columns of labels are called \"%.64s\"",
                     t->labels.names[label]);
  }
  t->labels.closed = t->fit->label_count > 0;
  return FILTRA_OK;
}

/* ---- the separator ---- */

static const char MARKS[] = ";|,";

/* Counts the rows that contain each candidate separator. */
static filtra_status count_marks(const ft_row_reader *rows, const ft_places *places, void *user) {
  uint64_t *counts = user;
  for (size_t i = 0; MARKS[i]; i++)
    counts[i] += strchr(rows->fields[places->target], MARKS[i]) != NULL;
  return FILTRA_OK;
}

filtra_status ft_separator_read(const char *option, char *separator) {
  const bool space = !ft_strcasecmp(option, "space"), tab = !ft_strcasecmp(option, "tab");
  *separator = *option;
  if (space) *separator = ' ';
  if (tab) *separator = '\t';
  if (space || tab || strlen(option) == 1) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "label_separator is \"%.40s\", accepted are one character, space and tab", option);
}

filtra_status ft_table_find_separator(ft_table *t, char *separator) {
  uint64_t counts[sizeof MARKS] = {0};
  size_t found = 0;
  if (t->options->label_separator) return ft_separator_read(t->options->label_separator, separator);
  FT_TRY(ft_table_walk(t, t->first, count_marks, counts));
  for (size_t i = 0; MARKS[i]; i++)
    if (counts[i]) *separator = MARKS[i];
  for (size_t i = 0; MARKS[i]; i++)
    found += counts[i] > 0;
  if (found == 1) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: column \"%s\" has %s of ; | and , between labels; set label_separator to the "
                 "character that is (or space), or target_column to several columns of 0 and 1",
                 t->first, t->fit->target, found ? "several" : "none");
}
