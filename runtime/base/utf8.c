/* UTF-8, and replacing what a terminal would obey. Called by readers of files and by whatever shows
 * text. */
#include "base/utf8.h"

#include <string.h>

size_t ft_utf8_next(const char *text, size_t length, uint32_t *code_point) {
  static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
  if (length == 0) return 0;
  const unsigned char *byte = (const unsigned char *)text;
  *code_point = byte[0];
  if (byte[0] < 0x80) return 1;
  size_t count = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
  if (byte[0] < 0xc0 || byte[0] > 0xf4 || count > length) return 0;
  *code_point = byte[0] & (0x7f >> count);
  for (size_t i = 1; i < count; i++) {
    if ((byte[i] & 0xc0) != 0x80) return 0;
    *code_point = *code_point << 6 | (byte[i] & 0x3f);
  }
  bool surrogate = *code_point >= 0xd800 && *code_point < 0xe000;
  return surrogate || *code_point < smallest[count] || *code_point > 0x10ffff ? 0 : count;
}

size_t ft_utf8_damaged(const char *text, size_t length) {
  const unsigned char *byte = (const unsigned char *)text;
  size_t count = 1, most = byte[0] >= 0xf0 ? 3 : byte[0] >= 0xe0 ? 2 : 1;
  unsigned low = byte[0] == 0xe0 ? 0xa0 : byte[0] == 0xf0 ? 0x90 : 0x80;
  unsigned high = byte[0] == 0xed ? 0x9f : byte[0] == 0xf4 ? 0x8f : 0xbf;
  if (byte[0] < 0xc2 || byte[0] > 0xf4) return 1;
  for (; count < most && count < length; count++, low = 0x80, high = 0xbf)
    if (byte[count] < low || byte[count] > high) break;
  return count;
}

size_t ft_utf8_write(uint32_t code_point, char text[4]) {
  static const unsigned char lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
  size_t count = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
  for (size_t i = count - 1; i > 0; i--) {
    text[i] = (char)(0x80 | (code_point & 0x3f));
    code_point >>= 6;
  }
  text[0] = (char)(lead[count] | code_point);
  return count;
}

bool ft_utf8_valid(const char *text, size_t length) {
  uint32_t code_point;
  for (size_t at = 0, bytes; at < length; at += bytes) {
    bytes = ft_utf8_next(text + at, length - at, &code_point);
    if (bytes == 0) return false;
  }
  return true;
}

bool ft_utf8_obeyed(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

void ft_hide_controls(char *text, size_t length, bool lines) {
  uint32_t c;
  for (size_t at = 0, bytes; at < length; at += bytes) {
    bytes = ft_utf8_next(text + at, length - at, &c);
    if (!bytes) bytes = 1, c = (unsigned char)text[at];
    bool kept = lines && (c == '\t' || c == '\n');
    for (size_t i = 0; i < bytes && !kept && ft_utf8_obeyed(c); i++)
      text[at + i] = '?';
  }
}

size_t ft_utf8_mark(const char *text, size_t length) {
  static const char MARK[] = "\xef\xbb\xbf";
  const size_t size = sizeof MARK - 1;
  return length >= size && !memcmp(text, MARK, size) ? size : 0;
}

size_t ft_join_line_ends(char *text, size_t length) {
  const char *first = length ? memchr(text, '\r', length) : NULL;
  size_t to = first ? (size_t)(first - text) : length;
  for (size_t from = to; from < length; from++)
    if (text[from] != '\r' || from + 1 == length || text[from + 1] != '\n') text[to++] = text[from];
  return to;
}
