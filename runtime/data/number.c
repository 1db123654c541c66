#include "data/number.h"

#include "base/number.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LONGEST_NUMBER = 512 };

filtra_status ft_read_double(const char *text, size_t length, double *value) {
  char copy[LONGEST_NUMBER + 1], *end = copy;
  double number = 0.0;
  bool possible = length > 0 && length <= LONGEST_NUMBER;
  if (possible) {
    memcpy(copy, text, length);
    copy[length] = '\0';
    /* rejects hexadecimal numbers, infinities and blanks, which strtod accepts */
    possible = strspn(copy, "0123456789+-.eE") == length;
  }
  if (possible) number = ft_strtod(copy, &end);
  if (!possible || end != copy + length)
    return ft_fail(FILTRA_ERROR_INPUT, "\"%.*s\" is not a number", (int)(length < 40 ? length : 40),
                   text);
  if (fabs(number) > (double)FLT_MAX)
    return ft_fail(FILTRA_ERROR_INPUT, "%.40s is too large; numbers up to 3.4e38 are accepted",
                   copy);
  *value = number;
  return FILTRA_OK;
}

filtra_status ft_read_number(const char *text, size_t length, float *value) {
  double number;
  FT_TRY(ft_read_double(text, length, &number));
  *value = (float)number;
  return FILTRA_OK;
}
