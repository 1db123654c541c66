/* file.h for Windows except writing and the machine: names, reading and folders. Called by
 * everything above base/ that touches the file system. */
#include "base/file.h"

#include "base/file_parts.h"
#include "base/file_win32.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* ---- names ---- */

wchar_t *ft_wide(const char *text) {
  const int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
  wchar_t *wide = length > 0 ? malloc((size_t)length * sizeof *wide) : NULL;
  if (wide) MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, length);
  return wide;
}

char *ft_narrow(const wchar_t *text) {
  const int length = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
  char *narrow = length > 0 ? ft_calloc((size_t)length, 1) : NULL;
  if (narrow) WideCharToMultiByte(CP_UTF8, 0, text, -1, narrow, length, NULL, NULL);
  return narrow;
}

/* The absolute path with `\`, in memory whose first `room` characters are left free. */
static wchar_t *absolute(const wchar_t *path, size_t room) {
  const DWORD size = GetFullPathNameW(path, 0, NULL, NULL);
  wchar_t *full = size ? malloc((size + room) * sizeof *full) : NULL;
  if (full && GetFullPathNameW(path, size, full + room, NULL) < size) return full;
  free(full);
  return NULL;
}

static bool is_slash(wchar_t c) {
  return c == L'\\' || c == L'/';
}

/* "\\?\..." for a drive's folders, "\\?\UNC\SERVER\..." for "\\SERVER\...". */
static wchar_t *long_path(const wchar_t *path) {
  static const wchar_t DRIVE[] = L"\\\\?\\", SHARE[] = L"\\\\?\\UNC";
  const bool share = is_slash(path[0]) && is_slash(path[1]);
  const size_t prefix = (share ? FT_COUNT(SHARE) : FT_COUNT(DRIVE)) - 1;
  wchar_t *full = absolute(path, prefix - share); /* the prefix covers one \ of a share's two */
  if (full) memcpy(full, share ? SHARE : DRIVE, prefix * sizeof *full);
  return full;
}

wchar_t *ft_wide_path(const char *path) {
  enum { USUAL = 240 }; /* MAX_PATH is 260, for folders 248 */
  wchar_t *wide = ft_wide(path);
  if (!wide || !wide[0] || (strlen(path) < USUAL && path[1] == ':')) return wide;
  const bool device =
      is_slash(wide[0]) && is_slash(wide[1]) && (wide[2] == L'?' || wide[2] == L'.');
  if (device || GetFullPathNameW(wide, 0, NULL, NULL) < USUAL) return wide;
  wchar_t *full = long_path(wide);
  free(wide);
  return full;
}

/* Paths of other systems are used as they are: they lead to places on the current drive. */
const char *ft_path_here(const char *path) {
  return path;
}

char *ft_full_path(const char *path) {
  if (!ft_file_exists(path)) {
    errno = ENOENT;
    return NULL;
  }
  wchar_t *wide = ft_wide(path), *full = wide ? absolute(wide, 0) : NULL;
  char *text = full ? ft_narrow(full) : NULL;
  for (char *c = text; c && *c; c++)
    if (*c == '\\') *c = '/';
  for (size_t end = text ? strlen(text) : 0; end > ft_path_root(text) && text[end - 1] == '/';)
    text[--end] = '\0';
  errno = text ? 0 : ENOMEM;
  free(full);
  free(wide);
  return text;
}

/* ---- errors ---- */

int ft_windows_errno(void) {
  static const struct {
    DWORD windows;
    int reason;
  } REASONS[] = {
      {ERROR_FILE_NOT_FOUND, ENOENT},
      {ERROR_PATH_NOT_FOUND, ENOENT},
      {ERROR_INVALID_DRIVE, ENOENT},
      {ERROR_BAD_NETPATH, ENOENT},
      {ERROR_ACCESS_DENIED, EACCES},
      {ERROR_WRITE_PROTECT, EROFS},
      {ERROR_SHARING_VIOLATION, EBUSY},
      {ERROR_LOCK_VIOLATION, EBUSY},
      {ERROR_FILE_EXISTS, EEXIST},
      {ERROR_ALREADY_EXISTS, EEXIST},
      {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
      {ERROR_DIRECTORY, ENOTDIR},
      {ERROR_INVALID_NAME, EINVAL},
      {ERROR_BAD_PATHNAME, EINVAL},
      {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
      {ERROR_NOT_SAME_DEVICE, EXDEV},
      {ERROR_DISK_FULL, ENOSPC},
      {ERROR_HANDLE_DISK_FULL, ENOSPC},
      {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
      {ERROR_OUTOFMEMORY, ENOMEM},
      {ERROR_TOO_MANY_OPEN_FILES, EMFILE},
      {ERROR_BROKEN_PIPE, EPIPE},
      {ERROR_NO_DATA, EPIPE},
  };
  const DWORD last = GetLastError();
  for (size_t i = 0; i < FT_COUNT(REASONS); i++)
    if (REASONS[i].windows == last) return REASONS[i].reason;
  return 0;
}

filtra_status ft_fail_windows(const char *what, const char *path) {
  const DWORD last = GetLastError();
  const int reason = ft_windows_errno();
  if (!reason)
    return ft_fail(FILTRA_ERROR_IO, "cannot %s %s: error %lu of Windows", what, path, last);
  const bool disk = reason == ENOSPC || reason == ENOMEM || reason == EMFILE || reason == EPIPE;
  return ft_fail(disk ? FILTRA_ERROR_IO : FILTRA_ERROR_PATH, "cannot %s %s: %s", what, path,
                 strerror(reason));
}

/* ---- reading ---- */

static bool attributes(const char *path, WIN32_FILE_ATTRIBUTE_DATA *info) {
  wchar_t *name = ft_wide_path(path);
  const bool known = name && GetFileAttributesExW(name, GetFileExInfoStandard, info);
  const DWORD reason = GetLastError();
  free(name);
  SetLastError(name ? reason : ERROR_INVALID_NAME);
  return known;
}

static HANDLE open_existing(const char *path, DWORD access) {
  wchar_t *name = ft_wide_path(path);
  HANDLE file = INVALID_HANDLE_VALUE;
  if (name)
    file = CreateFileW(name, access, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                       OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
  const DWORD reason = GetLastError();
  free(name);
  SetLastError(name ? reason : ERROR_INVALID_NAME);
  return file;
}

static filtra_status open_regular(const char *path, HANDLE *file, uint64_t *size) {
  LARGE_INTEGER bytes;
  filtra_status status = FILTRA_OK;
  *file = open_existing(path, GENERIC_READ);
  if (*file == INVALID_HANDLE_VALUE) return ft_fail_windows("open", path);
  if (GetFileType(*file) != FILE_TYPE_DISK || ft_is_directory(path))
    status = ft_fail(FILTRA_ERROR_PATH, "cannot read %s: it is not a regular file", path);
  else if (!GetFileSizeEx(*file, &bytes))
    status = ft_fail_windows("examine", path);
  else
    *size = (uint64_t)bytes.QuadPart;
  if (status) CloseHandle(*file);
  return status;
}

filtra_status ft_file_open_sized(const char *path, FILE **stream, uint64_t *size) {
  HANDLE file;
  FT_TRY(open_regular(path, &file, size));
  const int fd = _open_osfhandle((intptr_t)file, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
  *stream = fd < 0 ? NULL : _fdopen(fd, "rb");
  if (*stream) return FILTRA_OK;
  if (fd < 0)
    CloseHandle(file);
  else
    _close(fd);
  return ft_fail(FILTRA_ERROR_IO, "cannot open %s: %s", path, strerror(errno));
}

filtra_status ft_stream_read(FILE *stream, const char *path, void *data, size_t size, size_t *got) {
  const int count = _read(_fileno(stream), data, size < 1 << 30 ? (unsigned)size : 1 << 30);
  *got = count > 0 ? (size_t)count : 0;
  return count < 0 ? ft_fail(FILTRA_ERROR_IO, "cannot read %s: %s", path, strerror(errno))
                   : FILTRA_OK;
}

filtra_status ft_stream_seek(FILE *stream, const char *path, uint64_t at) {
  return _lseeki64(_fileno(stream), (int64_t)at, SEEK_SET) < 0
             ? ft_fail(FILTRA_ERROR_IO, "cannot read %s: %s", path, strerror(errno))
             : FILTRA_OK;
}

/* ---- folders ---- */

bool ft_file_exists(const char *path) {
  WIN32_FILE_ATTRIBUTE_DATA info;
  return attributes(path, &info);
}

uint64_t ft_file_size(const char *path) {
  WIN32_FILE_ATTRIBUTE_DATA info;
  return attributes(path, &info) ? (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow : 0;
}

static bool identify(const char *path, BY_HANDLE_FILE_INFORMATION *info) {
  HANDLE file = open_existing(path, 0);
  if (file == INVALID_HANDLE_VALUE) return false;
  const bool known = GetFileInformationByHandle(file, info);
  CloseHandle(file);
  return known;
}

bool ft_same_file(const char *a, const char *b) {
  BY_HANDLE_FILE_INFORMATION x, y;
  return identify(a, &x) && identify(b, &y) && x.dwVolumeSerialNumber == y.dwVolumeSerialNumber &&
         x.nFileIndexHigh == y.nFileIndexHigh && x.nFileIndexLow == y.nFileIndexLow;
}

bool ft_is_directory(const char *path) {
  WIN32_FILE_ATTRIBUTE_DATA info;
  return attributes(path, &info) && info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
}

/* A symbolic link or a junction. */
bool ft_is_link(const char *path) {
  WIN32_FIND_DATAW found;
  wchar_t *name = ft_wide_path(path);
  HANDLE search = name ? FindFirstFileW(name, &found) : INVALID_HANDLE_VALUE;
  free(name);
  if (search == INVALID_HANDLE_VALUE) return false;
  FindClose(search);
  return found.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT &&
         (found.dwReserved0 == IO_REPARSE_TAG_SYMLINK ||
          found.dwReserved0 == IO_REPARSE_TAG_MOUNT_POINT);
}

static filtra_status collect_names(HANDLE search, WIN32_FIND_DATAW *found, const char *path,
                                   char ***names, size_t *count) {
  size_t capacity = 0;
  do {
    if (!wcscmp(found->cFileName, L".") || !wcscmp(found->cFileName, L"..")) continue;
    FT_TRY(FT_GROW(*names, *count, capacity));
    char *name = ft_narrow(found->cFileName);
    if (!name) return FILTRA_ERROR_HOST_MEMORY;
    (*names)[(*count)++] = name;
  } while (FindNextFileW(search, found));
  return GetLastError() == ERROR_NO_MORE_FILES ? FILTRA_OK : ft_fail_windows("list", path);
}

filtra_status ft_list_names(const char *path, char ***names, size_t *count) {
  WIN32_FIND_DATAW found;
  char *pattern = ft_path_join(path, "*");
  if (!pattern) return FILTRA_ERROR_HOST_MEMORY;
  wchar_t *wide = ft_wide_path(pattern);
  HANDLE search = wide ? FindFirstFileW(wide, &found) : INVALID_HANDLE_VALUE;
  const DWORD reason = wide ? GetLastError() : ERROR_INVALID_NAME;
  free(pattern);
  free(wide);
  SetLastError(reason);
  if (search == INVALID_HANDLE_VALUE && reason == ERROR_FILE_NOT_FOUND) return FILTRA_OK;
  if (search == INVALID_HANDLE_VALUE) return ft_fail_windows("list", path);
  filtra_status status = collect_names(search, &found, path, names, count);
  FindClose(search);
  return status;
}
