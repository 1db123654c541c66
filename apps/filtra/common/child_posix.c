#define _GNU_SOURCE
#include "common/child.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_SECONDS = 2 };

static void be_child(void (*work)(FILE *to, const void *user), const void *user, unsigned seconds,
                     int pipe) {
  const struct rlimit no_core = {0};
  setrlimit(RLIMIT_CORE, &no_core);
  alarm(seconds + GRACE_SECONDS); /* ends the child if the parent is killed */
  const int nothing = open("/dev/null", O_WRONLY);
  dup2(nothing, STDOUT_FILENO);
  dup2(nothing, STDERR_FILENO);
  FILE *to = fdopen(pipe, "w");
  if (!to) _exit(1);
  work(to, user);
  _exit(fclose(to) ? 1 : 0); /* skips the parent's exit handlers */
}

/* Reads until the pipe is closed; false: it is still open at the deadline. */
static bool read_until(int pipe, double deadline, FILE *to) {
  char part[4096];
  for (;;) {
    const double left = deadline - ft_seconds();
    struct pollfd wait = {.fd = pipe, .events = POLLIN};
    if (left <= 0) return false;
    if (poll(&wait, 1, (int)(left * 1e3) + 1) <= 0) continue;
    const ssize_t got = read(pipe, part, sizeof part);
    if (got > 0) fwrite(part, 1, (size_t)got, to);
    if (got == 0 || (got < 0 && errno != EINTR)) return true;
  }
}

/* Waits for the child's end and status; false: the deadline passed. A child inside a driver's call
 * may survive SIGKILL; it is then abandoned. */
static bool reap(pid_t child, double deadline, int *status) {
  const struct timespec pause = {.tv_nsec = 5000000};
  while (waitpid(child, status, WNOHANG) == 0) {
    if (ft_seconds() > deadline) return false;
    nanosleep(&pause, NULL);
  }
  return true;
}

static void watch(pid_t child, int pipe, unsigned seconds, FILE *to, char end[COMMAND_CHILD_END]) {
  const double deadline = ft_seconds() + seconds;
  int status = 0;
  if (!read_until(pipe, deadline, to) || !reap(child, deadline, &status)) {
    kill(child, SIGKILL);
    reap(child, deadline + GRACE_SECONDS, &status);
    snprintf(end, COMMAND_CHILD_END, "took longer than %u s", seconds);
  } else if (WIFSIGNALED(status)) {
    snprintf(end, COMMAND_CHILD_END, "crashed (%s)", strsignal(WTERMSIG(status)));
  } else if (WEXITSTATUS(status)) {
    snprintf(end, COMMAND_CHILD_END, "ended early, with exit code %d", WEXITSTATUS(status));
  }
}

filtra_status command_run_child(void (*work)(FILE *to, const void *user), const void *user,
                                unsigned seconds, command_child *out) {
  int ends[2] = {-1, -1};
  size_t size;
  *out = (command_child){0};
  FILE *text = open_memstream(&out->text, &size);
  if (!text) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  signal(SIGCHLD, SIG_DFL); /* while it is ignored, waitpid gives no status */
  fflush(NULL);
  pid_t child = pipe(ends) ? -1 : fork();
  if (child == 0) be_child(work, user, seconds, ends[1]);
  const int reason = errno;
  if (ends[1] >= 0) close(ends[1]);
  if (child > 0) watch(child, ends[0], seconds, text, out->end);
  if (ends[0] >= 0) close(ends[0]);
  fclose(text);
  if (child > 0) return FILTRA_OK;
  free(out->text);
  out->text = NULL;
  return ft_fail(FILTRA_ERROR_IO, "cannot start a process: %s", strerror(reason));
}
