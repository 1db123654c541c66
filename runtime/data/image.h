/* Images on their way into a dataset: every format of images decodes to ft_image, and what a pixel
 * becomes is decided here, by filtra_dataset_options.pixels. */
#ifndef FT_DATA_IMAGE_H
#define FT_DATA_IMAGE_H

#include "data/dataset.h"

enum { FT_IMAGE_PIXELS = 1 << 20 }; /* the longest sequence that a model takes */

typedef struct ft_image {
  uint32_t height, width;
  uint32_t channels; /* 1: grey; 3: red, green, blue */
  uint8_t *pixels;   /* [height * width * channels], row by row */
} ft_image;

/** Fails with INPUT unless both sides are 1 at least and FT_IMAGE_PIXELS hold the image. To be
 * asked before anything is allocated. */
filtra_status ft_image_check_size(uint64_t height, uint64_t width);

/** The same of a file of so many bytes, which may hold more pixels than a model takes, since they
 * can be resized: 6 Mi, and 2 for each byte, so that decoding takes less than 64 MiB and 20 times
 * the file. */
filtra_status ft_image_check_file(uint64_t height, uint64_t width, size_t file_bytes);

/** The grey value of a pixel of so many channels, as tokens have it. */
uint8_t ft_grey_of(const uint8_t *pixel, uint32_t channels);
/** A pixel as so many features, 1 or 3. */
void ft_pixel_features(const uint8_t *pixel, uint32_t channels, uint32_t features, uint8_t *to);

/** Adds a sample. The first image says the size that all others must have. */
filtra_status ft_images_add(filtra_dataset *ds, const filtra_dataset_options *options,
                            filtra_split split, const ft_image *image, int32_t label);
/** The same of a PNG or JPEG file. As features its pixels stay there: only its header is read. The
 * messages of failures name it. */
filtra_status ft_images_add_file(filtra_dataset *ds, const filtra_dataset_options *options,
                                 filtra_split split, const char *path, int32_t label);

/** The image of a sample of features, of the size it was stored in, its pixels as they become
 * features: 1 or 3 bytes each. Caller frees image->pixels. */
filtra_status ft_sample_image(const filtra_dataset *ds, const ft_samples *samples,
                              const ft_sample_row *row, ft_image *image);
/** Whether a sample's pixels are other than its bytes in memory: they are in a file, or resized. */
bool ft_samples_are_made(const filtra_dataset *ds, const ft_samples *samples);
/** The pixels [length, features] of such a sample, without anything random; caller frees. */
filtra_status ft_sample_pixels(const filtra_dataset *ds, const ft_samples *samples,
                               const ft_sample_row *row, uint8_t **pixels);

/* ---- resampling (resample.c) ---- */

/** A part of an image, in pixels from its upper left corner; edges may cut through pixels. */
typedef struct ft_box {
  double x, y, width, height;
} ft_box;

/** Resamples a box to to->height x to->width by bicubic interpolation, see
 * filtra_dataset_options.image_size. Pixels outside the box count nothing, but for those that its
 * edges cut. Fills channels and pixels, which the caller frees. */
filtra_status ft_image_resample(const ft_image *from, ft_box box, ft_image *to);
/** The middle square of `share` of the shorter side. */
ft_box ft_image_middle(const ft_image *image, double share);

#endif
