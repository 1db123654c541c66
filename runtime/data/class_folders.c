/* Lists data sets that have one folder of files per class. Called by image_folder.c and
 * text_folders.c to recognise and read such folders. */
#include "data/class_folders.h"

#include "base/file.h"
#include "base/memory.h"
#include "data/names.h"

#include <stdlib.h>
#include <string.h>

enum { PROBED = 8 }; /* subfolders that a probe looks into */

static bool is_passed_over(const char *name) {
  return name[0] == '.' || !strcmp(name, "unsup");
}

/* ---- probing ---- */

/* Whether a folder holds files with accepted names `depth` levels below it. An unreadable folder
 * counts as empty. */
static filtra_status holds_files(const char *path, bool (*named)(const char *name), int depth,
                                 bool *found) {
  char **names;
  size_t count, looked = 0;
  *found = false;
  filtra_status status = ft_list_directory(path, &names, &count);
  if (status) return status == FILTRA_ERROR_PATH ? FILTRA_OK : status;
  for (size_t i = 0; i < count && !*found && looked < PROBED && !status; i++) {
    if (is_passed_over(names[i])) continue;
    if (depth == 0) {
      *found = named(names[i]);
      continue;
    }
    char *below = ft_path_join(path, names[i]);
    if (!below) status = FILTRA_ERROR_HOST_MEMORY;
    if (below && ft_is_directory(below)) {
      status = holds_files(below, named, depth - 1, found);
      looked++;
    }
    free(below);
  }
  ft_free_names(names, count);
  return status;
}

/* Finds DIR/train (or val, test, by `split`) if it holds classes; else *out is NULL. Caller
 * frees. */
static filtra_status split_folder(const char *path, bool (*named)(const char *name),
                                  filtra_split split, char **out) {
  *out = NULL;
  for (size_t i = 0; ft_split_words[split][i]; i++) {
    bool found = false;
    char *folder = ft_path_join(path, ft_split_words[split][i]);
    if (!folder) return FILTRA_ERROR_HOST_MEMORY;
    filtra_status status =
        ft_is_directory(folder) ? holds_files(folder, named, 1, &found) : FILTRA_OK;
    if (found) *out = folder;
    if (found) return FILTRA_OK;
    free(folder);
    FT_TRY(status);
  }
  return FILTRA_OK;
}

static filtra_status look(const char *path, bool (*named)(const char *name), bool *found) {
  FT_TRY(holds_files(path, named, 1, found));
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST && !*found; split++) {
    char *folder;
    FT_TRY(split_folder(path, named, split, &folder));
    *found = folder != NULL;
    free(folder);
  }
  return FILTRA_OK;
}

bool ft_class_folders_probe(const ft_dataset_probe *p, bool (*named)(const char *name)) {
  bool found = false;
  if (p->directory) *p->failed = look(p->path, named, &found);
  return found;
}

/* ---- classes ---- */

static bool find_class(const filtra_dataset *ds, const char *name, int32_t *label) {
  for (uint32_t i = 0; i < ds->info.classes; i++)
    if (!strcmp(ds->owned_class_names[i], name)) {
      *label = (int32_t)i;
      return true;
    }
  return false;
}

static filtra_status add_class(ft_class_folders *f, filtra_dataset *ds, const char *name) {
  FT_TRY(FT_GROW(ds->owned_class_names, ds->info.classes, f->class_capacity));
  char *copy = ft_strdup(name);
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  ds->owned_class_names[ds->info.classes++] = copy;
  ds->class_names = (const char *const *)ds->owned_class_names;
  return FILTRA_OK;
}

/* ---- listing ---- */

static filtra_status add_file(ft_class_folders *f, const char *folder, const char *name,
                              filtra_split split, int32_t label) {
  FT_TRY(FT_GROW(f->files, f->count, f->capacity));
  char *path = ft_path_join(folder, name);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  f->files[f->count++] = (ft_class_file){.path = path, .split = split, .label = label};
  if (f->named(name)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: its name does not end in %s", path, f->kinds);
}

static filtra_status list_class(ft_class_folders *f, const char *folder, filtra_split split,
                                int32_t label) {
  char **names;
  size_t count, before = f->count;
  FT_TRY(ft_list_directory(folder, &names, &count));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++)
    if (!is_passed_over(names[i])) status = add_file(f, folder, names[i], split, label);
  ft_free_names(names, count);
  if (!status && f->count == before)
    return ft_fail(FILTRA_ERROR_INPUT, "%s holds no files", folder);
  return status;
}

/* Lists a class's files; the first split defines the classes. */
static filtra_status list_folder(ft_class_folders *f, const char *folder, const char *name,
                                 filtra_split split, bool first, filtra_dataset *ds) {
  int32_t label = (int32_t)ds->info.classes;
  if (!ft_is_directory(folder)) return FILTRA_OK; /* a README or a list of addresses */
  if (first) FT_TRY(add_class(f, ds, name));
  if (!first && !find_class(ds, name, &label))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: a class that the splits before do not have", folder);
  return list_class(f, folder, split, label);
}

static filtra_status list_split(ft_class_folders *f, const char *path, filtra_split split,
                                filtra_dataset *ds) {
  char **names;
  size_t count;
  bool first = ds->info.classes == 0;
  FT_TRY(ft_list_directory(path, &names, &count));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++) {
    if (is_passed_over(names[i])) continue;
    char *folder = ft_path_join(path, names[i]);
    status = folder ? list_folder(f, folder, names[i], split, first, ds) : FILTRA_ERROR_HOST_MEMORY;
    free(folder);
  }
  ft_free_names(names, count);
  return status;
}

filtra_status ft_class_folders_list(ft_class_folders *f, const char *path, filtra_split file_split,
                                    filtra_dataset *ds) {
  bool any = false;
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++) {
    char *folder;
    FT_TRY(split_folder(path, f->named, split, &folder));
    if (!folder) continue;
    filtra_status status = list_split(f, folder, split, ds);
    free(folder);
    if (status) return status;
    any = true;
  }
  if (!any) FT_TRY(list_split(f, path, file_split, ds));
  if (f->count > 0) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s holds no folders of files that end in %s", path, f->kinds);
}

void ft_class_folders_free(ft_class_folders *f) {
  for (size_t i = 0; i < f->count; i++)
    free(f->files[i].path);
  free(f->files);
  f->files = NULL;
  f->count = f->capacity = 0;
}
