/* Lists of token ids, and the error for text that is not UTF-8, for all tokenizers. */
#include "base/memory.h"
#include "data/tokenizer.h"

filtra_status ft_tokens_reserve(ft_tokens *tokens, size_t extra) {
  size_t wanted = tokens->count + extra;
  if (wanted <= tokens->capacity) return FILTRA_OK;
  if (wanted < tokens->capacity + tokens->capacity / 2)
    wanted = tokens->capacity + tokens->capacity / 2;
  int32_t *ids = ft_realloc(tokens->ids, wanted, sizeof *ids);
  if (!ids) return FILTRA_ERROR_HOST_MEMORY;
  tokens->ids = ids;
  tokens->capacity = wanted;
  return FILTRA_OK;
}

filtra_status ft_fail_encoding(const char *text, size_t column) {
  return ft_fail(FILTRA_ERROR_INPUT,
                 "byte 0x%02x at column %zu is not UTF-8 text; the tokenizer \"bytes\" takes any",
                 (unsigned char)*text, column);
}
