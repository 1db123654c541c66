/* Images before they become samples: all image formats decode to ft_image;
 * filtra_dataset_options.pixels decides here what a pixel becomes. */
#ifndef FT_DATA_IMAGE_H
#define FT_DATA_IMAGE_H

#include "data/dataset.h"

enum { FT_IMAGE_PIXELS = 1 << 20 }; /* most pixels of a sequence that a model accepts */

typedef struct ft_image {
  uint32_t height, width;
  uint32_t channels; /* 1: grey; 3: red, green, blue */
  uint8_t *pixels;   /* [height * width * channels], row by row */
  bool deep;         /* its file has 16 bits per channel, of which `pixels` keep the upper 8 */
  bool alpha;        /* its file has an alpha channel */
  bool ink;          /* only that channel draws something: blended with black, all is black */
} ft_image;

/** Fails with INPUT unless both sides are at least 1 and the image has at most FT_IMAGE_PIXELS.
 * Call it before allocating. */
filtra_status ft_image_check_size(uint64_t height, uint64_t width);

/** As ft_image_check_size, for a file of that many bytes, which may be larger since images can be
 * resized: at most 6 Mi pixels plus 2 per byte of the file. Decoding then takes less than 64 MiB
 * plus 20 times the file. */
filtra_status ft_image_check_file(uint64_t height, uint64_t width, size_t file_bytes);

/** The grey value, as used for tokens, of a pixel with that many channels. */
uint8_t ft_grey_of(const uint8_t *pixel, uint32_t channels);
/** Converts a pixel to that many features, 1 or 3. */
void ft_pixel_features(const uint8_t *pixel, uint32_t channels, uint32_t features, uint8_t *to);

/** Adds a sample. The first image sets the size that all others must have. */
filtra_status ft_images_add(filtra_dataset *ds, const filtra_dataset_options *options,
                            filtra_split split, const ft_image *image, int32_t label);
/** As ft_images_add, for a PNG or JPEG file. For features, reads only the header now; pixels stay
 * in the file. Errors name the file. */
filtra_status ft_images_add_file(filtra_dataset *ds, const filtra_dataset_options *options,
                                 filtra_split split, const char *path, int32_t label);

/** Warns of images that only their transparency shows, and if those of 16 bits per channel are
 * nearly black. */
void ft_images_warn_of_kind(const filtra_dataset *ds, const char *path);

/** A feature sample's image in its stored size; each pixel has 1 or 3 bytes, as features do. Caller
 * frees image->pixels. */
filtra_status ft_sample_image(const filtra_dataset *ds, const ft_samples *samples,
                              const ft_sample_row *row, ft_image *image);
/** Whether a sample's pixels must be read from a file or resized first. */
bool ft_samples_are_made(const filtra_dataset *ds, const ft_samples *samples);
/** The pixels [length, features] of such a sample, without augmentation; caller frees. */
filtra_status ft_sample_pixels(const filtra_dataset *ds, const ft_samples *samples,
                               const ft_sample_row *row, uint8_t **pixels);

/** Decodes every `step`-th image of a split from `first` on, if they are in files. Fails with the
 * first one's error and the number of images that cannot be decoded. */
filtra_status ft_images_check(const filtra_dataset *ds, filtra_split split, size_t first,
                              size_t step);

/* ---- resampling (resample.c) ---- */

/** A part of an image, in pixels from its upper left corner; edges may be fractions of a pixel. */
typedef struct ft_box {
  double x, y, width, height;
} ft_box;

/** Resamples a box to to->height x to->width by bicubic interpolation, see
 * filtra_dataset_options.image_size. Ignores pixels outside the box, except those that its edges
 * cut. Fills channels and pixels, which the caller frees. */
filtra_status ft_image_resample(const ft_image *from, ft_box box, ft_image *to);
/** The centred square whose side is `share` times the image's shorter side. */
ft_box ft_image_middle(const ft_image *image, double share);

#endif
