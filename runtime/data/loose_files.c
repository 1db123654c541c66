/* The formats "image-files" and "text-files", listed in dataset.c: a file or a folder of files
 * without classes, for prediction. */
#include "base/file.h"
#include "base/memory.h"
#include "data/corpus.h"
#include "data/image_file.h"
#include "data/names.h"
#include "data/text_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct loose_files {
  char **paths; /* [count] */
  size_t count, capacity;
} loose_files;

static filtra_status add_path(loose_files *f, char *path) {
  filtra_status status = path ? FT_GROW(f->paths, f->count, f->capacity) : FILTRA_ERROR_HOST_MEMORY;
  if (status)
    free(path);
  else
    f->paths[f->count++] = path;
  return status;
}

/* Lists the files of a folder, or a single file. */
static filtra_status list_files(loose_files *f, const char *path, bool (*named)(const char *name)) {
  if (!ft_is_directory(path)) return add_path(f, ft_strdup(path));
  char **names;
  size_t count;
  FT_TRY(ft_list_files(path, &names, &count));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < count && !status; i++)
    if (named(names[i])) status = add_path(f, ft_path_join(path, names[i]));
  ft_free_names(names, count);
  return status;
}

/* Begins a data set without targets; `kind` names the files in an error. */
static filtra_status begin(loose_files *f, const char *path, const filtra_dataset_options *options,
                           const char *kind, bool (*named)(const char *name), filtra_dataset *ds) {
  *f = (loose_files){0};
  ds->untargeted = true;
  if (options->unlabelled) return list_files(f, path, named);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: %s of which nothing says the class; they can be predicted, and trained with "
                 "where each class has a folder",
                 path, kind);
}

static bool all_are(const ft_dataset_probe *p, bool (*named)(const char *name)) {
  for (size_t i = 0; i < p->count; i++)
    if (!named(p->names[i])) return false;
  return true;
}

/* ---- images ---- */

static filtra_status open_images(const char *path, const filtra_dataset_options *options,
                                 filtra_dataset *ds) {
  loose_files files;
  filtra_status status = begin(&files, path, options, "images", ft_image_named, ds);
  for (size_t i = 0; i < files.count && !status; i++)
    status = ft_images_add_file(ds, options, FILTRA_SPLIT_TEST, files.paths[i], -1);
  ft_free_names(files.paths, files.count);
  return status;
}

static bool probe_images(const ft_dataset_probe *p) {
  if (p->directory) return p->count > 0 && all_are(p, ft_image_named);
  return !memcmp(p->head, "\x89PNG\r\n\x1a\n", 8) || !memcmp(p->head, "\xff\xd8\xff", 3);
}

const ft_dataset_format ft_format_image_files = {
    "image-files", "one .png or .jpg file, or a folder of them without classes, for predictions",
    probe_images, open_images};

/* ---- texts ---- */

static filtra_status read_split(ft_corpus *corpus, void *user) {
  const loose_files *files = user;
  if (corpus->split != FILTRA_SPLIT_TEST) return FILTRA_OK;
  for (size_t i = 0; i < files->count; i++)
    FT_TRY(ft_text_file_add(corpus, files->paths[i], -1));
  return FILTRA_OK;
}

static filtra_status open_texts(const char *path, const filtra_dataset_options *options,
                                filtra_dataset *ds) {
  loose_files files;
  filtra_status status = begin(&files, path, options, "texts", ft_text_named, ds);
  if (!status) status = ft_corpus_open(ds, path, options, "bytes", read_split, &files);
  ft_free_names(files.paths, files.count);
  return status;
}

/* A single text file may be in any other format. */
static bool probe_texts(const ft_dataset_probe *p) {
  return p->directory && p->count > 1 && all_are(p, ft_text_named);
}

const ft_dataset_format ft_format_text_files = {
    "text-files", "a folder of .txt files without classes, for predictions", probe_texts,
    open_texts};
