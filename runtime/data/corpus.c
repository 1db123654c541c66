/* Reads text into a dataset, with or without a first pass that fits the tokenizer. Called by the
 * text formats: aan.c, fasta.c, hyperpartisan.c, table.c, text_folders.c and text_lm.c. */
#include "data/corpus.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/text.h"

#include <stdlib.h>
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
  if (!found && ft_file_exists(name)) {
    FT_TRY(filtra_tokenizer_load(name, &corpus->ds->owned_tokenizer));
    found = corpus->ds->owned_tokenizer;
  }
  if (!found) return FILTRA_ERROR_ARGUMENT;
  if (found == &ft_tokenizer_listops || found == &ft_tokenizer_listops_original ||
      found == &ft_tokenizer_pixels)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "the tokenizer \"%s\" reads no free text; bytes, characters, words, printable, "
                   "dna, smiles and folders of pretrained tokenizers do",
                   name);
  corpus->ds->info.tokenizer = found;
  return FILTRA_OK;
}

/* Checks that each graph has a class or a value. */
static filtra_status check_graphs(const filtra_dataset_info *info) {
  const bool next = info->target == FILTRA_TARGET_NEXT;
  if (!info->tokenizer->encode_graph || (!next && info->sequences < 2)) return FILTRA_OK;
  return ft_fail(
      FILTRA_ERROR_ARGUMENT,
      "the tokenizer \"%s\" reads graphs, which have classes or values; data of format %s "
      "are %s",
      info->tokenizer->name, info->format, next ? "text whose next token is predicted" : "pairs");
}

/* Warns once of all splits in which most words are unknown: what they say is then lost. */
static void warn_of_unknown(const filtra_dataset *ds, const char *path) {
  ft_word_count all = {0};
  for (int split = 0; split < FILTRA_SPLIT_COUNT; split++) {
    const ft_tokens *tokens = &ds->samples[split].tokens;
    ft_word_count own = {0};
    ft_count_words(ds->info.tokenizer, tokens->ids, tokens->count, &own);
    if (!ft_mostly_unknown(&own)) continue;
    all.words += own.words;
    all.unknown += own.unknown;
  }
  if (all.words) ft_warn_of_unknown_words(ds->info.tokenizer, &all, path);
}

/* Says once, of all splits, how many sequences `truncate` cut. */
static void warn_of_cut(const ft_corpus *corpus) {
  const filtra_dataset_options *o = corpus->options;
  const bool left = ft_tokenizer_cuts_left(corpus->ds->info.tokenizer);
  if (corpus->cut && o->truncate)
    ft_log(FILTRA_LOG_WARNING,
           "%s: %zu of %zu texts are cut to max_length, %u tokens: what comes %s is left out",
           corpus->path, corpus->cut, corpus->ended, o->max_length, left ? "before" : "later");
}

filtra_status ft_corpus_open(filtra_dataset *ds, const char *path,
                             const filtra_dataset_options *options, const char *fallback,
                             ft_corpus_read read, void *user) {
  ft_corpus corpus = {.ds = ds, .options = options, .path = path};
  FT_TRY(choose_tokenizer(&corpus, fallback, read, user));
  FT_TRY(check_graphs(&ds->info));
  filtra_status status = FILTRA_OK;
  for (corpus.split = FILTRA_SPLIT_TRAIN; corpus.split <= FILTRA_SPLIT_TEST && !status;
       corpus.split++) {
    corpus.first = 0;
    corpus.second = SIZE_MAX;
    status = read(&corpus, user);
  }
  if (!status) warn_of_unknown(ds, path);
  if (!status) warn_of_cut(&corpus);
  free(corpus.text);
  free(corpus.edges.ids);
  return status;
}

/* ---- sequences ---- */

static ft_tokens *tokens_of(ft_corpus *corpus) {
  return &corpus->ds->samples[corpus->split].tokens;
}

/* Keeps text until the sequence is complete: words, merges and molecules may cross the ends of
 * passages. */
static filtra_status keep_text(ft_corpus *corpus, const char *text, size_t length) {
  uint32_t c;
  size_t column = 1; /* counted in characters */
  for (size_t at = 0, bytes; at < length; at += bytes, column++) {
    bytes = ft_utf8_next(text + at, length - at, &c);
    if (!bytes) return ft_fail_encoding(text + at, column);
  }
  const size_t wanted = corpus->text_length + length;
  if (wanted > corpus->text_capacity) {
    char *more = ft_realloc(corpus->text, wanted + wanted / 2, 1);
    if (!more) return FILTRA_ERROR_HOST_MEMORY;
    corpus->text = more;
    corpus->text_capacity = wanted + wanted / 2;
  }
  if (length) memcpy(corpus->text + corpus->text_length, text, length);
  corpus->text_length = wanted;
  return FILTRA_OK;
}

filtra_status ft_corpus_encode(ft_corpus *corpus) {
  const filtra_tokenizer *tokenizer = corpus->ds->info.tokenizer;
  const size_t length = corpus->text_length;
  corpus->text_length = 0;
  if (!length) return FILTRA_OK;
  if (tokenizer->encode_graph)
    return tokenizer->encode_graph(tokenizer, corpus->text, length, tokens_of(corpus),
                                   &corpus->edges);
  return tokenizer->encode(tokenizer, corpus->text, length, tokens_of(corpus));
}

filtra_status ft_corpus_add(ft_corpus *corpus, const char *text, size_t length) {
  const filtra_tokenizer *tokenizer = corpus->ds->info.tokenizer;
  if (corpus->vocabulary) return ft_vocabulary_count(corpus->vocabulary, text, length);
  if (tokenizer->pretrained || tokenizer->encode_graph) return keep_text(corpus, text, length);
  return tokenizer->encode(tokenizer, text, length, tokens_of(corpus));
}

/* Encodes a failed passage again line by line, so that the message counts columns within the line;
 * adds the line's number. */
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

/* Whether the rest of the file can be skipped: the sequence has all tokens that are kept, or
 * already too many. */
static bool is_full(ft_corpus *corpus) {
  size_t limit = corpus->options->max_length;
  if (corpus->ds->info.target == FILTRA_TARGET_NEXT || limit == 0) return false;
  if (corpus->options->truncate && ft_tokenizer_cuts_left(corpus->ds->info.tokenizer)) return false;
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
  bool more = false;
  corpus->unread = is_full(corpus) && !ft_text_next(text, &more) && more;
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
    FT_TRY(ft_corpus_encode(corpus));
    corpus->second = tokens_of(corpus)->count;
    if (corpus->second > corpus->first) return FILTRA_OK;
    return ft_fail(FILTRA_ERROR_INPUT, "the text is empty");
  }
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "two texts in one sequence need special tokens between them, which the tokenizer "
                 "\"%s\" does not have; those of pretrained models do, such as BERT's",
                 corpus->vocabulary ? "characters or words" : tokenizer->name);
}

/* Advice for sequences that are too long; NULL: they are cut. */
static const char *advice(const ft_corpus *corpus, bool truncate) {
  if (corpus->ds->info.tokenizer->encode_graph) return "leave it out, or raise max_length";
  return truncate ? NULL : ft_length_advice(corpus->ds);
}

filtra_status ft_corpus_end_sequence(ft_corpus *corpus, uint32_t limit, bool truncate,
                                     uint32_t *length) {
  const filtra_tokenizer *tokenizer = corpus->ds->info.tokenizer;
  ft_tokens *tokens = tokens_of(corpus);
  *length = 0;
  if (corpus->vocabulary) return FILTRA_OK;
  FT_TRY(ft_corpus_encode(corpus));
  if (tokens->count == corpus->first) return ft_fail(FILTRA_ERROR_INPUT, "the text is empty");
  if (corpus->second == tokens->count)
    return ft_fail(FILTRA_ERROR_INPUT, "the second text is empty");
  const ft_frame *frame = ft_tokenizer_frame(tokenizer);
  const size_t all =
      tokens->count - corpus->first + ft_frame_size(frame, corpus->second < SIZE_MAX);
  FT_TRY(ft_frame_tokens(frame, ft_tokenizer_cuts_left(tokenizer), tokens, corpus->first,
                         corpus->second, limit ? limit : UINT32_MAX, advice(corpus, truncate),
                         &corpus->second_at));
  corpus->second = SIZE_MAX;
  *length = (uint32_t)(tokens->count - corpus->first);
  corpus->ended++;
  corpus->cut += corpus->unread || *length < all;
  corpus->unread = false;
  corpus->first = tokens->count;
  return FILTRA_OK;
}

/* Appends the edges of a graph after its nodes. */
static filtra_status add_edges(ft_corpus *corpus, uint32_t *count) {
  ft_tokens *to = tokens_of(corpus), *edges = &corpus->edges;
  FT_TRY(ft_tokens_reserve(to, edges->count));
  if (edges->count) memcpy(to->ids + to->count, edges->ids, edges->count * sizeof *edges->ids);
  to->count += edges->count;
  *count = (uint32_t)(edges->count / FT_EDGE_WORDS);
  edges->count = 0;
  corpus->first = to->count;
  return FILTRA_OK;
}

filtra_status ft_corpus_end_sample(ft_corpus *corpus, int32_t label) {
  ft_samples *samples = &corpus->ds->samples[corpus->split];
  size_t first = corpus->first;
  uint32_t length, edges = 0;
  FT_TRY(ft_corpus_end_sequence(corpus, corpus->options->max_length, corpus->options->truncate,
                                &length));
  if (corpus->vocabulary) return FILTRA_OK;
  FT_TRY(add_edges(corpus, &edges));
  FT_TRY(FT_GROW(samples->rows, samples->count, samples->capacity));
  samples->rows[samples->count++] = (ft_sample_row){.first = first,
                                                    .length = length,
                                                    .second_at = (uint32_t)corpus->second_at,
                                                    .edges = edges,
                                                    .label = label};
  if (corpus->second_at) corpus->ds->joined = true;
  return FILTRA_OK;
}
