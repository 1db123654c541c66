/* Tokenizers, inside: how each one encodes, and how those that depend on the data are made. */
#ifndef FT_DATA_TOKENIZER_H
#define FT_DATA_TOKENIZER_H

#include "base/json.h"

#include <filtra/data.h>

/** Ids are below it, as a model's vocabulary is at most so large: filtra_accuracy compares ids as
 * floats. */
enum { FT_MOST_IDS = 1 << 24 };

/** Token ids one after the other, as datasets store them. */
typedef struct ft_tokens {
  int32_t *ids;
  size_t count, capacity;
} ft_tokens;

/** Makes room for `extra` more ids. */
filtra_status ft_tokens_reserve(ft_tokens *tokens, size_t extra);

struct filtra_tokenizer {
  const char *name;
  const char *const *symbols; /* [size], by id */
  uint32_t size;
  /** Appends the ids of `text`; on failure what was appended is to be ignored. */
  filtra_status (*encode)(const filtra_tokenizer *tokenizer, const char *text, size_t length,
                          ft_tokens *tokens);
  enum {
    FT_JOIN_BY_SPACES = 0, /* symbols are words; that of a line's end is a line's end */
    FT_JOIN_DIRECTLY,      /* symbols are the text itself */
    FT_JOIN_BYTES          /* id stands for the byte id - 1, whatever its symbol */
  } join;
  /* Made from data only: symbol to id, by open addressing; 0 where there is none. */
  int32_t *index; /* [index_mask + 1] */
  uint32_t index_mask;
  int32_t ascii[128]; /* the same for symbols of one byte */
};

/** Ids of the two symbols that "words" always has. */
enum { FT_WORD_UNKNOWN = 1, FT_WORD_END_OF_LINE = 2 };

extern const filtra_tokenizer ft_tokenizer_listops, ft_tokenizer_listops_original,
    ft_tokenizer_bytes, ft_tokenizer_printable, ft_tokenizer_dna, ft_tokenizer_pixels;

/* ---- made from data ---- */

/** Whether tokenizers of this name ("characters", "words") are made from data. */
bool ft_tokenizer_is_made(const char *name);

/** What is counted of a text on the way to its tokenizer. */
typedef struct ft_vocabulary ft_vocabulary;

/** `name` is one of those made from data; "words" get that many ids at most, 0: 65,536. */
filtra_status ft_vocabulary_create(const char *name, uint32_t most_ids, ft_vocabulary **vocabulary);
/** Counts a piece of text that cuts no character ("characters") and no word ("words") in two. Fails
 * with INPUT, naming the column, where it is not UTF-8. */
filtra_status ft_vocabulary_count(ft_vocabulary *vocabulary, const char *text, size_t length);
bool ft_vocabulary_is_empty(const ft_vocabulary *vocabulary);
filtra_status ft_vocabulary_make(const ft_vocabulary *vocabulary, filtra_tokenizer **tokenizer);
void ft_vocabulary_free(ft_vocabulary *vocabulary);

/** A tokenizer with copies of these symbols, ids from 1 in that order. Fails with INPUT where
 * symbols are none of this tokenizer's, come twice, or in another order than its own. */
filtra_status ft_tokenizer_make(const char *name, const char *const *symbols, size_t count,
                                filtra_tokenizer **tokenizer);
/** One that was made from data, from what filtra_tokenizer_save writes; errors name no file. */
filtra_status ft_tokenizer_read(const json_t *root, filtra_tokenizer **out);
/** Frees a tokenizer that was made from data, symbols included; NULL is fine. */
void ft_tokenizer_free(filtra_tokenizer *tokenizer);

#endif
