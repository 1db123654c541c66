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

/** The grey value of a pixel of so many channels, as tokens have it. */
uint8_t ft_grey_of(const uint8_t *pixel, uint32_t channels);
/** A pixel as so many features, 1 or 3. */
void ft_pixel_features(const uint8_t *pixel, uint32_t channels, uint32_t features, uint8_t *to);

/** Adds a sample. The first image says the size that all others must have. */
filtra_status ft_images_add(filtra_dataset *ds, const filtra_dataset_options *options,
                            filtra_split split, const ft_image *image, int32_t label);

#endif
