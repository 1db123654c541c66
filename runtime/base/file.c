/* The part of file.h that is the same on every system. */
#include "base/file.h"

#include "base/file_parts.h"
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

filtra_status ft_file_open(const char *path, FILE **stream) {
  uint64_t size;
  return ft_file_open_sized(path, stream, &size);
}

static filtra_status read_all(FILE *stream, const char *path, char *data, size_t size,
                              size_t *got) {
  size_t count = 1;
  for (*got = 0; *got < size && count; *got += count)
    FT_TRY(ft_stream_read(stream, path, data + *got, size - *got, &count));
  return FILTRA_OK;
}

static filtra_status read_stream(FILE *stream, const char *path, uint64_t bytes, uint64_t limit,
                                 char **data, size_t *size) {
  if (bytes > limit)
    return ft_fail(FILTRA_ERROR_INPUT, "%s has %llu bytes, at most %llu are accepted", path,
                   (unsigned long long)bytes, (unsigned long long)limit);
  char *text = ft_calloc((size_t)bytes + 1, 1);
  if (!text) return ft_fail_context(FILTRA_ERROR_HOST_MEMORY, "reading %s", path);
  filtra_status status = read_all(stream, path, text, (size_t)bytes, size);
  if (status) {
    free(text);
    return status;
  }
  text[*size] = '\0';
  *data = text;
  return FILTRA_OK;
}

filtra_status ft_file_read(const char *path, uint64_t limit, char **data, size_t *size) {
  *data = NULL;
  *size = 0;
  FILE *stream;
  uint64_t bytes;
  FT_TRY(ft_file_open_sized(path, &stream, &bytes));
  filtra_status status = read_stream(stream, path, bytes, limit, data, size);
  fclose(stream);
  return status;
}

/* ---- writing ---- */

filtra_status ft_file_write_in(const char *within, const char *path, const void *data,
                               size_t size) {
  ft_atomic_file file;
  FT_TRY(ft_atomic_open_in(within, path, &file));
  fwrite(data, 1, size, file.stream);
  return ft_atomic_commit(&file);
}

filtra_status ft_file_write(const char *path, const void *data, size_t size) {
  return ft_file_write_in(NULL, path, data, size);
}

filtra_status ft_atomic_open(const char *path, ft_atomic_file *file) {
  return ft_atomic_open_in(NULL, path, file);
}

filtra_status ft_append_open(const char *path, FILE **stream) {
  return ft_append_open_in(NULL, path, stream);
}

/* ---- folders of others ---- */

filtra_status ft_check_in(const char *within, const char *path) {
  char *part = ft_strdup(path);
  if (!part) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = FILTRA_OK;
  for (char *end = part + strlen(within); *end && !status;) {
    while (ft_is_separator(*end))
      end++;
    while (*end && !ft_is_separator(*end))
      end++;
    char kept = *end;
    *end = '\0';
    if (ft_is_link(part)) status = ft_fail_link(part, within);
    *end = kept;
  }
  free(part);
  return status;
}

static filtra_status check_entry(void *folder, const char *path, const char *name) {
  (void)name;
  if (ft_is_link(path)) return ft_fail_link(path, folder);
  return ft_is_directory(path) ? ft_each_entry(path, check_entry, folder) : FILTRA_OK;
}

filtra_status ft_check_tree(const char *folder) {
  return ft_each_entry(folder, check_entry, (void *)folder);
}

bool ft_lies_in(const char *folder, const char *path) {
  size_t length = ft_path_length(folder);
  return length && !strncmp(folder, path, length) &&
         (ft_is_separator(path[length]) || ft_is_separator(folder[length - 1]));
}

/* Matches names that ft_atomic_open makes. */
bool ft_is_temporary(const char *entry, const char *name) {
  long process;
  unsigned serial;
  int end = 0;
  size_t length = strlen(name);
  return !strncmp(entry, name, length) &&
         sscanf(entry + length, ".%ld-%u.tmp%n", &process, &serial, &end) == 2 && end > 0 &&
         !entry[length + (size_t)end];
}

static filtra_status remove_temporary(void *user, const char *path, const char *name) {
  if (ft_is_temporary(name, user)) remove(path); /* ignore failures: a leftover does no harm */
  return FILTRA_OK;
}

void ft_atomic_clean(const char *path) {
  char *folder = ft_path_folder(path);
  if (folder) /* no folder: nothing to do */
    ft_each_entry(folder, remove_temporary, (void *)ft_path_name(path));
  free(folder);
}

/* ---- folders ---- */

filtra_status ft_folder_make(const char *path, ft_folder_fn fill, void *user) {
  static atomic_uint serial;
  char *temporary = ft_format("%.*s.%ld-%u.tmp", (int)ft_path_length(path), path, ft_process(),
                              atomic_fetch_add(&serial, 1));
  if (!temporary) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_make_directories(temporary);
  if (!status) status = fill(user, temporary);
  if (!status) status = ft_folder_commit(temporary, path);
  if (status) ft_remove_tree(temporary);
  free(temporary);
  return status;
}
