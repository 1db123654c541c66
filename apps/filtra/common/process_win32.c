/* Starts this command once more, for cells of sweeps and for work that may crash. A child inherits
 * an event and its parent's handle and ends when either is signalled; this needs no console. Called
 * by child_win32.c of common/ and sweep/, and by system_win32.c. */
#include "common/process_win32.h"

#include "base/file_win32.h"
#include "base/memory.h"
#include "base/stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

static const char VARIABLE[] = "FILTRA_PARENT"; /* "EVENT PROCESS", inherited handles */

/* ---- the command line, as Windows' C library takes it apart ---- */

static char *add_quoted(char *to, const char *word) {
  *to++ = '"';
  for (;;) {
    size_t slashes = strspn(word, "\\");
    const char next = word[slashes];
    const size_t written = next == '"' ? 2 * slashes + 1 : next ? slashes : 2 * slashes;
    memset(to, '\\', written);
    to += written;
    word += slashes;
    if (!next) break;
    *to++ = *word++;
  }
  *to++ = '"';
  return to;
}

wchar_t *process_line(const char *const *arguments) {
  size_t most = 1;
  for (size_t i = 0; arguments[i]; i++)
    most += 2 * strlen(arguments[i]) + 3;
  char *line = ft_calloc(most, 1), *end = line;
  if (!line) return NULL;
  for (size_t i = 0; arguments[i]; i++) {
    if (i) *end++ = ' ';
    end = add_quoted(end, arguments[i]);
  }
  wchar_t *wide = ft_wide(line);
  free(line);
  return wide;
}

/* ---- the parent ---- */

void *process_nothing(void) {
  return CreateFileW(L"NUL", GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                     OPEN_EXISTING, 0, NULL);
}

/* A handle of this process, inherited by children, that is signalled when it ends. */
static HANDLE own_handle(void) {
  HANDLE own = NULL;
  const HANDLE self = GetCurrentProcess();
  if (!DuplicateHandle(self, self, self, &own, SYNCHRONIZE, TRUE, 0)) return NULL;
  return own;
}

/* Creates the process, which inherits these handles only. */
static bool create(wchar_t *line, HANDLE handles[], size_t count, STARTUPINFOEXW *start,
                   PROCESS_INFORMATION *made) {
  wchar_t program[4096];
  SIZE_T size = 0;
  InitializeProcThreadAttributeList(NULL, 1, 0, &size);
  start->lpAttributeList = ft_calloc(size, 1);
  if (!start->lpAttributeList) return false;
  bool done = InitializeProcThreadAttributeList(start->lpAttributeList, 1, 0, &size);
  if (done) {
    done = UpdateProcThreadAttribute(start->lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                                     handles, count * sizeof *handles, NULL, NULL) &&
           GetModuleFileNameW(NULL, program, FT_COUNT(program)) &&
           CreateProcessW(program, line, NULL, NULL, TRUE,
                          CREATE_NEW_PROCESS_GROUP | EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                          &start->StartupInfo, made);
    DeleteProcThreadAttributeList(start->lpAttributeList);
  }
  free(start->lpAttributeList);
  return done;
}

/* Passes the event and this process to the child by the environment variable. */
static bool announce(HANDLE event, HANDLE own) {
  char text[64];
  snprintf(text, sizeof text, "%llu %llu", (unsigned long long)(uintptr_t)event,
           (unsigned long long)(uintptr_t)own);
  return ft_setenv(VARIABLE, text, 1) == 0;
}

bool process_start(wchar_t *line, void *out, void *error, void *passed, process *p) {
  SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
  HANDLE nothing = process_nothing(), own = own_handle();
  STARTUPINFOEXW start = {.StartupInfo = {.cb = sizeof start,
                                          .dwFlags = STARTF_USESTDHANDLES,
                                          .hStdInput = nothing,
                                          .hStdOutput = out,
                                          .hStdError = error}};
  PROCESS_INFORMATION made = {0};
  *p = (process){.stop = CreateEventW(&inherited, TRUE, FALSE, NULL)};
  HANDLE handles[6] = {nothing, own, p->stop, out};
  size_t count = 4;
  if (error != out) handles[count++] = error;
  if (passed) handles[count++] = passed;
  bool started = p->stop && own && nothing != INVALID_HANDLE_VALUE && announce(p->stop, own);
  for (size_t i = 0; i < count && started; i++)
    started = SetHandleInformation(handles[i], HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
  started = started && create(line, handles, count, &start, &made);
  const DWORD reason = GetLastError();
  ft_unsetenv(VARIABLE);
  if (own) CloseHandle(own);
  if (nothing != INVALID_HANDLE_VALUE) CloseHandle(nothing);
  if (made.hThread) CloseHandle(made.hThread);
  p->handle = made.hProcess;
  p->id = (long)made.dwProcessId;
  if (!started) process_close(p);
  SetLastError(reason);
  return started;
}

void process_stop(const process *p) {
  SetEvent(p->stop);
}

void process_close(process *p) {
  if (p->handle) CloseHandle(p->handle);
  if (p->stop) CloseHandle(p->stop);
  *p = (process){0};
}

/* ---- the child ---- */

static HANDLE watched[2];
static void (*stop_order)(void);

static DWORD WINAPI watch(void *unused) {
  (void)unused;
  WaitForMultipleObjects(2, watched, FALSE, INFINITE);
  stop_order();
  return 0;
}

void process_watch(void (*stop)(void)) {
  const char *text = getenv(VARIABLE);
  char *end;
  if (!text) return;
  watched[0] = (HANDLE)(uintptr_t)strtoull(text, &end, 10);
  watched[1] = (HANDLE)(uintptr_t)strtoull(end, NULL, 10);
  stop_order = stop;
  ft_unsetenv(VARIABLE); /* this process's children must not inherit the variable */
  HANDLE thread = CreateThread(NULL, 0, watch, NULL, 0, NULL);
  if (thread) CloseHandle(thread);
}
