/* What is done to images at random while training reads them: filtra_augmentation. Each function is
 * a function of its arguments and of a generator that a sample, or a batch, has for itself. */
#ifndef FT_DATA_AUGMENT_H
#define FT_DATA_AUGMENT_H

#include "base/rng.h"
#include "data/image.h"

/** Fails with ARGUMENT where a field is out of range, or samples are no images of features. */
filtra_status ft_augmentation_check(const filtra_augmentation *a, const filtra_dataset *ds);
/** Whether it changes samples; whether it mixes them within a batch. */
bool ft_augments_samples(const filtra_augmentation *a);
bool ft_augments_batches(const filtra_augmentation *a);

/** Sample `index` of a split in that epoch as features [length, features], standardised. */
filtra_status ft_augment_sample(const filtra_dataset *ds, filtra_split split, uint64_t index,
                                const filtra_augmentation *a, uint64_t seed, uint64_t epoch,
                                float *features);

/* ---- single steps ---- */

/** A box of whole pixels with a share of the image's area between `scale` and 1 and a ratio of its
 * sides between 1 / `ratio` and `ratio`, both uniform, the ratio's logarithm, and then its place.
 * After ten that do not fit the middle, cut to such a ratio, as torchvision has it. */
ft_box ft_draw_crop(ft_rng *rng, uint32_t height, uint32_t width, double scale, double ratio);
/** Left becomes right, in place. */
void ft_image_flip(ft_image *image);
/** Fills a box by N(0, 1), in place: [height, width, channels] (filtra_augmentation). */
void ft_erase(ft_rng *rng, float *features, uint32_t height, uint32_t width, uint32_t channels);

/* ---- RandAugment (rand_augment.c) ---- */

/** The operations, timm's "increasing" ones, by which a larger magnitude changes more. */
typedef enum ft_image_operation {
  FT_IMAGE_AUTO_CONTRAST = 0, /* each channel stretched to 0 to 255 */
  FT_IMAGE_EQUALIZE,          /* each channel's histogram made flat */
  FT_IMAGE_INVERT,
  FT_IMAGE_ROTATE,       /* by up to 30 degrees */
  FT_IMAGE_POSTERIZE,    /* to 4 bits, or as few as none */
  FT_IMAGE_SOLARIZE,     /* values from 256 down to 0 on are inverted */
  FT_IMAGE_SOLARIZE_ADD, /* up to 110 is added to values below 128 */
  FT_IMAGE_COLOR,    /* the next four: towards or away from grey, the mean, black and a blurred */
  FT_IMAGE_CONTRAST, /* image, by up to 0.9 */
  FT_IMAGE_BRIGHTNESS,
  FT_IMAGE_SHARPNESS,
  FT_IMAGE_SHEAR_X, /* by up to 0.3 */
  FT_IMAGE_SHEAR_Y,
  FT_IMAGE_TRANSLATE_X, /* by up to 0.45 of the side */
  FT_IMAGE_TRANSLATE_Y,
  FT_IMAGE_OPERATIONS
} ft_image_operation;

/** One of them, in place, at a level of -1 to 1: the magnitude's tenth, negative for the other
 * direction where there are two. Geometric ones sample bilinearly; what comes in from outside is
 * `fill` [channels]. Fails only when memory runs out. */
filtra_status ft_image_operate(ft_image *image, ft_image_operation operation, double level,
                               const uint8_t *fill);
/** Draws the operations of an image and applies them. */
filtra_status ft_rand_augment(ft_rng *rng, const filtra_augmentation *a, const uint8_t *fill,
                              ft_image *image);

/* ---- mixing within a batch (mix.c) ---- */

typedef struct ft_mixture {
  uint32_t height, width, channels, size, count; /* of rows, and of those that are samples */
  size_t stride;                                 /* from row to row of features, in numbers */
  float *features;
  int32_t *labels, *other_labels; /* [size] */
  float *label_fractions;         /* [size] */
} ft_mixture;

/** Mixes samples i and count - 1 - i, by a generator that batch `batch` of the epoch has, and fills
 * other_labels and label_fractions, also where nothing was mixed. */
void ft_mix_batch(ft_mixture *m, const filtra_augmentation *a, uint64_t seed, uint64_t epoch,
                  uint64_t batch);
/** Beta(a, a), by two gamma variables (Marsaglia & Tsang 2000). */
double ft_rng_beta(ft_rng *rng, double a);

#endif
