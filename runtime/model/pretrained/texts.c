/* Writes tokenizer_config.json: a class that takes tokenizer.json as it is, and what that file does
 * not contain. Called by export.c. */
#include "model/pretrained/texts.h"

#include <string.h>

/* The roles that a special token can have, by its usual texts. */
static const struct {
  const char *key, *usual[3];
} ROLES[] = {
    {"unk_token", {"[UNK]", "<unk>", "<|endoftext|>"}},
    {"cls_token", {"[CLS]", "<s>"}},
    {"sep_token", {"[SEP]", "</s>"}},
    {"pad_token", {"[PAD]", "<pad>"}},
    {"mask_token", {"[MASK]", "<mask>"}},
    {"bos_token", {"<s>", "<|endoftext|>"}},
    {"eos_token", {"</s>", "<|endoftext|>"}},
};

static bool is_special(const json_t *tokenizer, const char *text) {
  const json_t *list = json_object_get(tokenizer, "added_tokens");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *token = json_array_get(list, i);
    if (!strcmp(ft_json_string(token, "content"), text))
      return json_is_true(json_object_get(token, "special"));
  }
  return false;
}

static json_t *with_roles(json_t *config, const json_t *tokenizer) {
  for (size_t r = 0; r < FT_COUNT(ROLES); r++)
    for (size_t i = 0; i < FT_COUNT(ROLES[r].usual) && ROLES[r].usual[i]; i++)
      if (is_special(tokenizer, ROLES[r].usual[i])) {
        config = ft_json_join(config, json_pack("{ss}", ROLES[r].key, ROLES[r].usual[i]));
        break;
      }
  return config;
}

json_t *ft_hf_tokenizer_config(const json_t *tokenizer, const json_t *keys) {
  const json_t *normalizer = json_object_get(tokenizer, "normalizer"),
               *lower = json_object_get(normalizer, "lowercase");
  json_t *inputs = json_pack("[ss]", "input_ids", "attention_mask");
  if (json_integer_value(json_object_get(keys, "token_types")) > 1)
    ft_json_append(&inputs, json_string("token_type_ids"));
  json_t *config = json_pack("{ss sO so sb}", "tokenizer_class", "PreTrainedTokenizerFast",
                             "model_max_length", json_object_get(keys, "max_length"),
                             "model_input_names", inputs, "clean_up_tokenization_spaces", 0);
  if (lower) config = ft_json_join(config, json_pack("{sO}", "do_lower_case", lower));
  return with_roles(config, tokenizer);
}
