/* Replaces C functions that do not take UTF-8 names in Windows' C library, and those that close and
 * flush streams into memory. CMake includes this before everything else in a build for Windows
 * only, so that other files need no conditions. */
#ifndef FT_BASE_MISSING_WIN32_H
#define FT_BASE_MISSING_WIN32_H

#include <stdio.h>
#include <stdlib.h>

/* Line ends are never converted. */
#define fopen  ft_fopen
#define remove ft_remove
#define rename ft_rename
#define getenv ft_getenv
FILE *ft_fopen(const char *path, const char *mode);
int ft_remove(const char *path); /* removes an empty folder, too */
int ft_rename(const char *from, const char *to);
/** The result stays valid. */
char *ft_getenv(const char *name);

/* A stream into memory (stream.h) is a temporary file that only its process sees; a flush reads
 * it. */
#define fflush ft_fflush
#define fclose ft_fclose
int ft_fflush(FILE *stream);
int ft_fclose(FILE *stream);

#endif
