/* The table of `filtra report` as Markdown, as a page with learning curves, and as JSON. */
#include "base/memory.h"
#include "common/chart.h"
#include "common/page.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE_POINTS = 240 };

bool report_comparable(const report_run *a, const report_run *b) {
  return a->score == b->score && !strcmp(a->info->data, b->info->data);
}

const char *report_score_name(report_score score) {
  static const char *const NAMES[] = {"accuracy", "perplexity", "mean absolute error"};
  return NAMES[score];
}

/* ---- the measure ---- */

static const char *score_text(report_score score, double value, char out[NUMBER_TEXT]) {
  if (score == REPORT_ACCURACY) return number_text("%.2f %%", 100.0 * value, out);
  return number_text(score == REPORT_PERPLEXITY ? "%.2f" : "%.4g", value, out);
}

/* Whether no comparable run has a better number there; false where there is nothing to compare. */
static bool is_best(const report_run *runs, size_t count, size_t i, size_t offset) {
  double mine = *(const double *)((const char *)&runs[i] + offset);
  bool rival = false;
  for (size_t k = 0; k < count; k++) {
    double theirs = *(const double *)((const char *)&runs[k] + offset);
    if (k == i || !report_comparable(&runs[i], &runs[k]) || isnan(theirs)) continue;
    rival = true;
    if (runs[i].score == REPORT_ACCURACY ? theirs > mine : theirs < mine) return false;
  }
  return rival && !isnan(mine);
}

/* ---- the table, once for both languages ---- */

typedef struct column {
  const char *title;
  const char *text; /* the class of a page's cells, aligned to the left; NULL: numbers */
} column;

static const column COLUMNS[] = {
    {"Run", "text"},         {"Data", "text"},        {"Mixer", "text"},   {"Measure", "text"},
    {"Validation", NULL},    {"Test", NULL},          {"Best step", NULL}, {"Steps", NULL},
    {"Parameters", NULL},    {"Tokens/s", NULL},      {"ms/step", NULL},   {"Memory", NULL},
    {"Device", "text long"}, {"Driver", "text long"},
};

typedef struct cell {
  char text[1024];
  bool best;
} cell;

static void fill_row(const report_run *runs, size_t count, size_t i, cell row[]) {
  const report_run *r = &runs[i];
  char number[NUMBER_TEXT];
  size_t at = 0;
  memset(row, 0, FT_COUNT(COLUMNS) * sizeof *row);
#define ADD(value) snprintf(row[at++].text, sizeof row->text, "%s", value)
  ADD(r->path);
  ADD(r->data);
  ADD(r->info->mixer);
  ADD(report_score_name(r->score));
  row[at].best = is_best(runs, count, i, offsetof(report_run, best));
  ADD(score_text(r->score, r->best, number));
  row[at].best = is_best(runs, count, i, offsetof(report_run, test));
  ADD(score_text(r->score, r->test, number));
  ADD(number_text("%.0f", r->best_step, number));
  ADD(number_text("%.0f", r->last_step, number));
  ADD(amount_text(r->parameters, number));
  ADD(amount_text(r->tokens_per_second, number));
  ADD(number_text("%.1f", r->milliseconds, number));
  ADD(memory_text(r->memory_bytes, number));
  ADD(*r->device ? r->device : "–");
  ADD(*r->driver ? r->driver : "–");
#undef ADD
}

/* ---- Markdown ---- */

void report_write_markdown(FILE *to, const report_run *runs, size_t count) {
  cell row[FT_COUNT(COLUMNS)];
  for (size_t k = 0; k < FT_COUNT(COLUMNS); k++)
    fprintf(to, "| %s ", COLUMNS[k].title);
  fputs("|\n", to);
  for (size_t k = 0; k < FT_COUNT(COLUMNS); k++)
    fputs(COLUMNS[k].text ? "|---" : "|---:", to);
  fputs("|\n", to);
  for (size_t i = 0; i < count; i++) {
    fill_row(runs, count, i, row);
    for (size_t k = 0; k < FT_COUNT(COLUMNS); k++) {
      fputs(row[k].best ? "| **" : "| ", to);
      markdown_text(to, row[k].text);
      fputs(row[k].best ? "** " : " ", to);
    }
    fputs("|\n", to);
  }
}

/* ---- the page ---- */

static void write_html_table(FILE *to, const report_run *runs, size_t count) {
  cell row[FT_COUNT(COLUMNS)];
  fputs("<div class=\"wide\"><table><thead><tr>", to);
  for (size_t k = 0; k < FT_COUNT(COLUMNS); k++)
    fprintf(to, "<th class=\"%s\">%s</th>", COLUMNS[k].text ? COLUMNS[k].text : "",
            COLUMNS[k].title);
  fputs("</tr></thead>\n<tbody>\n", to);
  for (size_t i = 0; i < count; i++) {
    fill_row(runs, count, i, row);
    fputs("<tr>", to);
    for (size_t k = 0; k < FT_COUNT(COLUMNS); k++) {
      fprintf(to, "<td class=\"%s\">%s", COLUMNS[k].text ? COLUMNS[k].text : "",
              row[k].best ? "<strong>" : "");
      page_text(to, row[k].text);
      fputs(row[k].best ? "</strong></td>" : "</td>", to);
    }
    fputs("</tr>\n", to);
  }
  fputs("</tbody></table></div>\n", to);
}

/* Means over stretches of steps: a curve that was logged often would be noise, and large. */
static report_curve thin_out(const report_curve *c) {
  report_curve out = {0};
  size_t points = c->count < CURVE_POINTS ? c->count : CURVE_POINTS;
  out.step = ft_calloc(points, sizeof *out.step);
  out.value = ft_calloc(points, sizeof *out.value);
  if (!out.step || !out.value) return out;
  out.count = points;
  for (size_t k = 0; k < points; k++) {
    size_t first = k * c->count / points, end = (k + 1) * c->count / points;
    for (size_t i = first; i < end; i++) {
      out.step[k] += c->step[i] / (double)(end - first);
      out.value[k] += c->value[i] / (double)(end - first);
    }
  }
  return out;
}

/* One chart of the runs that can be compared with runs[first]. */
static void write_curves(FILE *to, const report_run *runs, size_t count, size_t first,
                         size_t offset, const char *title, const char *label, double scale) {
  chart_series *series = ft_calloc(count, sizeof *series);
  report_curve *curves = ft_calloc(count, sizeof *curves);
  size_t used = 0, longest = 0;
  for (size_t i = first; series && curves && i < count; i++) {
    if (!report_comparable(&runs[first], &runs[i])) continue;
    report_curve c = thin_out((const report_curve *)((const char *)&runs[i] + offset));
    for (size_t k = 0; k < c.count; k++)
      c.value[k] *= scale;
    if (c.count > longest) longest = c.count;
    curves[used] = c;
    series[used++] = (chart_series){runs[i].path, c.step, c.value, c.count};
  }
  chart_write(to, &(chart){.title = title,
                           .x_label = "step",
                           .y_label = label,
                           .points = longest <= 30,
                           .series = series,
                           .count = used});
  for (size_t i = 0; i < used; i++) {
    free(curves[i].step);
    free(curves[i].value);
  }
  free(curves);
  free(series);
}

static bool is_first_of_group(const report_run *runs, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (report_comparable(&runs[k], &runs[i])) return false;
  return true;
}

static void write_group(FILE *to, const report_run *runs, size_t count, size_t first) {
  static const char *const LABELS[] = {"accuracy in %", "perplexity", "mean absolute error"};
  const report_run *r = &runs[first];
  fputs("<h2>", to);
  page_text(to, r->data);
  fputs("</h2>\n<div class=\"charts\">\n", to);
  write_curves(to, runs, count, first, offsetof(report_run, validation_score),
               r->score == REPORT_ACCURACY     ? "Validation accuracy"
               : r->score == REPORT_PERPLEXITY ? "Validation perplexity"
                                               : "Validation error",
               LABELS[r->score], r->score == REPORT_ACCURACY ? 100.0 : 1.0);
  write_curves(to, runs, count, first, offsetof(report_run, validation_loss), "Validation loss",
               "loss", 1.0);
  write_curves(to, runs, count, first, offsetof(report_run, loss), "Training loss", "loss", 1.0);
  fputs("</div>\n", to);
}

void report_write_page(FILE *to, const report_run *runs, size_t count) {
  page_begin(to, "Results");
  write_html_table(to, runs, count);
  fputs("<p>Validation is what the best model on the validation split has there; test is the same "
        "model on the test split, where <code>filtra eval</code> was run. Bold: the best on the "
        "same data. Tokens per second (without padding) and time are medians over the run, memory "
        "is the most that was allocated on the device.</p>\n",
        to);
  for (size_t i = 0; i < count; i++)
    if (is_first_of_group(runs, i)) write_group(to, runs, count, i);
  page_end(to);
}

/* ---- JSON ---- */

static json_t *number(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

json_t *report_json(const report_run *runs, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) {
    const report_run *r = &runs[i];
    json_array_append_new(
        list,
        json_pack("{ss ss ss ss so so so so so so so so ss ss}", "run", r->path, "data",
                  r->info->data, "mixer", r->info->mixer, "measure", report_score_name(r->score),
                  "validation", number(r->best), "test", number(r->test), "best_step",
                  number(r->best_step), "steps", number(r->last_step), "parameters",
                  number(r->parameters), "tokens_per_second", number(r->tokens_per_second),
                  "milliseconds", number(r->milliseconds), "device_memory_bytes",
                  number(r->memory_bytes), "device", r->device, "driver", r->driver));
  }
  return json_pack("{so}", "runs", list);
}
