/* Writes tokenizer_config.json: a class that takes tokenizer.json as it is, and what that file does
 * not contain. Called by export.c. */
#include "model/pretrained/texts.h"

#include <string.h>

/* The roles that a special token can have, by its usual texts, and the key of config.json that has
 * its id where the family has such keys. */
static const struct {
  const char *key, *usual[3], *id;
} ROLES[] = {
    {"unk_token", {"[UNK]", "<unk>", "<|endoftext|>"}, NULL},
    {"cls_token", {"[CLS]", "<s>"}, NULL},
    {"sep_token", {"[SEP]", "</s>"}, NULL},
    {"pad_token", {"[PAD]", "<pad>"}, NULL},
    {"mask_token", {"[MASK]", "<mask>"}, NULL},
    {"bos_token", {"<s>", "<|endoftext|>"}, "bos_token_id"},
    {"eos_token", {"</s>", "<|endoftext|>"}, "eos_token_id"},
};

/* A special token among the added ones; NULL: there is none of that text. */
static const json_t *find_special(const json_t *tokenizer, const char *text) {
  const json_t *list = json_object_get(tokenizer, "added_tokens");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *token = json_array_get(list, i);
    if (!strcmp(ft_json_string(token, "content"), text))
      return json_is_true(json_object_get(token, "special")) ? token : NULL;
  }
  return NULL;
}

/* The token with a role; NULL: none has it. */
static const json_t *find_role(const json_t *tokenizer, size_t role) {
  const json_t *found = NULL;
  for (size_t i = 0; i < FT_COUNT(ROLES[role].usual) && ROLES[role].usual[i] && !found; i++)
    found = find_special(tokenizer, ROLES[role].usual[i]);
  return found;
}

static json_t *with_roles(json_t *config, const json_t *tokenizer) {
  for (size_t r = 0; r < FT_COUNT(ROLES); r++) {
    const json_t *token = find_role(tokenizer, r);
    if (token)
      config =
          ft_json_join(config, json_pack("{sO}", ROLES[r].key, json_object_get(token, "content")));
  }
  return config;
}

filtra_status ft_hf_token_ids(const json_t *tokenizer, json_t *config) {
  if (!tokenizer || json_is_null(tokenizer)) return FILTRA_OK;
  for (size_t r = 0; r < FT_COUNT(ROLES); r++) {
    if (!ROLES[r].id) continue;
    json_t *id = json_object_get(find_role(tokenizer, r), "id");
    json_object_del(config, ROLES[r].id);
    if (id && json_object_set(config, ROLES[r].id, id))
      return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  }
  return FILTRA_OK;
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
  if (json_object_get(tokenizer, "truncation")) /* that texts are cut on the left */
    config = ft_json_join(config, json_pack("{ss}", "truncation_side", "left"));
  if (lower) config = ft_json_join(config, json_pack("{sO}", "do_lower_case", lower));
  return with_roles(config, tokenizer);
}
