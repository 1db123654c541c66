/* How a Hugging Face folder's model expects its images. */
#ifndef FT_MODEL_PRETRAINED_IMAGES_H
#define FT_MODEL_PRETRAINED_IMAGES_H

#include "base/json.h"

/** Keys of data for images of `side` pixels with 1 or 3 channels: pixels, image_size, crop_pct and
 * normalize, from FOLDER/preprocessor_config.json, or ViT's if the file is missing. Adds mean and
 * factor of features, and sizes, to `fit` (FT_INPUT_KEY). Fails with INPUT for other channels, and
 * for a preparation that neither can express. The caller releases *keys. */
filtra_status ft_hf_image_keys(const char *folder, int64_t side, int64_t channels, json_t **keys,
                               json_t *fit);

#endif
