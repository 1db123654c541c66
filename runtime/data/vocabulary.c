/* The tokenizers "characters" and "words", which are fitted to a text: counting its symbols, making
 * the tokenizer, encoding. Called by corpus.c and tokenizer.c. */
#include "base/memory.h"
#include "base/utf8.h"
#include "data/pretrained.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_WORD_BYTES = 128,     /* longer words have no symbol */
  DEFAULT_WORD_IDS = 65536, /* including padding */
  CODE_POINTS = 0x110000,
};

static const char unknown_word[] = "<unk>", end_of_line[] = "<eos>";

static const char whitespace[] = " \t\n\v\f\r";

static bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/* FNV-1a */
static uint32_t hash_bytes(const char *text, size_t length) {
  uint32_t hash = 2166136261U;
  for (size_t i = 0; i < length; i++)
    hash = (hash ^ (unsigned char)text[i]) * 16777619U;
  return hash;
}

/* ---- symbols to ids ---- */

static bool same(const char *symbol, const char *text, size_t length) {
  return strlen(symbol) == length && !memcmp(symbol, text, length);
}

/* Index entry of a symbol, or the free one for it; there is always a free one. */
static int32_t *find_entry(const filtra_tokenizer *t, const char *text, size_t length) {
  uint32_t at = hash_bytes(text, length) & t->index_mask;
  while (t->index[at] && !same(t->symbols[t->index[at]], text, length))
    at = (at + 1) & t->index_mask;
  return &t->index[at];
}

/* ---- encoding ---- */

static filtra_status fail_character(const char *text, size_t bytes, uint32_t code_point,
                                    size_t column) {
  int shown = code_point < ' ' || code_point == 0x7f ? 0 : (int)bytes;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "the character%s%.*s%s U+%04X at column %zu is not in the vocabulary, which has "
                 "those of the training data",
                 shown ? " '" : "", shown, text, shown ? "'" : "", code_point, column);
}

static filtra_status encode_characters(const filtra_tokenizer *t, const char *text, size_t length,
                                       ft_tokens *tokens) {
  FT_TRY(ft_tokens_reserve(tokens, length));
  uint32_t code_point;
  size_t column = 1; /* counted in characters */
  for (size_t at = 0, bytes; at < length; at += bytes, column++) {
    bytes = ft_utf8_next(text + at, length - at, &code_point);
    if (bytes == 0) return ft_fail_encoding(text + at, column);
    int32_t id = bytes == 1 ? t->ascii[code_point] : *find_entry(t, text + at, bytes);
    if (id == 0) return fail_character(text + at, bytes, code_point, column);
    tokens->ids[tokens->count++] = id;
  }
  return FILTRA_OK;
}

/* The next word from *at on; *bytes is 0 at the end. A line end counts as a word. */
static const char *next_word(const char *text, size_t length, size_t *at, size_t *bytes) {
  while (*at < length && text[*at] != '\n' && is_space(text[*at]))
    ++*at;
  const char *word = text + *at;
  size_t from = *at;
  if (*at < length && *word == '\n') ++*at;
  while (*at < length && *word != '\n' && !is_space(text[*at]))
    ++*at;
  *bytes = *at - from;
  return word;
}

/* Fails, naming the first invalid byte, if a word is not UTF-8. */
static filtra_status check_word(const char *text, const char *word, size_t bytes) {
  uint32_t code_point;
  for (size_t at = 0, count; at < bytes; at += count) {
    count = ft_utf8_next(word + at, bytes - at, &code_point);
    if (!count) return ft_fail_encoding(word + at, (size_t)(word + at - text) + 1);
  }
  return FILTRA_OK;
}

static filtra_status encode_words(const filtra_tokenizer *t, const char *text, size_t length,
                                  ft_tokens *tokens) {
  const char *word;
  size_t at = 0, bytes;
  while (word = next_word(text, length, &at, &bytes), bytes > 0) {
    FT_TRY(ft_tokens_reserve(tokens, 1));
    int32_t id = *word == '\n' ? FT_WORD_END_OF_LINE : *find_entry(t, word, bytes);
    if (id == 0) FT_TRY(check_word(text, word, bytes));
    tokens->ids[tokens->count++] = id ? id : FT_WORD_UNKNOWN;
  }
  return FILTRA_OK;
}

/* ---- making a tokenizer ---- */

static bool is_words(const char *name) {
  return !strcmp(name, "words");
}

bool ft_tokenizer_is_made(const char *name) {
  return is_words(name) || !strcmp(name, "characters");
}

/* Whether a symbol may have id `id`; `before` is the symbol of id - 1. */
static bool fits(bool words, uint32_t id, const char *symbol, const char *before) {
  size_t length = strlen(symbol);
  if (words) {
    const char *fixed = id == FT_WORD_UNKNOWN ? unknown_word : end_of_line;
    if (id <= FT_WORD_END_OF_LINE) return !strcmp(symbol, fixed);
    return length > 0 && length <= MAX_WORD_BYTES && strcspn(symbol, whitespace) == length;
  }
  uint32_t code_point, last = 0;
  if (*before) ft_utf8_next(before, strlen(before), &last);
  return ft_utf8_next(symbol, length, &code_point) == length && length > 0 && code_point > last;
}

static filtra_status add_symbols(filtra_tokenizer *t, const char **own, const char *const *symbols,
                                 size_t count) {
  own[0] = ft_strdup("");
  if (!own[0]) return FILTRA_ERROR_HOST_MEMORY;
  for (t->size = 1; t->size <= count; t->size++) {
    const char *symbol = symbols[t->size - 1];
    if (!fits(is_words(t->name), t->size, symbol, own[t->size - 1]))
      return ft_fail(FILTRA_ERROR_INPUT, "\"%.40s\" cannot be symbol %u of \"%s\"", symbol, t->size,
                     t->name);
    int32_t *entry = find_entry(t, symbol, strlen(symbol));
    if (*entry)
      return ft_fail(FILTRA_ERROR_INPUT, "\"%.40s\" is symbol %d and symbol %u", symbol, *entry,
                     t->size);
    own[t->size] = ft_strdup(symbol);
    if (!own[t->size]) return FILTRA_ERROR_HOST_MEMORY;
    *entry = (int32_t)t->size;
    if (symbol[1] == '\0' && !(*symbol & 0x80)) t->ascii[(size_t)*symbol] = *entry;
  }
  return FILTRA_OK;
}

filtra_status ft_tokenizer_make(const char *name, const char *const *symbols, size_t count,
                                filtra_tokenizer **tokenizer) {
  *tokenizer = NULL;
  if (count >= FT_MOST_IDS || (is_words(name) && count < FT_WORD_END_OF_LINE) || count < 1)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%zu symbols for the tokenizer \"%s\"; accepted are %d to %d", count, name,
                   is_words(name) ? FT_WORD_END_OF_LINE : 1, FT_MOST_IDS - 1);
  filtra_tokenizer *t = ft_calloc(1, sizeof *t);
  if (!t) return FILTRA_ERROR_HOST_MEMORY;
  bool words = is_words(name);
  t->name = words ? "words" : "characters";
  t->encode = words ? encode_words : encode_characters;
  t->join = words ? FT_JOIN_BY_SPACES : FT_JOIN_DIRECTLY;
  for (t->index_mask = 255; t->index_mask < 2 * count; t->index_mask = 2 * t->index_mask + 1)
    ;
  const char **own = ft_calloc(count + 1, sizeof *own);
  t->symbols = own;
  t->index = ft_calloc((size_t)t->index_mask + 1, sizeof *t->index);
  filtra_status status =
      own && t->index ? add_symbols(t, own, symbols, count) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) *tokenizer = t;
  if (status) ft_tokenizer_free(t);
  return status;
}

void ft_tokenizer_free(filtra_tokenizer *t) {
  if (!t) return;
  for (uint32_t i = 0; !t->pretrained && t->symbols && i < t->size; i++)
    free((char *)t->symbols[i]);
  if (!t->pretrained) free((void *)t->symbols);
  ft_pretrained_free(t->pretrained);
  free(t->index);
  free(t);
}

/* ---- counting ---- */

typedef struct counted_word {
  char *text;
  uint64_t count;
} counted_word;

struct ft_vocabulary {
  bool words, any;
  size_t most_symbols; /* for words */
  uint8_t *seen;       /* [CODE_POINTS / 8] for characters */
  counted_word *table; /* [table_mask + 1], open addressing */
  size_t table_mask, used;
};

filtra_status ft_vocabulary_create(const char *name, uint32_t most_ids,
                                   ft_vocabulary **vocabulary) {
  ft_vocabulary *v = *vocabulary = ft_calloc(1, sizeof *v);
  if (!v) return FILTRA_ERROR_HOST_MEMORY;
  v->most_symbols = (most_ids ? most_ids : DEFAULT_WORD_IDS) - 1;
  v->words = is_words(name);
  v->table_mask = 0xffff;
  if (v->words)
    v->table = ft_calloc(v->table_mask + 1, sizeof *v->table);
  else
    v->seen = ft_calloc(CODE_POINTS / 8, 1);
  if (v->table || v->seen) return FILTRA_OK;
  ft_vocabulary_free(v);
  *vocabulary = NULL;
  return FILTRA_ERROR_HOST_MEMORY;
}

void ft_vocabulary_free(ft_vocabulary *v) {
  if (!v) return;
  for (size_t i = 0; v->table && i <= v->table_mask; i++)
    free(v->table[i].text);
  free(v->table);
  free(v->seen);
  free(v);
}

static filtra_status count_characters(ft_vocabulary *v, const char *text, size_t length) {
  uint32_t code_point;
  size_t column = 1;
  for (size_t at = 0, bytes; at < length; at += bytes, column++) {
    bytes = ft_utf8_next(text + at, length - at, &code_point);
    if (bytes == 0) return ft_fail_encoding(text + at, column);
    v->seen[code_point / 8] |= (uint8_t)(1 << code_point % 8);
  }
  return FILTRA_OK;
}

static counted_word *find_word(counted_word *table, size_t mask, const char *word, size_t bytes) {
  size_t at = hash_bytes(word, bytes) & mask;
  while (table[at].text && !same(table[at].text, word, bytes))
    at = (at + 1) & mask;
  return &table[at];
}

static filtra_status widen_table(ft_vocabulary *v) {
  size_t mask = 2 * v->table_mask + 1;
  counted_word *table = ft_calloc(mask + 1, sizeof *table);
  if (!table) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i <= v->table_mask; i++)
    if (v->table[i].text)
      *find_word(table, mask, v->table[i].text, strlen(v->table[i].text)) = v->table[i];
  free(v->table);
  v->table = table;
  v->table_mask = mask;
  return FILTRA_OK;
}

static filtra_status add_word(ft_vocabulary *v, counted_word *entry, const char *word,
                              size_t bytes) {
  entry->text = ft_calloc(bytes + 1, 1);
  if (!entry->text) return FILTRA_ERROR_HOST_MEMORY;
  memcpy(entry->text, word, bytes);
  entry->count = 1;
  return ++v->used > v->table_mask / 2 ? widen_table(v) : FILTRA_OK;
}

static filtra_status count_words(ft_vocabulary *v, const char *text, size_t length) {
  const char *word;
  size_t at = 0, bytes;
  while (word = next_word(text, length, &at, &bytes), bytes > 0) {
    if (*word == '\n' || bytes > MAX_WORD_BYTES) continue;
    counted_word *entry = find_word(v->table, v->table_mask, word, bytes);
    if (entry->text) {
      entry->count++;
      continue;
    }
    FT_TRY(check_word(text, word, bytes));
    FT_TRY(add_word(v, entry, word, bytes));
  }
  return FILTRA_OK;
}

bool ft_vocabulary_is_empty(const ft_vocabulary *v) {
  return !v->any;
}

filtra_status ft_vocabulary_count(ft_vocabulary *v, const char *text, size_t length) {
  v->any = v->any || length > 0;
  return v->words ? count_words(v, text, length) : count_characters(v, text, length);
}

/* ---- from counts to symbols ---- */

static bool is_seen(const ft_vocabulary *v, uint32_t code_point) {
  return v->seen[code_point / 8] >> code_point % 8 & 1;
}

static filtra_status make_characters(const ft_vocabulary *v, filtra_tokenizer **out) {
  size_t count = 0, room = 1;
  for (uint32_t c = 1; c < CODE_POINTS; c++)
    room += is_seen(v, c);
  char(*text)[5] = ft_calloc(room, sizeof *text);
  const char **symbols = ft_calloc(room, sizeof *symbols);
  filtra_status status = text && symbols ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t c = 1; c < CODE_POINTS && !status; c++) {
    if (!is_seen(v, c)) continue;
    ft_utf8_write(c, text[count]);
    symbols[count] = text[count];
    count++;
  }
  if (!status) status = ft_tokenizer_make("characters", symbols, count, out);
  free(text);
  free(symbols);
  return status;
}

/* By descending frequency, then by bytes. */
static int compare_words(const void *a, const void *b) {
  const counted_word *x = a, *y = b;
  if (x->count != y->count) return x->count < y->count ? 1 : -1;
  return strcmp(x->text, y->text);
}

static bool is_fixed(const counted_word *word) {
  return !strcmp(word->text, unknown_word) || !strcmp(word->text, end_of_line);
}

static filtra_status make_words(const ft_vocabulary *v, filtra_tokenizer **out) {
  size_t used = 0, count = 0;
  counted_word *list = ft_calloc(v->used + 1, sizeof *list);
  const char **symbols = ft_calloc(v->used + FT_WORD_END_OF_LINE, sizeof *symbols);
  filtra_status status = list && symbols ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i <= v->table_mask && !status; i++)
    if (v->table[i].text && !is_fixed(&v->table[i])) list[used++] = v->table[i];
  if (!status) {
    qsort(list, used, sizeof *list, compare_words);
    symbols[count++] = unknown_word;
    symbols[count++] = end_of_line;
    for (size_t i = 0; i < used && count < v->most_symbols; i++)
      symbols[count++] = list[i].text;
    status = ft_tokenizer_make("words", symbols, count, out);
  }
  free(list);
  free(symbols);
  return status;
}

filtra_status ft_vocabulary_make(const ft_vocabulary *vocabulary, filtra_tokenizer **tokenizer) {
  *tokenizer = NULL;
  return vocabulary->words ? make_words(vocabulary, tokenizer)
                           : make_characters(vocabulary, tokenizer);
}
