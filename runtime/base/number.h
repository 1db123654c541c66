/* Numbers as files have them. */
#ifndef FT_BASE_NUMBER_H
#define FT_BASE_NUMBER_H

/** As strtod, with a decimal point whatever the program's locale has. */
double ft_strtod(const char *text, char **end);

#endif
