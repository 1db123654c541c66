/* Writes squares of weights, such as attention maps. Called by analyze/maps.c. */
#include "common/chart.h"
#include "common/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Up to MOST_NAMED rows get names, of up to NAME_LETTERS letters each. */
enum { SIDE = 320, MOST_NAMED = 20, NAME_LETTERS = 10, NAMES = 88, EDGE = 24, LEVELS = 16 };

/* How the square is drawn. */
typedef struct layout {
  const chart_map *map;
  size_t cells;
  double cell, left, top, most; /* most: the largest cell's weight */
} layout;

/* The first row or column of a cell. */
static size_t first_of(const layout *l, size_t cell) {
  return cell * l->map->size / l->cells;
}

/* Mean weight of a cell's rows and columns. */
static double weight_of(const layout *l, size_t row, size_t column) {
  const size_t first = first_of(l, row), end = first_of(l, row + 1);
  double sum = 0.0;
  for (size_t i = first; i < end; i++)
    for (size_t j = first_of(l, column); j < first_of(l, column + 1); j++)
      sum += l->map->values[i * l->map->size + j];
  return sum / (double)(end - first);
}

static layout plan(const chart_map *m) {
  const bool named = m->names && m->size <= MOST_NAMED;
  layout l = {.map = m, .cells = m->size < CHART_CELLS ? m->size : CHART_CELLS};
  l.cell = fmin(SIDE / (double)l.cells, 24.0);
  l.left = l.top = named ? NAMES : EDGE;
  for (size_t i = 0; i < l.cells; i++)
    for (size_t j = 0; j < l.cells; j++)
      l.most = fmax(l.most, weight_of(&l, i, j));
  return l;
}

/* Writes the cells of one shade as one path. */
static void write_level(FILE *to, const layout *l, int level) {
  bool any = false;
  for (size_t i = 0; i < l->cells; i++)
    for (size_t j = 0; j < l->cells; j++) {
      if (l->most <= 0.0 || (int)ceil(weight_of(l, i, j) / l->most * LEVELS - 0.5) != level)
        continue;
      if (!any) fprintf(to, "<path class=\"mark\" fill-opacity=\"%.4g\" d=\"", level / 16.0);
      any = true;
      fprintf(to, "M%.1f %.1fh%.1fv%.1fh-%.1fz", l->left + l->cell * (double)j,
              l->top + l->cell * (double)i, l->cell, l->cell, l->cell);
    }
  if (any) fputs("\"/>\n", to);
}

/* Writes a name's first letters, upright or along the columns. */
static void write_name(FILE *to, const char *name, double x, double y, bool upright) {
  size_t length = 0, letters = 0;
  while (name[length] && letters < NAME_LETTERS) {
    length++;
    while (((unsigned char)name[length] & 0xc0) == 0x80)
      length++;
    letters++;
  }
  char shown[4 * NAME_LETTERS + 1];
  snprintf(shown, sizeof shown, "%.*s", (int)length, name);
  if (upright)
    fprintf(to, "<text transform=\"translate(%.1f %.1f) rotate(-90)\">", x, y);
  else
    fprintf(to, "<text class=\"y\" x=\"%.1f\" y=\"%.1f\">", x, y);
  page_text(to, shown);
  fputs("</text>\n", to);
}

static void draw(FILE *to, const layout *l) {
  const chart_map *m = l->map;
  const double side = l->cell * (double)l->cells;
  fputs("<g class=\"c0\">", to);
  for (int level = 1; level <= LEVELS; level++)
    write_level(to, l, level);
  fprintf(to, "</g><path class=\"spread\" d=\"M%.1f %.1fh%.1fv%.1fh-%.1fz\"/>\n", l->left, l->top,
          side, side, side);
  for (size_t i = 0; m->names && m->size <= MOST_NAMED && i < m->size; i++) {
    const double middle = l->cell * ((double)i + 0.5) + 4.0;
    write_name(to, m->names[i], l->left - 4.0, l->top + middle, false);
    write_name(to, m->names[i], l->left + middle, l->top - 4.0, true);
  }
  fprintf(to, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\">", l->left, l->top + side + 18.0);
  page_text(to, m->x_label);
  fprintf(to, "; darkest: %.3g</text>\n<text class=\"x label\" transform=\"translate(12 %.1f) ",
          l->most, l->top + side / 2.0);
  fputs("rotate(-90)\">", to);
  page_text(to, m->y_label);
  fputs("</text>\n", to);
}

void chart_write_map(FILE *to, const chart_map *m) {
  const layout l = plan(m);
  const chart c = {.title = m->title};
  const int width = (int)fmax(l.left + SIDE + 4.0, 260.0);
  const double height = l.top + l.cell * (double)l.cells + 26.0;
  chart_begin(to, &c);
  chart_open(to, &c, width, height);
  draw(to, &l);
  fputs("</svg></figure>\n", to);
  FILE *file = chart_file_open(&c, width, height);
  if (!file) return;
  draw(file, &l);
  chart_file_close();
}
