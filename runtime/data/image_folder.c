/* A folder of images per class. */
#include "base/status.h"
#include "data/class_folders.h"
#include "data/image_file.h"

#include <stdlib.h>

static filtra_status read_file(const ft_class_file *file, filtra_dataset *ds,
                               const filtra_dataset_options *options) {
  ft_image image;
  FT_TRY(ft_image_load(file->path, &image));
  filtra_status status = ft_images_add(ds, options, file->split, &image, file->label);
  free(image.pixels);
  return status ? ft_fail_context(status, "%s", file->path) : FILTRA_OK;
}

static filtra_status open_folder(const char *path, const filtra_dataset_options *options,
                                 filtra_dataset *ds) {
  ft_class_folders folders = {.named = ft_image_named, .kinds = ".png, .jpg or .jpeg"};
  filtra_status status = ft_class_folders_list(&folders, path, options->file_split, ds);
  for (size_t i = 0; i < folders.count && !status; i++)
    status = read_file(&folders.files[i], ds, options);
  ft_class_folders_free(&folders);
  return status;
}

static bool probe_folder(const ft_dataset_probe *p) {
  return p->directory && ft_class_folders_probe(p->path, ft_image_named);
}

const ft_dataset_format ft_format_image_folder = {
    "image-folder",
    "images per class: CLASS/*.png or .jpg, or train, val and test with such folders", probe_folder,
    open_folder};
