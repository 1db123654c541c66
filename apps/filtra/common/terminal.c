/* Replaces control characters on terminals, since printed text may come from files. */
#include "common/command.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* Whether byte `c`, after byte `before`, is a control character: in ASCII, except tab and line
 * feed, or encoded by UTF-8 in two bytes. */
static bool is_control(unsigned char before, unsigned char c) {
  if (c == '\t' || c == '\n') return false;
  return c < 0x20 || c == 0x7f || (before == 0xc2 && c >= 0x80 && c < 0xa0);
}

static ssize_t write_shown(void *cookie, const char *bytes, size_t size) {
  static unsigned char before; /* last byte of the previous call */
  (void)cookie;
  for (size_t done = 0; done < size;) {
    char shown[4096];
    size_t count = 0;
    for (; count < sizeof shown && done + count < size; count++) {
      unsigned char c = (unsigned char)bytes[done + count];
      shown[count] = (char)(is_control(before, c) ? '?' : c);
      before = c;
    }
    for (size_t sent = 0; sent < count;) {
      ssize_t more = write(STDOUT_FILENO, shown + sent, count - sent);
      if (more < 0 && errno == EINTR) continue;
      if (more <= 0) return 0;
      sent += (size_t)more;
    }
    done += count;
  }
  return (ssize_t)size;
}

void command_guard_terminal(void) {
  if (!isatty(STDOUT_FILENO)) return; /* other programs get the bytes unchanged */
  FILE *guarded = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_shown});
  if (!guarded) return;
  setvbuf(guarded, NULL, _IOLBF, BUFSIZ);
  stdout = guarded;
}
