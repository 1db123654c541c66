/* Writes scores from the files of `filtra eval`: of classifiers besides accuracy, and of
 * regressions besides their error. Averages of all runs, and on pages also each run's classes and
 * confusion matrix. Called by write.c. */
#include "base/json.h"
#include "report.h"

#include <math.h>

enum { MOST_LISTED = 20 }; /* classes */

typedef struct score {
  const char *title;
  size_t offset;
} score;

static const score SCORES[] = {{"Chance", offsetof(report_run, chance)},
                               {"Majority", offsetof(report_run, majority)},
                               {"Balanced accuracy", offsetof(report_run, balanced_accuracy)},
                               {"F1", offsetof(report_run, test_f1)},
                               {"Macro F1", offsetof(report_run, macro_f1)},
                               {"Matthews", offsetof(report_run, matthews)},
                               {"AUC", offsetof(report_run, auc)}};
static const score VALUE_SCORES[] = {{"R2", offsetof(report_run, r2)},
                                     {"Pearson", offsetof(report_run, pearson)},
                                     {"Spearman", offsetof(report_run, spearman)}};

static bool is_scored(const report_run *r) {
  return !isnan(r->macro_f1) || !isnan(r->auc);
}

static bool has_values(const report_run *r) {
  return !isnan(r->spearman);
}

/* ---- averages ---- */

static double number_at(const report_run *r, const score *s) {
  return *(const double *)((const char *)r + s->offset);
}

static table make_averages(const report_set *set) {
  table t = {0};
  char low[NUMBER_TEXT], high[NUMBER_TEXT];
  table_column(&t, "text", "Run");
  table_column(&t, NULL, "Test accuracy");
  table_column(&t, NULL, "95 %% interval");
  for (size_t k = 0; k < FT_COUNT(SCORES); k++)
    table_column(&t, NULL, "%s", SCORES[k].title);
  for (size_t i = 0; i < set->count; i++) {
    const report_run *r = &set->runs[i];
    if (!is_scored(r)) continue;
    table_cell_add(&t, false, "%s", r->path);
    table_cell_add(&t, false, "%s", report_score_text(REPORT_ACCURACY, r->test, low));
    table_cell_add(&t, false, "%s to %s", number_text("%.2f", 100.0 * r->accuracy_low, low),
                   number_text("%.2f %%", 100.0 * r->accuracy_high, high));
    for (size_t k = 0; k < FT_COUNT(SCORES); k++)
      table_cell_add(&t, false, "%s",
                     number_text("%.2f %%", 100.0 * number_at(r, &SCORES[k]), low));
  }
  return t;
}

/* Scores of regressions besides their error. */
static table make_values(const report_set *set) {
  table t = {0};
  char text[NUMBER_TEXT];
  table_column(&t, "text", "Run");
  table_column(&t, NULL, "Test error");
  for (size_t k = 0; k < FT_COUNT(VALUE_SCORES); k++)
    table_column(&t, NULL, "%s", VALUE_SCORES[k].title);
  for (size_t i = 0; i < set->count; i++) {
    const report_run *r = &set->runs[i];
    if (!has_values(r)) continue;
    table_cell_add(&t, false, "%s", r->path);
    table_cell_add(&t, false, "%s", report_score_text(REPORT_ERROR, r->test, text));
    for (size_t k = 0; k < FT_COUNT(VALUE_SCORES); k++)
      table_cell_add(&t, false, "%s", number_text("%.4f", number_at(r, &VALUE_SCORES[k]), text));
  }
  return t;
}

/* ---- classes of one run ---- */

static void add_number(table *t, const json_t *object, const char *key, const char *format) {
  char text[NUMBER_TEXT];
  const json_t *value = json_object_get(object, key);
  table_cell_add(
      t, false, "%s",
      number_text(format, json_is_number(value) ? json_number_value(value) : (double)NAN, text));
}

/* Each class with its scores, then how often samples of the class were predicted as each class. */
static table make_classes(const report_run *r) {
  static const char *const NUMBERS[] = {"samples", "precision", "recall", "f1", "auc"};
  static const char *const TITLES[] = {"Samples", "Precision", "Recall", "F1", "AUC"};
  const json_t *classes = json_object_get(r->evaluation, "classes");
  const json_t *confusion = json_object_get(r->evaluation, "confusion");
  table t = {0};
  size_t i, k;
  const json_t *one, *count;
  table_column(&t, "text", "Class");
  for (k = 0; k < FT_COUNT(NUMBERS); k++)
    table_column(&t, NULL, "%s", TITLES[k]);
  json_array_foreach(confusion, i, one) {
    const json_t *name = json_object_get(json_array_get(classes, i), "name");
    table_column(&t, NULL, "→ %s", json_is_string(name) ? json_string_value(name) : "");
  }
  json_array_foreach(classes, i, one) {
    const json_t *row = json_array_get(confusion, i);
    table_cell_add(&t, false, "%s", ft_json_string(one, "name"));
    for (k = 0; k < FT_COUNT(NUMBERS); k++)
      add_number(&t, one, NUMBERS[k], k ? "%.3f" : "%.0f");
    for (k = 0; k < json_array_size(confusion); k++) {
      count = json_array_get(row, k);
      table_cell_add(&t, i == k, "%lld", (long long)json_integer_value(count));
    }
  }
  return t;
}

static filtra_status write_classes(FILE *to, const report_run *r) {
  const size_t count = json_array_size(json_object_get(r->evaluation, "classes"));
  if (count < 2 || count > MOST_LISTED) return FILTRA_OK;
  table t = make_classes(r);
  const bool starved = t.starved;
  fputs("<h3>", to);
  page_text(to, r->path);
  fputs("</h3>\n", to);
  table_write_page(to, &t);
  table_free(&t);
  return starved ? FILTRA_ERROR_HOST_MEMORY : FILTRA_OK;
}

/* Writes the averages if any run has them. */
static filtra_status write_averages(FILE *to, const report_set *set, report_format format,
                                    bool values) {
  bool any = false;
  for (size_t i = 0; i < set->count; i++)
    any = any || (values ? has_values(&set->runs[i]) : is_scored(&set->runs[i]));
  if (!any) return FILTRA_OK;
  table t = values ? make_values(set) : make_averages(set);
  filtra_status status = t.starved ? FILTRA_ERROR_HOST_MEMORY : FILTRA_OK;
  if (format == REPORT_PAGE) {
    fprintf(to, "<h2>%s</h2>\n", values ? "Values" : "Classes");
    table_write_page(to, &t);
    fputs(values ? "<p>Of the test split. R2 is 1 - squared error / variance; Pearson and Spearman "
                   "are the correlations of values and predictions, and of their ranks.</p>\n"
                 : "<p>Of the test split. Chance is 1 / classes, of several labels 0.5 to the "
                   "power of their "
                   "number; majority is the accuracy of always the most frequent class or set of "
                   "labels. Balanced accuracy is the mean recall; F1 is that of the second of two "
                   "classes, of more macro F1, of several labels micro F1; macro F1 and AUC are "
                   "means over the classes or labels, Matthews is his correlation. Of several "
                   "labels accuracy counts the samples with all of them right. Below, → counts how "
                   "often each class was predicted for the samples of a row.</p>\n",
          to);
  } else {
    fputc('\n', to);
    table_write_markdown(to, &t);
  }
  table_free(&t);
  return status;
}

filtra_status report_write_classes(FILE *to, const report_set *set, report_format format) {
  FT_TRY(write_averages(to, set, format, true));
  filtra_status status = write_averages(to, set, format, false);
  for (size_t i = 0; i < set->count && format == REPORT_PAGE && !status; i++)
    if (is_scored(&set->runs[i])) status = write_classes(to, &set->runs[i]);
  return status;
}
