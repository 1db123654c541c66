/* Parts of file.h's functions: file.c and folder.c call them, and each system implements them. */
#ifndef FT_BASE_FILE_PARTS_H
#define FT_BASE_FILE_PARTS_H

#include "base/status.h"

#include <stdio.h>

/** ft_file_open, and the file's current size. */
filtra_status ft_file_open_sized(const char *path, FILE **stream, uint64_t *size);
/** Appends a folder's names, in any order, without "." and "..". What it appended before a failure
 * stays. */
filtra_status ft_list_names(const char *path, char ***names, size_t *count);
/** Makes one folder unless it exists; `own`: only this user may use it. */
filtra_status ft_make_folder(const char *path, bool own);

/* ---- folder.c ---- */

/** ft_make_directories; `own`: only this user may use folders that it makes. */
filtra_status ft_make_directories_as(const char *path, bool own);

#endif
