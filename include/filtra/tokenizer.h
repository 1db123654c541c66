/* Tokenizers: from text to token ids and back. Some are constant and known by name, others are
 * fitted to the text of a dataset or come with a pretrained model. */
#ifndef FILTRA_TOKENIZER_H
#define FILTRA_TOKENIZER_H

#include <filtra/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Converts text to token ids and back. Id 0 is padding, except in "pixels" and in pretrained ones.
 * All functions but filtra_tokenizer_destroy are thread-safe.
 *
 * Constant tokenizers, found by name:
 *   "listops"           1 to 10 are the digits 0 to 9, 11 [MIN, 12 [MAX, 13 [MED, 14 [SM, 15 ].
 *                       Symbols are separated by white space; parentheses, which the binary form
 *                       has, are ignored. An expression must be complete: balanced, one root, at
 *                       least one argument per operator
 *   "listops-original"  the same, and 16 [FIRST, 17 [LAST
 *   "pixels"            the grey values 0 to 255, written as numbers; 0 is a black pixel
 *   "bytes"             byte + 1, 257 ids; accepts any text
 *   "printable"         the 95 printable ASCII characters, space (id 1) to ~; tabs and line ends
 *                       become spaces, all other bytes are dropped
 *   "dna"               1 A, 2 C, 3 G, 4 T or U, 5 N, upper or lower case; the ambiguity codes
 *                       RYSWKMBDHV become N
 *   "smiles"            molecules, as graphs: the atoms, told apart by element, charge (-4 to 4)
 *                       and whether they are aromatic, as the nodes, and the bonds as edges of the
 *                       types 0 single, 1 double, 2 triple, 3 quadruple, 4 aromatic. Atoms, bonds
 *                       and aromatic rings are those that RDKit finds. Stereo marks, isotopes and
 *                       atom classes are not kept
 *
 * Tokenizers fitted to a dataset by filtra_dataset_open:
 *   "characters"        the Unicode characters of all splits in code point order. A character that
 *                       the data did not have is an error
 *   "words"             1 `<unk>`, 2 `<eos>` for a line's end, then the words of the training text
 *                       (between ASCII white space), most frequent first; 65,536 ids in all, or
 *                       `max_vocabulary`. Other words, and words over 128 bytes, become `<unk>`.
 *                       The log warns of data, and of a predictor's requests, where these are more
 *                       than half of all words
 *
 * Tokenizers of pretrained models, read by filtra_tokenizer_load from files of Hugging Face, whose
 * ids are theirs:
 *   "bpe"               byte-level BPE, as of GPT-2 and RoBERTa
 *   "wordpiece"         WordPiece, as of BERT, cased or uncased; `[UNK]` is warned of, too
 * A special token that the text spells becomes that token. Settings of tokenizer.json for
 * truncation and padding are ignored */
typedef struct filtra_tokenizer filtra_tokenizer;

/** A constant tokenizer, never freed. NULL for an unknown name; the error message then lists the
 * names. */
FILTRA_API const filtra_tokenizer *filtra_tokenizer_find(const char *name);
FILTRA_API const char *filtra_tokenizer_name(const filtra_tokenizer *tokenizer);
/** Number of ids, padding included: the rows of an embedding table. */
FILTRA_API uint32_t filtra_tokenizer_size(const filtra_tokenizer *tokenizer);
/** Text of one id, for display ("bytes" writes a line's end as `\x0a`); "" for padding, NULL when
 * out of range. */
FILTRA_API const char *filtra_tokenizer_symbol(const filtra_tokenizer *tokenizer, uint32_t id);
/** Encodes `length` bytes of text. Stores the first `capacity` ids in `tokens` (NULL with capacity
 * 0: none); *count receives the number of tokens of the text. Fails with INPUT, naming the symbol
 * and its column. */
FILTRA_API filtra_status filtra_tokenizer_encode(const filtra_tokenizer *tokenizer,
                                                 const char *text, size_t length, int32_t *tokens,
                                                 size_t capacity, size_t *count);
/** As filtra_tokenizer_encode. `special` puts the special tokens around the text that a pretrained
 * model's texts have, such as [CLS] and [SEP]; tokenizers without such add none. begins[i] and
 * ends[i] (NULL: not needed) receive the byte range of the text that became token i; two tokens can
 * share a character, and an added special token has 0 and 0. Offsets need a pretrained tokenizer,
 * otherwise the call fails with ARGUMENT. */
FILTRA_API filtra_status filtra_tokenizer_encode_offsets(const filtra_tokenizer *tokenizer,
                                                         const char *text, size_t length,
                                                         bool special, int32_t *tokens,
                                                         size_t *begins, size_t *ends,
                                                         size_t capacity, size_t *count);
/** Encodes a text that a language model goes on with, with the special tokens that a pretrained
 * tokenizer puts around texts. Warns of words that the tokenizer does not know and reads as
 * another, such as `<unk>`. Else as filtra_tokenizer_encode. */
FILTRA_API filtra_status filtra_tokenizer_encode_prompt(const filtra_tokenizer *tokenizer,
                                                        const char *text, size_t length,
                                                        int32_t *tokens, size_t capacity,
                                                        size_t *count);
/** Decodes `count` ids; padding is skipped. "words" joins words by spaces and ends lines at
 * `<eos>`; "bpe" gives the text's bytes, of which single ids may be parts of characters;
 * "wordpiece" joins words by spaces as Hugging Face does, special tokens included; the other
 * tokenizers return the text that was encoded. Stores the bytes that fit, and a
 * final NUL, in `text` (NULL with capacity 0: none); *length receives the length of the text. Fails
 * with ARGUMENT when an id is out of range. */
FILTRA_API filtra_status filtra_tokenizer_decode(const filtra_tokenizer *tokenizer,
                                                 const int32_t *tokens, size_t count, char *text,
                                                 size_t capacity, size_t *length);
/** As filtra_tokenizer_decode: the text that one more id adds after `previous`, for writing a text
 * as it is made. "words" puts a space between two words. `previous` -1: the text begins. */
FILTRA_API filtra_status filtra_tokenizer_decode_next(const filtra_tokenizer *tokenizer,
                                                      int32_t previous, int32_t token, char *text,
                                                      size_t capacity, size_t *length);
/** Whether the tokenizer was fitted to a dataset or is pretrained. Then it must be saved to read
 * other text the same way. */
FILTRA_API bool filtra_tokenizer_is_fitted(const filtra_tokenizer *tokenizer);
/** Writes a fitted or pretrained tokenizer to a JSON file, atomically; the latter as a
 * tokenizer.json. */
FILTRA_API filtra_status filtra_tokenizer_save(const filtra_tokenizer *tokenizer, const char *path);
/** Reads a file of filtra_tokenizer_save, a tokenizer.json of Hugging Face, or a folder with one,
 * with vocab.json and merges.txt, or with vocab.txt; other settings in such a folder
 * (tokenizer_config.json, special_tokens_map.json, added_tokens.json) are applied, and where they
 * say nothing those of the class, or of the model that config.json names; a special token that they
 * add without an id fails with INPUT. A model, normaliser, pattern or other part that is
 * not known fails with INPUT, which names it. Caller destroys, after the datasets opened with
 * it. */
FILTRA_API filtra_status filtra_tokenizer_load(const char *path, filtra_tokenizer **tokenizer);
/** Frees a loaded tokenizer; sets *tokenizer to NULL. */
FILTRA_API void filtra_tokenizer_destroy(filtra_tokenizer **tokenizer);

#ifdef __cplusplus
}
#endif
#endif
