/* The part of file.h about folders that is the same on every system: making and listing them. */
#include "base/file.h"

#include "base/file_parts.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

filtra_status ft_make_directories_as(const char *path, bool own) {
  char *copy = ft_strdup(path);
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = FILTRA_OK;
  char *first = copy + ft_path_root(copy);
  for (char *c = first; *c && !status; c++) {
    const char kept = *c;
    if (c == first || !ft_is_separator(kept)) continue;
    *c = '\0';
    status = ft_make_folder(copy, own);
    *c = kept;
  }
  if (!status) status = ft_make_folder(copy, own);
  free(copy);
  return status;
}

filtra_status ft_make_directories(const char *path) {
  return ft_make_directories_as(path, false);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

filtra_status ft_list_directory(const char *path, char ***names, size_t *count) {
  *names = NULL;
  *count = 0;
  filtra_status status = ft_list_names(path, names, count);
  if (!status) {
    if (*count) qsort(*names, *count, sizeof **names, compare_names);
    return FILTRA_OK;
  }
  ft_free_names(*names, *count);
  *names = NULL;
  *count = 0;
  return status;
}

filtra_status ft_each_entry(const char *folder,
                            filtra_status (*take)(void *user, const char *path, const char *name),
                            void *user) {
  char **names;
  size_t count;
  FT_TRY(ft_list_directory(folder, &names, &count));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++) {
    char *path = ft_path_join(folder, names[i]);
    status = path ? take(user, path, names[i]) : FILTRA_ERROR_HOST_MEMORY;
    free(path);
  }
  ft_free_names(names, count);
  return status;
}
