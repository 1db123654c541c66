/* The format "table", listed in dataset.c: tables with a sample per row, or per group of rows. The
 * model reads one column of text or sequences, for example molecules as SMILES, or several columns
 * of numbers, and predicts another column, a class or number. */
#include "data/table.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const endings[] = {".csv", ".tsv", ".jsonl", ".ndjson", NULL};
static const char *const text_endings[] = {".txt", NULL};

/* ---- samples of text ---- */

typedef struct sample_reader {
  ft_table *table;
  ft_corpus *corpus;
} sample_reader;

static filtra_status add_target(const sample_reader *r, const ft_row_reader *rows,
                                const ft_places *places) {
  ft_samples *samples = &r->corpus->ds->samples[r->corpus->split];
  ft_sample_row target = {0};
  FT_TRY(ft_table_target(r->table, rows, places, samples, &target));
  FT_TRY(ft_table_name(rows, places, samples));
  FT_TRY(ft_corpus_end_sample(r->corpus, target.label));
  if (r->table->values) samples->rows[samples->count - 1].value = target.value;
  return FILTRA_OK;
}

static filtra_status add_text(const sample_reader *r, const char *text, const char *which) {
  size_t length = strlen(text);
  ft_trim(&text, &length);
  if (length == 0) return ft_fail(FILTRA_ERROR_INPUT, "the %s is empty", which);
  return ft_corpus_add(r->corpus, text, length);
}

static filtra_status read_sample(const ft_row_reader *rows, const ft_places *places, void *user) {
  const sample_reader *r = user;
  FT_TRY(add_text(r, rows->fields[places->text], "text"));
  if (places->second != FT_NOWHERE) {
    FT_TRY(ft_corpus_add_second(r->corpus));
    FT_TRY(add_text(r, rows->fields[places->second], "second text"));
  }
  return r->corpus->vocabulary ? ft_corpus_end_sample(r->corpus, 0) : add_target(r, rows, places);
}

/* Reads a split; the first one defines the classes. */
static filtra_status read_split(ft_corpus *corpus, void *user) {
  sample_reader r = {.table = user, .corpus = corpus};
  const char *path = r.table->files.path[corpus->split];
  if (!path) return FILTRA_OK;
  FT_TRY(ft_table_walk(r.table, path, read_sample, &r));
  return corpus->vocabulary ? FILTRA_OK : ft_table_end_file(r.table, corpus->split);
}

/* ---- samples of numbers ---- */

static filtra_status read_numbers(ft_table *t, const char *path) {
  filtra_dataset *ds = t->ds;
  const size_t width = ft_table_width(t->fit);
  const bool series = t->fit->group != NULL;
  if (t->options->tokenizer)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "tokenizer is \"%.64s\", but %s is read as numbers",
                   t->options->tokenizer, path);
  if (width > UINT16_MAX)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: a row becomes %zu numbers; at most %d are supported",
                   path, width, UINT16_MAX);
  ds->info.input = FILTRA_INPUT_FEATURES;
  ds->info.features = series ? (uint32_t)width : 1;
  ds->columns = series ? 0 : (uint32_t)width;
  ds->standardise = true;
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++)
    if (t->files.path[split])
      FT_TRY(series ? ft_table_read_series(t, split) : ft_table_read_features(t, split));
  return FILTRA_OK;
}

/* ---- files ---- */

/* `user` is the list of endings. */
static bool names_split(const void *user, const char *name, filtra_split *split) {
  size_t length = ft_stem_length(name, user), rest;
  return length > 0 && ft_stem_split(name, length, split, &rest);
}

/* Whether the options imply a table: text files are then read as one. */
static bool names_table(const filtra_dataset_options *o) {
  return o->text_column || o->target_column || o->feature_columns;
}

/* Takes the columns of a run's training file, or finds them in the first file. */
static filtra_status find_columns(ft_table *t) {
  const ft_data_fit *fit = t->ds->fit;
  filtra_split split = FILTRA_SPLIT_TRAIN;
  while (!t->files.path[split])
    split++;
  t->first = t->files.path[split];
  if (!fit->table) return ft_table_learn(t);
  t->fit = fit->table;
  FT_TRY(ft_table_fit_copy(fit->table, &t->ds->table));
  t->values = fit->values;
  t->several = t->fit->separator || t->fit->label_count;
  return FILTRA_OK;
}

/* Warns of a column that is called SMILES and read as text, since nobody said otherwise. */
static void warn_of_molecules(const ft_table *t) {
  static const char WORD[] = "smiles";
  if (!t->fit->text || t->ds->fit->table || t->options->tokenizer || t->options->fitted) return;
  for (const char *at = t->fit->text; *at; at++) {
    size_t length = 0;
    while (length < sizeof WORD - 1 && (at[length] | 0x20) == WORD[length])
      length++;
    if (length < sizeof WORD - 1) continue;
    ft_log(FILTRA_LOG_WARNING,
           "%s: column \"%.64s\" is read as text; tokenizer smiles reads molecules as graphs",
           t->first, t->fit->text);
    return;
  }
}

static filtra_status read_table(ft_table *t, const char *path) {
  FT_TRY(find_columns(t));
  warn_of_molecules(t);
  FT_TRY(ft_table_name_labels(t));
  t->ds->info.target = t->values    ? FILTRA_TARGET_VALUE
                       : t->several ? FILTRA_TARGET_LABELS
                                    : FILTRA_TARGET_CLASS;
  if (t->fit->text)
    FT_TRY(ft_corpus_open(t->ds, path, t->options, "characters", read_split, t));
  else
    FT_TRY(read_numbers(t, path));
  t->ds->untargeted = !t->targeted;
  if (t->targeted && !t->values) ft_labels_give(&t->labels, t->ds);
  return FILTRA_OK;
}

/* Chooses which files of a folder are its tables: those that end as tables do or, if these are no
 * splits, .txt. */
static filtra_status choose_endings(const char *path, const filtra_dataset_options *options,
                                    const char *const **chosen) {
  char **names;
  size_t count;
  *chosen = endings;
  if (!ft_is_directory(path) || !names_table(options)) return FILTRA_OK;
  FT_TRY(ft_list_files(path, &names, &count));
  if (!ft_any_names_split(names, count, names_split, endings)) *chosen = text_endings;
  ft_free_names(names, count);
  return FILTRA_OK;
}

static filtra_status open_table(const char *path, const filtra_dataset_options *options,
                                filtra_dataset *ds) {
  ft_table t = {.options = options, .ds = ds};
  const char *const *wanted;
  FT_TRY(choose_endings(path, options, &wanted));
  filtra_status status = ft_split_files_find(path, options->file_split, &ft_format_table,
                                             names_split, wanted, &t.files);
  if (!status) status = ft_split_files_warn(path, wanted);
  if (!status) status = read_table(&t, path);
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
  for (char *field; (field = ft_strsep(&rest, "\t,;|"));) {
    text = text || ft_names_text(field);
    target = target || ft_names_target(field);
  }
  return text && target;
}

static bool probe_table(const ft_dataset_probe *p) {
  const char *name = ft_path_name(p->path);
  const bool text = names_table(p->options);
  if (!p->directory)
    return ft_stem_length(name, endings) > 0 || names_columns(p->head) ||
           (text && ft_stem_length(name, text_endings) > 0);
  return ft_any_names_split(p->names, p->count, names_split, endings) ||
         (text && ft_any_names_split(p->names, p->count, names_split, text_endings));
}

const ft_dataset_format ft_format_table = {
    "table",
    "rows of a text, or of numbers, and a class or number: train.csv, ... or .tsv, .jsonl, or one",
    probe_table, open_table};
