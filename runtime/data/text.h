/* Free text: read in pieces of any size, cut where no word and no character is. */
#ifndef FT_DATA_TEXT_H
#define FT_DATA_TEXT_H

#include "base/source.h"

typedef struct ft_text {
  ft_source *source;
  const char *path;
  char *piece;   /* without a byte order mark, and with LF where the file has CR LF */
  size_t length; /* its bytes; none of them is NUL */
  uint64_t line; /* of the piece's first byte, from 1 */
  size_t held;   /* bytes at `piece`, those of the next piece included */
  bool begun;
} ft_text;

/** `path` must outlive the reader. */
filtra_status ft_text_open(const char *path, ft_text *text);
/** Steps to the next piece: whole lines, or words, or characters where a piece holds no whole line
 * or word. *more is false at the end. Fails with INPUT on a NUL byte. */
filtra_status ft_text_next(ft_text *text, bool *more);
void ft_text_close(ft_text *text);

#endif
