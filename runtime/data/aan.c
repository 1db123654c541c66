/* The format "aan-pairs", listed in dataset.c: pairs of papers of the ACL Anthology Network (Radev
 * et al. 2013), as Long Range Arena (Tay et al. 2021) distributes its retrieval task. Each line is
 * label<TAB>id<TAB>id<TAB>text<TAB>text; the label is 1.0 if one paper cites the other. */
#include "base/file.h"
#include "base/lines.h"
#include "base/memory.h"
#include "data/corpus.h"
#include "data/names.h"

#include <stdlib.h>
#include <string.h>

enum { FIELDS = 5, TASK_LENGTH = 4000 }; /* bytes of a paper that the task keeps */

static const char *const endings[] = {".tsv", NULL};
static const char *const classes[2] = {"0", "1"};
static const char file_prefix[] = "new_aan_pairs.";

/* ---- a line ---- */

typedef struct pair_fields {
  const char *text[FIELDS];
  size_t length[FIELDS];
} pair_fields;

static filtra_status cut_fields(const ft_lines *lines, pair_fields *f) {
  const char *at = lines->line, *end = lines->line + lines->length;
  size_t count = 0;
  for (const char *next; at; at = next, count++) {
    const char *tab = memchr(at, '\t', (size_t)(end - at));
    next = tab ? tab + 1 : NULL;
    if (count >= FIELDS) continue;
    f->text[count] = at;
    f->length[count] = (size_t)((tab ? tab : end) - at);
  }
  if (count == FIELDS) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%zu field%s where %d separated by tabs are expected", count,
                 &"s"[count == 1], FIELDS);
}

static bool read_label(const char *text, size_t length, int32_t *label) {
  *label = *text - '0';
  if (length == 0 || *label < 0 || *label > 1) return false;
  return length == 1 || (length == 3 && !memcmp(text + 1, ".0", 2));
}

static filtra_status add_text(ft_corpus *corpus, const char *text, size_t length,
                              uint32_t *tokens) {
  const filtra_dataset_options *o = corpus->options;
  FT_TRY(ft_corpus_add(corpus, text, length));
  return ft_corpus_end_sequence(corpus, o->max_length ? o->max_length : TASK_LENGTH,
                                o->truncate || !o->max_length, tokens);
}

static filtra_status read_pair(const ft_lines *lines, ft_corpus *corpus) {
  ft_samples *samples = &corpus->ds->samples[corpus->split];
  ft_sample_row row = {.first = corpus->first};
  pair_fields f;
  FT_TRY(cut_fields(lines, &f));
  if (!read_label(f.text[0], f.length[0], &row.label))
    return ft_fail(FILTRA_ERROR_INPUT, "the label is neither 0.0 nor 1.0");
  FT_TRY(add_text(corpus, f.text[3], f.length[3], &row.length));
  FT_TRY(add_text(corpus, f.text[4], f.length[4], &row.second_length));
  if (corpus->vocabulary) return FILTRA_OK;
  FT_TRY(FT_GROW(samples->rows, samples->count, samples->capacity));
  samples->rows[samples->count++] = row;
  return FILTRA_OK;
}

/* ---- files ---- */

static filtra_status read_lines(ft_lines *lines, ft_corpus *corpus) {
  for (;;) {
    bool more;
    FT_TRY(ft_lines_next(lines, &more));
    if (!more) break;
    filtra_status status = read_pair(lines, corpus);
    if (status)
      return ft_fail_context(status, "%s:%llu", lines->path, (unsigned long long)lines->number);
  }
  if (lines->number > 1) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s has no samples", lines->path);
}

static filtra_status read_split(ft_corpus *corpus, void *user) {
  const ft_split_files *files = user;
  ft_lines lines;
  if (!files->path[corpus->split]) return FILTRA_OK;
  FT_TRY(ft_lines_open(files->path[corpus->split], &lines));
  filtra_status status = read_lines(&lines, corpus);
  ft_lines_close(&lines);
  return status;
}

static bool names_split(const void *user, const char *name, filtra_split *split) {
  (void)user;
  size_t rest, prefix = strlen(file_prefix);
  return !strncmp(name, file_prefix, prefix) &&
         ft_stem_split(name, ft_stem_length(name, endings), split, &rest) && rest == prefix - 1;
}

static filtra_status open_pairs(const char *path, const filtra_dataset_options *options,
                                filtra_dataset *ds) {
  ft_split_files files;
  ds->info.sequences = 2;
  ds->info.classes = 2;
  ds->class_names = classes;
  filtra_status status = ft_split_files_find(path, options->file_split, &ft_format_aan_pairs,
                                             names_split, NULL, &files);
  if (!status) status = ft_corpus_open(ds, path, options, "bytes", read_split, &files);
  ft_split_files_free(&files);
  return status;
}

/* A file is recognised by its first label and two tabs after it. */
static bool probe_pairs(const ft_dataset_probe *p) {
  if (p->directory) return ft_any_names_split(p->names, p->count, names_split, NULL);
  if (strncmp(p->head, "0.0\t", 4) && strncmp(p->head, "1.0\t", 4)) return false;
  const char *tab = strchr(p->head + 4, '\t');
  return tab && strchr(tab + 1, '\t');
}

const ft_dataset_format ft_format_aan_pairs = {
    "aan-pairs", "pairs of papers: new_aan_pairs.train.tsv, .eval.tsv, .test.tsv, or one",
    probe_pairs, open_pairs};
