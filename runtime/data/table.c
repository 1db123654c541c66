/* The format "table", listed in dataset.c: tables with a sample per row. One column is the text or
 * sequence that a model reads, another the class or number that it predicts; for example molecules
 * as SMILES with a measured property. */
#include "base/file.h"
#include "base/memory.h"
#include "data/corpus.h"
#include "data/labels.h"
#include "data/names.h"
#include "data/number.h"
#include "data/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Accepted column names if no option names the column; the first in the list that exists is
 * used. */
static const char *const text_names[] = {"smiles",   "sequence", "seq",      "text",
                                         "sentence", "review",   "document", NULL};
static const char *const target_names[] = {"label",     "class", "target", "category", "measured",
                                           "sentiment", "value", "y",      NULL};
static const char *const endings[] = {".csv", ".tsv", NULL};

typedef struct table {
  const filtra_dataset_options *options;
  ft_split_files files;
  bool values; /* targets are numbers, not classes */
  ft_labels labels;
} table;

/* Positions of the columns in one file. */
typedef struct columns {
  bool header;
  size_t count, text, target;
} columns;

/* ---- columns ---- */

enum { NOWHERE = -1, LISTED = 400 };

static bool is_called(const char *field, const char *name) {
  size_t length = strlen(field);
  ft_trim(&field, &length);
  if (length == strlen(name)) return !strncasecmp(field, name, length);
  /* as in "measured log solubility in mols per litre" */
  return !strcmp(name, "measured") && length > 9 && !strncasecmp(field, "measured ", 9);
}

static long find_called(const ft_rows *rows, const char *name) {
  for (size_t i = 0; i < rows->count; i++)
    if (is_called(rows->fields[i], name)) return (long)i;
  return NOWHERE;
}

static long find_any(const ft_rows *rows, const char *const *names) {
  long found = NOWHERE;
  for (; *names && found == NOWHERE; names++)
    found = find_called(rows, *names);
  return found;
}

static filtra_status fail_columns(const ft_rows *rows, const char *key, const char *given) {
  char list[LISTED] = "";
  for (size_t i = 0, used = 0; i < rows->count && used < LISTED - 1; i++) {
    snprintf(list + used, LISTED - used, "%s\"%.40s\"", i ? ", " : "", rows->fields[i]);
    used = strlen(list);
  }
  if (given)
    return ft_fail(FILTRA_ERROR_INPUT, "%s is \"%.64s\"; the %zu columns are %s", key, given,
                   rows->count, list);
  return ft_fail(FILTRA_ERROR_INPUT, "set %s to one of the %zu columns, by name or number: %s", key,
                 rows->count, list);
}

/* Finds the column that an option names or numbers, from 1. */
static filtra_status find_given(const ft_rows *rows, const char *key, const char *given, columns *c,
                                long *found) {
  *found = NOWHERE;
  if (!given) return FILTRA_OK;
  bool digits = *given && strlen(given) < 7 && strspn(given, "0123456789") == strlen(given);
  *found = digits ? atol(given) - 1 : find_called(rows, given);
  if (!digits && *found != NOWHERE) c->header = true;
  if (*found >= 0 && *found < (long)rows->count) return FILTRA_OK;
  return fail_columns(rows, key, given);
}

/* Index of the longer field of two columns without names: the text. */
static long longer_field(const ft_rows *rows) {
  return strlen(rows->fields[1]) > strlen(rows->fields[0]);
}

static filtra_status find_columns(const table *t, const ft_rows *rows, columns *c) {
  long text, target, named_text = find_any(rows, text_names);
  long named_target = find_any(rows, target_names);
  *c = (columns){.count = rows->count, .header = named_text >= 0 || named_target >= 0};
  if (rows->count < 2) return ft_fail(FILTRA_ERROR_INPUT, "one column where two are needed");
  FT_TRY(find_given(rows, "text_column", t->options->text_column, c, &text));
  FT_TRY(find_given(rows, "target_column", t->options->target_column, c, &target));
  if (text == NOWHERE && named_text != target) text = named_text;
  if (target == NOWHERE && named_target != text) target = named_target;
  if (rows->count == 2 && text == NOWHERE && target == NOWHERE) text = longer_field(rows);
  if (rows->count == 2 && text == NOWHERE) text = 1 - target;
  if (rows->count == 2 && target == NOWHERE) target = 1 - text;
  if (text == NOWHERE) return fail_columns(rows, "text_column", NULL);
  if (target == NOWHERE) return fail_columns(rows, "target_column", NULL);
  if (text == target)
    return ft_fail(FILTRA_ERROR_INPUT, "text_column and target_column are the same column");
  c->text = (size_t)text;
  c->target = (size_t)target;
  return FILTRA_OK;
}

/* ---- rows ---- */

typedef filtra_status (*row_fn)(const ft_rows *rows, const columns *c, void *user);

static filtra_status take_row(const table *t, const ft_rows *rows, columns *c, row_fn take,
                              void *user) {
  if (c->count == 0) {
    FT_TRY(find_columns(t, rows, c));
    if (c->header) return FILTRA_OK;
  }
  if (rows->count != c->count)
    return ft_fail(FILTRA_ERROR_INPUT, "%zu field%s where the first row has %zu", rows->count,
                   &"s"[rows->count == 1], c -> count);
  return take(rows, c, user);
}

static filtra_status walk_rows(const table *t, ft_rows *rows, row_fn take, void *user) {
  columns c = {0};
  for (bool more = true; more;) {
    FT_TRY(ft_rows_next(rows, &more));
    filtra_status status = more ? take_row(t, rows, &c, take, user) : FILTRA_OK;
    if (status) return ft_rows_fail(rows, status);
  }
  return FILTRA_OK;
}

static filtra_status walk_file(const table *t, const char *path, row_fn take, void *user) {
  ft_rows rows;
  FT_TRY(ft_rows_open(path, &rows));
  filtra_status status = walk_rows(t, &rows, take, user);
  ft_rows_close(&rows);
  return status;
}

/* ---- what the targets are ---- */

typedef struct target_kinds {
  uint64_t whole, fractions, others;
  uint64_t line; /* of the first of `others` */
  char other[64];
} target_kinds;

static filtra_status count_target(const ft_rows *rows, const columns *c, void *user) {
  target_kinds *kinds = user;
  const char *text = rows->fields[c->target];
  size_t length = strlen(text);
  float value;
  ft_trim(&text, &length);
  if (ft_read_number(text, length, &value)) {
    if (kinds->others++) return FILTRA_OK;
    kinds->line = rows->number;
    snprintf(kinds->other, sizeof kinds->other, "%.*s", (int)(length < 40 ? length : 40), text);
  } else if (value == floorf(value)) {
    kinds->whole++;
  } else {
    kinds->fractions++;
  }
  return FILTRA_OK;
}

/* Targets are numbers if all are numbers and some are not whole; otherwise they are classes. */
static filtra_status choose_target(table *t, filtra_dataset *ds) {
  filtra_split split = FILTRA_SPLIT_TRAIN;
  while (!t->files.path[split])
    split++;
  const char *path = t->files.path[split];
  target_kinds kinds = {0};
  FT_TRY(walk_file(t, path, count_target, &kinds));
  if (kinds.whole + kinds.fractions + kinds.others == 0)
    return ft_fail(FILTRA_ERROR_INPUT, "%s has no samples", path);
  t->values = kinds.fractions > 0;
  ds->info.target = t->values ? FILTRA_TARGET_VALUE : FILTRA_TARGET_CLASS;
  if (!t->values || kinds.others == 0) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s:%llu: the target \"%s\" is no number that can be used, though %llu others are",
                 path, (unsigned long long)kinds.line, kinds.other,
                 (unsigned long long)kinds.fractions + kinds.whole);
}

/* ---- samples ---- */

typedef struct sample_reader {
  table *table;
  ft_corpus *corpus;
} sample_reader;

static filtra_status read_target(table *t, const char *text, ft_sample_row *row) {
  size_t length = strlen(text);
  ft_trim(&text, &length);
  if (t->values) return ft_read_number(text, length, &row->value);
  if ((length == 3 && !strncasecmp(text, "nan", 3)) || (length == 1 && *text == '?'))
    return ft_fail(FILTRA_ERROR_INPUT, "the class is missing (\"%.*s\")", (int)length, text);
  return ft_labels_find(&t->labels, text, length, &row->label);
}

static filtra_status read_sample(const ft_rows *rows, const columns *c, void *user) {
  const sample_reader *r = user;
  ft_samples *samples = &r->corpus->ds->samples[r->corpus->split];
  const char *text = rows->fields[c->text];
  size_t length = strlen(text);
  ft_sample_row target = {0};
  ft_trim(&text, &length);
  if (length == 0) return ft_fail(FILTRA_ERROR_INPUT, "the text is empty");
  FT_TRY(ft_corpus_add(r->corpus, text, length));
  if (!r->corpus->vocabulary) FT_TRY(read_target(r->table, rows->fields[c->target], &target));
  FT_TRY(ft_corpus_end_sample(r->corpus, target.label));
  if (!r->corpus->vocabulary && r->table->values)
    samples->rows[samples->count - 1].value = target.value;
  return FILTRA_OK;
}

/* Reads a split; the first one defines the classes. */
static filtra_status read_split(ft_corpus *corpus, void *user) {
  sample_reader r = {.table = user, .corpus = corpus};
  ft_samples *samples = &corpus->ds->samples[corpus->split];
  const char *path = r.table->files.path[corpus->split];
  if (!path) return FILTRA_OK;
  FT_TRY(walk_file(r.table, path, read_sample, &r));
  if (corpus->vocabulary) return FILTRA_OK;
  if (samples->count == 0) return ft_fail(FILTRA_ERROR_INPUT, "%s has no samples", path);
  if (r.table->labels.closed || r.table->values) return FILTRA_OK;
  return ft_labels_close(&r.table->labels, true, samples);
}

/* ---- files ---- */

static bool names_split(const void *user, const char *name, filtra_split *split) {
  (void)user;
  size_t length = ft_stem_length(name, endings), rest;
  return length > 0 && ft_stem_split(name, length, split, &rest);
}

static filtra_status open_table(const char *path, const filtra_dataset_options *options,
                                filtra_dataset *ds) {
  table t = {.options = options};
  filtra_status status =
      ft_split_files_find(path, options->file_split, &ft_format_table, names_split, NULL, &t.files);
  if (!status) status = choose_target(&t, ds);
  if (!status) status = ft_corpus_open(ds, path, options, "characters", read_split, &t);
  if (!status && !t.values) ft_labels_give(&t.labels, ds);
  ft_labels_free(&t.labels);
  ft_split_files_free(&t.files);
  return status;
}

/* ---- probing ---- */

/* Whether the first line of `head` names a text column and a target column. */
static bool names_columns(const char *head) {
  char line[256];
  bool text = false, target = false;
  snprintf(line, sizeof line, "%.*s", (int)strcspn(head, "\r\n"), head);
  char *rest = line;
  for (char *field; (field = strsep(&rest, "\t,;"));) {
    for (size_t i = 0; text_names[i]; i++)
      text = text || is_called(field, text_names[i]);
    for (size_t i = 0; target_names[i]; i++)
      target = target || is_called(field, target_names[i]);
  }
  return text && target;
}

static bool probe_table(const ft_dataset_probe *p) {
  const char *name = strrchr(p->path, '/');
  name = name ? name + 1 : p->path;
  if (!p->directory) return ft_stem_length(name, endings) > 0 || names_columns(p->head);
  return ft_any_names_split(p->names, p->count, names_split, NULL);
}

const ft_dataset_format ft_format_table = {
    "table", "a text or sequence and its class or number a row: train.csv, ... or .tsv, or one",
    probe_table, open_table};
