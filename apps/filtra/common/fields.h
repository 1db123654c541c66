/* Reads objects from files that the command wrote, without trusting them: every error names file
 * and field, and says what is accepted. Writes their numbers. */
#ifndef FILTRA_FIELDS_H
#define FILTRA_FIELDS_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum field_kind {
  FIELD_TEXT,   /* const char *; "" when absent */
  FIELD_AMOUNT, /* double of 0 or more; NaN when absent or null */
  FIELD_NUMBER, /* double; NaN when absent or null */
  FIELD_FLAG    /* bool; false when absent */
} field_kind;

typedef struct field {
  const char *name;
  size_t offset;
  field_kind kind;
  bool needed;
} field;

/** Sets the members of `out`; texts belong to the object. Errors begin with `where`. */
filtra_status fields_read(const json_t *object, const field *fields, size_t count,
                          const char *where, void *out);
/** Finds an object or list (`type`) by name; sets NULL if it is absent, or fails if it is
 * needed. */
filtra_status fields_find(const json_t *root, const char *where, const char *name, json_type type,
                          bool needed, const json_t **out);
/** A number as it is written: null if it is not finite. NULL when out of memory. */
json_t *fields_number(double x);
/** "an object", "text" and so on, for errors; `value` must not be NULL. */
const char *fields_type(const json_t *value);

#endif
