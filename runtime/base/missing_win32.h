/* Functions of C whose names of files and variables are not UTF-8 in Windows' C library, and those
 * that close and flush streams into memory. CMake includes this before everything else of a build
 * for Windows, and nowhere else, so that other files are written for one system. */
#ifndef FT_BASE_MISSING_WIN32_H
#define FT_BASE_MISSING_WIN32_H

#include <stdio.h>
#include <stdlib.h>

/* Files are never converted to another form of line ends. */
#define fopen  ft_fopen
#define remove ft_remove
#define rename ft_rename
#define getenv ft_getenv
FILE *ft_fopen(const char *path, const char *mode);
int ft_remove(const char *path); /* an empty folder, too */
int ft_rename(const char *from, const char *to);
/** Stays valid. */
char *ft_getenv(const char *name);

/* A stream into memory (stream.h) is a file that only its process sees, read when flushed. */
#define fflush ft_fflush
#define fclose ft_fclose
int ft_fflush(FILE *stream);
int ft_fclose(FILE *stream);

#endif
