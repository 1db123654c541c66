/* Functions on texts that Windows' C library lacks, as GNU and POSIX have them. Called through
 * missing_win32.h by everything. */
#include "base/missing_win32.h"

#include <string.h>

char *ft_strsep(char **rest, const char *separators) {
  char *part = *rest;
  if (!part) return NULL;
  char *end = part + strcspn(part, separators);
  *rest = *end ? end + 1 : NULL;
  *end = '\0';
  return part;
}

char *ft_stpcpy(char *to, const char *from) {
  const size_t length = strlen(from);
  memcpy(to, from, length + 1);
  return to + length;
}

char *ft_strndup(const char *text, size_t most) {
  const char *end = memchr(text, '\0', most);
  const size_t length = end ? (size_t)(end - text) : most;
  char *copy = malloc(length + 1);
  if (!copy) return NULL;
  memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

char *ft_strcasestr(const char *text, const char *part) {
  const size_t length = strlen(part);
  for (;; text++) {
    if (!strncasecmp(text, part, length)) return (char *)text;
    if (!*text) return NULL;
  }
}

void *ft_memrchr(const void *bytes, int byte, size_t size) {
  const unsigned char *at = bytes;
  while (size--)
    if (at[size] == (unsigned char)byte) return (void *)(at + size);
  return NULL;
}

void *ft_memmem(const void *bytes, size_t size, const void *part, size_t part_size) {
  const char *at = bytes;
  for (size_t i = 0; i + part_size <= size; i++)
    if (!memcmp(at + i, part, part_size)) return (void *)(at + i);
  return NULL;
}
