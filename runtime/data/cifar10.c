/* The format "cifar10", listed in dataset.c: CIFAR-10's binary version (Krizhevsky 2009). A record
 * is a label byte and 32 x 32 pixels: the red plane, then green, then blue, each row by row. */
#include "base/file.h"
#include "base/memory.h"
#include "base/source.h"
#include "data/image.h"
#include "data/names.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 32, PLANE = SIDE * SIDE, RECORD = 1 + 3 * PLANE, CLASSES = 10 };

static const char *const names[CLASSES] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                           "dog",      "frog",       "horse", "ship", "truck"};

/* The batch files in order, and their splits. */
static const struct {
  const char *name;
  filtra_split split;
} batches[] = {
    {"data_batch_1.bin", FILTRA_SPLIT_TRAIN}, {"data_batch_2.bin", FILTRA_SPLIT_TRAIN},
    {"data_batch_3.bin", FILTRA_SPLIT_TRAIN}, {"data_batch_4.bin", FILTRA_SPLIT_TRAIN},
    {"data_batch_5.bin", FILTRA_SPLIT_TRAIN}, {"test_batch.bin", FILTRA_SPLIT_TEST},
};

static filtra_status add_record(filtra_dataset *ds, const filtra_dataset_options *options,
                                filtra_split split, const uint8_t record[RECORD]) {
  uint8_t pixels[3 * PLANE];
  if (record[0] >= CLASSES)
    return ft_fail(FILTRA_ERROR_INPUT, "label %u where 0 to %d are accepted", record[0],
                   CLASSES - 1);
  for (int c = 0; c < 3; c++)
    for (int i = 0; i < PLANE; i++)
      pixels[3 * i + c] = record[1 + c * PLANE + i];
  const ft_image image = {SIDE, SIDE, 3, pixels};
  return ft_images_add(ds, options, split, &image, record[0]);
}

static filtra_status read_records(ft_source *source, const char *path, filtra_dataset *ds,
                                  const filtra_dataset_options *options, filtra_split split) {
  uint8_t record[RECORD];
  uint64_t number = 0;
  for (;; number++) {
    size_t got;
    FT_TRY(ft_source_fill(source, record, RECORD, &got));
    if (got == 0) break;
    if (got < RECORD)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s has %llu bytes, which is no whole number of records of %d", path,
                     (unsigned long long)number * RECORD + got, RECORD);
    filtra_status status = add_record(ds, options, split, record);
    if (status)
      return ft_fail_context(status, "%s, record %llu (byte %llu)", path,
                             (unsigned long long)number, (unsigned long long)number * RECORD);
  }
  if (number == 0) return ft_fail(FILTRA_ERROR_INPUT, "%s is empty", path);
  return FILTRA_OK;
}

static filtra_status read_file(const char *path, filtra_dataset *ds,
                               const filtra_dataset_options *options, filtra_split split) {
  ft_source *source;
  FT_TRY(ft_source_open(path, &source));
  filtra_status status = read_records(source, path, ds, options, split);
  ft_source_close(&source);
  return status;
}

/* Reads a folder's batch files of the splits up to `last`; *any: at least one exists. */
static filtra_status read_batches(const char *folder, filtra_dataset *ds,
                                  const filtra_dataset_options *options, filtra_split last,
                                  bool *any) {
  *any = false;
  for (size_t i = 0; i < FT_COUNT(batches); i++) {
    if (batches[i].split > last) break;
    char *file = ft_path_join(folder, batches[i].name);
    if (!file) return FILTRA_ERROR_HOST_MEMORY;
    filtra_status status = FILTRA_OK;
    if (ft_data_file_exists(file)) {
      status = read_file(file, ds, options, batches[i].split);
      *any = true;
    }
    free(file);
    if (status) return status;
  }
  return FILTRA_OK;
}

/* Reads one file. If it is not training data, the training images beside it are read first, to
 * standardise by their mean and deviation. */
static filtra_status read_one(const char *path, filtra_dataset *ds,
                              const filtra_dataset_options *options) {
  if (options->file_split != FILTRA_SPLIT_TRAIN && options->pixels != FILTRA_PIXELS_GREY) {
    bool any;
    char *folder = ft_path_folder(path);
    if (!folder) return FILTRA_ERROR_HOST_MEMORY;
    filtra_status status = read_batches(folder, ds, options, FILTRA_SPLIT_TRAIN, &any);
    free(folder);
    if (status) return status;
  }
  return read_file(path, ds, options, options->file_split);
}

static filtra_status open_cifar10(const char *path, const filtra_dataset_options *options,
                                  filtra_dataset *ds) {
  ds->info.classes = CLASSES;
  ds->class_names = names;
  ds->hold_out_last = true;
  if (!ft_is_directory(path)) return read_one(path, ds, options);
  bool any;
  FT_TRY(read_batches(path, ds, options, FILTRA_SPLIT_TEST, &any));
  if (any) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s holds none of the files of cifar10", path);
}

static bool is_batch(const char *name) {
  for (size_t i = 0; i < FT_COUNT(batches); i++)
    if (!strcmp(name, batches[i].name)) return true;
  return false;
}

/* Records have no magic number, so file names decide. */
static bool probe_cifar10(const ft_dataset_probe *p) {
  if (!p->directory) return is_batch(ft_path_name(p->path));
  for (size_t i = 0; i < p->count; i++)
    if (is_batch(p->names[i])) return true;
  return false;
}

const ft_dataset_format ft_format_cifar10 = {
    "cifar10", "CIFAR-10, binary version: data_batch_1.bin to _5, test_batch.bin, or one",
    probe_cifar10, open_cifar10};
