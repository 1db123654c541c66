/* system.h for POSIX and Linux: streams, signals, and the machine's names. Called by main.c and by
 * subcommands. */
#define _GNU_SOURCE
#include "common/system.h"

#include "base/memory.h"
#include "common/command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Opens /dev/null for closed standard streams: otherwise the next opened file would take the place
 * of one and receive printed text. Writing to it fails. */
char **system_begin(char **argv) {
  int fd;
  do
    fd = open("/dev/null", O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
  signal(SIGXFSZ, SIG_IGN); /* writing past a file size limit then fails */
  return argv;
}

void system_survive_closed_pipes(void) {
  signal(SIGPIPE, SIG_IGN);
}

void system_sleep(double seconds) {
  const struct timespec pause = {(time_t)seconds, (long)(1e9 * (seconds - (double)(long)seconds))};
  nanosleep(&pause, NULL);
}

/* ---- signals ---- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) {
  (void)signal_number;
  interrupted = 1;
}

void command_catch_interrupts(void) {
  const struct sigaction action = {.sa_handler = on_interrupt,
                                   .sa_flags = SA_RESTART | (int)SA_RESETHAND};
  static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP}; /* the last: the terminal was closed */
  for (size_t i = 0; i < FT_COUNT(SIGNALS); i++) {
    struct sigaction before;
    if (sigaction(SIGNALS[i], NULL, &before) || before.sa_handler == SIG_IGN) continue; /* nohup */
    sigaction(SIGNALS[i], &action, NULL);
  }
}

bool command_interrupted(void) {
  return interrupted;
}

static const char *removed = "";

static void end_without_file(int number) {
  unlink(removed);
  signal(number, SIG_DFL);
  raise(number);
}

void system_remove_when_ended(const char *path) {
  removed = path;
  signal(SIGINT, end_without_file);
  signal(SIGTERM, end_without_file);
}

/* ---- the machine ---- */

void system_describe(char *text, size_t size) {
  struct utsname system;
  if (uname(&system))
    snprintf(text, size, "unknown");
  else
    snprintf(text, size, "%s %s %s", system.sysname, system.release, system.machine);
}

void system_set_variable(const char *name, const char *value) {
  setenv(name, value, 1);
}

char *system_processor(void) {
  static const char KEY[] = "model name";
  char line[256], *name = NULL;
  FILE *stream = fopen("/proc/cpuinfo", "r");
  while (stream && !name && fgets(line, sizeof line, stream)) {
    const char *text = strchr(line, ':');
    if (!text || strncmp(line, KEY, sizeof KEY - 1)) continue;
    text += 1 + strspn(text + 1, " \t");
    name = ft_format("%.*s", (int)strcspn(text, "\n"), text);
  }
  if (stream) fclose(stream);
  return name;
}
