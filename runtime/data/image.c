/* Adds images to a dataset as tokens or features, and reads pixels later when they are needed.
 * Called by the image formats (cifar10.c, idx.c, image_folder.c, image_table.c, pathfinder.c), by
 * augment.c and standardise.c. */
#include "data/image.h"

#include "base/memory.h"
#include "data/image_file.h"

#include <stdlib.h>
#include <string.h>

static filtra_status add_tokens(ft_samples *samples, const ft_image *image) {
  size_t count = (size_t)image->height * image->width;
  FT_TRY(ft_tokens_reserve(&samples->tokens, count));
  int32_t *to = samples->tokens.ids + samples->tokens.count;
  for (size_t i = 0; i < count; i++)
    to[i] = ft_grey_of(image->pixels + i * image->channels, image->channels);
  samples->tokens.count += count;
  return FILTRA_OK;
}

static filtra_status reserve_bytes(ft_samples *samples, size_t extra) {
  size_t wanted = samples->byte_count + extra, grown = samples->byte_capacity / 2 * 3;
  if (wanted <= samples->byte_capacity) return FILTRA_OK;
  if (wanted < grown) wanted = grown;
  uint8_t *bytes = ft_realloc(samples->bytes, wanted, 1);
  if (!bytes) return FILTRA_ERROR_HOST_MEMORY;
  samples->bytes = bytes;
  samples->byte_capacity = wanted;
  return FILTRA_OK;
}

/* Copies an image, converted to that many channels. */
static filtra_status convert(const ft_image *from, uint32_t channels, ft_image *to) {
  size_t count = (size_t)from->height * from->width;
  *to = (ft_image){from->height, from->width, channels, ft_calloc(count, channels)};
  if (!to->pixels) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++)
    ft_pixel_features(from->pixels + i * from->channels, from->channels, channels,
                      to->pixels + i * channels);
  return FILTRA_OK;
}

static filtra_status add_bytes(ft_samples *samples, const ft_image *image, uint32_t features) {
  size_t count = (size_t)image->height * image->width;
  FT_TRY(reserve_bytes(samples, count * features));
  uint8_t *to = samples->bytes + samples->byte_count;
  for (size_t i = 0; i < count; i++, to += features)
    ft_pixel_features(image->pixels + i * image->channels, image->channels, features, to);
  samples->byte_count += count * features;
  return FILTRA_OK;
}

/* ---- adding ---- */

/* Sets the size of all samples: that of the first image, or the one that images are resized to. */
static filtra_status take_size(filtra_dataset *ds, const filtra_dataset_options *options,
                               uint32_t height, uint32_t width) {
  ds->image_size = options->image_size;
  ds->crop_pct = options->crop_pct > 0.0f ? options->crop_pct : 0.875f;
  ds->normalize = options->normalize;
  ds->stored_height = height;
  ds->stored_width = width;
  if (ds->image_size) height = width = ds->image_size;
  FT_TRY(ft_image_check_size(height, width));
  const ft_data_fit *fit = ds->fit;
  if (fit && fit->height && (fit->height != height || fit->width != width))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "an image of %u x %u pixels, those of the training data have %u x %u; resize it "
                   "to that",
                   width, height, fit->width, fit->height);
  uint32_t pixels = height * width;
  if (options->max_length && pixels > options->max_length)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "an image of %u x %u has %u pixels where at most %u are accepted; raise "
                   "max_length",
                   width, height, pixels, options->max_length);
  if (options->tokenizer && strcmp(options->tokenizer, ft_tokenizer_pixels.name))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "tokenizer \"%s\" reads no images; leave it out",
                   options->tokenizer);
  ds->info.height = height;
  ds->info.width = width;
  if (options->pixels == FILTRA_PIXELS_GREY) {
    ds->info.tokenizer = &ft_tokenizer_pixels;
    return FILTRA_OK;
  }
  ds->info.input = FILTRA_INPUT_FEATURES;
  ds->info.features = options->pixels == FILTRA_PIXELS_RGB ? 3 : 1;
  ds->standardise = true;
  return FILTRA_OK;
}

/* Fails if the size differs from the first image's. `any`: images are resized, so every size is
 * fine. */
static filtra_status check_size(filtra_dataset *ds, const filtra_dataset_options *options,
                                const ft_image *image, bool any) {
  if (!ds->info.height) FT_TRY(take_size(ds, options, image->height, image->width));
  if (any || (image->height == ds->stored_height && image->width == ds->stored_width))
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "an image of %u x %u pixels; those before have %u x %u, and all must have the "
                 "same size, unless image_size says what they become",
                 image->width, image->height, ds->stored_width, ds->stored_height);
}

static filtra_status add_row(filtra_dataset *ds, filtra_split split, uint64_t first,
                             int32_t label) {
  ft_samples *samples = &ds->samples[split];
  FT_TRY(FT_GROW(samples->rows, samples->count, samples->capacity));
  samples->rows[samples->count++] =
      (ft_sample_row){.first = first, .length = ds->info.height * ds->info.width, .label = label};
  return FILTRA_OK;
}

/* Tokens are resized here. Features are resized when they are read, as training may crop them
 * first. */
static filtra_status add_resized_tokens(const filtra_dataset *ds, ft_samples *samples,
                                        const ft_image *image) {
  ft_image grey, square = {.height = ds->image_size, .width = ds->image_size};
  FT_TRY(convert(image, 1, &grey));
  filtra_status status =
      ft_image_resample(&grey, ft_image_middle(&grey, (double)ds->crop_pct), &square);
  free(grey.pixels);
  if (!status) status = add_tokens(samples, &square);
  free(square.pixels);
  return status;
}

filtra_status ft_images_add(filtra_dataset *ds, const filtra_dataset_options *options,
                            filtra_split split, const ft_image *image, int32_t label) {
  ft_samples *samples = &ds->samples[split];
  bool tokens = options->pixels == FILTRA_PIXELS_GREY, resized = options->image_size != 0;
  FT_TRY(check_size(ds, options, image, tokens && resized));
  uint64_t first = tokens ? samples->tokens.count : samples->byte_count;
  FT_TRY(!tokens   ? add_bytes(samples, image, ds->info.features)
         : resized ? add_resized_tokens(ds, samples, image)
                   : add_tokens(samples, image));
  return add_row(ds, split, first, label);
}

/* ---- files ---- */

/* Black drawings on a transparent ground, and images of 16 bits per channel that are nearly black
 * in the 8 that are kept: data that use the lower ones alone, as of depth cameras. Of those that
 * stay in files, so many are looked at. */
enum { DARK = 16, MOST_LOOKED_AT = 64 };

static void note_kind(filtra_dataset *ds, const ft_image *image) {
  const size_t count = (size_t)image->height * image->width * image->channels;
  uint8_t most = ds->deep_most;
  ds->alpha_count += image->alpha;
  ds->ink_count += image->ink;
  if (!image->deep) return;
  for (size_t i = 0; i < count && most <= DARK; i++)
    if (image->pixels[i] > most) most = image->pixels[i];
  ds->deep_most = most;
  ds->deep_count++;
}

void ft_images_warn_of_kind(const filtra_dataset *ds, const char *path) {
  if (ds->ink_count > ds->alpha_count / 2)
    ft_log(FILTRA_LOG_WARNING,
           "%s: %llu of %llu images with transparent pixels are black all over, since these are "
           "blended with black; give drawings in black a white ground",
           path, (unsigned long long)ds->ink_count, (unsigned long long)ds->alpha_count);
  if (ds->deep_count && ds->deep_most <= DARK)
    ft_log(FILTRA_LOG_WARNING,
           "%s: images of 16 bits per channel become 8 bits, a 257th of each value, and no value "
           "of %llu such images is then above %u of 255; if they use the lower bits alone, scale "
           "them to 0 to 65535 first",
           path, (unsigned long long)ds->deep_count, ds->deep_most);
}

static filtra_status add_tokens_of(filtra_dataset *ds, const filtra_dataset_options *options,
                                   filtra_split split, const char *path, int32_t label) {
  ft_image image;
  FT_TRY(ft_image_load(path, &image));
  note_kind(ds, &image);
  filtra_status status = ft_images_add(ds, options, split, &image, label);
  free(image.pixels);
  if (status) return ft_fail_context(status, "%s", path);
  return ft_samples_add_name(&ds->samples[split], path, strlen(path));
}

/* Decodes a file to check that this works, and notes its kind. */
static filtra_status verify(filtra_dataset *ds, const char *path) {
  ft_image image;
  FT_TRY(ft_image_load(path, &image));
  note_kind(ds, &image);
  free(image.pixels);
  return FILTRA_OK;
}

static filtra_status list_file(filtra_dataset *ds, const filtra_dataset_options *options,
                               filtra_split split, const char *path, int32_t label) {
  ft_samples *samples = &ds->samples[split];
  ft_image image;
  uint64_t mark;
  FT_TRY(ft_image_look(path, &image, &mark));
  filtra_status status = check_size(ds, options, &image, options->image_size != 0);
  if (status) return ft_fail_context(status, "%s", path);
  const bool dark = image.deep && ds->deep_most <= DARK && ds->deep_count < MOST_LOOKED_AT;
  const bool ink = image.alpha && ds->alpha_count < MOST_LOOKED_AT;
  if (options->verify_labels || dark || ink) FT_TRY(verify(ds, path));
  FT_TRY(FT_GROW(samples->files, samples->file_count, samples->file_capacity));
  char *copy = ft_strdup(path);
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  samples->files[samples->file_count++] = (ft_listed_image){copy, mark};
  return add_row(ds, split, samples->file_count - 1, label);
}

filtra_status ft_images_add_file(filtra_dataset *ds, const filtra_dataset_options *options,
                                 filtra_split split, const char *path, int32_t label) {
  if (options->pixels == FILTRA_PIXELS_GREY) return add_tokens_of(ds, options, split, path, label);
  return list_file(ds, options, split, path, label);
}

/* ---- reading ---- */

static filtra_status read_listed(const filtra_dataset *ds, const char *path, ft_image *image) {
  ft_image raw;
  FT_TRY(ft_image_load(path, &raw));
  filtra_status status = FILTRA_OK;
  if (!ds->image_size && (raw.height != ds->stored_height || raw.width != ds->stored_width))
    status = ft_fail(FILTRA_ERROR_INPUT,
                     "%s: an image of %u x %u pixels; it had %u x %u when the data were opened",
                     path, raw.width, raw.height, ds->stored_width, ds->stored_height);
  if (!status) status = convert(&raw, ds->info.features, image);
  free(raw.pixels);
  return status;
}

filtra_status ft_sample_image(const filtra_dataset *ds, const ft_samples *samples,
                              const ft_sample_row *row, ft_image *image) {
  if (samples->files) return read_listed(ds, samples->files[row->first].path, image);
  const ft_image stored = {ds->stored_height, ds->stored_width, ds->info.features,
                           samples->bytes + row->first};
  return convert(&stored, stored.channels, image);
}

bool ft_samples_are_made(const filtra_dataset *ds, const ft_samples *samples) {
  return samples->files || (samples->bytes && ds->image_size);
}

filtra_status ft_sample_pixels(const filtra_dataset *ds, const ft_samples *samples,
                               const ft_sample_row *row, uint8_t **pixels) {
  ft_image image, square = {.height = ds->info.height, .width = ds->info.width};
  FT_TRY(ft_sample_image(ds, samples, row, &image));
  *pixels = image.pixels;
  if (!ds->image_size) return FILTRA_OK;
  filtra_status status =
      ft_image_resample(&image, ft_image_middle(&image, (double)ds->crop_pct), &square);
  free(image.pixels);
  *pixels = square.pixels;
  return status;
}

/* ---- the vocabulary ---- */

#define TEN(tens)                                                                                  \
  tens "0", tens "1", tens "2", tens "3", tens "4", tens "5", tens "6", tens "7", tens "8", tens "9"

static const char *const values[256] = {
    TEN(""),   TEN("1"),  TEN("2"),  TEN("3"),  TEN("4"),  TEN("5"),  TEN("6"),  TEN("7"),
    TEN("8"),  TEN("9"),  TEN("10"), TEN("11"), TEN("12"), TEN("13"), TEN("14"), TEN("15"),
    TEN("16"), TEN("17"), TEN("18"), TEN("19"), TEN("20"), TEN("21"), TEN("22"), TEN("23"),
    TEN("24"), "250",     "251",     "252",     "253",     "254",     "255"};

/* Encodes whole numbers, separated by white space or commas. */
static filtra_status encode_values(const filtra_tokenizer *tokenizer, const char *text,
                                   size_t length, ft_tokens *tokens) {
  for (size_t i = 0; i < length;) {
    if (strchr(" \t\r\n,", text[i]) && text[i]) {
      i++;
      continue;
    }
    size_t first = i;
    uint32_t value = 0;
    for (; i < length && i < first + 4 && text[i] >= '0' && text[i] <= '9'; i++)
      value = 10 * value + (uint32_t)(text[i] - '0');
    bool ends = i == length || (strchr(" \t\r\n,", text[i]) && text[i]);
    if (i == first || !ends || value >= tokenizer->size)
      return ft_fail(FILTRA_ERROR_INPUT, "no grey value, 0 to 255, at column %zu", first + 1);
    FT_TRY(ft_tokens_reserve(tokens, 1));
    tokens->ids[tokens->count++] = (int32_t)value;
  }
  if (tokens->count == 0) return ft_fail(FILTRA_ERROR_INPUT, "there are no grey values");
  return FILTRA_OK;
}

const filtra_tokenizer ft_tokenizer_pixels = {"pixels", values, 256, encode_values};
