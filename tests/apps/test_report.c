/* `filtra report` as a shell sees it. */
#include "base/file.h"
#include "support/browser.h"
#include "support/command.h"
#include "support/harness.h"
#include "support/page.h"
#include "support/run.h"

#include <jansson.h>
#include <sys/stat.h>

static void report(int code, const char *arguments) {
  assert_code(test_filtra("report %s 2>&1", arguments), code);
}

static void write_text(const char *folder, const char *name, const char *text) {
  test_write(test_path(folder, name), text, strlen(text));
}

/* A run folder written by hand. */
static const char *make_run(const char *config, const char *metrics) {
  const char *folder = test_new_run();
  assert_int_equal(mkdir(folder, 0700), 0);
  write_text(folder, "config.json", config);
  if (metrics) write_text(folder, "metrics.jsonl", metrics);
  return folder;
}

static const char ABOUT[] = "{\"filtra\": \"0.1.0\", \"device\": \"A <fast> | card\", "
                            "\"driver\": \"D 1.2\", \"parameters\": 1234567}";

static const char ACCURACY[] =
    "{\"step\":10,\"loss\":2.5,\"accuracy\":0.1,\"tokens_per_second\":0,\"milliseconds\":0,"
    "\"device_memory_bytes\":1048576}\n"
    "{\"step\":20,\"loss\":2.0,\"accuracy\":0.2,\"tokens_per_second\":1000,\"milliseconds\":10,"
    "\"device_memory_bytes\":3145728}\n"
    "{\"step\":20,\"validation_loss\":1.5,\"validation_accuracy\":0.5}\n"
    "{\"step\":30,\"loss\":1.0,\"accuracy\":0.3,\"tokens_per_second\":3000,\"milliseconds\":20,"
    "\"device_memory_bytes\":2097152}\n"
    "{\"step\":40,\"validation_loss\":1.2,\"validation_accuracy\":0.75}\n"
    "{\"step\":60,\"validation_loss\":1.3,\"validation_accuracy\":0.75}\n";

static const char PERPLEXITY[] = "{\"step\":1,\"validation_loss\":3,\"validation_accuracy\":0.9,"
                                 "\"validation_perplexity\":20.1}\n"
                                 "{\"step\":2,\"validation_loss\":2,\"validation_accuracy\":0.2,"
                                 "\"validation_perplexity\":7.39}\n"
                                 "{\"step\":3,\"validation_loss\":4,\"validation_accuracy\":0.3,"
                                 "\"validation_perplexity\":54.6}\n";

static const char ERROR[] = "{\"step\":1,\"validation_loss\":0.5,\"validation_mae\":0.25}\n";

/* e^80, the largest, has 35 digits. */
TEST(test_large_perplexity) {
  const char *run = make_run("{\"data\": \"t.txt\", \"task\": \"language_model\"}",
                             "{\"step\":1,\"validation_loss\":80,\"validation_accuracy\":0,"
                             "\"validation_perplexity\":5.5406223843935098e34}\n");
  report(0, run);
  assert_printed("| perplexity | 5.541e+34 | – | 1 |");
  report(0, test_text("%s --format results", run));
  assert_printed("| 5.541e+34 |");
}

/* max_length counts pixels, which the model reads in patches. */
TEST(test_patches) {
  const char *run = make_run("{\"data\": \"images\", \"layers\": 1, \"width\": 8, \"patch\": 4, "
                             "\"max_length\": 64}",
                             ACCURACY);
  report(0, test_text("%s --format results", run));
  assert_printed(", 1 layer of width 8, at most 4 patches.");
}

TEST(test_table) {
  const char *a = make_run("{\"data\": \"/d/listops\", \"mixer\": \"agf\"}", ACCURACY);
  const char *b = make_run("{\"data\": \"/d/listops\"}", ACCURACY);
  const char *c = make_run("{\"data\": \"/d/text.txt\", \"task\": \"language_model\"}", PERPLEXITY);
  const char *d = make_run("{\"data\": \"/d/esol.csv\", \"task\": \"regression\"}", ERROR);
  write_text(a, "about.json", ABOUT);
  write_text(a, "eval-test.json", "{\"split\": \"test\", \"accuracy\": 0.625, \"loss\": 1}");
  write_text(b, "eval-test.json", "{\"split\": \"test\", \"accuracy\": 0.5, \"loss\": 1}");
  report(0, test_text("%s %s/ %s %s", a, b, c, d));
  assert_printed(
      test_text("| %s | listops | agf | accuracy | **75.00 %%** | **62.50 %%** | 40 | 60 "
                "| 1.23 M | 2.00 k | 15.0 | 3 MiB | A \\<fast> \\| card | D 1.2 |\n",
                a));
  assert_printed(
      test_text("| %s | listops | softmax | accuracy | **75.00 %%** | 50.00 %% | 40 |", b));
  assert_printed("| text.txt | softmax | perplexity | 7.39 | – | 2 | 3 | – | – |");
  assert_printed("| esol.csv | softmax | mean absolute error | 0.25 | – | 1 | 1 |");
  int lines = 0;
  for (const char *at = test_output; (at = strchr(at, '\n')); at++)
    lines++;
  assert_int_equal(lines, 6);
  assert_code(test_filtra("report --json %s %s", a, c), 0);
  json_t *root = json_loads(test_output, 0, NULL), *run;
  assert_non_null(root);
  run = json_array_get(json_object_get(root, "runs"), 0);
  assert_true(json_number_value(json_object_get(run, "validation")) == 0.75);
  assert_true(json_number_value(json_object_get(run, "test")) == 0.625);
  assert_true(json_number_value(json_object_get(run, "parameters")) == 1234567.0);
  run = json_array_get(json_object_get(root, "runs"), 1);
  assert_true(json_is_null(json_object_get(run, "test")));
  json_decref(root);
}

/* What a run chose its model by is what its table says of it. */
TEST(test_selection) {
  static const char metrics[] =
      "{\"step\":1,\"validation_loss\":1.0,\"validation_accuracy\":0.25}\n"
      "{\"step\":2,\"validation_loss\":2.0,\"validation_accuracy\":0.5}\n";
  const char *a = make_run("{\"data\": \"/d/x\", \"select_by\": \"accuracy\"}", metrics);
  const char *b = make_run("{\"data\": \"/d/x\", \"select_by\": \"loss\"}", metrics);
  report(0, test_text("%s %s", a, b));
  assert_printed("| x | softmax | accuracy | **50.00 %** | – | 2 | 2 |");
  assert_printed("| x | softmax | accuracy | 25.00 % | – | 1 | 2 |");
}

/* The best by a correlation, and what a regression's table says of its test split. */
TEST(test_correlations) {
  static const char metrics[] =
      "{\"step\":1,\"validation_loss\":0.5,\"validation_mae\":0.2,\"validation_spearman\":0.8}\n"
      "{\"step\":2,\"validation_loss\":0.4,\"validation_mae\":0.1,\"validation_spearman\":0.7}\n";
  const char *a = make_run(
      "{\"data\": \"/d/x\", \"task\": \"regression\", \"select_by\": \"spearman\"}", metrics);
  write_text(a, "eval-test.json",
             "{\"split\": \"test\", \"mae\": 0.3, \"r2\": 0.25, \"pearson\": 0.5125, "
             "\"spearman\": -0.125}");
  report(0, a);
  assert_printed("| x | softmax | mean absolute error | 0.2 | 0.3 | 1 | 2 |");
  report(0, test_text("%s --format markdown", a));
  assert_printed(test_text("| %s | 0.3 | 0.2500 | 0.5125 | -0.1250 |", a));
}

TEST(test_page) {
  const char *a = make_run("{\"data\": \"/d/a&b\", \"mixer\": \"agf\"}", ACCURACY);
  const char *b = make_run("{\"data\": \"/d/text\", \"task\": \"language_model\"}", PERPLEXITY);
  const char *c = make_run("{\"data\": \"/d/empty\"}", NULL);
  write_text(a, "about.json", ABOUT);
  char page[512];
  snprintf(page, sizeof page, "%s/page.html", test_folder());
  report(0, test_text("%s %s %s --out %s", a, b, c, page));
  assert_string_equal(test_output, test_text("%s: a table of 3 runs\n", page));
  char *text = test_read(page, NULL);
  test_well_formed(text);
  test_page_made(page);
  assert_non_null(strstr(text, "<h2>a&amp;b</h2>"));
  assert_non_null(strstr(text, "A &lt;fast&gt; | card"));
  assert_non_null(strstr(text, "Validation perplexity"));
  assert_non_null(strstr(text, "No data."));
  const char *files = test_path(test_folder(), "charts/of/runs");
  report(0, test_text("%s %s %s --json --charts %s", a, b, c, files));
  test_chart_files(files, 5, (const char *const[]){"Validation perplexity", "Training loss", NULL});
  report(0, test_text("%s %s %s --json --charts %s", a, b, c, files)); /* over the old ones */
  int charts = 0;
  for (const char *at = text; (at = strstr(at, "<svg")); at++)
    charts++;
  assert_int_equal(charts, 5); /* three of the first run, two of the second */
  free(text);
  snprintf(page, sizeof page, "%s/page.md", test_folder());
  report(0, test_text("%s --out %s", a, page));
  text = test_read(page, NULL);
  assert_int_equal(strncmp(text, "| Run | Data |", 14), 0);
  free(text);
}

/* Curves of many points are thinned out, and all that is shown is finite. */
TEST(test_long_curves) {
  enum { LINES = 3000 };
  char *text = malloc(LINES * 64), *to = text;
  for (int i = 1; i <= LINES; i++)
    to += sprintf(to, "{\"step\":%d,\"loss\":%.3f}\n", i, 2.0 + 1.0 / i);
  const char *a = make_run("{\"data\": \"d\"}", text);
  free(text);
  char page[512];
  snprintf(page, sizeof page, "%s/page.html", test_folder());
  report(0, test_text("%s --out %s", a, page));
  size_t size;
  text = test_read(page, &size);
  test_well_formed(text);
  test_page_made(page);
  assert_true(size < 30000);
  assert_null(strstr(text, "nan"));
  free(text);
}

/* A drawing of the user's that has the name of a chart stays. */
TEST(test_charts_of_others) {
  static const char drawing[] = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\"></svg>\n";
  const char *a = make_run("{\"data\": \"d\"}", ACCURACY), *charts = test_new_run();
  report(0, test_text("%s --json --charts %s", a, charts));
  char **names;
  size_t count;
  assert_ok(ft_list_directory(charts, &names, &count));
  const char *file = test_path(charts, names[0]);
  ft_free_names(names, count);
  test_write(file, drawing, sizeof drawing - 1);
  report(2, test_text("%s --json --charts %s", a, charts));
  assert_printed(test_text("--charts %s would replace a file that this command did not", file));
  owned char *kept = test_read(file, NULL);
  assert_string_equal(kept, drawing);
}

/* Names without a place to break do not make a page wider than a phone; the browser tells. */
TEST(test_long_names) {
  char name[121], folders[2][512], page[512];
  memset(name, 'm', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  for (int i = 0; i < 2; i++) {
    const char *made = make_run(test_text("{\"data\": \"/d/%s\"}", name), ACCURACY);
    snprintf(folders[i], sizeof folders[i], "%s_%s", made, name);
    assert_int_equal(rename(made, folders[i]), 0);
  }
  test_patch(test_path(folders[1], "metrics.jsonl"), "\"milliseconds\":10", "\"milliseconds\":30");
  snprintf(page, sizeof page, "%s/page.html", test_folder());
  report(0, test_text("%s %s --out %s", folders[0], folders[1], page));
  assert_printed("a table of 2 runs");
  test_page_made(page);
  const char *files = test_path(test_folder(), "charts/of/names");
  report(0, test_text("%s %s --charts %s", folders[0], folders[1], files));
  test_chart_files(files, 3, (const char *const[]){"Training loss", NULL});
}

TEST(test_wrong) {
  static const struct {
    const char *name, *text, *part;
  } cases[] = {
      {"metrics.jsonl", "{\"step\":1}\n{\"step\"\n{\"step\":3}\n", "metrics.jsonl:2: not a JSON"},
      {"metrics.jsonl", "{\"loss\":1}\n", "metrics.jsonl:1: \"step\" is missing"},
      {"metrics.jsonl", "[]\n1\n", "metrics.jsonl:1: not a JSON object"},
      {"about.json", "[1]", "about.json: must be a JSON object"},
      {"about.json", "{", "about.json"},
      {"eval-test.json", "", "eval-test.json"},
      {"config.json", "{\"mixer\": 3, \"data\": \"d\"}", "\"mixer\""},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *a = make_run("{\"data\": \"d\"}", ACCURACY);
    write_text(a, cases[i].name, cases[i].text);
    report(2, a);
    assert_printed(cases[i].part);
  }
  /* a last line that is being written */
  const char *a = make_run("{\"data\": \"d\"}", "{\"step\":1,\"loss\":2}\n{\"step\":2,\"lo");
  report(0, a);
  assert_printed("| – | – | – | 1 |");
  /* or that the file system had room for, but not its bytes, when the power went */
  test_write(test_path(a, "metrics.jsonl"), "{\"step\":1,\"loss\":2}\n\0\0\0\0", 24);
  report(0, a);
  assert_printed("| – | – | – | 1 |");
  report(2, "");
  assert_printed("run folders are missing");
  report(2, test_folder());
  assert_printed("is not a run folder");
  report(2, test_text("%s --out x.pdf", a));
  assert_printed("must end in .html, .md or .tex");
  report(2, test_text("%s --json --out x.md", a));
  report(2, test_text("%s --out /dev/null/x.md", a));
  report(2, test_text("%s --format markdown --out %s/metrics.jsonl", a, a));
  assert_printed("metrics.jsonl would replace a file that this command did not write");
  report(0, "--help");
}

/* What training and evaluation leave is what the report shows. */
TEST(test_real_run) {
  const char *folder = test_new_run();
  const char *common = test_text("--device cpu --cache-dir %s", test_folder());
  assert_code(test_filtra("train %s --steps 4 --set width=8 --set layers=1 "
                          "--set log_every=1 --data %s --out %s 2>/dev/null",
                          common, test_listops(), folder),
              0);
  report(0, folder);
  assert_printed("| accuracy |");
  assert_printed("| – |"); /* no test yet */
  assert_code(test_filtra("eval %s --run %s --json", common, folder), 0);
  json_auto_t *result = test_output_json();
  double accuracy = json_number_value(json_object_get(result, "accuracy"));
  double top5 = json_number_value(json_object_get(result, "top5_accuracy"));
  double f1 = json_number_value(json_object_get(result, "macro_f1"));
  assert_true(top5 >= accuracy);
  const uint64_t files = test_snapshot(folder); /* others than the run's own are not kept */
  assert_code(test_filtra("eval %s %s --precision bf16 2>&1", common, folder), 0);
  assert_code(test_filtra("eval %s %s --data %s 2>&1", common, folder, test_listops()), 0);
  assert_true(test_snapshot(folder) == files);
  assert_int_equal(remove(test_path(folder, "eval-test.json")), 0);
  assert_code(test_filtra("eval %s %s --precision fp32 2>&1", common, folder), 0);
  assert_true(test_snapshot(folder) == files);
  report(0, folder);
  assert_printed("| Run | Test accuracy | 95 % interval | Chance | Majority | Balanced accuracy |");
  assert_printed(test_text("| %.2f %% |", 100.0 * f1));
  assert_printed("| Test | Test top-5 |");
  assert_printed(test_text("| %.2f %% | %.2f %% |", 100.0 * accuracy, 100.0 * top5));
  const char *other = make_run("{\"data\": \"d\"}", ACCURACY); /* of few classes, say */
  report(0, test_text("%s %s", folder, other));
  assert_printed("| 75.00 % | – | – | 40 |");
  assert_prints(test_filtra("report --json %s", folder), 0, test_text("\"test_top5\": %.3f", top5));
  assert_printed("\"test_macro_f1\": 0.");
  const char *page = test_path(test_folder(), "page.html");
  report(0, test_text("%s --out %s", folder, page));
  owned char *text = test_read(page, NULL);
  test_well_formed(text);
  assert_non_null(strstr(text, "<h2>Classes</h2>"));
  assert_non_null(strstr(text, "→ 9"));
  assert_true(ft_file_exists(test_path(folder, "about.json")));
  test_no_leftovers(folder);
}

TEST_ALSO(test_in_browser)
TEST_MAIN(NULL, test_teardown)
