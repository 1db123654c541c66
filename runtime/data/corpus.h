/* Text on its way into a data set: counted first where the tokenizer is made from it, then
 * encoded. */
#ifndef FT_DATA_CORPUS_H
#define FT_DATA_CORPUS_H

#include "data/dataset.h"

typedef struct ft_corpus {
  filtra_dataset *ds;
  const filtra_dataset_options *options;
  const char *path;          /* of the data set */
  filtra_split split;        /* that is being read */
  ft_vocabulary *vocabulary; /* where text is counted only; else NULL */
  size_t first;              /* where the present sequence begins in the split's tokens */
} ft_corpus;

/** Reads corpus->split by the calls below; nothing where there is no such split. */
typedef filtra_status (*ft_corpus_read)(ft_corpus *corpus, void *user);

/** Sets the tokenizer of the data set at `path`, the one that `options` ask for or else `fallback`,
 * and has all splits read. One that is made from data has them read before: characters need all
 * splits (which there are, not how often, so that a closed vocabulary can read its own data), words
 * the first one there is. */
filtra_status ft_corpus_open(filtra_dataset *ds, const char *path,
                             const filtra_dataset_options *options, const char *fallback,
                             ft_corpus_read read, void *user);

/** Adds text to the present sequence, cut neither within a character nor within a word. */
filtra_status ft_corpus_add(ft_corpus *corpus, const char *text, size_t length);
/** Adds a text file, at least as much of it as will be kept. Fails with "file:line: ". */
filtra_status ft_corpus_add_file(ft_corpus *corpus, const char *path);
/** Ends the sequence: cuts what is longer than `limit` where `truncate` is set, and refuses it
 * else; 0: no limit. Refuses an empty one. *length is 0 while counting. */
filtra_status ft_corpus_end_sequence(ft_corpus *corpus, uint32_t limit, bool truncate,
                                     uint32_t *length);
/** Ends it by the options' limit and makes it a sample of this class; nothing while counting. */
filtra_status ft_corpus_end_sample(ft_corpus *corpus, int32_t label);

#endif
