/* Charts as inline SVG, for the pages of page.h. */
#ifndef FILTRA_CHART_H
#define FILTRA_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum chart_style {
  CHART_LINE,
  CHART_DOTS, /* points with nothing between them, a shape for each series */
  CHART_LIMIT /* a line that bounds the others: in the colour of text, not in the legend */
} chart_style;

/** One line or one group of bars. Points that are not finite, or not positive on a logarithmic
 * axis, are left out. A series without points keeps its colour from others, and is not in the
 * legend. */
typedef struct chart_series {
  const char *name;
  const double *x, *y; /* [count]; x NULL: 0, 1, 2, ... */
  size_t count;
  chart_style style;
  const char *const *notes; /* [count] said of a point when it is pointed at, or behind a row's bar;
                                NULL: the numbers, or nothing */
  const double *low, *high; /* [count] what rows draw an error bar between; NULL: none */
} chart_series;

enum { CHART_COLORS = 8 };

typedef struct chart {
  const char *title, *x_label, *y_label;
  const char *description; /* for who cannot see it; NULL: the title says all */
  bool log_x, log_y;
  bool points;               /* mark every point; for few points that were measured */
  const char *const *groups; /* bars side by side: [count] names along x; NULL: lines */
  const chart_series *series;
  size_t count; /* of series; after CHART_COLORS come dashes and other marks */
  size_t first_color;
  double origin; /* where rows begin on a logarithmic axis; 0: at its start */
} chart;

/** Writes a <figure>. A chart without a single point says so. */
void chart_write(FILE *to, const chart *c);
/** Writes one with the bars lying: a name of any length above each group, notes behind the bars.
 * Values are along x; bars without one have their note only. `y_label` and `points` mean nothing
 * here. */
void chart_write_rows(FILE *to, const chart *c);

/* ---- what both share (chart.c) ---- */

/** The number of a series' colour. */
size_t chart_color(const chart *c, size_t series);
/** Begins the <figure>: its title. */
void chart_begin(FILE *to, const chart *c);
/** The legend, and the opened <svg>, `width` by `height`, with its text for who cannot see it. */
void chart_open(FILE *to, const chart *c, int width, double height);

#endif
