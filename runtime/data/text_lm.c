/* Text for language models: one stream of tokens a split, cut into windows. */
#include "base/file.h"
#include "base/memory.h"
#include "data/corpus.h"
#include "data/names.h"
#include "data/text.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_WINDOW = 256 };

/* ---- files ---- */

/* The files of one data set, by split; NULL where there is none. */
typedef struct text_files {
  char *path[FILTRA_SPLITS];
} text_files;

static const char *const endings[] = {".txt", ".text", ".tokens", ".raw", NULL};

/* Whether a file's name, up to its ending, is this split's or ends with it: train, wiki.train. */
static bool names_split(const char *name, filtra_split split) {
  filtra_split named;
  size_t rest;
  return ft_stem_split(name, ft_stem_length(name, endings), &named, &rest) && named == split;
}

static filtra_status find_split(const char *path, filtra_split split, char **names, size_t count,
                                char **file) {
  const char *found = NULL;
  for (size_t i = 0; i < count; i++) {
    if (!names_split(names[i], split)) continue;
    if (found)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s holds more than one text of the %s split, %s and %s; give one's path",
                     path, filtra_split_name(split), found, names[i]);
    found = names[i];
  }
  if (!found) return FILTRA_OK;
  *file = ft_path_join(path, found);
  return *file ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status find_files(const char *path, filtra_split file_split, text_files *files) {
  if (!ft_is_directory(path)) {
    files->path[file_split] = ft_strdup(path);
    return files->path[file_split] ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  }
  char **names;
  size_t count;
  FT_TRY(ft_list_directory(path, &names, &count));
  filtra_status status = FILTRA_OK;
  bool any = false;
  for (filtra_split split = FILTRA_TRAIN; split <= FILTRA_TEST && !status; split++) {
    status = find_split(path, split, names, count, &files->path[split]);
    any = any || files->path[split];
  }
  ft_free_names(names, count);
  if (status || any) return status;
  return ft_fail(FILTRA_ERROR_INPUT, "%s holds no train.txt, valid.txt or test.txt", path);
}

static void free_files(text_files *files) {
  for (int i = 0; i < FILTRA_SPLITS; i++)
    free(files->path[i]);
}

/* ---- tokens ---- */

/* Whether a text was prepared for words: rare ones are <unk> already, as in WikiText. */
static filtra_status find_unknown(const char *path, bool *found) {
  ft_text text;
  bool more;
  FT_TRY(ft_text_open(path, &text));
  filtra_status status = ft_text_next(&text, &more);
  *found = !status && memmem(text.piece, text.length, "<unk>", 5) != NULL;
  ft_text_close(&text);
  return status;
}

static const char *first_path(const text_files *files) {
  int split = 0;
  while (!files->path[split])
    split++;
  return files->path[split];
}

static filtra_status read_split(ft_corpus *corpus, void *user) {
  const text_files *files = user;
  const char *path = files->path[corpus->split];
  ft_tokens *tokens = &corpus->ds->samples[corpus->split].tokens;
  if (!path) return FILTRA_OK;
  FT_TRY(ft_corpus_add_file(corpus, path));
  if (corpus->vocabulary) return FILTRA_OK;
  if (tokens->count < 2)
    return ft_fail(FILTRA_ERROR_INPUT, "%s has %zu tokens; a text needs 2 at least", path,
                   tokens->count);
  /* Every line ends with <eos>, also a last one that has no line end. */
  if (strcmp(corpus->ds->info.tokenizer->name, "words") ||
      tokens->ids[tokens->count - 1] == FT_WORD_END_OF_LINE)
    return FILTRA_OK;
  FT_TRY(ft_tokens_reserve(tokens, 1));
  tokens->ids[tokens->count++] = FT_WORD_END_OF_LINE;
  return FILTRA_OK;
}

/* The last tenth of the training text becomes validation text. Neighbouring windows resemble each
 * other, so windows drawn from all over would make it too easy. */
static filtra_status hold_out_end(filtra_dataset *ds) {
  ft_tokens *train = &ds->samples[FILTRA_TRAIN].tokens, *val = &ds->samples[FILTRA_VAL].tokens;
  size_t held = train->count / 10;
  if (held < 2) return FILTRA_OK;
  FT_TRY(ft_tokens_reserve(val, held));
  train->count -= held;
  val->count = held;
  memcpy(val->ids, train->ids + train->count, held * sizeof *val->ids);
  ds->info.validation_held_out = true;
  return FILTRA_OK;
}

/* Windows follow each other without overlap; the first token of the next is the last target of one,
 * and the last of all may be shorter. */
static filtra_status cut_windows(ft_samples *samples, uint32_t window) {
  size_t last = samples->tokens.count ? samples->tokens.count - 1 : 0;
  for (size_t first = 0; first < last; first += window) {
    FT_TRY(FT_GROW(samples->rows, samples->count, samples->capacity));
    uint32_t length = last - first < window ? (uint32_t)(last - first) : window;
    samples->rows[samples->count++] = (ft_sample_row){.first = first, .length = length};
  }
  return FILTRA_OK;
}

static filtra_status read_files(const char *path, text_files *files,
                                const filtra_dataset_options *options, filtra_dataset *ds) {
  bool words;
  FT_TRY(find_unknown(first_path(files), &words));
  ds->info.target = FILTRA_TARGET_NEXT;
  ds->info.max_length = options->max_length ? options->max_length : DEFAULT_WINDOW;
  FT_TRY(ft_corpus_open(ds, path, options, words ? "words" : "characters", read_split, files));
  if (files->path[FILTRA_TRAIN] && !files->path[FILTRA_VAL]) FT_TRY(hold_out_end(ds));
  for (int i = 0; i < FILTRA_SPLITS; i++)
    FT_TRY(cut_windows(&ds->samples[i], ds->info.max_length));
  return FILTRA_OK;
}

static filtra_status open_text(const char *path, const filtra_dataset_options *options,
                               filtra_dataset *ds) {
  text_files files = {0};
  filtra_status status = find_files(path, options->file_split, &files);
  if (!status) status = read_files(path, &files, options, ds);
  free_files(&files);
  return status;
}

static bool probe_text(const ft_dataset_probe *p) {
  if (!p->directory) return ft_stem_length(p->path, endings) > 0;
  for (size_t i = 0; i < p->count; i++)
    for (filtra_split split = FILTRA_TRAIN; split <= FILTRA_TEST; split++)
      if (names_split(p->names[i], split)) return true;
  return false;
}

const ft_dataset_format ft_format_text_lm = {
    "text-lm",
    "language-model text: train.txt, valid.txt, test.txt (wiki.train.tokens, ...), or one",
    probe_text, open_text};
