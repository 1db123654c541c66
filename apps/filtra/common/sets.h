/* Keys of a configuration from the command line: --set KEY=VALUE and its short forms. */
#ifndef FILTRA_SETS_H
#define FILTRA_SETS_H

#include "base/json.h"

typedef struct command_sets {
  json_t *list; /* [string]: assignments in order; made and released by the owner */
  bool starved; /* memory ran out for an assignment */
} command_sets;

/** Adds "key=value", or `value` where `key` is NULL. */
void command_add_set(command_sets *sets, const char *key, const char *value);
/** Adds a key whose value is always text: a folder may be called 2024. */
void command_add_text(command_sets *sets, const char *key, const char *value);
/** Applies the assignments in order. A value is JSON if it parses as such, else text; "mixer.K=5"
 * sets a key of an object. */
filtra_status command_apply_sets(const command_sets *sets, json_t *object);
/** The assignments as the text of a JSON object, which the caller frees. */
filtra_status command_sets_text(const command_sets *sets, char **out);
/** The same, or NULL without assignments. */
filtra_status command_reading_settings(const command_sets *sets, char **out);
/** The help of --set where it says how --data is written (filtra_run_open_data). */
extern const char command_reading_help[];

#endif
