/* Finds added tokens in texts as Hugging Face's AddedVocabulary does: leftmost, longest first.
 * Called by pretrained.c and pretrained_read.c. */
#include "data/pretrained_added.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "data/unicode.h"

#include <stdlib.h>
#include <string.h>

filtra_status ft_added_put(ft_pretrained *p, ft_added_token token) {
  ft_added_tokens *added = &p->added[token.normalized];
  filtra_status status = FT_GROW(added->list, added->count, added->capacity);
  size_t at = 0;
  for (; !status && at < added->count && added->list[at].length >= token.length; at++)
    if (added->list[at].length == token.length &&
        !memcmp(added->list[at].text, token.text, token.length))
      status = ft_fail(FILTRA_ERROR_INPUT, "\"added_tokens\" has \"%.40s\" twice", token.text);
  if (status) {
    free(token.owned);
    return status;
  }
  memmove(&added->list[at + 1], &added->list[at], (added->count - at) * sizeof token);
  added->list[at] = token;
  added->count++;
  if (token.length > p->longest) p->longest = (uint32_t)token.length;
  added->first[(unsigned char)token.text[0]] = true;
  return FILTRA_OK;
}

void ft_added_free(ft_added_tokens *added) {
  for (size_t i = 0; i < added->count; i++)
    free(added->list[i].owned);
  free(added->list);
}

static unsigned flags_at(const char *text, size_t length) {
  uint32_t c;
  return ft_utf8_next(text, length, &c) ? ft_unicode(c) : 0;
}

/* Index of the character that ends at `end`. */
static size_t before(const char *text, size_t end) {
  do
    end--;
  while (end > 0 && (text[end] & 0xc0) == 0x80);
  return end;
}

static bool is_alone(const char *text, size_t length, const ft_added_match *m) {
  size_t last = m->begin ? before(text, m->begin) : 0;
  return !(m->begin && flags_at(text + last, m->begin - last) & FT_UNICODE_WORD) &&
         !(m->end < length && flags_at(text + m->end, length - m->end) & FT_UNICODE_WORD);
}

static void take_spaces(const ft_added_token *token, const char *text, size_t length, size_t from,
                        ft_added_match *m) {
  while (token->lstrip && m->begin > from) {
    size_t last = before(text, m->begin);
    if (!(flags_at(text + last, m->begin - last) & FT_UNICODE_SPACE)) break;
    m->begin = last;
  }
  uint32_t c;
  while (token->rstrip && m->end < length) {
    size_t bytes = ft_utf8_next(text + m->end, length - m->end, &c);
    if (!(ft_unicode(c) & FT_UNICODE_SPACE)) break;
    m->end += bytes;
  }
}

static const ft_added_token *token_at(const ft_added_tokens *added, const char *text,
                                      size_t length) {
  for (size_t i = 0; i < added->count; i++) {
    const ft_added_token *token = &added->list[i];
    if (token->text[0] == text[0] && token->length <= length &&
        !memcmp(token->text, text, token->length))
      return token;
  }
  return NULL;
}

bool ft_added_find(const ft_added_tokens *added, const char *text, size_t length, size_t *search,
                   size_t from, ft_added_match *match) {
  if (!added->count) return false;
  while (*search < length) {
    const size_t at = (*search)++;
    if (!added->first[(unsigned char)text[at]]) continue;
    const ft_added_token *token = token_at(added, text + at, length - at);
    if (!token) continue;
    *match = (ft_added_match){.begin = at, .end = at + token->length, .id = token->id};
    match->bare_begin = match->begin;
    match->bare_end = match->end;
    *search = match->end;
    if (token->single_word && !is_alone(text, length, match)) continue;
    take_spaces(token, text, length, from, match);
    return true;
  }
  return false;
}
