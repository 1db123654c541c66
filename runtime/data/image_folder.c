/* A folder of images per class: DIR/CLASS/ with .png and .jpg files, or DIR/train, val and test
 * with such folders. */
#include "base/file.h"
#include "base/memory.h"
#include "data/image_file.h"

#include <stdlib.h>
#include <string.h>

enum { PROBED = 8 }; /* folders looked into before a path is called something else */

/* ---- classes ---- */

static bool find_class(const filtra_dataset *ds, const char *name, int32_t *label) {
  for (uint32_t i = 0; i < ds->info.classes; i++)
    if (!strcmp(ds->owned_class_names[i], name)) {
      *label = (int32_t)i;
      return true;
    }
  return false;
}

static filtra_status add_class(filtra_dataset *ds, size_t *capacity, const char *name) {
  FT_TRY(FT_GROW(ds->owned_class_names, ds->info.classes, *capacity));
  char *copy = ft_strdup(name);
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  ds->owned_class_names[ds->info.classes++] = copy;
  ds->class_names = (const char *const *)ds->owned_class_names;
  return FILTRA_OK;
}

/* ---- reading ---- */

static filtra_status add_file(const char *path, filtra_dataset *ds,
                              const filtra_dataset_options *options, filtra_split split,
                              int32_t label) {
  ft_image image;
  FT_TRY(ft_image_load(path, &image));
  filtra_status status = ft_images_add(ds, options, split, &image, label);
  free(image.pixels);
  return status ? ft_fail_context(status, "%s", path) : FILTRA_OK;
}

static filtra_status read_class(const char *folder, filtra_dataset *ds,
                                const filtra_dataset_options *options, filtra_split split,
                                int32_t label) {
  char **names;
  size_t count, before = ds->samples[split].count;
  FT_TRY(ft_list_directory(folder, &names, &count));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++) {
    if (names[i][0] == '.') continue;
    char *path = ft_path_join(folder, names[i]);
    if (!path)
      status = FILTRA_ERROR_HOST_MEMORY;
    else if (!ft_image_named(names[i]))
      status =
          ft_fail(FILTRA_ERROR_INPUT, "%s: its name does not end in .png, .jpg or .jpeg", path);
    else
      status = add_file(path, ds, options, split, label);
    free(path);
  }
  ft_free_names(names, count);
  if (!status && ds->samples[split].count == before)
    return ft_fail(FILTRA_ERROR_INPUT, "%s holds no images", folder);
  return status;
}

/* The first split read makes the classes, in the order of their names. */
static filtra_status read_classes(const char *path, char **names, size_t count, filtra_dataset *ds,
                                  const filtra_dataset_options *options, filtra_split split) {
  bool first = ds->info.classes == 0;
  size_t capacity = 0;
  for (size_t i = 0; i < count; i++) {
    int32_t label = (int32_t)ds->info.classes;
    char *folder = names[i][0] != '.' ? ft_path_join(path, names[i]) : NULL;
    if (names[i][0] == '.') continue;
    if (!folder) return FILTRA_ERROR_HOST_MEMORY;
    filtra_status status = FILTRA_OK;
    if (ft_is_directory(folder)) {
      if (first)
        status = add_class(ds, &capacity, names[i]);
      else if (!find_class(ds, names[i], &label))
        status =
            ft_fail(FILTRA_ERROR_INPUT, "%s: a class that the splits before do not have", folder);
      if (!status) status = read_class(folder, ds, options, split, label);
    }
    free(folder);
    if (status) return status;
  }
  if (ds->samples[split].count) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s holds no folders of images", path);
}

static filtra_status read_split(const char *path, filtra_dataset *ds,
                                const filtra_dataset_options *options, filtra_split split) {
  char **names;
  size_t count;
  FT_TRY(ft_list_directory(path, &names, &count));
  filtra_status status = read_classes(path, names, count, ds, options, split);
  ft_free_names(names, count);
  return status;
}

/* ---- what a folder is ---- */

/* Whether a folder holds images `depth` levels below. */
static bool holds_images(const char *path, int depth) {
  char **names;
  size_t count, looked = 0;
  bool found = false;
  if (ft_list_directory(path, &names, &count)) return false;
  for (size_t i = 0; i < count && !found && looked < PROBED; i++) {
    if (names[i][0] == '.') continue;
    if (depth == 0) {
      found = ft_image_named(names[i]);
      continue;
    }
    char *below = ft_path_join(path, names[i]);
    if (below && ft_is_directory(below)) {
      found = holds_images(below, depth - 1);
      looked++;
    }
    free(below);
  }
  ft_free_names(names, count);
  return found;
}

/* DIR/train and so on where it holds classes; NULL where there is none. Caller frees. */
static char *split_folder(const char *path, filtra_split split) {
  char *folder = ft_path_join(path, filtra_split_name(split));
  if (folder && ft_is_directory(folder) && holds_images(folder, 1)) return folder;
  free(folder);
  return NULL;
}

static filtra_status open_folder(const char *path, const filtra_dataset_options *options,
                                 filtra_dataset *ds) {
  bool any = false;
  for (filtra_split split = FILTRA_TRAIN; split <= FILTRA_TEST; split++) {
    char *folder = split_folder(path, split);
    if (!folder) continue;
    filtra_status status = read_split(folder, ds, options, split);
    free(folder);
    if (status) return status;
    any = true;
  }
  return any ? FILTRA_OK : read_split(path, ds, options, options->file_split);
}

static bool probe_folder(const ft_dataset_probe *p) {
  if (!p->directory) return false;
  if (holds_images(p->path, 1)) return true;
  for (filtra_split split = FILTRA_TRAIN; split <= FILTRA_TEST; split++) {
    char *folder = split_folder(p->path, split);
    free(folder);
    if (folder) return true;
  }
  return false;
}

const ft_dataset_format ft_format_image_folder = {
    "image-folder",
    "images per class: CLASS/*.png or .jpg, or train, val and test with such folders", probe_folder,
    open_folder};
