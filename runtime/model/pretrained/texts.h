/* What other programs need to know of a tokenizer besides tokenizer.json. */
#ifndef FT_MODEL_PRETRAINED_TEXTS_H
#define FT_MODEL_PRETRAINED_TEXTS_H

#include "base/json.h"

/** The tokenizer_config.json for a tokenizer.json and a model with these keys; NULL when out of
 * memory. */
json_t *ft_hf_tokenizer_config(const json_t *tokenizer, const json_t *keys);

/** Sets "bos_token_id" and "eos_token_id" of config.json to the ids of the tokenizer's tokens, as
 * ft_hf_tokenizer_config names them; a tokenizer without such a token leaves the key out. NULL or
 * JSON's null: there is no tokenizer, and the keys stay. */
filtra_status ft_hf_token_ids(const json_t *tokenizer, json_t *config);

#endif
