/* Tokenizers of pretrained models, as Hugging Face's tokenizer.json describes them: byte-level BPE
 * (GPT-2, RoBERTa) and WordPiece (BERT). Ids are exactly those of Hugging Face's code. */
#ifndef FT_DATA_PRETRAINED_H
#define FT_DATA_PRETRAINED_H

#include "base/thread.h"
#include "data/tokenizer.h"

/* The reason for limits: positions within a text are 32-bit numbers. */
#define FT_PRETRAINED_MOST_BYTES ((size_t)INT32_MAX)

/** A token that is searched for in a text before anything else. */
typedef struct ft_added_token {
  char *owned;      /* `text` if it had to be normalised, to be freed */
  const char *text; /* the text to search for */
  size_t length;
  int32_t id;
  bool single_word, lstrip, rstrip, normalized;
} ft_added_token;

typedef struct ft_added_tokens {
  ft_added_token *list;   /* longest first */
  size_t count, capacity; /* of `list` */
  bool first[256];        /* whether a token begins with this byte */
} ft_added_tokens;

/** An entry of the table of symbols (open addressing); id -1: free. */
typedef struct ft_symbol_entry {
  uint32_t hash;
  int32_t id;
} ft_symbol_entry;

/** An entry of the table of merges (open addressing); id -1: free. */
typedef struct ft_merge {
  uint64_t pair; /* left id << 32 | right id */
  uint32_t rank;
  int32_t id;
} ft_merge;

typedef struct ft_pretrained {
  json_t *source;         /* tokenizer.json; symbols point into it */
  const char **symbols;   /* [size], by id */
  uint32_t *lengths;      /* [size], in bytes */
  uint32_t size, longest; /* number of ids; bytes of the longest symbol */
  ft_symbol_entry *table; /* [table_mask + 1], the model's vocabulary without added tokens */
  uint32_t table_mask;
  ft_added_tokens added[2]; /* to find in the text, and in the normalised text */
  bool framed, bpe;
  bool left; /* longer texts are cut at their beginning */
  ft_frame frame;
  uint8_t ascii[128]; /* FT_UNICODE flags */
  int32_t unknown;    /* -1: none */
  /* BPE */
  bool prefix_space, trim_offsets, trim_prefix; /* the last: except the first token's first blank */
  int32_t bytes[256];                           /* ids of single bytes */
  ft_merge *merges;                             /* [merge_mask + 1] */
  uint64_t merge_mask;
  /* WordPiece */
  bool normalizes, clean, chinese, strip, lower; /* steps of BERT's normaliser */
  bool cleanup;                                  /* spaces before punctuation, in decoding */
  const char *prefix;                            /* prefix of symbols within a word: "##" */
  uint32_t prefix_hash, most_characters;         /* of the prefix; of a word */
  ft_mutex lock;
  struct ft_scratch *idle; /* scratch memory that no thread uses now */
} ft_pretrained;

/** The part of the text that a token, or a byte of normalised text, comes from. */
typedef struct ft_span {
  uint32_t begin, end;
} ft_span;

/** A growing list of spans. */
typedef struct ft_spans {
  ft_span *list;
  size_t count, capacity;
} ft_spans;

/** Symbols of a word during BPE. */
typedef struct ft_bpe_symbol {
  int32_t id, merged; /* `merged`: the symbol that this one and the next one merge to */
  uint32_t previous, next, rank;
} ft_bpe_symbol;

/** A mark that is kept until its place in canonical order is known. */
typedef struct ft_waiting_mark {
  uint32_t code_point, class;
  ft_span span;
} ft_waiting_mark;

enum { FT_CACHE_WORDS = 1 << 13, FT_CACHED_BYTES = 30, FT_CACHED_IDS = 8 };
typedef struct ft_cached_word {
  uint8_t length, count; /* length 0: free */
  char word[FT_CACHED_BYTES];
  int32_t ids[FT_CACHED_IDS];
} ft_cached_word;

/** Memory of one encoding, reused by the next. */
typedef struct ft_scratch {
  struct ft_scratch *next;
  char *text; /* the normalised text */
  ft_span *origins;
  size_t length, capacity, origin_capacity; /* of `text` and `origins` */
  bool spans;                               /* record `origins` */
  ft_waiting_mark *marks;
  size_t mark_count, mark_capacity;
  ft_bpe_symbol *word;
  uint64_t *heap;
  size_t word_capacity;
  uint32_t *ends, *hashes; /* ends and hashes of a word's prefixes */
  size_t ends_capacity;
  ft_cached_word cache[FT_CACHE_WORDS];
} ft_scratch;

/* ---- pretrained.c ---- */

/** Appends the ids of `text`, and their places in it unless `spans` is NULL. Fails with INPUT if
 * the text is not UTF-8. */
filtra_status ft_pretrained_encode(ft_pretrained *p, const char *text, size_t length,
                                   ft_tokens *tokens, ft_spans *spans);
/** The bytes that an id adds to a decoded text; `first`: it begins the text. It is
 * *length bytes long, in the tokenizer's memory or in `room`, of `longest` + 1 bytes. */
const char *ft_pretrained_decode(const ft_pretrained *p, int32_t id, bool first, char *room,
                                 size_t *length);
void ft_pretrained_free(ft_pretrained *p);

/* ---- pretrained_read.c ---- */

/** Reads tokenizer.json; errors name no file. Unknown parts are refused by name. */
filtra_status ft_pretrained_read(const json_t *root, filtra_tokenizer **out);

/* ---- pretrained_files.c ---- */

/** Whether a folder has a tokenizer's vocabulary. */
filtra_status ft_pretrained_is(const char *folder, bool *is);
/** Returns the folder's tokenizer.json, or builds one from vocab.json and merges.txt, or vocab.txt,
 * and the folder's other files. Errors name the file. */
filtra_status ft_pretrained_load(const char *folder, json_t **root);

/* ---- pretrained_symbols.c ---- */

/** Continues a hash that began with FT_HASH_BEGIN. */
#define FT_HASH_BEGIN 2166136261U
uint32_t ft_hash_more(uint32_t hash, const char *text, size_t length);
/** The id of the symbol that is the concatenation of two texts; `hash` is its hash. -1: none. */
int32_t ft_symbol_find(const ft_pretrained *p, uint32_t hash, const char *a, size_t a_length,
                       const char *b, size_t b_length);
/** The id of a whole symbol; -1: none. */
int32_t ft_symbol_id(const ft_pretrained *p, const char *symbol);

#endif
