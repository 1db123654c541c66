/* The format "idx", listed in dataset.c: images and labels as IDX files (LeCun, Cortes & Burges,
 * MNIST), big-endian. Images: magic 0x00000803, count, rows, columns, then bytes. Labels: magic
 * 0x00000801, count, then bytes. */
#include "base/file.h"
#include "base/memory.h"
#include "base/source.h"
#include "data/image.h"
#include "data/names.h"

#include <stdlib.h>
#include <string.h>

enum { MAGIC_LABELS = 0x801, MAGIC_IMAGES = 0x803 };

/* A pair of files being read; without labels, the images alone. */
typedef struct pair {
  ft_source *images, *labels;
  const char *images_path, *labels_path;
  uint32_t count;
  ft_image image;
} pair;

/* ---- one pair ---- */

static filtra_status read_exactly(ft_source *source, const char *path, void *data, size_t size,
                                  const char *what, uint32_t index) {
  size_t got;
  FT_TRY(ft_source_fill(source, data, size, &got));
  if (got == size) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s ends within %s %u", path, what, index);
}

static filtra_status read_numbers(ft_source *source, const char *path, uint32_t *out,
                                  uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    uint8_t bytes[4];
    FT_TRY(read_exactly(source, path, bytes, 4, "header word", i));
    out[i] =
        (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
  }
  return FILTRA_OK;
}

static filtra_status check_magic(const char *path, uint32_t magic, uint32_t expected,
                                 const char *what) {
  if (magic == expected) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s begins with 0x%08x where %s in bytes have 0x%08x", path,
                 magic, what, expected);
}

/* Reads the header of that many images' labels. */
static filtra_status read_header_of_labels(const pair *p, uint32_t images) {
  uint32_t labels[2];
  FT_TRY(read_numbers(p->labels, p->labels_path, labels, 1));
  FT_TRY(check_magic(p->labels_path, labels[0], MAGIC_LABELS, "labels"));
  FT_TRY(read_numbers(p->labels, p->labels_path, labels + 1, 1));
  if (images == labels[1]) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s has %u images but %s has %u labels", p->images_path,
                 images, p->labels_path, labels[1]);
}

static filtra_status read_headers(pair *p) {
  uint32_t images[4];
  FT_TRY(read_numbers(p->images, p->images_path, images, 1));
  FT_TRY(check_magic(p->images_path, images[0], MAGIC_IMAGES, "images"));
  FT_TRY(read_numbers(p->images, p->images_path, images + 1, 3));
  if (images[1] == 0) return ft_fail(FILTRA_ERROR_INPUT, "%s has no images", p->images_path);
  if (p->labels) FT_TRY(read_header_of_labels(p, images[1]));
  filtra_status status = ft_image_check_size(images[2], images[3]);
  if (status) return ft_fail_context(status, "%s", p->images_path);
  p->count = images[1];
  p->image = (ft_image){.height = images[2], .width = images[3], .channels = 1};
  p->image.pixels = ft_calloc((size_t)images[2] * images[3], 1);
  return p->image.pixels ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status check_end(ft_source *source, const char *path, uint32_t count) {
  char next;
  size_t got;
  FT_TRY(ft_source_read(source, &next, 1, &got));
  if (got == 0) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s goes on behind the %u entries that its header tells of",
                 path, count);
}

/* Warns of classes without sample, as where labels are 0, 5 and 10. */
static void warn_of_gaps(const char *path, const bool seen[256], uint32_t classes) {
  uint32_t missing = 0, example = 0;
  for (uint32_t i = 0; i < classes; i++)
    if (!seen[i] && missing++ == 0) example = i;
  if (missing)
    ft_log(FILTRA_LOG_WARNING,
           "%s: %u of the classes 0 to %u, such as %u, have no sample; number labels without gaps",
           path, missing, classes - 1, example);
}

/* Reads the label of image i: -1 without labels. If training data were read before, only theirs are
 * accepted. */
static filtra_status read_label(const pair *p, uint32_t i, uint32_t known, int32_t *label) {
  uint8_t byte;
  *label = -1;
  if (!p->labels) return FILTRA_OK;
  FT_TRY(read_exactly(p->labels, p->labels_path, &byte, 1, "label", i));
  *label = byte;
  if (!known || byte < known) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: label %u at entry %u; training has 0 to %u",
                 p->labels_path, byte, i, known - 1);
}

static filtra_status read_pair(pair *p, filtra_dataset *ds, const filtra_dataset_options *options,
                               filtra_split split) {
  uint32_t known = ds->samples[FILTRA_SPLIT_TRAIN].count ? ds->info.classes : 0;
  FT_TRY(read_headers(p));
  size_t bytes = (size_t)p->image.height * p->image.width;
  bool seen[256] = {false};
  for (uint32_t i = 0; i < p->count; i++) {
    int32_t label;
    FT_TRY(read_exactly(p->images, p->images_path, p->image.pixels, bytes, "image", i));
    FT_TRY(read_label(p, i, known, &label));
    if (label >= (int32_t)ds->info.classes) ds->info.classes = (uint32_t)label + 1;
    if (label >= 0) seen[label] = true;
    filtra_status status = ft_images_add(ds, options, split, &p->image, label);
    if (status) return ft_fail_context(status, "%s, image %u", p->images_path, i);
  }
  FT_TRY(check_end(p->images, p->images_path, p->count));
  if (!p->labels) return FILTRA_OK;
  if (split == FILTRA_SPLIT_TRAIN) warn_of_gaps(p->labels_path, seen, ds->info.classes);
  ds->untargeted = false;
  return check_end(p->labels, p->labels_path, p->count);
}

static filtra_status open_pair(const char *images, const char *labels, filtra_dataset *ds,
                               const filtra_dataset_options *options, filtra_split split) {
  pair p = {.images_path = images, .labels_path = labels};
  filtra_status status = ft_source_open(images, &p.images);
  if (!status && labels) status = ft_source_open(labels, &p.labels);
  if (!status) status = read_pair(&p, ds, options, split);
  ft_source_close(&p.images);
  ft_source_close(&p.labels);
  free(p.image.pixels);
  return status;
}

/* ---- names ---- */

/* Whether a name is that of an image file: ...images...idx3-ubyte, with or without .gz. */
static bool names_images(const char *name) {
  return strstr(name, "images") &&
         (ft_ends_with(name, "idx3-ubyte") || ft_ends_with(name, "idx3-ubyte.gz"));
}

static void overwrite(char *at, const char *by) {
  while (at && *by)
    *at++ = *by++;
}

/* The path with .gz removed if present, else added; caller frees. */
static char *other_form(const char *path) {
  size_t length = strlen(path);
  return ft_ends_with(path, ".gz") ? ft_format("%.*s", (int)length - 3, path)
                                   : ft_format("%s.gz", path);
}

/* The path of the labels file that belongs to an image file; caller frees. NULL if there is none
 * and images may lack labels. */
static filtra_status labels_of(const char *images, bool may_lack, char **out) {
  *out = ft_strdup(images);
  if (!*out) return FILTRA_ERROR_HOST_MEMORY;
  char *name = *out + (ft_path_name(*out) - *out);
  char *word = strstr(name, "images");
  overwrite(word, "labels");
  overwrite(strstr(name, "idx3"), "idx1");
  if (word && ft_data_file_exists(*out)) return FILTRA_OK;
  char *other = other_form(*out); /* only one of the two may be compressed */
  free(*out);
  *out = other;
  if (!other) return FILTRA_ERROR_HOST_MEMORY;
  if (word && ft_data_file_exists(other)) return FILTRA_OK;
  free(other);
  *out = NULL;
  if (may_lack) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "the labels of %s are missing; they are sought beside it under the same name with "
                 "\"labels\" for \"images\" and \"idx1\" for \"idx3\"",
                 images);
}

static filtra_status open_images(const char *images, filtra_dataset *ds,
                                 const filtra_dataset_options *options, filtra_split split) {
  char *labels;
  filtra_status status = labels_of(images, options->unlabelled, &labels);
  if (!status) status = open_pair(images, labels, ds, options, split);
  free(labels);
  return status;
}

static filtra_split split_of(const char *name, filtra_split otherwise) {
  if (strstr(name, "train")) return FILTRA_SPLIT_TRAIN;
  if (strstr(name, "t10k") || strstr(name, "test")) return FILTRA_SPLIT_TEST;
  return strstr(name, "val") ? FILTRA_SPLIT_VAL : otherwise;
}

/* ---- folders ---- */

/* Finds each split's image file; ignores a compressed one if it exists uncompressed too. */
static filtra_status find_images(const char *path, char **names, size_t count,
                                 filtra_split otherwise, const char *found[FILTRA_SPLIT_COUNT]) {
  for (size_t i = 0; i < count; i++) {
    if (!names_images(names[i])) continue;
    const char **at = &found[split_of(names[i], otherwise)];
    size_t length = *at ? strlen(*at) : 0;
    if (*at && !strncmp(names[i], *at, length) && !strcmp(names[i] + length, ".gz")) continue;
    if (*at)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s holds more than one file of images for a split, %s and %s; give one "
                     "file's path",
                     path, *at, names[i]);
    *at = names[i];
  }
  if (found[FILTRA_SPLIT_TRAIN] || found[FILTRA_SPLIT_VAL] || found[FILTRA_SPLIT_TEST])
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s holds none of the files of idx", path);
}

/* Reads a folder's pairs of the splits up to `last`. */
static filtra_status read_folder(const char *path, filtra_split last, filtra_dataset *ds,
                                 const filtra_dataset_options *options) {
  const char *found[FILTRA_SPLIT_COUNT] = {NULL};
  char **names;
  size_t count;
  FT_TRY(ft_list_files(path, &names, &count));
  filtra_status status = find_images(path, names, count, options->file_split, found);
  for (int i = 0; i <= (int)last && !status; i++) {
    char *file = found[i] ? ft_path_join(path, found[i]) : NULL;
    if (found[i])
      status = file ? open_images(file, ds, options, (filtra_split)i) : FILTRA_ERROR_HOST_MEMORY;
    free(file);
  }
  ft_free_names(names, count);
  return status;
}

/* Reads one pair. If it is not training data, the training images beside it are read first, to
 * standardise by their mean and deviation. */
static filtra_status read_one(const char *path, filtra_dataset *ds,
                              const filtra_dataset_options *options) {
  if (options->file_split != FILTRA_SPLIT_TRAIN && options->pixels != FILTRA_PIXELS_GREY &&
      names_images(ft_path_name(path))) {
    int length = (int)(ft_path_name(path) - path);
    char *folder = length ? ft_format("%.*s", length, path) : ft_strdup(".");
    filtra_status status =
        folder ? read_folder(folder, FILTRA_SPLIT_TRAIN, ds, options) : FILTRA_ERROR_HOST_MEMORY;
    free(folder);
    if (status) return status;
  }
  return open_images(path, ds, options, options->file_split);
}

static filtra_status open_idx(const char *path, const filtra_dataset_options *options,
                              filtra_dataset *ds) {
  ds->untargeted = true; /* until labels are read */
  filtra_status status = ft_is_directory(path) ? read_folder(path, FILTRA_SPLIT_TEST, ds, options)
                                               : read_one(path, ds, options);
  ds->class_names = ft_tokenizer_pixels.symbols; /* "0", "1" and so on */
  return status;
}

static bool probe_idx(const ft_dataset_probe *p) {
  if (!p->directory) return !memcmp(p->head, "\0\0\x08", 3) || names_images(ft_path_name(p->path));
  for (size_t i = 0; i < p->count; i++)
    if (names_images(p->names[i])) return true;
  return false;
}

const ft_dataset_format ft_format_idx = {
    "idx",
    "MNIST and its kin: train-images-idx3-ubyte and -labels-idx1-, t10k-..., or one pair; to "
    "predict, images alone",
    probe_idx, open_idx};
