/* Runs cells in child processes, so that one cell's crash, lost device or lack of memory does not
 * end the others. */
#include "base/file.h"
#include "base/memory.h"
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts a process with empty standard input and its outputs appended to the log. It gets its own
 * process group, so that a terminal's Ctrl-C reaches it through the sweep only, and once. */
static int spawn(const char *const *arguments, const char *log, pid_t *process) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none;
  sigemptyset(&none);
  int error = posix_spawn_file_actions_init(&files);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (!error) {
    if (!error) error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (!error)
      error = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!error)
      error = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log,
                                               O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (!error) error = posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    if (!error)
      error = posix_spawn(process, "/proc/self/exe", &files, &attributes, (char *const *)arguments,
                          environ);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&files);
  return error;
}

filtra_status sweep_start(const char *const *arguments, const char *log, sweep_child *child) {
  pid_t process;
  *child = (sweep_child){.log = log, .begin = ft_file_size(log)};
  int error = spawn(arguments, log, &process);
  if (error)
    return ft_fail(FILTRA_ERROR_IO, "cannot start a process that writes %s: %s", log,
                   strerror(error));
  child->process = process;
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
