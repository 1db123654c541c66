/* Writes results as a page of documentation: what was run, and scores next to published ones.
 * Called by write.c. */
#include "base/json.h"
#include "base/memory.h"
#include "report.h"

#include <filtra/filtra.h>
#include <math.h>
#include <string.h>

/* The first sweep's entry for a data set; NULL: none. */
static const json_t *find_entry(const report_set *set, size_t group) {
  for (size_t i = 0; i < set->count; i++)
    if (set->runs[i].group == group && report_entry(&set->runs[i]))
      return report_entry(&set->runs[i]);
  return NULL;
}

const char *report_title(const report_set *set) {
  for (size_t i = 0; i < set->count; i++)
    if (set->runs[i].sweep) return ft_json_string(set->runs[i].sweep, "title");
  return "";
}

/* The published score of a method's mixer; NaN: none. */
static double published(const json_t *entry, const char *method) {
  char mixer[64];
  snprintf(mixer, sizeof mixer, "%.*s", (int)strcspn(method, " "), method);
  const json_t *value = json_object_get(json_object_get(entry, "published"), mixer);
  return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static table make_table(const report_view *v, size_t g, const json_t *entry) {
  const report_summary *s = v->summary;
  report_score score = s->groups[g].first->score;
  table t = {0};
  char text[2 * NUMBER_TEXT + 8];
  table_column(&t, "text", "Mixer");
  table_column(&t, NULL, "Validation");
  if (s->groups[g].test) table_column(&t, NULL, "Test");
  table_column(&t, NULL, "Rank");
  if (json_object_get(entry, "published")) table_column(&t, NULL, "Published");
  table_column(&t, NULL, "Runs");
  table_column(&t, NULL, "Parameters");
  table_column(&t, NULL, "ms/step");
  table_column(&t, NULL, "s/run");
  for (size_t m = 0; m < s->method_count; m++) {
    const report_mean *mean = report_mean_of(s, g, m);
    if (!mean->runs) continue;
    table_cell_add(&t, false, "%s", s->methods[m]);
    report_mean_text(score, mean->validation, mean->validation_deviation, text, sizeof text);
    table_cell_add(&t, false, "%s", text);
    report_mean_text(score, mean->mean, mean->deviation, text, sizeof text);
    if (s->groups[g].test) table_cell_add(&t, mean->rank < 2.0, "%s", text);
    table_cell_add(&t, false, "%s", number_text("%.3g", mean->rank, text));
    report_mean_text(score, published(entry, s->methods[m]), NAN, text, sizeof text);
    if (json_object_get(entry, "published")) table_cell_add(&t, false, "%s", text);
    table_cell_add(&t, false, "%zu", mean->runs);
    table_cell_add(&t, false, "%s", amount_text(mean->parameters, text));
    table_cell_add(&t, false, "%s", number_text("%.1f", mean->milliseconds, text));
    table_cell_add(&t, false, "%s", number_text("%.0f", mean->seconds, text));
  }
  return t;
}

/* Writes what all runs of the data set share: "Accuracy in %; 400 steps of 32 sequences". */
static void describe(FILE *to, const report_run *r) {
  static const char *const UNITS[] = {"Accuracy in %", "Perplexity", "Mean absolute error"};
  fprintf(to, "%s; %.0f steps of %u sequences", UNITS[r->score], r->last_step,
          (unsigned)r->batch_size);
  json_int_t layers = json_integer_value(json_object_get(r->config, "layers"));
  json_int_t width = json_integer_value(json_object_get(r->config, "width"));
  json_int_t length = json_integer_value(json_object_get(r->config, "max_length"));
  json_int_t patch = json_integer_value(json_object_get(r->config, "patch"));
  if (patch > 0) length /= patch * patch; /* it counts pixels */
  fprintf(to,
          ", %" JSON_INTEGER_FORMAT " layer%s of width %" JSON_INTEGER_FORMAT
          ", at most %" JSON_INTEGER_FORMAT " %s.",
          layers, layers == 1 ? "" : "s", width, length, patch > 0 ? "patches" : "tokens");
}

static filtra_status write_group(FILE *to, const report_view *v, size_t g) {
  const report_run *first = v->summary->groups[g].first;
  const json_t *entry = find_entry(v->set, g);
  const char *note = json_string_value(json_object_get(entry, "note"));
  table t = make_table(v, g, entry);
  bool starved = t.starved;
  fputs("\n## ", to);
  markdown_text(to, first->data);
  fputs("\n\n", to);
  describe(to, first);
  if (note) fputc(' ', to);
  if (note) markdown_text(to, note);
  fputs("\n\n", to);
  table_write_markdown(to, &t);
  table_free(&t);
  return starved ? FILTRA_ERROR_HOST_MEMORY : FILTRA_OK;
}

/* Lists each machine once. */
static void write_devices(FILE *to, const report_set *set) {
  for (size_t i = 0; i < set->count; i++) {
    const report_run *r = &set->runs[i];
    bool seen = !*r->device;
    for (size_t k = 0; k < i && !seen; k++)
      seen = !strcmp(set->runs[k].device, r->device) && !strcmp(set->runs[k].driver, r->driver);
    if (seen) continue;
    fputs("- ", to);
    markdown_text(to, r->device);
    fputs(", ", to);
    markdown_text(to, r->driver);
    fputc('\n', to);
  }
}

filtra_status report_write_results(FILE *to, const report_view *v) {
  const char *title = report_title(v->set);
  double seconds = 0.0;
  for (size_t i = 0; i < v->set->count; i++)
    seconds += isnan(v->set->runs[i].seconds) ? 0.0 : v->set->runs[i].seconds;
  fputs("# ", to);
  markdown_text(to, *title ? title : "Results");
  fprintf(to,
          "\n\nWritten by `filtra report --format results` (filtra %s, %s) from %zu runs, which "
          "took %.0f minutes in all, on\n\n",
          filtra_version(), filtra_commit, v->set->count, seconds / 60.0);
  write_devices(to, v->set);
  FT_TRY(report_write_summary(to, v->summary, REPORT_MARKDOWN));
  for (size_t g = 0; g < v->summary->group_count; g++)
    FT_TRY(write_group(to, v, g));
  return FILTRA_OK;
}
