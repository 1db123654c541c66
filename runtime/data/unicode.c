/* Looks characters up in tables. Called by pretrained tokenizers. */
#include "data/unicode.h"

/* The value of the range that a character is in. */
static unsigned find_range(const uint32_t *rows, size_t count, uint32_t c) {
  size_t low = 0, high = count; /* rows[low] begins at or before c, rows[high] after it */
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (rows[middle] >> 8 <= c)
      low = middle;
    else
      high = middle;
  }
  return rows[low] & 0xff;
}

unsigned ft_unicode(uint32_t c) {
  return find_range(ft_unicode_flags, ft_unicode_flags_count, c);
}

unsigned ft_unicode_class(uint32_t c) {
  return c < 0x300 ? 0 : find_range(ft_unicode_classes, ft_unicode_classes_count, c);
}

size_t ft_unicode_to_lower(uint32_t c, uint32_t out[2]) {
  out[0] = c;
  if (c < 0x80) {
    if (c >= 'A' && c <= 'Z') out[0] = c + ('a' - 'A');
    return 1;
  }
  if (c == 0x130) {
    out[0] = 'i';
    out[1] = 0x307;
    return 2;
  }
  const int32_t at = (int32_t)c;
  size_t low = 0, high = ft_unicode_lower_count / 4;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const int32_t *run = &ft_unicode_lower[4 * middle]; /* first, last, step, distance */
    if (at < run[0]) {
      high = middle;
    } else if (at > run[1]) {
      low = middle + 1;
    } else {
      if ((at - run[0]) % run[2] == 0) out[0] = (uint32_t)(at + run[3]);
      break;
    }
  }
  return 1;
}

/* The row of a character in the table of pairs; NULL: it has no decomposition. */
static const uint32_t *find_pair(uint32_t c) {
  size_t low = 0, high = ft_unicode_pairs_count / 3;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const uint32_t *row = &ft_unicode_pairs[3 * middle];
    if (row[0] == c) return row;
    if (c < row[0])
      high = middle;
    else
      low = middle + 1;
  }
  return NULL;
}

static size_t decompose_hangul(uint32_t index, uint32_t *out) {
  enum { LEADS = 0x1100, VOWELS = 0x1161, TAILS = 0x11a7, VOWEL_COUNT = 21, TAIL_COUNT = 28 };
  out[0] = LEADS + index / (VOWEL_COUNT * TAIL_COUNT);
  out[1] = VOWELS + index / TAIL_COUNT % VOWEL_COUNT;
  out[2] = TAILS + index % TAIL_COUNT;
  return index % TAIL_COUNT ? 3 : 2;
}

size_t ft_unicode_decompose(uint32_t c, uint32_t out[FT_UNICODE_MOST_PARTS]) {
  enum { FIRST_SYLLABLE = 0xac00, SYLLABLES = 11172 };
  if (c - FIRST_SYLLABLE < SYLLABLES) return decompose_hangul(c - FIRST_SYLLABLE, out);
  uint32_t parts[FT_UNICODE_MOST_PARTS];
  size_t count = 0, kept = 0;
  for (const uint32_t *row; c >= 0xc0 && (row = find_pair(c)); c = row[1])
    if (row[2]) parts[kept++] = row[2]; /* from the last to the first */
  out[count++] = c;
  while (kept)
    out[count++] = parts[--kept];
  return count;
}
