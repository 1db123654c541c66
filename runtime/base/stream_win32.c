/* stream.h for Windows, and the functions that missing_win32.h puts in place of C's: names of files
 * and variables are UTF-8. */
#include "base/stream.h"

#include "base/file_win32.h"
#include "base/memory.h"
#include "base/missing_win32.h"
#include "base/thread.h"

#undef fclose
#undef fflush
#undef fopen

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdint.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* ---- files by name ---- */

FILE *ft_fopen(const char *path, const char *mode) {
  wchar_t *name = ft_wide_path(path), wide[8] = L"";
  for (size_t i = 0; mode[i] && i < FT_COUNT(wide) - 2; i++) {
    wide[i] = (wchar_t)mode[i];
    if (!strchr(mode, 'b')) wide[i + 1] = L'b';
  }
  FILE *stream = name ? _wfopen(name, wide) : NULL;
  free(name);
  return stream;
}

int ft_remove(const char *path) {
  wchar_t *name = ft_wide_path(path);
  const DWORD kind = name ? GetFileAttributesW(name) : INVALID_FILE_ATTRIBUTES;
  const bool folder = kind != INVALID_FILE_ATTRIBUTES && kind & FILE_ATTRIBUTE_DIRECTORY;
  const bool done = name && (folder ? RemoveDirectoryW(name) : DeleteFileW(name));
  if (!done) errno = ft_windows_errno();
  free(name);
  return done ? 0 : -1;
}

int ft_rename(const char *from, const char *to) {
  wchar_t *old = ft_wide_path(from), *name = ft_wide_path(to);
  const bool done = old && name && MoveFileExW(old, name, MOVEFILE_REPLACE_EXISTING);
  if (!done) errno = ft_windows_errno();
  free(old);
  free(name);
  return done ? 0 : -1;
}

/* ---- the environment ---- */

typedef struct variable {
  struct variable *next;
  char *text; /* a result of getenv, which must stay valid; never freed */
} variable;

static variable *given;
static ft_mutex lock = FT_MUTEX_INIT;

/* Returns the kept text that equals this one, or keeps this one. */
static char *keep(char *text) {
  variable *v;
  ft_lock(&lock);
  for (v = given; v && strcmp(v->text, text) != 0; v = v->next) {
  }
  if (!v && (v = malloc(sizeof *v))) {
    *v = (variable){given, text};
    given = v;
  }
  ft_unlock(&lock);
  if (!v || v->text != text) free(text);
  return v ? v->text : NULL;
}

char *ft_getenv(const char *name) {
  wchar_t *wide = ft_wide(name);
  const DWORD size = wide ? GetEnvironmentVariableW(wide, NULL, 0) : 0;
  wchar_t *value = size ? malloc(size * sizeof *value) : NULL;
  char *text = value && GetEnvironmentVariableW(wide, value, size) < size ? ft_narrow(value) : NULL;
  free(value);
  free(wide);
  return text ? keep(text) : NULL;
}

int ft_setenv(const char *name, const char *value, int replace) {
  if (!replace && ft_getenv(name)) return 0;
  wchar_t *wide = ft_wide(name), *to = value ? ft_wide(value) : NULL;
  const bool done = wide && (to || !value) && SetEnvironmentVariableW(wide, to);
  free(to);
  free(wide);
  return done ? 0 : -1;
}

int ft_unsetenv(const char *name) {
  ft_setenv(name, NULL, 1); /* fails if the variable is not set */
  return 0;
}

/* ---- streams into memory ---- */

typedef struct memory_stream {
  struct memory_stream *next;
  FILE *stream;
  char **text;
  size_t *size;
} memory_stream;

static memory_stream *memory_streams;

/* A temporary file that is deleted when it is closed. */
static FILE *open_temporary(void) {
  wchar_t folder[MAX_PATH + 1], path[MAX_PATH + 1];
  if (!GetTempPathW(FT_COUNT(folder), folder) || !GetTempFileNameW(folder, L"ft", 0, path))
    return NULL;
  HANDLE file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE | DELETE, 0, NULL, CREATE_ALWAYS,
                            FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
  const int fd = file == INVALID_HANDLE_VALUE
                     ? -1
                     : _open_osfhandle((intptr_t)file, _O_RDWR | _O_BINARY | _O_NOINHERIT);
  FILE *stream = fd < 0 ? NULL : _fdopen(fd, "w+b");
  if (!stream && fd >= 0) _close(fd);
  if (fd < 0 && file != INVALID_HANDLE_VALUE) CloseHandle(file);
  return stream;
}

FILE *ft_open_memstream(char **text, size_t *size) {
  memory_stream *m = malloc(sizeof *m);
  FILE *stream = m ? open_temporary() : NULL;
  *text = stream ? calloc(1, 1) : NULL;
  *size = 0;
  if (!*text) {
    if (stream) fclose(stream);
    free(m);
    return NULL;
  }
  ft_lock(&lock);
  *m = (memory_stream){memory_streams, stream, text, size};
  memory_streams = m;
  ft_unlock(&lock);
  return stream;
}

/* Reads what was written so far; false: a part could not be read. */
static bool refresh(const memory_stream *m) {
  const HANDLE file = (HANDLE)_get_osfhandle(_fileno(m->stream));
  LARGE_INTEGER size;
  if (fflush(m->stream) || ferror(m->stream) || !GetFileSizeEx(file, &size)) return false;
  char *text = realloc(*m->text, (size_t)size.QuadPart + 1);
  if (!text) return false;
  *m->text = text;
  *m->size = 0;
  while (*m->size < (size_t)size.QuadPart) {
    const size_t left = (size_t)size.QuadPart - *m->size;
    OVERLAPPED at = {.Offset = (DWORD)*m->size, .OffsetHigh = (DWORD)(*m->size >> 32)};
    DWORD got = 0;
    if (!ReadFile(file, text + *m->size, left < 1 << 30 ? (DWORD)left : 1 << 30, &got, &at)) break;
    *m->size += got;
  }
  text[*m->size] = '\0';
  return fseek(m->stream, 0, SEEK_END) == 0 && *m->size == (size_t)size.QuadPart;
}

static memory_stream *find(FILE *stream, bool take) {
  ft_lock(&lock);
  memory_stream **at = &memory_streams;
  while (*at && (*at)->stream != stream)
    at = &(*at)->next;
  memory_stream *found = *at;
  if (found && take) *at = found->next;
  ft_unlock(&lock);
  return found;
}

int ft_fflush(FILE *stream) {
  const memory_stream *m = stream ? find(stream, false) : NULL;
  if (m) return refresh(m) ? 0 : EOF;
  return fflush(stream);
}

int ft_fclose(FILE *stream) {
  memory_stream *m = find(stream, true);
  const bool whole = !m || refresh(m);
  const int closed = fclose(stream);
  free(m);
  return whole ? closed : EOF;
}
