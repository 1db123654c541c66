/* Numbers as text, the same in every locale. Called by status.c and memory.c for all messages, by
 * keys.c, and by readers of files. */
#define _GNU_SOURCE
#include "base/number.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static locale_t c_locale;

static void make_locale(void) {
  c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* (locale_t)0 if memory ran out: the program's locale then applies. */
static locale_t plain_locale(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_locale);
  return c_locale;
}

double ft_strtod(const char *text, char **end) {
  locale_t plain = plain_locale();
  return plain ? strtod_l(text, end, plain) : strtod(text, end);
}

int ft_print_list(char *text, size_t size, const char *format, va_list arguments) {
  locale_t before = uselocale(plain_locale());
  int length = vsnprintf(text, size, format, arguments);
  uselocale(before);
  return length;
}

char *ft_format_list(const char *format, va_list arguments) {
  char *text = NULL;
  locale_t before = uselocale(plain_locale());
  if (vasprintf(&text, format, arguments) < 0) text = NULL;
  uselocale(before);
  return text;
}
