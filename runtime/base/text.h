/* String functions of POSIX or GNU that C11 lacks. They compare bytes, in the same way in every
 * locale; upper and lower case are those of ASCII. */
#ifndef FT_BASE_TEXT_H
#define FT_BASE_TEXT_H

#include <stddef.h>

/* As strcasecmp, strncasecmp and strcasestr. */
int ft_strcasecmp(const char *a, const char *b);
int ft_strncasecmp(const char *a, const char *b, size_t most);
char *ft_strcasestr(const char *text, const char *part);

/* As strsep: ends the text at the first separator, moves *rest past it (NULL if there is none), and
 * returns the old *rest. */
char *ft_strsep(char **rest, const char *separators);

/* As memrchr and memmem. */
void *ft_memrchr(const void *bytes, int byte, size_t size);
void *ft_memmem(const void *bytes, size_t size, const void *part, size_t part_size);

#endif
