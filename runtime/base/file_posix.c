/* file.h for POSIX and Linux: files, folders, time, processes and processors. Called by everything
 * above base/ that touches the file system. */
#include "base/file.h"

#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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

static filtra_status fail_errno(const char *what, const char *path) {
  return ft_fail(is_about_path(errno) ? FILTRA_ERROR_PATH : FILTRA_ERROR_IO, "cannot %s %s: %s",
                 what, path, strerror(errno));
}

/* ---- reading ---- */

static filtra_status read_all(int fd, const char *path, char *data, size_t size, size_t *got) {
  *got = 0;
  while (*got < size) {
    ssize_t count = read(fd, data + *got, size - *got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("read", path);
    if (count == 0) break;
    *got += (size_t)count;
  }
  return FILTRA_OK;
}

/* Opens a regular file; *size is its current size. */
static filtra_status open_regular(const char *path, int *fd, uint64_t *size) {
  /* O_NONBLOCK: else open waits for a pipe's writer. */
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (*fd < 0) return fail_errno("open", path);
  struct stat info;
  filtra_status status = FILTRA_OK;
  if (fstat(*fd, &info))
    status = fail_errno("examine", path);
  else if (!S_ISREG(info.st_mode))
    status = ft_fail(FILTRA_ERROR_PATH, "cannot read %s: it is not a regular file", path);
  else
    *size = (uint64_t)info.st_size;
  if (status) close(*fd);
  return status;
}

static filtra_status read_open_file(int fd, const char *path, uint64_t bytes, uint64_t limit,
                                    char **data, size_t *size) {
  if (bytes > limit)
    return ft_fail(FILTRA_ERROR_INPUT, "%s has %llu bytes, at most %llu are accepted", path,
                   (unsigned long long)bytes, (unsigned long long)limit);
  char *text = ft_calloc((size_t)bytes + 1, 1);
  if (!text) return ft_fail_context(FILTRA_ERROR_HOST_MEMORY, "reading %s", path);
  filtra_status status = read_all(fd, path, text, (size_t)bytes, size);
  if (status) {
    free(text);
    return status;
  }
  text[*size] = '\0';
  *data = text;
  return FILTRA_OK;
}

filtra_status ft_file_read(const char *path, uint64_t limit, char **data, size_t *size) {
  *data = NULL;
  *size = 0;
  int fd;
  uint64_t bytes;
  FT_TRY(open_regular(path, &fd, &bytes));
  filtra_status status = read_open_file(fd, path, bytes, limit, data, size);
  close(fd);
  return status;
}

filtra_status ft_file_open(const char *path, FILE **stream) {
  int fd;
  uint64_t bytes;
  FT_TRY(open_regular(path, &fd, &bytes));
  *stream = fdopen(fd, "rb");
  if (*stream) return FILTRA_OK;
  filtra_status status = fail_errno("open", path);
  close(fd);
  return status;
}

filtra_status ft_stream_read(FILE *stream, const char *path, void *data, size_t size, size_t *got) {
  ssize_t count;
  do /* not fread, which waits for all of it */
    count = read(fileno(stream), data, size);
  while (count < 0 && errno == EINTR);
  *got = count > 0 ? (size_t)count : 0;
  return count < 0 ? fail_errno("read", path) : FILTRA_OK;
}

filtra_status ft_stream_seek(FILE *stream, const char *path, uint64_t at) {
  return lseek(fileno(stream), (off_t)at, SEEK_SET) < 0 ? fail_errno("read", path) : FILTRA_OK;
}

/* ---- atomic writing ---- */

/* The path to rename onto: `path`, or what a symbolic link points to, so that the link remains.
 * Refuses devices and pipes, which a rename would replace. */
static filtra_status write_target(const char *path, char **target) {
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
    return ft_fail(FILTRA_ERROR_PATH, "cannot write %s: it is not a regular file", path);
  if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
    char *resolved = ft_calloc(PATH_MAX, 1);
    if (!resolved) return FILTRA_ERROR_HOST_MEMORY;
    if (!realpath(path, resolved)) {
      filtra_status status = fail_errno("resolve", path);
      free(resolved);
      return status;
    }
    *target = resolved;
    return FILTRA_OK;
  }
  *target = ft_strdup(path);
  return *target ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

/* Creates a file beside the target, under a name that no other thread or process uses. */
static filtra_status open_temporary(ft_atomic_file *file) {
  static atomic_uint serial;
  for (;;) {
    free(file->temporary);
    file->temporary =
        ft_format("%s.%ld-%u.tmp", file->path, (long)getpid(), atomic_fetch_add(&serial, 1));
    if (!file->temporary) return FILTRA_ERROR_HOST_MEMORY;
    int fd = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue; /* left by a killed process */
    if (fd < 0) {
      filtra_status status = fail_errno("create", file->path);
      free(file->temporary);
      file->temporary = NULL;
      return status;
    }
    file->stream = fdopen(fd, "wb");
    if (file->stream) return FILTRA_OK;
    close(fd);
    return fail_errno("open", file->temporary);
  }
}

filtra_status ft_atomic_open(const char *path, ft_atomic_file *file) {
  *file = (ft_atomic_file){0};
  filtra_status status;
  FT_TRY_GOTO(status, write_target(path, &file->path), failed);
  FT_TRY_GOTO(status, open_temporary(file), failed);
  return FILTRA_OK;
failed:
  ft_atomic_abort(file);
  return status;
}

void ft_atomic_abort(ft_atomic_file *file) {
  if (file->stream) fclose(file->stream);
  if (file->temporary) unlink(file->temporary);
  free(file->temporary);
  free(file->path);
  *file = (ft_atomic_file){0};
}

/* Syncs the folder; else a power failure may undo the rename. */
static filtra_status sync_directory_of(const char *path) {
  char *directory = ft_strdup(path);
  if (!directory) return FILTRA_ERROR_HOST_MEMORY;
  char *slash = strrchr(directory, '/');
  if (slash) slash[slash == directory] = '\0';
  int fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  filtra_status status = FILTRA_OK;
  /* EINVAL: the file system cannot sync folders. */
  if (fd < 0 || (fsync(fd) && errno != EINVAL)) status = fail_errno("sync the folder of", path);
  if (fd >= 0) close(fd);
  free(directory);
  return status;
}

static filtra_status flush_and_rename(ft_atomic_file *file) {
  bool failed = ferror(file->stream);
  errno = 0;
  /* errno of an earlier failed write is lost; write one more byte to get it again. */
  if (failed) fputc(0, file->stream);
  if (fflush(file->stream)) failed = true;
  if (!failed) failed = fsync(fileno(file->stream)) != 0;
  int reason = errno;
  if (fclose(file->stream) && !failed) {
    failed = true;
    reason = errno;
  }
  file->stream = NULL;
  if (failed) {
    errno = reason ? reason : EIO;
    return fail_errno("write", file->path);
  }
  if (rename(file->temporary, file->path)) return fail_errno("replace", file->path);
  free(file->temporary);
  file->temporary = NULL;
  return sync_directory_of(file->path);
}

filtra_status ft_atomic_commit(ft_atomic_file *file) {
  filtra_status status = flush_and_rename(file);
  ft_atomic_abort(file); /* removes the temporary file unless it was renamed */
  return status;
}

/* ---- folders of many files ---- */

static filtra_status write_all(int fd, const char *path, const char *data, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t count = write(fd, data + done, size - done);
    if (count > 0) done += (size_t)count;
    if (count < 0 && errno != EINTR) return fail_errno("write", path);
  }
  return FILTRA_OK;
}

filtra_status ft_file_create(const char *path, const void *data, size_t size) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return fail_errno("create", path);
  filtra_status status = write_all(fd, path, data, size);
  if (close(fd) && !status) status = fail_errno("write", path);
  return status;
}

filtra_status ft_folder_commit(const char *temporary, const char *path) {
  int fd = open(temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return fail_errno("open", temporary);
  filtra_status status = syncfs(fd) ? fail_errno("write", temporary) : FILTRA_OK;
  close(fd);
  if (!status && rename(temporary, path)) status = fail_errno("make", path);
  return status ? status : sync_directory_of(path);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
  (void)info, (void)kind, (void)place;
  remove(path); /* leave what cannot be removed */
  return 0;
}

void ft_remove_tree(const char *path) {
  nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- appending ---- */

/* Fails unless the path still leads to the opened file: another process may have removed it before
 * it was locked here. */
static filtra_status check_still(int fd, const char *path) {
  struct stat opened, named;
  bool gone = false;
  if (fstat(fd, &opened)) return fail_errno("examine", path);
  if (stat(path, &named)) {
    if (errno != ENOENT) return fail_errno("examine", path);
    gone = true;
  }
  if (!gone && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_PATH, "%s is in use by another process", path);
}

filtra_status ft_append_open(const char *path, FILE **stream) {
  *stream = NULL;
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) return fail_errno("open", path);
  struct stat info;
  filtra_status status = FILTRA_OK;
  if (fstat(fd, &info))
    status = fail_errno("examine", path);
  else if (!S_ISREG(info.st_mode))
    status = ft_fail(FILTRA_ERROR_PATH, "cannot write %s: it is not a regular file", path);
  else if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
    status = ft_fail(FILTRA_ERROR_PATH, "%s is in use by another process", path);
  else
    status = check_still(fd, path);
  if (!status && !(*stream = fdopen(fd, "ab"))) status = fail_errno("open", path);
  if (status) close(fd);
  return status;
}

filtra_status ft_append_write(FILE *stream, const char *path, const void *data, size_t size) {
  struct stat before;
  int fd = fileno(stream);
  if (fstat(fd, &before)) return fail_errno("examine", path);
  filtra_status status = write_all(fd, path, data, size);
  if (status && ftruncate(fd, before.st_size)) return status; /* report the first failure */
  return status;
}

filtra_status ft_append_cut(FILE *stream, const char *path, uint64_t bytes) {
  struct stat info;
  if (fstat(fileno(stream), &info)) return fail_errno("examine", path);
  if ((uint64_t)info.st_size <= bytes) return FILTRA_OK;
  return ftruncate(fileno(stream), (off_t)bytes) ? fail_errno("shorten", path) : FILTRA_OK;
}

filtra_status ft_append_sync(FILE *stream, const char *path) {
  return fsync(fileno(stream)) ? fail_errno("write", path) : FILTRA_OK;
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

static filtra_status make_directory(const char *path, mode_t mode) {
  if (mkdir(path, mode) == 0) return FILTRA_OK;
  int reason = errno; /* may be EROFS or EACCES for an existing folder */
  if (ft_is_directory(path)) return FILTRA_OK;
  errno = reason == EEXIST ? ENOTDIR : reason;
  return fail_errno("make folder", path);
}

static filtra_status make_directories(const char *path, mode_t mode) {
  char *copy = ft_strdup(path);
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = FILTRA_OK;
  for (char *c = copy + 1; copy[0] && *c && !status; c++) {
    if (*c != '/') continue;
    *c = '\0';
    status = make_directory(copy, mode);
    *c = '/';
  }
  if (!status) status = make_directory(copy, mode);
  free(copy);
  return status;
}

filtra_status ft_make_directories(const char *path) {
  return make_directories(path, 0777);
}

filtra_status ft_file_write_below(const char *path, const void *data, size_t size) {
  char *folder = ft_strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
  if (!folder) return FILTRA_ERROR_HOST_MEMORY;
  if (slash) *slash = '\0';
  filtra_status status = slash && *folder ? make_directories(folder, 0700) : FILTRA_OK;
  free(folder);
  ft_atomic_file file = {0};
  struct stat info;
  if (!status) status = ft_atomic_open(path, &file);
  if (status) return status;
  /* Removes write permission for group and others, which the umask may allow: ft_is_private would
   * not trust the file. */
  const int fd = fileno(file.stream);
  if (!fstat(fd, &info)) fchmod(fd, info.st_mode & ~(mode_t)(S_IWGRP | S_IWOTH));
  fwrite(data, 1, size, file.stream);
  return ft_atomic_commit(&file);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
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
  return errno ? fail_errno("list", path) : FILTRA_OK;
}

filtra_status ft_list_directory(const char *path, char ***names, size_t *count) {
  *names = NULL;
  *count = 0;
  DIR *directory = opendir(path);
  if (!directory) return fail_errno("list", path);
  filtra_status status = collect_names(directory, path, names, count);
  closedir(directory);
  if (status) {
    ft_free_names(*names, *count);
    *names = NULL;
    *count = 0;
    return status;
  }
  if (*count) qsort(*names, *count, sizeof **names, compare_names);
  return FILTRA_OK;
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
