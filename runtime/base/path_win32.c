/* The part of path.h that is Windows' own. */
#include "base/path.h"

bool ft_is_separator(char c) {
  return c == '/' || c == '\\';
}

size_t ft_path_root(const char *path) {
  const bool letter = (*path >= 'A' && *path <= 'Z') || (*path >= 'a' && *path <= 'z');
  const size_t drive = letter && path[1] == ':' ? 2 : 0;
  return drive + ft_is_separator(path[drive]);
}

bool ft_path_is_absolute(const char *path) {
  const size_t root = ft_path_root(path);
  return root && ft_is_separator(path[root - 1]);
}

char ft_list_separator(void) {
  return ';';
}
