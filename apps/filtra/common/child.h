/* A part of the work in a process of its own, since it may crash or hang. */
#ifndef FILTRA_CHILD_H
#define FILTRA_CHILD_H

#include "base/status.h"

#include <stdio.h>

enum { COMMAND_CHILD_END = 96 };

typedef struct command_child {
  char *text;                  /* what the work wrote; the caller frees it */
  char end[COMMAND_CHILD_END]; /* "crashed (Segmentation fault)"; "": it came to its end */
} command_child;

/** Calls `work` in a child, which is ended where it takes longer than that. Its standard output and
 * error are /dev/null. The process must not have threads yet, as drivers start them: this goes
 * before the first device. */
filtra_status command_run_child(void (*work)(FILE *to, const void *user), const void *user,
                                unsigned seconds, command_child *out);

#endif
