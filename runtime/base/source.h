/* A file's bytes one after the other; what is packed by gzip comes unpacked. */
#ifndef FT_BASE_SOURCE_H
#define FT_BASE_SOURCE_H

#include "base/file.h"

typedef struct ft_source ft_source;

/** Opens a regular file. `path` must outlive the source. */
filtra_status ft_source_open(const char *path, ft_source **source);
/** The same for what is open already, a pipe maybe; the source closes it, also on failure. */
filtra_status ft_source_open_stream(FILE *stream, const char *path, ft_source **source);
/** Waits for some of the next bytes, at most `size`; *got is 0 at the end only. Fails with INPUT,
 * naming the file, where packed data is damaged or stops early, and where it becomes 64 MiB more
 * than FILTRA_UNPACKED_TIMES (an environment variable, else 20) times as long. */
filtra_status ft_source_read(ft_source *source, void *data, size_t size, size_t *got);
/** As many as there are, up to `size`. */
filtra_status ft_source_fill(ft_source *source, void *data, size_t size, size_t *got);
/** Sets *source to NULL. */
void ft_source_close(ft_source **source);

#endif
