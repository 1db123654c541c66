/* Files, folders, processes and time: all calls of the operating system except threads and
 * modules. */
#ifndef FT_BASE_FILE_H
#define FT_BASE_FILE_H

#include "base/path.h"
#include "base/status.h"

#include <stdio.h>

/** Reads a whole regular file; a NUL follows the *size bytes of *data. Caller frees. Fails with IO,
 * naming path and reason, and with INPUT for a file larger than `limit` bytes. */
filtra_status ft_file_read(const char *path, uint64_t limit, char **data, size_t *size);

/** Opens a regular file for reading; caller closes. */
filtra_status ft_file_open(const char *path, FILE **stream);

/** Reads the next bytes of a stream, at most `size`, and waits for at least one; *got is 0 only at
 * the end. Do not mix with stdio's buffered reads. */
filtra_status ft_stream_read(FILE *stream, const char *path, void *data, size_t size, size_t *got);

/** Moves to byte `at`, where the next ft_stream_read begins. */
filtra_status ft_stream_seek(FILE *stream, const char *path, uint64_t at);

/** Atomic write: data go to a temporary file beside `path`; commit flushes it to disk and renames
 * it over `path`. Until then the old file is unchanged; abort removes the temporary file. */
typedef struct ft_atomic_file {
  FILE *stream; /* write here; check ft_atomic_commit's status, not each write */
  char *path, *temporary;
  int folder;  /* file descriptor of the folder that holds both files */
  size_t name; /* offset of the file's name in both paths */
} ft_atomic_file;
filtra_status ft_atomic_open(const char *path, ft_atomic_file *file);
filtra_status ft_atomic_commit(ft_atomic_file *file);
void ft_atomic_abort(ft_atomic_file *file);
/** Writes a whole file atomically. */
filtra_status ft_file_write(const char *path, const void *data, size_t size);
/** Files of a folder that someone else may have made, such as a run's or a sweep's: `within` is the
 * folder, and `path` begins with it (ft_path_join). Below `within` no symbolic link is followed: a
 * link fails with PATH and a sentence that names it. The functions without `within` follow links:
 * for paths that a person gave. */
filtra_status ft_atomic_open_in(const char *within, const char *path, ft_atomic_file *file);
filtra_status ft_file_write_in(const char *within, const char *path, const void *data, size_t size);
filtra_status ft_append_open_in(const char *within, const char *path, FILE **stream);
/** Makes one folder unless it exists. */
filtra_status ft_make_folder_in(const char *within, const char *path);
/** Fails if a link lies on the way to `path`, which need not exist. Call it before another process,
 * or a function that only reads, opens the path. */
filtra_status ft_check_in(const char *within, const char *path);
/** Fails if there is a link anywhere in a folder. */
filtra_status ft_check_tree(const char *folder);
/** Whether `path` lies in the folder, by their texts alone. */
bool ft_lies_in(const char *folder, const char *path);
/** Fails with PATH: `path` is a symbolic link below `within`. */
filtra_status ft_fail_link(const char *path, const char *within);
/** As ft_file_write; creates the folder if needed. Only this user can access the folder and write
 * the file. */
filtra_status ft_file_write_below(const char *path, const void *data, size_t size);
/** Creates a file that must not exist. Does not flush it to disk: for files of a folder that
 * ft_folder_commit flushes. */
filtra_status ft_file_create(const char *path, const void *data, size_t size);
/** Flushes a folder's files to disk and renames the folder to `path`, which must not exist. */
filtra_status ft_folder_commit(const char *temporary, const char *path);
/** Makes a folder whole or not at all: `fill` writes into a temporary one beside `path`, which is
 * then renamed. `path` must not exist, or be an empty folder; missing parent folders are made. */
typedef filtra_status (*ft_folder_fn)(void *user, const char *temporary);
filtra_status ft_folder_make(const char *path, ft_folder_fn fill, void *user);
/** Removes a folder and its content, as far as possible. */
void ft_remove_tree(const char *path);
/** Removes temporary files that killed processes left beside `path`. Call it only while no other
 * process can be writing `path`. */
void ft_atomic_clean(const char *path);
/** Whether `entry` is the name of a temporary file of a file called `name`. */
bool ft_is_temporary(const char *entry, const char *name);

/** Opens a file for appending and creates it if needed. Locks it: another process fails with PATH
 * until this one closes it or ends. */
filtra_status ft_append_open(const char *path, FILE **stream);
/** Whether another process has the file open for appending; false if there is no such file. */
bool ft_is_locked(const char *path);
/** Appends all of `data`, or on failure nothing. */
filtra_status ft_append_write(FILE *stream, const char *path, const void *data, size_t size);
/** Cuts the file to at most `bytes`. */
filtra_status ft_append_cut(FILE *stream, const char *path, uint64_t bytes);
/** Flushes written data to disk. */
filtra_status ft_append_sync(FILE *stream, const char *path);

bool ft_file_exists(const char *path);
/** Size in bytes; 0 for a missing file. */
uint64_t ft_file_size(const char *path);
/** Whether two paths lead to the same existing file or folder. */
bool ft_same_file(const char *a, const char *b);
bool ft_is_directory(const char *path);
/** Whether the path's last part is a symbolic link. */
bool ft_is_link(const char *path);
/** Whether only this user and the superuser can have written the file or folder. */
bool ft_is_private(const char *path);
/** Makes a directory and its parents. */
filtra_status ft_make_directories(const char *path);
/** The full path of an existing file or folder, with '/' on every system, for malloc's free; NULL
 * with errno's reason, ENOMEM where memory ran out. */
char *ft_full_path(const char *path);
/** A stored path as it is on this machine: except on Windows, a path such as "Z:/data" that does
 * not exist is tried without its drive. Returns `path` or a part of it. */
const char *ft_path_here(const char *path);
/** Names in a directory, sorted, without "." and ".."; caller frees them with ft_free_names. */
filtra_status ft_list_directory(const char *path, char ***names, size_t *count);
/** Calls `take` with path and name of each entry of a folder, sorted, until one call fails. */
filtra_status ft_each_entry(const char *folder,
                            filtra_status (*take)(void *user, const char *path, const char *name),
                            void *user);
/** The cache folder: $XDG_CACHE_HOME/filtra or ~/.cache/filtra, on Windows
 * %LOCALAPPDATA%\filtra\cache. Caller frees; NULL if the variables are not set. */
char *ft_cache_directory(void);

/** Seconds of a monotonic clock. */
double ft_seconds(void);
/** Date and time in UTC, "2026-11-21T09:00:00Z", in a buffer per thread. */
const char *ft_date(void);
/** This process's id. */
long ft_process(void);
/** Whether a process with that id runs on this machine. */
bool ft_process_runs(long process);
/** Processors this process may use, at least 1. */
unsigned ft_processors(void);

#endif
