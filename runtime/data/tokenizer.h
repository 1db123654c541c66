/* Internals of tokenizers: how each encodes, and how those fitted to data are made. */
#ifndef FT_DATA_TOKENIZER_H
#define FT_DATA_TOKENIZER_H

#include "base/json.h"

#include <filtra/data.h>

/** All ids are below this limit of a model's vocabulary, since filtra_accuracy compares ids as
 * floats. */
enum { FT_MOST_IDS = 1 << 24 };

/** A growing list of token ids, as datasets store them. */
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
  /** Appends the ids of `text`; on failure the appended ids must be ignored. */
  filtra_status (*encode)(const filtra_tokenizer *tokenizer, const char *text, size_t length,
                          ft_tokens *tokens);
  enum {
    FT_JOIN_BY_SPACES = 0, /* symbols are words; the line end's symbol is a line end */
    FT_JOIN_DIRECTLY,      /* symbols are the text itself */
    FT_JOIN_BYTES          /* id means the byte id - 1, whatever its symbol */
  } join;
  /* Only if fitted to data: symbol to id, by open addressing; 0: free. */
  int32_t *index; /* [index_mask + 1] */
  uint32_t index_mask;
  int32_t ascii[128]; /* ids of one-byte symbols; 0: none */
};

/** Ids of the two symbols that "words" always has. */
enum { FT_WORD_UNKNOWN = 1, FT_WORD_END_OF_LINE = 2 };

extern const filtra_tokenizer ft_tokenizer_listops, ft_tokenizer_listops_original,
    ft_tokenizer_bytes, ft_tokenizer_printable, ft_tokenizer_dna, ft_tokenizer_pixels;

/* ---- fitted to data ---- */

/** Whether tokenizers of this name ("characters", "words") are fitted to data. */
bool ft_tokenizer_is_made(const char *name);

/** Counts of a text's characters or words, from which a tokenizer is made. */
typedef struct ft_vocabulary ft_vocabulary;

/** Starts counting for "characters" or "words"; the latter get at most that many ids, 0: 65,536. */
filtra_status ft_vocabulary_create(const char *name, uint32_t most_ids, ft_vocabulary **vocabulary);
/** Counts text, which must not end within a character ("characters") or word ("words"). Fails with
 * INPUT, naming the column, if it is not UTF-8. */
filtra_status ft_vocabulary_count(ft_vocabulary *vocabulary, const char *text, size_t length);
bool ft_vocabulary_is_empty(const ft_vocabulary *vocabulary);
filtra_status ft_vocabulary_make(const ft_vocabulary *vocabulary, filtra_tokenizer **tokenizer);
void ft_vocabulary_free(ft_vocabulary *vocabulary);

/** Makes a tokenizer with copies of these symbols, ids from 1 in that order. Fails with INPUT for
 * symbols that such a tokenizer cannot have, that repeat, or that are in the wrong order. */
filtra_status ft_tokenizer_make(const char *name, const char *const *symbols, size_t count,
                                filtra_tokenizer **tokenizer);
/** A fitted tokenizer as JSON; NULL when out of memory. */
json_t *ft_tokenizer_write(const filtra_tokenizer *tokenizer);
/** filtra_tokenizer_save through no link below `within` (ft_atomic_open_in); NULL: a path that a
 * person gave. */
filtra_status ft_tokenizer_save(const filtra_tokenizer *tokenizer, const char *within,
                                const char *path);
/** Reads a fitted tokenizer, as filtra_tokenizer_save writes it; errors name no file. */
filtra_status ft_tokenizer_read(const json_t *root, filtra_tokenizer **out);
/** The tokenizer of a description (ft_dataset_describe): of a name, or one that *own is, too, and
 * the caller destroys. NULL or null: none. */
filtra_status ft_tokenizer_described(const json_t *value, const filtra_tokenizer **tokenizer,
                                     filtra_tokenizer **own);
/** Frees a fitted tokenizer with its symbols; NULL is fine. */
void ft_tokenizer_free(filtra_tokenizer *tokenizer);

#endif
