/* The format for images in one folder per class. Listed in dataset.c. */
#include "base/status.h"
#include "data/class_folders.h"
#include "data/image_file.h"

static filtra_status open_folder(const char *path, const filtra_dataset_options *options,
                                 filtra_dataset *ds) {
  ft_class_folders folders = {.named = ft_image_named, .kinds = ".png, .jpg or .jpeg"};
  filtra_status status = ft_class_folders_list(&folders, path, options, ds);
  for (size_t i = 0; i < folders.count && !status; i++)
    status = ft_images_add_file(ds, options, folders.files[i].split, folders.files[i].path,
                                folders.files[i].label);
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
