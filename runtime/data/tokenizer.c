/* Built-in tokenizers by name, text to ids and back, and files of fitted tokenizers. Called by
 * data/corpus.c, train/ and applications through filtra/tokenizer.h. */
#include "data/pretrained.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "data/pretrained_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const filtra_tokenizer *const tokenizers[] = {
    &ft_tokenizer_listops, &ft_tokenizer_listops_original,
    &ft_tokenizer_bytes,   &ft_tokenizer_printable,
    &ft_tokenizer_dna,     &ft_tokenizer_pixels,
    &ft_tokenizer_smiles,
};

const filtra_tokenizer *filtra_tokenizer_find(const char *name) {
  char list[256] = "";
  for (size_t i = 0; i < FT_COUNT(tokenizers); i++) {
    if (name && !strcmp(name, tokenizers[i]->name)) return tokenizers[i];
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", tokenizers[i]->name);
  }
  if (name && ft_tokenizer_is_made(name))
    ft_fail(FILTRA_ERROR_ARGUMENT,
            "the tokenizer \"%s\" is made from data; this data has no use "
            "for it",
            name);
  else
    ft_fail(FILTRA_ERROR_ARGUMENT,
            "there is no tokenizer \"%s\"; known are %s, characters, words, and folders of "
            "pretrained tokenizers",
            name ? name : "", list);
  return NULL;
}

const char *filtra_tokenizer_name(const filtra_tokenizer *tokenizer) {
  return tokenizer ? tokenizer->name : NULL;
}

uint32_t filtra_tokenizer_size(const filtra_tokenizer *tokenizer) {
  return tokenizer ? tokenizer->size : 0;
}

const char *filtra_tokenizer_symbol(const filtra_tokenizer *tokenizer, uint32_t id) {
  if (!tokenizer) return NULL;
  return id < tokenizer->size ? tokenizer->symbols[id] : NULL;
}

bool filtra_tokenizer_is_fitted(const filtra_tokenizer *tokenizer) {
  return tokenizer ? tokenizer->index || tokenizer->pretrained : false;
}

bool ft_tokenizer_is_kept(const char *name) {
  return ft_tokenizer_is_made(name) || !strcmp(name, "bpe") || !strcmp(name, "wordpiece");
}

const ft_frame *ft_tokenizer_frame(const filtra_tokenizer *tokenizer) {
  return tokenizer && tokenizer->pretrained && tokenizer->pretrained->framed
             ? &tokenizer->pretrained->frame
             : NULL;
}

bool ft_tokenizer_cuts_left(const filtra_tokenizer *tokenizer) {
  return tokenizer && tokenizer->pretrained && tokenizer->pretrained->left;
}

int32_t ft_tokenizer_second(const filtra_tokenizer *tokenizer, size_t second) {
  const ft_frame *frame = ft_tokenizer_frame(tokenizer);
  return frame && frame->untyped ? 0 : (int32_t)second;
}

/* ---- text and ids ---- */

/* Adds the special tokens around a text's tokens; their spans are empty. */
static filtra_status add_frame(const filtra_tokenizer *t, ft_tokens *tokens, ft_spans *spans) {
  const ft_frame *frame = ft_tokenizer_frame(t);
  const size_t before = frame && frame->begin >= 0;
  FT_TRY(ft_frame_tokens(frame, false, tokens, 0, SIZE_MAX, SIZE_MAX, NULL, NULL));
  while (spans && spans->count < tokens->count) {
    FT_TRY(FT_GROW(spans->list, spans->count, spans->capacity));
    spans->list[spans->count++] = (ft_span){0};
  }
  if (!spans || !before) return FILTRA_OK;
  memmove(spans->list + 1, spans->list, (spans->count - 1) * sizeof *spans->list);
  spans->list[0] = (ft_span){0};
  return FILTRA_OK;
}

filtra_status filtra_tokenizer_encode_offsets(const filtra_tokenizer *tokenizer, const char *text,
                                              size_t length, bool special, int32_t *tokens,
                                              size_t *begins, size_t *ends, size_t capacity,
                                              size_t *count) {
  FT_NEED(tokenizer, count);
  *count = 0;
  if (length) FT_NEED(text);
  if (capacity) FT_NEED(tokens);
  const bool places = begins || ends;
  if (places && !tokenizer->pretrained)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "the tokenizer \"%s\" does not tell where tokens are; pretrained ones do",
                   tokenizer->name);
  ft_tokens encoded = {0};
  ft_spans spans = {0};
  filtra_status status =
      places ? ft_pretrained_encode(tokenizer->pretrained, text, length, &encoded, &spans)
             : tokenizer->encode(tokenizer, text, length, &encoded);
  if (!status && special) status = add_frame(tokenizer, &encoded, places ? &spans : NULL);
  if (!status) *count = encoded.count;
  for (size_t i = 0; i < *count && i < capacity; i++) {
    tokens[i] = encoded.ids[i];
    if (begins) begins[i] = spans.list[i].begin;
    if (ends) ends[i] = spans.list[i].end;
  }
  free(encoded.ids);
  free(spans.list);
  return status;
}

filtra_status filtra_tokenizer_encode(const filtra_tokenizer *tokenizer, const char *text,
                                      size_t length, int32_t *tokens, size_t capacity,
                                      size_t *count) {
  FT_NEED(tokenizer, count);
  if (length) FT_NEED(text);
  if (capacity) FT_NEED(tokens);
  return filtra_tokenizer_encode_offsets(tokenizer, text, length, false, tokens, NULL, NULL,
                                         capacity, count);
}

typedef struct text_writer {
  char *text;
  size_t capacity, length;
} text_writer;

static void write_text(text_writer *w, const char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++, w->length++)
    if (w->length + 1 < w->capacity) w->text[w->length] = bytes[i];
}

/* Writes the bytes of a pretrained tokenizer's id. */
static void write_pretrained(text_writer *w, const ft_pretrained *p, int32_t id, bool first,
                             char *room) {
  size_t length;
  const char *text = ft_pretrained_decode(p, id, first, room, &length);
  write_text(w, text, length);
}

static filtra_status decode_pretrained(const filtra_tokenizer *t, bool first, const int32_t *tokens,
                                       size_t count, text_writer *w) {
  char *room = ft_calloc((size_t)t->pretrained->longest + 1, 1);
  if (!room) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++)
    write_pretrained(w, t->pretrained, tokens[i], first && i == 0, room);
  free(room);
  return FILTRA_OK;
}

static void write_symbol(text_writer *w, const filtra_tokenizer *t, int32_t id, bool line_start) {
  const char *symbol = t->symbols[id];
  const char byte = (char)(id - 1);
  if (t->join == FT_JOIN_BYTES) {
    write_text(w, &byte, 1);
  } else if (t->join == FT_JOIN_BY_SPACES && !strcmp(symbol, "<eos>")) {
    write_text(w, "\n", 1);
  } else {
    if (t->join == FT_JOIN_BY_SPACES && !line_start) write_text(w, " ", 1);
    write_text(w, symbol, strlen(symbol));
  }
}

static filtra_status check_id(const filtra_tokenizer *t, size_t index, int32_t id) {
  if (id >= 0 && id < (int64_t)t->size) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "token %zu is %d; the ids of \"%s\" are 0 to %u", index, id,
                 t->name, t->size - 1);
}

static bool ends_line(const filtra_tokenizer *t, int32_t id) {
  return !strcmp(t->symbols[id], "<eos>");
}

static filtra_status decode(const filtra_tokenizer *t, bool line_start, const int32_t *tokens,
                            size_t count, char *text, size_t capacity, size_t *length) {
  text_writer w = {.text = text, .capacity = capacity};
  *length = 0;
  for (size_t i = 0; i < count; i++)
    FT_TRY(check_id(t, i, tokens[i]));
  if (t->pretrained) FT_TRY(decode_pretrained(t, line_start, tokens, count, &w));
  for (size_t i = 0; i < count && !t->pretrained; i++) {
    if (!*t->symbols[tokens[i]]) continue; /* padding; "pixels" has none, its id 0 is a pixel */
    write_symbol(&w, t, tokens[i], line_start);
    line_start = ends_line(t, tokens[i]);
  }
  if (capacity > 0) text[w.length < capacity ? w.length : capacity - 1] = '\0';
  *length = w.length;
  return FILTRA_OK;
}

filtra_status filtra_tokenizer_decode(const filtra_tokenizer *tokenizer, const int32_t *tokens,
                                      size_t count, char *text, size_t capacity, size_t *length) {
  FT_NEED(tokenizer, length);
  if (count) FT_NEED(tokens);
  if (capacity) FT_NEED(text);
  return decode(tokenizer, true, tokens, count, text, capacity, length);
}

filtra_status filtra_tokenizer_decode_next(const filtra_tokenizer *tokenizer, int32_t previous,
                                           int32_t token, char *text, size_t capacity,
                                           size_t *length) {
  FT_NEED(tokenizer, length);
  if (capacity) FT_NEED(text);
  if (previous != -1) FT_TRY(check_id(tokenizer, 0, previous));
  const bool line_start =
      previous == -1 || (!tokenizer->pretrained && ends_line(tokenizer, previous));
  return decode(tokenizer, line_start, &token, 1, text, capacity, length);
}

/* ---- files ---- */

/* Writes a file unless it would be too large to be read again. */
static filtra_status write_file(const char *within, const char *path, const char *text) {
  size_t size = strlen(text);
  if (size <= FT_TOKENIZER_FILE_LIMIT) return ft_file_write_in(within, path, text, size);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: the words take %zu bytes, and such a file has %d at most; a lower "
                 "max_vocabulary makes fewer of them",
                 path, size, FT_TOKENIZER_FILE_LIMIT);
}

json_t *ft_tokenizer_write(const filtra_tokenizer *tokenizer) {
  if (tokenizer->pretrained) return json_incref(tokenizer->pretrained->source);
  json_t *symbols = json_array();
  for (uint32_t id = 1; id < tokenizer->size; id++)
    ft_json_append(&symbols, json_string(tokenizer->symbols[id]));
  return json_pack("{ss so}", "tokenizer", tokenizer->name, "symbols", symbols);
}

filtra_status ft_tokenizer_save(const filtra_tokenizer *tokenizer, const char *within,
                                const char *path) {
  if (!filtra_tokenizer_is_fitted(tokenizer))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "the tokenizer \"%s\" is constant: there is nothing to "
                   "save",
                   tokenizer->name);
  char *text = ft_json_text(ft_tokenizer_write(tokenizer), JSON_INDENT(0));
  filtra_status status = text ? write_file(within, path, text) : FILTRA_ERROR_HOST_MEMORY;
  free(text);
  return status;
}

filtra_status filtra_tokenizer_save(const filtra_tokenizer *tokenizer, const char *path) {
  FT_NEED(tokenizer, path);
  return ft_tokenizer_save(tokenizer, NULL, path);
}

filtra_status ft_tokenizer_read(const json_t *root, filtra_tokenizer **out) {
  if (json_object_get(root, "model")) return ft_pretrained_read(root, out);
  const char *name = json_string_value(json_object_get(root, "tokenizer"));
  const json_t *list = json_object_get(root, "symbols");
  if (!name || !ft_tokenizer_is_made(name) || !json_is_array(list))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "needs \"tokenizer\", characters or words, and \"symbols\", a list");
  size_t count = json_array_size(list);
  const char **symbols = ft_calloc(count + 1, sizeof *symbols);
  filtra_status status = symbols ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count && !status; i++) {
    symbols[i] = json_string_value(json_array_get(list, i));
    if (!symbols[i]) status = ft_fail(FILTRA_ERROR_INPUT, "entry %zu of \"symbols\" is no text", i);
  }
  if (!status) status = ft_tokenizer_make(name, symbols, count, out);
  free(symbols);
  return status;
}

filtra_status ft_tokenizer_described(const json_t *value, const filtra_tokenizer **tokenizer,
                                     filtra_tokenizer **owned) {
  *tokenizer = *owned = NULL;
  if (json_is_object(value)) {
    FT_TRY(ft_tokenizer_read(value, owned));
    *tokenizer = *owned;
  } else if (json_is_string(value)) {
    *tokenizer = filtra_tokenizer_find(json_string_value(value));
    if (!*tokenizer) return FILTRA_ERROR_INPUT;
  }
  return FILTRA_OK;
}

filtra_status filtra_tokenizer_load(const char *path, filtra_tokenizer **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(path);
  json_t *root = NULL;
  FT_TRY(ft_is_directory(path) ? ft_pretrained_load(path, &root)
                               : ft_json_load_foreign(path, FT_TOKENIZER_FILE_LIMIT, &root));
  filtra_status status = ft_tokenizer_read(root, out);
  json_decref(root);
  return status ? ft_fail_context(status, "%s", path) : FILTRA_OK;
}

void filtra_tokenizer_destroy(filtra_tokenizer **tokenizer) {
  if (!tokenizer || !*tokenizer) return;
  ft_tokenizer_free(*tokenizer);
  *tokenizer = NULL;
}
