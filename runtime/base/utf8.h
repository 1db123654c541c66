/* UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef FT_BASE_UTF8_H
#define FT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes of the character at the start of `text`, 1 to 4; 0 if it is not valid. */
size_t ft_utf8_next(const char *text, size_t length, uint32_t *code_point);
/** Bytes that one U+FFFD replaces where ft_utf8_next returns 0: the longest valid beginning of a
 * character, as Unicode recommends (Rust and Python do the same). */
size_t ft_utf8_damaged(const char *text, size_t length);
/** Writes a character; returns its number of bytes. */
size_t ft_utf8_write(uint32_t code_point, char text[4]);
bool ft_utf8_valid(const char *text, size_t length);
/** Whether a terminal would obey a character instead of showing it: control characters,
 * bidirectional formatting characters, and Unicode's line and paragraph separators. */
bool ft_utf8_obeyed(uint32_t code_point);

/** Bytes of the byte order mark that the text begins with: 3, or 0 without one. */
size_t ft_utf8_mark(const char *text, size_t length);
/** Replaces CR LF by LF; returns the new length. */
size_t ft_join_line_ends(char *text, size_t length);

/** Replaces by "?" each byte that a terminal would obey instead of showing: control characters
 * (those of C1 also as single bytes outside UTF-8) and bidirectional formatting characters. `lines`
 * keeps tab and line feed. */
void ft_hide_controls(char *text, size_t length, bool lines);

#endif
