/* The part of file.h about the machine and its users, for Windows. Called by everything that
 * measures time, names temporary files or keeps a cache. */
#include "base/file.h"

#include "base/file_parts.h"
#include "base/file_win32.h"
#include "base/memory.h"

#include <stdlib.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
/* must follow windows.h */
#include <aclapi.h>
#include <sddl.h>

double ft_seconds(void) {
  LARGE_INTEGER now, frequency;
  QueryPerformanceCounter(&now);
  QueryPerformanceFrequency(&frequency);
  return (double)now.QuadPart / (double)frequency.QuadPart;
}

const char *ft_date(void) {
  static _Thread_local char text[32];
  SYSTEMTIME t;
  GetSystemTime(&t);
  snprintf(text, sizeof text, "%04u-%02u-%02uT%02u:%02u:%02uZ", (unsigned)t.wYear,
           (unsigned)t.wMonth, (unsigned)t.wDay, (unsigned)t.wHour, (unsigned)t.wMinute,
           (unsigned)t.wSecond);
  return text;
}

long ft_process(void) {
  return (long)GetCurrentProcessId();
}

bool ft_process_runs(long process) {
  if (process <= 0) return false;
  HANDLE handle = OpenProcess(SYNCHRONIZE, FALSE, (DWORD)process);
  if (!handle) return GetLastError() == ERROR_ACCESS_DENIED;
  const bool runs = WaitForSingleObject(handle, 0) == WAIT_TIMEOUT;
  CloseHandle(handle);
  return runs;
}

unsigned ft_processors(void) {
  DWORD_PTR own, all;
  unsigned count = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all))
    for (; own; own &= own - 1)
      count++;
  return count ? count : 1;
}

char *ft_cache_directory(void) {
  const char *cache = getenv("LOCALAPPDATA");
  return cache && ft_path_is_absolute(cache) ? ft_path_join(cache, "filtra/cache") : NULL;
}

/* ---- who may write ---- */

/* This user, and those who have full access anyway: the system and its administrators. Rights of
 * the file's owner (OW in the list below) are allowed too, since the owner must be one of these. */
typedef struct trusted {
  TOKEN_USER *user;
  BYTE system[SECURITY_MAX_SID_SIZE], administrators[SECURITY_MAX_SID_SIZE];
  BYTE owner[SECURITY_MAX_SID_SIZE];
} trusted;

static bool trust(trusted *t) {
  DWORD size = sizeof t->system, most = sizeof t->administrators, length = 0;
  DWORD rights = sizeof t->owner;
  HANDLE token;
  t->user = NULL;
  if (!CreateWellKnownSid(WinLocalSystemSid, NULL, t->system, &size) ||
      !CreateWellKnownSid(WinBuiltinAdministratorsSid, NULL, t->administrators, &most) ||
      !CreateWellKnownSid(WinCreatorOwnerRightsSid, NULL, t->owner, &rights) ||
      !OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
    return false;
  GetTokenInformation(token, TokenUser, NULL, 0, &length);
  t->user = length ? malloc(length) : NULL;
  const bool known = t->user && GetTokenInformation(token, TokenUser, t->user, length, &length);
  CloseHandle(token);
  return known;
}

static bool is_trusted(const trusted *t, PSID who) {
  return EqualSid(who, t->user->User.Sid) || EqualSid(who, (PSID)t->system) ||
         EqualSid(who, (PSID)t->administrators);
}

/* Whether the access-control list lets only those write; without a list everyone may. */
static bool keeps_others_out(const trusted *t, PACL list) {
  const DWORD writes = FILE_WRITE_DATA | FILE_APPEND_DATA | WRITE_DAC | WRITE_OWNER | DELETE |
                       FILE_DELETE_CHILD | GENERIC_WRITE | GENERIC_ALL;
  if (!list) return false;
  for (DWORD i = 0; i < list->AceCount; i++) {
    ACCESS_ALLOWED_ACE *entry;
    if (!GetAce(list, i, (void **)&entry)) return false;
    if (entry->Header.AceType != ACCESS_ALLOWED_ACE_TYPE ||
        entry->Header.AceFlags & INHERIT_ONLY_ACE)
      continue;
    const PSID who = (PSID)&entry->SidStart;
    if (entry->Mask & writes && !EqualSid(who, (PSID)t->owner) && !is_trusted(t, who)) return false;
  }
  return true;
}

bool ft_is_private(const char *path) {
  trusted t;
  PSECURITY_DESCRIPTOR descriptor = NULL;
  PSID owner = NULL;
  PACL list = NULL;
  wchar_t *name = ft_wide_path(path);
  bool private = name && trust(&t);
  if (private)
  private = !GetNamedSecurityInfoW(name, SE_FILE_OBJECT,
                                   OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner,
                                   NULL, &list, NULL, &descriptor) &&
            owner && is_trusted(&t, owner) && keeps_others_out(&t, list);
  if (descriptor) LocalFree(descriptor);
  if (name) free(t.user);
  free(name);
  return private;
}

/* ---- making folders ---- */

/* A security descriptor for this user, the system and administrators; the caller frees it with
 * LocalFree. NULL: inherit the parent folder's. */
static void *own_descriptor(void) {
  void *descriptor;
  return ConvertStringSecurityDescriptorToSecurityDescriptorA(
             "D:P(A;OICI;FA;;;OW)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)", SDDL_REVISION_1, &descriptor,
             NULL)
             ? descriptor
             : NULL;
}

filtra_status ft_make_folder(const char *path, bool own) {
  wchar_t *name = ft_wide_path(path);
  void *descriptor = own ? own_descriptor() : NULL;
  SECURITY_ATTRIBUTES security = {.nLength = sizeof security, .lpSecurityDescriptor = descriptor};
  const bool made = name && CreateDirectoryW(name, descriptor ? &security : NULL);
  const DWORD reason = GetLastError();
  if (descriptor) LocalFree(descriptor);
  free(name);
  if (made || ft_is_directory(path)) return FILTRA_OK;
  SetLastError(!name                            ? ERROR_INVALID_NAME
               : reason == ERROR_ALREADY_EXISTS ? ERROR_DIRECTORY
                                                : reason);
  return ft_fail_windows("make folder", path);
}
