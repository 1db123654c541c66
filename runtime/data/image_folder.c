/* The format for images in one folder per class. Listed in dataset.c. */
#include "base/memory.h"
#include "data/class_folders.h"
#include "data/image_file.h"

#include <stdlib.h>

/* Adds all files. After one that cannot be read, goes on, to report how many cannot. */
static filtra_status add_files(const ft_class_folders *folders,
                               const filtra_dataset_options *options, filtra_dataset *ds) {
  filtra_status status = FILTRA_OK;
  char *first = NULL;
  size_t bad = 0;
  for (size_t i = 0; i < folders->count && (!status || status == FILTRA_ERROR_INPUT); i++) {
    const ft_class_file *file = &folders->files[i];
    status = ft_images_add_file(ds, options, file->split, file->path, file->label);
    if (status != FILTRA_ERROR_INPUT || bad++) continue;
    first = ft_strdup(filtra_error_message());
    if (!first) status = FILTRA_ERROR_HOST_MEMORY;
  }
  bool other = status && status != FILTRA_ERROR_INPUT;
  if (bad && !other) {
    status = ft_fail(FILTRA_ERROR_INPUT, "%s", first);
    if (bad > 1)
      ft_fail(status, "%s; %zu more of %zu files cannot be read", first, bad - 1, folders->count);
  }
  free(first);
  return status;
}

static filtra_status open_folder(const char *path, const filtra_dataset_options *options,
                                 filtra_dataset *ds) {
  ft_class_folders folders = {.named = ft_image_named, .kinds = ".png, .jpg or .jpeg"};
  filtra_status status = ft_class_folders_list(&folders, path, options, ds);
  if (!status) status = add_files(&folders, options, ds);
  ft_class_folders_free(&folders);
  return status;
}

static bool probe_folder(const ft_dataset_probe *p) {
  return ft_class_folders_probe(p, ft_image_named);
}

const ft_dataset_format ft_format_image_folder = {
    "image-folder",
    "images per class: CLASS/*.png or .jpg, or train, val and test with such folders", probe_folder,
    open_folder};
