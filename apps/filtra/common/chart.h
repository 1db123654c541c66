/* Charts as inline SVG, for the pages of page.h. */
#ifndef FILTRA_CHART_H
#define FILTRA_CHART_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum chart_style {
  CHART_LINE,
  CHART_DOTS, /* points without a line, each series with its shape */
  CHART_LIMIT /* a limit of the other series: dashed, in the text's colour */
} chart_style;

/** One line, or one group of bars. Leaves out points that are not finite, or not positive on a
 * logarithmic axis. A series without points still takes up a colour, but is not in the legend. */
typedef struct chart_series {
  const char *name;
  const double *x, *y; /* [count]; x NULL: 0, 1, 2, ... */
  size_t count;
  chart_style style;
  const char *const *notes; /* [count] shown when pointing at a point, or after a row's bar;
                               NULL: the numbers, or nothing */
  const double *low, *high; /* [count] ends of rows' error bars, or of a line's band; NULL: none */
} chart_series;

enum { CHART_COLORS = 8 };

typedef struct chart {
  const char *title, *x_label, *y_label;
  const char *description;   /* for screen readers; NULL: `title` */
  bool log_x, log_y;         /* logarithmic axes; labels must mention it */
  bool whole_x;              /* x is a count: marks are whole numbers */
  bool points;               /* mark every point; for few measured points */
  const char *const *groups; /* [count] names along x, for bars side by side; NULL: lines */
  const chart_series *series;
  size_t count; /* number of series; those after CHART_COLORS have dashes and other marks */
  size_t first_color;
  double origin; /* where rows begin on a logarithmic axis; 0: at its start */
} chart;

/** Writes a <figure>. A chart without points says so. */
void chart_write(FILE *to, const chart *c);
/** As chart_write, with horizontal bars: names of any length above each group, notes after the
 * bars. Values are along x; bars without a value have only their note. Ignores `y_label` and
 * `points`. */
void chart_write_rows(FILE *to, const chart *c);

/** A square of weights. Each row adds up to 1 at most. */
typedef struct chart_map {
  const char *title, *x_label, *y_label;
  const double *values; /* [size, size], row by row, not negative */
  size_t size;
  const char *const *names; /* [size] of rows and columns, shown where there is room; NULL: none */
} chart_map;

/** Writes a <figure>: the larger a weight, the darker. Large squares are drawn as CHART_CELLS cells
 * per side, each with the mean weight of its rows and columns. */
enum { CHART_CELLS = 64 };
void chart_write_map(FILE *to, const chart_map *m);

/* ---- files of charts (chart_file.c) ---- */

/** Saves the charts of a page as standalone SVG files, NUMBER-TITLE.svg, in a folder, which is
 * created if needed. `write` writes the page. `within` is as in ft_atomic_open_in; NULL: a folder
 * that a person gave. *count: number of charts. */
filtra_status chart_save_page(const char *within, const char *folder,
                              filtra_status (*write)(FILE *to, const void *page), const void *page,
                              size_t *count);

/* ---- shared by chart.c, chart_rows.c and chart_file.c ---- */

/** Opens the chart's file, to which everything drawn on the page is drawn too; NULL: the chart is
 * not saved. */
FILE *chart_file_open(const chart *c, int width, double height);
void chart_file_close(void);
/** Style class of a series. */
const char *chart_class(const chart *c, size_t series);
/** Writes the outline of the mark of series `number` at (x, y); its shape changes after every
 * CHART_COLORS series. */
void chart_shape(FILE *to, size_t number, double x, double y);
/** Index of a series' colour. */
size_t chart_color(const chart *c, size_t series);
/** Opens the <figure> and writes its title. */
void chart_begin(FILE *to, const chart *c);
/** Writes the legend, and opens the <svg> of `width` by `height` with its description. */
void chart_open(FILE *to, const chart *c, int width, double height);

#endif
