/* Functions on texts that C11 lacks and POSIX or GNU has: by bytes, the same in every locale, in
 * which upper and lower case are those of ASCII. */
#ifndef FT_BASE_TEXT_H
#define FT_BASE_TEXT_H

#include <stddef.h>

/* As strcasecmp, strncasecmp and strcasestr. */
int ft_strcasecmp(const char *a, const char *b);
int ft_strncasecmp(const char *a, const char *b, size_t most);
char *ft_strcasestr(const char *text, const char *part);

/* As strsep: ends the text at the first of the separators, moves *rest past it, or to NULL where
 * there is none, and returns what *rest was. */
char *ft_strsep(char **rest, const char *separators);

/* As memrchr and memmem. */
void *ft_memrchr(const void *bytes, int byte, size_t size);
void *ft_memmem(const void *bytes, size_t size, const void *part, size_t part_size);

#endif
