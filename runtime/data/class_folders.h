/* Folders of files per class: DIR/CLASS/FILE, or DIR/train, val and test with such folders. */
#ifndef FT_DATA_CLASS_FOLDERS_H
#define FT_DATA_CLASS_FOLDERS_H

#include "data/dataset.h"

typedef struct ft_class_file {
  char *path;
  filtra_split split;
  int32_t label;
} ft_class_file;

typedef struct ft_class_folders {
  bool (*named)(const char *name); /* whether a file is of the wanted kind, by its name */
  const char *kinds;               /* what its name ends in, for messages: ".txt or .txt.gz" */
  ft_class_file *files;            /* [count] by split, class and name */
  size_t count, capacity;
  size_t class_capacity; /* of the data set's list of names */
} ft_class_folders;

/** Whether a folder's files are of that kind, as far as a look at a few of them tells. */
bool ft_class_folders_probe(const ft_dataset_probe *p, bool (*named)(const char *name));
/** Lists all files and gives the data set its classes, those of the first split in the order of
 * their names. Names that begin with a dot, and "unsup" (IMDb's reviews without a class), are
 * passed over. Fails with INPUT on a file of another kind, on a class without files and on one that
 * the first split does not have. */
filtra_status ft_class_folders_list(ft_class_folders *folders, const char *path,
                                    filtra_split file_split, filtra_dataset *ds);
void ft_class_folders_free(ft_class_folders *folders);

#endif
