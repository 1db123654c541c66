/* Writes the page of a comparison: machines, warnings, and mean speeds; the other page_*.c write
 * its sections. Called by compare.c. */
#include "compare.h"

#include "base/memory.h"
#include "common/chart.h"
#include "common/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_machines(FILE *to, const comparison *c) {
  char text[COMPARE_TEXT];
  const char *name;
  fputs("<h2 id=\"machines\">Machines</h2>\n<div class=\"wide\"><table><thead><tr><th></th>", to);
  for (size_t k = 0; k < c->machine_count; k++) {
    fprintf(to, "<th class=\"text c%zu\"><i></i>", k);
    page_text(to, c->machines[k].label);
    fputs("</th>", to);
  }
  fputs("</tr></thead>\n<tbody>\n", to);
  for (size_t i = 0; (name = compare_property(i, &c->machines[0], text)); i++) {
    fprintf(to, "<tr><th scope=\"row\">%s</th>", name);
    for (size_t k = 0; k < c->machine_count; k++) {
      compare_property(i, &c->machines[k], text);
      fputs("<td class=\"text\">", to);
      page_text(to, text);
      fputs("</td>", to);
    }
    fputs("</tr>\n", to);
  }
  fputs("</tbody></table></div>\n", to);
}

static void write_warnings(FILE *to, const comparison *c) {
  if (!c->warning_count) return;
  fputs("<div class=\"warning\"><strong>Not all of these numbers compare</strong><ul>\n", to);
  for (size_t i = 0; i < c->warning_count; i++) {
    fputs("<li>", to);
    page_text(to, c->warnings[i]);
    fputs("</li>\n", to);
  }
  fputs("</ul></div>\n", to);
}

/* ---- mean speeds ---- */

/* Whether a row's op has times to compare. */
static bool has_speed(const comparison *c, size_t row) {
  return strcmp(c->rows[row].any->op, "mixer_scaling") != 0;
}

static void write_means_table(FILE *to, const comparison *c) {
  char text[COMPARE_TEXT];
  fputs("<div class=\"wide\"><table><thead><tr><th>Op</th>", to);
  for (size_t k = 1; k < c->machine_count; k++) {
    fputs("<th>", to);
    page_text(to, c->machines[k].label);
    fputs("</th>", to);
  }
  fputs("</tr></thead>\n<tbody>\n", to);
  for (size_t first = 0, end; first < c->row_count; first = end) {
    end = compare_op_end(c, first);
    if (!has_speed(c, first)) continue;
    fputs("<tr><td>", to);
    page_text(to, c->rows[first].any->op);
    fputs("</td>", to);
    for (size_t k = 1; k < c->machine_count; k++) {
      size_t cases;
      double speed = compare_mean_speed(c, first, end, k, &cases);
      fprintf(to, "<td>%s <small>%zu of %zu cases</small></td>", compare_speed_text(speed, text),
              cases, end - first);
    }
    fputs("</tr>\n", to);
  }
  fputs("</tbody></table></div>\n", to);
}

/* Mean speeds as bars from 1: faster to the right, slower to the left. */
typedef struct means {
  const char **names;                 /* of ops */
  double *speeds[COMPARE_MOST_FILES]; /* by op */
  char (*notes)[COMPARE_TEXT];        /* by machine, then op */
  const char **pointers;              /* to the notes */
  size_t count;                       /* of ops */
} means;

static void free_means(means *m) {
  for (size_t k = 0; k < COMPARE_MOST_FILES; k++)
    free(m->speeds[k]);
  free((void *)m->names);
  free(m->notes);
  free((void *)m->pointers);
}

static filtra_status make_means(const comparison *c, size_t ops, means *m) {
  *m = (means){.names = ft_calloc(ops, sizeof *m->names),
               .notes = ft_calloc(ops * c->machine_count, sizeof *m->notes),
               .pointers = ft_calloc(ops * c->machine_count, sizeof *m->pointers)};
  bool made = m->names && m->notes && m->pointers;
  for (size_t k = 1; k < c->machine_count && made; k++)
    made = (m->speeds[k] = ft_calloc(ops, sizeof *m->speeds[k])) != NULL;
  return made ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static void set_means(const comparison *c, size_t ops, means *m) {
  for (size_t first = 0, end; first < c->row_count; first = end) {
    end = compare_op_end(c, first);
    if (!has_speed(c, first)) continue;
    for (size_t k = 1; k < c->machine_count; k++) {
      size_t cases, note = k * ops + m->count;
      m->speeds[k][m->count] = compare_mean_speed(c, first, end, k, &cases);
      m->pointers[note] = compare_speed_text(m->speeds[k][m->count], m->notes[note]);
      if (!cases) m->pointers[note] = "no case in common";
    }
    m->names[m->count++] = c->rows[first].any->op;
  }
}

static filtra_status write_means_chart(FILE *to, const comparison *c, size_t ops) {
  chart_series series[COMPARE_MOST_FILES];
  means m;
  filtra_status status = make_means(c, ops, &m);
  if (!status) set_means(c, ops, &m);
  for (size_t k = 1; k < c->machine_count && !status; k++)
    series[k - 1] = (chart_series){.name = c->machines[k].label,
                                   .y = m.speeds[k],
                                   .count = m.count,
                                   .notes = m.pointers + k * ops};
  if (!status)
    chart_write_rows(to, &(chart){.title = "Speed by op",
                                  .x_label = "times as fast as A",
                                  .description = "The numbers of the table, as bars from 1.",
                                  .log_x = true,
                                  .groups = m.names,
                                  .series = series,
                                  .count = c->machine_count - 1,
                                  .first_color = 1,
                                  .origin = 1.0});
  free_means(&m);
  return status;
}

static filtra_status write_overview(FILE *to, const comparison *c) {
  size_t ops = 0;
  for (size_t first = 0; first < c->row_count; first = compare_op_end(c, first))
    ops += has_speed(c, first);
  if (c->machine_count < 2 || !ops) return FILTRA_OK;
  fputs("<h2 id=\"overview\">In all</h2>\n<p>How many times as fast as ", to);
  page_text(to, c->machines[0].label);
  fputs(": the geometric mean, over those cases of an op that both have, of the ratio of median "
        "times.</p>\n<div class=\"beside\">\n",
        to);
  FT_TRY(write_means_chart(to, c, ops));
  write_means_table(to, c);
  fputs("</div>\n", to);
  return FILTRA_OK;
}

/* ---- the whole ---- */

static void write_contents(FILE *to, const comparison *c) {
  const size_t layers = compare_op_first(c, "mixer_layer");
  fputs("<nav><a href=\"#machines\">Machines</a>", to);
  if (c->machine_count > 1 && c->row_count) fputs(" <a href=\"#overview\">In all</a>", to);
  fputs(" <a href=\"#roofs\">Rooflines</a>", to);
  for (size_t first = 0; first < c->row_count; first = compare_op_end(c, first)) {
    const char *op = c->rows[first].any->op;
    if (!strcmp(op, "mixer_layer") || !strcmp(op, "mixer_scaling")) continue;
    fprintf(to, " <a href=\"#op%zu\">", first);
    page_text(to, op);
    fputs("</a>", to);
  }
  if (layers < c->row_count) fputs(" <a href=\"#growth\">Growth</a>", to);
  if (c->agreement_count)
    fprintf(to, " <a href=\"#losses\">%s</a>", c->machine_count > 1 ? "Agreement" : "Losses");
  fputs("</nav>\n", to);
}

filtra_status compare_write_page(FILE *to, const comparison *c) {
  page_begin(to, c->machine_count > 1 ? "Devices compared" : "What a device reaches");
  write_contents(to, c);
  write_warnings(to, c);
  write_machines(to, c);
  FT_TRY(write_overview(to, c));
  FT_TRY(compare_page_roofs(to, c));
  FT_TRY(compare_page_cases(to, c));
  FT_TRY(compare_page_growth(to, c));
  FT_TRY(compare_page_losses(to, c));
  page_end(to);
  return FILTRA_OK;
}
