/* Writes a summary's tables and sentences in each format. Called by write.c and results.c. */
#include "base/memory.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void report_mean_text(report_score score, double mean, double deviation, char *out, size_t size) {
  char number[NUMBER_TEXT];
  double scale = score == REPORT_ACCURACY ? 100.0 : 1.0;
  const bool large = score == REPORT_PERPLEXITY && mean >= LARGE_PERPLEXITY;
  const bool digits = score == REPORT_ERROR || large;
  snprintf(out, size, "%s", number_text(digits ? "%.4g" : "%.2f", scale * mean, number));
  if (!isfinite(mean) || !isfinite(deviation)) return;
  number_text(digits ? "%.2g" : "%.2f", scale * deviation, number);
  snprintf(out + strlen(out), size - strlen(out), " ± %s", number);
}

static const char *unit(report_score score) {
  static const char *const UNITS[] = {"accuracy in %", "perplexity", "mean absolute error"};
  return UNITS[score];
}

enum { FEWEST_PAIRS = 6 }; /* with 5, p is never below 0.06 */

/* ---- tables ---- */

static table make_means(const report_summary *s) {
  table t = {0};
  char text[2 * NUMBER_TEXT + 8];
  table_column(&t, "text", "Method");
  for (size_t g = 0; g < s->group_count; g++)
    table_column(&t, NULL, "%s, %s", s->groups[g].first->data, unit(s->groups[g].first->score));
  table_column(&t, NULL, "Mean rank");
  for (size_t m = 0; m < s->method_count; m++) {
    table_cell_add(&t, false, "%s", s->methods[m]);
    for (size_t g = 0; g < s->group_count; g++) {
      const report_mean *mean = report_mean_of(s, g, m);
      report_mean_text(s->groups[g].first->score, mean->mean, mean->deviation, text, sizeof text);
      table_cell_add(&t, s->method_count > 1 && mean->rank < 2.0, "%s", text);
    }
    table_cell_add(&t, false, "%s", number_text("%.2f", s->mean_ranks[m], text));
  }
  return t;
}

static table make_ranks(const report_summary *s) {
  table t = {0};
  char number[NUMBER_TEXT];
  table_column(&t, "text", "Method");
  for (size_t g = 0; g < s->group_count; g++)
    table_column(&t, NULL, "%s", s->groups[g].first->data);
  for (size_t m = 0; m < s->method_count; m++) {
    table_cell_add(&t, false, "%s", s->methods[m]);
    for (size_t g = 0; g < s->group_count; g++)
      table_cell_add(&t, false, "%s", number_text("%.3g", report_mean_of(s, g, m)->rank, number));
  }
  return t;
}

static const report_test *find_test(const report_summary *s, size_t a, size_t b) {
  for (size_t i = 0; i < s->test_count; i++)
    if (s->tests[i].a == a && s->tests[i].b == b) return &s->tests[i];
  return NULL;
}

/* Fills one half of the square, since p is symmetric. */
static table make_tests(const report_summary *s) {
  table t = {0};
  char number[NUMBER_TEXT];
  table_column(&t, "text", "p");
  for (size_t b = 1; b < s->method_count; b++)
    table_column(&t, NULL, "%s", s->methods[b]);
  for (size_t a = 0; a + 1 < s->method_count; a++) {
    table_cell_add(&t, false, "%s", s->methods[a]);
    for (size_t b = 1; b < s->method_count; b++) {
      const report_test *test = b > a ? find_test(s, a, b) : NULL;
      table_cell_add(&t, false, "%s",
                     b <= a ? "" : number_text("%.3f", test ? test->result.p : NAN, number));
    }
  }
  return t;
}

/* ---- sentences ---- */

/* Writes a sentence with the format's markup. */
static void write_text(FILE *to, report_format format, const char *text) {
  if (format == REPORT_PAGE) {
    fputs("<p>", to);
    page_text(to, text);
    fputs("</p>\n", to);
  } else if (format == REPORT_LATEX) {
    fputs("\n", to);
    latex_text(to, text);
    fputs("\n\n", to);
  } else {
    fputs("\n", to);
    markdown_text(to, text);
    fputs("\n\n", to);
  }
}

static filtra_status say(FILE *to, report_format format, char *text) {
  if (!text) return FILTRA_ERROR_HOST_MEMORY;
  write_text(to, format, text);
  free(text);
  return FILTRA_OK;
}

/* Explains the numbers. */
static filtra_status explain_means(FILE *to, const report_summary *s, report_format format) {
  size_t tested = 0, most = 0;
  for (size_t g = 0; g < s->group_count; g++)
    tested += s->groups[g].test;
  for (size_t i = 0; i < s->group_count * s->method_count; i++)
    if (s->means[i].runs > most) most = s->means[i].runs;
  return say(to, format,
             ft_format("Mean ± standard deviation over the runs of a method, %zu at most, which "
                       "differ by their seed; of the %s. Bold: the best. The mean rank is over the "
                       "%zu data set%s that every method has a score on; 1 is the best.",
                       most,
                       tested == s->group_count ? "test split"
                       : tested                 ? "test split, or of the validation split where "
                                                  "runs have no test score"
                                                : "validation split",
                       s->ranked, s->ranked == 1 ? "" : "s"));
}

static size_t most_pairs(const report_summary *s) {
  size_t most = 0;
  for (size_t i = 0; i < s->test_count; i++)
    if (s->tests[i].result.pairs > most) most = s->tests[i].result.pairs;
  return most;
}

static filtra_status explain_tests(FILE *to, const report_summary *s, report_format format) {
  const size_t most = most_pairs(s);
  return say(
      to, format,
      ft_format(
          "Wilcoxon's signed-rank test, two-sided, from the exact distribution; not corrected "
          "for the number of comparisons. Pairs are %s judged by %s; equal scores are left "
          "out. With %zu pairs p is never below %.2g.",
          s->by_seed ? "the seeds of the one data set" : "the means of the data sets",
          report_score_name(s->score), most, most ? fmin(1.0, ldexp(2.0, -(int)most)) : 1.0));
}

/* ---- the whole ---- */

static void write_heading(FILE *to, report_format format, const char *text) {
  if (format == REPORT_PAGE)
    fprintf(to, "<h2>%s</h2>\n", text);
  else if (format == REPORT_LATEX)
    fprintf(to, "%% %s\n", text);
  else
    fprintf(to, "\n## %s\n\n", text);
}

static filtra_status write_table(FILE *to, report_format format, table t) {
  bool starved = t.starved;
  if (format == REPORT_PAGE)
    table_write_page(to, &t);
  else if (format == REPORT_LATEX)
    table_write_latex(to, &t);
  else
    table_write_markdown(to, &t);
  table_free(&t);
  return starved ? FILTRA_ERROR_HOST_MEMORY : FILTRA_OK;
}

filtra_status report_write_summary(FILE *to, const report_summary *s, report_format format) {
  write_heading(to, format, "Methods");
  FT_TRY(write_table(to, format, make_means(s)));
  FT_TRY(explain_means(to, s, format));
  if (s->method_count < 2) return FILTRA_OK;
  write_heading(to, format, "Ranks");
  FT_TRY(write_table(to, format, make_ranks(s)));
  if (!s->test_count) return FILTRA_OK;
  if (most_pairs(s) < FEWEST_PAIRS)
    return say(to, format,
               ft_format("Methods are not tested against one another: with %zu pairs of scores at "
                         "most p is never below %.2g. %d pairs or more are needed.",
                         most_pairs(s), fmin(1.0, ldexp(2.0, -(int)most_pairs(s))), FEWEST_PAIRS));
  write_heading(to, format, "Comparisons");
  FT_TRY(write_table(to, format, make_tests(s)));
  return explain_tests(to, s, format);
}
