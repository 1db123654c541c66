/* Reading objects of tokenizer.json. A key that is not known is an error. */
#ifndef FT_DATA_PRETRAINED_FIELDS_H
#define FT_DATA_PRETRAINED_FIELDS_H

#include "data/pretrained.h"

/** Fails with INPUT for what is no object, and for keys other than those; `known` ends with NULL.
 * `where` names the object in messages. */
filtra_status ft_pretrained_keys(const json_t *object, const char *where, const char *const *known);
/** Reads a key that is true or false; `usual` where it is missing or null. */
filtra_status ft_pretrained_bool(const json_t *object, const char *where, const char *key,
                                 bool usual, bool *out);
/** Fails with INPUT, naming the object's type and what is known. */
filtra_status ft_pretrained_type(const json_t *object, const char *where, const char *known);

#endif
