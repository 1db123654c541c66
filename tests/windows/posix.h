/* What tests use of POSIX, for Windows; included before everything. Calls that have no counterpart
 * skip the case that makes them, and say so. */
#ifndef TEST_WINDOWS_POSIX_H
#define TEST_WINDOWS_POSIX_H

#include "base/missing_win32.h"
#include "base/stream.h"
#include "base/text.h"

#include <io.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define strsep         ft_strsep
#define memmem         ft_memmem
#define open_memstream ft_open_memstream

struct CMUnitTest;
/** Runs all cases but those that left_out.txt names, which it prints with the reasons. */
int test_run_group(const char *name, const struct CMUnitTest *cases, size_t count,
                   int (*setup)(void **state), int (*teardown)(void **state));
#define TEST_GROUP test_run_group

/** Skips the running case. */
long test_lacks(const char *function);

/* A process that goes on as two, signals to one, limits of one. */
#define fork()                  ((pid_t)test_lacks("fork"))
#define pause()                 ((int)test_lacks("pause"))
#define alarm(seconds)          ((void)(seconds), test_lacks("alarm"))
#define kill(process, number)   ((void)(process), (void)(number), (int)test_lacks("kill"))
#define setpgid(process, group) ((int)test_lacks("setpgid"))
#define waitpid(process, status, options)                                                          \
  ((void)(process), memset(status, 0, sizeof(int)), (pid_t)test_lacks("waitpid"))
#define WIFEXITED(status)   ((status) >= 0)
#define WEXITSTATUS(status) (status)
#define WIFSIGNALED(status) ((status) < 0)
#define WTERMSIG(status)    (-(status))
#define WNOHANG             1
#define SIGKILL             9
#define SIGHUP              1
#define SIGPIPE             13
#define SIGXFSZ             25
typedef uint64_t rlim_t;
struct rlimit {
  rlim_t rlim_cur, rlim_max;
};
struct rusage {
  struct {
    long tv_sec, tv_usec;
  } ru_utime, ru_stime;
  long ru_maxrss;
};
#define RUSAGE_SELF           0
#define RUSAGE_CHILDREN       (-1)
#define getrusage(who, usage) (memset(usage, 0, sizeof *(usage)), (int)test_lacks("getrusage"))
typedef uint64_t cpu_set_t;
#define CPU_SETSIZE                            64
#define CPU_ZERO(set)                          (*(set) = 0)
#define CPU_SET(i, set)                        (*(set) |= UINT64_C(1) << (i))
#define CPU_ISSET(i, set)                      (*(set) >> (i)&1)
#define CPU_COUNT(set)                         (*(set) != 0)
#define sched_getaffinity(process, size, set)  ((void)(set), (int)test_lacks("sched_getaffinity"))
#define sched_setaffinity(process, size, set)  ((void)(set), (int)test_lacks("sched_setaffinity"))
#define pthread_setattr_default_np(attributes) test_lacks("pthread_setattr_default_np")
#define forkpty(master, name, termios, size)   ((void)(master), (pid_t)test_lacks("forkpty"))
#define RLIMIT_FSIZE                           1
#define RLIMIT_NOFILE                          7
#define RLIMIT_AS                              9
#define RLIM_INFINITY                          UINT64_MAX
#define getrlimit(what, limit)                 ((void)(limit), (int)test_lacks("getrlimit"))
#define setrlimit(what, limit)                 ((void)(limit), (int)test_lacks("setrlimit"))

/* Links and modes, which Wine takes from the system below it. */
#define symlink(to, path)  ((void)(to), (void)(path), (int)test_lacks("symlink"))
#define link(to, path)     ((void)(to), (void)(path), (int)test_lacks("link"))
#define mkfifo(path, mode) ((void)(path), (int)test_lacks("mkfifo"))
#define chmod(path, mode)  ((void)(path), (int)test_lacks("chmod"))
#define fchmod(file, mode) ((int)test_lacks("fchmod"))
#define umask(mode)        test_umask(mode)
static inline mode_t test_umask(mode_t mode) {
  (void)mode;
  return (mode_t)test_lacks("umask");
}
#define lstat         stat
#define S_ISLNK(mode) 0
typedef int gid_t;
#define chown(path, user, group) ((void)(path), (int)test_lacks("chown"))
#define geteuid()                0
#define getuid()                 0

#define pipe(ends) _pipe(ends, 65536, 0x8000)

#define malloc_usable_size _msize
/* A symbol that another object of the same program replaces: there is none. */
#define weak

/* New folders. */
#define mkdir(path, mode) mkdir(path)
char *test_mkdtemp(char *pattern);
#define mkdtemp test_mkdtemp
/* Without the drive, for programs outside of Wine. */
#define realpath(path, to) ((void)(to), test_full_path(path))
char *test_full_path(const char *path);

/* A shell's pipes: the shell of the system below Wine. */
FILE *test_popen(const char *command, const char *mode);
int test_pclose(FILE *stream);
int test_system(const char *command);
#undef popen
#undef pclose
#define popen  test_popen
#define pclose test_pclose
#define system test_system
/** As setenv, also for what test_popen starts. */
int test_setenv(const char *name, const char *value, int replace);
int test_unsetenv(const char *name);
#undef setenv
#undef unsetenv
#define setenv   test_setenv
#define unsetenv test_unsetenv

#endif
