/* Augments single images and checks the options of filtra_augmentation. Called by loader.c for each
 * training sample; rand_augment.c and mix.c implement the larger operations. */
#include "data/augment.h"

#include "base/memory.h"
#include "data/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 10 }; /* boxes drawn until one fits, as in torchvision and timm */

/* ---- checks ---- */

static bool crops(const filtra_augmentation *a) {
  return a->crop_scale > 0.0f && a->crop_scale < 1.0f;
}

/* Pixels that an application gives may be any numbers; single samples are changed as bytes. */
static filtra_status check_bytes(const filtra_augmentation *a, const filtra_dataset *ds) {
  bool numbers = false;
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    numbers = numbers || ds->samples[i].values;
  if (!numbers || !ft_augments_samples(a)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "augmentation: %s is for images of 1 or 3 whole numbers, 0 to 255, a pixel; the "
                 "data hold others",
                 crops(a)          ? "crop_scale"
                 : a->hflip > 0.0f ? "hflip"
                 : a->rand_augment ? "rand_augment"
                                   : "random_erasing");
}

filtra_status ft_augmentation_check(const filtra_augmentation *a, const filtra_dataset *ds) {
  filtra_augmentation complete = *a; /* only this copy gets defaults; in *a, 0 means none */
  FT_TRY(FT_CHECK_RESERVED(filtra_augmentation, a));
  FT_TRY(ft_keys_complete(&ft_augmentation_keys, &complete, "augmentation"));
  if ((a->mixup > 0.0f && a->mixup < 0.01f) || (a->cutmix > 0.0f && a->cutmix < 0.01f))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "augmentation: mixup is %g and cutmix %g, accepted are 0 and 0.01 to 100",
                   (double)a->mixup, (double)a->cutmix);
  if (!ft_augments_samples(a) && !ft_augments_batches(a)) {
    if (a->repeats <= 1) return FILTRA_OK;
    return ft_fail(
        FILTRA_ERROR_ARGUMENT,
        "augmentation: repeats is %u, and nothing else is augmented: the rows of an image "
        "would be the same; accepted is 1",
        a->repeats);
  }
  if (ft_augments_batches(a) && ds->info.target != FILTRA_TARGET_CLASS && ds->info.height)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "mixup and cutmix mix classes, and the data's targets are %s",
                   ds->info.target == FILTRA_TARGET_LABELS ? "any number of labels" : "numbers");
  if (ds->info.height && ds->info.input == FILTRA_INPUT_FEATURES) return check_bytes(a, ds);
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "crop_scale, hflip, rand_augment, random_erasing, mixup and cutmix are for images "
                 "whose pixels are numbers (pixels grey_features or rgb); the data, of format %s, "
                 "%s",
                 ds->info.format, ds->info.height ? "have tokens" : "hold none");
}

bool ft_augments_samples(const filtra_augmentation *a) {
  return crops(a) || a->hflip > 0.0f || a->rand_augment || a->random_erasing > 0.0f;
}

bool ft_augments_batches(const filtra_augmentation *a) {
  return a->mixup > 0.0f || a->cutmix > 0.0f;
}

/* ---- single steps ---- */

static double uniform(ft_rng *rng, double low, double high) {
  return low + (high - low) * ft_rng_double(rng);
}

/* The largest centred box whose aspect ratio is accepted. */
static ft_box middle_box(uint32_t height, uint32_t width, double ratio) {
  double h = (double)height, w = (double)width;
  if (w > ratio * h) w = floor(ratio * h + 0.5);
  if (h > ratio * w) h = floor(ratio * w + 0.5);
  return (ft_box){floor(((double)width - w) / 2.0), floor(((double)height - h) / 2.0), w, h};
}

ft_box ft_draw_crop(ft_rng *rng, uint32_t height, uint32_t width, double scale, double ratio) {
  const double area = (double)height * (double)width;
  for (int i = 0; i < TRIES; i++) {
    double target = area * uniform(rng, scale, 1.0);
    double aspect = exp(uniform(rng, -log(ratio), log(ratio)));
    double w = floor(sqrt(target * aspect) + 0.5), h = floor(sqrt(target / aspect) + 0.5);
    if (w < 1.0 || h < 1.0 || w > (double)width || h > (double)height) continue;
    double y = (double)ft_rng_below(rng, height - (uint64_t)h + 1);
    double x = (double)ft_rng_below(rng, width - (uint64_t)w + 1);
    return (ft_box){x, y, w, h};
  }
  return middle_box(height, width, ratio);
}

void ft_image_flip(ft_image *image) {
  const uint32_t channels = image->channels;
  for (uint32_t y = 0; y < image->height; y++) {
    uint8_t *row = image->pixels + (size_t)y * image->width * channels;
    for (uint32_t x = 0; x < image->width / 2; x++)
      for (uint32_t c = 0; c < channels; c++) {
        uint8_t *left = row + (size_t)x * channels + c;
        uint8_t *right = row + (size_t)(image->width - 1 - x) * channels + c;
        uint8_t swapped = *left;
        *left = *right;
        *right = swapped;
      }
  }
}

void ft_erase(ft_rng *rng, float *features, uint32_t height, uint32_t width, uint32_t channels) {
  const double least = 0.02, most = 1.0 / 3.0, ratio = 1.0 / 0.3;
  for (int i = 0; i < TRIES; i++) {
    double target = (double)height * (double)width * uniform(rng, least, most);
    double aspect = exp(uniform(rng, -log(ratio), log(ratio)));
    double h = floor(sqrt(target * aspect) + 0.5), w = floor(sqrt(target / aspect) + 0.5);
    if (h < 1.0 || w < 1.0 || h >= (double)height || w >= (double)width) continue;
    uint64_t top = ft_rng_below(rng, height - (uint64_t)h + 1);
    uint64_t left = ft_rng_below(rng, width - (uint64_t)w + 1);
    for (uint64_t y = top; y < top + (uint64_t)h; y++)
      for (uint64_t k = left * channels; k < (left + (uint64_t)w) * channels; k++)
        features[y * width * channels + k] = ft_rng_normal(rng);
    return;
  }
}

/* ---- a sample ---- */

/* Reads the sample's pixels [height, width, features]: a random crop, or the crop used in
 * evaluation. */
static filtra_status take_pixels(const filtra_dataset *ds, const ft_samples *samples,
                                 const ft_sample_row *row, const filtra_augmentation *a,
                                 ft_rng *rng, ft_image *image) {
  *image = (ft_image){ds->info.height, ds->info.width, ds->info.features, NULL};
  if (!crops(a)) return ft_sample_pixels(ds, samples, row, &image->pixels);
  ft_image whole;
  FT_TRY(ft_sample_image(ds, samples, row, &whole));
  double ratio = a->crop_ratio > 0.0f ? (double)a->crop_ratio : 4.0 / 3.0;
  ft_box box = ft_draw_crop(rng, whole.height, whole.width, (double)a->crop_scale, ratio);
  filtra_status status = ft_image_resample(&whole, box, image);
  free(whole.pixels);
  return status;
}

/* The mean pixel, which standardising maps to 0; 0 of data that are not standardised. */
static void mean_pixel(const filtra_dataset *ds, uint8_t fill[3]) {
  for (uint32_t k = 0; k < ds->info.features && k < 3; k++) {
    double mean = ds->feature_mean ? ds->feature_mean[k] + 0.5 : 0.0;
    fill[k] = (uint8_t)(mean < 0.0 ? 0.0 : mean > 255.0 ? 255.0 : mean);
  }
}

filtra_status ft_augment_sample(const filtra_dataset *ds, filtra_split split, uint64_t index,
                                const filtra_augmentation *a, uint64_t seed, uint64_t epoch,
                                uint64_t view, float *features) {
  const ft_sample_row *row = ft_dataset_row(ds, split, index);
  if (!row) return FILTRA_ERROR_ARGUMENT;
  ft_rng rng = ft_rng_make(seed ^ (ft_hash_text("augmentation") + view), epoch << 32 | index);
  ft_image image;
  uint8_t fill[3];
  FT_TRY(take_pixels(ds, ds->splits[split].samples, row, a, &rng, &image));
  if (a->hflip > 0.0f && ft_rng_double(&rng) < (double)a->hflip) ft_image_flip(&image);
  mean_pixel(ds, fill);
  filtra_status status = ft_rand_augment(&rng, a, fill, &image);
  ft_scale_bytes(ds, image.pixels, (size_t)row->length * image.channels, features);
  free(image.pixels);
  if (a->random_erasing > 0.0f && ft_rng_double(&rng) < (double)a->random_erasing)
    ft_erase(&rng, features, image.height, image.width, image.channels);
  return status;
}
