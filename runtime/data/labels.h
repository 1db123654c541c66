/* The classes of a data set that names them itself. */
#ifndef FT_DATA_LABELS_H
#define FT_DATA_LABELS_H

#include "data/dataset.h"

/** Names of classes; a label is an index. Zeroed is an empty, open list. */
typedef struct ft_labels {
  char **names;
  size_t count, capacity;
  bool closed; /* the list is complete: a name that is not in it is an error */
} ft_labels;

/** Label of the name of `length` bytes, spaces around it aside; an open list takes up new ones, at
 * most 10,000. */
filtra_status ft_labels_find(ft_labels *labels, const char *name, size_t length, int32_t *label);
/** Closes the list and sorts it, as whole numbers where all names are, and `numbers` is set, else
 * as strings; renumbers the labels of `samples`. */
filtra_status ft_labels_close(ft_labels *labels, bool numbers, ft_samples *samples);
/** Hands the names to the dataset as its classes. */
void ft_labels_give(ft_labels *labels, filtra_dataset *ds);
void ft_labels_free(ft_labels *labels);

/** Steps over spaces at both ends. */
void ft_trim(const char **text, size_t *length);

#endif
