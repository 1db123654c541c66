/* Tuning files: JSON, for one device, driver and library version. Their content is not trusted: a
 * configuration must be a row of the tables. Called by ops/device.c, ops/tuner.c, train/ and
 * `filtra tune`. */
#include "ops/tuning.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "gpu/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char FORMAT[] = "filtra-tuning-1";

char *ft_tuning_path(const filtra_device *dev, const char *folder) {
  return folder ? ft_document_path(dev, folder, "tuning") : NULL;
}

/* ---- reading ---- */

static bool find_family(const char *key, ft_tuning_family *family) {
  size_t length = strcspn(key, " ");
  for (int i = 0; i < FT_TUNING_FAMILIES; i++) {
    const char *name = ft_configurations((ft_tuning_family)i)->name;
    if (strlen(name) != length || strncmp(name, key, length)) continue;
    *family = (ft_tuning_family)i;
    return true;
  }
  return false;
}

static filtra_status read_configuration(const json_t *object, ft_tuning_family family,
                                        const char *context, const char *key,
                                        ft_configuration *out) {
  const ft_configuration_table *t = ft_configurations(family);
  *out = (ft_configuration){0};
  bool whole = json_is_object(object) && json_object_size(object) == t->field_count;
  for (uint32_t i = 0; i < t->field_count && whole; i++) {
    const json_t *value = json_object_get(object, t->fields[i]);
    json_int_t number = json_integer_value(value);
    whole = json_is_integer(value) && number >= 0 && number <= INT32_MAX;
    out->value[i] = (uint32_t)number;
  }
  if (whole && ft_configuration_known(family, out)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" has a configuration that %s does not have",
                 context, key, t->name);
}

static filtra_status read_refusals(const json_t *list, const char *context,
                                   ft_tuning_entry *entry) {
  size_t i;
  json_t *item;
  json_array_foreach(list, i, item) {
    ft_configuration c;
    FT_TRY(read_configuration(json_object_get(item, "configuration"), entry->family, context,
                              entry->key, &c));
    FT_TRY(ft_tuning_refuse(entry, &c, ft_json_string(item, "why")));
  }
  return FILTRA_OK;
}

static double seconds_of(const json_t *item, const char *key) {
  double seconds = json_number_value(json_object_get(item, key));
  return seconds > 0.0 ? seconds : 0.0;
}

static filtra_status read_entry(const json_t *item, const char *context, ft_tuning *t) {
  const char *key = ft_json_string(item, "key");
  ft_tuning_family family;
  if (strlen(key) >= FT_TUNING_KEY || !find_family(key, &family))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%.40s\" is no key that this version has", context,
                   key);
  if (ft_tuning_find(t, key))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is there twice", context, key);
  ft_tuning_entry *entry = ft_tuning_add(t, key, family);
  if (!entry) return FILTRA_ERROR_HOST_MEMORY;
  const json_t *choice = json_object_get(item, "configuration");
  entry->chosen = choice && !json_is_null(choice);
  if (entry->chosen) FT_TRY(read_configuration(choice, family, context, key, &entry->choice));
  entry->standard_seconds = seconds_of(item, "default_seconds");
  entry->seconds = seconds_of(item, "seconds");
  entry->runs = (uint32_t)json_integer_value(json_object_get(item, "runs"));
  return read_refusals(json_object_get(item, "refused"), context, entry);
}

static filtra_status read_entries(const json_t *root, const char *context, ft_tuning *t) {
  const json_t *list = json_object_get(root, "entries");
  size_t i;
  json_t *item;
  if (!json_is_array(list))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"entries\" is missing or damaged", context);
  json_array_foreach(list, i, item) FT_TRY(read_entry(item, context, t));
  return FILTRA_OK;
}

filtra_status ft_tuning_parse(const filtra_device *dev, const char *text, size_t size,
                              const char *context, bool *foreign, ft_tuning **out) {
  json_t *root = NULL;
  *out = NULL;
  *foreign = false;
  FT_TRY(ft_json_parse(text, size, context, &root));
  ft_tuning *t = ft_tuning_new();
  filtra_status status = t ? ft_document_check(dev, root, FORMAT, "tuning file", context, foreign)
                           : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = read_entries(root, context, t);
  if (status) ft_tuning_release(&t);
  json_decref(root);
  *out = t;
  return status;
}

filtra_status ft_tuning_load(const filtra_device *dev, const char *path, bool *foreign,
                             ft_tuning **out) {
  enum { LIMIT = 16 << 20 };
  char *text = NULL;
  size_t size;
  *out = NULL;
  *foreign = false;
  FT_TRY(ft_file_read(path, LIMIT, &text, &size));
  filtra_status status = ft_tuning_parse(dev, text, size, path, foreign, out);
  free(text);
  if (!status && !((*out)->path = ft_strdup(path))) {
    ft_tuning_release(out);
    status = FILTRA_ERROR_HOST_MEMORY;
  }
  return status;
}

/* ---- writing ---- */

static json_t *refusals_json(const ft_tuning_entry *e) {
  json_t *list = json_array();
  for (size_t i = 0; i < e->refused_count; i++)
    ft_json_append(&list, json_pack("{so ss}", "configuration",
                                    ft_configuration_json(e->family, &e->refused[i].configuration),
                                    "why", e->refused[i].why));
  return list;
}

static json_t *choice_json(const ft_tuning_entry *e) {
  json_t *choice = e->chosen ? ft_configuration_json(e->family, &e->choice) : json_null();
  return json_pack("{ss so}", "key", e->key, "configuration", choice);
}

json_t *ft_tuning_entry_json(const ft_tuning_entry *e) {
  json_t *object = choice_json(e);
  if (e->standard_seconds > 0.0)
    object = ft_json_join(object, json_pack("{sf sf sI}", "default_seconds", e->standard_seconds,
                                            "seconds", e->seconds, "runs", (json_int_t)e->runs));
  if (e->refused_count)
    object = ft_json_join(object, json_pack("{so}", "refused", refusals_json(e)));
  return object;
}

static json_t *document(const filtra_device *dev, const ft_tuning *t, bool whole) {
  json_t *entries = json_array();
  for (size_t i = 0; t && i < t->count; i++)
    if (whole || t->entries[i].chosen)
      ft_json_append(&entries,
                     whole ? ft_tuning_entry_json(&t->entries[i]) : choice_json(&t->entries[i]));
  return ft_json_join(ft_document_new(dev, FORMAT), json_pack("{so}", "entries", entries));
}

char *ft_tuning_choices(const filtra_device *dev, const ft_tuning *tuning) {
  return ft_json_text(document(dev, tuning, false), JSON_COMPACT | JSON_REAL_PRECISION(9));
}

filtra_status ft_tuning_save(const filtra_device *dev, const ft_tuning *tuning, const char *path) {
  json_t *root = ft_json_join(document(dev, tuning, true), json_pack("{ss}", "date", ft_date()));
  char *text = ft_json_line(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
  filtra_status status =
      text ? ft_file_write_below(path, text, strlen(text)) : FILTRA_ERROR_HOST_MEMORY;
  free(text);
  return status;
}

void ft_tuning_open_cached(filtra_device *dev) {
  ft_tuning *tuning = NULL;
  char *path = ft_tuning_path(dev, ft_cache_folder_of(dev));
  bool foreign;
  if (path && ft_file_exists(path) && ft_tuning_load(dev, path, &foreign, &tuning))
    ft_log(FILTRA_LOG_WARNING, "tuning is ignored: %s", filtra_error_message());
  free(path);
  if (!tuning) return;
  ft_tuning *before = ft_tuning_use(dev, tuning);
  ft_tuning_release(&before);
}
