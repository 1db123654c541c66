/* Recognises splits and files that are no data by their names, and lists a data set's files. Called
 * by the formats. */
#include "data/names.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Names of a split, each list ended by NULL. */
static const char *const SPLIT_WORDS[FILTRA_SPLIT_COUNT][7] = {
    {"train", "training"},
    {"val", "valid", "validation", "validate", "dev", "eval"},
    {"test", "testing", "ind"}};

/* ---- listing ---- */

static bool is_left_behind(const char *name) {
  static const char *const NAMES[] = {"__MACOSX", "Thumbs.db", "ehthumbs.db", "desktop.ini"};
  for (size_t i = 0; i < FT_COUNT(NAMES); i++)
    if (!ft_strcasecmp(name, NAMES[i])) return true;
  return *name == '.';
}

static filtra_status list(const char *path, bool folders, char ***names, size_t *count) {
  size_t all, kept = 0;
  *names = NULL;
  *count = 0;
  FT_TRY(ft_list_directory(path, names, &all));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < all; i++) {
    char *name = (*names)[i], *entry = NULL;
    bool taken = !status && !is_left_behind(name);
    if (taken && !folders) {
      entry = ft_path_join(path, name);
      if (!entry) status = FILTRA_ERROR_HOST_MEMORY;
      taken = entry && !ft_is_directory(entry);
    }
    free(entry);
    if (taken)
      (*names)[kept++] = name;
    else
      free(name);
  }
  *count = kept;
  if (!status) return FILTRA_OK;
  ft_free_names(*names, kept);
  *names = NULL;
  *count = 0;
  return status;
}

filtra_status ft_list_data(const char *path, char ***names, size_t *count) {
  return list(path, true, names, count);
}

filtra_status ft_list_files(const char *path, char ***names, size_t *count) {
  return list(path, false, names, count);
}

bool ft_data_file_exists(const char *path) {
  return ft_file_exists(path) && !ft_is_directory(path);
}

/* ---- splits ---- */

static bool ends_with(const char *text, size_t length, const char *end) {
  size_t count = strlen(end);
  return length >= count && !memcmp(text + length - count, end, count);
}

size_t ft_stem_length(const char *name, const char *const *endings) {
  size_t length = strlen(name);
  if (ends_with(name, length, ".gz")) length -= 3;
  for (; *endings; endings++)
    if (ends_with(name, length, *endings)) return length - strlen(*endings);
  return 0;
}

/* Whether the stem ends with `word`, after a separator or alone. */
static bool has_word(const char *stem, size_t length, const char *word, size_t *rest) {
  size_t count = strlen(word);
  if (length < count || ft_strncasecmp(stem + length - count, word, count) != 0) return false;
  *rest = length == count ? 0 : length - count - 1;
  return length == count || strchr("._-", stem[*rest]);
}

bool ft_stem_split(const char *stem, size_t length, filtra_split *split, size_t *rest) {
  for (*split = FILTRA_SPLIT_TRAIN; *split <= FILTRA_SPLIT_TEST; ++*split)
    for (size_t i = 0; SPLIT_WORDS[*split][i]; i++)
      if (has_word(stem, length, SPLIT_WORDS[*split][i], rest)) return true;
  return false;
}

bool ft_folder_split(const char *name, filtra_split *split) {
  size_t rest;
  return ft_stem_split(name, strlen(name), split, &rest) && rest == 0;
}

/* ---- a data set's files ---- */

static filtra_status take_file(const char *folder, const char *name, filtra_split split,
                               ft_split_files *files) {
  if (files->path[split])
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s holds more than one file of the %s split, %s and %s; give one file's path",
                   folder, filtra_split_name(split), ft_path_name(files->path[split]), name);
  files->path[split] = ft_path_join(folder, name);
  return files->path[split] ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

filtra_status ft_split_files_find(const char *path, filtra_split file_split,
                                  const ft_dataset_format *format, ft_names_split_fn names_split,
                                  const void *user, ft_split_files *files) {
  *files = (ft_split_files){{NULL}};
  if (!ft_is_directory(path)) {
    files->path[file_split] = ft_strdup(path);
    return files->path[file_split] ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  }
  char **names;
  size_t count;
  FT_TRY(ft_list_files(path, &names, &count));
  filtra_status status = FILTRA_OK;
  bool any = ft_any_names_split(names, count, names_split, user);
  for (size_t i = 0; i < count && !status; i++) {
    filtra_split split;
    if (names_split(user, names[i], &split)) status = take_file(path, names[i], split, files);
  }
  ft_free_names(names, count);
  if (any || status) return status;
  return ft_fail(FILTRA_ERROR_INPUT, "%s holds none of the files of %s: %s", path, format->name,
                 format->holds);
}

filtra_status ft_split_files_warn(const char *path, const char *const *endings) {
  enum { NAMED = 8 }; /* of a folder's files; the others are counted */
  char **names;
  size_t count, left_out = 0;
  if (!ft_is_directory(path)) return FILTRA_OK;
  FT_TRY(ft_list_files(path, &names, &count));
  for (size_t i = 0; i < count; i++) {
    const size_t length = ft_stem_length(names[i], endings);
    filtra_split split;
    size_t rest;
    if (!length || ft_stem_split(names[i], length, &split, &rest)) continue;
    if (left_out++ < NAMED)
      ft_log(FILTRA_LOG_WARNING,
             "%s/%s is left out: its name ends with no split's (train, val or dev, test)", path,
             names[i]);
  }
  ft_free_names(names, count);
  if (left_out > NAMED)
    ft_log(FILTRA_LOG_WARNING, "%s: %zu more such file%s left out", path, left_out - NAMED,
           left_out == NAMED + 1 ? " is" : "s are");
  return FILTRA_OK;
}

void ft_split_files_free(ft_split_files *files) {
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    free(files->path[i]);
}

bool ft_any_names_split(char *const *names, size_t count, ft_names_split_fn names_split,
                        const void *user) {
  filtra_split split;
  for (size_t i = 0; i < count; i++)
    if (names_split(user, names[i], &split)) return true;
  return false;
}

void ft_list_quoted(const char *const *names, size_t count, char list[FT_LISTED]) {
  *list = '\0';
  for (size_t i = 0, used = 0; i < count && used < FT_LISTED - 1; i++) {
    snprintf(list + used, FT_LISTED - used, "%s\"%.40s\"", i ? ", " : "", names[i]);
    used = strlen(list);
  }
}
