/* Reads preprocessor_config.json, or the same within processor_config.json: how images are prepared
 * for ViT or DeiT. Called by start.c. */
#include "model/pretrained/images.h"

#include "base/file.h"
#include "data/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GREY = 1, COLOURS = 3 };

/* How pixels of 0 to 1 are standardised. */
typedef struct moments {
  size_t channels; /* GREY or COLOURS */
  double mean[COLOURS], deviation[COLOURS];
} moments;

static filtra_status read_numbers(const json_t *object, const char *path, const char *key,
                                  double least, size_t count, double *to) {
  const json_t *list = json_object_get(object, key);
  bool usable = json_array_size(list) == count;
  if (!list) return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is missing", path, key);
  for (size_t i = 0; i < count && usable; i++) {
    to[i] = json_number_value(json_array_get(list, i));
    usable = json_is_number(json_array_get(list, i)) && to[i] > least && to[i] < 1e6;
  }
  return usable ? FILTRA_OK
                : ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is not %s above %g", path, key,
                          count == GREY ? "one number" : "three numbers", least);
}

/* Pixels of 0 to 255 times the factor are standardised: changes the moments to those of pixels of 0
 * to 1. */
static filtra_status apply_factor(const json_t *object, const char *path, moments *m) {
  const json_t *value = json_object_get(object, "rescale_factor");
  const double factor = json_number_value(value);
  if (!value || json_is_null(value)) return FILTRA_OK;
  if (!json_is_number(value) || !(factor >= 1e-6 && factor <= 1e6)) {
    char *text = ft_json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    filtra_status status = ft_fail(FILTRA_ERROR_INPUT,
                                   "%s: \"rescale_factor\" is %.60s; accepted are numbers from "
                                   "1e-6 to 1e6, 1/255 where it is missing",
                                   path, text ? text : "?");
    free(text);
    return status;
  }
  for (size_t k = 0; k < m->channels; k++) {
    m->mean[k] /= 255 * factor;
    m->deviation[k] /= 255 * factor;
  }
  return FILTRA_OK;
}

/* The kind that a run's configuration can name; "data": it has none for these. */
static const char *kind_of(const moments *m) {
  if (m->channels == GREY) return "data";
  static const struct {
    const char *name;
    filtra_normalization kind;
  } KINDS[] = {{"half", FILTRA_NORMALIZE_HALF}, {"imagenet", FILTRA_NORMALIZE_IMAGENET}};
  for (size_t i = 0; i < FT_COUNT(KINDS); i++) {
    double mean[COLOURS], factor[COLOURS];
    bool same = true;
    ft_fixed_moments(KINDS[i].kind, mean, factor);
    for (int k = 0; k < COLOURS; k++)
      same = same && fabs(255 * m->mean[k] - mean[k]) < 255e-6 &&
             fabs(m->deviation[k] - 1 / (255 * factor[k])) < 1e-6;
    if (same) return KINDS[i].name;
  }
  return "data";
}

/* The shorter side that images are resized to before the crop: a number, {"shortest_edge": n} or
 * {"height": n, "width": n}; 0: not given. */
static int64_t resized_side(const json_t *object) {
  const json_t *size = json_object_get(object, "size");
  if (json_is_integer(size)) return json_integer_value(size);
  const json_t *edge = json_object_get(size, "shortest_edge");
  return json_integer_value(edge ? edge : json_object_get(size, "height"));
}

/* What would change pixels in a way that images are not prepared here. */
static filtra_status refuse_keys(const json_t *object, const char *path) {
  static const char *const MUST[] = {"do_resize", "do_rescale", "do_normalize"};
  for (size_t i = 0; i < FT_COUNT(MUST); i++)
    if (json_is_false(json_object_get(object, MUST[i])))
      return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" false cannot be followed", path, MUST[i]);
  if (json_is_true(json_object_get(object, "rescale_offset")))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"rescale_offset\" true cannot be followed", path);
  if (json_is_number(json_object_get(object, "crop_pct")))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"crop_pct\" cannot be followed; \"size\" and \"do_center_crop\" are",
                   path);
  return FILTRA_OK;
}

/* Says what is done otherwise than by the file. */
static void warn_of_keys(const json_t *object, const char *path, int64_t side) {
  enum { BICUBIC = 3 };
  const char *type = ft_json_string(object, "image_processor_type");
  const json_t *resample = json_object_get(object, "resample");
  const int64_t size = resized_side(object);
  if (*type && strncmp(type, "ViT", 3) != 0 && strncmp(type, "DeiT", 4) != 0)
    ft_log(FILTRA_LOG_WARNING,
           "%s: \"image_processor_type\" is %.64s; images are prepared as ViTImageProcessor does",
           path, type);
  if (json_is_integer(resample) && json_integer_value(resample) != BICUBIC)
    ft_log(FILTRA_LOG_WARNING,
           "%s: \"resample\" is %lld; images are resized bicubically, as by 3, so logits of images "
           "of other sizes differ a little",
           path, (long long)json_integer_value(resample));
  if (size && size != side && !json_is_true(json_object_get(object, "do_center_crop")))
    ft_log(FILTRA_LOG_WARNING, "%s: \"size\" is %lld; images are resized to the model's %lld", path,
           (long long)size, (long long)side);
}

static filtra_status read_keys(const json_t *object, const char *path, int64_t side,
                               const moments *m, json_t **keys) {
  const char *kind = kind_of(m);
  const int64_t before = resized_side(object);
  const bool crops = json_is_true(json_object_get(object, "do_center_crop"));
  const double part = crops && before > side ? (double)side / (double)before : 1.0;
  FT_TRY(refuse_keys(object, path));
  warn_of_keys(object, path, side);
  if (!strcmp(kind, "data"))
    ft_log(FILTRA_LOG_WARNING,
           "%s: %s: the model has them, but a run that begins with it standardises images by its "
           "own data",
           path,
           m->channels == GREY ? "mean and deviation are those of grey images"
                               : "\"image_mean\" and \"image_std\" are neither 0.5 nor ImageNet's");
  *keys = json_pack("{ss sI sf ss}", "pixels", m->channels == GREY ? "grey_features" : "rgb",
                    "image_size", (json_int_t)side, "crop_pct", part, "normalize", kind);
  return *keys ? FILTRA_OK : ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

static filtra_status write_fit(const moments *m, int64_t side, json_t *fit) {
  json_t *mean = json_array(), *factor = json_array();
  for (size_t k = 0; k < m->channels; k++) {
    ft_json_append(&mean, json_real(255 * m->mean[k]));
    ft_json_append(&factor, json_real(1 / (255 * m->deviation[k])));
  }
  json_t *more =
      json_pack("{so so sI sI sb}", "feature_mean", mean, "feature_factor", factor, "image_height",
                (json_int_t)side, "image_width", (json_int_t)side, "bytes", 1);
  const bool failed = !more || json_object_update(fit, more);
  json_decref(more);
  return failed ? ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory") : FILTRA_OK;
}

/* The file's object; without preprocessor_config.json the one in processor_config.json or, without
 * either, ViT's usual one. */
static filtra_status load(const char *folder, const char *usual, char **path, json_t **object) {
  *path = ft_path_join(folder, "preprocessor_config.json");
  char *whole = ft_path_join(folder, "processor_config.json");
  filtra_status status = *path && whole ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  const bool own = !status && ft_file_exists(*path), other = !status && ft_file_exists(whole);
  if (own) {
    status = ft_json_load_foreign(*path, 0, object);
  } else if (other) {
    json_t *root = NULL;
    free(*path);
    *path = whole;
    whole = NULL;
    status = ft_json_load_foreign(*path, 0, &root);
    *object = json_incref(json_object_get(root, "image_processor"));
    json_decref(root);
    if (!status && !json_is_object(*object))
      status = ft_fail(FILTRA_ERROR_INPUT, "%s: has no \"image_processor\"", *path);
  } else if (!status) {
    ft_log(FILTRA_LOG_WARNING, "%s: is missing: images are standardised by 0.5, as ViT's are",
           *path);
    status = ft_json_parse(usual, strlen(usual), *path, object);
  }
  free(whole);
  return status;
}

filtra_status ft_hf_image_keys(const char *folder, int64_t side, int64_t channels, json_t **keys,
                               json_t *fit) {
  static const char *const USUAL[] = {
      [GREY] = "{\"image_mean\": [0.5], \"image_std\": [0.5]}",
      [COLOURS] = "{\"image_mean\": [0.5, 0.5, 0.5], \"image_std\": [0.5, 0.5, 0.5]}"};
  *keys = NULL;
  if (channels != GREY && channels != COLOURS)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"num_channels\" is %lld, accepted are 1 and 3", folder,
                   (long long)channels);
  char *path = NULL;
  json_t *object = NULL;
  moments m = {.channels = (size_t)channels};
  filtra_status status = load(folder, USUAL[channels], &path, &object);
  if (!status) status = read_numbers(object, path, "image_mean", -1e6, m.channels, m.mean);
  if (!status) status = read_numbers(object, path, "image_std", 0, m.channels, m.deviation);
  if (!status) status = apply_factor(object, path, &m);
  if (!status) status = read_keys(object, path, side, &m, keys);
  if (!status) status = write_fit(&m, side, fit);
  json_decref(object);
  free(path);
  return status;
}
