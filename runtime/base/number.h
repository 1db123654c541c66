/* Numbers in files and reports. */
#ifndef FT_BASE_NUMBER_H
#define FT_BASE_NUMBER_H

#include <math.h>

/** As strtod, with a decimal point in every locale. */
double ft_strtod(const char *text, char **end);

/** exp(loss), limited so that it is finite as a float: JSON has no infinity. */
static inline double ft_perplexity(double loss) {
  return exp(fmin(loss, 80.0));
}

#endif
