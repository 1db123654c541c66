#include "base/number.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>

static locale_t c_locale;

static void make_locale(void) {
  c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

double ft_strtod(const char *text, char **end) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_locale);
  return c_locale ? strtod_l(text, end, c_locale) : strtod(text, end);
}
