/* The page of a comparison: the machines, what to beware of, and how they compare in all. */
#include "compare.h"

#include "base/memory.h"
#include "chart.h"
#include "page.h"

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

/* ---- in all ---- */

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
    if (!strcmp(c->rows[first].any->op, "mixer_scaling")) continue;
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

static void write_overview(FILE *to, const comparison *c) {
  if (c->machine_count < 2 || !c->row_count) return;
  fputs("<h2 id=\"overview\">In all</h2>\n<p>How many times as fast as ", to);
  page_text(to, c->machines[0].label);
  fputs(": the geometric mean, over those cases of an op that both have, of the ratio of median "
        "times.</p>\n",
        to);
  write_means_table(to, c);
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
  if (c->agreement_count) fputs(" <a href=\"#losses\">Agreement</a>", to);
  fputs("</nav>\n", to);
}

filtra_status compare_write_page(FILE *to, const comparison *c) {
  page_begin(to, c->machine_count > 1 ? "Devices compared" : "What a device reaches");
  write_contents(to, c);
  write_warnings(to, c);
  write_machines(to, c);
  write_overview(to, c);
  FT_TRY(compare_page_roofs(to, c));
  FT_TRY(compare_page_cases(to, c));
  FT_TRY(compare_page_growth(to, c));
  FT_TRY(compare_page_losses(to, c));
  page_end(to);
  return FILTRA_OK;
}
