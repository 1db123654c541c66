/* Reading an untrusted text file line by line; gzip is unpacked. */
#ifndef FT_BASE_LINES_H
#define FT_BASE_LINES_H

#include "base/source.h"

enum { FT_LINE_LIMIT = 16 << 20 }; /* bytes; longer lines are refused */

typedef struct ft_lines {
  ft_source *source;
  const char *path;
  char *line;      /* the current line without its end, NUL-terminated */
  size_t length;   /* its bytes; none of them is NUL */
  uint64_t number; /* of the current line, from 1 */
  size_t capacity;
  char *buffer; /* bytes [buffer_at, buffer_end) are read but not yet returned */
  size_t buffer_at, buffer_end;
} ft_lines;

/** `path` must outlive the reader. */
filtra_status ft_lines_open(const char *path, ft_lines *lines);
/** As ft_lines_open, for an open stream, which the reader closes. Lines of a pipe are returned as
 * they arrive. */
filtra_status ft_lines_open_stream(FILE *stream, const char *path, ft_lines *lines);
/** Reads the next line; *more is false at the end of the file. Drops a byte order mark, and CR
 * before LF. Fails with INPUT on a line over FT_LINE_LIMIT and on a line with a NUL byte. After a
 * NUL byte *more is true, and the next call reads the next line; after other failures it is false.
 */
filtra_status ft_lines_next(ft_lines *lines, bool *more);
void ft_lines_close(ft_lines *lines);

#endif
