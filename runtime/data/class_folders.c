/* Lists data sets that have one folder of files per class. Called by image_folder.c and
 * text_folders.c to recognise and read such folders. */
#include "data/class_folders.h"

#include "base/file.h"
#include "base/memory.h"
#include "data/names.h"

#include <stdlib.h>
#include <string.h>

enum { PROBED = 8 }; /* subfolders that a probe checks */

/* Skips IMDb's reviews without classes. */
static bool is_passed_over(const char *name) {
  return !strcmp(name, "unsup");
}

/* ---- probing ---- */

/* Whether a folder holds files with accepted names `depth` levels below it. An unreadable folder
 * counts as empty. */
static filtra_status holds_files(const char *path, ft_class_named named, int depth, bool *found) {
  char **names;
  size_t count, looked = 0;
  *found = false;
  filtra_status status = ft_list_data(path, &names, &count);
  if (status) return status == FILTRA_ERROR_PATH ? FILTRA_OK : status;
  for (size_t i = 0; i < count && !*found && looked < PROBED && !status; i++) {
    if (is_passed_over(names[i]) || (depth == 0 && !named(names[i]))) continue;
    char *below = ft_path_join(path, names[i]);
    if (!below) status = FILTRA_ERROR_HOST_MEMORY;
    bool folder = below && ft_is_directory(below);
    if (folder && depth > 0) status = holds_files(below, named, depth - 1, found);
    if (below && depth == 0) *found = !folder;
    looked += folder;
    free(below);
  }
  ft_free_names(names, count);
  return status;
}

/* The folders of splits, each NULL if there is none. */
typedef struct layout {
  char *folders[FILTRA_SPLIT_COUNT];
  bool any;
} layout;

static void free_layout(layout *l) {
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    free(l->folders[i]);
}

/* Takes DIR/NAME as a split's folder if it has a split's name and holds classes. */
static filtra_status take_split(layout *l, const char *path, const char *name,
                                ft_class_named named) {
  filtra_split split;
  bool found = false;
  if (!ft_folder_split(name, &split)) return FILTRA_OK;
  char *folder = ft_path_join(path, name);
  if (!folder) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status =
      ft_is_directory(folder) ? holds_files(folder, named, 1, &found) : FILTRA_OK;
  if (found && l->folders[split])
    status = ft_fail(FILTRA_ERROR_INPUT,
                     "%s and %s are both folders of the %s split; give it one, by that name",
                     l->folders[split], folder, filtra_split_name(split));
  if (found && !status) {
    l->folders[split] = folder;
    l->any = true;
    return FILTRA_OK;
  }
  free(folder);
  return status;
}

/* Finds DIR/train, val and test; the caller frees, also on failure. */
static filtra_status find_splits(layout *l, const char *path, ft_class_named named) {
  char **names;
  size_t count;
  *l = (layout){{NULL}, false};
  FT_TRY(ft_list_data(path, &names, &count));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++)
    status = take_split(l, path, names[i], named);
  ft_free_names(names, count);
  return status;
}

bool ft_class_folders_probe(const ft_dataset_probe *p, ft_class_named named) {
  bool found = false;
  layout l;
  if (!p->directory) return false;
  *p->failed = holds_files(p->path, named, 1, &found);
  if (found || *p->failed) return found;
  *p->failed = find_splits(&l, p->path, named);
  free_layout(&l);
  return l.any;
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
  if (ft_is_directory(path))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: a folder where a class has files alone", path);
  if (f->named(name)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: its name does not end in %s", path, f->kinds);
}

static filtra_status list_class(ft_class_folders *f, const char *folder, filtra_split split,
                                int32_t label) {
  char **names;
  size_t count, before = f->count;
  FT_TRY(ft_list_data(folder, &names, &count));
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
  if (first) FT_TRY(add_class(f, ds, name));
  if (!first && !find_class(ds, name, &label))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: a class that the splits before do not have", folder);
  return list_class(f, folder, split, label);
}

/* Lists the classes' folders; warns of data files beside them (a README is none). */
static filtra_status list_split(ft_class_folders *f, const char *path, filtra_split split,
                                filtra_dataset *ds) {
  char **names;
  size_t count, beside = 0;
  bool first = ds->info.classes == 0;
  FT_TRY(ft_list_data(path, &names, &count));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++) {
    if (is_passed_over(names[i])) continue;
    char *folder = ft_path_join(path, names[i]);
    if (!folder)
      status = FILTRA_ERROR_HOST_MEMORY;
    else if (ft_is_directory(folder))
      status = list_folder(f, folder, names[i], split, first, ds);
    else if (f->named(names[i]))
      beside++;
    free(folder);
  }
  ft_free_names(names, count);
  if (beside && !status)
    ft_log(FILTRA_LOG_WARNING, "%s: %zu file%s beside the folders of classes %s left out", path,
           beside, beside == 1 ? "" : "s", beside == 1 ? "is" : "are");
  return status;
}

/* ---- folders beside those of splits ---- */

/* Takes a test folder without classes as unlabelled samples; refuses data files in other folders;
 * skips other folders with a warning. */
static filtra_status take_other(ft_class_folders *f, const char *folder, const char *name,
                                bool unlabelled) {
  filtra_split split;
  bool files;
  FT_TRY(holds_files(folder, f->named, 0, &files));
  if (!files) {
    ft_log(FILTRA_LOG_WARNING, "%s is left out: it is no folder of a split (train, val or test)",
           folder);
    return FILTRA_OK;
  }
  if (!ft_folder_split(name, &split) || split != FILTRA_SPLIT_TEST)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s holds files, and the folder beside has splits (train, val or test) with "
                   "a folder per class; move it, or give it a split's name and classes",
                   folder);
  if (unlabelled) return list_class(f, folder, split, -1);
  ft_log(FILTRA_LOG_WARNING, "%s is left out: its files are in no folders per class", folder);
  return FILTRA_OK;
}

static filtra_status list_others(ft_class_folders *f, const layout *l, const char *path,
                                 bool unlabelled) {
  char **names;
  size_t count;
  FT_TRY(ft_list_data(path, &names, &count));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++) {
    bool known = is_passed_over(names[i]);
    char *folder = ft_path_join(path, names[i]);
    if (!folder) status = FILTRA_ERROR_HOST_MEMORY;
    for (int k = 0; k < FILTRA_SPLIT_COUNT && folder; k++)
      known = known || (l->folders[k] && !strcmp(l->folders[k], folder));
    if (folder && !known && ft_is_directory(folder))
      status = take_other(f, folder, names[i], unlabelled);
    free(folder);
  }
  ft_free_names(names, count);
  return status;
}

/* ---- all ---- */

/* Fails if the folders with files have names of splits, such as train1 and test1, which would
 * become classes. */
static filtra_status check_not_splits(const filtra_dataset *ds, const char *path) {
  const uint32_t count = ds->info.classes;
  for (uint32_t i = 0; i < count; i++) {
    const char *name = ds->class_names[i];
    size_t length = strlen(name), rest;
    filtra_split split;
    while (length > 1 && name[length - 1] >= '0' && name[length - 1] <= '9')
      length--;
    if (!ft_stem_split(name, length, &split, &rest) || rest) return FILTRA_OK;
  }
  if (count < 2) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: the folders %s and %s are called like splits and hold files, of which "
                 "nothing says the class; put them into a folder for each class",
                 path, ds->class_names[0], ds->class_names[1]);
}

static filtra_status list_layout(ft_class_folders *f, const layout *l, const char *path,
                                 const filtra_dataset_options *options, filtra_dataset *ds) {
  if (!l->any) {
    FT_TRY(list_split(f, path, options->file_split, ds));
    return check_not_splits(ds, path);
  }
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++)
    if (l->folders[split]) FT_TRY(list_split(f, l->folders[split], split, ds));
  return list_others(f, l, path, options->unlabelled);
}

filtra_status ft_class_folders_list(ft_class_folders *f, const char *path,
                                    const filtra_dataset_options *options, filtra_dataset *ds) {
  layout l;
  filtra_status status = find_splits(&l, path, f->named);
  if (!status) status = list_layout(f, &l, path, options, ds);
  free_layout(&l);
  if (status || f->count > 0) return status;
  return ft_fail(FILTRA_ERROR_INPUT, "%s holds no folders of files that end in %s", path, f->kinds);
}

void ft_class_folders_free(ft_class_folders *f) {
  for (size_t i = 0; i < f->count; i++)
    free(f->files[i].path);
  free(f->files);
  f->files = NULL;
  f->count = f->capacity = 0;
}
