/* Streams into memory, and environment variables: stream_posix.c and stream_win32.c. */
#ifndef FT_BASE_STREAM_H
#define FT_BASE_STREAM_H

#include <stddef.h>
#include <stdio.h>

/** As POSIX's open_memstream: after a flush or close, *text holds what was written and *size its
 * length; caller frees *text. NULL: out of memory. */
FILE *ft_open_memstream(char **text, size_t *size);

/** As POSIX's setenv and unsetenv. Do not call while another thread reads variables. */
int ft_setenv(const char *name, const char *value, int replace);
int ft_unsetenv(const char *name);

#endif
