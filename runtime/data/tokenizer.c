#include "data/tokenizer.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const filtra_tokenizer *const tokenizers[] = {
    &ft_tokenizer_listops, &ft_tokenizer_listops_original, &ft_tokenizer_pixels};

filtra_status ft_tokens_reserve(ft_tokens *tokens, size_t extra) {
  size_t wanted = tokens->count + extra;
  if (wanted <= tokens->capacity) return FILTRA_OK;
  if (wanted < tokens->capacity + tokens->capacity / 2)
    wanted = tokens->capacity + tokens->capacity / 2;
  uint16_t *ids = ft_realloc(tokens->ids, wanted, sizeof *ids);
  if (!ids) return FILTRA_ERROR_HOST_MEMORY;
  tokens->ids = ids;
  tokens->capacity = wanted;
  return FILTRA_OK;
}

void ft_tokenizer_free(filtra_tokenizer *tokenizer) {
  if (!tokenizer) return;
  for (uint32_t i = 0; i < tokenizer->size; i++)
    free((char *)tokenizer->symbols[i]);
  free((void *)tokenizer->symbols);
  free(tokenizer);
}

const filtra_tokenizer *filtra_tokenizer_find(const char *name) {
  for (size_t i = 0; name && i < FT_COUNT(tokenizers); i++)
    if (!strcmp(name, tokenizers[i]->name)) return tokenizers[i];
  ft_fail(FILTRA_ERROR_ARGUMENT, "there is no tokenizer \"%s\"; known are %s, %s and %s",
          name ? name : "", ft_tokenizer_listops.name, ft_tokenizer_listops_original.name,
          ft_tokenizer_pixels.name);
  return NULL;
}

const char *filtra_tokenizer_name(const filtra_tokenizer *tokenizer) {
  return tokenizer->name;
}

uint32_t filtra_tokenizer_size(const filtra_tokenizer *tokenizer) {
  return tokenizer->size;
}

const char *filtra_tokenizer_symbol(const filtra_tokenizer *tokenizer, uint32_t id) {
  return id < tokenizer->size ? tokenizer->symbols[id] : NULL;
}

filtra_status filtra_tokenizer_encode(const filtra_tokenizer *tokenizer, const char *text,
                                      size_t length, int32_t *tokens, size_t capacity,
                                      size_t *count) {
  ft_tokens encoded = {0};
  filtra_status status = tokenizer->encode(tokenizer, text, length, &encoded);
  *count = status ? 0 : encoded.count;
  for (size_t i = 0; i < *count && i < capacity; i++)
    tokens[i] = encoded.ids[i];
  free(encoded.ids);
  return status;
}
