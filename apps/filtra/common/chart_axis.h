/* Axes of charts: their range, their marks, and positions of values. */
#ifndef FILTRA_CHART_AXIS_H
#define FILTRA_CHART_AXIS_H

#include <stdbool.h>
#include <stdio.h>

enum { AXIS_MOST_MARKS = 12 };

typedef struct chart_axis {
  bool log, whole;  /* whole: marks are whole numbers */
  double low, high; /* logarithms if the axis is logarithmic */
  double at[AXIS_MOST_MARKS];
  int marks;
  double from, to; /* pixels */
} chart_axis;

/** Starts an axis with an empty range. */
chart_axis axis_begin(bool log, double from, double to);
/** Whether a value can be shown: finite (below 1e100), and positive on a logarithmic axis. */
bool axis_shows(const chart_axis *a, double value);
/** Widens the range to include a value, which can be shown. */
void axis_widen(chart_axis *a, double value);
/** Rounds the range outwards to marks, about `wanted` of them. False: the range is empty. */
bool axis_finish(chart_axis *a, int wanted);
double axis_place(const chart_axis *a, double value);
/** Writes a mark's number in short form: 20k. */
void axis_number(FILE *to, double value);

#endif
