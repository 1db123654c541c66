/* The part of path.h that is POSIX's own. */
#define _GNU_SOURCE
#include "base/path.h"

bool ft_is_separator(char c) {
  return c == '/';
}

size_t ft_path_root(const char *path) {
  return *path == '/';
}

bool ft_path_is_absolute(const char *path) {
  return *path == '/';
}

char ft_list_separator(void) {
  return ':';
}
