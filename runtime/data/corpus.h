/* Reading text into a dataset: a first pass counts symbols if the tokenizer is fitted to the data,
 * and a second pass encodes. */
#ifndef FT_DATA_CORPUS_H
#define FT_DATA_CORPUS_H

#include "data/dataset.h"

typedef struct ft_corpus {
  filtra_dataset *ds;
  const filtra_dataset_options *options;
  const char *path;          /* path of the dataset */
  filtra_split split;        /* the split being read */
  ft_vocabulary *vocabulary; /* set in the counting pass, else NULL */
  size_t first;              /* index in the split of the current sequence's first token */
  size_t second;             /* index of the first token of its second text; SIZE_MAX: one text */
  size_t second_at;          /* the same within the last sequence that ended; 0: one text */
  char *text;                /* the sequence's text, if a pretrained tokenizer reads it whole */
  size_t text_length, text_capacity;
  ft_tokens edges;   /* edges of the sequence if it is a graph */
  bool unread;       /* the sequence's file has more text, which is not kept */
  size_t ended, cut; /* sequences of all splits; those of them that `truncate` cut */
} ft_corpus;

/** Reads corpus->split with the functions below; does nothing if the data lack the split. */
typedef filtra_status (*ft_corpus_read)(ft_corpus *corpus, void *user);

/** Sets the dataset's tokenizer, that of `options` or else `fallback`, and calls `read` for all
 * splits. A tokenizer that is fitted to the data needs a counting pass first: "characters" over all
 * splits, so that all their characters are known; "words" over the first split only. */
filtra_status ft_corpus_open(filtra_dataset *ds, const char *path,
                             const filtra_dataset_options *options, const char *fallback,
                             ft_corpus_read read, void *user);

/** Adds text to the current sequence. Passages of text must end between characters and words. */
filtra_status ft_corpus_add(ft_corpus *corpus, const char *text, size_t length);
/** Adds a text file, or as much of it as the sequence keeps. Errors begin "file:line: ". */
filtra_status ft_corpus_add_file(ft_corpus *corpus, const char *path);
/** Encodes the added text if the tokenizer needs all of it at once. Call it before counting tokens
 * and before another text. */
filtra_status ft_corpus_encode(ft_corpus *corpus);
/** Starts the second text of the current sequence. Fails with ARGUMENT if the tokenizer has no
 * special tokens that separate two texts. */
filtra_status ft_corpus_add_second(ft_corpus *corpus);
/** Ends the sequence and adds a pretrained tokenizer's special tokens. A sequence longer than
 * `limit` (0: none) is cut with `truncate`, else refused; an empty one is refused. *length is 0 in
 * the counting pass. */
filtra_status ft_corpus_end_sequence(ft_corpus *corpus, uint32_t limit, bool truncate,
                                     uint32_t *length);
/** Ends the sequence with the options' limit, and adds it as a sample of this class. Does nothing
 * in the counting pass. */
filtra_status ft_corpus_end_sample(ft_corpus *corpus, int32_t label);

#endif
