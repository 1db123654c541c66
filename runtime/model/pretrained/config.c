/* Reads Hugging Face's config.json into Filtra's keys by a family's table, and writes it. Called by
 * model/start.c and export.c. */
#include "model/pretrained/filters.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Names of activations. Where several of theirs mean one of ours, the first is written. */
static const struct {
  const char *ours, *theirs;
} ACTIVATIONS[] = {{"gelu", "gelu"},           {"gelu_tanh", "gelu_new"},
                   {"gelu_tanh", "gelu_fast"}, {"gelu_tanh", "gelu_pytorch_tanh"},
                   {"relu", "relu"},           {"tanh", "tanh"}};

static filtra_status out_of_memory(void) {
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

static filtra_status set(json_t *object, const char *key, json_t *value) {
  return json_object_set_new(object, key, value) ? out_of_memory() : FILTRA_OK;
}

filtra_status ft_hf_set(json_t *keys, const char *format, ...) {
  va_list list;
  va_start(list, format);
  json_t *more = json_vpack_ex(NULL, 0, format, list);
  va_end(list);
  const bool failed = !more || json_object_update(keys, more);
  json_decref(more);
  return failed ? out_of_memory() : FILTRA_OK;
}

/* ---- reading ---- */

static const json_t *value_of(const ft_hf_config *config, const char *key) {
  const json_t *value = json_object_get(config->json, key);
  return json_is_null(value) ? NULL : value;
}

static filtra_status fail_key(const ft_hf_config *config, const char *key, const char *accepted) {
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" %s; accepted %s", config->path, key,
                 value_of(config, key) ? "is something else" : "is missing", accepted);
}

static filtra_status read_int(const ft_hf_config *c, const ft_hf_key *k, json_t *keys) {
  const json_t *value = value_of(c, k->theirs);
  if (!value && !isnan(k->usual)) return set(keys, k->ours, json_integer((json_int_t)k->usual));
  if (json_is_integer(value) && json_integer_value(value) >= 0)
    return set(keys, k->ours, json_integer(json_integer_value(value)));
  return fail_key(c, k->theirs, "are whole numbers from 0 on");
}

static filtra_status read_number(const ft_hf_config *c, const ft_hf_key *k, json_t *keys) {
  const json_t *value = value_of(c, k->theirs);
  double number = json_is_number(value) ? json_number_value(value) : k->usual;
  if (!value && k->usually) number = json_number_value(json_object_get(keys, k->usually));
  if ((value && !json_is_number(value)) || isnan(number))
    return fail_key(c, k->theirs, "are numbers");
  if (k->kind != FT_HF_DROPOUT) return set(keys, k->ours, json_real(number));
  return ft_hf_set(keys, "{s{ss sf}}", "mixer", "name", "softmax", k->ours, number);
}

static filtra_status read_activation(const ft_hf_config *c, const ft_hf_key *k, json_t *keys) {
  const char *name = json_string_value(value_of(c, k->theirs));
  for (size_t i = 0; name && i < FT_COUNT(ACTIVATIONS); i++)
    if (!strcmp(ACTIVATIONS[i].theirs, name))
      return set(keys, k->ours, json_string(ACTIVATIONS[i].ours));
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: \"%s\" is %s%.40s%s; accepted are gelu, gelu_new, gelu_fast, "
                 "gelu_pytorch_tanh, relu and tanh",
                 c->path, k->theirs, name ? "\"" : "", name ? name : "missing or no text",
                 name ? "\"" : "");
}

static filtra_status read_side(const ft_hf_config *c, const ft_hf_key *k, json_t *keys) {
  const json_t *value = value_of(c, k->theirs);
  if (json_is_array(value) && json_array_size(value) == 2 &&
      json_equal(json_array_get(value, 0), json_array_get(value, 1)))
    value = json_array_get(value, 0);
  const json_int_t side = json_integer_value(value);
  if (side > 0) return set(keys, k->ours, json_integer(side));
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is not the side of a square in pixels", c->path,
                 k->theirs);
}

static filtra_status read_key(const ft_hf_config *c, const ft_hf_key *k, json_t *keys) {
  switch (k->kind) {
  case FT_HF_INT:
    return read_int(c, k, keys);
  case FT_HF_ACTIVATION:
    return read_activation(c, k, keys);
  case FT_HF_SIDE:
    return read_side(c, k, keys);
  default:
    return read_number(c, k, keys);
  }
}

/* Fails unless the key is missing, null, or has the accepted value. */
static filtra_status require(const ft_hf_config *c, const char *key, const json_t *accepted) {
  const json_t *value = value_of(c, key);
  if (!value || json_equal(value, accepted)) return FILTRA_OK;
  char *text = ft_json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY),
       *wanted = ft_json_dumps(accepted, JSON_COMPACT | JSON_ENCODE_ANY);
  filtra_status status = text && wanted
                             ? ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is %.60s; accepted is %s",
                                       c->path, key, text, wanted)
                             : FILTRA_ERROR_HOST_MEMORY;
  free(text);
  free(wanted);
  return status;
}

static filtra_status require_all(const ft_hf_family *family, const ft_hf_config *c) {
  json_t *all;
  const char *key;
  json_t *value;
  filtra_status status = FILTRA_OK;
  FT_TRY(ft_json_parse(family->theirs, strlen(family->theirs), family->type, &all));
  json_object_foreach(all, key, value) {
    if (!status) status = require(c, key, value);
  }
  json_decref(all);
  return status;
}

/* Reads the mixer that a folder exported by Filtra puts in attention's place. */
static filtra_status read_filters(const ft_hf_config *c, json_t *keys) {
  const char *type = ft_json_string(c->json, "model_type");
  json_t *mixer = json_object_get(c->json, FT_HF_MIXER_KEY);
  if (mixer) return json_object_set(keys, "mixer", mixer) ? out_of_memory() : FILTRA_OK;
  if (strncmp(type, FT_HF_FILTERED, strlen(FT_HF_FILTERED)) != 0) return FILTRA_OK;
  return fail_key(c, FT_HF_MIXER_KEY, "are mixers, as in a configuration");
}

filtra_status ft_hf_read_keys(const ft_hf_family *family, const ft_hf_config *config,
                              json_t *keys) {
  json_t *ours;
  FT_TRY(require_all(family, config));
  FT_TRY(ft_json_parse(family->ours, strlen(family->ours), family->type, &ours));
  const int failed = json_object_update(keys, ours);
  json_decref(ours);
  if (failed) return out_of_memory();
  for (size_t i = 0; i < family->keys.count; i++)
    FT_TRY(read_key(config, &family->keys.list[i], keys));
  FT_TRY(read_filters(config, keys));
  return family->adjust ? family->adjust(config, keys) : FILTRA_OK;
}

static const char MULTI_LABEL[] = "multi_label_classification";

filtra_status ft_hf_read_labels(const ft_hf_config *config, json_t *keys) {
  const char *kind = ft_json_string(config->json, "problem_type");
  const json_t *names = value_of(config, "id2label"), *count = value_of(config, "num_labels");
  const json_int_t labels = names   ? (json_int_t)json_object_size(names)
                            : count ? json_integer_value(count)
                                    : 2;
  if (!strcmp(kind, MULTI_LABEL))
    return ft_hf_set(keys, "{ss sI}", "task", "multi_label", "classes", labels);
  if (labels == 1)
    return ft_hf_set(keys, "{ss sf sf}", "task", "regression", "target_mean", 0.0, "target_scale",
                     1.0);
  if (strcmp(kind, "regression") != 0)
    return ft_hf_set(keys, "{ss sI}", "task", "classification", "classes", labels);
  return ft_fail(FILTRA_ERROR_INPUT, "%s: regression of %lld numbers; accepted is one",
                 config->path, (long long)labels);
}

/* ---- writing ---- */

/* Writes the dropout of the first mixer that has one. */
static filtra_status write_dropout(const ft_hf_key *k, const json_t *mixer, json_t *config) {
  json_t *value = json_object_get(mixer, k->ours);
  for (size_t i = 0; i < json_array_size(mixer) && !value; i++)
    value = json_object_get(json_array_get(mixer, i), k->ours);
  return set(config, k->theirs, value ? json_incref(value) : json_real(0.0));
}

/* Gives the folder a model type of its own: a `transformers` that lacks the filters must refuse
 * it. */
static filtra_status write_filters(const ft_hf_family *family, const json_t *keys, json_t *config) {
  const bool language = !*family->classifier, images = json_object_get(config, "image_size");
  char type[80], module[80], model[80], head[120], settings[80];
  snprintf(type, sizeof type, FT_HF_FILTERED "%s", family->type);
  snprintf(module, sizeof module, FT_HF_MODULE ".Filtra%s", family->name);
  snprintf(settings, sizeof settings, "%.60sConfig", module);
  snprintf(model, sizeof model, "%.60sModel", module);
  snprintf(head, sizeof head, "%.60s%s", module, language ? "LMHeadModel" : family->classifier);
  const char *heads = language ? "AutoModelForCausalLM"
                      : images ? "AutoModelForImageClassification"
                               : "AutoModelForSequenceClassification";
  FT_TRY(ft_hf_set(config, "{ss s[s] s{ss ss ss} sO}", "model_type", type, "architectures",
                   strchr(head, '.') + 1, "auto_map", "AutoConfig", settings, "AutoModel", model,
                   heads, head, FT_HF_MIXER_KEY, json_object_get(keys, "mixer")));
  return language ? ft_hf_set(config, "{sb}", "use_cache", 0) : FILTRA_OK;
}

static filtra_status write_key(const ft_hf_key *k, const json_t *keys, json_t *config) {
  const json_t *value = json_object_get(keys, k->ours);
  if (k->kind == FT_HF_DROPOUT) return write_dropout(k, json_object_get(keys, "mixer"), config);
  const char *name = json_string_value(value);
  for (size_t i = 0; k->kind == FT_HF_ACTIVATION && name && i < FT_COUNT(ACTIVATIONS); i++)
    if (!strcmp(ACTIVATIONS[i].ours, name))
      return set(config, k->theirs, json_string(ACTIVATIONS[i].theirs));
  return json_object_set(config, k->theirs, (json_t *)value) ? out_of_memory() : FILTRA_OK;
}

/* Fails if an earlier key, which is the same one of theirs, has another value. */
static filtra_status check_shared(const ft_hf_family *family, size_t row, const json_t *keys) {
  const ft_hf_key *list = family->keys.list, *k = &list[row];
  const json_t *value = json_object_get(keys, k->ours), *other;
  for (size_t i = 0; i < row; i++)
    if (!strcmp(list[i].theirs, k->theirs) && json_is_integer(value) &&
        json_is_integer(other = json_object_get(keys, list[i].ours)) && !json_equal(value, other))
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "\"%s\" is %lld and \"%s\" %lld; a %s has one \"%s\" for both", k->ours,
                     (long long)json_integer_value(value), list[i].ours,
                     (long long)json_integer_value(other), family->type, k->theirs);
  return FILTRA_OK;
}

/* Writes the names of the labels; a regression has one. */
static filtra_status write_labels(const json_t *keys, const json_t *classes, json_t *config) {
  const bool value = !strcmp(ft_json_string(keys, "task"), "regression");
  const json_int_t count = value ? 1 : json_integer_value(json_object_get(keys, "classes"));
  json_t *names = json_object(), *ids = json_object();
  int failed = 0;
  for (json_int_t i = 0; i < count; i++) {
    char id[24], label[32];
    snprintf(id, sizeof id, "%lld", (long long)i);
    snprintf(label, sizeof label, "LABEL_%lld", (long long)i);
    const char *name = json_string_value(json_array_get(classes, (size_t)i));
    failed |= json_object_set_new(names, id, json_string(name ? name : label));
    failed |= json_object_set_new(ids, name ? name : label, json_integer(i));
  }
  failed |= json_object_set_new(config, "id2label", names);
  failed |= json_object_set_new(config, "label2id", ids);
  const bool several = !strcmp(ft_json_string(keys, "task"), "multi_label");
  if (value || several)
    failed |= json_object_set_new(config, "problem_type",
                                  json_string(value ? "regression" : MULTI_LABEL));
  return failed ? out_of_memory() : FILTRA_OK;
}

filtra_status ft_hf_write_config(const ft_hf_family *family, const json_t *keys,
                                 const json_t *classes, json_t **out) {
  const bool language = !*family->classifier;
  char architecture[80];
  snprintf(architecture, sizeof architecture, "%s%s", family->name,
           language ? "LMHeadModel" : family->classifier);
  *out = NULL;
  FT_TRY(ft_json_parse(family->theirs, strlen(family->theirs), family->type, out));
  filtra_status status = ft_hf_set(*out, "{ss s[s] ss}", "model_type", family->type,
                                   "architectures", architecture, "dtype", "float32");
  for (size_t i = 0; i < family->keys.count && !status; i++) {
    status = check_shared(family, i, keys);
    if (!status) status = write_key(&family->keys.list[i], keys, *out);
  }
  if (!status && !language) status = write_labels(keys, classes, *out);
  if (!status && family->restore) status = family->restore(keys, *out);
  if (!status && ft_hf_is_filtered(keys)) status = write_filters(family, keys, *out);
  if (!status) return FILTRA_OK;
  json_decref(*out);
  *out = NULL;
  return status;
}
