/* Encodes and decodes with pretrained tokenizers: finds added tokens first, then words, which a
 * cache stores. Called by tokenizer.c and corpus.c. */
#include "data/pretrained.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "data/pretrained_added.h"
#include "data/pretrained_bpe.h"
#include "data/pretrained_wordpiece.h"

#include <stdlib.h>
#include <string.h>

/* ---- scratch memory ---- */

static ft_scratch *take_scratch(ft_pretrained *p) {
  ft_lock(&p->lock);
  ft_scratch *s = p->idle;
  if (s) p->idle = s->next;
  ft_unlock(&p->lock);
  return s ? s : ft_calloc(1, sizeof *s);
}

static void give_scratch(ft_pretrained *p, ft_scratch *s) {
  ft_lock(&p->lock);
  s->next = p->idle;
  p->idle = s;
  ft_unlock(&p->lock);
}

static void free_scratch(ft_scratch *s) {
  free(s->text);
  free(s->origins);
  free(s->marks);
  free(s->word);
  free(s->heap);
  free(s->ends);
  free(s);
}

/* ---- words ---- */

static filtra_status encode_word(const ft_pretrained *p, ft_scratch *s, const char *word,
                                 size_t length, ft_tokens *tokens) {
  return p->bpe ? ft_bpe_encode(p, s, word, length, tokens)
                : ft_wordpiece_encode(p, s, word, length, tokens);
}

/* Appends the ids of a word, from the cache if possible. */
static filtra_status add_word(const ft_pretrained *p, ft_scratch *s, const char *word,
                              size_t length, ft_tokens *tokens) {
  if (length > FT_CACHED_BYTES) return encode_word(p, s, word, length, tokens);
  const uint32_t hash = ft_hash_more(FT_HASH_BEGIN, word, length);
  ft_cached_word *cached = &s->cache[(hash ^ hash >> 15) % FT_CACHE_WORDS];
  if (cached->length == length && !memcmp(cached->word, word, length)) {
    FT_TRY(ft_tokens_reserve(tokens, cached->count));
    memcpy(tokens->ids + tokens->count, cached->ids, cached->count * sizeof *cached->ids);
    tokens->count += cached->count;
    return FILTRA_OK;
  }
  const size_t before = tokens->count;
  FT_TRY(encode_word(p, s, word, length, tokens));
  const size_t count = tokens->count - before;
  if (count > FT_CACHED_IDS) return FILTRA_OK;
  cached->length = (uint8_t)length;
  cached->count = (uint8_t)count;
  memcpy(cached->word, word, length);
  memcpy(cached->ids, tokens->ids + before, count * sizeof *cached->ids);
  return FILTRA_OK;
}

/* ---- texts ---- */

/* An encoding in progress, and the buffer that is being split into words. */
typedef struct encoding {
  const ft_pretrained *p;
  ft_scratch *s;
  ft_tokens *tokens;
  ft_spans *spans; /* NULL: not wanted */
  const char *buffer;
  const ft_span *origins; /* of the buffer's bytes; NULL: computed from `base` and `added` */
  size_t base, added;     /* byte i of the buffer is byte base + i - added of the text */
} encoding;

static ft_span span_of(const encoding *e, size_t begin, size_t end) {
  if (e->origins) return (ft_span){e->origins[begin].begin, e->origins[end - 1].end};
  /* A blank added in front has the span of the first character. */
  if (end <= e->added)
    for (end = e->added + 1; (e->buffer[end] & 0xc0) == 0x80;)
      end++;
  begin = begin > e->added ? begin - e->added : 0;
  end -= e->added;
  return (ft_span){(uint32_t)(e->base + begin), (uint32_t)(e->base + end)};
}

static filtra_status add_span(encoding *e, ft_span span) {
  if (!e->spans) return FILTRA_OK;
  FT_TRY(FT_GROW(e->spans->list, e->spans->count, e->spans->capacity));
  e->spans->list[e->spans->count++] = span;
  return FILTRA_OK;
}

/* Whether a token keeps its first blank, which may be one added in front. */
static bool keeps_blank(const encoding *e, ft_span span) {
  return e->p->trim_prefix && (!e->spans->count || !span.begin);
}

/* Trims the blanks of a BPE token from its span, as Hugging Face does. */
static ft_span trim(const encoding *e, ft_span span, size_t begin, size_t end) {
  uint32_t before = 0, after = 0;
  while (begin + before < end && e->buffer[begin + before] == ' ')
    before++;
  while (end - after > begin && e->buffer[end - after - 1] == ' ')
    after++;
  const bool kept = before && keeps_blank(e, span);
  if (end <= e->added)
    return kept ? (ft_span){span.begin, span.begin} : (ft_span){span.end, span.end};
  before -= kept;
  span.begin = span.begin + before < span.end ? span.begin + before : span.end;
  if (span.end >= after) span.end = span.end - after > span.begin ? span.end - after : span.begin;
  return span;
}

/* Number of bytes that an id stands for in a word with `left` bytes left. */
static size_t bytes_of(const ft_pretrained *p, int32_t id, bool inside, size_t left) {
  size_t bytes = p->lengths[id];
  if (id == p->unknown) return p->bpe ? 1 : left;
  if (!p->bpe) return bytes - (inside ? strlen(p->prefix) : 0);
  for (size_t i = 0; i < p->lengths[id]; i++)
    bytes -= (p->symbols[id][i] & 0xc0) == 0x80;
  return bytes;
}

static filtra_status add_word_spans(encoding *e, const char *word, size_t length, size_t first) {
  size_t at = (size_t)(word - e->buffer);
  const size_t begin = at, end = at + length;
  for (size_t i = first; i < e->tokens->count; i++) {
    const size_t next = at + bytes_of(e->p, e->tokens->ids[i], at > begin, end - at);
    const ft_span span = span_of(e, at, next);
    FT_TRY(add_span(e, e->p->trim_offsets ? trim(e, span, at, next) : span));
    at = next;
  }
  return FILTRA_OK;
}

static filtra_status encode_span(encoding *e, const char *word, size_t length) {
  const size_t first = e->tokens->count;
  FT_TRY(add_word(e->p, e->s, word, length, e->tokens));
  return e->spans ? add_word_spans(e, word, length, first) : FILTRA_OK;
}

/* Splits text into words as GPT-2 does; first prepends a blank if the tokenizer wants one and the
 * text has none. */
static filtra_status split_bpe(encoding *e, const char *text, size_t length) {
  encoding piece = *e;
  if (e->p->prefix_space && *text != ' ') {
    if (e->s->capacity < length + 2) {
      char *room = ft_realloc(e->s->text, length + 2, 1);
      if (!room) return FILTRA_ERROR_HOST_MEMORY;
      e->s->text = room;
      e->s->capacity = length + 2;
    }
    e->s->text[0] = ' ';
    memcpy(e->s->text + 1, text, length);
    e->s->text[length + 1] = '\0'; /* ends the last character */
    piece.base += (size_t)(text - e->buffer);
    piece.buffer = text = e->s->text;
    piece.added = 1;
    length++;
  }
  for (size_t at = 0, bytes; at < length; at += bytes) {
    bytes = ft_bpe_word(e->p, text + at, length - at);
    FT_TRY(encode_span(&piece, text + at, bytes));
  }
  return FILTRA_OK;
}

static filtra_status split_bert(encoding *e, const char *text, size_t length) {
  size_t at = 0, bytes;
  const char *word;
  while (word = ft_bert_word(e->p, text, length, &at, &bytes), bytes > 0)
    FT_TRY(encode_span(e, word, bytes));
  return FILTRA_OK;
}

static filtra_status add_match(encoding *e, const ft_added_match *m) {
  FT_TRY(ft_tokens_reserve(e->tokens, 1));
  e->tokens->ids[e->tokens->count++] = m->id;
  ft_span span = span_of(e, m->begin, m->end);
  if (e->p->trim_offsets && e->spans) {
    const bool kept = m->begin < m->bare_begin && keeps_blank(e, span);
    span = span_of(e, m->bare_begin - kept, m->bare_end);
  }
  return add_span(e, span);
}

static filtra_status split_words(encoding *e, size_t begin, size_t end) {
  return e->p->bpe ? split_bpe(e, e->buffer + begin, end - begin)
                   : split_bert(e, e->buffer + begin, end - begin);
}

/* Finds added tokens in the buffer and passes on the text between them. */
static filtra_status search(encoding *e, size_t length, const ft_added_tokens *added,
                            filtra_status (*between)(encoding *, size_t, size_t)) {
  size_t at = 0, from = 0;
  ft_added_match m;
  while (ft_added_find(added, e->buffer, length, &at, from, &m)) {
    if (m.begin > from) FT_TRY(between(e, from, m.begin));
    FT_TRY(add_match(e, &m));
    from = m.end;
  }
  return from < length ? between(e, from, length) : FILTRA_OK;
}

/* Encodes text between added tokens: normalises it, then looks for added tokens of normalised
 * text. */
static filtra_status encode_piece(encoding *e, size_t begin, size_t end) {
  encoding piece = *e;
  size_t length = end - begin;
  piece.buffer += begin;
  piece.base += begin;
  if (e->p->normalizes) {
    FT_TRY(ft_bert_normalize(e->p, e->s, piece.buffer, length, piece.base));
    piece.buffer = e->s->text;
    piece.origins = e->s->origins;
    length = e->s->length;
  }
  return search(&piece, length, &e->p->added[1], split_words);
}

/* Fails if the text is not UTF-8. */
static filtra_status check_text(const char *text, size_t length) {
  uint32_t c;
  size_t column = 1; /* counted in characters */
  for (size_t at = 0, bytes = 1; at < length; at += bytes, column++) {
    if (!(text[at] & 0x80)) {
      bytes = 1;
      continue;
    }
    bytes = ft_utf8_next(text + at, length - at, &c);
    if (!bytes) return ft_fail_encoding(text + at, column);
  }
  if (length <= FT_PRETRAINED_MOST_BYTES) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "a text of %zu bytes; a pretrained tokenizer takes %zu at most", length,
                 FT_PRETRAINED_MOST_BYTES);
}

filtra_status ft_pretrained_encode(ft_pretrained *p, const char *text, size_t length,
                                   ft_tokens *tokens, ft_spans *spans) {
  FT_TRY(check_text(text, length));
  ft_scratch *s = take_scratch(p);
  if (!s) return FILTRA_ERROR_HOST_MEMORY;
  s->spans = spans != NULL;
  encoding e = {.p = p, .s = s, .tokens = tokens, .spans = spans, .buffer = text};
  filtra_status status = search(&e, length, &p->added[0], encode_piece);
  give_scratch(p, s);
  return status;
}

/* ---- decoding ---- */

/* Whether Hugging Face's WordPiece decoder removes the blank before a symbol. */
static bool joins_left(const char *symbol) {
  static const char *const begins[] = {".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"};
  for (size_t i = 0; i < FT_COUNT(begins); i++)
    if (!strncmp(symbol, begins[i], strlen(begins[i]))) return true;
  return false;
}

/* Text of an id; for added tokens of normalised text, the normalised one. */
static const char *symbol_of(const ft_pretrained *p, int32_t id, size_t *length) {
  const ft_added_tokens *added = &p->added[1];
  for (size_t i = 0; i < added->count; i++) {
    if (added->list[i].id != id) continue;
    *length = added->list[i].length;
    return added->list[i].text;
  }
  *length = p->lengths[id];
  return p->symbols[id];
}

const char *ft_pretrained_decode(const ft_pretrained *p, int32_t id, bool first, char *room,
                                 size_t *length) {
  const char *symbol = symbol_of(p, id, length);
  if (p->bpe) {
    *length = ft_bpe_bytes(symbol, *length, room);
    return room;
  }
  const size_t prefix = strlen(p->prefix);
  if (first) return symbol;
  if (!strncmp(symbol, p->prefix, prefix)) {
    *length -= prefix;
    return symbol + prefix;
  }
  if (p->cleanup && joins_left(symbol)) return symbol;
  room[0] = ' ';
  memcpy(room + 1, symbol, (*length)++);
  return room;
}

void ft_pretrained_free(ft_pretrained *p) {
  if (!p) return;
  while (p->idle) {
    ft_scratch *s = p->idle;
    p->idle = s->next;
    free_scratch(s);
  }
  ft_added_free(&p->added[0]);
  ft_added_free(&p->added[1]);
  free((void *)p->symbols);
  free(p->lengths);
  free(p->table);
  free(p->merges);
  ft_mutex_free(&p->lock);
  json_decref(p->source);
  free(p);
}
