#include "base/lines.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 16 };

static filtra_status begin_lines(ft_lines *lines, const char *path) {
  lines->path = path;
  lines->buffer = ft_realloc(NULL, CHUNK_BYTES, 1);
  if (lines->buffer) return FILTRA_OK;
  ft_lines_close(lines);
  return FILTRA_ERROR_HOST_MEMORY;
}

filtra_status ft_lines_open(const char *path, ft_lines *lines) {
  *lines = (ft_lines){0};
  FT_TRY(ft_source_open(path, &lines->source));
  return begin_lines(lines, path);
}

filtra_status ft_lines_open_stream(FILE *stream, const char *path, ft_lines *lines) {
  *lines = (ft_lines){0};
  FT_TRY(ft_source_open_stream(stream, path, &lines->source));
  return begin_lines(lines, path);
}

void ft_lines_close(ft_lines *lines) {
  ft_source_close(&lines->source);
  free(lines->buffer);
  free(lines->line);
  *lines = (ft_lines){0};
}

/* Reads the next chunk; it is empty at the end of the file. */
static filtra_status refill(ft_lines *lines) {
  lines->buffer_at = 0;
  return ft_source_read(lines->source, lines->buffer, CHUNK_BYTES, &lines->buffer_end);
}

static filtra_status append_bytes(ft_lines *lines, const char *bytes, size_t count) {
  if (count > FT_LINE_LIMIT - lines->length)
    return ft_fail(FILTRA_ERROR_INPUT, "%s:%llu: a line of more than %d MiB; is this a text file?",
                   lines->path, (unsigned long long)lines->number, FT_LINE_LIMIT >> 20);
  size_t wanted = lines->length + count + 1;
  if (wanted > lines->capacity) {
    char *line = ft_realloc(lines->line, 2 * wanted, 1);
    if (!line) return FILTRA_ERROR_HOST_MEMORY;
    lines->line = line;
    lines->capacity = 2 * wanted;
  }
  memcpy(lines->line + lines->length, bytes, count);
  lines->length += count;
  return FILTRA_OK;
}

static filtra_status finish(ft_lines *lines, bool *more) {
  const char *mark = lines->line;
  if (lines->number == 1 && lines->length >= 2 &&
      (!memcmp(mark, "\xff\xfe", 2) || !memcmp(mark, "\xfe\xff", 2)))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: text in UTF-16; save it as UTF-8", lines->path);
  *more = true;
  if (memchr(lines->line, '\0', lines->length))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s:%llu: a NUL byte; is this a text file? Save UTF-16 as UTF-8", lines->path,
                   (unsigned long long)lines->number);
  if (lines->number == 1 && lines->length >= 3 && !memcmp(lines->line, "\xef\xbb\xbf", 3)) {
    lines->length -= 3;
    memmove(lines->line, lines->line + 3, lines->length);
  }
  if (lines->length > 0 && lines->line[lines->length - 1] == '\r') lines->length--;
  lines->line[lines->length] = '\0';
  return FILTRA_OK;
}

filtra_status ft_lines_next(ft_lines *lines, bool *more) {
  lines->length = 0;
  lines->number++;
  *more = false;
  bool any = false;
  for (bool ended = false; !ended;) {
    if (lines->buffer_at == lines->buffer_end) {
      FT_TRY(refill(lines));
      if (lines->buffer_end == 0) break;
    }
    const char *from = lines->buffer + lines->buffer_at;
    size_t rest = lines->buffer_end - lines->buffer_at;
    const char *end = memchr(from, '\n', rest);
    ended = end != NULL;
    size_t count = ended ? (size_t)(end - from) : rest;
    FT_TRY(append_bytes(lines, from, count));
    lines->buffer_at += count + ended;
    any = true;
  }
  return any ? finish(lines, more) : FILTRA_OK;
}
