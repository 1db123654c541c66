#include "common/fields.h"

#include <math.h>

enum { LONGEST_TEXT = 4096 };

json_t *fields_number(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

const char *fields_type(const json_t *value) {
  static const char *const NAMES[] = {"an object", "a list", "text",  "a number",
                                      "a number",  "true",   "false", "null"};
  return NAMES[json_typeof(value)];
}

static filtra_status wrong(const char *where, const char *name, const char *wanted,
                           const json_t *value) {
  if (!value) return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is missing", where, name);
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" must be %s, not %s", where, name, wanted,
                 fields_type(value));
}

static filtra_status read_text(const json_t *value, const field *f, const char *where,
                               const char **out) {
  *out = "";
  if (!value && !f->needed) return FILTRA_OK;
  if (!json_is_string(value)) return wrong(where, f->name, "text", value);
  *out = json_string_value(value);
  if (f->needed && !**out)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is empty", where, f->name);
  if (json_string_length(value) <= LONGEST_TEXT) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" has %zu bytes, at most %d are accepted", where,
                 f->name, json_string_length(value), LONGEST_TEXT);
}

static filtra_status read_number(const json_t *value, const field *f, const char *where,
                                 double *out) {
  bool signs = f->kind == FIELD_NUMBER;
  *out = NAN;
  if ((!value || json_is_null(value)) && !f->needed) return FILTRA_OK;
  if (!json_is_number(value))
    return wrong(where, f->name, signs ? "a number" : "a number of 0 or more", value);
  *out = json_number_value(value);
  if (signs || *out >= 0.0) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is %.6g, accepted is 0 or more", where, f->name,
                 *out);
}

filtra_status fields_read(const json_t *object, const field *fields, size_t count,
                          const char *where, void *out) {
  for (size_t i = 0; i < count; i++) {
    const field *f = &fields[i];
    const json_t *value = json_object_get(object, f->name);
    void *at = (char *)out + f->offset;
    switch (f->kind) {
    case FIELD_TEXT:
      FT_TRY(read_text(value, f, where, at));
      break;
    case FIELD_AMOUNT:
    case FIELD_NUMBER:
      FT_TRY(read_number(value, f, where, at));
      break;
    case FIELD_FLAG:
      if (value && !json_is_boolean(value)) return wrong(where, f->name, "true or false", value);
      *(bool *)at = json_is_true(value);
      break;
    }
  }
  return FILTRA_OK;
}

filtra_status fields_find(const json_t *root, const char *where, const char *name, json_type type,
                          bool needed, const json_t **out) {
  *out = json_object_get(root, name);
  if (*out ? json_typeof(*out) == type : !needed) return FILTRA_OK;
  return wrong(where, name, type == JSON_OBJECT ? "an object" : "a list", *out);
}
