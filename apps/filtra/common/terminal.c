/* What a terminal gets: text without control characters, since it may come from files, and a line
 * that is written again and again only where it can be. Called by main.c and by all that print. */
#include "base/utf8.h"
#include "common/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a character at the end that is not complete yet: at most 3. */
static size_t unfinished(const char *text, size_t length) {
  for (size_t back = 1; back <= 3 && back <= length; back++) {
    unsigned char c = (unsigned char)text[length - back];
    if (c < 0x80) return 0;
    if (c >= 0xc0) return (c >= 0xf0 ? 4U : c >= 0xe0 ? 3U : 2U) > back ? back : 0;
  }
  return 0;
}

static int shown_on = STDOUT_FILENO;
static FILE *apart; /* the results' stream where standard output is left to others; else NULL */

FILE *command_results(void) {
  return apart ? apart : stdout;
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
  static char held[3]; /* of a character whose rest comes with the next call */
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
  if (!isatty(STDOUT_FILENO)) return; /* other programs get the bytes unchanged */
  FILE *guarded = guard();
  if (guarded) stdout = guarded;
}

void command_set_results_apart(void) {
  int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (fd < 0) return;
  shown_on = fd;
  apart = isatty(fd) ? guard() : fdopen(fd, "w");
  if (apart) dup2(STDERR_FILENO, STDOUT_FILENO);
}

void command_say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = ft_format_list(format, arguments);
  va_end(arguments);
  if (text) ft_hide_controls(text, strlen(text), true);
  fputs(text ? text : "out of host memory\n", stderr);
  free(text);
}

/* How a byte of a name is written; NULL: as it is. */
static const char *escaped(unsigned char byte, char text[8]) {
  if (byte == '\t') return "\\t";
  if (byte == '\n') return "\\n";
  if (byte == '\\') return "\\\\";
  if (byte >= 0x20 && byte != 0x7f) return NULL;
  snprintf(text, 8, "\\x%02x", (unsigned)byte);
  return text;
}

void command_print_field(const char *name, int width) {
  int column = 0;
  for (; *name; name++) {
    char text[8];
    const char *form = escaped((unsigned char)*name, text);
    const bool begins = ((unsigned char)*name & 0xc0) != 0x80; /* of a character in UTF-8 */
    const int taken = form ? (int)strlen(form) : begins;
    if (width && begins && column + taken > width) break;
    column += taken;
    if (form)
      fputs(form, stdout);
    else
      putchar(*name);
  }
  if (width > column) printf("%*s", width - column, "");
}

bool command_rewrites_line(void) {
  const char *kind = getenv("TERM");
  return isatty(STDERR_FILENO) && kind && *kind && strcmp(kind, "dumb") != 0;
}
