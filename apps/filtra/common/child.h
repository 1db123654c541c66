/* Runs work that may crash or hang in a child process. */
#ifndef FILTRA_CHILD_H
#define FILTRA_CHILD_H

#include "base/status.h"

#include <stdio.h>

enum { COMMAND_CHILD_END = 96 };

typedef struct command_child {
  char *text;                  /* written by the work; the caller frees it */
  char end[COMMAND_CHILD_END]; /* "crashed (Segmentation fault)"; "": the work ended normally */
} command_child;

/** Calls `work` in a child, which is killed after that many seconds; its standard output and error
 * are /dev/null. Call it before opening a device: drivers start threads, and a process with threads
 * must not fork. */
filtra_status command_run_child(void (*work)(FILE *to, const void *user), const void *user,
                                unsigned seconds, command_child *out);

#endif
