/* Grows a list of token ids, for all tokenizers. */
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
