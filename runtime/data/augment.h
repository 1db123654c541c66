/* Random changes of images in training: filtra_augmentation. Results depend only on the arguments
 * and on the random generator of the sample or batch. */
#ifndef FT_DATA_AUGMENT_H
#define FT_DATA_AUGMENT_H

#include "base/rng.h"
#include "data/image.h"

/** Fails with ARGUMENT for a field out of range, and for samples that are not images of features.
 */
filtra_status ft_augmentation_check(const filtra_augmentation *a, const filtra_dataset *ds);
/** Whether the augmentation changes single samples. */
bool ft_augments_samples(const filtra_augmentation *a);
/** Whether it mixes samples of a batch. */
bool ft_augments_batches(const filtra_augmentation *a);

/** Sample `index` of a split in that epoch as features [length, features], standardised. `view`
 * counts earlier uses of the sample in the epoch. */
filtra_status ft_augment_sample(const filtra_dataset *ds, filtra_split split, uint64_t index,
                                const filtra_augmentation *a, uint64_t seed, uint64_t epoch,
                                uint64_t view, float *features);

/* ---- single steps ---- */

/** Draws a box of whole pixels, as torchvision's RandomResizedCrop: its fraction of the image's
 * area is uniform between `scale` and 1, the logarithm of its aspect ratio uniform between -log
 * `ratio` and log `ratio`, then its position uniform. After ten boxes that do not fit, the image's
 * centre, cut to an allowed ratio. */
ft_box ft_draw_crop(ft_rng *rng, uint32_t height, uint32_t width, double scale, double ratio);
/** Flips left and right, in place. */
void ft_image_flip(ft_image *image);
/** Random erasing: fills a random box of [height, width, channels] with N(0, 1), in place. */
void ft_erase(ft_rng *rng, float *features, uint32_t height, uint32_t width, uint32_t channels);

/* ---- RandAugment (rand_augment.c) ---- */

/** timm's "increasing" set of operations: a larger magnitude changes more. */
typedef enum ft_image_operation {
  FT_IMAGE_AUTO_CONTRAST = 0, /* each channel stretched to 0 to 255 */
  FT_IMAGE_EQUALIZE,          /* equalizes each channel's histogram */
  FT_IMAGE_INVERT,
  FT_IMAGE_ROTATE,       /* by up to 30 degrees */
  FT_IMAGE_POSTERIZE,    /* keeps 4 bits, down to none */
  FT_IMAGE_SOLARIZE,     /* inverts values from a threshold up; the threshold falls from 256 to 0 */
  FT_IMAGE_SOLARIZE_ADD, /* adds up to 110 to values below 128 */
  FT_IMAGE_COLOR,      /* blends with grey, by up to 0.9, or away from it; so do the next three: */
  FT_IMAGE_CONTRAST,   /* with the mean, */
  FT_IMAGE_BRIGHTNESS, /* with black, */
  FT_IMAGE_SHARPNESS,  /* with a blurred image */
  FT_IMAGE_SHEAR_X,    /* by up to 0.3 */
  FT_IMAGE_SHEAR_Y,
  FT_IMAGE_TRANSLATE_X, /* by up to 0.45 of the side */
  FT_IMAGE_TRANSLATE_Y,
  FT_IMAGE_OPERATIONS
} ft_image_operation;

/** Applies one operation, in place, at `level`, the magnitude / 10, from -1 to 1; negative levels
 * reverse the direction of operations that have two. Geometric operations sample bilinearly; pixels
 * from outside are `fill` [channels]. Fails only when memory runs out. */
filtra_status ft_image_operate(ft_image *image, ft_image_operation operation, double level,
                               const uint8_t *fill);
/** Draws the operations of an image and applies them. */
filtra_status ft_rand_augment(ft_rng *rng, const filtra_augmentation *a, const uint8_t *fill,
                              ft_image *image);

/* ---- mixing within a batch (mix.c) ---- */

typedef struct ft_mixture {
  uint32_t height, width, channels;
  uint32_t size, count; /* rows, and rows that are samples */
  size_t stride;        /* numbers from one row of features to the next */
  float *features;
  int32_t *labels, *other_labels; /* [size] */
  float *label_fractions;         /* [size] */
} ft_mixture;

/** Mixes samples i and count - 1 - i with the random generator of this batch and epoch, and fills
 * other_labels and label_fractions, even if nothing is mixed. */
void ft_mix_batch(ft_mixture *m, const filtra_augmentation *a, uint64_t seed, uint64_t epoch,
                  uint64_t batch);
/** Draws from Beta(a, a), by two gamma variables (Marsaglia & Tsang 2000). */
double ft_rng_beta(ft_rng *rng, double a);

#endif
