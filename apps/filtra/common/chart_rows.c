/* Writes charts of horizontal bars: names of any length fit above their group, notes after the
 * bars. Called by compare/page.c and compare/page_cases.c. */
#include "common/chart.h"
#include "common/chart_axis.h"
#include "common/page.h"

#include <math.h>
#include <string.h>

enum {
  WIDTH = 440,
  LEFT = 2,
  NOTES = 122, /* width for notes after the longest bar */
  BAR = 11,
  STEP = 14, /* distance of two bars */
  NAME = 20, /* height of a group's name */
  GAP = 6,   /* between groups */
  AXIS = 38,
  LONGEST_NAME = 60 /* characters that fit */
};

static bool measure(const chart *c, chart_axis *x) {
  *x = axis_begin(c->log_x, LEFT, WIDTH - NOTES);
  for (size_t k = 0; k < c->count; k++) {
    const chart_series *s = &c->series[k];
    for (size_t i = 0; i < s->count; i++) {
      if (axis_shows(x, s->y[i])) axis_widen(x, s->y[i]);
      if (s->low && axis_shows(x, s->low[i])) axis_widen(x, s->low[i]);
      if (s->high && axis_shows(x, s->high[i])) axis_widen(x, s->high[i]);
    }
  }
  if (!(x->high >= x->low)) return false;
  if (!c->log_x || c->origin > 0.0) axis_widen(x, c->log_x ? c->origin : 0.0);
  return axis_finish(x, 5);
}

/* Writes a line for each mark, and its number unless that would overlap the previous one. */
static void write_axis(FILE *to, const chart *c, const chart_axis *x, double bottom) {
  double last = -WIDTH;
  for (int i = 0; i < x->marks; i++) {
    double at = axis_place(x, x->at[i]);
    fprintf(to, "<path class=\"grid\" d=\"M%.1f 0V%.0f\"/>", at, bottom);
    if (at - last < 34.0) continue;
    last = at;
    fprintf(to, "<text x=\"%.1f\" y=\"%.0f\" class=\"%s\">", at, bottom + 14.0,
            at < 12.0 ? "start" : "x");
    axis_number(to, x->at[i]);
    fputs("</text>\n", to);
  }
  fprintf(to, "<text x=\"%d\" y=\"%.0f\" class=\"x label\">", (LEFT + WIDTH - NOTES) / 2,
          bottom + 31.0);
  page_text(to, c->x_label);
  fputs(c->log_x ? " (log scale)</text>\n" : "</text>\n", to);
}

static void write_name(FILE *to, const char *name, double top) {
  char shown[LONGEST_NAME + 4];
  size_t length = strlen(name);
  if (length > LONGEST_NAME) {
    length = LONGEST_NAME - 1;
    while (length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
      length--; /* do not cut within a UTF-8 character */
    snprintf(shown, sizeof shown, "%.*s…", (int)length, name);
  } else
    memcpy(shown, name, length + 1);
  fprintf(to, "<text class=\"label\" x=\"%d\" y=\"%.0f\">", LEFT, top + 14.0);
  page_text(to, shown);
  fputs("</text>\n", to);
}

static void write_spread(FILE *to, const chart_axis *x, double low, double high, double middle) {
  if (!axis_shows(x, low) || !axis_shows(x, high)) return;
  fprintf(to, "<path class=\"spread\" d=\"M%.1f %.1fH%.1fm0 -3v6M%.1f %.1fv6\"/>",
          axis_place(x, low), middle, axis_place(x, high), axis_place(x, low), middle - 3.0);
}

static void write_bar(FILE *to, const chart *c, const chart_axis *x, size_t k, size_t i,
                      double top) {
  const chart_series *s = &c->series[k];
  const char *note = s->notes && s->notes[i] ? s->notes[i] : "";
  double origin = !x->log ? 0.0 : c->origin > 0.0 ? c->origin : pow(10.0, x->low);
  double zero = axis_place(x, origin), end = LEFT;
  fprintf(to, "<g class=\"c%zu\">", chart_color(c, k));
  if (axis_shows(x, s->y[i])) {
    end = axis_place(x, s->y[i]);
    fprintf(to, "<rect x=\"%.1f\" y=\"%.0f\" width=\"%.1f\" height=\"%d\"><title>", fmin(zero, end),
            top, fmax(fabs(end - zero), 1.0), BAR);
    page_text(to, s->name);
    fputs(", ", to);
    page_text(to, c->groups[i]);
    fputs(": ", to);
    page_text(to, note);
    fputs("</title></rect>", to);
    if (s->low && s->high) write_spread(to, x, s->low[i], s->high[i], top + BAR / 2.0);
    if (s->high && axis_shows(x, s->high[i])) end = fmax(end, axis_place(x, s->high[i]));
    end = fmax(end, zero);
  }
  fprintf(to, "<text class=\"note\" x=\"%.1f\" y=\"%.1f\">", end + 6.0, top + 10.0);
  page_text(to, note);
  fputs("</text></g>\n", to);
}

static void draw(FILE *to, const chart *c, const chart_axis *x, double group) {
  const size_t groups = c->series->count;
  write_axis(to, c, x, group * (double)groups);
  for (size_t i = 0; i < groups; i++) {
    write_name(to, c->groups[i], group * (double)i);
    for (size_t k = 0; k < c->count; k++)
      write_bar(to, c, x, k, i, group * (double)i + NAME + STEP * (double)k);
  }
}

void chart_write_rows(FILE *to, const chart *c) {
  chart_axis x;
  chart_begin(to, c);
  if (!measure(c, &x)) {
    fputs("<p>No data.</p></figure>\n", to);
    return;
  }
  const double group = NAME + STEP * (double)c->count + GAP;
  const double height = group * (double)c->series->count + AXIS;
  chart_open(to, c, WIDTH, height);
  draw(to, c, &x, group);
  fputs("</svg></figure>\n", to);
  FILE *file = chart_file_open(c, WIDTH, height);
  if (!file) return;
  draw(file, c, &x, group);
  chart_file_close();
}
