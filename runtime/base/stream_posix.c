/* stream.h for POSIX. */
#define _GNU_SOURCE
#include "base/stream.h"

#include <stdlib.h>

FILE *ft_open_memstream(char **text, size_t *size) {
  return open_memstream(text, size);
}

int ft_setenv(const char *name, const char *value, int replace) {
  return setenv(name, value, replace);
}

int ft_unsetenv(const char *name) {
  return unsetenv(name);
}
