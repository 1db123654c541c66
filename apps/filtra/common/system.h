/* What the command asks of the operating system, besides base/file.h: system_posix.c and
 * system_win32.c, terminal_posix.c and terminal_win32.c. */
#ifndef FILTRA_SYSTEM_H
#define FILTRA_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** Before anything is opened or printed: closed standard streams are occupied, so that no opened
 * file takes the place of one. Returns the arguments in UTF-8; after the last follows NULL. */
char **system_begin(char **argv);
/** From now on, writing to a closed pipe fails instead of ending the command. */
void system_survive_closed_pipes(void);
/** Removes the file at `path` when a signal ends the command. The path must stay. */
void system_remove_when_ended(const char *path);
void system_sleep(double seconds);
/** System, release and machine. */
void system_describe(char *text, size_t size);
/** The processor's name; caller frees; NULL: unknown, or out of memory. */
char *system_processor(void);

/* ---- terminals ---- */

bool system_is_terminal(FILE *stream);
/** Characters of a line on standard error's terminal, 80 where that is not known. */
int system_columns(void);
/** Erases the line on standard error's terminal and goes to its beginning. */
void system_clear_line(void);

#endif
