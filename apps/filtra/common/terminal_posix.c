/* The part of system.h about terminals, and standard output without control characters, for POSIX
 * and GNU. Called by main.c and by all that print progress. */
#define _GNU_SOURCE
#include "base/utf8.h"
#include "common/command.h"
#include "common/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool system_is_terminal(FILE *stream) {
  return isatty(fileno(stream));
}

int system_columns(void) {
  struct winsize window;
  bool known = !ioctl(STDERR_FILENO, TIOCGWINSZ, &window) && window.ws_col > 1;
  return known ? window.ws_col : 80;
}

void system_clear_line(void) {
  fputs("\r\033[K", stderr);
}

bool command_rewrites_line(void) {
  const char *kind = getenv("TERM");
  return system_is_terminal(stderr) && kind && *kind && strcmp(kind, "dumb") != 0;
}

/* ---- standard output ---- */

/* Number of bytes of an incomplete character at the end: at most 3. */
static size_t unfinished(const char *text, size_t length) {
  for (size_t back = 1; back <= 3 && back <= length; back++) {
    unsigned char c = (unsigned char)text[length - back];
    if (c < 0x80) return 0;
    if (c >= 0xc0) return (c >= 0xf0 ? 4U : c >= 0xe0 ? 3U : 2U) > back ? back : 0;
  }
  return 0;
}

static int shown_on = STDOUT_FILENO;
static FILE *results; /* NULL: standard output, unfiltered */

FILE *command_results(void) {
  return results ? results : stdout;
}

static bool write_all(const char *bytes, size_t count) {
  for (size_t sent = 0; sent < count;) {
    ssize_t more = write(shown_on, bytes + sent, count - sent);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) return false;
    sent += (size_t)more;
  }
  return true;
}

static ssize_t write_shown(void *cookie, const char *bytes, size_t size) {
  static char held[3]; /* an incomplete character; its rest comes with the next call */
  static size_t held_count;
  (void)cookie;
  for (size_t done = 0; done < size;) {
    char shown[4096];
    size_t room = sizeof shown - held_count, more = size - done < room ? size - done : room;
    memcpy(shown, held, held_count);
    memcpy(shown + held_count, bytes + done, more);
    done += more;
    more += held_count;
    held_count = unfinished(shown, more);
    memcpy(held, shown + more - held_count, held_count);
    ft_hide_controls(shown, more - held_count, true);
    if (!write_all(shown, more - held_count)) return 0;
  }
  return (ssize_t)size;
}

static FILE *guard(void) {
  FILE *guarded = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_shown});
  if (guarded) setvbuf(guarded, NULL, _IOLBF, BUFSIZ);
  return guarded;
}

void command_guard_terminal(void) {
  if (isatty(STDOUT_FILENO)) results = guard(); /* other programs get the bytes unchanged */
}

void command_set_results_apart(void) {
  int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (fd < 0) return;
  shown_on = fd;
  results = isatty(fd) ? guard() : fdopen(fd, "w");
  if (results) dup2(STDERR_FILENO, STDOUT_FILENO);
}
