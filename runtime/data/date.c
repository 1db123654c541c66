/* Reads dates. Called by ts_stamps.c and table_series.c. */
#include "data/date.h"

#include "base/number.h"

#include <stdlib.h>
#include <string.h>

/* Days from 1970-01-01 in the Gregorian calendar (Howard Hinnant, days_from_civil). */
static double days(long year, long month, long day) {
  year -= month <= 2;
  long era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
  long of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  const long leaps = of_era / 4 - of_era / 100;
  return (double)(era * 146097 + of_era * 365 + leaps + of_year - 719468);
}

/* Days of a month. */
static long days_of(long year, long month) {
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 ? 28 + leap : 30 + (month + (month > 7)) % 2;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Reads the time zone at the end of the text: Z, +02, +0200 or +02:00. */
static bool read_zone(const char *text, double *seconds) {
  const double sign = *text == '-' ? -1.0 : 1.0;
  *seconds = 0.0;
  if (!*text || !strcmp(text, "Z")) return true;
  if ((*text != '+' && *text != '-') || !is_digit(text[1]) || !is_digit(text[2])) return false;
  const long hours = 10 * (text[1] - '0') + text[2] - '0';
  const char *rest = text + 3 + (text[3] == ':');
  long minutes = 0;
  if (*rest) {
    if (!is_digit(rest[0]) || !is_digit(rest[1]) || rest[2]) return false;
    minutes = 10 * (rest[0] - '0') + rest[1] - '0';
  }
  *seconds = sign * (double)(3600 * hours + 60 * minutes);
  return hours < 24 && minutes < 60;
}

bool ft_read_date(const char *text, double *seconds) {
  static const long most[] = {9999, 12, 31, 23, 59, 60};
  static const char *const between[] = {"-/", "-/", " T_", ":-", ":-"};
  long part[6] = {0, 1, 1, 0, 0, 0};
  char *end = (char *)text, separator = 0;
  int count = 0;
  if (strspn(text, "0123456789") != 4) return false;
  while (is_digit(*end)) {
    part[count] = strtol(end, &end, 10);
    if (part[count] > most[count]) return false;
    if (++count == 6 || !*end || !strchr(between[count - 1], *end)) break;
    if (count == 5 && *end != separator) break; /* 10:00-05 has a time zone */
    separator = *end++;
  }
  const double fraction = *end == '.' && count == 6 ? ft_strtod(end, &end) : 0.0;
  double zone = 0.0;
  if (*end && (count < 4 || !read_zone(end, &zone))) return false;
  if (count < 2 || part[0] < 1 || !part[1] || !part[2] || part[2] > days_of(part[0], part[1]))
    return false;
  *seconds = 86400.0 * days(part[0], part[1], part[2]) + 3600.0 * (double)part[3] +
             60.0 * (double)part[4] + (double)part[5] + fraction - zone;
  return true;
}
