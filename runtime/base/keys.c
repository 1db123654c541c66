/* Reads and writes option structs by their tables of keys: from JSON, to JSON, completed with
 * defaults, and as text. Called by train/config.c for configurations, and by model/, nn/mixer.c and
 * data/ for their options. */
#include "base/keys.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

/* Where a value comes from, for error messages. */
typedef struct source {
  const char *context;  /* printed before the key's name */
  filtra_status status; /* status to fail with */
} source;

/* ---- names ---- */

static filtra_status unknown_key(const char *name, const ft_keys *keys, const char *context) {
  const char *nearest = ft_nearest_name(name, keys->list, keys->count, sizeof *keys->list);
  if (nearest)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: unknown key \"%.64s\" (did you mean \"%s\"?)", context,
                   name, nearest);
  return ft_fail(FILTRA_ERROR_INPUT, "%s: unknown key \"%.64s\"", context, name);
}

static filtra_status check_names(const json_t *object, const ft_keys *keys, const char *context) {
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)object, name, value) {
    size_t i = 0;
    while (i < keys->count && strcmp(keys->list[i].name, name))
      i++;
    if (i == keys->count) return unknown_key(name, keys, context);
  }
  return FILTRA_OK;
}

/* ---- values ---- */

static filtra_status check_range(const ft_key *k, double value, source from) {
  if (value >= k->low && value <= k->high) return FILTRA_OK;
  return ft_fail(from.status, "%s: \"%s\" is %.10g, accepted are %.10g to %.10g", from.context,
                 k->name, value, k->low, k->high);
}

static void list_names(const ft_key *k, char text[FT_KEY_TEXT]) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; k->names[i] && used < FT_KEY_TEXT; i++)
    if (*k->names[i])
      used +=
          (size_t)snprintf(text + used, FT_KEY_TEXT - used, "%s%s", used ? ", " : "", k->names[i]);
}

static filtra_status refuse_name(const ft_key *k, source from) {
  char list[FT_KEY_TEXT];
  list_names(k, list);
  return ft_fail(from.status, "%s: \"%s\" must be one of %s", from.context, k->name, list);
}

/* Index of the name; -1 if there is none. */
static int find_name(const ft_key *k, const char *name) {
  for (int i = 0; name && *name && k->names[i]; i++)
    if (!strcmp(name, k->names[i])) return i;
  return -1;
}

static bool has_name(const ft_key *k, int value) {
  int count = 0;
  while (k->names[count])
    count++;
  return value >= 0 && value < count && *k->names[value];
}

static int64_t get_int(const ft_key *k, const void *at) {
  return k->size == sizeof(uint32_t) ? (int64_t) * (const uint32_t *)at : *(const int64_t *)at;
}

static void set_int(const ft_key *k, void *at, int64_t value) {
  if (k->size == sizeof(uint32_t))
    *(uint32_t *)at = (uint32_t)value;
  else
    *(int64_t *)at = value;
}

/* Value of a key whose type is one number. */
static double get_number(const ft_key *k, const void *at) {
  return k->type == FT_KEY_INT     ? (double)get_int(k, at)
         : k->type == FT_KEY_FLOAT ? ft_shortest(*(const float *)at)
         : k->type == FT_KEY_BOOL  ? *(const bool *)at
                                   : *(const int *)at;
}

static void set_number(const ft_key *k, void *at, double value) {
  if (k->type == FT_KEY_INT)
    set_int(k, at, (int64_t)value);
  else if (k->type == FT_KEY_FLOAT)
    *(float *)at = (float)value;
  else if (k->type == FT_KEY_BOOL)
    *(bool *)at = value != 0.0;
  else
    *(int *)at = (int)value;
}

static void set_default(const ft_key *k, void *at) {
  ft_floats *list = at;
  if (k->type == FT_KEY_STRING || k->type == FT_KEY_LIST)
    *(char *)at = '\0';
  else if (k->type == FT_KEY_FLOATS)
    for (list->count = 0; !isnan(k->list[list->count]); list->count++)
      list->values[list->count] = k->list[list->count];
  else if (k->type != FT_KEY_OTHER)
    set_number(k, at, k->fallback);
}

bool ft_key_is_default(const ft_key *k, const void *options) {
  const void *at = (const char *)options + k->offset;
  const ft_floats *list = at;
  int64_t i = 0;
  switch (k->type) {
  case FT_KEY_OTHER:
    return true;
  case FT_KEY_STRING:
  case FT_KEY_LIST:
    return !*(const char *)at;
  case FT_KEY_FLOATS:
    while (i < list->count && k->list[i] == list->values[i])
      i++;
    return i == list->count && isnan(k->list[i]);
  case FT_KEY_FLOAT:
    return *(const float *)at == (float)k->fallback;
  default:
    return get_number(k, at) == k->fallback;
  }
}

/* ---- from JSON ---- */

static filtra_status wrong_type(const ft_key *k, source from, const char *wanted) {
  return ft_fail(from.status, "%s: \"%s\" must be %s", from.context, k->name, wanted);
}

static filtra_status read_number(const json_t *value, const ft_key *k, source from, double *out) {
  bool whole = k->type == FT_KEY_INT;
  if (whole ? !json_is_integer(value) : !json_is_number(value))
    return wrong_type(k, from, whole ? "a whole number" : "a number");
  *out = json_number_value(value);
  return check_range(k, *out, from);
}

/* The value as text: a string, or the digits of a whole number where the key accepts one. NULL: the
 * value is neither. */
static const char *text_of(const ft_key *k, const json_t *value, char digits[24]) {
  if (k->numbered && json_is_integer(value)) {
    snprintf(digits, 24, "%lld", (long long)json_integer_value(value));
    return digits;
  }
  return json_string_value(value);
}

static filtra_status read_string(const json_t *value, const ft_key *k, source from, char *out) {
  char digits[24];
  const char *text = text_of(k, value, digits);
  if (!text) return wrong_type(k, from, "a string");
  if (strlen(text) >= k->size)
    return ft_fail(from.status, "%s: \"%s\" is longer than %zu characters", from.context, k->name,
                   k->size - 1);
  memcpy(out, text, strlen(text) + 1);
  return FILTRA_OK;
}

/* Appends one text to a list. */
static filtra_status add_text(const ft_key *k, source from, const char *text, char *out) {
  const size_t used = strlen(out), length = strlen(text);
  if (!*text || strchr(text, ','))
    return ft_fail(from.status, "%s: \"%s\" lists \"%.60s\", accepted are texts without commas",
                   from.context, k->name, text);
  if (used + length + 1 >= k->size)
    return ft_fail(from.status, "%s: \"%s\" is longer than %zu characters", from.context, k->name,
                   k->size - 1);
  snprintf(out + used, k->size - used, "%s%s", used ? "," : "", text);
  return FILTRA_OK;
}

static filtra_status read_list(const json_t *value, const ft_key *k, source from, char *out) {
  const char *name;
  json_t *number;
  char text[256], digits[24];
  if (text_of(k, value, digits)) return read_string(value, k, from, out);
  if (!json_is_array(value) && !json_is_object(value))
    return wrong_type(k, from, "a text or a list of texts");
  *out = '\0';
  for (size_t i = 0; i < json_array_size(value); i++) {
    const char *one = text_of(k, json_array_get(value, i), digits);
    if (!one) return wrong_type(k, from, "a text or a list of texts");
    FT_TRY(add_text(k, from, one, out));
  }
  json_object_foreach((json_t *)value, name, number) {
    if (!json_is_number(number)) return wrong_type(k, from, "a text, or numbers by name");
    ft_print(text, sizeof text, "%.200s=%.9g", name, json_number_value(number));
    FT_TRY(add_text(k, from, text, out));
  }
  return FILTRA_OK;
}

static filtra_status read_floats(const json_t *value, const ft_key *k, source from,
                                 ft_floats *out) {
  size_t count = json_is_array(value) ? json_array_size(value) : json_is_number(value);
  if (!count || count > FT_MOST_FLOATS)
    return wrong_type(k, from, "a number, or a list of 1 to 256 numbers");
  for (size_t i = 0; i < count; i++) {
    double number;
    FT_TRY(read_number(json_is_array(value) ? json_array_get(value, i) : value, k, from, &number));
    out->values[i] = (float)number;
  }
  out->count = (int64_t)count;
  return FILTRA_OK;
}

static filtra_status read_value(const json_t *value, const ft_key *k, source from, void *at) {
  double number = 0.0;
  switch (k->type) {
  case FT_KEY_OTHER:
    return FILTRA_OK;
  case FT_KEY_STRING:
    return read_string(value, k, from, at);
  case FT_KEY_LIST:
    return read_list(value, k, from, at);
  case FT_KEY_FLOATS:
    return read_floats(value, k, from, at);
  case FT_KEY_INT:
    FT_TRY(read_number(value, k, from, &number));
    set_int(k, at, (int64_t)json_integer_value(value));
    return FILTRA_OK;
  case FT_KEY_FLOAT:
    FT_TRY(read_number(value, k, from, &number));
    break;
  case FT_KEY_BOOL:
    if (!json_is_boolean(value)) return wrong_type(k, from, "true or false");
    number = json_is_true(value);
    break;
  case FT_KEY_ENUM:
    number = find_name(k, json_string_value(value));
    if (number < 0.0) return refuse_name(k, from);
    break;
  }
  set_number(k, at, number);
  return FILTRA_OK;
}

filtra_status ft_keys_read(const json_t *object, const ft_keys *keys, void *out,
                           const char *context) {
  const source from = {context, FILTRA_ERROR_INPUT};
  if (!json_is_object(object)) return ft_fail(from.status, "%s: must be a JSON object", context);
  FT_TRY(check_names(object, keys, context));
  for (size_t i = 0; i < keys->count; i++) {
    const ft_key *k = &keys->list[i];
    const json_t *value = json_object_get(object, k->name);
    if (value)
      FT_TRY(read_value(value, k, from, (char *)out + k->offset));
    else
      set_default(k, (char *)out + k->offset);
  }
  return FILTRA_OK;
}

/* ---- from a program ---- */

filtra_status ft_keys_complete(const ft_keys *keys, void *options, const char *context) {
  const source from = {context, FILTRA_ERROR_ARGUMENT};
  for (size_t i = 0; i < keys->count; i++) {
    const ft_key *k = &keys->list[i];
    void *at = (char *)options + k->offset;
    bool number = k->type == FT_KEY_INT || k->type == FT_KEY_FLOAT;
    if (!number && k->type != FT_KEY_ENUM) continue;
    if (get_number(k, at) == 0.0)
      set_default(k, at);
    else if (number)
      FT_TRY(check_range(k, get_number(k, at), from));
    else if (!has_name(k, *(const int *)at))
      return refuse_name(k, from);
  }
  return FILTRA_OK;
}

/* ---- to JSON ---- */

/* A list of one number is written as that number. */
static json_t *write_floats(const ft_floats *list) {
  if (list->count == 1) return json_real(ft_shortest(list->values[0]));
  json_t *array = json_array();
  for (int64_t i = 0; i < list->count; i++)
    ft_json_append(&array, json_real(ft_shortest(list->values[i])));
  return array;
}

static json_t *write_value(const ft_key *k, const void *at) {
  switch (k->type) {
  case FT_KEY_INT:
    return json_integer(get_int(k, at));
  case FT_KEY_FLOAT:
    return json_real(get_number(k, at));
  case FT_KEY_BOOL:
    return json_boolean(*(const bool *)at);
  case FT_KEY_ENUM:
    return json_string(k->names[*(const int *)at]);
  case FT_KEY_STRING:
  case FT_KEY_LIST:
    return json_string(at);
  case FT_KEY_FLOATS:
    return write_floats(at);
  case FT_KEY_OTHER:
    break;
  }
  return NULL;
}

json_t *ft_keys_write(const ft_keys *keys, const void *from) {
  json_t *object = json_object();
  for (size_t i = 0; i < keys->count && object; i++) {
    const ft_key *k = &keys->list[i];
    if (k->type == FT_KEY_OTHER) continue;
    json_t *value = write_value(k, (const char *)from + k->offset);
    if (!json_object_set_new(object, k->name, value)) continue;
    json_decref(object);
    object = NULL;
  }
  if (!object) ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  return object;
}

/* ---- in words ---- */

/* Writes the exponent as JSON does, without C's plus sign and leading zero. */
static void print_number(char *text, size_t size, double value) {
  ft_print(text, size, "%.10g", value);
  char *exponent = strchr(text, 'e');
  if (!exponent) return;
  char *digits = exponent + 1 + (exponent[1] == '-'), *from = exponent + 2;
  from += *from == '0';
  memmove(digits, from, strlen(from) + 1);
}

void ft_key_accepted(const ft_key *k, char text[FT_KEY_TEXT]) {
  static const char *const KINDS[] = {[FT_KEY_INT] = "whole number",
                                      [FT_KEY_FLOAT] = "number",
                                      [FT_KEY_FLOATS] = "number or list of numbers",
                                      [FT_KEY_BOOL] = "true or false",
                                      [FT_KEY_STRING] = "text",
                                      [FT_KEY_LIST] = "text or list of texts",
                                      [FT_KEY_OTHER] = "a name, or an object with options"};
  char low[32], high[32];
  if (k->type == FT_KEY_ENUM) {
    list_names(k, text);
  } else if (k->type == FT_KEY_INT || k->type == FT_KEY_FLOAT || k->type == FT_KEY_FLOATS) {
    print_number(low, sizeof low, k->low);
    print_number(high, sizeof high, k->high);
    snprintf(text, FT_KEY_TEXT, "%s, %s to %s", KINDS[k->type], low, high);
  } else {
    snprintf(text, FT_KEY_TEXT, "%s", KINDS[k->type]);
  }
}

void ft_key_default(const ft_key *k, char text[FT_KEY_TEXT]) {
  text[0] = '\0';
  if (k->usual)
    snprintf(text, FT_KEY_TEXT, "%s", k->usual);
  else if (k->type == FT_KEY_ENUM)
    snprintf(text, FT_KEY_TEXT, "%s", k->names[(int)k->fallback]);
  else if (k->type == FT_KEY_BOOL)
    snprintf(text, FT_KEY_TEXT, "%s", k->fallback != 0.0 ? "true" : "false");
  else if (k->type == FT_KEY_INT || k->type == FT_KEY_FLOAT)
    print_number(text, FT_KEY_TEXT, k->fallback);
  const bool several = k->type == FT_KEY_FLOATS && !isnan(k->list[1]);
  for (int i = 0; k->type == FT_KEY_FLOATS && !isnan(k->list[i]); i++) {
    size_t used = strlen(text);
    ft_print(text + used, FT_KEY_TEXT - used, "%s%g%s",
             i         ? ", "
             : several ? "["
                       : "",
             ft_shortest(k->list[i]), several && isnan(k->list[i + 1]) ? "]" : "");
  }
}
