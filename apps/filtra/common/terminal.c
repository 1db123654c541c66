/* Output for terminals: text without control characters, since it may come from files. Called by
 * everything that prints. */
#include "base/number.h"
#include "base/utf8.h"
#include "common/command.h"
#include "common/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void command_say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = ft_format_list(format, arguments);
  va_end(arguments);
  if (text) ft_hide_controls(text, strlen(text), true);
  fputs(text ? text : "out of host memory\n", stderr);
  free(text);
}

int command_print(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int count = vfprintf(command_results(), format, arguments);
  va_end(arguments);
  return count;
}

/* The escape for a byte of a name; NULL: the byte as it is. */
static const char *escaped(unsigned char byte, char text[8]) {
  if (byte == '\t') return "\\t";
  if (byte == '\n') return "\\n";
  if (byte == '\\') return "\\\\";
  if (byte >= 0x20 && byte != 0x7f) return NULL;
  snprintf(text, 8, "\\x%02x", (unsigned)byte);
  return text;
}

void command_print_field(const char *name, int width) {
  FILE *to = command_results();
  int column = 0;
  for (; *name; name++) {
    char text[8];
    const char *form = escaped((unsigned char)*name, text);
    const bool begins = ((unsigned char)*name & 0xc0) != 0x80; /* begins a UTF-8 character */
    const int taken = form ? (int)strlen(form) : begins;
    if (width && begins && column + taken > width) break;
    column += taken;
    if (form)
      fputs(form, to);
    else
      putc(*name, to);
  }
  if (width > column) fprintf(to, "%*s", width - column, "");
}
