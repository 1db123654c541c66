/* number.h for Windows: numbers as text, the same in every locale. Called by status.c and memory.c
 * for all messages, by keys.c, and by readers of files. */
#include "base/number.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A thread's locale for numbers. */
typedef struct numeric_locale {
  char name[256]; /* "": unchanged */
  int per_thread;
} numeric_locale;

/* Gives this thread the locale "C" if its decimal point differs. Returns what restore_locale
 * needs. */
static numeric_locale plain_locale(void) {
  numeric_locale before = {.name = ""};
  if (!strcmp(localeconv()->decimal_point, ".")) return before;
  before.per_thread = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
  const char *name = setlocale(LC_NUMERIC, NULL);
  if (name) snprintf(before.name, sizeof before.name, "%s", name);
  setlocale(LC_NUMERIC, "C");
  return before;
}

static void restore_locale(const numeric_locale *before) {
  if (!*before->name) return;
  setlocale(LC_NUMERIC, before->name);
  _configthreadlocale(before->per_thread);
}

double ft_strtod(const char *text, char **end) {
  const numeric_locale before = plain_locale();
  double number = strtod(text, end);
  restore_locale(&before);
  return number;
}

int ft_print_list(char *text, size_t size, const char *format, va_list arguments) {
  const numeric_locale before = plain_locale();
  int length = vsnprintf(text, size, format, arguments);
  restore_locale(&before);
  return length;
}

char *ft_format_list(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int length = ft_print_list(NULL, 0, format, again);
  va_end(again);
  char *text = length < 0 ? NULL : malloc((size_t)length + 1);
  if (text) ft_print_list(text, (size_t)length + 1, format, arguments);
  return text;
}
