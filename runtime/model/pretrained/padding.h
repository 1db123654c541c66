/* Which tokens of texts RoBERTa takes for padding. */
#ifndef FT_MODEL_PRETRAINED_PADDING_H
#define FT_MODEL_PRETRAINED_PADDING_H

#include "base/json.h"

/** Fails with INPUT if the folder's tokenizer gives texts the token "pad_token_id", of which
 * RoBERTa does not count the positions. Other families, and folders without a tokenizer, pass. */
filtra_status ft_hf_check_padding(const char *folder, const char *config_path, const json_t *keys);

#endif
