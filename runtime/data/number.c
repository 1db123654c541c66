#include "data/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_NUMBER = 512 };

static locale_t c_locale;

static void make_locale(void) {
  c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* strtod reads as many digits as there are, but the program may have set a decimal comma. */
static double read_double(const char *text, char **end) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_locale);
  return c_locale ? strtod_l(text, end, c_locale) : strtod(text, end);
}

filtra_status ft_read_number(const char *text, size_t length, float *value) {
  char copy[LONGEST_NUMBER + 1], *end = copy;
  double number = 0.0;
  bool possible = length > 0 && length <= LONGEST_NUMBER;
  if (possible) {
    memcpy(copy, text, length);
    copy[length] = '\0';
    /* not the hexadecimal numbers, infinities and blanks that strtod accepts, too */
    possible = strspn(copy, "0123456789+-.eE") == length;
  }
  if (possible) number = read_double(copy, &end);
  if (!possible || end != copy + length)
    return ft_fail(FILTRA_ERROR_INPUT, "\"%.*s\" is not a number", (int)(length < 40 ? length : 40),
                   text);
  if (fabs(number) > (double)FLT_MAX)
    return ft_fail(FILTRA_ERROR_INPUT, "%.40s is too large; numbers up to 3.4e38 are accepted",
                   copy);
  *value = (float)number;
  return FILTRA_OK;
}
