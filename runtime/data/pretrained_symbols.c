/* The vocabulary of a pretrained tokenizer as a hash table. Called by the files pretrained_*.c. */
#include "data/pretrained.h"

#include <string.h>

/* FNV-1a */
uint32_t ft_hash_more(uint32_t hash, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    hash = (hash ^ (unsigned char)text[i]) * 16777619U;
  return hash;
}

int32_t ft_symbol_find(const ft_pretrained *p, uint32_t hash, const char *a, size_t a_length,
                       const char *b, size_t b_length) {
  for (uint32_t at = hash & p->table_mask; p->table[at].id >= 0; at = (at + 1) & p->table_mask) {
    if (p->table[at].hash != hash) continue;
    const int32_t id = p->table[at].id;
    if (p->lengths[id] == a_length + b_length && !memcmp(p->symbols[id], a, a_length) &&
        !memcmp(p->symbols[id] + a_length, b, b_length))
      return id;
  }
  return -1;
}

int32_t ft_symbol_id(const ft_pretrained *p, const char *symbol) {
  const size_t length = strlen(symbol);
  return ft_symbol_find(p, ft_hash_more(FT_HASH_BEGIN, symbol, length), symbol, length, "", 0);
}
