/* Reads series with time stamps if these are equally spaced: models know only steps, no times.
 * Called by ts.c. */
#include "data/ts_stamps.h"

#include "base/memory.h"
#include "base/number.h"
#include "base/text.h"
#include "data/date.h"
#include "data/labels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- one stamp ---- */

static filtra_status read_time(const char *text, size_t length, double *time) {
  char copy[64] = "", *end = copy;
  ft_trim(&text, &length);
  if (length > 0 && length < sizeof copy) {
    memcpy(copy, text, length);
    bool number = strspn(copy, "0123456789+-.eE") == length;
    if (number) *time = ft_strtod(copy, &end);
    if (number && !*end && isfinite(*time)) return FILTRA_OK;
    if (ft_read_date(copy, time)) return FILTRA_OK;
  }
  return ft_fail(FILTRA_ERROR_INPUT, "\"%.*s\" is no time stamp, neither a number nor a date",
                 (int)(length < 40 ? length : 40), text);
}

/* ---- a dimension ---- */

/* Reads "(time,value)"; *at moves past it and a comma that follows; *more: there was a comma. */
static filtra_status read_pair(const char **at, const char *end, double *time, double *value,
                               bool *more) {
  const char *text = *at + strspn(*at, " \t"), *close = memchr(text, ')', (size_t)(end - text));
  const char *comma = close ? ft_memrchr(text, ',', (size_t)(close - text)) : NULL;
  if (text >= end || *text != '(' || !comma)
    return ft_fail(FILTRA_ERROR_INPUT, "not (time,value), though the header says @timeStamps true");
  FT_TRY(read_time(text + 1, (size_t)(comma - text - 1), time));
  FT_TRY(ft_series_value(comma + 1, (size_t)(close - comma - 1), value));
  *at = close + 1 + strspn(close + 1, " \t");
  *more = *at < end && **at == ',';
  if (*more)
    ++*at;
  else if (*at < end)
    return ft_fail(FILTRA_ERROR_INPUT, "no ',' after (time,value)");
  return FILTRA_OK;
}

/* Whether two times are equal to a twentieth of a step. */
static bool is_near(double a, double b, double step) {
  return fabs(a - b) <= 0.05 * step;
}

/* On failure sets *length to the index of the value whose time is before the last one. */
static filtra_status check_order(const ft_ts_stamps *s, size_t *length) {
  const double *t = s->times;
  for (size_t i = 1; i < *length; i++)
    if (t[i] < t[i - 1]) {
      *length = i;
      return ft_fail(FILTRA_ERROR_INPUT,
                     "time stamps fall, from %.9g to %.9g; series in the order of time are read",
                     t[i - 1], t[i]);
    }
  return FILTRA_OK;
}

/* On failure sets *length to the index of the value after the widest step. */
static filtra_status check_steps(ft_ts_stamps *s, size_t *length) {
  const double *t = s->times;
  double step = *length > 1 ? (t[*length - 1] - t[0]) / (double)(*length - 1) : 0.0;
  double least = step, most = step;
  bool equal = *length < 2 || step > 0.0;
  size_t widest = *length > 1;
  for (size_t i = 1; i < *length; i++) {
    double apart = t[i] - t[i - 1];
    equal = equal && is_near(t[i], t[0] + (double)i * step, step);
    if (apart > most) widest = i;
    least = fmin(least, apart);
    most = fmax(most, apart);
  }
  if (!equal) {
    *length = widest;
    return ft_fail(FILTRA_ERROR_INPUT,
                   "time stamps at unequal steps, %g to %g apart; series at equal steps are read",
                   least, most);
  }
  if (step > 0.0 && s->all > 0.0 && !is_near(step, s->all, s->all))
    return ft_fail(FILTRA_ERROR_INPUT, "time stamps at steps of %g where the series before have %g",
                   step, s->all);
  if (step > 0.0) s->all = step;
  return FILTRA_OK;
}

filtra_status ft_ts_stamps_read(ft_ts_stamps *s, ft_series *series, const char *text,
                                const char *end, size_t first, size_t *length) {
  *length = 0;
  for (bool more = true; more; ++*length) {
    double value;
    FT_TRY(FT_GROW(s->times, *length, s->capacity));
    FT_TRY(read_pair(&text, end, &s->times[*length], &value, &more));
    FT_TRY(ft_series_put(series, first + *length, value));
  }
  FT_TRY(check_order(s, length));
  FT_TRY(check_steps(s, length));
  if (first == 0) s->start = s->times[0];
  if (s->times[0] == s->start || is_near(s->times[0], s->start, s->all)) return FILTRA_OK;
  *length = 0;
  return ft_fail(FILTRA_ERROR_INPUT, "time stamps from %g on, where dimension 1 begins at %g",
                 s->times[0], s->start);
}

void ft_ts_stamps_end(ft_ts_stamps *s) {
  free(s->times);
}
