/* child.h for Windows: runs the same command line again; the child does the work when it gets to
 * it, and writes to an inherited pipe. Called by code that may crash or hang. */
#include "common/child.h"

#include "base/file.h"
#include "base/file_win32.h"
#include "base/stream.h"
#include "common/process_win32.h"

#include <fcntl.h>
#include <io.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

static const char VARIABLE[] = "FILTRA_WORK"; /* the pipe's handle */

static void be_child(void (*work)(FILE *to, const void *user), const void *user,
                     const char *handle) {
  const int fd = _open_osfhandle((intptr_t)strtoull(handle, NULL, 10), _O_WRONLY | _O_BINARY);
  FILE *to = fd < 0 ? NULL : _fdopen(fd, "wb");
  ft_unsetenv(VARIABLE);
  if (!to) _exit(1);
  work(to, user);
  _exit(fclose(to) ? 1 : 0);
}

/* Reads until the pipe is closed; false: it is still open at the deadline. */
static bool read_until(HANDLE pipe, double deadline, FILE *to) {
  char part[4096];
  for (;;) {
    DWORD there = 0, got = 0;
    if (!PeekNamedPipe(pipe, NULL, 0, NULL, &there, NULL)) return true;
    if (!there && ft_seconds() > deadline) return false;
    if (!there) {
      Sleep(5);
      continue;
    }
    if (!ReadFile(pipe, part, sizeof part, &got, NULL)) return true;
    fwrite(part, 1, got, to);
  }
}

static void watch(const process *child, HANDLE pipe, unsigned seconds, FILE *to,
                  char end[COMMAND_CHILD_END]) {
  const double deadline = ft_seconds() + seconds;
  DWORD code = 0;
  bool ended = read_until(pipe, deadline, to);
  while (ended && WaitForSingleObject(child->handle, 5) == WAIT_TIMEOUT)
    ended = ft_seconds() < deadline;
  GetExitCodeProcess(child->handle, &code);
  if (!ended) {
    TerminateProcess(child->handle, 1);
    snprintf(end, COMMAND_CHILD_END, "took longer than %u s", seconds);
  } else if (code >= 0xc0000000)
    snprintf(end, COMMAND_CHILD_END, "crashed (exception 0x%08lx)", code);
  else if (code)
    snprintf(end, COMMAND_CHILD_END, "ended early, with exit code %lu", code);
}

/* Starts the child; *from is the pipe's read end. */
static bool start(HANDLE *from, process *child) {
  HANDLE to, nothing = process_nothing();
  char text[32];
  *from = NULL;
  wchar_t *line = _wcsdup(GetCommandLineW());
  bool started = line && nothing != INVALID_HANDLE_VALUE && CreatePipe(from, &to, NULL, 0);
  if (started) {
    snprintf(text, sizeof text, "%llu", (unsigned long long)(uintptr_t)to);
    started = !ft_setenv(VARIABLE, text, 1) && process_start(line, nothing, nothing, to, child);
    ft_unsetenv(VARIABLE);
    CloseHandle(to);
  }
  if (nothing != INVALID_HANDLE_VALUE) CloseHandle(nothing);
  free(line);
  return started;
}

filtra_status command_run_child(void (*work)(FILE *to, const void *user), const void *user,
                                unsigned seconds, command_child *out) {
  const char *handle = getenv(VARIABLE);
  size_t size;
  HANDLE pipe;
  process child;
  *out = (command_child){0};
  if (handle) be_child(work, user, handle);
  FILE *text = ft_open_memstream(&out->text, &size);
  if (!text) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  const bool started = start(&pipe, &child);
  filtra_status status = started ? FILTRA_OK : ft_fail_windows("start", "a process");
  if (started) watch(&child, pipe, seconds, text, out->end);
  if (started) process_close(&child);
  if (pipe) CloseHandle(pipe);
  fclose(text);
  if (status) free(out->text);
  if (status) out->text = NULL;
  return status;
}
