/* Text with numbers, on top of number_posix.c and number_win32.c. Called by status.c for all
 * sentences, and by what writes files. */
#include "base/number.h"

#include <stdlib.h>

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
