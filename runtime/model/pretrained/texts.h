/* What other programs need to know of a tokenizer besides tokenizer.json. */
#ifndef FT_MODEL_PRETRAINED_TEXTS_H
#define FT_MODEL_PRETRAINED_TEXTS_H

#include "base/json.h"

/** The tokenizer_config.json for a tokenizer.json and a model with these keys; NULL when out of
 * memory. */
json_t *ft_hf_tokenizer_config(const json_t *tokenizer, const json_t *keys);

#endif
