/* Printing of numbers, on top of number_posix.c and number_win32.c. Called by whatever writes
 * files. */
#include "base/number.h"

int ft_print(char *text, size_t size, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = ft_print_list(text, size, format, arguments);
  va_end(arguments);
  return length;
}
