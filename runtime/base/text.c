/* String functions that C11 lacks. Called by readers of files and options. */
#include "base/text.h"

#include <stdint.h>
#include <string.h>

static int lower(char c) {
  const unsigned char byte = (unsigned char)c;
  return byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte;
}

int ft_strncasecmp(const char *a, const char *b, size_t most) {
  for (; most > 0; a++, b++, most--) {
    const int difference = lower(*a) - lower(*b);
    if (difference != 0 || !*a) return difference;
  }
  return 0;
}

int ft_strcasecmp(const char *a, const char *b) {
  return ft_strncasecmp(a, b, SIZE_MAX);
}

char *ft_strcasestr(const char *text, const char *part) {
  const size_t length = strlen(part);
  for (;; text++) {
    if (!ft_strncasecmp(text, part, length)) return (char *)text;
    if (!*text) return NULL;
  }
}

char *ft_strsep(char **rest, const char *separators) {
  char *part = *rest;
  if (!part) return NULL;
  char *end = part + strcspn(part, separators);
  *rest = *end ? end + 1 : NULL;
  *end = '\0';
  return part;
}

void *ft_memrchr(const void *bytes, int byte, size_t size) {
  const unsigned char *at = bytes;
  while (size--)
    if (at[size] == (unsigned char)byte) return (void *)(at + size);
  return NULL;
}

void *ft_memmem(const void *bytes, size_t size, const void *part, size_t part_size) {
  const char *at = bytes, *end = at + size;
  if (part_size == 0) return (void *)at;
  while ((size_t)(end - at) >= part_size) {
    at = memchr(at, *(const unsigned char *)part, (size_t)(end - at) - part_size + 1);
    if (!at) return NULL;
    if (!memcmp(at, part, part_size)) return (void *)at;
    at++;
  }
  return NULL;
}
