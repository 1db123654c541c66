/* Names of files and folders: which split they mean, and which are not data. */
#ifndef FT_DATA_NAMES_H
#define FT_DATA_NAMES_H

#include "data/dataset.h"

/** Whether a folder's name is that of a split, ignoring case: train, training; val, valid,
 * validation, validate, dev, eval; test, testing, ind (independent test sets). */
bool ft_folder_split(const char *name, filtra_split *split);

/** Names in a folder, sorted, without those of files that operating systems and archives leave
 * there: names that begin with a dot, __MACOSX, Thumbs.db, ehthumbs.db, desktop.ini. Caller frees
 * them with ft_free_names. */
filtra_status ft_list_data(const char *path, char ***names, size_t *count);
/** As ft_list_data, without folders. */
filtra_status ft_list_files(const char *path, char ***names, size_t *count);
/** Whether a file of that name exists; a folder does not count. */
bool ft_data_file_exists(const char *path);

/** Length of a file's name (no folders) without .gz and without one of the endings, a
 * NULL-terminated list; 0 if it ends with none of them. */
size_t ft_stem_length(const char *name, const char *const *endings);
/** Whether a stem is a split's name, as for folders, or ends with one after '.', '_' or '-', such
 * as wiki.valid. *rest is the length of the part before: "wiki". */
bool ft_stem_split(const char *stem, size_t length, filtra_split *split, size_t *rest);

/** The files of a data set, by split; NULL: none. */
typedef struct ft_split_files {
  char *path[FILTRA_SPLIT_COUNT];
} ft_split_files;

/** Whether a file's name is that of a split in a format; sets *split. */
typedef bool (*ft_names_split_fn)(const void *user, const char *name, filtra_split *split);

/** Finds a data set's files: `path` itself as `file_split`, or a folder's files by their names.
 * Fails unless there is at least one, and at most one per split; the error says what `format`
 * holds. The caller frees, also on failure. */
filtra_status ft_split_files_find(const char *path, filtra_split file_split,
                                  const ft_dataset_format *format, ft_names_split_fn names_split,
                                  const void *user, ft_split_files *files);
/** Warns of a folder's files that have one of the endings and no split's name, and so are read by
 * nothing. */
filtra_status ft_split_files_warn(const char *path, const char *const *endings);
void ft_split_files_free(ft_split_files *files);
/** Whether one of a folder's entries is a file of a split. */
bool ft_any_names_split(char *const *names, size_t count, ft_names_split_fn names_split,
                        const void *user);

/** Lists names for messages, each in quotes. */
enum { FT_LISTED = 400 };
void ft_list_quoted(const char *const *names, size_t count, char list[FT_LISTED]);

#endif
