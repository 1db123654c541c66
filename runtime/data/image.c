#include "data/image.h"

#include "base/memory.h"

#include <string.h>

filtra_status ft_image_check_size(uint64_t height, uint64_t width) {
  if (height && width && height <= FT_IMAGE_PIXELS && width <= FT_IMAGE_PIXELS / height)
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "an image of %llu x %llu pixels; 1 to %d pixels are accepted",
                 (unsigned long long)width, (unsigned long long)height, FT_IMAGE_PIXELS);
}

/* ---- what a pixel becomes ---- */

/* floor(255.5 (0.2989 r + 0.5870 g + 0.1140 b) / 255), as Long Range Arena has it, in whole
 * numbers. */
uint8_t ft_grey_of(const uint8_t *pixel, uint32_t channels) {
  if (channels == 1) return *pixel;
  uint32_t sum = 2989u * pixel[0] + 5870u * pixel[1] + 1140u * pixel[2];
  return (uint8_t)(511u * sum / 5100000u);
}

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

void ft_pixel_features(const uint8_t *pixel, uint32_t channels, uint32_t features, uint8_t *to) {
  if (features == 1)
    *to = ft_grey_of(pixel, channels);
  else if (channels == 1)
    memset(to, *pixel, features);
  else
    memcpy(to, pixel, features);
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

static filtra_status take_size(filtra_dataset *ds, const filtra_dataset_options *options,
                               const ft_image *image) {
  FT_TRY(ft_image_check_size(image->height, image->width));
  uint32_t pixels = image->height * image->width;
  if (options->max_length && pixels > options->max_length)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "an image of %u x %u has %u pixels where at most %u are accepted; raise "
                   "max_length",
                   image->width, image->height, pixels, options->max_length);
  if (options->tokenizer && strcmp(options->tokenizer, ft_tokenizer_pixels.name))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "tokenizer \"%s\" reads no images; leave it out",
                   options->tokenizer);
  ds->info.height = image->height;
  ds->info.width = image->width;
  if (options->pixels == FILTRA_PIXELS_GREY) {
    ds->info.tokenizer = &ft_tokenizer_pixels;
    return FILTRA_OK;
  }
  ds->info.input = FILTRA_INPUT_FEATURES;
  ds->info.features = options->pixels == FILTRA_PIXELS_RGB ? 3 : 1;
  ds->standardise = true;
  return FILTRA_OK;
}

filtra_status ft_images_add(filtra_dataset *ds, const filtra_dataset_options *options,
                            filtra_split split, const ft_image *image, int32_t label) {
  if (!ds->info.height) FT_TRY(take_size(ds, options, image));
  if (image->height != ds->info.height || image->width != ds->info.width)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "an image of %u x %u pixels; those before have %u x %u, and all must have the "
                   "same size",
                   image->width, image->height, ds->info.width, ds->info.height);
  ft_samples *samples = &ds->samples[split];
  FT_TRY(FT_GROW(samples->rows, samples->count, samples->capacity));
  bool tokens = ds->info.input == FILTRA_INPUT_TOKENS;
  samples->rows[samples->count] =
      (ft_sample_row){.first = tokens ? samples->tokens.count : samples->byte_count,
                      .length = image->height * image->width,
                      .label = label};
  FT_TRY(tokens ? add_tokens(samples, image) : add_bytes(samples, image, ds->info.features));
  samples->count++;
  return FILTRA_OK;
}

/* ---- the vocabulary ---- */

#define TEN(tens)                                                                                  \
  tens "0", tens "1", tens "2", tens "3", tens "4", tens "5", tens "6", tens "7", tens "8", tens "9"

static const char *const values[256] = {
    TEN(""),   TEN("1"),  TEN("2"),  TEN("3"),  TEN("4"),  TEN("5"),  TEN("6"),  TEN("7"),
    TEN("8"),  TEN("9"),  TEN("10"), TEN("11"), TEN("12"), TEN("13"), TEN("14"), TEN("15"),
    TEN("16"), TEN("17"), TEN("18"), TEN("19"), TEN("20"), TEN("21"), TEN("22"), TEN("23"),
    TEN("24"), "250",     "251",     "252",     "253",     "254",     "255"};

/* Whole numbers, separated by white space or commas. */
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
