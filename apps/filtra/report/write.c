/* Writes the table of runs, and a page that adds learning curves. Called by report.c. */
#include "common/page.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEST_COLUMN = 5 };

/* ---- the measure ---- */

const char *report_score_text(report_score score, double value, char out[NUMBER_TEXT]) {
  if (score == REPORT_ACCURACY) return number_text("%.2f %%", 100.0 * value, out);
  if (score == REPORT_PERPLEXITY) return perplexity_text(value, out);
  return number_text("%.4g", value, out);
}

/* Whether no comparable run has a better number at `offset`; false if there is none to compare. */
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

/* ---- the table ---- */

typedef struct column {
  const char *title;
  const char *css_class; /* class of left-aligned cells in HTML; NULL: numbers */
} column;

static const column COLUMNS[] = {
    {"Run", "text"},         {"Data", "text"},        {"Mixer", "text"},   {"Measure", "text"},
    {"Validation", NULL},    {"Test", NULL},          {"Best step", NULL}, {"Steps", NULL},
    {"Parameters", NULL},    {"Tokens/s", NULL},      {"ms/step", NULL},   {"Memory", NULL},
    {"Device", "text long"}, {"Driver", "text long"},
};

static bool ranks(const report_set *set) {
  for (size_t i = 0; i < set->count; i++)
    if (!isnan(set->runs[i].test_top5)) return true;
  return false;
}

static void add_row(table *t, const report_run *runs, size_t count, size_t i, bool ranked) {
  const report_run *r = &runs[i];
  char number[NUMBER_TEXT];
  table_cell_add(t, false, "%s", r->path);
  table_cell_add(t, false, "%s", r->data);
  table_cell_add(t, false, "%s", r->mixer);
  table_cell_add(t, false, "%s", report_score_name(r->score));
  table_cell_add(t, is_best(runs, count, i, offsetof(report_run, best)), "%s",
                 report_score_text(r->score, r->best, number));
  table_cell_add(t, is_best(runs, count, i, offsetof(report_run, test)), "%s",
                 report_score_text(r->score, r->test, number));
  if (ranked)
    table_cell_add(t, false, "%s", report_score_text(REPORT_ACCURACY, r->test_top5, number));
  table_cell_add(t, false, "%s", number_text("%.0f", r->best_step, number));
  table_cell_add(t, false, "%s", number_text("%.0f", r->last_step, number));
  table_cell_add(t, false, "%s", amount_text(r->parameters, number));
  table_cell_add(t, false, "%s", amount_text(r->tokens_per_second, number));
  table_cell_add(t, false, "%s", number_text("%.1f", r->milliseconds, number));
  table_cell_add(t, false, "%s", memory_text(r->memory_bytes, number));
  table_cell_add(t, false, "%s", *r->device ? r->device : "–");
  table_cell_add(t, false, "%s", *r->driver ? r->driver : "–");
}

static table make_table(const report_set *set) {
  table t = {0};
  bool ranked = ranks(set);
  for (size_t k = 0; k < FT_COUNT(COLUMNS); k++) {
    table_column(&t, COLUMNS[k].css_class, "%s", COLUMNS[k].title);
    if (ranked && k == TEST_COLUMN) table_column(&t, NULL, "Test top-5");
  }
  for (size_t i = 0; i < set->count; i++)
    add_row(&t, set->runs, set->count, i, ranked);
  return t;
}

/* ---- the page ---- */

static bool is_first_of_group(const report_run *runs, size_t i) {
  for (size_t k = 0; k < i; k++)
    if (report_comparable(&runs[k], &runs[i])) return false;
  return true;
}

static filtra_status write_group(FILE *to, const report_view *v, size_t first) {
  static const char *const LABELS[] = {"accuracy in %", "perplexity", "mean absolute error"};
  static const char *const TITLES[] = {"Validation accuracy", "Validation perplexity",
                                       "Validation error"};
  const report_run *r = &v->set->runs[first];
  fputs("<h2>", to);
  page_text(to, r->data);
  fputs("</h2>\n<div class=\"charts\">\n", to);
  FT_TRY(report_write_curves(to, v, r, offsetof(report_run, validation_score), TITLES[r->score],
                             LABELS[r->score], r->score == REPORT_ACCURACY ? 100.0 : 1.0));
  FT_TRY(report_write_curves(to, v, r, offsetof(report_run, validation_loss), "Validation loss",
                             "loss", 1.0));
  FT_TRY(report_write_curves(to, v, r, offsetof(report_run, loss), "Training loss", "loss", 1.0));
  fputs("</div>\n", to);
  return FILTRA_OK;
}

static filtra_status write_page(FILE *to, const report_view *v, const table *t) {
  filtra_status status = FILTRA_OK;
  const char *title = report_title(v->set);
  page_begin(to, *title ? title : "Results");
  if (report_has_repeats(v->summary)) status = report_write_summary(to, v->summary, REPORT_PAGE);
  if (report_has_repeats(v->summary)) fputs("<h2>Runs</h2>\n", to);
  table_write_page(to, t);
  fputs(
      "<p>Validation is what the best model on the validation split has there; test is the same "
      "model on the test split, where <code>filtra eval</code> was run. Bold: the best on the "
      "same data. Tokens per second (without padding) and time are medians over the run, memory "
      "is the most that was allocated on the device. Of several runs of a method, curves show the "
      "mean, and the band from the lowest to the highest.</p>\n",
      to);
  if (!status) status = report_write_classes(to, v->set, REPORT_PAGE);
  for (size_t i = 0; i < v->set->count && !status; i++)
    if (is_first_of_group(v->set->runs, i)) status = write_group(to, v, i);
  page_end(to);
  return status;
}

/* ---- all formats ---- */

static filtra_status write_markdown(FILE *to, const report_view *v, const table *t) {
  const char *title = report_title(v->set);
  if (*title) {
    fputs("# ", to);
    markdown_text(to, title);
    fputs("\n\n", to);
  }
  table_write_markdown(to, t);
  FT_TRY(report_write_classes(to, v->set, REPORT_MARKDOWN));
  return report_has_repeats(v->summary) ? report_write_summary(to, v->summary, REPORT_MARKDOWN)
                                        : FILTRA_OK;
}

filtra_status report_write(FILE *to, const report_view *v, report_format format) {
  if (format == REPORT_LATEX) {
    fprintf(to, "%% %s\n", report_title(v->set));
    return report_write_summary(to, v->summary, format);
  }
  if (format == REPORT_RESULTS) return report_write_results(to, v);
  table t = make_table(v->set);
  filtra_status status = t.starved               ? FILTRA_ERROR_HOST_MEMORY
                         : format == REPORT_PAGE ? write_page(to, v, &t)
                                                 : write_markdown(to, v, &t);
  table_free(&t);
  return status;
}
