#include "data/text.h"

#include "base/memory.h"
#include "base/text.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { PASSAGE_BYTES = 1 << 18 };

filtra_status ft_text_open(const char *path, ft_text *text) {
  *text = (ft_text){.path = path, .line = 1};
  FT_TRY(ft_source_open(path, &text->source));
  text->passage = ft_realloc(NULL, PASSAGE_BYTES, 1);
  if (text->passage) return FILTRA_OK;
  ft_text_close(text);
  return FILTRA_ERROR_HOST_MEMORY;
}

void ft_text_close(ft_text *text) {
  ft_source_close(&text->source);
  free(text->passage);
  *text = (ft_text){0};
}

static uint64_t count_lines(const char *bytes, size_t count) {
  uint64_t lines = 0;
  for (size_t i = 0; i < count; i++)
    lines += bytes[i] == '\n';
  return lines;
}

static void drop_byte_order_mark(ft_text *text) {
  const size_t mark = ft_utf8_mark(text->passage, text->held);
  text->held -= mark;
  memmove(text->passage, text->passage + mark, text->held);
}

/* Finds where to cut: after a line, else after a blank, else between characters; never between CR
 * and LF. */
static size_t find_cut(const char *bytes, size_t count) {
  const char *line = ft_memrchr(bytes, '\n', count);
  if (line) return (size_t)(line - bytes) + 1;
  for (size_t i = count; i > 0; i--)
    if (bytes[i - 1] == ' ' || bytes[i - 1] == '\t') return i;
  size_t cut = count, back = 0;
  while (back < 3 && back < count && ((unsigned char)bytes[count - 1 - back] & 0xc0) == 0x80)
    back++;
  if (back < count && (unsigned char)bytes[count - 1 - back] >= 0xc0) cut = count - 1 - back;
  if (bytes[count - 1] == '\r') cut = count - 1;
  return cut > 0 ? cut : count;
}

filtra_status ft_text_next(ft_text *text, bool *more) {
  size_t got;
  text->line += count_lines(text->passage, text->length);
  text->held -= text->length;
  memmove(text->passage, text->passage + text->length, text->held);
  FT_TRY(
      ft_source_fill(text->source, text->passage + text->held, PASSAGE_BYTES - text->held, &got));
  bool ended = got < PASSAGE_BYTES - text->held;
  text->held += got;
  if (!text->begun) drop_byte_order_mark(text);
  text->begun = true;
  text->held = ft_join_line_ends(text->passage, text->held);
  *more = text->held > 0;
  text->length = ended || !*more ? text->held : find_cut(text->passage, text->held);
  const char *nul = memchr(text->passage, '\0', text->length);
  if (!nul) return FILTRA_OK;
  uint64_t line = text->line + count_lines(text->passage, (size_t)(nul - text->passage));
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s:%llu: a NUL byte; is this a text file? Save UTF-16 as UTF-8", text->path,
                 (unsigned long long)line);
}
