/* Writes the losses of the same training on each machine, and their differences. Called by
 * page.c. */
#include "compare.h"

#include "base/memory.h"
#include "common/chart.h"
#include "common/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- verdicts ---- */

static void write_summary_row(FILE *to, const comparison *c, const compare_agreement *a, size_t k) {
  const compare_deviation *d = &a->of[k];
  char text[COMPARE_TEXT], absolute[NUMBER_TEXT], relative[NUMBER_TEXT];
  fputs("<tr><td>", to);
  page_text(to, a->mixer);
  fprintf(to, "</td><td class=\"text machine c%zu\"><i></i>", k);
  page_text(to, c->machines[k].label);
  fprintf(to, "</td><td class=\"text %s\">", compare_has_losses(a, k) ? "machine" : "lack");
  page_text(to, compare_verdict(a, k, text));
  fputs("</td>", to);
  if (!compare_has_losses(a, k))
    fputs("<td></td><td></td><td></td><td></td><td></td>", to);
  else if (d->equal)
    fprintf(to, "<td>%zu</td><td>0</td><td></td><td>0</td><td></td>", d->steps);
  else
    fprintf(to, "<td>%zu</td><td>%s</td><td>%zu</td><td>%s</td><td>%zu</td>", d->steps,
            number_text("%.3g", d->absolute, absolute), d->absolute_step,
            number_text("%.3g", d->relative, relative), d->relative_step);
  fputs("</tr>\n", to);
}

static void write_summary(FILE *to, const comparison *c) {
  fputs("<div class=\"wide\"><table><thead><tr><th>Mixer</th><th class=\"text\">Machine</th>"
        "<th class=\"text\">Result</th><th>Steps</th><th>Largest difference</th><th>at step</th>"
        "<th>Largest relative</th><th>at step</th></tr></thead>\n<tbody>\n",
        to);
  for (size_t i = 0; i < c->agreement_count; i++)
    for (size_t k = 0; k < c->machine_count; k++)
      if (k != c->agreements[i].base || !compare_has_losses(&c->agreements[i], k))
        write_summary_row(to, c, &c->agreements[i], k);
  fputs("</tbody></table></div>\n", to);
}

/* ---- curves ---- */

static void write_curves(FILE *to, const comparison *c, const compare_agreement *a) {
  chart_series series[COMPARE_MOST_FILES];
  char title[COMPARE_TEXT];
  for (size_t k = 0; k < c->machine_count; k++) {
    const compare_losses *l = a->of[k].losses;
    series[k] = (chart_series){
        .name = c->machines[k].label, .y = l ? l->values : NULL, .count = l ? l->count : 0};
  }
  snprintf(title, sizeof title, "%.1000s: losses", a->mixer);
  chart_write(to, &(chart){.title = title,
                           .x_label = "steps taken",
                           .y_label = "loss",
                           .description = "The loss of each step, a line for each machine.",
                           .series = series,
                           .count = c->machine_count});
}

static bool all_equal(const comparison *c, const compare_agreement *a) {
  bool equal = true;
  for (size_t k = 0; k < c->machine_count; k++)
    equal = equal && (k == a->base || !compare_has_losses(a, k) || a->of[k].equal);
  return equal;
}

/* A logarithmic axis cannot show steps without a difference. */
static filtra_status write_differences(FILE *to, const comparison *c, const compare_agreement *a) {
  chart_series series[COMPARE_MOST_FILES];
  char title[COMPARE_TEXT];
  const compare_losses *base = a->of[a->base].losses;
  size_t steps = base ? base->count : 0;
  double *values = ft_calloc(COMPARE_MOST_FILES * (steps + 1), sizeof *values);
  if (!values) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t k = 0; k < c->machine_count; k++) {
    double *mine = values + k * steps;
    size_t count = compare_has_losses(a, k) && k != a->base ? a->of[k].steps : 0;
    for (size_t i = 0; i < count; i++)
      mine[i] = fabs(a->of[k].losses->values[i] - base->values[i]);
    series[k] = (chart_series){.name = c->machines[k].label, .y = mine, .count = count};
  }
  snprintf(title, sizeof title, "%.1000s: difference", a->mixer);
  chart_write(to, &(chart){.title = title,
                           .x_label = "steps taken",
                           .y_label = "difference of the losses",
                           .description = "The absolute difference of each step's loss from the "
                                          "first machine's.",
                           .log_y = true,
                           .points = true,
                           .series = series,
                           .count = c->machine_count});
  free(values);
  return FILTRA_OK;
}

/* ---- step by step ---- */

static void write_steps_head(FILE *to, const comparison *c, const compare_agreement *a) {
  fputs("<thead><tr><th>Step</th>", to);
  for (size_t k = 0; k < c->machine_count; k++) {
    if (!a->of[k].losses || !a->of[k].losses->count) continue;
    fprintf(to, "<th class=\"c%zu\"><i></i>", k);
    page_text(to, c->machines[k].label);
    fputs("</th>", to);
    if (compare_has_losses(a, k) && k != a->base) fputs("<th>difference</th>", to);
  }
  fputs("</tr></thead>\n<tbody>\n", to);
}

static void write_step(FILE *to, const comparison *c, const compare_agreement *a, size_t step) {
  fprintf(to, "<tr><td>%zu</td>", step + 1);
  for (size_t k = 0; k < c->machine_count; k++) {
    const compare_deviation *d = &a->of[k];
    if (!d->losses || !d->losses->count) continue;
    if (step < d->losses->count)
      fprintf(to, "<td>%.9g</td>", d->losses->values[step]);
    else
      fputs("<td>–</td>", to);
    if (!compare_has_losses(a, k) || k == a->base) continue;
    if (step < d->steps)
      fprintf(to, "<td>%.3g</td>", d->losses->values[step] - a->of[a->base].losses->values[step]);
    else
      fputs("<td>–</td>", to);
  }
  fputs("</tr>\n", to);
}

static void write_steps(FILE *to, const comparison *c, const compare_agreement *a) {
  size_t steps = 0;
  for (size_t k = 0; k < c->machine_count; k++)
    if (a->of[k].losses && a->of[k].losses->count > steps) steps = a->of[k].losses->count;
  if (!steps) return;
  fputs("<details><summary>", to);
  page_text(to, a->mixer);
  fputs(", step by step</summary>\n<div class=\"wide\"><table>", to);
  write_steps_head(to, c, a);
  for (size_t i = 0; i < steps; i++)
    write_step(to, c, a, i);
  fputs("</tbody></table></div></details>\n", to);
}

static filtra_status write_agreement(FILE *to, const comparison *c) {
  fputs(
      "<h2 id=\"losses\">Agreement in training</h2>\n<p>Each file has the losses of the same "
      "training run: the same data, weights and random numbers. One device and driver give the "
      "same bits each time. Two add up the same float32 numbers in different orders and may round "
      "exponentials and divisions otherwise, which moves last digits, some 1e-7 of a number. "
      "Between kernels that sum in other orders on one processor the losses of 100 steps stayed "
      "within 3e-7 of each other; two vendors may be some times further apart. A difference a "
      "thousand times as large wants an explanation, and one that is large in the first step is "
      "no rounding: one of the two computes something else.</p>\n",
      to);
  write_summary(to, c);
  fputs("<div class=\"charts\">\n", to);
  for (size_t i = 0; i < c->agreement_count; i++)
    if (!all_equal(c, &c->agreements[i])) FT_TRY(write_differences(to, c, &c->agreements[i]));
  fputs("</div>\n<h3>Losses</h3>\n", to);
  return FILTRA_OK;
}

filtra_status compare_page_losses(FILE *to, const comparison *c) {
  if (!c->agreement_count) return FILTRA_OK;
  if (c->machine_count > 1)
    FT_TRY(write_agreement(to, c));
  else
    fputs("<h2 id=\"losses\">Losses of a short training</h2>\n", to);
  fputs("<div class=\"charts\">\n", to);
  for (size_t i = 0; i < c->agreement_count; i++)
    write_curves(to, c, &c->agreements[i]);
  fputs("</div>\n", to);
  for (size_t i = 0; i < c->agreement_count; i++)
    write_steps(to, c, &c->agreements[i]);
  return FILTRA_OK;
}
