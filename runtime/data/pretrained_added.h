/* Added tokens: they are searched for in a text before it is normalised and split. */
#ifndef FT_DATA_PRETRAINED_ADDED_H
#define FT_DATA_PRETRAINED_ADDED_H

#include "data/pretrained.h"

/** The place of an added token in a text, with the white space that it strips, and without. */
typedef struct ft_added_match {
  size_t begin, end, bare_begin, bare_end;
  int32_t id;
} ft_added_match;

/** Adds a token to the list that `token.normalized` selects; takes ownership of `token.owned`, also
 * on failure. Fails with INPUT if the list already has that text. */
filtra_status ft_added_put(ft_pretrained *p, ft_added_token token);
/** Finds the next added token from *search on, and moves *search past it; false: there is none.
 * White space before the token is stripped down to `from` at most. */
bool ft_added_find(const ft_added_tokens *added, const char *text, size_t length, size_t *search,
                   size_t from, ft_added_match *match);
void ft_added_free(ft_added_tokens *added);

#endif
