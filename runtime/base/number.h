/* Numbers in files and reports. */
#ifndef FT_BASE_NUMBER_H
#define FT_BASE_NUMBER_H

#include <math.h>
#include <stdarg.h>
#include <stddef.h>

/** As strtod, with a decimal point in every locale. */
double ft_strtod(const char *text, char **end);
/** As vsnprintf, with a decimal point in every locale. */
int ft_print_list(char *text, size_t size, const char *format, va_list arguments);
/** As snprintf, with a decimal point in every locale. */
int ft_print(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** As vsprintf into new memory, which the caller frees, with a decimal point in every locale; NULL
 * when out of memory. */
char *ft_format_list(const char *format, va_list arguments);

/** exp(loss), clamped to a finite float: JSON has no infinity. */
static inline double ft_perplexity(double loss) {
  return exp(fmin(loss, 80.0));
}

#endif
