/* The format for text of language models, listed in dataset.c: one stream of tokens per split, cut
 * into windows. */
#include "base/file.h"
#include "base/memory.h"
#include "base/source.h"
#include "base/text.h"
#include "data/corpus.h"
#include "data/names.h"
#include "data/text.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_WINDOW = 256 };

/* ---- files ---- */

static const char *const endings[] = {".txt", ".text", ".tokens", ".raw", NULL};

/* Whether a file's name, without its ending, is a split's or ends with one: train, wiki.train. */
static bool names_split(const void *user, const char *name, filtra_split *split) {
  (void)user;
  size_t rest;
  return ft_stem_split(name, ft_stem_length(name, endings), split, &rest);
}

/* ---- tokens ---- */

/* Whether the text contains <unk> for rare words, as WikiText does: the tokenizer is then
 * "words". */
static filtra_status find_unknown(const char *path, bool *found) {
  ft_text text;
  bool more;
  FT_TRY(ft_text_open(path, &text));
  filtra_status status = ft_text_next(&text, &more);
  *found = !status && ft_memmem(text.passage, text.length, "<unk>", 5) != NULL;
  ft_text_close(&text);
  return status;
}

static const char *first_path(const ft_split_files *files) {
  int split = 0;
  while (!files->path[split])
    split++;
  return files->path[split];
}

static filtra_status read_split(ft_corpus *corpus, void *user) {
  const ft_split_files *files = user;
  const char *path = files->path[corpus->split];
  ft_tokens *tokens = &corpus->ds->samples[corpus->split].tokens;
  if (!path) return FILTRA_OK;
  FT_TRY(ft_corpus_add_file(corpus, path));
  if (corpus->vocabulary) return FILTRA_OK;
  FT_TRY(ft_corpus_encode(corpus));
  if (tokens->count < 2)
    return ft_fail(FILTRA_ERROR_INPUT, "%s has %zu tokens; a text needs 2 at least", path,
                   tokens->count);
  /* Ends the last line with <eos> even if it has no line end. */
  if (strcmp(corpus->ds->info.tokenizer->name, "words") ||
      tokens->ids[tokens->count - 1] == FT_WORD_END_OF_LINE)
    return FILTRA_OK;
  FT_TRY(ft_tokens_reserve(tokens, 1));
  tokens->ids[tokens->count++] = FT_WORD_END_OF_LINE;
  return FILTRA_OK;
}

/* Moves the end of the training text to validation. Adjacent windows resemble each other, so
 * randomly drawn windows would make validation too easy. */
static filtra_status hold_out_end(filtra_dataset *ds, float share) {
  ft_tokens *train = &ds->samples[FILTRA_SPLIT_TRAIN].tokens,
            *val = &ds->samples[FILTRA_SPLIT_VAL].tokens;
  size_t held =
      (size_t)((double)train->count * (double)(share > 0.0f ? share : FT_VALIDATION_SHARE));
  if (held < 2) return FILTRA_OK;
  FT_TRY(ft_tokens_reserve(val, held));
  train->count -= held;
  val->count = held;
  memcpy(val->ids, train->ids + train->count, held * sizeof *val->ids);
  ds->info.validation_held_out = true;
  return FILTRA_OK;
}

/* Cuts tokens into windows without overlap. A window's last target is the first token of the next;
 * the last window may be shorter. */
static filtra_status cut_windows(ft_samples *samples, uint32_t window) {
  size_t last = samples->tokens.count ? samples->tokens.count - 1 : 0;
  for (size_t first = 0; first < last; first += window) {
    FT_TRY(FT_GROW(samples->rows, samples->count, samples->capacity));
    uint32_t length = last - first < window ? (uint32_t)(last - first) : window;
    samples->rows[samples->count++] = (ft_sample_row){.first = first, .length = length};
  }
  return FILTRA_OK;
}

static filtra_status read_files(const char *path, ft_split_files *files,
                                const filtra_dataset_options *options, filtra_dataset *ds) {
  bool words;
  FT_TRY(find_unknown(first_path(files), &words));
  ds->info.target = FILTRA_TARGET_NEXT;
  ds->info.max_length = options->max_length ? options->max_length : DEFAULT_WINDOW;
  FT_TRY(ft_corpus_open(ds, path, options, words ? "words" : "characters", read_split, files));
  if (files->path[FILTRA_SPLIT_TRAIN] && !files->path[FILTRA_SPLIT_VAL])
    FT_TRY(hold_out_end(ds, options->validation_share));
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    FT_TRY(cut_windows(&ds->samples[i], ds->info.max_length));
  return FILTRA_OK;
}

enum { LOOKED_AT = 1 << 16, FEWEST_LINES = 3 };

/* Tabs in each complete line of a file's first bytes; 0 unless all lines have equally many. */
static size_t count_tabs(const char *text) {
  size_t tabs = 0, lines = 0;
  for (const char *end; (end = strchr(text, '\n')); text = end + 1, lines++) {
    size_t count = 0;
    for (const char *at = text; at < end; at++)
      count += *at == '\t';
    if (lines == 0) tabs = count;
    if (!count || count != tabs) return 0;
  }
  return lines < FEWEST_LINES ? 0 : tabs;
}

/* Refuses a file that was taken for text by its name alone and has the lines of a table. */
static filtra_status refuse_table(const char *path) {
  ft_source *source;
  size_t count, tabs = 0;
  FT_TRY(ft_source_open(path, &source));
  char *head = ft_calloc(LOOKED_AT + 1, 1);
  filtra_status status =
      head ? ft_source_fill(source, head, LOOKED_AT, &count) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) tabs = count_tabs(head);
  free(head);
  ft_source_close(&source);
  if (status || !tabs) return status;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: each line has %zu tab%s, as in a table: set text_column and target_column to "
                 "read it so, or format to text-lm to learn the text itself",
                 path, tabs, tabs == 1 ? "" : "s");
}

static filtra_status open_text(const char *path, const filtra_dataset_options *options,
                               filtra_dataset *ds) {
  ft_split_files files;
  filtra_status status =
      ft_split_files_find(path, options->file_split, &ft_format_text_lm, names_split, NULL, &files);
  if (!status) status = ft_split_files_warn(path, endings);
  if (!status && !options->format) status = refuse_table(first_path(&files));
  if (!status) status = read_files(path, &files, options, ds);
  ft_split_files_free(&files);
  return status;
}

static bool probe_text(const ft_dataset_probe *p) {
  if (!p->directory) return ft_stem_length(p->path, endings) > 0;
  return ft_any_names_split(p->names, p->count, names_split, NULL);
}

const ft_dataset_format ft_format_text_lm = {
    "text-lm",
    "language-model text: train.txt, valid.txt, test.txt (wiki.train.tokens, ...), or one",
    probe_text, open_text};
