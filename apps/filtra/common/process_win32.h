/* Starting this command as a child process, for Windows. Handles are Windows' own. */
#ifndef FILTRA_PROCESS_WIN32_H
#define FILTRA_PROCESS_WIN32_H

#include <stdbool.h>
#include <wchar.h>

typedef struct process {
  void *handle, *stop; /* the process; the event that asks it to end cleanly */
  long id;
} process;

/** Starts the program again. Its standard output and error are `out` and `error`, its input is
 * empty; it ends cleanly when asked, or when this process has ended. `passed`: one more handle to
 * inherit, or NULL. False: GetLastError gives the reason. */
bool process_start(wchar_t *line, void *out, void *error, void *passed, process *p);
/** A command line of these arguments, quoted: "a" "b". The first one is the program; caller
 * frees. */
wchar_t *process_line(const char *const *arguments);
/** Asks the process to end cleanly. */
void process_stop(const process *p);
void process_close(process *p);
/** Opens the null device; the caller closes the handle. */
void *process_nothing(void);
/** In a child started by process_start, waits in a thread for the request to end or the parent's
 * end, then calls `stop`. */
void process_watch(void (*stop)(void));

#endif
