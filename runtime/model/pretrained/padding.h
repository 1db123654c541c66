/* Which tokens of texts RoBERTa takes for padding. */
#ifndef FT_MODEL_PRETRAINED_PADDING_H
#define FT_MODEL_PRETRAINED_PADDING_H

#include "base/json.h"

#include <filtra/tokenizer.h>

/** Fails with INPUT if the tokenizer of a model's folder gives texts the token "pad_token_id", of
 * which RoBERTa does not count the positions. Other families pass. `keys`: the model's, by Filtra's
 * names. */
filtra_status ft_hf_check_padding(const filtra_tokenizer *tokenizer, const char *folder,
                                  const json_t *keys);

#endif
