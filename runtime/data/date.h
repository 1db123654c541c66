/* Dates and times of day, as files of series and tables write them. */
#ifndef FT_DATA_DATE_H
#define FT_DATA_DATE_H

#include <stdbool.h>

/** Reads a year of four digits, a month, and perhaps a day, an hour, a minute and a second:
 * 2004-10-01 12:30:00, 2004/10/1, 12-30-00 as archives write it; Z or +02:00 may follow. *seconds
 * counts from 1970-01-01, in UTC where the text names a zone. */
bool ft_read_date(const char *text, double *seconds);

#endif
