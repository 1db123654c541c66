/* Runs cells in child processes, so that one cell's crash, lost device or lack of memory does not
 * end the others. No shell is involved. Called by run.c. */
#include "base/file.h"
#include "base/memory.h"
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Becomes the command, with empty standard input and its outputs appended to the log. It gets its
 * own process group, so that a terminal's Ctrl-C reaches it through the sweep only, and once. When
 * the sweep is killed, it saves a checkpoint and ends, as after Ctrl-C. */
static void be_child(const char *const *arguments, int log, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(COMMAND_FAILED); /* it was killed before that */
  int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execv("/proc/self/exe", (char *const *)arguments);
  dprintf(STDERR_FILENO, "filtra: cannot start /proc/self/exe: %s\n", strerror(errno));
  _exit(COMMAND_FAILED);
}

static const char BEGINNING[] = "process "; /* of a log's line that says who writes it */

filtra_status sweep_start(const char *within, const char *const *arguments, const char *log,
                          sweep_child *child) {
  FILE *to;
  *child = (sweep_child){.log = log, .begin = ft_file_size(log)};
  FT_TRY(ft_append_open_in(within, log, &to)); /* the child keeps the lock until it ends */
  fflush(NULL);
  pid_t parent = getpid(), process = fork();
  if (process == 0) be_child(arguments, fileno(to), parent);
  int reason = errno;
  if (process > 0)
    dprintf(fileno(to), "%s%ld: filtra %s\n", BEGINNING, (long)process, arguments[1]);
  fclose(to);
  if (process < 0)
    return ft_fail(FILTRA_ERROR_IO, "cannot start a process that writes %s: %s", log,
                   strerror(reason));
  child->process = process;
  return FILTRA_OK;
}

long sweep_writer(const char *log) {
  char *text;
  size_t size;
  long process = 0;
  if (ft_file_read(log, 64 << 20, &text, &size)) return 0;
  for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
    if (!strncmp(line, BEGINNING, sizeof BEGINNING - 1))
      process = strtol(line + sizeof BEGINNING - 1, NULL, 10);
  free(text);
  return process;
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

/* The last line that begins like the command's messages; lines after it are advice. */
static const char *last_message(const char *text) {
  const char *found = NULL;
  for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
    if (!strncmp(line, "filtra", 6)) found = line;
  return found;
}

char *sweep_last_words(const sweep_child *child, int code) {
  char *text = NULL;
  size_t size = 0;
  if (code < 0)
    return ft_format("its process was ended by signal %d (%s); %s has what it said", -code,
                     strsignal(-code), child->log);
  filtra_status status = ft_file_read(child->log, 64 << 20, &text, &size);
  const char *message = !status && size > child->begin ? last_message(text + child->begin) : NULL;
  char *words = message ? ft_format("%.*s", (int)strcspn(message, "\n"), message)
                        : ft_format("exit code %d; %s has what it said", code, child->log);
  free(text);
  return words;
}
