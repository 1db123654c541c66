/* Reads values of Hugging Face's config.json into keys of ours. Called by the families. */
#include "model/pretrained/family.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const json_t *value_of(const ft_hf_config *config, const char *key) {
  const json_t *value = json_object_get(config->json, key);
  return json_is_null(value) ? NULL : value;
}

static filtra_status set(json_t *keys, const char *key, json_t *value) {
  if (!json_object_set_new(keys, key, value)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

filtra_status ft_hf_take_int(const ft_hf_config *config, const char *theirs, int64_t usual,
                             json_t *keys, const char *ours) {
  const json_t *value = value_of(config, theirs);
  if (!value && usual >= 0) return set(keys, ours, json_integer(usual));
  if (json_is_integer(value) && json_integer_value(value) >= 0)
    return set(keys, ours, json_integer(json_integer_value(value)));
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" %s; accepted are whole numbers from 0 on",
                 config->path, theirs, value ? "is no whole number from 0 on" : "is missing");
}

filtra_status ft_hf_take_number(const ft_hf_config *config, const char *theirs, double usual,
                                json_t *keys, const char *ours) {
  const json_t *value = value_of(config, theirs);
  if (!value && !isnan(usual)) return set(keys, ours, json_real(usual));
  if (json_is_number(value)) return set(keys, ours, json_real(json_number_value(value)));
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" %s; accepted are numbers", config->path, theirs,
                 value ? "is no number" : "is missing");
}

filtra_status ft_hf_take_activation(const ft_hf_config *config, const char *theirs, json_t *keys) {
  static const struct {
    const char *theirs, *ours;
  } known[] = {{"gelu", "gelu"},           {"gelu_new", "gelu_tanh"},
               {"gelu_fast", "gelu_tanh"}, {"gelu_pytorch_tanh", "gelu_tanh"},
               {"relu", "relu"},           {"tanh", "tanh"}};
  const char *name = json_string_value(value_of(config, theirs));
  for (size_t i = 0; name && i < FT_COUNT(known); i++)
    if (!strcmp(known[i].theirs, name)) return set(keys, "activation", json_string(known[i].ours));
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: \"%s\" is %s%.40s%s; accepted are gelu, gelu_new, gelu_fast, "
                 "gelu_pytorch_tanh, relu and tanh",
                 config->path, theirs, name ? "\"" : "", name ? name : "missing or no text",
                 name ? "\"" : "");
}

filtra_status ft_hf_take_mixer(const ft_hf_config *config, const char *theirs, json_t *keys) {
  json_t *mixer = json_pack("{ss}", "name", "softmax");
  filtra_status status = set(keys, "mixer", mixer);
  return status ? status : ft_hf_take_number(config, theirs, 0.0, mixer, "attention_dropout");
}

filtra_status ft_hf_take_labels(const ft_hf_config *config, json_t *keys) {
  const char *kind = ft_json_string(config->json, "problem_type");
  const json_t *names = value_of(config, "id2label"), *count = value_of(config, "num_labels");
  const json_int_t labels = names   ? (json_int_t)json_object_size(names)
                            : count ? json_integer_value(count)
                                    : 2;
  if (!strcmp(kind, "multi_label_classification"))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"problem_type\" is \"%s\"; accepted are single_label_classification and "
                   "regression",
                   config->path, kind);
  if (labels == 1 || !strcmp(kind, "regression")) {
    if (labels == 1)
      return ft_hf_set(keys, "{ss sf sf}", "task", "regression", "target_mean", 0.0, "target_scale",
                       1.0);
    return ft_fail(FILTRA_ERROR_INPUT, "%s: regression of %lld numbers; accepted is one",
                   config->path, (long long)labels);
  }
  return ft_hf_set(keys, "{ss sI}", "task", "classification", "classes", labels);
}

filtra_status ft_hf_set(json_t *keys, const char *format, ...) {
  va_list list;
  va_start(list, format);
  json_t *more = json_vpack_ex(NULL, 0, format, list);
  va_end(list);
  const bool failed = !more || json_object_update(keys, more);
  json_decref(more);
  return failed ? ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory") : FILTRA_OK;
}

filtra_status ft_hf_require(const ft_hf_config *config, const char *theirs, const char *accepted) {
  const json_t *value = value_of(config, theirs);
  if (!value) return FILTRA_OK;
  char *text = ft_json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
  if (!text) return FILTRA_ERROR_HOST_MEMORY;
  const bool same = !strcmp(text, accepted);
  if (!same)
    ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is %.60s; accepted is %s", config->path, theirs, text,
            accepted);
  free(text);
  return same ? FILTRA_OK : FILTRA_ERROR_INPUT;
}
