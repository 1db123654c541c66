/* Services of the operating system for the command, besides base/file.h: system_posix.c and
 * system_win32.c, terminal_posix.c and terminal_win32.c. */
#ifndef FILTRA_SYSTEM_H
#define FILTRA_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** Call it before anything is opened or printed: it occupies closed standard streams, so that no
 * opened file takes the place of one. Returns the arguments in UTF-8, followed by NULL. */
char **system_begin(char **argv);
/** From now on, writing to a closed pipe fails instead of ending the command. */
void system_survive_closed_pipes(void);
/** Removes the file at `path` when a signal ends the command. `path` must stay valid. */
void system_remove_when_ended(const char *path);
void system_sleep(double seconds);
/** Writes names of system, release and machine. */
void system_describe(char *text, size_t size);
/** Sets a variable of the environment, which drivers read when a device is opened. */
void system_set_variable(const char *name, const char *value);
/** The processor's name; caller frees; NULL: unknown, or out of memory. */
char *system_processor(void);

/* ---- terminals ---- */

bool system_is_terminal(FILE *stream);
/** Width of standard error's terminal in characters; 80 if unknown. */
int system_columns(void);
/** Erases the current line of standard error's terminal and goes to its beginning. */
void system_clear_line(void);

#endif
