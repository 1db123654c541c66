/* Functions of POSIX and of GNU that the C library of Windows lacks, and those of C whose names of
 * files and variables are not UTF-8 there. CMake includes this before everything else of a build
 * for Windows, and nowhere else, so that other files are written for one system. */
#ifndef FT_BASE_MISSING_WIN32_H
#define FT_BASE_MISSING_WIN32_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- texts (text_win32.c) ---- */

#define strsep     ft_strsep
#define stpcpy     ft_stpcpy
#define strndup    ft_strndup
#define strcasestr ft_strcasestr
#define memrchr    ft_memrchr
#define memmem     ft_memmem
char *ft_strsep(char **rest, const char *separators);
char *ft_stpcpy(char *to, const char *from);
char *ft_strndup(const char *text, size_t most);
char *ft_strcasestr(const char *text, const char *part);
void *ft_memrchr(const void *bytes, int byte, size_t size);
void *ft_memmem(const void *bytes, size_t size, const void *part, size_t part_size);

/* ---- streams and variables (stream_win32.c) ---- */

/* Files are never converted to another form of line ends. */
#define fopen    ft_fopen
#define remove   ft_remove
#define rename   ft_rename
#define getenv   ft_getenv
#define setenv   ft_setenv
#define unsetenv ft_unsetenv
FILE *ft_fopen(const char *path, const char *mode);
int ft_remove(const char *path); /* an empty folder, too */
int ft_rename(const char *from, const char *to);
/** Stays valid. */
char *ft_getenv(const char *name);
int ft_setenv(const char *name, const char *value, int replace);
int ft_unsetenv(const char *name);

/* Streams into memory: files that only their process sees, read when flushed or closed. */
#define open_memstream ft_open_memstream
#define fflush         ft_fflush
#define fclose         ft_fclose
FILE *ft_open_memstream(char **text, size_t *size);
int ft_fflush(FILE *stream);
int ft_fclose(FILE *stream);

#endif
