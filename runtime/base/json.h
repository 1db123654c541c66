/* JSON over Jansson: reading with errors that name file and line, writing that notices where memory
 * runs out, and suggestions for names that do not exist. */
#ifndef FT_BASE_JSON_H
#define FT_BASE_JSON_H

#include "base/status.h"

#include <jansson.h>

/** Parses text, which may begin with a byte order mark; errors begin with `context` (such as a file
 * name), line and column. Fails for duplicate keys. The caller releases *out with json_decref. */
filtra_status ft_json_parse(const char *text, size_t size, const char *context, json_t **out);
/** As ft_json_parse, with Jansson's flags. On failure *starved tells whether memory ran out;
 * Jansson's error does not. */
json_t *ft_json_decode(const char *text, size_t size, size_t flags, json_error_t *error,
                       bool *starved);
/** As json_unpack, but tells two failures apart: INPUT, without a message, when the value has
 * another form; HOST_MEMORY, with a message that begins with `context`, when memory ran out. */
filtra_status ft_json_unpack(json_t *value, const char *context, const char *format, ...);
/** Parses a file of at most 16 MiB. */
filtra_status ft_json_load(const char *path, json_t **out);
/** As ft_json_load, of another program's file of at most `limit` bytes; 0: 16 MiB. Whole numbers
 * beyond 64 bits become floating ones, such as the model_max_length that transformers writes for a
 * model without a limit. */
filtra_status ft_json_load_foreign(const char *path, uint64_t limit, json_t **out);

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

/** Appends `value` to a list, which takes ownership of `value`. When either is NULL or memory runs
 * out, *list is released and becomes NULL, which json_pack then reports. */
void ft_json_append(json_t **list, json_t *value);

/** The key's string; "" if there is none. */
const char *ft_json_string(const json_t *object, const char *key);

/** Levenshtein distance of two names, for suggestions; 64 if a name is longer than 64. */
size_t ft_name_distance(const char *a, const char *b);

/** Of `count` rows of `bytes` bytes, each beginning with a pointer to its name, the name nearest to
 * `name`; NULL if none is near. */
const char *ft_nearest_name(const char *name, const void *rows, size_t count, size_t bytes);

/** The double with the shortest decimal text that rounds to this float: 0.1f becomes 0.1. */
double ft_shortest(float value);

#endif
