/* Properties of characters as Hugging Face's tokenizers see them. */
#ifndef FT_DATA_UNICODE_H
#define FT_DATA_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  FT_UNICODE_LETTER = 1,       /* \p{L} */
  FT_UNICODE_NUMBER = 2,       /* \p{N} */
  FT_UNICODE_SPACE = 4,        /* \s, White_Space */
  FT_UNICODE_WORD = 8,         /* \w */
  FT_UNICODE_DROPPED = 16,     /* removed by BERT's cleaning: control, private use, ... */
  FT_UNICODE_MARK = 32,        /* removed by strip_accents */
  FT_UNICODE_PUNCTUATION = 64, /* a token of its own in BERT */
  FT_UNICODE_CHINESE = 128     /* put between blanks by BERT */
};

/** The FT_UNICODE flags of a character. */
unsigned ft_unicode(uint32_t code_point);
/** Lower case of a character: one character, or two for U+0130. Returns their number. */
size_t ft_unicode_to_lower(uint32_t code_point, uint32_t out[2]);
/** Canonical decomposition of a character, without reordering of marks. Returns the number of
 * parts. */
enum { FT_UNICODE_MOST_PARTS = 4 };
size_t ft_unicode_decompose(uint32_t code_point, uint32_t out[FT_UNICODE_MOST_PARTS]);
/** Rank of the combining class; 0: marks are not reordered across the character. */
unsigned ft_unicode_class(uint32_t code_point);

/* ---- tables that scripts/unicode.py makes ---- */

extern const uint32_t ft_unicode_flags[], ft_unicode_classes[], ft_unicode_pairs[];
extern const int32_t ft_unicode_lower[];
extern const size_t ft_unicode_flags_count, ft_unicode_classes_count, ft_unicode_pairs_count,
    ft_unicode_lower_count;

#endif
