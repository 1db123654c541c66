/* The part of path.h that is the same on every system. */
#include "base/path.h"

#include "base/memory.h"

#include <string.h>

bool ft_ends_with(const char *name, const char *end) {
  size_t length = strlen(name), tail = strlen(end);
  return length >= tail && !memcmp(name + length - tail, end, tail);
}

char *ft_path_join(const char *a, const char *b) {
  size_t length = strlen(a);
  bool separated = length == 0 || ft_is_separator(a[length - 1]);
  return ft_format(separated ? "%s%s" : "%s/%s", a, b);
}

const char *ft_path_name(const char *path) {
  const char *name = path + ft_path_root(path);
  for (const char *c = name; *c; c++)
    if (ft_is_separator(*c)) name = c + 1;
  return name;
}

size_t ft_path_length(const char *path) {
  size_t length = strlen(path), root = ft_path_root(path);
  while (length > root && ft_is_separator(path[length - 1]))
    length--;
  return length;
}

bool ft_is_name(const char *text) {
  return !ft_path_root(text) && ft_path_name(text) == text;
}

char *ft_path_folder(const char *path) {
  const size_t root = ft_path_root(path);
  size_t length = (size_t)(ft_path_name(path) - path);
  while (length > root && ft_is_separator(path[length - 1]))
    length--;
  return length ? ft_format("%.*s", (int)length, path) : ft_strdup(".");
}
