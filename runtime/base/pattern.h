/* Shell patterns (globs). */
#ifndef FT_BASE_PATTERN_H
#define FT_BASE_PATTERN_H

#include <stdbool.h>

/** Whether the whole text matches the pattern: `*` matches any bytes, `?` one byte, [a-z] one of
 * these, [!a-z] one of the others; a \ makes the next byte literal. */
bool ft_matches(const char *pattern, const char *text);

#endif
