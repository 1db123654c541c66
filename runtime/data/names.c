#include "data/names.h"

#include <string.h>

const char *const ft_split_words[FILTRA_SPLITS][FT_SPLIT_WORDS] = {
    {"train"}, {"val", "valid", "validation", "dev", "eval"}, {"test", "ind"}};

static bool ends_with(const char *text, size_t length, const char *end) {
  size_t count = strlen(end);
  return length >= count && !memcmp(text + length - count, end, count);
}

size_t ft_stem_length(const char *name, const char *const *endings) {
  size_t length = strlen(name);
  if (ends_with(name, length, ".gz")) length -= 3;
  for (; *endings; endings++)
    if (ends_with(name, length, *endings)) return length - strlen(*endings);
  return 0;
}

/* Whether the stem ends with this word, as a word. */
static bool has_word(const char *stem, size_t length, const char *word, size_t *rest) {
  size_t count = strlen(word);
  if (!ends_with(stem, length, word)) return false;
  *rest = length == count ? 0 : length - count - 1;
  return length == count || strchr("._-", stem[*rest]);
}

bool ft_stem_split(const char *stem, size_t length, filtra_split *split, size_t *rest) {
  for (*split = FILTRA_TRAIN; *split <= FILTRA_TEST; ++*split)
    for (size_t i = 0; ft_split_words[*split][i]; i++)
      if (has_word(stem, length, ft_split_words[*split][i], rest)) return true;
  return false;
}
