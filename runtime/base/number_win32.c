/* number.h for Windows: numbers as text, the same in every locale. Called by status.c and memory.c
 * for all sentences, by keys.c, and by readers of files. */
#include "base/number.h"

#include "base/status.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gives this thread the locale "C" where its numbers have another point. Returns the locale to be
 * restored, NULL for none. */
static char *plain_locale(int *before) {
  if (!strcmp(localeconv()->decimal_point, ".")) return NULL;
  *before = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
  const char *name = setlocale(LC_NUMERIC, NULL);
  char *kept = name ? _strdup(name) : NULL;
  setlocale(LC_NUMERIC, "C");
  return kept;
}

static void restore_locale(char *kept, int before) {
  if (!kept) return;
  setlocale(LC_NUMERIC, kept);
  _configthreadlocale(before);
  free(kept);
}

double ft_strtod(const char *text, char **end) {
  int before;
  char *kept = plain_locale(&before);
  double number = strtod(text, end);
  restore_locale(kept, before);
  return number;
}

int ft_print_list(char *text, size_t size, const char *format, va_list arguments) {
  int before;
  char *kept = plain_locale(&before);
  int length = vsnprintf(text, size, format, arguments);
  restore_locale(kept, before);
  return length;
}

int ft_print(char *text, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = ft_print_list(text, size, format, arguments);
  va_end(arguments);
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
