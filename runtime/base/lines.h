/* Reading a text file line by line, packed by gzip or not, trusting nothing about it. */
#ifndef FT_BASE_LINES_H
#define FT_BASE_LINES_H

#include "base/source.h"

enum { FT_LINE_LIMIT = 16 << 20 }; /* bytes; longer lines are refused */

typedef struct ft_lines {
  ft_source *source;
  const char *path;
  char *line;      /* the present line without its end, NUL-terminated */
  size_t length;   /* its bytes; none of them is NUL */
  uint64_t number; /* of the present line, from 1 */
  size_t capacity;
  char *chunk; /* what was read and not yet handed out */
  size_t chunk_at, chunk_end;
} ft_lines;

/** `path` must outlive the reader. */
filtra_status ft_lines_open(const char *path, ft_lines *lines);
/** The same for what is open already; the reader closes it. A pipe's lines come as they are sent.
 */
filtra_status ft_lines_open_stream(FILE *stream, const char *path, ft_lines *lines);
/** Steps to the next line; *more is false at the end of the file. A byte order mark and CR before
 * LF are dropped. Fails with INPUT on a NUL byte or a line over FT_LINE_LIMIT. */
filtra_status ft_lines_next(ft_lines *lines, bool *more);
void ft_lines_close(ft_lines *lines);

#endif
