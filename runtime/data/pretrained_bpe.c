/* Byte-level BPE (Radford et al. 2019; Sennrich et al. 2016). Called by pretrained.c and
 * pretrained_read.c. */
#include "data/pretrained_bpe.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "data/unicode.h"

#include <stdlib.h>
#include <string.h>

/* ---- splitting by GPT-2's pattern ----
 *
 * 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */

enum { KINDS = FT_UNICODE_LETTER | FT_UNICODE_NUMBER | FT_UNICODE_SPACE };

/* Kind of the next character: letter, number, white space or, 0, anything else; *bytes is its
 * length. */
static unsigned kind_at(const ft_pretrained *p, const char *text, size_t length, size_t *bytes) {
  uint32_t c;
  *bytes = 1;
  if (!(*text & 0x80)) return p->ascii[(size_t)*text] & KINDS;
  *bytes = ft_utf8_next(text, length, &c);
  return ft_unicode(c) & KINDS;
}

static size_t contraction(const char *text, size_t length) {
  if (length < 2 || text[0] != '\'') return 0;
  if (text[1] && strchr("stmd", text[1])) return 2;
  return length > 2 && (!memcmp(text + 1, "re", 2) || !memcmp(text + 1, "ve", 2) ||
                        !memcmp(text + 1, "ll", 2))
             ? 3
             : 0;
}

/* White space before something else leaves its last character to that. */
static size_t white_space(const ft_pretrained *p, const char *text, size_t length) {
  size_t end = 0, last = 0, bytes;
  while (end < length && kind_at(p, text + end, length - end, &bytes) == FT_UNICODE_SPACE) {
    last = end;
    end += bytes;
  }
  return end < length && last > 0 ? last : end;
}

size_t ft_bpe_word(const ft_pretrained *p, const char *text, size_t length) {
  size_t bytes, end = contraction(text, length);
  if (end) return end;
  const size_t blank = *text == ' ' && length > 1;
  const unsigned kind = kind_at(p, text + blank, length - blank, &bytes);
  if (kind == FT_UNICODE_SPACE) return white_space(p, text, length);
  end = blank + bytes;
  while (end < length && kind_at(p, text + end, length - end, &bytes) == kind)
    end += bytes;
  return end;
}

/* ---- merges ---- */

static uint64_t slot_of(const ft_pretrained *p, uint64_t pair) {
  return (pair * 0x9e3779b97f4a7c15U) >> 32 & p->merge_mask;
}

static uint64_t pair_of(int32_t left, int32_t right) {
  return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

const ft_merge *ft_bpe_merge(const ft_pretrained *p, int32_t left, int32_t right) {
  const uint64_t pair = pair_of(left, right);
  for (uint64_t at = slot_of(p, pair); p->merges[at].id >= 0; at = (at + 1) & p->merge_mask)
    if (p->merges[at].pair == pair) return &p->merges[at];
  return NULL;
}

bool ft_bpe_keep(ft_pretrained *p, int32_t left, int32_t right, uint32_t rank, int32_t id) {
  const uint64_t pair = pair_of(left, right);
  uint64_t at = slot_of(p, pair);
  for (; p->merges[at].id >= 0; at = (at + 1) & p->merge_mask)
    if (p->merges[at].pair == pair) return false;
  p->merges[at] = (ft_merge){.pair = pair, .rank = rank, .id = id};
  return true;
}

/* ---- a heap of rank << 32 | position ---- */

static void push(uint64_t *heap, size_t *count, uint64_t value) {
  size_t at = (*count)++;
  for (; at > 0 && heap[(at - 1) / 2] > value; at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = value;
}

static uint64_t pop(uint64_t *heap, size_t *count) {
  const uint64_t least = heap[0], value = heap[--*count];
  size_t at = 0, child;
  for (; (child = 2 * at + 1) < *count; at = child) {
    if (child + 1 < *count && heap[child + 1] < heap[child]) child++;
    if (heap[child] >= value) break;
    heap[at] = heap[child];
  }
  heap[at] = value;
  return least;
}

/* ---- a word ---- */

enum { MERGES_PER_BYTE = 3 };

static const uint32_t NO_RANK = UINT32_MAX;

/* Reserves room for the first pairs and at most two more for each merge. */
static filtra_status reserve_word(ft_scratch *s, size_t length) {
  if (length <= s->word_capacity) return FILTRA_OK;
  ft_bpe_symbol *word = ft_realloc(s->word, length, sizeof *word);
  if (!word) return FILTRA_ERROR_HOST_MEMORY;
  s->word = word;
  uint64_t *heap = ft_realloc(s->heap, length, MERGES_PER_BYTE * sizeof *heap);
  if (!heap) return FILTRA_ERROR_HOST_MEMORY;
  s->heap = heap;
  s->word_capacity = length;
  return FILTRA_OK;
}

/* Looks up the merge of a symbol and the next one; `end`: there is no next one. */
static void look_up(const ft_pretrained *p, ft_scratch *s, uint32_t at, uint32_t end,
                    size_t *waiting) {
  ft_bpe_symbol *symbol = &s->word[at];
  const ft_merge *merge =
      symbol->next < end ? ft_bpe_merge(p, symbol->id, s->word[symbol->next].id) : NULL;
  symbol->rank = merge ? merge->rank : NO_RANK;
  if (!merge) return;
  symbol->merged = merge->id;
  push(s->heap, waiting, (uint64_t)merge->rank << 32 | at);
}

/* Joins a symbol and the next one, which gets id -1. */
static void join(const ft_pretrained *p, ft_scratch *s, uint32_t at, uint32_t end,
                 size_t *waiting) {
  ft_bpe_symbol *symbol = &s->word[at], *gone = &s->word[symbol->next];
  symbol->id = symbol->merged;
  symbol->next = gone->next;
  gone->id = -1;
  if (symbol->next < end) s->word[symbol->next].previous = at;
  look_up(p, s, at, end, waiting);
  if (at > 0) look_up(p, s, symbol->previous, end, waiting);
}

filtra_status ft_bpe_encode(const ft_pretrained *p, ft_scratch *s, const char *word, size_t length,
                            ft_tokens *tokens) {
  size_t waiting = 0;
  const uint32_t end = (uint32_t)length;
  FT_TRY(reserve_word(s, length));
  FT_TRY(ft_tokens_reserve(tokens, length));
  for (uint32_t i = 0; i < end; i++)
    s->word[i] = (ft_bpe_symbol){
        .id = p->bytes[(unsigned char)word[i]], .previous = i - 1, .next = i + 1, .rank = NO_RANK};
  for (uint32_t i = 0; i < end; i++)
    look_up(p, s, i, end, &waiting);
  while (waiting) {
    const uint64_t least = pop(s->heap, &waiting);
    const uint32_t at = (uint32_t)least;
    if (s->word[at].id >= 0 && s->word[at].rank == least >> 32) join(p, s, at, end, &waiting);
  }
  for (uint32_t i = 0; i < end; i = s->word[i].next)
    tokens->ids[tokens->count++] = s->word[i].id;
  return FILTRA_OK;
}

/* ---- bytes as characters ---- */

static bool shows_itself(unsigned c) {
  return (c >= '!' && c <= '~') || (c >= 0xa1 && c <= 0xac) || c >= 0xae;
}

uint32_t ft_bpe_character(unsigned char byte) {
  uint32_t others = 0; /* smaller bytes that are not shown as themselves */
  if (shows_itself(byte)) return byte;
  for (unsigned c = 0; c < byte; c++)
    others += !shows_itself(c);
  return 0x100 + others;
}

/* The byte that a character stands for; -1: none. */
static int byte_of(uint32_t c) {
  if (c < 0x100) return shows_itself(c) ? (int)c : -1;
  for (unsigned byte = 0; byte < 0x100; byte++)
    if (!shows_itself(byte) && c-- == 0x100) return (int)byte;
  return -1;
}

size_t ft_bpe_bytes(const char *symbol, size_t length, char *bytes) {
  size_t count = 0;
  uint32_t c;
  for (size_t at = 0; at < length; at += ft_utf8_next(symbol + at, length - at, &c)) {
    ft_utf8_next(symbol + at, length - at, &c);
    const int byte = byte_of(c);
    if (byte < 0) {
      memcpy(bytes, symbol, length);
      return length;
    }
    bytes[count++] = (char)byte;
  }
  return count;
}
