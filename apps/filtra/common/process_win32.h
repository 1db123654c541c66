/* Starting this command once more, for Windows. Handles are Windows' own. */
#ifndef FILTRA_PROCESS_WIN32_H
#define FILTRA_PROCESS_WIN32_H

#include <stdbool.h>
#include <wchar.h>

typedef struct process {
  void *handle, *stop; /* the process; the event that asks it to end in order */
  long id;
} process;

/** Starts the program again. Its standard output and error are `out` and `error`, its input is
 * empty, and it ends in order when asked, or when this process has ended. `passed`: one more handle
 * that it gets, or NULL. False: GetLastError says why. */
bool process_start(wchar_t *line, void *out, void *error, void *passed, process *p);
/** "a" "b": a command line of these arguments, the first of which is the program; caller frees. */
wchar_t *process_line(const char *const *arguments);
/** Asks it to end in order. */
void process_stop(const process *p);
void process_close(process *p);
/** Opens what takes and gives nothing; the caller closes the handle. */
void *process_nothing(void);
/** Watches for what process_start of another process promised, and then calls `stop` in a thread.
 */
void process_watch(void (*stop)(void));

#endif
