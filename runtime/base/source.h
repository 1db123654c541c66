/* Reading the bytes of a file in order; gzip is unpacked. */
#ifndef FT_BASE_SOURCE_H
#define FT_BASE_SOURCE_H

#include "base/file.h"

typedef struct ft_source ft_source;

/** Opens a regular file. `path` must outlive the source. */
filtra_status ft_source_open(const char *path, ft_source **source);
/** As ft_source_open, for an open stream, such as a pipe, which the source closes, also on
 * failure. */
filtra_status ft_source_open_stream(FILE *stream, const char *path, ft_source **source);
/** Reads the next bytes, at most `size`, and waits for at least one; *got is 0 only at the end.
 * Fails with INPUT, naming the file, when packed data are damaged or truncated, or grow beyond the
 * limit of ft_check_unpacked. */
filtra_status ft_source_read(ft_source *source, void *data, size_t size, size_t *got);
/** Reads `size` bytes, or fewer only at the end. */
filtra_status ft_source_fill(ft_source *source, void *data, size_t size, size_t *got);
/** Fails with INPUT and `name` when unpacked bytes exceed 64 MiB plus FILTRA_UNPACKED_TIMES
 * (environment variable, else 20) times the packed bytes. */
filtra_status ft_check_unpacked(const char *name, uint64_t packed, uint64_t unpacked);
/** Sets *source to NULL. */
void ft_source_close(ft_source **source);

#endif
