/* The part of file.h that writes, for POSIX and Linux. A file is opened relative to its open
 * folder; if someone else may have made the folder, no symbolic link below it is followed. Called
 * by everything that writes files. */
#define _GNU_SOURCE
#include "base/file.h"

#include "base/file_parts.h"
#include "base/file_posix.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- folders of others ---- */

/* An open folder, and the name of a file in it: a pointer to the end of a path. */
typedef struct spot {
  int folder;
  const char *name;
} spot;

filtra_status ft_fail_link(const char *path, const char *within) {
  return ft_fail(FILTRA_ERROR_PATH,
                 "%s is a symbolic link, and what is written to %s must not lead elsewhere; put "
                 "what it points to in its place",
                 path, within);
}

/* Fails if the entry is a link; *info is all 0 if there is none. */
static filtra_status examine(const spot *at, const char *path, const char *within,
                             struct stat *info) {
  if (!fstatat(at->folder, at->name, info, AT_SYMLINK_NOFOLLOW))
    return S_ISLNK(info->st_mode) ? ft_fail_link(path, within) : FILTRA_OK;
  *info = (struct stat){0};
  return errno == ENOENT ? FILTRA_OK : ft_fail_errno("examine", path);
}

/* Goes from the open folder, which is the first `given` bytes of `path`, to the file's folder. */
static filtra_status descend(char *path, size_t given, const char *within, spot *at) {
  char *part = path + given, *slash;
  while (part += strspn(part, "/"), (slash = strchr(part, '/'))) {
    struct stat info;
    *slash = '\0';
    at->name = part;
    int next = openat(at->folder, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int reason = errno;
    filtra_status status = next < 0 ? examine(at, path, within, &info) : FILTRA_OK;
    *slash = '/';
    errno = reason;
    if (!status && next < 0) status = ft_fail_errno("open the folder of", path);
    if (status) return status;
    close(at->folder);
    at->folder = next;
    part = slash;
  }
  at->name = part;
  return FILTRA_OK;
}

/* Opens the folder of a file; the caller closes it. `within` NULL: any link is followed. */
static filtra_status enter(const char *within, char *path, spot *at) {
  const char *slash = strrchr(path, '/');
  size_t given = within ? strlen(within) : slash ? (size_t)(slash - path) : 0;
  char *folder = ft_format("%.*s", (int)given, path);
  if (!folder) return FILTRA_ERROR_HOST_MEMORY;
  const char *start = given ? folder : slash && !within ? "/" : ".";
  at->folder = open(start, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  filtra_status status = at->folder < 0 ? ft_fail_errno("open the folder of", path) : FILTRA_OK;
  free(folder);
  if (status) return status;
  status = descend(path, given, within ? within : "", at);
  if (status) close(at->folder);
  return status;
}

filtra_status ft_make_folder_in(const char *within, const char *path) {
  struct stat info;
  spot at;
  char *copy = ft_strdup(path);
  filtra_status status = copy ? enter(within, copy, &at) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) {
    int reason = mkdirat(at.folder, at.name, 0777) ? errno : 0;
    if (reason) status = examine(&at, path, within, &info);
    errno = reason == EEXIST ? ENOTDIR : reason;
    if (!status && reason && !S_ISDIR(info.st_mode)) status = ft_fail_errno("make folder", path);
    close(at.folder);
  }
  free(copy);
  return status;
}

/* ---- atomic writing ---- */

/* The path to rename onto: `path`, or a symbolic link's target, so that the link remains. Refuses
 * devices and pipes, which a rename would replace. */
static filtra_status write_target(const char *path, char **target) {
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
    return ft_fail(FILTRA_ERROR_PATH, "cannot write %s: it is not a regular file", path);
  if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
    char *resolved = ft_calloc(PATH_MAX, 1);
    if (!resolved) return FILTRA_ERROR_HOST_MEMORY;
    if (!realpath(path, resolved)) {
      filtra_status status = ft_fail_errno("resolve", path);
      free(resolved);
      return status;
    }
    *target = resolved;
    return FILTRA_OK;
  }
  *target = ft_strdup(path);
  return *target ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

/* As write_target, without following links below `within`. */
static filtra_status check_target(const spot *at, const char *path, const char *within) {
  struct stat info;
  FT_TRY(examine(at, path, within, &info));
  if (!info.st_mode || S_ISREG(info.st_mode)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_PATH, "cannot write %s: it is not a regular file", path);
}

/* Takes away what group and others may not do with the file that is replaced. */
static void keep_private(int fd, const ft_atomic_file *file) {
  struct stat old, now;
  if (!fstatat(file->folder, file->path + file->name, &old, AT_SYMLINK_NOFOLLOW) &&
      !fstat(fd, &now))
    fchmod(fd, now.st_mode & (old.st_mode | S_IRWXU) & 0777);
}

/* Creates a file beside the target, under a name that no other thread or process uses. */
static filtra_status open_temporary(ft_atomic_file *file) {
  static atomic_uint serial;
  for (;;) {
    free(file->temporary);
    file->temporary =
        ft_format("%s.%ld-%u.tmp", file->path, (long)getpid(), atomic_fetch_add(&serial, 1));
    if (!file->temporary) return FILTRA_ERROR_HOST_MEMORY;
    int fd = openat(file->folder, file->temporary + file->name,
                    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) continue; /* left by a killed process */
    if (fd < 0) {
      filtra_status status = ft_fail_errno("create", file->path);
      free(file->temporary);
      file->temporary = NULL;
      return status;
    }
    keep_private(fd, file);
    file->stream = fdopen(fd, "wb");
    if (file->stream) return FILTRA_OK;
    close(fd);
    return ft_fail_errno("open", file->temporary);
  }
}

filtra_status ft_atomic_open_in(const char *within, const char *path, ft_atomic_file *file) {
  *file = (ft_atomic_file){0};
  filtra_status status = FILTRA_OK;
  char *target = within ? ft_strdup(path) : NULL;
  spot at;
  if (!within) status = write_target(path, &target);
  if (!status && !target) status = FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = enter(within, target, &at);
  if (status) {
    free(target);
    return status;
  }
  *file = (ft_atomic_file){.path = target, .folder = at.folder, .name = (size_t)(at.name - target)};
  if (within) status = check_target(&at, path, within);
  if (!status) status = open_temporary(file);
  if (status) ft_atomic_abort(file);
  return status;
}

void ft_atomic_abort(ft_atomic_file *file) {
  if (file->stream) fclose(file->stream);
  if (file->temporary) unlinkat(file->folder, file->temporary + file->name, 0);
  if (file->path) close(file->folder);
  free(file->temporary);
  free(file->path);
  *file = (ft_atomic_file){0};
}

/* Syncs a folder; else a power failure may undo a rename in it. EINVAL: the file system cannot sync
 * folders. */
static filtra_status sync_folder(int fd, const char *path) {
  return fsync(fd) && errno != EINVAL ? ft_fail_errno("sync the folder of", path) : FILTRA_OK;
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
    return ft_fail_errno("write", file->path);
  }
  if (renameat(file->folder, file->temporary + file->name, file->folder, file->path + file->name))
    return ft_fail_errno("replace", file->path);
  free(file->temporary);
  file->temporary = NULL;
  return sync_folder(file->folder, file->path);
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
    if (count < 0 && errno != EINTR) return ft_fail_errno("write", path);
  }
  return FILTRA_OK;
}

filtra_status ft_file_create(const char *path, const void *data, size_t size) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return ft_fail_errno("create", path);
  filtra_status status = write_all(fd, path, data, size);
  if (close(fd) && !status) status = ft_fail_errno("write", path);
  return status;
}

/* Syncs the folder that holds `path`. */
static filtra_status sync_folder_of(const char *path) {
  spot at;
  char *copy = ft_strdup(path);
  filtra_status status = copy ? enter(NULL, copy, &at) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) {
    status = sync_folder(at.folder, path);
    close(at.folder);
  }
  free(copy);
  return status;
}

filtra_status ft_folder_commit(const char *temporary, const char *path) {
  int fd = open(temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ft_fail_errno("open", temporary);
  filtra_status status = syncfs(fd) ? ft_fail_errno("write", temporary) : FILTRA_OK;
  close(fd);
  if (!status && rename(temporary, path)) status = ft_fail_errno("make", path);
  return status ? status : sync_folder_of(path);
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
static filtra_status check_still(int fd, const spot *at, const char *path) {
  struct stat opened, named;
  bool gone = false;
  if (fstat(fd, &opened)) return ft_fail_errno("examine", path);
  if (fstatat(at->folder, at->name, &named, 0)) {
    if (errno != ENOENT) return ft_fail_errno("examine", path);
    gone = true;
  }
  if (!gone && opened.st_dev == named.st_dev && opened.st_ino == named.st_ino) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_PATH, "%s is in use by another process", path);
}

static filtra_status open_locked(const spot *at, const char *path, const char *within, int *fd) {
  int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | (within ? O_NOFOLLOW : 0);
  struct stat info;
  *fd = openat(at->folder, at->name, flags, 0666);
  if (*fd < 0 && errno == ELOOP && within) return ft_fail_link(path, within);
  if (*fd < 0) return ft_fail_errno("open", path);
  if (fstat(*fd, &info)) return ft_fail_errno("examine", path);
  if (!S_ISREG(info.st_mode))
    return ft_fail(FILTRA_ERROR_PATH, "cannot write %s: it is not a regular file", path);
  if (within && info.st_nlink > 1)
    return ft_fail(
        FILTRA_ERROR_PATH,
        "%s has another name, too (a hard link), and what is written to %s must not lead "
        "elsewhere; put a copy of the file in its place",
        path, within);
  if (flock(*fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
    return ft_fail(FILTRA_ERROR_PATH, "%s is in use by another process", path);
  return check_still(*fd, at, path);
}

filtra_status ft_append_open_in(const char *within, const char *path, FILE **stream) {
  spot at;
  int fd = -1;
  char *copy = ft_strdup(path);
  *stream = NULL;
  filtra_status status = copy ? enter(within, copy, &at) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) {
    status = open_locked(&at, path, within, &fd);
    close(at.folder);
  }
  free(copy);
  if (!status && !(*stream = fdopen(fd, "ab"))) status = ft_fail_errno("open", path);
  if (status && fd >= 0) close(fd);
  return status;
}

bool ft_is_locked(const char *path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0) return false;
  bool locked = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
  close(fd);
  return locked;
}

filtra_status ft_append_write(FILE *stream, const char *path, const void *data, size_t size) {
  struct stat before;
  int fd = fileno(stream);
  if (fstat(fd, &before)) return ft_fail_errno("examine", path);
  filtra_status status = write_all(fd, path, data, size);
  if (status && ftruncate(fd, before.st_size)) return status; /* report the first failure */
  return status;
}

filtra_status ft_append_cut(FILE *stream, const char *path, uint64_t bytes) {
  struct stat info;
  if (fstat(fileno(stream), &info)) return ft_fail_errno("examine", path);
  if ((uint64_t)info.st_size <= bytes) return FILTRA_OK;
  return ftruncate(fileno(stream), (off_t)bytes) ? ft_fail_errno("shorten", path) : FILTRA_OK;
}

filtra_status ft_append_sync(FILE *stream, const char *path) {
  return fsync(fileno(stream)) ? ft_fail_errno("write", path) : FILTRA_OK;
}

filtra_status ft_file_write_below(const char *path, const void *data, size_t size) {
  char *folder = ft_strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
  if (!folder) return FILTRA_ERROR_HOST_MEMORY;
  if (slash) *slash = '\0';
  filtra_status status = slash && *folder ? ft_make_directories_as(folder, true) : FILTRA_OK;
  free(folder);
  ft_atomic_file file = {0};
  struct stat info;
  if (!status) status = ft_atomic_open_in(NULL, path, &file);
  if (status) return status;
  /* Removes write permission for group and others, which the umask may allow: ft_is_private would
   * not trust the file. */
  const int fd = fileno(file.stream);
  if (!fstat(fd, &info)) fchmod(fd, info.st_mode & ~(mode_t)(S_IWGRP | S_IWOTH));
  fwrite(data, 1, size, file.stream);
  return ft_atomic_commit(&file);
}
