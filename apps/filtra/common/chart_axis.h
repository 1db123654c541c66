/* Axes of charts: what range is shown, where its marks are, and where a value lies. */
#ifndef FILTRA_CHART_AXIS_H
#define FILTRA_CHART_AXIS_H

#include <stdbool.h>
#include <stdio.h>

enum { AXIS_MOST_MARKS = 12 };

typedef struct chart_axis {
  bool log;
  double low, high; /* logarithms where the axis is logarithmic */
  double at[AXIS_MOST_MARKS];
  int marks;
  double from, to; /* pixels */
} chart_axis;

/** An axis without a value yet. */
chart_axis axis_begin(bool log, double from, double to);
/** Whether a value has a place: it is finite (and below 1e100), and positive where the axis is
 * logarithmic. */
bool axis_shows(const chart_axis *a, double value);
/** Takes a value that has a place into the range. */
void axis_widen(chart_axis *a, double value);
/** Rounds the range outwards where that costs little, and sets about `wanted` marks. False: there
 * is no value. */
bool axis_finish(chart_axis *a, int wanted);
double axis_place(const chart_axis *a, double value);
/** Writes a mark's number, short: 20k. */
void axis_number(FILE *to, double value);

#endif
