/* Charts as inline SVG in self-contained HTML pages, light or dark as the reader's system is. */
#ifndef FILTRA_CHART_H
#define FILTRA_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** One line or one group of bars. Points that are not finite, or not positive on a logarithmic
 * axis, are left out. */
typedef struct chart_series {
  const char *name;
  const double *x, *y; /* [count]; x NULL: 0, 1, 2, ... */
  size_t count;
} chart_series;

enum { CHART_COLORS = 8 };

typedef struct chart {
  const char *title, *x_label, *y_label;
  bool log_x, log_y;
  bool points;               /* mark every point; for few points that were measured */
  const char *const *groups; /* bars side by side: [count] names along x; NULL: lines */
  const chart_series *series;
  size_t count; /* of series; colours repeat after CHART_COLORS */
} chart;

/** Writes a <figure>. A chart without a single point says so. */
void chart_write(FILE *to, const chart *c);

/** Begins a page: style sheet and heading. */
void page_begin(FILE *to, const char *title);
void page_end(FILE *to);
/** Writes text with what HTML takes for markup escaped. */
void page_text(FILE *to, const char *text);

#endif
