/* Paths as texts; no function here accesses the file system. */
#ifndef FT_BASE_PATH_H
#define FT_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/** Whether the character separates parts of a path: '/', on Windows also '\'. */
bool ft_is_separator(char c);
/** Length of a path's root: "/", on Windows also "C:/" or "C:". */
size_t ft_path_root(const char *path);
bool ft_path_is_absolute(const char *path);
/** The last part of a path, a pointer into it; "" if the path ends with a separator. */
const char *ft_path_name(const char *path);
/** The path's length without separators at its end. */
size_t ft_path_length(const char *path);
/** Whether the text is a name, not a path. */
bool ft_is_name(const char *text);
/** The folder of a path, without a separator at its end, "." for a name alone; caller frees. */
char *ft_path_folder(const char *path);
/** Whether `name` ends with `end`. */
bool ft_ends_with(const char *name, const char *end);
/** "a/b"; caller frees. */
char *ft_path_join(const char *a, const char *b);
/** The separator of paths in an environment variable: ':', on Windows ';'. */
char ft_list_separator(void);

#endif
