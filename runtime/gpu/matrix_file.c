/* Reads and writes the verdict on matrix units: JSON, valid for one device, driver and library
 * version. */
#include "gpu/matrix.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "gpu/identity.h"
#include "gpu/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char FORMAT[] = "filtra-matrices-2";

/* ---- writing ---- */

static json_t *shape_json(ft_matrix_shape shape) {
  char text[FT_MATRIX_TEXT];
  return shape.m ? json_string(ft_matrix_shape_text(shape, text)) : json_null();
}

json_t *ft_matrix_document(const filtra_device *dev, const ft_matrix_verdict *v) {
  json_t *result = json_pack("{sb so so ss}", "passed", (int)v->passed, "f16", shape_json(v->f16),
                             "bf16", shape_json(v->bf16), "why", v->why);
  return ft_json_join(ft_document_new(dev, FORMAT), result);
}

/* ---- reading ---- */

static filtra_status read_shape(const json_t *root, const char *key, const char *context,
                                ft_matrix_shape *shape) {
  const json_t *value = json_object_get(root, key);
  if (json_is_null(value) || ft_matrix_shape_read(ft_json_string(root, key), shape))
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is no shape of matrix units", context, key);
}

static filtra_status read_verdict(const filtra_device *dev, const json_t *root, const char *context,
                                  ft_matrix_verdict *v) {
  bool foreign;
  const json_t *passed = json_object_get(root, "passed");
  FT_TRY(ft_document_check(dev, root, FORMAT, "verdict on matrix units", context, &foreign));
  if (!json_is_boolean(passed))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"passed\" is missing or damaged", context);
  v->passed = json_is_true(passed);
  FT_TRY(read_shape(root, "f16", context, &v->f16));
  FT_TRY(read_shape(root, "bf16", context, &v->bf16));
  if (v->passed && !v->f16.m && !v->bf16.m)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: no shape has passed", context);
  const char *why = ft_json_string(root, "why");
  if (strlen(why) >= sizeof v->why)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"why\" has more than %zu bytes", context,
                   sizeof v->why - 1);
  snprintf(v->why, sizeof v->why, "%s", why);
  v->tested = true;
  return FILTRA_OK;
}

filtra_status ft_matrix_parse(const filtra_device *dev, const char *text, size_t size,
                              const char *context, ft_matrix_verdict *out) {
  json_t *root = NULL;
  ft_matrix_verdict v = {0};
  *out = (ft_matrix_verdict){0};
  FT_TRY(ft_json_parse(text, size, context, &root));
  filtra_status status = read_verdict(dev, root, context, &v);
  if (!status) *out = v;
  json_decref(root);
  return status;
}

static filtra_status load(const filtra_device *dev, const char *path, ft_matrix_verdict *out) {
  enum { LIMIT = 64 << 10 };
  char *text = NULL;
  size_t size;
  if (!ft_is_private(path))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: others than its user could have written it", path);
  FT_TRY(ft_file_read(path, LIMIT, &text, &size));
  filtra_status status = ft_matrix_parse(dev, text, size, path, out);
  free(text);
  return status;
}

filtra_status ft_matrix_open_cached(filtra_device *dev, const char *folder) {
  dev->matrix_path = ft_document_path(dev, folder, "matrices");
  if (!dev->matrix_path) return FILTRA_ERROR_HOST_MEMORY;
  if (ft_file_exists(dev->matrix_path) && load(dev, dev->matrix_path, &dev->matrix_verdict))
    ft_log(FILTRA_LOG_WARNING, "the verdict on matrix units is ignored: %s",
           filtra_error_message());
  return FILTRA_OK;
}

const ft_matrix_verdict *ft_matrix_verdict_of(const filtra_device *dev) {
  return &dev->matrix_verdict;
}

void ft_matrix_say_untested(filtra_device *dev) {
  const ft_caps *caps = &dev->caps;
  if (!caps->matrix || caps->matrix_use != FT_MATRIX_TUNED || dev->matrix_verdict.tested) return;
  if (atomic_exchange(&dev->matrix_said, true)) return;
  ft_log(
      FILTRA_LOG_WARNING,
      "%s: 16 bits are computed without its matrix units, which are not tested yet: `filtra tune "
      "--precision bf16`, or fp16,%s tests them and finds the fastest kernels",
      caps->info.name, dev->matrix_path ? "" : " with a cache folder,");
}

const char *ft_matrix_path_of(const filtra_device *dev) {
  return dev->matrix_path;
}
