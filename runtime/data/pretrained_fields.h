/* Reading objects of tokenizer.json. Unknown keys are errors. */
#ifndef FT_DATA_PRETRAINED_FIELDS_H
#define FT_DATA_PRETRAINED_FIELDS_H

#include "data/pretrained.h"

/** Fails with INPUT unless the value is an object whose keys are all in `known`, which ends with
 * NULL. `where` names the object in messages. */
filtra_status ft_pretrained_keys(const json_t *object, const char *where, const char *const *known);
/** Reads a boolean key; `usual` if it is missing or null. */
filtra_status ft_pretrained_bool(const json_t *object, const char *where, const char *key,
                                 bool usual, bool *out);
/** Fails with INPUT, naming the object's type and the supported ones. */
filtra_status ft_pretrained_type(const json_t *object, const char *where, const char *known);

#endif
