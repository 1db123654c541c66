/* Finds tokens of texts that RoBERTa takes for padding. `transformers` counts the positions of
 * tokens other than "pad_token_id", wherever they stand; Filtra those of all tokens of a text.
 * Called by start.c. */
#include "model/pretrained/padding.h"

#include "base/memory.h"
#include "data/pretrained.h"

#include <stdlib.h>

static bool is_added(const filtra_tokenizer *t, int32_t id) {
  for (int i = 0; i < 2; i++) {
    const ft_added_tokens *added = &t->pretrained->added[i];
    for (size_t k = 0; k < added->count; k++)
      if (added->list[k].id == id) return true;
  }
  return false;
}

static bool is_around_texts(const filtra_tokenizer *t, int32_t id) {
  const ft_frame *f = ft_tokenizer_frame(t);
  bool found = f && (f->begin == id || f->end == id);
  for (uint32_t i = 0; f && i < f->middle_count; i++)
    found = found || f->middle[i] == id;
  return found;
}

/* Whether the text of a token becomes that token again. */
static filtra_status is_in_texts(const filtra_tokenizer *t, int32_t id, bool *is) {
  char text[256]; /* longer ones are no words */
  size_t length;
  ft_tokens tokens = {0};
  FT_TRY(filtra_tokenizer_decode(t, &id, 1, text, sizeof text, &length));
  *is = false;
  if (length >= sizeof text || t->encode(t, text, length, &tokens)) length = 0;
  for (size_t i = 0; i < tokens.count && length; i++)
    *is = *is || tokens.ids[i] == id;
  free(tokens.ids);
  return FILTRA_OK;
}

/* Whether texts have the token for what no other token stands for. */
static bool is_unknown(const ft_pretrained *p, int32_t id) {
  bool found = !p->bpe && p->unknown == id;
  for (int byte = 0; byte < 256 && p->bpe; byte++)
    found = found || p->bytes[byte] == id;
  return found;
}

filtra_status ft_hf_check_padding(const filtra_tokenizer *t, const char *folder,
                                  const json_t *keys) {
  const json_int_t offset = json_integer_value(json_object_get(keys, "position_offset"));
  const int32_t id = (int32_t)(offset - 1);
  if (!offset || offset > (json_int_t)t->size) return FILTRA_OK;
  const bool around = is_around_texts(t, id);
  bool inside = is_unknown(t->pretrained, id);
  if (!around && !inside && !is_added(t, id)) FT_TRY(is_in_texts(t, id, &inside));
  if (!around && !inside) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s/config.json: \"pad_token_id\" is %d, which is \"%.40s\", a token %s: RoBERTa "
                 "does not count its positions, and Filtra would; accepted are ids that texts do "
                 "not have",
                 folder, (int)id, t->symbols[id],
                 around ? "that the tokenizer puts around texts" : "of ordinary texts");
}
