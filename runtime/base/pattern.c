/* Shell patterns. Called by the command for lists of cells. */
#include "base/pattern.h"

#include <stddef.h>

/* Whether the byte is in the set [...] that begins at *pattern; moves *pattern to its end. NULL:
 * the set has no end, and "[" is literal. */
static const char *match_set(const char *pattern, char byte, bool *in) {
  const bool inverted = *pattern == '!' || *pattern == '^';
  const char *first = pattern += inverted;
  *in = false;
  for (; *pattern && (*pattern != ']' || pattern == first); pattern++) {
    const bool range = pattern[1] == '-' && pattern[2] && pattern[2] != ']';
    if (byte >= *pattern && byte <= pattern[range ? 2 : 0]) *in = true;
    if (range) pattern += 2;
  }
  if (inverted) *in = !*in;
  return *pattern ? pattern + 1 : NULL;
}

bool ft_matches(const char *pattern, const char *text) {
  for (; *pattern && *pattern != '*'; text++) {
    bool in = false;
    const char *end = *pattern == '[' && *text ? match_set(pattern + 1, *text, &in) : NULL;
    const bool any = *pattern == '?';
    if (!end && *pattern == '\\' && pattern[1]) pattern++;
    if (!*text || (end ? !in : !any && *pattern != *text)) return false;
    pattern = end ? end : pattern + 1;
  }
  if (!*pattern) return !*text;
  for (;; text++) {
    if (ft_matches(pattern + 1, text)) return true;
    if (!*text) return false;
  }
}
