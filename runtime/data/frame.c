/* Puts the special tokens of a pretrained tokenizer around one text or two. Called by corpus.c, by
 * tokenizer.c and by train/predictor.c. */
#include "base/memory.h"
#include "data/tokenizer.h"

#include <stdio.h>
#include <string.h>

size_t ft_frame_size(const ft_frame *frame, bool pair) {
  return frame ? (frame->begin >= 0) + (frame->end >= 0) + (pair ? frame->middle_count : 0) : 0;
}

/* Number of tokens kept of each text, so that both fit `room`: cuts the longer one first, then both
 * to half ("longest first" in Hugging Face's tokenizers). */
static void cut_longest(size_t room, size_t *a, size_t *b) {
  size_t *less = *a > *b ? b : a, *more = *a > *b ? a : b;
  if (*a + *b <= room) return;
  *more = *less > room || room - *less < *less ? *less : room - *less;
  if (*less + *more <= room) return;
  *less = room / 2;
  *more = room - *less;
}

static filtra_status check_fit(size_t needed, size_t taken, size_t limit, const char *advice) {
  char special[64] = "";
  if (needed <= limit) return FILTRA_OK;
  if (taken) snprintf(special, sizeof special, ", %zu special ones included", taken);
  if (advice)
    return ft_fail(FILTRA_ERROR_INPUT, "a sequence of more than %zu tokens%s; %s", limit, special,
                   advice);
  if (taken < limit) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "max_length %zu leaves no room for text beside %zu special tokens", limit, taken);
}

filtra_status ft_frame_tokens(const ft_frame *frame, bool left, ft_tokens *tokens, size_t first,
                              size_t second, size_t limit, const char *advice, size_t *second_at) {
  static const ft_frame none = {.begin = -1, .end = -1};
  const bool pair = second < SIZE_MAX;
  size_t a = (pair ? second : tokens->count) - first, b = pair ? tokens->count - second : 0;
  const size_t all = a + b, taken = ft_frame_size(frame, pair);
  if (pair && frame && frame->odd)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "the tokenizer's \"post_processor\" gives the tokens of pairs other types than "
                   "0 up to the second text, and 0 or 1 from there");
  FT_TRY(check_fit(all + taken, taken, limit, advice));
  if (second_at) *second_at = pair ? second - first : 0;
  if (!taken && all <= limit) return FILTRA_OK; /* there may be no tokens at all */
  FT_TRY(ft_tokens_reserve(tokens, taken));
  if (!frame) frame = &none;
  const size_t before = frame->begin >= 0, between = pair ? frame->middle_count : 0;
  int32_t *ids = tokens->ids + first;
  size_t a_from = 0, b_from = a;
  cut_longest(limit - taken, &a, &b);
  if (left) {
    a_from = b_from - a;
    b_from = all - b;
  }
  /* Moves from the right, so that nothing is overwritten before it moves; B may also move left. */
  const size_t b_to = before + a + between;
  if (b_to > b_from) memmove(ids + b_to, ids + b_from, b * sizeof *ids);
  memmove(ids + before, ids + a_from, a * sizeof *ids);
  if (b_to < b_from) memmove(ids + b_to, ids + b_from, b * sizeof *ids);
  if (before) ids[0] = frame->begin;
  for (size_t i = 0; i < between; i++)
    ids[before + a + i] = frame->middle[i];
  if (frame->end >= 0) ids[b_to + b] = frame->end;
  tokens->count = first + a + b + taken;
  if (second_at) *second_at = pair ? b_to : 0;
  return FILTRA_OK;
}
