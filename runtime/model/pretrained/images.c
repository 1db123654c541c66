/* Reads preprocessor_config.json: how images are prepared for ViT or DeiT. Called by start.c. */
#include "model/pretrained/images.h"

#include "base/file.h"
#include "data/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whether the key's three numbers are these. */
static bool are(const json_t *object, const char *key, double a, double b, double c) {
  const json_t *list = json_object_get(object, key);
  const double wanted[] = {a, b, c};
  bool same = json_array_size(list) == 3;
  for (size_t i = 0; i < 3 && same; i++)
    same = fabs(json_number_value(json_array_get(list, i)) - wanted[i]) < 1e-6;
  return same;
}

static const char *normalization_of(const json_t *object) {
  if (are(object, "image_mean", 0.5, 0.5, 0.5) && are(object, "image_std", 0.5, 0.5, 0.5))
    return "half";
  if (are(object, "image_mean", 0.485, 0.456, 0.406) &&
      are(object, "image_std", 0.229, 0.224, 0.225))
    return "imagenet";
  return NULL;
}

/* The shorter side that images are resized to before the crop: a number, {"shortest_edge": n} or
 * {"height": n, "width": n}; 0: not given. */
static int64_t resized_side(const json_t *object) {
  const json_t *size = json_object_get(object, "size");
  if (json_is_integer(size)) return json_integer_value(size);
  const json_t *edge = json_object_get(size, "shortest_edge");
  return json_integer_value(edge ? edge : json_object_get(size, "height"));
}

static filtra_status read_keys(const json_t *object, const char *path, int64_t side,
                               json_t **keys) {
  const char *normalize = normalization_of(object);
  const int64_t before = resized_side(object);
  const bool crops = json_is_true(json_object_get(object, "do_center_crop"));
  const double part = crops && before > side ? (double)side / (double)before : 1.0;
  if (!normalize)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"image_mean\" and \"image_std\" are neither 0.5 nor ImageNet's", path);
  if (json_is_false(json_object_get(object, "do_rescale")) ||
      json_is_false(json_object_get(object, "do_normalize")))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"do_rescale\" and \"do_normalize\" false cannot be followed", path);
  *keys = json_pack("{ss sI sf ss}", "pixels", "rgb", "image_size", (json_int_t)side, "crop_pct",
                    part, "normalize", normalize);
  return *keys ? FILTRA_OK : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

filtra_status ft_hf_image_keys(const char *folder, int64_t side, json_t **keys) {
  static const char USUAL[] = "{\"image_mean\": [0.5, 0.5, 0.5], \"image_std\": [0.5, 0.5, 0.5]}";
  char *path = ft_path_join(folder, "preprocessor_config.json");
  json_t *object = NULL;
  *keys = NULL;
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_file_exists(path) ? ft_json_load_foreign(path, 0, &object)
                                              : ft_json_parse(USUAL, strlen(USUAL), path, &object);
  if (!status) status = read_keys(object, path, side, keys);
  json_decref(object);
  free(path);
  return status;
}

filtra_status ft_hf_image_fit(const json_t *keys, json_t *fit) {
  const bool half = !strcmp(ft_json_string(keys, "normalize"), "half");
  const json_t *side = json_object_get(keys, "image_size");
  double m[3], f[3];
  ft_fixed_moments(half ? FILTRA_NORMALIZE_HALF : FILTRA_NORMALIZE_IMAGENET, m, f);
  json_t *more =
      json_pack("{s[fff] s[fff] sO sO sb}", "feature_mean", m[0], m[1], m[2], "feature_factor",
                f[0], f[1], f[2], "image_height", side, "image_width", side, "bytes", 1);
  const bool failed = !more || json_object_update(fit, more);
  json_decref(more);
  return failed ? ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory") : FILTRA_OK;
}
