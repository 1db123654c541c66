/* file.h for POSIX and Linux except writing: reading, folders, time, processes and processors.
 * Called by everything above base/ that touches the file system. */
#define _GNU_SOURCE
#include "base/file.h"

#include "base/file_parts.h"
#include "base/file_posix.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Whether the error lies with the path, not with the disk or the machine. */
static bool is_about_path(int reason) {
  static const int REASONS[] = {ENOENT, ENOTDIR, EISDIR, EEXIST, ENOTEMPTY, EACCES,      EPERM,
                                EROFS,  ELOOP,   EXDEV,  EBUSY,  EINVAL,    ENAMETOOLONG};
  for (size_t i = 0; i < FT_COUNT(REASONS); i++)
    if (reason == REASONS[i]) return true;
  return false;
}

filtra_status ft_fail_errno(const char *what, const char *path) {
  return ft_fail(is_about_path(errno) ? FILTRA_ERROR_PATH : FILTRA_ERROR_IO, "cannot %s %s: %s",
                 what, path, strerror(errno));
}

/* ---- reading ---- */

static filtra_status open_regular(const char *path, int *fd, uint64_t *size) {
  /* O_NONBLOCK: else open waits for a pipe's writer. */
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd < 0) return ft_fail_errno("open", path);
  struct stat info;
  filtra_status status = FILTRA_OK;
  if (fstat(*fd, &info))
    status = ft_fail_errno("examine", path);
  else if (!S_ISREG(info.st_mode))
    status = ft_fail(FILTRA_ERROR_PATH, "cannot read %s: it is not a regular file", path);
  else
    *size = (uint64_t)info.st_size;
  if (status) close(*fd);
  return status;
}

filtra_status ft_file_open_sized(const char *path, FILE **stream, uint64_t *size) {
  int fd;
  FT_TRY(open_regular(path, &fd, size));
  *stream = fdopen(fd, "rb");
  if (*stream) return FILTRA_OK;
  filtra_status status = ft_fail_errno("open", path);
  close(fd);
  return status;
}

filtra_status ft_stream_read(FILE *stream, const char *path, void *data, size_t size, size_t *got) {
  ssize_t count;
  do /* not fread, which waits for all `size` bytes */
    count = read(fileno(stream), data, size);
  while (count < 0 && errno == EINTR);
  *got = count > 0 ? (size_t)count : 0;
  return count < 0 ? ft_fail_errno("read", path) : FILTRA_OK;
}

filtra_status ft_stream_seek(FILE *stream, const char *path, uint64_t at) {
  return lseek(fileno(stream), (off_t)at, SEEK_SET) < 0 ? ft_fail_errno("read", path) : FILTRA_OK;
}

/* ---- names ---- */

char *ft_full_path(const char *path) {
  return realpath(path, NULL);
}

const char *ft_path_here(const char *path) {
  const bool drive = *path >= 'A' && *path <= 'Z' && path[1] == ':' && path[2] == '/';
  return drive && !ft_file_exists(path) && ft_file_exists(path + 2) ? path + 2 : path;
}

/* ---- folders ---- */

bool ft_file_exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

uint64_t ft_file_size(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

bool ft_same_file(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool ft_is_directory(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool ft_is_link(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

bool ft_is_private(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && info.st_uid == geteuid() &&
         !(info.st_mode & (S_IWGRP | S_IWOTH));
}

filtra_status ft_make_folder(const char *path, bool own) {
  if (mkdir(path, own ? 0700 : 0777) == 0) return FILTRA_OK;
  int reason = errno; /* may be EROFS or EACCES for an existing folder */
  if (ft_is_directory(path)) return FILTRA_OK;
  errno = reason == EEXIST ? ENOTDIR : reason;
  return ft_fail_errno("make folder", path);
}

static filtra_status collect_names(DIR *directory, const char *path, char ***names, size_t *count) {
  size_t capacity = 0;
  struct dirent *entry;
  while (errno = 0, (entry = readdir(directory))) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    FT_TRY(FT_GROW(*names, *count, capacity));
    char *name = ft_strdup(entry->d_name);
    if (!name) return FILTRA_ERROR_HOST_MEMORY;
    (*names)[(*count)++] = name;
  }
  return errno ? ft_fail_errno("list", path) : FILTRA_OK;
}

filtra_status ft_list_names(const char *path, char ***names, size_t *count) {
  DIR *directory = opendir(path);
  if (!directory) return ft_fail_errno("list", path);
  filtra_status status = collect_names(directory, path, names, count);
  closedir(directory);
  return status;
}

/* ---- the machine ---- */

double ft_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *ft_date(void) {
  static _Thread_local char text[32];
  time_t now = time(NULL);
  struct tm parts;
  bool known = gmtime_r(&now, &parts) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return known ? text : "";
}

long ft_process(void) {
  return (long)getpid();
}

bool ft_process_runs(long process) {
  return process > 0 && (kill((pid_t)process, 0) == 0 || errno != ESRCH);
}

unsigned ft_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return (unsigned)CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (unsigned)online : 1;
}

char *ft_cache_directory(void) {
  /* The XDG base directory specification says to ignore relative paths. */
  const char *cache = getenv("XDG_CACHE_HOME");
  if (cache && cache[0] == '/') return ft_path_join(cache, "filtra");
  const char *home = getenv("HOME");
  if (home && home[0] == '/') return ft_path_join(home, ".cache/filtra");
  return NULL;
}
