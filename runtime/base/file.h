/* Files and the few operating-system calls we need, all in one place. */
#ifndef FT_BASE_FILE_H
#define FT_BASE_FILE_H

#include "base/status.h"

#include <stdio.h>

/** Reads a whole regular file; *data is NUL-terminated past *size, caller frees. Fails with IO
 * (path and reason) and with INPUT when larger than `limit` bytes. */
filtra_status ft_file_read(const char *path, uint64_t limit, char **data, size_t *size);

/** Opens a regular file to be read as a stream; caller closes. */
filtra_status ft_file_open(const char *path, FILE **stream);

/** Waits for some of a stream's next bytes, at most `size`; *got is 0 at the end only. Not to be
 * mixed with what stdio buffers. */
filtra_status ft_stream_read(FILE *stream, const char *path, void *data, size_t size, size_t *got);

/** Atomic write: everything goes to a temporary file beside `path`, which is flushed to disk and
 * renamed over it by commit. Until then the old file is untouched; abort removes the temporary. */
typedef struct ft_atomic_file {
  FILE *stream; /* write here; check ft_atomic_commit's status, not each write */
  char *path, *temporary;
} ft_atomic_file;
filtra_status ft_atomic_open(const char *path, ft_atomic_file *file);
filtra_status ft_atomic_commit(ft_atomic_file *file);
void ft_atomic_abort(ft_atomic_file *file);
/** The whole of `data` in one atomic write. */
filtra_status ft_file_write(const char *path, const void *data, size_t size);
/** The same, making the folder first where there is none, for this user alone, who alone may write
 * the file. */
filtra_status ft_file_write_below(const char *path, const void *data, size_t size);
/** Makes a file that must not exist yet; not flushed to disk by itself, for one of many files in a
 * folder that ft_folder_commit completes. */
filtra_status ft_file_create(const char *path, const void *data, size_t size);
/** Flushes what a folder holds to disk and gives it its final name, which must be free. */
filtra_status ft_folder_commit(const char *temporary, const char *path);
/** Removes a folder with all that it holds; what cannot be removed stays. */
void ft_remove_tree(const char *path);
/** Removes the temporaries that processes which were killed left beside `path`. Only while no other
 * process can be writing it. */
void ft_atomic_clean(const char *path);
/** Whether `entry` is the name of such a temporary for a file called `name`. */
bool ft_is_temporary(const char *entry, const char *name);

/** Opens a file to append to, made if need be. One process at a time: a second one fails with PATH
 * until the first has closed it or ended. */
filtra_status ft_append_open(const char *path, FILE **stream);
/** Adds all of `data` or, where that fails, nothing. */
filtra_status ft_append_write(FILE *stream, const char *path, const void *data, size_t size);
/** Cuts the file to at most `bytes`. */
filtra_status ft_append_cut(FILE *stream, const char *path, uint64_t bytes);
/** Waits until what was written is on the disk. */
filtra_status ft_append_sync(FILE *stream, const char *path);

bool ft_file_exists(const char *path);
/** In bytes; 0 where there is no such file. */
uint64_t ft_file_size(const char *path);
/** Whether two paths lead to the same file or folder, which is there. */
bool ft_same_file(const char *a, const char *b);
bool ft_is_directory(const char *path);
/** Whether the path's last part is a symbolic link. */
bool ft_is_link(const char *path);
/** Whether this user, and nobody else but the superuser, can have written what is there. */
bool ft_is_private(const char *path);
/** Makes a directory and its parents. */
filtra_status ft_make_directories(const char *path);
/** Whether a name ends with these letters. */
bool ft_ends_with(const char *name, const char *end);
/** "a/b"; caller frees. */
char *ft_path_join(const char *a, const char *b);
/** Names in a directory, sorted, without "." and ".."; caller frees them with ft_free_names. */
filtra_status ft_list_directory(const char *path, char ***names, size_t *count);
/** Calls `take` for each of them, with its path, until one fails. */
filtra_status ft_each_entry(const char *folder,
                            filtra_status (*take)(void *user, const char *path, const char *name),
                            void *user);
/** $XDG_CACHE_HOME/filtra or ~/.cache/filtra; caller frees; NULL when neither is set. */
char *ft_cache_directory(void);

/** Seconds on a clock that never jumps. */
double ft_seconds(void);
/** The date and the time in UTC, "2026-11-21T09:00:00Z"; in a buffer of its own for each thread. */
const char *ft_date(void);
/** This process's number, for names of temporaries. */
long ft_process(void);
/** Whether a process of that number runs on this machine. */
bool ft_process_runs(long process);
/** Processors this process may use, at least 1. */
unsigned ft_processors(void);

#endif
