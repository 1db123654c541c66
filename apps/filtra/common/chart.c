/* Writes line charts, bar charts and scatter charts as inline SVG. Called by the pages of report/,
 * compare/ and analyze/. */
#include "common/chart.h"

#include "base/status.h"
#include "common/chart_axis.h"
#include "common/page.h"

#include <math.h>
#include <string.h>

/* In pixels: about the width of a page's column, so that text keeps its size on a phone. Numbers
 * along x are NUMBERS below the axis, clear of those along y. */
enum { WIDTH = 440, HEIGHT = 290, LEFT = 72, RIGHT = 14, TOP = 12, BOTTOM = 46, NUMBERS = 20 };

static const char LOGARITHMIC[] = " (log scale)";

/* ---- axes ---- */

static void write_axes(FILE *to, const chart *c, const chart_axis *x, const chart_axis *y) {
  for (int i = 0; i < y->marks; i++) {
    double at = axis_place(y, y->at[i]);
    fprintf(to, "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" class=\"y\">",
            LEFT, at, WIDTH - RIGHT, LEFT - 6, at + 4);
    axis_number(to, y->at[i]);
    fputs("</text>\n", to);
  }
  for (int i = 0; i < x->marks && !c->groups; i++) {
    double at = axis_place(x, x->at[i]);
    fprintf(to, "<path class=\"tick\" d=\"M%.1f %dv4\"/><text x=\"%.1f\" y=\"%d\" class=\"x\">", at,
            HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + NUMBERS);
    axis_number(to, x->at[i]);
    fputs("</text>\n", to);
  }
  fprintf(to, "<path class=\"tick\" d=\"M%d %dH%d\"/><text x=\"%d\" y=\"%d\" class=\"x label\">",
          LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8);
  page_text(to, c->x_label);
  if (c->log_x) fputs(LOGARITHMIC, to);
  fprintf(to, "</text><text class=\"x label\" transform=\"translate(13 %d) rotate(-90)\">",
          (TOP + HEIGHT - BOTTOM) / 2);
  page_text(to, c->y_label);
  if (c->log_y) fputs(LOGARITHMIC, to);
  fputs("</text>\n", to);
}

/* ---- lines and points ---- */

static double x_of(const chart_series *s, size_t i) {
  return s->x ? s->x[i] : (double)i;
}

void chart_shape(FILE *to, size_t number, double x, double y) {
  switch (number / CHART_COLORS % 4) {
  case 0:
    fprintf(to, "M%.1f %.1fa3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", x - 3.5, y);
    break;
  case 1:
    fprintf(to, "M%.1f %.1fl4.5 7.8h-9z", x, y - 5.2);
    break;
  case 2:
    fprintf(to, "M%.1f %.1fh7v7h-7z", x - 3.5, y - 3.5);
    break;
  default:
    fprintf(to, "M%.1f %.1fl4.6 4.6l-4.6 4.6l-4.6 -4.6z", x, y - 4.6);
  }
}

static void write_mark(FILE *to, const chart_series *s, size_t number, size_t i, double x,
                       double y) {
  fputs("<path class=\"mark\" d=\"", to);
  chart_shape(to, number, x, y);
  fputs("\"><title>", to);
  page_text(to, s->name);
  if (s->notes) {
    fputs(": ", to);
    page_text(to, s->notes[i]);
    fputs("</title></path>\n", to);
  } else
    fprintf(to, ": %.6g, %.6g</title></path>\n", x_of(s, i), s->y[i]);
}

static void write_line(FILE *to, const chart_series *s, const chart_axis *x, const chart_axis *y) {
  bool pen_down = false;
  fputs("<path class=\"line\" d=\"", to);
  for (size_t i = 0; i < s->count; i++) {
    bool point = axis_shows(x, x_of(s, i)) && axis_shows(y, s->y[i]);
    if (point)
      fprintf(to, "%c%.1f %.1f", pen_down ? 'L' : 'M', axis_place(x, x_of(s, i)),
              axis_place(y, s->y[i]));
    pen_down = point;
  }
  fputs("\"><title>", to);
  page_text(to, s->name);
  fputs("</title></path>\n", to);
}

/* Writes the area between `low` and `high` where both can be shown. */
static void write_band(FILE *to, const chart_series *s, const chart_axis *x, const chart_axis *y) {
  bool any = false;
  if (!s->low || !s->high) return;
  fputs("<path class=\"band\" d=\"", to);
  for (size_t k = 0; k < 2 * s->count; k++) {
    const size_t i = k < s->count ? k : 2 * s->count - 1 - k;
    const double value = k < s->count ? s->low[i] : s->high[i];
    if (!axis_shows(x, x_of(s, i)) || !axis_shows(y, s->low[i]) || !axis_shows(y, s->high[i]))
      continue;
    fprintf(to, "%c%.1f %.1f", any ? 'L' : 'M', axis_place(x, x_of(s, i)), axis_place(y, value));
    any = true;
  }
  fputs(any ? "z\"/>\n" : "\"/>\n", to);
}

static void write_points(FILE *to, const chart *c, size_t number, const chart_axis *x,
                         const chart_axis *y) {
  const chart_series *s = &c->series[number];
  if (s->style == CHART_DOTS ? false : s->style == CHART_LIMIT || !c->points) return;
  for (size_t i = 0; i < s->count; i++)
    if (axis_shows(x, x_of(s, i)) && axis_shows(y, s->y[i]))
      write_mark(to, s, number, i, axis_place(x, x_of(s, i)), axis_place(y, s->y[i]));
}

/* ---- bars ---- */

/* Shows every n-th name, so that names do not overlap; returns n. */
static size_t name_stride(const chart *c, double group) {
  const double letter = 7.2;
  size_t longest = 0;
  for (size_t i = 0; i < c->series->count; i++)
    if (strlen(c->groups[i]) > longest) longest = strlen(c->groups[i]);
  return 1 + (size_t)(letter * (double)longest / group);
}

static void write_names(FILE *to, const chart *c) {
  double group = (double)(WIDTH - LEFT - RIGHT) / (double)c->series->count;
  size_t stride = name_stride(c, group);
  for (size_t i = 0; i < c->series->count; i += stride) {
    fprintf(to, "<text class=\"x\" x=\"%.1f\" y=\"%d\">", LEFT + group * ((double)i + 0.5),
            HEIGHT - BOTTOM + NUMBERS);
    page_text(to, c->groups[i]);
    fputs("</text>", to);
  }
}

static void write_bars(FILE *to, const chart *c, size_t number, const chart_axis *y) {
  const chart_series *s = &c->series[number];
  double group = (double)(WIDTH - LEFT - RIGHT) / (double)s->count;
  double bar = 0.8 * group / (double)c->count;
  double zero = axis_place(y, y->log ? pow(10.0, y->low) : 0.0);
  for (size_t i = 0; i < s->count; i++) {
    double left = LEFT + group * ((double)i + 0.1) + bar * (double)number;
    if (!axis_shows(y, s->y[i])) continue;
    double top = axis_place(y, s->y[i]);
    fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>", left,
            fmin(top, zero), fmax(bar - 1.0, 0.5), fmax(fabs(top - zero), 0.5));
    page_text(to, s->name);
    fputs(", ", to);
    page_text(to, c->groups[i]);
    fprintf(to, ": %.6g</title></rect>\n", s->y[i]);
  }
}

/* ---- charts ---- */

static bool measure(const chart *c, chart_axis *x, chart_axis *y) {
  *x = axis_begin(c->log_x, LEFT, WIDTH - RIGHT);
  *y = axis_begin(c->log_y, HEIGHT - BOTTOM, TOP);
  x->whole = c->whole_x;
  for (size_t k = 0; k < c->count; k++)
    for (size_t i = 0; i < c->series[k].count; i++) {
      double px = x_of(&c->series[k], i), py = c->series[k].y[i];
      if (!axis_shows(x, px) || !axis_shows(y, py)) continue;
      axis_widen(x, px);
      axis_widen(y, py);
      if (c->series[k].low && axis_shows(y, c->series[k].low[i]))
        axis_widen(y, c->series[k].low[i]);
      if (c->series[k].high && axis_shows(y, c->series[k].high[i]))
        axis_widen(y, c->series[k].high[i]);
    }
  if (c->groups && !c->log_y && y->high >= y->low) axis_widen(y, 0.0);
  return axis_finish(x, 6) && axis_finish(y, 6);
}

size_t chart_color(const chart *c, size_t series) {
  return (c->first_color + series) % CHART_COLORS;
}

/* Dash pattern: lines that reuse a colour are dashed, then dotted. */
static const char *dashes(const chart *c, size_t series) {
  static const char *const CLASSES[] = {"", " d1", " d2"};
  size_t round = (c->first_color + series) / CHART_COLORS;
  return c->groups ? "" : CLASSES[round % FT_COUNT(CLASSES)];
}

const char *chart_class(const chart *c, size_t series) {
  static char text[16];
  if (c->series[series].style == CHART_LIMIT) return "limit";
  snprintf(text, sizeof text, "c%zu%s", chart_color(c, series), dashes(c, series));
  return text;
}

static void write_legend(FILE *to, const chart *c) {
  if (c->count < 2) return;
  fputs("<figcaption class=\"legend\">", to);
  for (size_t i = 0; i < c->count; i++) {
    const chart_series *s = &c->series[i];
    if (!s->count) continue;
    const bool limit = s->style == CHART_LIMIT;
    fprintf(to, "<span class=\"%s%s\">", chart_class(c, i), limit ? " d1" : "");
    if (s->style == CHART_DOTS) {
      fputs("<svg class=\"key\" viewBox=\"0 0 12 12\"><path class=\"mark\" d=\"", to);
      chart_shape(to, i, 6.0, 6.0);
      fputs("\"/></svg>", to);
    } else
      fputs("<i></i>", to);
    page_text(to, s->name);
    fputs("</span> ", to);
  }
  fputs("</figcaption>\n", to);
}

void chart_begin(FILE *to, const chart *c) {
  fputs("<figure><figcaption>", to);
  page_text(to, c->title);
  fputs("</figcaption>\n", to);
}

void chart_open(FILE *to, const chart *c, int width, double height) {
  write_legend(to, c);
  fprintf(to, "<svg viewBox=\"0 0 %d %.0f\" role=\"img\" aria-label=\"", width, height);
  page_text(to, c->title);
  fputs("\">\n", to);
  if (!c->description) return;
  fputs("<desc>", to);
  page_text(to, c->description);
  fputs("</desc>\n", to);
}

static void draw(FILE *to, const chart *c, const chart_axis *x, const chart_axis *y) {
  write_axes(to, c, x, y);
  if (c->groups) write_names(to, c);
  for (size_t i = 0; i < c->count; i++) {
    const chart_series *s = &c->series[i];
    fprintf(to, "<g class=\"%s\">", chart_class(c, i));
    if (c->groups)
      write_bars(to, c, i, y);
    else {
      write_band(to, s, x, y);
      if (s->style != CHART_DOTS) write_line(to, s, x, y);
      write_points(to, c, i, x, y);
    }
    fputs("</g>\n", to);
  }
}

void chart_write(FILE *to, const chart *c) {
  chart_axis x, y;
  chart_begin(to, c);
  if (!measure(c, &x, &y)) {
    fputs("<p>No data.</p></figure>\n", to);
    return;
  }
  chart_open(to, c, WIDTH, HEIGHT);
  draw(to, c, &x, &y);
  fputs("</svg></figure>\n", to);
  FILE *file = chart_file_open(c, WIDTH, HEIGHT);
  if (!file) return;
  draw(file, c, &x, &y);
  chart_file_close();
}
