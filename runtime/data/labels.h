/* Classes of data that names them itself. */
#ifndef FT_DATA_LABELS_H
#define FT_DATA_LABELS_H

#include "data/dataset.h"

/** Names of classes; a label is an index. An all-zero struct is an empty, open list. */
typedef struct ft_labels {
  char **names;
  size_t count, capacity;
  uint32_t *places; /* [place_count], indexed by the hash of a name: its label + 1; 0: free */
  size_t place_count;
  bool closed; /* the list is complete: unknown names are errors */
} ft_labels;

/** Label of a name of `length` bytes, without spaces around it. An open list adds new names, up to
 * 10,000. */
filtra_status ft_labels_find(ft_labels *labels, const char *name, size_t length, int32_t *label);
/** Closes the list and sorts it: as whole numbers if `numbers` is set and all names are numbers,
 * else as strings. Renumbers the labels of `samples`. */
filtra_status ft_labels_close(ft_labels *labels, bool numbers, ft_samples *samples);
#define FT_NUMBERS_ADVICE                                                                          \
  "if they are numbers to predict, set task to regression, and if not, to classification"
/** Fails if nearly every sample of the training split has its own class, unless an option says that
 * these are classes: then logs it. `where` names what holds the classes; `advice` ends the
 * message. */
filtra_status ft_labels_check(const ft_labels *labels, const filtra_dataset *ds,
                              const filtra_dataset_options *options, const char *where,
                              const char *advice);
/** Moves the names to the dataset as its classes. */
void ft_labels_give(ft_labels *labels, filtra_dataset *ds);
void ft_labels_free(ft_labels *labels);

/** Removes spaces at both ends. */
void ft_trim(const char **text, size_t *length);

#endif
