/* The record of a sweep's calls and cells, DIR/sweep.jsonl. */
#ifndef FILTRA_RECORD_H
#define FILTRA_RECORD_H

#include "command.h"

#include <jansson.h>

/** Calls `take` with each line of a sweep's record, if there is one: of a call that had work its
 * "cells", of an ended cell "cell", "state", "seconds" and more. Skips a last line that a power
 * failure left incomplete. */
filtra_status record_each(const char *folder, filtra_status (*take)(void *user, json_t *line),
                          void *user);

#endif
