/* JSON through Jansson. One table of fields per struct serves reading with range checks, writing
 * with all defaults, and errors that name file, line and field. */
#ifndef FT_BASE_JSON_H
#define FT_BASE_JSON_H

#include "base/status.h"

#include <jansson.h>

typedef enum ft_json_type {
  FT_JSON_ANY,    /* known, but read by somebody else */
  FT_JSON_INT,    /* int64_t */
  FT_JSON_FLOAT,  /* float */
  FT_JSON_BOOL,   /* bool */
  FT_JSON_ENUM,   /* int, by the names' index */
  FT_JSON_STRING, /* char[high] */
  FT_JSON_FLOATS  /* ft_json_floats, from a list of numbers or from one number */
} ft_json_type;

enum { FT_JSON_MAX_FLOATS = 256 };
typedef struct ft_json_floats {
  int64_t count; /* 1 to FT_JSON_MAX_FLOATS */
  float values[FT_JSON_MAX_FLOATS];
} ft_json_floats;

/** One field of a struct and its key in JSON. Numbers must lie in [low, high]. */
typedef struct ft_json_field {
  const char *name;
  ft_json_type type;
  size_t offset;
  double fallback, low, high; /* value when the key is absent; accepted range */
  const char *const *names;   /* enums: NULL-terminated */
  const float *list;          /* lists: value when the key is absent, ends with a 0 */
} ft_json_field;

#define FT_JSON_INT_FIELD(type, member, key, fallback, low, high)                                  \
  { key, FT_JSON_INT, offsetof(type, member), fallback, low, high, 0, 0 }
#define FT_JSON_FLOAT_FIELD(type, member, key, fallback, low, high)                                \
  { key, FT_JSON_FLOAT, offsetof(type, member), fallback, low, high, 0, 0 }
#define FT_JSON_BOOL_FIELD(type, member, key, fallback)                                            \
  { key, FT_JSON_BOOL, offsetof(type, member), fallback, 0, 1, 0, 0 }
#define FT_JSON_ENUM_FIELD(type, member, key, fallback, names)                                     \
  { key, FT_JSON_ENUM, offsetof(type, member), fallback, 0, 0, names, 0 }
/** Absent strings become "". */
#define FT_JSON_STRING_FIELD(type, member, key)                                                    \
  { key, FT_JSON_STRING, offsetof(type, member), 0, 0, sizeof(((type *)0)->member), 0, 0 }

/** `list` is the value when the key is absent, ends with a 0. */
#define FT_JSON_FLOATS_FIELD(type, member, key, list, low, high)                                   \
  { key, FT_JSON_FLOATS, offsetof(type, member), 0, low, high, 0, list }

/** Parses text; errors begin with `context` (such as a file name), line and column. Fails for
 * duplicate keys. The caller releases *out with json_decref. */
filtra_status ft_json_parse(const char *text, size_t size, const char *context, json_t **out);
/** As ft_json_parse, with Jansson's flags. On failure *starved says whether memory ran out, which
 * Jansson's error does not tell. */
json_t *ft_json_decode(const char *text, size_t size, size_t flags, json_error_t *error,
                       bool *starved);
/** As json_unpack, but tells two failures apart: INPUT, without a message, when the value has
 * another form; HOST_MEMORY, with a message that begins with `context`, when memory ran out. */
filtra_status ft_json_unpack(json_t *value, const char *context, const char *format, ...);
/** Parses a file of at most 16 MiB. */
filtra_status ft_json_load(const char *path, json_t **out);

/** Text of a value; caller frees. NULL, with the message set, when the value is NULL or memory runs
 * out (json_dumps of Jansson 2.14 does not always notice). */
char *ft_json_dumps(const json_t *value, size_t flags);
/** Text of an object, which is released; caller frees the text. NULL, with the message set, when
 * memory runs out, or `object` is NULL because memory ran out. */
char *ft_json_text(json_t *object, size_t flags);
/** As ft_json_text, with a newline. */
char *ft_json_line(json_t *object, size_t flags);
/** Adds the keys of `more`, which is released, to `object`, and returns it. NULL, with both
 * released, when one of them is NULL or memory runs out. */
json_t *ft_json_join(json_t *object, json_t *more);

/** Appends `value` to a list, which takes it over. When one of them is NULL or memory runs out,
 * *list is released and becomes NULL, which json_pack then reports. */
void ft_json_append(json_t **list, json_t *value);

/** The string of that key; "" if there is none. */
const char *ft_json_string(const json_t *object, const char *key);

/** Fills the struct from an object: checks given keys, sets absent ones to their defaults. An
 * unknown key is an error that suggests the nearest one. */
filtra_status ft_json_read_struct(const json_t *object, const ft_json_field *fields, size_t count,
                                  void *out, const char *context);
/** A new object with all fields except FT_JSON_ANY; NULL when out of memory (message set). */
json_t *ft_json_write_struct(const ft_json_field *fields, size_t count, const void *from);

/** Levenshtein distance of two names, for suggestions; 64 if one is longer than 64. */
size_t ft_name_distance(const char *a, const char *b);

/** Of `count` rows of `bytes` bytes, each beginning with a pointer to its name, the name nearest to
 * `name`; NULL if none is near. */
const char *ft_nearest_name(const char *name, const void *rows, size_t count, size_t bytes);

/** The double whose decimal text is shortest among those that round to this float: 0.1f becomes
 * 0.1. */
double ft_shortest(float value);

#endif
