/* Reads text files in passages of bounded size, cut between lines, words or characters. */
#ifndef FT_DATA_TEXT_H
#define FT_DATA_TEXT_H

#include "base/source.h"

typedef struct ft_text {
  ft_source *source;
  const char *path;
  char *passage; /* the current passage, without byte order mark, CR LF replaced by LF */
  size_t length; /* bytes of the passage; none of them is NUL */
  uint64_t line; /* line number of the passage's first byte, from 1 */
  size_t held;   /* bytes at `passage`, including the start of the next one */
  bool begun;
} ft_text;

/** `path` must outlive the reader. */
filtra_status ft_text_open(const char *path, ft_text *text);
/** Moves to the next passage: whole lines; whole words if no line fits; else whole characters.
 * *more is false at the end. Fails with INPUT on a NUL byte. */
filtra_status ft_text_next(ft_text *text, bool *more);
void ft_text_close(ft_text *text);

#endif
