/* Reads text into a dataset, with or without a first pass that fits the tokenizer. Called by the
 * text formats: aan.c, fasta.c, hyperpartisan.c, table.c, text_folders.c and text_lm.c. */
#include "data/corpus.h"

#include "base/memory.h"
#include "data/text.h"

#include <string.h>

/* ---- the tokenizer ---- */

static filtra_status count_splits(ft_corpus *corpus, bool all, ft_corpus_read read, void *user) {
  bool any = false;
  for (corpus->split = FILTRA_SPLIT_TRAIN; corpus->split <= FILTRA_SPLIT_TEST; corpus->split++) {
    if (any && !all) break;
    FT_TRY(read(corpus, user));
    any = any || !ft_vocabulary_is_empty(corpus->vocabulary);
  }
  return FILTRA_OK;
}

static filtra_status make_tokenizer(ft_corpus *corpus, const char *name, ft_corpus_read read,
                                    void *user) {
  filtra_dataset *ds = corpus->ds;
  FT_TRY(ft_vocabulary_create(name, corpus->options->max_vocabulary, &corpus->vocabulary));
  filtra_status status = count_splits(corpus, !strcmp(name, "characters"), read, user);
  if (!status) {
    status = ft_vocabulary_make(corpus->vocabulary, &ds->owned_tokenizer);
    if (status) ft_fail_context(status, "%s", corpus->path);
  }
  ft_vocabulary_free(corpus->vocabulary);
  corpus->vocabulary = NULL;
  ds->info.tokenizer = ds->owned_tokenizer;
  return status;
}

static filtra_status choose_tokenizer(ft_corpus *corpus, const char *fallback, ft_corpus_read read,
                                      void *user) {
  const filtra_dataset_options *o = corpus->options;
  const char *name = o->tokenizer ? o->tokenizer : fallback;
  if (o->fitted) {
    corpus->ds->info.tokenizer = o->fitted;
    return FILTRA_OK;
  }
  if (ft_tokenizer_is_made(name)) return make_tokenizer(corpus, name, read, user);
  const filtra_tokenizer *found = filtra_tokenizer_find(name);
  if (!found) return FILTRA_ERROR_ARGUMENT;
  if (found == &ft_tokenizer_listops || found == &ft_tokenizer_listops_original ||
      found == &ft_tokenizer_pixels)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "the tokenizer \"%s\" reads no free text; bytes, characters, words, printable "
                   "and dna do",
                   name);
  corpus->ds->info.tokenizer = found;
  return FILTRA_OK;
}

filtra_status ft_corpus_open(filtra_dataset *ds, const char *path,
                             const filtra_dataset_options *options, const char *fallback,
                             ft_corpus_read read, void *user) {
  ft_corpus corpus = {.ds = ds, .options = options, .path = path};
  FT_TRY(choose_tokenizer(&corpus, fallback, read, user));
  for (corpus.split = FILTRA_SPLIT_TRAIN; corpus.split <= FILTRA_SPLIT_TEST; corpus.split++) {
    corpus.first = 0;
    corpus.second = SIZE_MAX;
    FT_TRY(read(&corpus, user));
  }
  return FILTRA_OK;
}

/* ---- sequences ---- */

static ft_tokens *tokens_of(ft_corpus *corpus) {
  return &corpus->ds->samples[corpus->split].tokens;
}

filtra_status ft_corpus_add(ft_corpus *corpus, const char *text, size_t length) {
  const filtra_tokenizer *tokenizer = corpus->ds->info.tokenizer;
  if (corpus->vocabulary) return ft_vocabulary_count(corpus->vocabulary, text, length);
  return tokenizer->encode(tokenizer, text, length, tokens_of(corpus));
}

/* Reads a failed passage again line by line: the message then counts columns within the line, and
 * this adds the line's number. */
static filtra_status fail_line(ft_corpus *corpus, const ft_text *text, filtra_status failed) {
  uint64_t line = text->line;
  const char *end = text->passage + text->length, *next;
  for (const char *at = text->passage; at < end; at = next, line++) {
    next = memchr(at, '\n', (size_t)(end - at));
    next = next ? next + 1 : end;
    filtra_status status = ft_corpus_add(corpus, at, (size_t)(next - at));
    if (status) return ft_fail_context(status, "%s:%llu", text->path, (unsigned long long)line);
  }
  return ft_fail_context(failed, "%s", text->path);
}

/* Whether the rest of the file makes no difference: the sequence has all tokens that are kept, or
 * already too many. */
static bool is_full(ft_corpus *corpus) {
  size_t limit = corpus->options->max_length;
  if (corpus->ds->info.target == FILTRA_TARGET_NEXT || limit == 0) return false;
  return tokens_of(corpus)->count - corpus->first >= limit + !corpus->options->truncate;
}

static filtra_status add_passages(ft_corpus *corpus, ft_text *text) {
  while (!is_full(corpus)) {
    bool more;
    FT_TRY(ft_text_next(text, &more));
    if (!more) break;
    filtra_status status = ft_corpus_add(corpus, text->passage, text->length);
    if (status) return fail_line(corpus, text, status);
  }
  return FILTRA_OK;
}

filtra_status ft_corpus_add_file(ft_corpus *corpus, const char *path) {
  ft_text text;
  FT_TRY(ft_text_open(path, &text));
  filtra_status status = add_passages(corpus, &text);
  ft_text_close(&text);
  return status;
}

filtra_status ft_corpus_add_second(ft_corpus *corpus) {
  const filtra_tokenizer *tokenizer = corpus->ds->info.tokenizer;
  if (!corpus->vocabulary && ft_tokenizer_frame(tokenizer)) {
    corpus->second = tokens_of(corpus)->count;
    if (corpus->second > corpus->first) return FILTRA_OK;
    return ft_fail(FILTRA_ERROR_INPUT, "the text is empty");
  }
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "two texts in one sequence need special tokens between them, which the tokenizer "
                 "\"%s\" does not have; those of pretrained models do, such as BERT's",
                 corpus->vocabulary ? "characters or words" : tokenizer->name);
}

/* Puts the tokenizer's special tokens around the sequence; *length receives its tokens. */
static filtra_status end_framed(ft_corpus *corpus, const ft_frame *frame, uint32_t limit,
                                bool truncate, uint32_t *length) {
  ft_tokens *tokens = tokens_of(corpus);
  if (corpus->second == tokens->count)
    return ft_fail(FILTRA_ERROR_INPUT, "the second text is empty");
  FT_TRY(ft_frame_tokens(frame, tokens, corpus->first, corpus->second, limit, truncate,
                         &corpus->second_at));
  *length = (uint32_t)(tokens->count - corpus->first);
  corpus->first = tokens->count;
  corpus->second = SIZE_MAX;
  return FILTRA_OK;
}

filtra_status ft_corpus_end_sequence(ft_corpus *corpus, uint32_t limit, bool truncate,
                                     uint32_t *length) {
  ft_tokens *tokens = tokens_of(corpus);
  size_t count = tokens->count - corpus->first;
  *length = 0;
  if (corpus->vocabulary) return FILTRA_OK;
  if (count == 0) return ft_fail(FILTRA_ERROR_INPUT, "the text is empty");
  if (!limit) limit = UINT32_MAX;
  const ft_frame *frame = ft_tokenizer_frame(corpus->ds->info.tokenizer);
  if (frame) return end_framed(corpus, frame, limit, truncate, length);
  if (count > limit && !truncate)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "a sequence of more than %u tokens; raise max_length or set truncate", limit);
  if (count > limit) tokens->count = corpus->first + limit;
  *length = (uint32_t)(tokens->count - corpus->first);
  corpus->first = tokens->count;
  return FILTRA_OK;
}

filtra_status ft_corpus_end_sample(ft_corpus *corpus, int32_t label) {
  ft_samples *samples = &corpus->ds->samples[corpus->split];
  size_t first = corpus->first;
  uint32_t length;
  FT_TRY(ft_corpus_end_sequence(corpus, corpus->options->max_length, corpus->options->truncate,
                                &length));
  if (corpus->vocabulary) return FILTRA_OK;
  FT_TRY(FT_GROW(samples->rows, samples->count, samples->capacity));
  samples->rows[samples->count++] = (ft_sample_row){
      .first = first, .length = length, .second_at = (uint32_t)corpus->second_at, .label = label};
  if (corpus->second_at) corpus->ds->joined = true;
  return FILTRA_OK;
}
