/* Reading text into a dataset: a first pass counts it, if the tokenizer is fitted to it, and a
 * second one encodes it. */
#ifndef FT_DATA_CORPUS_H
#define FT_DATA_CORPUS_H

#include "data/dataset.h"

typedef struct ft_corpus {
  filtra_dataset *ds;
  const filtra_dataset_options *options;
  const char *path;          /* of the dataset */
  filtra_split split;        /* being read */
  ft_vocabulary *vocabulary; /* set in the pass that counts; else NULL */
  size_t first;              /* the current sequence's first token in the split */
  size_t second;             /* where its second text begins there; SIZE_MAX: one text */
  size_t second_at;          /* the same within the last sequence that ended; 0: one text */
  char *text;                /* of the sequence, for a pretrained tokenizer, which reads it whole */
  size_t text_length, text_capacity;
  ft_tokens edges; /* of the sequence, where it is a graph's nodes */
} ft_corpus;

/** Reads corpus->split with the functions below; does nothing if there is no such split. */
typedef filtra_status (*ft_corpus_read)(ft_corpus *corpus, void *user);

/** Sets the dataset's tokenizer, that of `options` or else `fallback`, and calls `read` for all
 * splits. A tokenizer that is fitted to the data first needs a pass that counts: "characters" over
 * all splits, so that their characters are known; "words" over the first split only. */
filtra_status ft_corpus_open(filtra_dataset *ds, const char *path,
                             const filtra_dataset_options *options, const char *fallback,
                             ft_corpus_read read, void *user);

/** Adds text to the current sequence. Passages of text must end between characters and words. */
filtra_status ft_corpus_add(ft_corpus *corpus, const char *text, size_t length);
/** Adds a text file, at least as much of it as the sequence keeps. Errors begin "file:line: ". */
filtra_status ft_corpus_add_file(ft_corpus *corpus, const char *path);
/** Turns the text that was added into tokens, where that waits for all of it: before tokens are
 * counted, or another text follows. */
filtra_status ft_corpus_encode(ft_corpus *corpus);
/** What is added from now on is the current sequence's second text. Fails with ARGUMENT where the
 * tokenizer has no special tokens that separate two. */
filtra_status ft_corpus_add_second(ft_corpus *corpus);
/** Ends the sequence, and puts a pretrained tokenizer's frame around it. One longer than `limit`
 * (0: none) is cut with `truncate`, else refused; an empty one is refused. *length is 0 in the pass
 * that counts. */
filtra_status ft_corpus_end_sequence(ft_corpus *corpus, uint32_t limit, bool truncate,
                                     uint32_t *length);
/** Ends the sequence with the options' limit, and adds it as a sample of this class. Does nothing
 * in the pass that counts. */
filtra_status ft_corpus_end_sample(ft_corpus *corpus, int32_t label);

#endif
