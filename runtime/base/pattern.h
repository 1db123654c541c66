/* Patterns of the shell. */
#ifndef FT_BASE_PATTERN_H
#define FT_BASE_PATTERN_H

#include <stdbool.h>

/** Whether the whole text is as the pattern says: `*` is any bytes, `?` one, [a-z] one of these,
 * [!a-z] one of the others, and what follows a \ stands for itself. */
bool ft_matches(const char *pattern, const char *text);

#endif
