/* One folder of files per class: DIR/CLASS/FILE, or DIR/train, val and test with such folders. */
#ifndef FT_DATA_CLASS_FOLDERS_H
#define FT_DATA_CLASS_FOLDERS_H

#include "data/dataset.h"

typedef struct ft_class_file {
  char *path;
  filtra_split split;
  int32_t label;
} ft_class_file;

typedef struct ft_class_folders {
  bool (*named)(const char *name); /* whether a file's name is of the accepted kind */
  const char *kinds;               /* accepted endings, for messages: ".txt or .txt.gz" */
  ft_class_file *files;            /* [count], sorted by split, class and name */
  size_t count, capacity;
  size_t class_capacity; /* of the dataset's list of class names */
} ft_class_folders;

/** Whether a folder looks like class folders with such files; checks only a few files. */
bool ft_class_folders_probe(const ft_dataset_probe *p, bool (*named)(const char *name));
/** Lists all files and sets the dataset's classes: those of the first split, sorted by name.
 * Ignores names that begin with a dot, and "unsup" (IMDb's unlabelled reviews). Fails with INPUT
 * for a file of another kind, a class without files, and a class that the first split does not
 * have. */
filtra_status ft_class_folders_list(ft_class_folders *folders, const char *path,
                                    filtra_split file_split, filtra_dataset *ds);
void ft_class_folders_free(ft_class_folders *folders);

#endif
