/* Tokenizers: from text to token ids and back. Some are constant and known by name, others are
 * fitted to the text of a dataset. */
#ifndef FILTRA_TOKENIZER_H
#define FILTRA_TOKENIZER_H

#include <filtra/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Turns text into token ids and back. Id 0 is padding in every tokenizer but "pixels". All
 * functions but filtra_tokenizer_destroy are thread-safe.
 *
 * Constant ones, known by name:
 * "listops": ids 1 to 10 are the digits 0 to 9, then 11 [MIN, 12 [MAX, 13 [MED, 14 [SM, 15 ].
 * "listops-original": the same, and 16 [FIRST, 17 [LAST.
 * "pixels": the grey values 0 to 255, written as numbers; 0 is a black pixel.
 *   ListOps' symbols are separated by white space; the parentheses of the binary form carry no
 *   information and are dropped. Expressions must be complete: balanced, one root, at least one
 *   argument per operator.
 * "bytes": byte + 1, 257 ids; takes any text.
 * "printable": the 95 printable characters of ASCII, space (id 1) to ~; tabs and line ends read as
 *   spaces, all else is left out.
 * "dna": 1 A, 2 C, 3 G, 4 T (or U), 5 N; either case. The ambiguity codes RYSWKMBDHV read as N.
 *
 * Made from data, by filtra_dataset_open (the training text, and its own once it is loaded):
 * "characters": the Unicode characters of the data in code point order. Closed: a character that
 *   the data did not have is an error.
 * "words": 1 `<unk>`, 2 `<eos>` for a line's end, then the words (between ASCII white space) of the
 *   training data, the most frequent first, at most 65,536 ids in all, padding included, or
 *   `max_vocabulary`. Others, and words over 128 bytes, read as `<unk>`. */
typedef struct filtra_tokenizer filtra_tokenizer;

/** A constant tokenizer, never freed. NULL, with the error message listing the names, when there is
 * none of this name. */
FILTRA_API const filtra_tokenizer *filtra_tokenizer_find(const char *name);
FILTRA_API const char *filtra_tokenizer_name(const filtra_tokenizer *tokenizer);
/** Number of ids, padding included: rows of an embedding table. */
FILTRA_API uint32_t filtra_tokenizer_size(const filtra_tokenizer *tokenizer);
/** Text of one id, to be shown ("bytes" has `\x0a` for a line's end); "" for padding, NULL when out
 * of range. */
FILTRA_API const char *filtra_tokenizer_symbol(const filtra_tokenizer *tokenizer, uint32_t id);
/** Encodes `length` bytes of text. *count is the number of tokens the text has; the first
 * min(*count, capacity) are stored in `tokens` (NULL with capacity 0 to ask for the number).
 * Fails with INPUT, naming the symbol and its column. */
FILTRA_API filtra_status filtra_tokenizer_encode(const filtra_tokenizer *tokenizer,
                                                 const char *text, size_t length, int32_t *tokens,
                                                 size_t capacity, size_t *count);
/** The text of `count` ids, padding left out: words are joined by spaces, and `<eos>` ends a line;
 * the other tokenizers give back what they were given. *length is the number of bytes the text has;
 * those that fit before a final NUL are stored in `text` (NULL with capacity 0 to ask for the
 * number). Fails with ARGUMENT when an id is out of range. */
FILTRA_API filtra_status filtra_tokenizer_decode(const filtra_tokenizer *tokenizer,
                                                 const int32_t *tokens, size_t count, char *text,
                                                 size_t capacity, size_t *length);
/** Whether it was made from data: such a one must be kept to read other text as it does. */
FILTRA_API bool filtra_tokenizer_is_fitted(const filtra_tokenizer *tokenizer);
/** Writes one that was made from data to a JSON file, atomically. */
FILTRA_API filtra_status filtra_tokenizer_save(const filtra_tokenizer *tokenizer, const char *path);
/** Reads what filtra_tokenizer_save wrote. Caller destroys, after the datasets that were opened
 * with it. */
FILTRA_API filtra_status filtra_tokenizer_load(const char *path, filtra_tokenizer **tokenizer);
/** Frees one that was loaded; sets *tokenizer to NULL. */
FILTRA_API void filtra_tokenizer_destroy(filtra_tokenizer **tokenizer);

#ifdef __cplusplus
}
#endif
#endif
