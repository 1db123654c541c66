/* One folder of files per class: DIR/CLASS/FILE, or DIR/train, val and test with such folders. */
#ifndef FT_DATA_CLASS_FOLDERS_H
#define FT_DATA_CLASS_FOLDERS_H

#include "data/dataset.h"

typedef struct ft_class_file {
  char *path;
  filtra_split split;
  int32_t label; /* -1: unknown */
} ft_class_file;

/** Whether a file's name is accepted. */
typedef bool (*ft_class_named)(const char *name);

typedef struct ft_class_folders {
  ft_class_named named; /* accepts file names */
  const char *kinds;    /* accepted endings, for messages: ".txt or .txt.gz" */
  ft_class_file *files; /* [count], sorted by split, class and name */
  size_t count, capacity;
  size_t class_capacity; /* capacity of the dataset's list of class names */
} ft_class_folders;

/** Whether a folder looks like class folders with such files; checks only a few files. */
bool ft_class_folders_probe(const ft_dataset_probe *p, ft_class_named named);
/** Lists all files and sets the dataset's classes: those of the first split, sorted by name. A test
 * folder without classes, beside other splits, gets label -1 with `options->unlabelled`, and is
 * left out otherwise. Leaves out "unsup" (IMDb's unlabelled reviews) silently, and, with a warning,
 * other folders beside those of splits and files beside those of classes. Fails with INPUT for a
 * file of another kind, a class without files or with folders, a class that the first split lacks,
 * and two folders for one split. */
filtra_status ft_class_folders_list(ft_class_folders *folders, const char *path,
                                    const filtra_dataset_options *options, filtra_dataset *ds);
void ft_class_folders_free(ft_class_folders *folders);

#endif
