/* Preloaded into the command: the FAIL_FOLDER_SYNC-th fsync of a folder fails, as on a failing
 * disk. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

__attribute__((visibility("default"))) int fsync(int fd);

int fsync(int fd) {
  static int syncs;
  int (*real)(int);
  struct stat info;
  const char *fail = getenv("FAIL_FOLDER_SYNC");
  void *symbol = dlsym(RTLD_NEXT, "fsync");
  memcpy(&real, &symbol, sizeof real);
  if (!fail || fstat(fd, &info) || !S_ISDIR(info.st_mode) || ++syncs != atoi(fail)) return real(fd);
  errno = EIO;
  return -1;
}
