/* Runs cells in child processes, so that one cell's crash, lost device or lack of memory does not
 * end the others. No shell is involved. For POSIX and Linux; called by run.c. */
#define _GNU_SOURCE
#include "base/file.h"
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Becomes the command, with empty standard input and its outputs appended to the log. Its own
 * process group makes a terminal's Ctrl-C reach it only through the sweep, and only once. If the
 * sweep is killed, the child saves a checkpoint and ends, as after Ctrl-C. */
static void be_child(const char *const *arguments, int log, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(COMMAND_FAILED); /* the parent was killed before that */
  int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execv("/proc/self/exe", (char *const *)arguments);
  dprintf(STDERR_FILENO, "filtra: cannot start /proc/self/exe: %s\n", strerror(errno));
  _exit(COMMAND_FAILED);
}

filtra_status sweep_start(const char *within, const char *const *arguments, const char *log,
                          sweep_child *child) {
  FILE *to;
  *child = (sweep_child){.log = log, .begin = ft_file_size(log)};
  FT_TRY(ft_append_open_in(within, log, &to)); /* the child keeps the lock until it ends */
  fflush(NULL);
  pid_t parent = getpid(), process = fork();
  if (process == 0) be_child(arguments, fileno(to), parent);
  int reason = errno;
  child->process = process > 0 ? process : 0;
  if (process > 0) sweep_log_begin(to, child, arguments[1]);
  fclose(to);
  if (process < 0)
    return ft_fail(FILTRA_ERROR_IO, "cannot start a process that writes %s: %s", log,
                   strerror(reason));
  return FILTRA_OK;
}

bool sweep_ended(sweep_child *child, int *code) {
  int status;
  pid_t got = waitpid((pid_t)child->process, &status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return false;
  *code = got < 0 ? COMMAND_FAILED : WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  child->process = 0;
  return true;
}

void sweep_stop(const sweep_child *child) {
  if (child->process) kill((pid_t)child->process, SIGTERM);
}

const char *sweep_end_name(int code, char name[SWEEP_END_NAME]) {
  snprintf(name, SWEEP_END_NAME, "signal %d (%s)", -code, strsignal(-code));
  return name;
}
