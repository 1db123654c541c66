/* Encodes one text or two as a sequence with special tokens, as corpus.c does for files. Called by
 * train/predictor.c for requests. */
#include "data/dataset.h"
#include "data/tokenizer.h"

static filtra_status add_text(const filtra_tokenizer *t, const char *text, size_t length,
                              ft_tokens *tokens) {
  const size_t before = tokens->count;
  FT_TRY(t->encode(t, text, length, tokens));
  return tokens->count > before ? FILTRA_OK : ft_fail(FILTRA_ERROR_INPUT, "a text of no tokens");
}

filtra_status ft_tokenizer_encode_texts(const filtra_tokenizer *tokenizer, const ft_texts *texts,
                                        size_t limit, bool truncate, ft_tokens *tokens,
                                        size_t *second_at) {
  size_t second = SIZE_MAX;
  FT_TRY(add_text(tokenizer, texts->text, texts->length, tokens));
  if (texts->second) {
    second = tokens->count;
    FT_TRY(add_text(tokenizer, texts->second, texts->second_length, tokens));
  }
  return ft_frame_tokens(ft_tokenizer_frame(tokenizer), ft_tokenizer_cuts_left(tokenizer), tokens,
                         0, second, limit, truncate ? NULL : FT_LENGTH_ADVICE_TRAINED, second_at);
}
