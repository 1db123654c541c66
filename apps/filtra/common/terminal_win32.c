/* The part of system.h about terminals, for Windows consoles. Standard output needs no filter: a
 * console can be told to print control characters as text. Called by main.c and by everything that
 * prints progress. */
#include "common/command.h"
#include "common/system.h"

#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

static FILE *apart; /* stream of results if standard output is left to others; else NULL */

static HANDLE console_of(FILE *stream) {
  DWORD mode;
  HANDLE handle = (HANDLE)_get_osfhandle(_fileno(stream));
  return GetConsoleMode(handle, &mode) ? handle : NULL;
}

bool system_is_terminal(FILE *stream) {
  return console_of(stream) != NULL;
}

bool command_rewrites_line(void) {
  return console_of(stderr) != NULL;
}

int system_columns(void) {
  CONSOLE_SCREEN_BUFFER_INFO info;
  HANDLE console = console_of(stderr);
  const bool known = console && GetConsoleScreenBufferInfo(console, &info) && info.dwSize.X > 1;
  return known ? info.dwSize.X : 80;
}

void system_clear_line(void) {
  CONSOLE_SCREEN_BUFFER_INFO info;
  HANDLE console = console_of(stderr);
  DWORD written;
  fflush(stderr);
  if (!console || !GetConsoleScreenBufferInfo(console, &info)) return;
  const COORD begin = {0, info.dwCursorPosition.Y};
  FillConsoleOutputCharacterW(console, L' ', (DWORD)info.dwSize.X, begin, &written);
  SetConsoleCursorPosition(console, begin);
}

/* ---- standard output ---- */

static HANDLE guarded;
static DWORD mode_before;

static void restore_mode(void) {
  fflush(NULL);
  SetConsoleMode(guarded, mode_before);
}

void command_guard_terminal(void) {
  guarded = console_of(stdout);
  if (!guarded || !GetConsoleMode(guarded, &mode_before)) return;
  SetConsoleMode(guarded, mode_before & ~(DWORD)ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  atexit(restore_mode);
}

FILE *command_results(void) {
  return apart ? apart : stdout;
}

void command_set_results_apart(void) {
  const int fd = _dup(_fileno(stdout));
  if (fd < 0) return;
  command_guard_terminal();
  _setmode(fd, _O_BINARY);
  apart = _fdopen(fd, "wb");
  if (apart) _dup2(_fileno(stderr), _fileno(stdout));
}
