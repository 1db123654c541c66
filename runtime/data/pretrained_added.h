/* Added tokens: what a text is searched for before it is normalised and split. */
#ifndef FT_DATA_PRETRAINED_ADDED_H
#define FT_DATA_PRETRAINED_ADDED_H

#include "data/pretrained.h"

/** Where an added token is in a text, with the white space that it takes with it, and without. */
typedef struct ft_added_match {
  size_t begin, end, bare_begin, bare_end;
  int32_t id;
} ft_added_match;

/** Adds a token to the list that `token.normalized` names; takes `token.owned` over, also on
 * failure. Fails with INPUT where the list has that text already. */
filtra_status ft_added_put(ft_pretrained *p, ft_added_token token);
/** Finds the next one; false: there is none. `search` is where to look, and moves on; `from` is
 * where the text begins that is left for white space to be taken from. */
bool ft_added_find(const ft_added_tokens *added, const char *text, size_t length, size_t *search,
                   size_t from, ft_added_match *match);
void ft_added_free(ft_added_tokens *added);

#endif
