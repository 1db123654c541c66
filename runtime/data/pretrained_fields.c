/* Fields of tokenizer.json. Called by pretrained_read.c, pretrained_models.c and
 * pretrained_frame.c. */
#include "data/pretrained_fields.h"

#include <string.h>

filtra_status ft_pretrained_keys(const json_t *object, const char *where,
                                 const char *const *known) {
  const char *key;
  json_t *value;
  if (!json_is_object(object)) return ft_fail(FILTRA_ERROR_INPUT, "\"%s\" is no object", where);
  json_object_foreach((json_t *)object, key, value) {
    const char *const *name = known;
    while (*name && strcmp(*name, key) != 0)
      name++;
    if (!*name)
      return ft_fail(FILTRA_ERROR_INPUT, "\"%s\" has \"%.64s\", which is not known", where, key);
  }
  return FILTRA_OK;
}

filtra_status ft_pretrained_bool(const json_t *object, const char *where, const char *key,
                                 bool usual, bool *out) {
  const json_t *value = json_object_get(object, key);
  *out = json_is_boolean(value) ? json_is_true(value) : usual;
  if (!value || json_is_null(value) || json_is_boolean(value)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "\"%s\": \"%s\" must be true or false", where, key);
}

filtra_status ft_pretrained_type(const json_t *object, const char *where, const char *known) {
  return ft_fail(FILTRA_ERROR_INPUT, "\"%s\" is of type \"%.64s\"; known is %s", where,
                 ft_json_string(object, "type"), known);
}
