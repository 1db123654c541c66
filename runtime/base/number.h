/* Numbers as files and reports have them. */
#ifndef FT_BASE_NUMBER_H
#define FT_BASE_NUMBER_H

#include <math.h>

/** As strtod, with a decimal point whatever the program's locale has. */
double ft_strtod(const char *text, char **end);

/** exp(loss), but finite as a float: infinity has no JSON. */
static inline double ft_perplexity(double loss) {
  return exp(fmin(loss, 80.0));
}

#endif
