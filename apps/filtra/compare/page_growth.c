/* Writes how a mixer's layer grows with the sequence's length: time and memory on logarithmic axes,
 * and the exponents of fitted power laws. Called by page.c. */
#include "compare.h"

#include "base/memory.h"
#include "common/chart.h"
#include "common/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of layers, with one series per mixer. */
typedef struct growth {
  const comparison *c;
  size_t first, end; /* rows */
  double *x, *y;     /* [end - first] */
  chart_series *series;
  char (*names)[COMPARE_TEXT];
  size_t count;
} growth;

static const compare_entry *scaling_of(const comparison *c, size_t machine, const char *mixer) {
  for (size_t i = 0; i < c->row_count; i++) {
    const compare_entry *e = c->rows[i].cells[machine];
    if (!strcmp(c->rows[i].any->op, "mixer_scaling") && !strcmp(c->rows[i].any->mixer, mixer))
      return e;
  }
  return NULL;
}

static void name_series(const growth *g, size_t machine, bool memory, const char *mixer,
                        char name[COMPARE_TEXT]) {
  const compare_entry *e = scaling_of(g->c, machine, mixer);
  double exponent = !compare_measured(e) ? NAN : memory ? e->memory_exponent : e->time_exponent;
  if (isnan(exponent))
    snprintf(name, COMPARE_TEXT, "%s", mixer);
  else
    snprintf(name, COMPARE_TEXT, "%s n^%.2f", mixer, exponent);
}

static void set_point(const growth *g, size_t machine, bool memory, size_t i) {
  const compare_entry *e = g->c->rows[i].cells[machine];
  bool there = compare_measured(e);
  g->x[i - g->first] = there ? e->length : NAN;
  g->y[i - g->first] = !there   ? NAN
                       : memory ? e->memory / e->sequences / 1048576.0
                                : 1e3 * e->median / e->sequences;
}

/* Sets a series for every mixer, even one without data on this machine, so that colours agree. */
static void set_series(growth *g, size_t machine, bool memory) {
  g->count = 0;
  for (size_t i = g->first, next; i < g->end; i = next) {
    next = compare_mixer_end(g->c, i);
    for (size_t k = i; k < next; k++)
      set_point(g, machine, memory, k);
    name_series(g, machine, memory, g->c->rows[i].any->mixer, g->names[g->count]);
    g->series[g->count] = (chart_series){.name = g->names[g->count],
                                         .x = g->x + (i - g->first),
                                         .y = g->y + (i - g->first),
                                         .count = next - i};
    g->count++;
  }
}

static void write_chart(FILE *to, growth *g, size_t machine, bool memory) {
  set_series(g, machine, memory);
  chart_write(to, &(chart){.title = g->c->machines[machine].label,
                           .x_label = "length of the sequence in tokens",
                           .y_label = memory ? "MiB a sequence" : "ms a sequence",
                           .description = "A line for each mixer; the legend has the exponents, "
                                          "the table below all numbers.",
                           .log_x = true,
                           .log_y = true,
                           .points = true,
                           .series = g->series,
                           .count = g->count});
}

/* ---- exponents ---- */

static void write_exponents(FILE *to, const compare_entry *e) {
  char text[COMPARE_TEXT], time[NUMBER_TEXT], memory[NUMBER_TEXT];
  if (!compare_measured(e)) {
    fputs("<td class=\"text lack\" colspan=\"2\">", to);
    page_text(to, compare_lack(e, text));
    fputs("</td>", to);
  } else
    fprintf(to, "<td>%s</td><td>%s</td>", number_text("%.2f", e->time_exponent, time),
            number_text("%.2f", e->memory_exponent, memory));
}

/* Writes the head of a table with time and memory of each machine. */
static void begin_table(FILE *to, const comparison *c) {
  fputs("<div class=\"wide\"><table><thead><tr><th rowspan=\"2\">Mixer</th>", to);
  for (size_t k = 0; k < c->machine_count; k++) {
    fputs("<th class=\"text\" colspan=\"2\">", to);
    page_text(to, c->machines[k].label);
    fputs("</th>", to);
  }
  fputs("</tr><tr>", to);
  for (size_t k = 0; k < c->machine_count; k++)
    fputs("<th class=\"number\">Time</th><th>Memory</th>", to);
  fputs("</tr></thead>\n<tbody>\n", to);
}

static void write_crossings(FILE *to, const comparison *c) {
  char text[COMPARE_TEXT];
  size_t first = compare_next_rival(c, 0);
  if (first == c->row_count) return;
  fputs("<h3>Less than softmax</h3>\n<p>The length in tokens from which on a mixer's layer takes "
        "less than softmax attention's, on the line between the two lengths that were measured "
        "around it, both axes logarithmic.</p>\n",
        to);
  begin_table(to, c);
  for (; first < c->row_count; first = compare_next_rival(c, compare_mixer_end(c, first))) {
    fputs("<tr><td>", to);
    page_text(to, c->rows[first].any->mixer);
    fputs("</td>", to);
    for (size_t k = 0; k < 2 * c->machine_count; k++) {
      compare_crossing x = compare_cross(c, first, k / 2, k % 2);
      fprintf(to, "<td>%s</td>", compare_crossing_text(&x, text));
    }
    fputs("</tr>\n", to);
  }
  fputs("</tbody></table></div>\n", to);
}

static void write_scaling(FILE *to, const comparison *c) {
  size_t first = compare_op_first(c, "mixer_scaling");
  if (first == c->row_count) return;
  fputs("<h3>Exponents</h3>\n", to);
  begin_table(to, c);
  for (size_t i = first, end = compare_op_end(c, first); i < end; i++) {
    fputs("<tr><td>", to);
    page_text(to, c->rows[i].name);
    fputs("</td>", to);
    for (size_t k = 0; k < c->machine_count; k++)
      write_exponents(to, c->rows[i].cells[k]);
    fputs("</tr>\n", to);
  }
  fputs("</tbody></table></div>\n", to);
}

/* ---- the part ---- */

static void write_charts(FILE *to, growth *g) {
  for (int memory = 0; memory < 2; memory++) {
    fprintf(to, "<h3>%s</h3>\n<div class=\"charts\">\n", memory ? "Memory" : "Time");
    for (size_t k = 0; k < g->c->machine_count; k++)
      write_chart(to, g, k, memory);
    fputs("</div>\n", to);
  }
}

filtra_status compare_page_growth(FILE *to, const comparison *c) {
  growth g = {.c = c, .first = compare_op_first(c, "mixer_layer")};
  if (g.first == c->row_count) return FILTRA_OK;
  g.end = compare_op_end(c, g.first);
  size_t rows = g.end - g.first;
  g.x = ft_calloc(rows, sizeof *g.x);
  g.y = ft_calloc(rows, sizeof *g.y);
  g.series = ft_calloc(rows, sizeof *g.series);
  g.names = ft_calloc(rows, sizeof *g.names);
  filtra_status status = g.x && g.y && g.series && g.names ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) {
    fputs("<h2 id=\"growth\">Growth with length</h2>\n<p>One layer of each mixer, forward and "
          "backward. Times and memory are of one sequence: GPUs are measured with several at once, "
          "since one would leave them idle.</p>\n",
          to);
    write_charts(to, &g);
    write_crossings(to, c);
    write_scaling(to, c);
    compare_page_table(to, c, g.first, g.end);
  }
  free(g.x);
  free(g.y);
  free(g.series);
  free(g.names);
  return status;
}
