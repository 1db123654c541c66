#include "chart.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 640, HEIGHT = 340, LEFT = 64, RIGHT = 16, TOP = 14, BOTTOM = 50 };
enum { MOST_TICKS = 12 };

/* One axis: the range shown and where its marks are. */
typedef struct axis {
  bool log;
  double low, high; /* logarithms where the axis is logarithmic */
  double at[MOST_TICKS];
  int ticks;
  double from, to; /* pixels */
} axis;

/* ---- text ---- */

void page_text(FILE *to, const char *text) {
  for (; *text; text++) {
    switch (*text) {
    case '<':
      fputs("&lt;", to);
      break;
    case '>':
      fputs("&gt;", to);
      break;
    case '&':
      fputs("&amp;", to);
      break;
    case '"':
      fputs("&quot;", to);
      break;
    default:
      fputc(*text, to);
    }
  }
}

/* ---- axes ---- */

static bool shown(const axis *a, double value) {
  return isfinite(value) && (!a->log || value > 0.0);
}

static double place(const axis *a, double value) {
  double v = a->log ? log10(value) : value;
  return a->from + (a->to - a->from) * (v - a->low) / (a->high - a->low);
}

static void widen(axis *a, double value) {
  double v = a->log ? log10(value) : value;
  if (v < a->low) a->low = v;
  if (v > a->high) a->high = v;
}

/* Steps of 1, 2 or 5 times a power of ten, about `wanted` of them. */
static double tick_step(double span, int wanted) {
  double step = pow(10.0, floor(log10(span / wanted)));
  double ratio = span / wanted / step;
  return step * (ratio > 5.0 ? 10.0 : ratio > 2.0 ? 5.0 : ratio > 1.0 ? 2.0 : 1.0);
}

/* Rounds the range outwards where that costs little, and sets the marks. */
static void finish_axis(axis *a, int wanted) {
  if (!(a->high - a->low > 1e-12 * (fabs(a->high) + fabs(a->low)))) {
    double pad = a->log || a->low == 0.0 ? 0.5 : 0.1 * fabs(a->low);
    a->low -= pad;
    a->high += pad;
  }
  double step = tick_step(a->high - a->low, wanted);
  if (a->log && step < 1.0) step = 1.0;
  a->low = floor(a->low / step + 1e-9) * step;
  a->high = ceil(a->high / step - 1e-9) * step;
  if (!(a->high > a->low)) a->high = a->low + step;
  for (int i = 0; i < MOST_TICKS; i++) {
    double v = a->low + i * step;
    if (v > a->high + 0.5 * step) break;
    if (fabs(v) < 1e-9 * step) v = 0.0;
    a->at[a->ticks++] = a->log ? pow(10.0, v) : v;
  }
}

static void write_number(FILE *to, double v) {
  static const struct {
    double unit;
    const char *suffix;
  } UNITS[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++)
    if (fabs(v) >= UNITS[i].unit * 0.9999) {
      fprintf(to, "%.4g%s", v / UNITS[i].unit, UNITS[i].suffix);
      return;
    }
  fprintf(to, "%.3g", v);
}

static void write_axes(FILE *to, const chart *c, const axis *x, const axis *y) {
  for (int i = 0; i < y->ticks; i++) {
    double at = place(y, y->at[i]);
    fprintf(to, "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" class=\"y\">",
            LEFT, at, WIDTH - RIGHT, LEFT - 6, at + 4);
    write_number(to, y->at[i]);
    fputs("</text>\n", to);
  }
  for (int i = 0; i < x->ticks && !c->groups; i++) {
    double at = place(x, x->at[i]);
    fprintf(to, "<path class=\"tick\" d=\"M%.1f %dv4\"/><text x=\"%.1f\" y=\"%d\" class=\"x\">", at,
            HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 17);
    write_number(to, x->at[i]);
    fputs("</text>\n", to);
  }
  fprintf(to, "<path class=\"tick\" d=\"M%d %dH%d\"/><text x=\"%d\" y=\"%d\" class=\"x label\">",
          LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10);
  page_text(to, c->x_label);
  fprintf(to, "</text><text class=\"x label\" transform=\"translate(14 %d) rotate(-90)\">",
          (TOP + HEIGHT - BOTTOM) / 2);
  page_text(to, c->y_label);
  fputs("</text>\n", to);
}

/* ---- lines ---- */

static double x_of(const chart_series *s, size_t i) {
  return s->x ? s->x[i] : (double)i;
}

static void write_mark(FILE *to, const chart_series *s, size_t i, double px, double py) {
  fprintf(to, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>", px, py);
  page_text(to, s->name);
  fprintf(to, ": %.6g, %.6g</title></circle>", x_of(s, i), s->y[i]);
}

static void write_line(FILE *to, const chart *c, const chart_series *s, const axis *x,
                       const axis *y) {
  bool pen_down = false;
  fputs("<path class=\"line\" d=\"", to);
  for (size_t i = 0; i < s->count; i++) {
    bool point = shown(x, x_of(s, i)) && shown(y, s->y[i]);
    if (point)
      fprintf(to, "%c%.1f %.1f", pen_down ? 'L' : 'M', place(x, x_of(s, i)), place(y, s->y[i]));
    pen_down = point;
  }
  fputs("\"><title>", to);
  page_text(to, s->name);
  fputs("</title></path>\n", to);
  for (size_t i = 0; i < s->count && c->points; i++)
    if (shown(x, x_of(s, i)) && shown(y, s->y[i]))
      write_mark(to, s, i, place(x, x_of(s, i)), place(y, s->y[i]));
}

/* ---- bars ---- */

static void write_bars(FILE *to, const chart *c, size_t number, const axis *y) {
  const chart_series *s = &c->series[number];
  double group = (double)(WIDTH - LEFT - RIGHT) / (double)s->count;
  double bar = 0.8 * group / (double)c->count;
  double zero = place(y, y->log ? pow(10.0, y->low) : 0.0);
  for (size_t i = 0; i < s->count; i++) {
    double left = LEFT + group * ((double)i + 0.1) + bar * (double)number;
    if (number == 0) {
      fprintf(to, "<text class=\"x\" x=\"%.1f\" y=\"%d\">", LEFT + group * ((double)i + 0.5),
              HEIGHT - BOTTOM + 17);
      page_text(to, c->groups[i]);
      fputs("</text>", to);
    }
    if (!shown(y, s->y[i])) continue;
    double top = place(y, s->y[i]);
    fprintf(to, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>", left,
            fmin(top, zero), fmax(bar - 1.0, 0.5), fmax(fabs(top - zero), 0.5));
    page_text(to, s->name);
    fputs(", ", to);
    page_text(to, c->groups[i]);
    fprintf(to, ": %.6g</title></rect>\n", s->y[i]);
  }
}

/* ---- charts ---- */

static bool measure(const chart *c, axis *x, axis *y) {
  bool any = false;
  *x = (axis){.log = c->log_x, .low = INFINITY, .high = -INFINITY, .from = LEFT};
  *y = (axis){.log = c->log_y, .low = INFINITY, .high = -INFINITY, .from = HEIGHT - BOTTOM};
  x->to = WIDTH - RIGHT;
  y->to = TOP;
  for (size_t k = 0; k < c->count; k++)
    for (size_t i = 0; i < c->series[k].count; i++) {
      double px = x_of(&c->series[k], i), py = c->series[k].y[i];
      if (!shown(x, px) || !shown(y, py)) continue;
      widen(x, px);
      widen(y, py);
      any = true;
    }
  if (!any) return false;
  if (c->groups && !c->log_y) widen(y, 0.0);
  finish_axis(x, 8);
  finish_axis(y, 6);
  return true;
}

static void write_legend(FILE *to, const chart *c) {
  if (c->count < 2) return;
  fputs("<figcaption class=\"legend\">", to);
  for (size_t i = 0; i < c->count; i++) {
    fprintf(to, "<span class=\"c%zu\"><i></i>", i % CHART_COLORS);
    page_text(to, c->series[i].name);
    fputs("</span> ", to);
  }
  fputs("</figcaption>\n", to);
}

void chart_write(FILE *to, const chart *c) {
  axis x, y;
  fputs("<figure><figcaption>", to);
  page_text(to, c->title);
  fputs("</figcaption>\n", to);
  if (!measure(c, &x, &y)) {
    fputs("<p>No data.</p></figure>\n", to);
    return;
  }
  write_legend(to, c);
  fprintf(to, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
  page_text(to, c->title);
  fputs("\">\n", to);
  write_axes(to, c, &x, &y);
  for (size_t i = 0; i < c->count; i++) {
    fprintf(to, "<g class=\"c%zu\">", i % CHART_COLORS);
    if (c->groups)
      write_bars(to, c, i, &y);
    else
      write_line(to, c, &c->series[i], &x, &y);
    fputs("</g>\n", to);
  }
  fputs("</svg></figure>\n", to);
}

/* ---- pages ---- */

/* Okabe and Ito's colours, which colour-blind readers tell apart; the darkest and the palest of
 * them are exchanged for what can be seen on either ground. */
static const char STYLE[] =
    ":root{color-scheme:light dark;--ink:#1c2430;--soft:#5c6675;--line:#d9dee5;--paper:#fff;"
    "--card:#f6f8fa}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#9aa4b2;--line:#333b47;"
    "--paper:#12161c;--card:#1a2028}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
    "margin:2rem auto;max-width:1360px;padding:0 1rem}\n"
    "h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));"
    "gap:1rem}\n"
    "figure{margin:0;background:var(--card);border-radius:8px;padding:.8rem 1rem}\n"
    "figcaption{font-weight:600}figcaption.legend{font-weight:400;font-size:.85rem}\n"
    ".legend span{margin-right:1em;white-space:nowrap}\n"
    ".legend i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.35em;"
    "background:var(--c)}\n"
    "svg{width:100%;height:auto}svg text{font-size:12px;fill:var(--soft)}\n"
    "text.x{text-anchor:middle}text.y{text-anchor:end}text.label{fill:var(--ink)}\n"
    ".grid{stroke:var(--line)}.tick{stroke:var(--soft)}\n"
    ".line{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round}\n"
    "rect,circle{fill:var(--c)}\n"
    ".c0{--c:#0072b2}.c1{--c:#e69f00}.c2{--c:#009e73}.c3{--c:#cc79a7}.c4{--c:#d55e00}"
    ".c5{--c:#56b4e9}.c6{--c:#8a7a00}.c7{--c:#7f7f7f}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.3em .8em;border-bottom:1px solid var(--line);text-align:right}\n"
    "th:first-child,td:first-child,.text{text-align:left}p{max-width:70ch}\n"
    ".wide{overflow-x:auto;font-size:.9rem}.wide td:not(.text){white-space:nowrap}\n"
    ".wide td,.wide th{padding:.3em .6em}.wide "
    "td:nth-last-child(-n+2){font-size:.8rem;min-width:11em}\n"
    ".three{grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr))}"
    ".three svg text{font-size:16px}\n";

void page_begin(FILE *to, const char *title) {
  fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>",
        to);
  page_text(to, title);
  fprintf(to, "</title>\n<style>\n%s</style></head>\n<body><h1>", STYLE);
  page_text(to, title);
  fputs("</h1>\n", to);
}

void page_end(FILE *to) {
  fputs("</body></html>\n", to);
}
