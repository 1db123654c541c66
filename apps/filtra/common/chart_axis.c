#include "common/chart_axis.h"

#include <math.h>

chart_axis axis_begin(bool log, double from, double to) {
  return (chart_axis){.log = log, .low = INFINITY, .high = -INFINITY, .from = from, .to = to};
}

bool axis_shows(const chart_axis *a, double value) {
  const double most = 1e100; /* far above all measurements; larger values could overflow */
  return a->log ? value > 1.0 / most && value < most : fabs(value) < most;
}

void axis_widen(chart_axis *a, double value) {
  double v = a->log ? log10(value) : value;
  if (v < a->low) a->low = v;
  if (v > a->high) a->high = v;
}

double axis_place(const chart_axis *a, double value) {
  double v = a->log ? log10(value) : value;
  return a->from + (a->to - a->from) * (v - a->low) / (a->high - a->low);
}

/* A step of 1, 2 or 5 times a power of ten, for about `wanted` steps. */
static double mark_step(double span, int wanted) {
  double step = pow(10.0, floor(log10(span / wanted)));
  double ratio = span / wanted / step;
  return step * (ratio > 5.0 ? 10.0 : ratio > 2.0 ? 5.0 : ratio > 1.0 ? 2.0 : 1.0);
}

static void mark_evenly(chart_axis *a, int wanted) {
  double step = mark_step(a->high - a->low, wanted);
  if ((a->log || a->whole) && step < 1.0) step = 1.0;
  a->low = floor(a->low / step + 1e-9) * step;
  a->high = ceil(a->high / step - 1e-9) * step;
  if (!(a->high > a->low)) a->high = a->low + step;
  for (int i = 0; i < AXIS_MOST_MARKS; i++) {
    double v = a->low + i * step;
    if (v > a->high + 0.5 * step) break;
    if (fabs(v) < 1e-9 * step) v = 0.0;
    a->at[a->marks++] = a->log ? pow(10.0, v) : v;
  }
}

/* Marks 1, 2 and 5 of each decade of a logarithmic axis, from the last mark below the range to the
 * first above it. */
static void mark_decades(chart_axis *a) {
  static const double DIGITS[] = {1.0, 2.0, 5.0};
  double low = a->low, high = a->high;
  for (int i = 3 * (int)floor(low); a->marks < AXIS_MOST_MARKS; i++) {
    int decade = (int)floor(i / 3.0);
    double value = DIGITS[i - 3 * decade] * pow(10.0, decade), v = log10(value);
    if (v <= low + 1e-9) a->marks = 0;
    a->at[a->marks++] = value;
    if (v >= high - 1e-9) break;
  }
  a->low = log10(a->at[0]);
  a->high = fmax(high, log10(a->at[a->marks - 1]));
}

bool axis_finish(chart_axis *a, int wanted) {
  const double few_decades = 2.0;
  if (!(a->high >= a->low)) return false;
  if (!(a->high - a->low > 1e-12 * (fabs(a->high) + fabs(a->low)))) {
    double pad = a->log || a->low == 0.0 ? 0.5 : 0.1 * fabs(a->low);
    a->low -= pad;
    a->high += pad;
  }
  if (a->log && a->high - a->low <= few_decades)
    mark_decades(a);
  else
    mark_evenly(a, wanted);
  return true;
}

void axis_number(FILE *to, double value) {
  static const struct {
    double unit;
    const char *suffix;
  } UNITS[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
    if (fabs(value) >= UNITS[i].unit * 0.9999) {
      fprintf(to, "%.4g%s", value / UNITS[i].unit, UNITS[i].suffix);
      return;
    }
  int power = value == 0.0 ? 0 : (int)floor(log10(fabs(value)) + 1e-9);
  if (power < -3) /* "1e-4", shorter than printf's form */
    fprintf(to, "%.3ge%d", value / pow(10.0, power), power);
  else
    fprintf(to, "%.3g", value);
}
