/* BERT's conversion of text to ids (Devlin et al. 2019), as in Hugging Face's BertNormalizer,
 * BertPreTokenizer and WordPiece. Called by pretrained.c and pretrained_read.c. */
#include "data/pretrained_wordpiece.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "data/unicode.h"

#include <string.h>

/* ---- normalising ---- */

/* The most bytes that one character becomes: a Chinese one with blanks, or its decomposition. */
enum { MOST_BYTES = 4 * FT_UNICODE_MOST_PARTS + 2 };

static filtra_status reserve_text(ft_scratch *s, size_t extra) {
  size_t wanted = s->length + extra;
  if (wanted > s->capacity) {
    wanted += wanted / 2;
    char *text = ft_realloc(s->text, wanted, 1);
    if (!text) return FILTRA_ERROR_HOST_MEMORY;
    s->text = text;
    s->capacity = wanted;
  }
  if (!s->spans || s->origin_capacity >= s->capacity) return FILTRA_OK;
  ft_span *origins = ft_realloc(s->origins, s->capacity, sizeof *origins);
  if (!origins) return FILTRA_ERROR_HOST_MEMORY;
  s->origins = origins;
  s->origin_capacity = s->capacity;
  return FILTRA_OK;
}

static void put(ft_scratch *s, uint32_t c, ft_span span) {
  const size_t bytes = ft_utf8_write(c, s->text + s->length);
  for (size_t i = 0; s->spans && i < bytes; i++)
    s->origins[s->length + i] = span;
  s->length += bytes;
}

static void put_lower(const ft_pretrained *p, ft_scratch *s, uint32_t c, ft_span span) {
  uint32_t parts[2] = {c};
  const size_t count = p->lower ? ft_unicode_to_lower(c, parts) : 1;
  for (size_t i = 0; i < count; i++)
    put(s, parts[i], span);
}

/* Writes the waiting marks in canonical order. */
static filtra_status put_marks(const ft_pretrained *p, ft_scratch *s) {
  const size_t count = s->mark_count;
  if (!count) return FILTRA_OK;
  s->mark_count = 0;
  FT_TRY(reserve_text(s, count * MOST_BYTES));
  for (unsigned class = 1, done = 0; done < count; class ++)
    for (size_t i = 0; i < count; i++)
      if (s->marks[i].class == class)
        put_lower(p, s, s->marks[i].code_point, s->marks[i].span), done++;
  return FILTRA_OK;
}

/* One part of a decomposition: a mark is dropped, or waits if it has a class. */
static filtra_status put_part(const ft_pretrained *p, ft_scratch *s, uint32_t c, ft_span span) {
  const unsigned class = ft_unicode_class(c);
  const bool dropped = ft_unicode(c) & FT_UNICODE_MARK;
  if (!class) FT_TRY(put_marks(p, s));
  if (dropped) return FILTRA_OK;
  if (!class) {
    FT_TRY(reserve_text(s, MOST_BYTES));
    put_lower(p, s, c, span);
    return FILTRA_OK;
  }
  FT_TRY(FT_GROW(s->marks, s->mark_count, s->mark_capacity));
  s->marks[s->mark_count++] = (ft_waiting_mark){c, class, span};
  return FILTRA_OK;
}

static filtra_status put_stripped(const ft_pretrained *p, ft_scratch *s, uint32_t c, ft_span span) {
  uint32_t parts[FT_UNICODE_MOST_PARTS] = {c};
  const size_t count = p->strip ? ft_unicode_decompose(c, parts) : 1;
  for (size_t i = 0; i < count; i++) {
    if (p->strip)
      FT_TRY(put_part(p, s, parts[i], span));
    else
      put_lower(p, s, parts[i], span);
  }
  return FILTRA_OK;
}

static filtra_status put_character(const ft_pretrained *p, ft_scratch *s, uint32_t c,
                                   ft_span span) {
  const unsigned flags = ft_unicode(c);
  const bool spaced = p->chinese && flags & FT_UNICODE_CHINESE;
  if (p->clean && flags & FT_UNICODE_DROPPED) return FILTRA_OK;
  if (p->clean && flags & FT_UNICODE_SPACE) c = ' ';
  if (spaced) FT_TRY(put_stripped(p, s, ' ', span));
  FT_TRY(put_stripped(p, s, c, span));
  return spaced ? put_stripped(p, s, ' ', span) : FILTRA_OK;
}

/* Copies ASCII characters, cleaned and lower-cased as configured; they get no blanks and have no
 * decomposition. Returns the number of bytes consumed. */
static size_t put_ascii(const ft_pretrained *p, ft_scratch *s, const char *text, size_t length,
                        ft_span span) {
  size_t at = 0;
  for (; at < length && !(text[at] & 0x80); at++) {
    const unsigned flags = p->ascii[(size_t)text[at]];
    char c = text[at];
    if (p->clean && flags & FT_UNICODE_DROPPED) continue;
    if (p->clean && flags & FT_UNICODE_SPACE) c = ' ';
    if (p->lower && c >= 'A' && c <= 'Z') c = (char)(c + ('a' - 'A'));
    if (s->spans)
      s->origins[s->length] = (ft_span){span.begin + (uint32_t)at, span.begin + (uint32_t)at + 1};
    s->text[s->length++] = c;
  }
  return at;
}

filtra_status ft_bert_normalize(const ft_pretrained *p, ft_scratch *s, const char *text,
                                size_t length, size_t base) {
  uint32_t c;
  s->length = s->mark_count = 0;
  for (size_t at = 0, bytes; at < length; at += bytes) {
    ft_span span = {(uint32_t)(base + at), 0};
    FT_TRY(reserve_text(s, length - at + 2 * MOST_BYTES));
    bytes = s->mark_count ? 0 : put_ascii(p, s, text + at, length - at, span);
    if (bytes) continue;
    bytes = ft_utf8_next(text + at, length - at, &c);
    span.end = span.begin + (uint32_t)bytes;
    FT_TRY(put_character(p, s, c, span));
  }
  FT_TRY(reserve_text(s, s->mark_count * MOST_BYTES));
  return put_marks(p, s);
}

/* ---- words ---- */

static unsigned flags_at(const ft_pretrained *p, const char *text, size_t size, size_t *bytes) {
  uint32_t c;
  *bytes = 1;
  if (!(*text & 0x80)) return p->ascii[(size_t)*text];
  *bytes = ft_utf8_next(text, size, &c);
  return ft_unicode(c);
}

const char *ft_bert_word(const ft_pretrained *p, const char *text, size_t size, size_t *at,
                         size_t *length) {
  enum { ENDS = FT_UNICODE_SPACE | FT_UNICODE_PUNCTUATION };
  size_t bytes = 0;
  unsigned flags = 0;
  while (*at < size && (flags = flags_at(p, text + *at, size - *at, &bytes)) & FT_UNICODE_SPACE)
    *at += bytes;
  const size_t from = *at;
  if (*at < size && flags & FT_UNICODE_PUNCTUATION)
    *at += bytes;
  else
    while (*at < size && !(flags_at(p, text + *at, size - *at, &bytes) & ENDS))
      *at += bytes;
  *length = *at - from;
  return text + from;
}

/* ---- pieces ---- */

static filtra_status reserve_ends(ft_scratch *s, size_t length) {
  if (length <= s->ends_capacity) return FILTRA_OK;
  uint32_t *ends = ft_realloc(s->ends, length, 2 * sizeof *ends);
  if (!ends) return FILTRA_ERROR_HOST_MEMORY;
  s->ends = ends;
  s->ends_capacity = length;
  return FILTRA_OK;
}

/* The longest symbol that matches the word at *at, which moves past it; -1: none. */
static int32_t next_piece(const ft_pretrained *p, ft_scratch *s, const char *word, size_t length,
                          size_t *at) {
  uint32_t *ends = s->ends, *hashes = s->ends + s->ends_capacity, c;
  const char *prefix = *at ? p->prefix : "";
  uint32_t hash = *at ? p->prefix_hash : FT_HASH_BEGIN;
  size_t count = 0;
  for (size_t end = *at, bytes; end < length; end += bytes, count++) {
    bytes = ft_utf8_next(word + end, length - end, &c);
    hashes[count] = hash = ft_hash_more(hash, word + end, bytes);
    ends[count] = (uint32_t)(end + bytes);
  }
  while (count-- > 0) {
    const int32_t id =
        ft_symbol_find(p, hashes[count], prefix, strlen(prefix), word + *at, ends[count] - *at);
    if (id < 0) continue;
    *at = ends[count];
    return id;
  }
  return -1;
}

static size_t count_characters(const char *word, size_t length) {
  size_t count = 0;
  for (size_t i = 0; i < length; i++)
    count += (word[i] & 0xc0) != 0x80;
  return count;
}

filtra_status ft_wordpiece_encode(const ft_pretrained *p, ft_scratch *s, const char *word,
                                  size_t length, ft_tokens *tokens) {
  const size_t first = tokens->count;
  bool known = count_characters(word, length) <= p->most_characters;
  FT_TRY(ft_tokens_reserve(tokens, known ? length : 1));
  if (known) FT_TRY(reserve_ends(s, length));
  for (size_t at = 0; known && at < length;) {
    const int32_t id = next_piece(p, s, word, length, &at);
    known = id >= 0;
    if (known) tokens->ids[tokens->count++] = id;
  }
  if (known) return FILTRA_OK;
  tokens->count = first;
  tokens->ids[tokens->count++] = p->unknown;
  return FILTRA_OK;
}
