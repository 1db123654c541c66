/* JSON over Jansson: reading with errors that name file and line, writing that notices where memory
 * runs out, and suggestions for names that do not exist. */
#ifndef FT_BASE_JSON_H
#define FT_BASE_JSON_H

#include "base/status.h"

#include <jansson.h>

/** Parses text; `context` (a file name, say) goes before line and column in errors. Duplicate keys
 * are refused. The caller releases *out with json_decref. */
filtra_status ft_json_parse(const char *text, size_t size, const char *context, json_t **out);
/** The same by Jansson's flags. Where it fails, *starved says whether for want of memory, which
 * Jansson's own error does not tell. */
json_t *ft_json_decode(const char *text, size_t size, size_t flags, json_error_t *error,
                       bool *starved);
/** json_unpack, which does not tell a value of another form from memory that ran out. The first is
 * FILTRA_ERROR_INPUT, without a message; the second FILTRA_ERROR_HOST_MEMORY,
 * with one that names `context`. */
filtra_status ft_json_unpack(json_t *value, const char *context, const char *format, ...);
/** Parses a file of at most 16 MiB. */
filtra_status ft_json_load(const char *path, json_t **out);

/** The text of any value; caller frees. NULL, with the message set, when it is NULL or memory runs
 * out, which json_dumps of Jansson 2.14 does not always see. */
char *ft_json_dumps(const json_t *value, size_t flags);
/** The text of an object, which is given up; caller frees. NULL, with the message set, when memory
 * runs out, or ran out as the object was made: it is NULL then. */
char *ft_json_text(json_t *object, size_t flags);
/** The same with a line's end. */
char *ft_json_line(json_t *object, size_t flags);
/** `object` with the keys of `more`, which is given up; NULL, and both are, where either is NULL or
 * memory runs out. */
json_t *ft_json_join(json_t *object, json_t *more);

/** Adds to a list and gives the value up; *list is released and becomes NULL where either is NULL
 * or memory runs out, which json_pack passes on. */
void ft_json_append(json_t **list, json_t *value);

/** The string of that key; "" where the object has none. */
const char *ft_json_string(const json_t *object, const char *key);

/** Letters to change, add or leave out (Levenshtein), for suggestions; 64 where one is longer than
 * that. */
size_t ft_name_distance(const char *a, const char *b);

/** Which of `count` rows, each of `bytes` bytes and beginning with a pointer to its name, has the
 * name nearest to one that none has; NULL where none is near. */
const char *ft_nearest_name(const char *name, const void *rows, size_t count, size_t bytes);

/** The number shortest in decimal that reads back as this float: 0.1f becomes 0.1. */
double ft_shortest(float value);

#endif
