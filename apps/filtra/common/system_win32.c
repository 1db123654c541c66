/* system.h for Windows: arguments, the console's signals, and the machine's names. Called by main.c
 * and by subcommands. */
#include "common/system.h"

#include "base/file_win32.h"
#include "base/memory.h"
#include "common/command.h"
#include "common/process_win32.h"

#include <fcntl.h>
#include <io.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
/* must follow windows.h */
#include <shellapi.h>

/* ---- the beginning ---- */

static atomic_bool caught, interrupted;
static const char *_Atomic removed;

/* Ends the command as an uncaught signal does, or asks it to end cleanly. */
static void stop(void) {
  if (atomic_load(&caught)) {
    atomic_store(&interrupted, true);
    return;
  }
  const char *path = atomic_load(&removed);
  if (path) remove(path);
  ExitProcess(COMMAND_FAILED);
}

/* Handles Ctrl-C, Ctrl-Break, and the end of the console or session: for the latter two, Windows
 * ends the process when this returns, or seconds later. */
static BOOL WINAPI on_event(DWORD event) {
  const bool again = atomic_load(&interrupted);
  if (event == CTRL_C_EVENT && again) return FALSE;
  stop();
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) Sleep(INFINITE);
  return TRUE;
}

/* The arguments as UTF-8, never freed; NULL: out of memory. */
static char **arguments(void) {
  int count;
  wchar_t **words = CommandLineToArgvW(GetCommandLineW(), &count);
  char **taken = words ? calloc((size_t)count + 1, sizeof *taken) : NULL;
  for (int i = 0; taken && i < count; i++)
    if (!(taken[i] = ft_narrow(words[i]))) taken = NULL;
  if (words) LocalFree(words);
  return taken;
}

char **system_begin(char **argv) {
  char **taken = arguments();
  for (int fd = 0; fd <= 2; fd++)
    if (_get_osfhandle(fd) < 0) {
      const int nothing = _open("NUL", _O_RDWR);
      if (nothing >= 0 && nothing != fd) _dup2(nothing, fd);
    }
  _setmode(_fileno(stdin), _O_BINARY);
  _setmode(_fileno(stdout), _O_BINARY);
  _setmode(_fileno(stderr), _O_BINARY);
  SetConsoleOutputCP(CP_UTF8);
  SetConsoleCP(CP_UTF8);
  SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
  SetConsoleCtrlHandler(on_event, TRUE);
  process_watch(stop);
  return taken ? taken : argv;
}

void system_survive_closed_pipes(void) { /* writing to a closed pipe fails anyway */
}

void system_sleep(double seconds) {
  Sleep((DWORD)(1e3 * seconds));
}

/* ---- signals ---- */

void command_catch_interrupts(void) {
  atomic_store(&caught, true);
}

bool command_interrupted(void) {
  return atomic_load(&interrupted);
}

void system_remove_when_ended(const char *path) {
  atomic_store(&removed, path);
}

/* ---- the machine ---- */

static char *read_text(const wchar_t *key, const wchar_t *name) {
  wchar_t text[256];
  DWORD size = sizeof text;
  return RegGetValueW(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ, NULL, text, &size)
             ? NULL
             : ft_narrow(text);
}

void system_describe(char *text, size_t size) {
  char *build = read_text(L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion", L"CurrentBuild");
  snprintf(text, size, "Windows %s x86_64", build ? build : "unknown");
  free(build);
}

void system_set_variable(const char *name, const char *value) {
  _putenv_s(name, value);
}

char *system_processor(void) {
  return read_text(L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0", L"ProcessorNameString");
}
