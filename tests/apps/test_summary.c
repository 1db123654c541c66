/* `filtra report` over several seeds and mixers: the statistics against definitions and published
 * tables, and the summary of runs written by hand in each format. */
#include "report/statistics.c" /* the command is no library */

#include "support/browser.h"
#include "support/command.h"
#include "support/harness.h"
#include "support/page.h"
#include "support/run.h"

#include <jansson.h>
#include <sys/stat.h>

static void assert_near(double got, double wanted) {
  if (!(fabs(got - wanted) <= 1e-12)) fail_msg("%.15g, not %.15g", got, wanted);
}

/* ---- statistics ---- */

TEST(test_means) {
  static const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
  assert_near(statistics_mean(x, 8), 5.0);
  assert_near(statistics_deviation(x, 8), sqrt(32.0 / 7.0));
  assert_true(isnan(statistics_deviation(x, 1)) && isnan(statistics_mean(x, 0)));
  static const double y[] = {3, 1, NAN, 3, 0.5, 3};
  static const double wanted[] = {4, 2, 0, 4, 1, 4};
  double ranks[6];
  statistics_ranks(y, 6, 0, ranks);
  for (size_t i = 0; i < 6; i++)
    if (i == 2)
      assert_true(isnan(ranks[i]));
    else
      assert_near(ranks[i], wanted[i]);
}

/* p by its definition: of all signs, the share whose smaller sum of ranks is as small. */
static double enumerate(const double *differences, size_t count) {
  double sizes[16], ranks[16], least = 0.0, plus = 0.0, total = 0.0;
  size_t n = 0, extreme = 0;
  bool positive[16];
  for (size_t i = 0; i < count; i++)
    if (differences[i] != 0.0) {
      positive[n] = differences[i] > 0.0;
      sizes[n++] = fabs(differences[i]);
    }
  statistics_ranks(sizes, n, 0, ranks);
  for (size_t i = 0; i < n; i++) {
    total += ranks[i];
    plus += positive[i] ? ranks[i] : 0.0;
  }
  least = fmin(plus, total - plus);
  for (size_t signs = 0; signs < (size_t)1 << n; signs++) {
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
      sum += signs >> i & 1 ? ranks[i] : 0.0;
    extreme += fmin(sum, total - sum) <= least + 1e-9;
  }
  return (double)extreme / ldexp(1.0, (int)n);
}

TEST(test_wilcoxon) {
  static const double cases[][10] = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
                                     {-1, 2, -3, 4, 5, -6, 7, 8, 9, 10},
                                     {1, 1, 1, -1, -1, 2, 2, -2, 3, 3},
                                     {0, 0, 1, -2, 3, -4, 5, 0, 6, 7},
                                     {0.5, 0.5, 0.5, 0.5, 0.5, -0.5, 1, 0, 0, 0},
                                     {-3, -3, -3, 3, 3, 3, 1, -1, 0, 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t count = 1; count <= 10; count++) {
      statistics_wilcoxon t = statistics_test(cases[i], count, 0);
      if (t.pairs)
        assert_near(t.p, enumerate(cases[i], count));
      else
        assert_true(isnan(t.p));
      assert_near(t.plus + t.minus, 0.5 * (double)(t.pairs * (t.pairs + 1)));
    }
  /* Tables (Wilcoxon and Wilcox 1964): the largest sums that are significant at 0.05, two-sided. */
  static const struct {
    size_t pairs, critical;
  } table[] = {{6, 0}, {7, 2}, {8, 3}, {9, 5}, {10, 8}, {12, 13}, {15, 25}, {20, 52}, {25, 89}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    for (size_t more = 0; more < 2; more++) {
      double x[25], left = (double)(table[i].critical + more);
      for (size_t k = table[i].pairs; k > 0; k--) {
        bool negative = left >= (double)k;
        x[k - 1] = negative ? -(double)k : (double)k;
        left -= negative ? (double)k : 0.0;
      }
      statistics_wilcoxon t = statistics_test(x, table[i].pairs, 0);
      assert_near(t.minus, (double)(table[i].critical + more));
      if ((t.p <= 0.05) != !more) fail_msg("%zu pairs, sum %g: p %g", t.pairs, t.minus, t.p);
    }
  static const double ten[] = {1, 2, 3, 4, 5, 6, 7, -8, 9, 10};
  assert_near(statistics_test(ten, 10, 0).p, 50.0 / 1024.0); /* 25 of 1..10 sum to 8 at most */
}

/* Differences of scores that are multiples of a tenth: rounding makes equal ones differ. */
TEST(test_rounded_differences) {
  static const double a[] = {0.7, 0.6, 0.9, 0.8, 0.5, 0.4, 0.2, 0.1, 0.3};
  static const double b[] = {0.6, 0.5, 0.8, 0.7, 0.4, 0.3, 0.3, 0.2, 0.1 + 0.2};
  double differences[9], ranks[2], means[] = {0.3, 0.1 + 0.2};
  for (size_t i = 0; i < 9; i++)
    differences[i] = a[i] - b[i];
  const statistics_wilcoxon t = statistics_test(differences, 9, statistics_tolerance(0.9));
  assert_int_equal(t.pairs, 8);
  assert_near(t.plus, 27);
  assert_near(t.minus, 9);
  assert_near(t.p, 2 * 37.0 / 256); /* C(8,0) + C(8,1) + C(8,2) sets of at most two of eight */
  statistics_ranks(means, 2, statistics_tolerance(0.3), ranks);
  assert_near(ranks[0], 1.5);
  assert_near(ranks[1], 1.5);
}

/* ---- runs written by hand ---- */

static const char *folder; /* of all runs */

static void write_text(const char *run, const char *name, const char *text) {
  const char *path = test_path(folder, run);
  mkdir(path, 0700);
  test_write(test_path(path, name), text, strlen(text));
}

static void add_run(const char *data, const char *mixer, size_t number, int seed, double test) {
  const char *name = test_text("%s-%zu-%d", data, number, seed);
  write_text(name, "config.json",
             test_text("{\"data\": \"/d/%s\", \"mixer\": %s, \"seed\": %d, \"steps\": 20}", data,
                       mixer, seed));
  write_text(name, "metrics.jsonl",
             "{\"step\":20,\"loss\":1,\"milliseconds\":5}\n"
             "{\"step\":20,\"validation_loss\":1,\"validation_accuracy\":0.5}\n");
  write_text(name, "eval-test.json", test_text("{\"accuracy\": %g}", test));
}

#define K2 "{\"name\": \"gfsa\", \"K\": 2}"
#define K3 "{\"name\": \"gfsa\", \"K\": 3}"

/* Three data sets, three methods, two seeds. softmax is first on one, and the others tie there. */
static void make_runs(void) {
  static const struct {
    const char *data, *mixer;
    double test[2];
  } means[] = {
      {"a", "\"softmax\"", {0.50, 0.54}}, {"a", K2, {0.60, 0.62}}, {"a", K3, {0.70, 0.74}},
      {"b", "\"softmax\"", {0.90, 0.92}}, {"b", K2, {0.80, 0.84}}, {"b", K3, {0.80, 0.84}},
      {"c", "\"softmax\"", {0.20, 0.20}}, {"c", K2, {0.30, 0.32}}, {"c", K3, {0.40, 0.41}},
  };
  if (folder) return;
  folder = test_new_run();
  assert_int_equal(mkdir(folder, 0700), 0);
  for (size_t i = 0; i < sizeof means / sizeof *means; i++)
    for (int seed = 1; seed <= 2; seed++)
      add_run(means[i].data, means[i].mixer, i, seed, means[i].test[seed - 1]);
}

static void report(const char *arguments) {
  make_runs();
  int code = test_filtra("report %s %s 2>&1", folder, arguments);
  if (code) fail_msg("exit code %d, output:\n%s", code, test_output);
}

/* The report as a page; the caller frees. */
static char *report_page(void) {
  const char *page = test_path(folder, "page.html");
  report(test_text("--out %s", page));
  char *text = test_read(page, NULL);
  test_well_formed(text);
  test_page_made(page);
  return text;
}

TEST(test_formats) {
  report("");
  assert_printed("| gfsa K=3 | **72.00 ± 2.83** | 82.00 ± 2.83 | **40.50 ± 0.71** | 1.50 |\n");
  assert_printed("| softmax | 52.00 ± 2.83 | **91.00 ± 1.41** | 20.00 ± 0.00 | 2.33 |\n");
  assert_printed("| gfsa K=2 | 2 | 2.5 | 2 |\n");
  assert_printed("of the test split");
  assert_printed("over the 3 data sets that every method has");
  assert_printed("Methods are not tested against one another: with 3 pairs of scores at most p is "
                 "never below 0.25. 6 pairs or more are needed.");
  int code = test_filtra("report %s/a-* 2>&1", folder);
  assert_int_equal(code, 0);
  assert_printed("with 2 pairs of scores at most p is never below 0.5");
  report("--format latex");
  assert_printed("gfsa K=3 & \\textbf{72.00 $\\pm$ 2.83} & 82.00 $\\pm$ 2.83 & ");
  assert_printed("a, accuracy in \\%");
  report("--format results");
  assert_printed("| Mixer | Validation | Test | Rank | Runs | Parameters | ms/step | s/run |\n");
  assert_printed("| gfsa K=2 | 50.00 ± 0.00 | 61.00 ± 1.41 | 2 | 2 | – | 5.0 | – |\n");
  owned char *text = report_page();
  assert_non_null(strstr(text, "<strong>72.00 ± 2.83</strong>"));
}

/* Six seeds of two methods are enough for a test; the page has one line a method. */
TEST(test_many_seeds) {
  folder = test_new_run();
  assert_int_equal(mkdir(folder, 0700), 0);
  for (int seed = 1; seed <= 6; seed++) {
    add_run("z", "\"softmax\"", 1, seed, 0.5 + 0.01 * seed);
    add_run("z", K2, 2, seed, 0.6 + 0.01 * seed);
  }
  report("");
  assert_printed("## Comparisons");
  assert_printed("Pairs are the seeds of the one data set judged by accuracy");
  assert_printed("With 6 pairs p is never below 0.031.");
  owned char *text = report_page();
  assert_non_null(strstr(text, "softmax, 6 runs"));
  assert_non_null(strstr(text, "class=\"band\""));
  folder = NULL;
}

/* Two runs of one seed are no repeats of another seed: said with both folders' names. */
TEST(test_one_seed_twice) {
  folder = test_new_run();
  assert_int_equal(mkdir(folder, 0700), 0);
  add_run("z", "\"softmax\"", 1, 1, 0.5);
  add_run("z", "\"softmax\"", 1, 2, 0.6);
  add_run("z", K2, 3, 1, 0.5);
  report("");
  assert_null(strstr(test_output, "the same seed"));
  add_run("z", "\"softmax\"", 2, 1, 0.7);
  write_text("z-2-1", "metrics.jsonl",
             "{\"step\":20,\"loss\":1,\"milliseconds\":6}\n"
             "{\"step\":20,\"validation_loss\":1,\"validation_accuracy\":0.5}\n");
  report("");
  assert_printed("/z-1-1 and ");
  assert_printed("/z-2-1 are runs of softmax with the same seed, 1: mean and deviation count both; "
                 "leave one out for those over seeds");
  folder = NULL;
}

TEST(test_json) {
  report("--json");
  json_t *root = json_loads(test_output, 0, NULL), *summary = json_object_get(root, "summary");
  assert_non_null(summary);
  const json_t *b = json_array_get(json_object_get(summary, "data_sets"), 1);
  const json_t *wilcoxon = json_object_get(summary, "wilcoxon"), *test;
  assert_string_equal(json_string_value(json_object_get(b, "split")), "test");
  assert_int_equal(json_array_size(json_object_get(b, "methods")), 3);
  assert_int_equal(json_array_size(json_object_get(wilcoxon, "tests")), 3);
  size_t i, seen = 0;
  json_array_foreach(json_object_get(wilcoxon, "tests"), i, test) {
    bool both = strstr(json_string_value(json_object_get(test, "a")), "gfsa") &&
                strstr(json_string_value(json_object_get(test, "b")), "gfsa");
    /* They tie on b: two pairs are left, both of one sign. */
    if (both) assert_int_equal(json_integer_value(json_object_get(test, "pairs")), 2);
    if (both) assert_near(json_number_value(json_object_get(test, "p")), 0.5);
    seen += both;
  }
  assert_int_equal(seen, 1);
  json_decref(root);
}

TEST_ALSO(test_in_browser)
TEST_MAIN(NULL, test_teardown)
