/* Tokenizers, inside: how each one encodes. */
#ifndef FT_DATA_TOKENIZER_H
#define FT_DATA_TOKENIZER_H

#include <filtra/data.h>

/** Token ids one after the other, as datasets store them. */
typedef struct ft_tokens {
  uint16_t *ids;
  size_t count, capacity;
} ft_tokens;

/** Makes room for `extra` more ids. */
filtra_status ft_tokens_reserve(ft_tokens *tokens, size_t extra);

struct filtra_tokenizer {
  const char *name;
  const char *const *symbols; /* [size], by id */
  uint32_t size;
  /** Appends the ids of `text`; on failure what was appended is to be ignored. */
  filtra_status (*encode)(const filtra_tokenizer *tokenizer, const char *text, size_t length,
                          ft_tokens *tokens);
};

/** Frees a tokenizer that was made from data, symbols included; NULL is fine. */
void ft_tokenizer_free(filtra_tokenizer *tokenizer);

extern const filtra_tokenizer ft_tokenizer_listops, ft_tokenizer_listops_original;
extern const filtra_tokenizer ft_tokenizer_pixels;

#endif
