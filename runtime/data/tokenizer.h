/* Internals of tokenizers: how each one encodes, and how fitted ones are made. */
#ifndef FT_DATA_TOKENIZER_H
#define FT_DATA_TOKENIZER_H

#include "base/json.h"

#include <filtra/data.h>

/** All ids are below this limit of a model's vocabulary, since filtra_accuracy compares ids as
 * floats. */
enum { FT_MOST_IDS = 1 << 24 };

/** An edge of a graph: two nodes, from 0, and its type, from 0. */
enum { FT_EDGE_WORDS = 3 };

/** A growing list of token ids, as datasets store them. */
typedef struct ft_tokens {
  int32_t *ids;
  size_t count, capacity;
} ft_tokens;

/** Makes room for `extra` more ids. */
filtra_status ft_tokens_reserve(ft_tokens *tokens, size_t extra);

/** Special tokens around texts: one is [begin] A [end], two are [begin] A [middle ...] B [end].
 * BERT has CLS, {SEP} and SEP; RoBERTa <s>, {</s>, </s>} and </s>. -1: none. */
typedef struct ft_frame {
  int32_t begin;
  int32_t middle[2];
  uint32_t middle_count;
  int32_t end;
  bool untyped; /* all tokens have type 0; else those of B, and [end], have type 1 */
  bool odd;     /* tokens of pairs have other types: pairs are refused */
} ft_frame;

struct filtra_tokenizer {
  const char *name;
  const char *const *symbols; /* [size], by id */
  uint32_t size;
  /** Appends the ids of `text`; on failure the appended ids must be ignored. */
  filtra_status (*encode)(const filtra_tokenizer *tokenizer, const char *text, size_t length,
                          ft_tokens *tokens);
  /** For graphs: appends the ids of the text's nodes, and FT_EDGE_WORDS numbers for each edge;
   * NULL: texts are sequences. */
  filtra_status (*encode_graph)(const filtra_tokenizer *tokenizer, const char *text, size_t length,
                                ft_tokens *nodes, ft_tokens *edges);
  uint32_t edge_types;
  enum {
    FT_JOIN_BY_SPACES = 0, /* symbols are words; the line end's symbol is a line end */
    FT_JOIN_DIRECTLY,      /* symbols are the text itself */
    FT_JOIN_BYTES          /* id means the byte id - 1, whatever its symbol */
  } join;
  /* Only if fitted to data: maps symbols to ids by open addressing; 0: free. */
  int32_t *index; /* [index_mask + 1] */
  uint32_t index_mask;
  int32_t ascii[128];               /* ids of one-byte symbols; 0: none */
  struct ft_pretrained *pretrained; /* NULL: none */
};

/** The special tokens around texts that a pretrained model classifies; NULL: none. */
const ft_frame *ft_tokenizer_frame(const filtra_tokenizer *tokenizer);
/** Whether longer texts are cut at their beginning. */
bool ft_tokenizer_cuts_left(const filtra_tokenizer *tokenizer);
/** Where tokens of type 1 begin in a sequence whose second text is at `second`; 0: nowhere. */
int32_t ft_tokenizer_second(const filtra_tokenizer *tokenizer, size_t second);
/** Number of special tokens around one text, or around a pair. */
size_t ft_frame_size(const ft_frame *frame, bool pair);
/** Adds the frame's special tokens (NULL: none) to the texts at the end of `tokens`: A from `first`
 * on, and B from `second` on (SIZE_MAX: one text). More than `limit` tokens are refused with INPUT
 * and `advice`; if that is NULL, the longer text is cut first, then both, with `left` at their
 * beginning. *second_at (or NULL) receives where B begins within the sequence; 0: one text. */
filtra_status ft_frame_tokens(const ft_frame *frame, bool left, ft_tokens *tokens, size_t first,
                              size_t second, size_t limit, const char *advice, size_t *second_at);
/** Fails with INPUT: the byte at `text` is not UTF-8. */
filtra_status ft_fail_encoding(const char *text, size_t column);

/** One or two texts. */
typedef struct ft_texts {
  const char *text;
  size_t length;
  const char *second; /* NULL: one text */
  size_t second_length;
} ft_texts;
/** Encodes the texts into empty `tokens`, which the caller frees, with the tokenizer's special
 * tokens; cuts or refuses as ft_frame_tokens does. */
filtra_status ft_tokenizer_encode_texts(const filtra_tokenizer *tokenizer, const ft_texts *texts,
                                        size_t limit, bool truncate, ft_tokens *tokens,
                                        size_t *second_at);

/** Ids of the two symbols that "words" always has. */
enum { FT_WORD_UNKNOWN = 1, FT_WORD_END_OF_LINE = 2 };

/** Words of a text, or tokens of byte-level BPE, and how many became the id of unknown ones. */
typedef struct ft_word_count {
  uint64_t words, unknown;
} ft_word_count;
/** Adds the words of `ids`; nothing if the tokenizer has no id of unknown words. */
void ft_count_words(const filtra_tokenizer *tokenizer, const int32_t *ids, size_t count,
                    ft_word_count *sum);
/** Whether more than half of the words are unknown. */
bool ft_mostly_unknown(const ft_word_count *sum);
/** Warns of the unknown words of `where`. */
void ft_warn_of_unknown_words(const filtra_tokenizer *tokenizer, const ft_word_count *sum,
                              const char *where);

extern const filtra_tokenizer ft_tokenizer_listops, ft_tokenizer_listops_original,
    ft_tokenizer_bytes, ft_tokenizer_printable, ft_tokenizer_dna, ft_tokenizer_pixels,
    ft_tokenizer_smiles;

/* ---- fitted to data ---- */

/** Whether tokenizers of this name ("characters", "words") are fitted to data. */
bool ft_tokenizer_is_made(const char *name);

/** Whether a run stores tokenizers of this name in a file: fitted and pretrained ones. */
bool ft_tokenizer_is_kept(const char *name);

/** Counts of a text's characters or words, from which a tokenizer is made. */
typedef struct ft_vocabulary ft_vocabulary;

/** Starts counting for "characters" or "words"; "words" gets at most `most_ids` ids, 0: 65,536. */
filtra_status ft_vocabulary_create(const char *name, uint32_t most_ids, ft_vocabulary **vocabulary);
/** Counts text, which must not end within a character ("characters") or word ("words"). Fails with
 * INPUT, naming the column, if it is not UTF-8. */
filtra_status ft_vocabulary_count(ft_vocabulary *vocabulary, const char *text, size_t length);
bool ft_vocabulary_is_empty(const ft_vocabulary *vocabulary);
filtra_status ft_vocabulary_make(const ft_vocabulary *vocabulary, filtra_tokenizer **tokenizer);
void ft_vocabulary_free(ft_vocabulary *vocabulary);

/** Makes a tokenizer with copies of these symbols; ids count from 1 in that order. Fails with INPUT
 * for symbols that are invalid, repeated, or in the wrong order. */
filtra_status ft_tokenizer_make(const char *name, const char *const *symbols, size_t count,
                                filtra_tokenizer **tokenizer);
/** A fitted or pretrained tokenizer as JSON, the latter as tokenizer.json; NULL when out of
 * memory. */
json_t *ft_tokenizer_write(const filtra_tokenizer *tokenizer);
/** filtra_tokenizer_save that follows no link below `within` (ft_atomic_open_in); `within` NULL: a
 * path that a person gave. */
filtra_status ft_tokenizer_save(const filtra_tokenizer *tokenizer, const char *within,
                                const char *path);
/** Reads a tokenizer as filtra_tokenizer_save writes it, or any tokenizer.json; errors name no
 * file. */
filtra_status ft_tokenizer_read(const json_t *root, filtra_tokenizer **out);
/** The tokenizer of a description (ft_dataset_describe): a built-in one by name, or one that *own
 * also points to and the caller destroys. NULL or null: none. */
filtra_status ft_tokenizer_described(const json_t *value, const filtra_tokenizer **tokenizer,
                                     filtra_tokenizer **own);
/** Frees a fitted or pretrained tokenizer; NULL is fine. */
void ft_tokenizer_free(filtra_tokenizer *tokenizer);

#endif
