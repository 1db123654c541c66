/* The part of file.h that writes, for Windows. If someone else may have made a folder, each path
 * below it is checked for links before it is opened. A file that is open for appending refuses
 * other writers, which is its lock. Called by everything that writes files. */
#include "base/file.h"

#include "base/file_parts.h"
#include "base/file_win32.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

enum { TRIES = 50, PAUSE = 20 /* milliseconds */ };

static const DWORD SHARE_ALL = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

filtra_status ft_fail_link(const char *path, const char *within) {
  return ft_fail(FILTRA_ERROR_PATH,
                 "%s is a symbolic link, and what is written to %s must not lead elsewhere; put "
                 "what it points to in its place",
                 path, within);
}

static HANDLE create(const char *path, DWORD access, DWORD share, DWORD how) {
  wchar_t *name = ft_wide_path(path);
  HANDLE file = INVALID_HANDLE_VALUE;
  if (name) file = CreateFileW(name, access, share, NULL, how, FILE_ATTRIBUTE_NORMAL, NULL);
  const DWORD reason = GetLastError();
  free(name);
  SetLastError(name ? reason : ERROR_INVALID_NAME);
  return file;
}

static FILE *stream_of(HANDLE file, const char *mode) {
  const int fd = _open_osfhandle((intptr_t)file, _O_WRONLY | _O_BINARY | _O_NOINHERIT);
  FILE *stream = fd < 0 ? NULL : _fdopen(fd, mode);
  if (!stream && fd >= 0) _close(fd);
  if (fd < 0) CloseHandle(file);
  return stream;
}

static HANDLE handle_of(FILE *stream) {
  return (HANDLE)_get_osfhandle(_fileno(stream));
}

filtra_status ft_make_folder_in(const char *within, const char *path) {
  FT_TRY(ft_check_in(within, path));
  return ft_make_folder(path, false);
}

/* ---- atomic writing ---- */

/* Creates a file beside the target, under a name that no other thread or process uses. */
static filtra_status open_temporary(ft_atomic_file *file) {
  static atomic_uint serial;
  for (;;) {
    free(file->temporary);
    file->temporary =
        ft_format("%s.%ld-%u.tmp", file->path, ft_process(), atomic_fetch_add(&serial, 1));
    if (!file->temporary) return FILTRA_ERROR_HOST_MEMORY;
    HANDLE handle = create(file->temporary, GENERIC_WRITE, FILE_SHARE_READ, CREATE_NEW);
    if (handle == INVALID_HANDLE_VALUE && GetLastError() == ERROR_FILE_EXISTS) continue;
    if (handle == INVALID_HANDLE_VALUE) {
      filtra_status status = ft_fail_windows("create", file->path);
      free(file->temporary);
      file->temporary = NULL;
      return status;
    }
    file->stream = stream_of(handle, "wb");
    if (file->stream) return FILTRA_OK;
    return ft_fail(FILTRA_ERROR_IO, "cannot open %s: %s", file->temporary, strerror(errno));
  }
}

filtra_status ft_atomic_open_in(const char *within, const char *path, ft_atomic_file *file) {
  *file = (ft_atomic_file){0};
  if (within) FT_TRY(ft_check_in(within, path));
  HANDLE old = create(path, 0, SHARE_ALL, OPEN_EXISTING);
  const bool device = old != INVALID_HANDLE_VALUE && GetFileType(old) != FILE_TYPE_DISK;
  if (old != INVALID_HANDLE_VALUE) CloseHandle(old);
  if (device || ft_is_directory(path))
    return ft_fail(FILTRA_ERROR_PATH, "cannot write %s: it is not a regular file", path);
  file->path = ft_strdup(path);
  filtra_status status = file->path ? open_temporary(file) : FILTRA_ERROR_HOST_MEMORY;
  if (status) ft_atomic_abort(file);
  return status;
}

void ft_atomic_abort(ft_atomic_file *file) {
  if (file->stream) fclose(file->stream);
  if (file->temporary) remove(file->temporary);
  free(file->temporary);
  free(file->path);
  *file = (ft_atomic_file){0};
}

/* Another program, such as a virus scanner, may still have the old file open for a moment. */
static bool replace(const char *from, const char *to, DWORD flags) {
  wchar_t *old = ft_wide_path(from), *name = ft_wide_path(to);
  bool done = false;
  for (int i = 0; old && name && !done && i < TRIES; i++) {
    if (i) Sleep(PAUSE);
    done = MoveFileExW(old, name, flags | MOVEFILE_WRITE_THROUGH);
    const DWORD reason = GetLastError();
    if (!done && reason != ERROR_SHARING_VIOLATION && reason != ERROR_ACCESS_DENIED) break;
  }
  const DWORD reason = GetLastError();
  free(old);
  free(name);
  SetLastError(reason);
  return done;
}

filtra_status ft_atomic_commit(ft_atomic_file *file) {
  filtra_status status = FILTRA_OK;
  if (fflush(file->stream) || ferror(file->stream) || !FlushFileBuffers(handle_of(file->stream)))
    status = ft_fail_windows("write", file->path);
  if (fclose(file->stream) && !status) status = ft_fail_windows("write", file->path);
  file->stream = NULL;
  if (!status && !replace(file->temporary, file->path, MOVEFILE_REPLACE_EXISTING))
    status = ft_fail_windows("replace", file->path);
  if (!status) {
    free(file->temporary);
    file->temporary = NULL;
  }
  ft_atomic_abort(file); /* removes the temporary file unless it was renamed */
  return status;
}

filtra_status ft_file_write_below(const char *path, const void *data, size_t size) {
  char *folder = ft_strdup(path);
  if (!folder) return FILTRA_ERROR_HOST_MEMORY;
  folder[ft_path_name(path) - path] = '\0';
  filtra_status status = *folder ? ft_make_directories_as(folder, true) : FILTRA_OK;
  free(folder);
  return status ? status : ft_file_write(path, data, size);
}

/* ---- folders of many files ---- */

static filtra_status write_all(HANDLE file, const char *path, const char *data, size_t size) {
  for (size_t done = 0; done < size;) {
    const size_t left = size - done;
    DWORD count;
    if (!WriteFile(file, data + done, left < 1 << 30 ? (DWORD)left : 1 << 30, &count, NULL))
      return ft_fail_windows("write", path);
    done += count;
  }
  return FILTRA_OK;
}

filtra_status ft_file_create(const char *path, const void *data, size_t size) {
  HANDLE file = create(path, GENERIC_WRITE, FILE_SHARE_READ, CREATE_NEW);
  if (file == INVALID_HANDLE_VALUE) return ft_fail_windows("create", path);
  filtra_status status = write_all(file, path, data, size);
  if (!CloseHandle(file) && !status) status = ft_fail_windows("write", path);
  return status;
}

static filtra_status flush_entry(void *user, const char *path, const char *name) {
  (void)name;
  if (ft_is_directory(path)) return ft_each_entry(path, flush_entry, user);
  HANDLE file = create(path, GENERIC_WRITE, SHARE_ALL, OPEN_EXISTING);
  if (file == INVALID_HANDLE_VALUE) return ft_fail_windows("open", path);
  filtra_status status = FlushFileBuffers(file) ? FILTRA_OK : ft_fail_windows("write", path);
  CloseHandle(file);
  return status;
}

filtra_status ft_folder_commit(const char *temporary, const char *path) {
  FT_TRY(ft_each_entry(temporary, flush_entry, NULL));
  if (ft_is_directory(path)) remove(path); /* only if it is empty */
  return replace(temporary, path, 0) ? FILTRA_OK : ft_fail_windows("make", path);
}

static filtra_status remove_entry(void *user, const char *path, const char *name) {
  (void)name;
  if (ft_is_directory(path) && !ft_is_link(path)) ft_each_entry(path, remove_entry, user);
  remove(path); /* leave what cannot be removed */
  return FILTRA_OK;
}

void ft_remove_tree(const char *path) {
  remove_entry(NULL, path, NULL);
}

/* ---- appending ---- */

static filtra_status check_appended(HANDLE file, const char *path, const char *within) {
  BY_HANDLE_FILE_INFORMATION info;
  if (GetFileType(file) != FILE_TYPE_DISK)
    return ft_fail(FILTRA_ERROR_PATH, "cannot write %s: it is not a regular file", path);
  if (!GetFileInformationByHandle(file, &info)) return ft_fail_windows("examine", path);
  if (within && info.nNumberOfLinks > 1)
    return ft_fail(
        FILTRA_ERROR_PATH,
        "%s has another name, too (a hard link), and what is written to %s must not lead "
        "elsewhere; put a copy of the file in its place",
        path, within);
  const LARGE_INTEGER end = {.QuadPart = 0};
  return SetFilePointerEx(file, end, NULL, FILE_END) ? FILTRA_OK : ft_fail_windows("examine", path);
}

filtra_status ft_append_open_in(const char *within, const char *path, FILE **stream) {
  HANDLE file = INVALID_HANDLE_VALUE;
  *stream = NULL;
  if (within) FT_TRY(ft_check_in(within, path));
  if (ft_is_directory(path))
    return ft_fail(FILTRA_ERROR_PATH, "cannot open %s: %s", path, strerror(EISDIR));
  for (int i = 0; i < 5; i++) { /* ft_is_locked holds it for a moment */
    if (i) Sleep(PAUSE);
    file = create(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ, OPEN_ALWAYS);
    if (file != INVALID_HANDLE_VALUE || GetLastError() != ERROR_SHARING_VIOLATION) break;
  }
  if (file == INVALID_HANDLE_VALUE && GetLastError() == ERROR_SHARING_VIOLATION)
    return ft_fail(FILTRA_ERROR_PATH, "%s is in use by another process", path);
  if (file == INVALID_HANDLE_VALUE) return ft_fail_windows("open", path);
  filtra_status status = check_appended(file, path, within);
  if (status) {
    CloseHandle(file);
    return status;
  }
  *stream = stream_of(file, "ab");
  return *stream ? FILTRA_OK
                 : ft_fail(FILTRA_ERROR_IO, "cannot open %s: %s", path, strerror(errno));
}

bool ft_is_locked(const char *path) {
  HANDLE file = create(path, GENERIC_WRITE, SHARE_ALL, OPEN_EXISTING);
  if (file == INVALID_HANDLE_VALUE) return GetLastError() == ERROR_SHARING_VIOLATION;
  CloseHandle(file);
  return false;
}

/* Cuts or extends the file to that many bytes; later writes follow them. */
static bool set_size(HANDLE file, uint64_t bytes) {
  const LARGE_INTEGER at = {.QuadPart = (LONGLONG)bytes};
  return SetFilePointerEx(file, at, NULL, FILE_BEGIN) && SetEndOfFile(file);
}

filtra_status ft_append_write(FILE *stream, const char *path, const void *data, size_t size) {
  HANDLE file = handle_of(stream);
  LARGE_INTEGER before;
  const LARGE_INTEGER none = {.QuadPart = 0};
  if (!GetFileSizeEx(file, &before) || !SetFilePointerEx(file, none, NULL, FILE_END))
    return ft_fail_windows("examine", path);
  filtra_status status = write_all(file, path, data, size);
  if (status) set_size(file, (uint64_t)before.QuadPart); /* report the first failure */
  return status;
}

filtra_status ft_append_cut(FILE *stream, const char *path, uint64_t bytes) {
  HANDLE file = handle_of(stream);
  LARGE_INTEGER size;
  if (!GetFileSizeEx(file, &size)) return ft_fail_windows("examine", path);
  if ((uint64_t)size.QuadPart <= bytes) return FILTRA_OK;
  return set_size(file, bytes) ? FILTRA_OK : ft_fail_windows("shorten", path);
}

filtra_status ft_append_sync(FILE *stream, const char *path) {
  return FlushFileBuffers(handle_of(stream)) ? FILTRA_OK : ft_fail_windows("write", path);
}
