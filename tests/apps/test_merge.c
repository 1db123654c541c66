/* `filtra report` of its own earlier files: a sweep's parts on two machines become one report, with
 * the same bytes in every format as from the folders. Runs are written by hand. */
#include "base/file.h"
#include "support/command.h"
#include "support/harness.h"
#include "support/run.h"

#include <jansson.h>
#include <sys/stat.h>

static const char *here, *there; /* the folders of the sweep on the one machine and on the other */

static void report(int code, const char *arguments) {
  assert_code(test_filtra("report %s 2>&1", arguments), code);
}

static void write_text(const char *folder, const char *name, const char *text) {
  test_write(test_path(folder, name), text, strlen(text));
}

/* ---- the two folders ---- */

static const char SWEEP[] =
    "{\"title\": \"Two\", \"datasets\": {\"made\": {\"generate\": {\"kind\": \"listops\"}, "
    "\"note\": \"Small.\", \"published\": {\"agf\": 0.4}}, \"kept\": {\"data\": \"k\"}}}";

/* A cell that took `steps` steps, some of whose numbers have no short decimals. */
static void add_cell(const char *sweep, const char *data, const char *mixer, int seed, int steps) {
  const char *name = test_text("%s-%s-seed=%d", data, mixer, seed);
  const char *run = test_path(sweep, name);
  char *lines = malloc((size_t)steps * 160 + 256), *to = lines;
  assert_int_equal(mkdir(run, 0700), 0);
  write_text(run, "config.json",
             test_text("{\"data\": \"%s/%s\", \"mixer\": \"%s\", \"seed\": %d, \"width\": 8, "
                       "\"learning_rate\": 0.0003}",
                       sweep, data, mixer, seed));
  for (int i = 1; i <= steps; i++)
    to += sprintf(to, "{\"step\":%d,\"loss\":%.9g,\"milliseconds\":%.9g}\n", i, 2.0 + 1.0 / i,
                  (3.0 + seed + (double)strlen(mixer)) / 7.0);
  sprintf(to, "{\"step\":%d,\"validation_loss\":1.1,\"validation_accuracy\":%.9g}\n", steps,
          seed / 7.0);
  write_text(run, "metrics.jsonl", lines);
  free(lines);
  write_text(run, "eval-test.json", test_text("{\"accuracy\": %.17g}", seed / 9.0));
  write_text(run, "about.json",
             test_text("{\"filtra\": \"0.1.0\", \"device\": \"D of %s\", \"driver\": \"E\", "
                       "\"parameters\": 77}",
                       sweep));
  FILE *record = fopen(test_path(sweep, "sweep.jsonl"), "a");
  fprintf(record, "{\"cell\":\"%s\",\"state\":\"done\",\"seconds\":%d.1,\"commit\":\"c%d\"}\n",
          name, seed, seed);
  fclose(record);
}

static const char *make_sweep(void) {
  const char *folder = test_new_run();
  assert_int_equal(mkdir(folder, 0700), 0);
  write_text(folder, "sweep.json", SWEEP);
  return folder;
}

static int make_folders(void **state) {
  (void)state;
  here = make_sweep();
  there = make_sweep();
  for (int seed = 1; seed <= 2; seed++) {
    add_cell(here, "made", "agf", seed, 20);
    add_cell(here, "kept", "agf", seed, 300); /* more points than charts have */
    add_cell(there, "made", "softmax", seed, 20);
    add_cell(there, "kept", "softmax", seed, 300);
  }
  return 0;
}

/* The report of one machine; valid to the end. */
static const char *half_report(void) {
  static char path[512];
  if (!*path) {
    snprintf(path, sizeof path, "%s.json", here);
    report(0, test_text("%s --json >%s", here, path));
  }
  return path;
}

/* ---- merging ---- */

TEST(test_same_bytes) {
  static const char *const FORMATS[] = {"--format markdown", "--format html", "--format latex",
                                        "--format results", "--json"};
  const char *half = half_report();
  char both[512];
  snprintf(both, sizeof both, "%s.both.json", here);
  report(0, test_text("%s %s --json >%s", here, there, both));
  for (size_t i = 0; i < FT_COUNT(FORMATS); i++) {
    const char *a = test_path(test_folder(), "a"), *b = test_path(test_folder(), "b");
    report(0, test_text("%s %s %s >%s", here, there, FORMATS[i], a));
    owned char *wanted = test_read(a, NULL);
    report(0, test_text("%s %s %s >%s", half, there, FORMATS[i], b));
    char *got = test_read(b, NULL);
    assert_string_equal(got, wanted);
    free(got);
    report(0, test_text("%s %s >%s", both, FORMATS[i], b)); /* what was merged, again */
    got = test_read(b, NULL);
    assert_string_equal(got, wanted);
    free(got);
  }
}

/* One group by the sweep's names, though machines have the data at places of their own. */
TEST(test_groups) {
  const char *half = half_report();
  report(0, test_text("%s %s --format results", half, there));
  assert_printed("# Two\n");
  assert_printed("from 8 runs, which took 0 minutes");
  assert_printed("## made\n\nAccuracy in %; 20 steps of ");
  assert_printed("Small.");
  assert_printed("| agf | 21.43 ± 10.10 | **16.67 ± 7.86** | 1.5 | 40.00 | 2 | 77 |");
  assert_printed("| softmax | 21.43 ± 10.10 | **16.67 ± 7.86** | 1.5 | – | 2 | 77 |");
  assert_null(strstr(strstr(test_output, "## made") + 1, "## made"));
  report(0, test_text("%s --json", half));
  json_auto_t *root = test_output_json();
  const json_t *run = json_array_get(json_object_get(root, "runs"), 3);
  assert_string_equal(json_string_value(json_object_get(run, "commit")), "c2");
  assert_string_equal(json_string_value(json_object_get(run, "filtra")), "0.1.0");
  assert_true(json_number_value(json_object_get(run, "seed")) == 2.0);
  assert_true(json_number_value(json_object_get(run, "test")) == 2.0 / 9.0);
  assert_true(json_number_value(json_object_get(run, "seconds")) == 2.1);
  assert_int_equal(json_integer_value(json_object_get(json_object_get(run, "config"), "width")), 8);
  assert_int_equal(json_array_size(json_object_get(root, "sweeps")), 1);
}

/* The same data by the name, but generated otherwise, is another data set. */
TEST(test_other_data) {
  const char *other = make_sweep();
  write_text(other, "sweep.json",
             "{\"datasets\": {\"made\": {\"generate\": {\"kind\": \"listops\", \"train\": 9}}}}");
  add_cell(other, "made", "agf", 1, 20);
  report(0, test_text("%s %s --format results", half_report(), other));
  assert_non_null(strstr(strstr(test_output, "## made") + 1, "## made"));
}

TEST(test_repeats) {
  const char *half = half_report();
  char cell[512];
  snprintf(cell, sizeof cell, "%s/made-agf-seed=1", here);
  const char *part = "which %s has, are the same run; leave one out";
  report(2, test_text("%s %s", half, here));
  assert_printed(test_text("%s, which %s has, and %s", test_path(here, "kept-agf-seed=1"), half,
                           test_path(here, "kept-agf-seed=1")));
  assert_printed(test_text(part, here));
  report(2, test_text("%s %s", cell, half)); /* the folder alone knows of no sweep */
  report(2, test_text("%s %s", cell, here));
  report(2, test_text("%s %s", half, half));
  /* The same cell, trained by both machines. */
  const char *again = make_sweep();
  add_cell(again, "made", "agf", 1, 21);
  report(2, test_text("%s %s", half, again));
  assert_printed(test_text(part, again));
  /* Runs that are of no sweep may agree in all settings, as on two devices. */
  write_text(again, "made-agf-seed=1/metrics.jsonl", "{\"step\":20,\"milliseconds\":9}\n");
  owned char *config = test_read(test_path(cell, "config.json"), NULL);
  write_text(again, "made-agf-seed=1/config.json", config);
  assert_int_equal(remove(test_path(again, "sweep.json")), 0);
  report(0, test_text("%s %s/made-agf-seed=1", cell, again));
}

/* A cell that is not evaluated on the data set's split has not ended: it counts for nothing. */
TEST(test_unfinished) {
  const char *sweep = make_sweep();
  add_cell(sweep, "made", "agf", 1, 20);
  add_cell(sweep, "made", "agf", 2, 20);
  add_cell(sweep, "made", "softmax", 1, 20);
  assert_int_equal(remove(test_path(sweep, "made-agf-seed=1/eval-test.json")), 0);
  report(0, test_text("%s --format results", sweep));
  assert_printed(test_text("%s: 1 of 3 runs are not finished and left out", sweep));
  assert_printed("from 2 runs");
  owned char *record = test_read(test_path(sweep, "sweep.jsonl"), NULL);
  write_text(
      sweep, "sweep.jsonl",
      test_text("{\"cells\":[\"made-agf-seed=2\",\"made-agf-seed=3\",\"made-softmax-seed=1\","
                "\"made-softmax-seed=2\"]}\n%s",
                record));
  report(0, sweep);
  assert_printed(": 2 of 4 runs are not finished and left out");
  write_text(sweep, "sweep.jsonl", record);
  write_text(sweep, "sweep.json",
             "{\"evaluate\": \"val\", \"datasets\": {\"made\": {\"data\": \"d\"}}}");
  report(2, sweep);
  assert_printed(": none of its runs is finished");
  write_text(sweep, "made-agf-seed=1/eval-val.json", "{\"accuracy\": 0.5}");
  report(0, sweep);
  assert_printed(": 2 of 3 runs are not finished and left out");
}

/* Data that changed while a sweep was interrupted are said once, also through a report. */
TEST(test_changed_data) {
  const char *sweep = make_sweep();
  char json[512];
  snprintf(json, sizeof json, "%s.json", sweep);
  static const char *const CELLS[] = {"made-agf-seed=1", "made-agf-seed=2", "made-softmax-seed=1"};
  add_cell(sweep, "made", "agf", 1, 20);
  add_cell(sweep, "made", "agf", 2, 20);
  add_cell(sweep, "made", "softmax", 1, 20);
  for (int changed = 0; changed < 2; changed++) {
    for (size_t i = 0; i < FT_COUNT(CELLS); i++)
      write_text(sweep, test_text("%s/about.json", CELLS[i]),
                 test_text("{\"data_fingerprint\": \"%s\"}", changed && i ? "b" : "a"));
    report(0, sweep);
    const char *said = strstr(test_output, "were trained on different samples");
    assert_int_equal(said != NULL, changed);
    if (said) assert_null(strstr(said + 1, "were trained on"));
  }
  assert_code(test_filtra("report %s --json >%s", sweep, json), 0);
  report(0, json);
  assert_printed("made-agf-seed=2 were trained on different samples");
}

/* ---- files that are no reports ---- */

#define RUN                                                                                        \
  "\"run\": \"r\", \"data\": \"/d\", \"data_set\": \"d\", \"mixer\": \"agf\", \"steps\": 4, "      \
  "\"batch_size\": 2, \"measure\": \"accuracy\", \"config\": {}, \"sweep\": null"
#define CURVE  "{\"step\": [1], \"value\": [2]}"
#define CURVES "\"curves\": {\"loss\": " CURVE ", \"validation_loss\": " CURVE ", "
#define WHOLE  "{" RUN ", " CURVES "\"validation_score\": " CURVE "}}"

TEST(test_wrong) {
  static const struct {
    const char *runs, *part;
  } cases[] = {
      {"[]", "\"runs\" has 0 entries, accepted are 1 to 2000"},
      {"{}", "\"runs\" must be a list, not an object"},
      {"[3]", "runs[0] must be an object, not a number"},
      {"[" WHOLE ", {}]", "runs[1]: \"run\" is missing"},
      {"[{" RUN "}]", "runs[0]: \"curves\" is missing"},
      {"[{" RUN ", \"seed\": \"1\"}]", "runs[0]: \"seed\" must be a number, not text"},
      {"[{" RUN ", \"parameters\": -1}]", "\"parameters\" is -1, accepted is 0 or more"},
      {"[{" RUN ", " CURVES "\"validation_score\": 1}}]",
       "\"validation_score\" must be an object, not a number"},
      {"[{" RUN ", " CURVES "\"validation_score\": {\"step\": [1, 2], \"value\": [3]}}}]",
       "runs[0]: \"validation_score\": \"step\" has 2 numbers and \"value\" 1"},
      {"[{" RUN ", " CURVES "\"validation_score\": {\"step\": [1], \"value\": [null]}}}]",
       "\"validation_score\": value[0] must be a number, not null"},
  };
  static const struct {
    const char *text, *part;
  } files[] = {
      {"", "not valid JSON"},
      {"[]", "is neither a run folder nor a file of 'filtra report --json'"},
      {"{\"runs\": []}", "\"format\": \"filtra-report-1\" is missing"},
      {"{\"format\": \"filtra-bench-1\"}", "accepted is \"filtra-report-1\""},
      {"{\"format\": \"filtra-report-1\"}", "\"runs\" is missing"},
      {"{\"format\": \"filtra-report-1\", \"runs\": [], \"sweeps\": [1]}",
       "sweeps[0] must be an object, not a number"},
  };
  const char *folder = test_new_run();
  assert_int_equal(mkdir(folder, 0700), 0);
  char file[512];
  snprintf(file, sizeof file, "%s/x.json", folder);
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    write_text(folder, "x.json",
               test_text("{\"format\": \"filtra-report-1\", \"sweeps\": [], \"runs\": %s}",
                         cases[i].runs));
    report(2, file);
    assert_printed(test_text("%s: ", file));
    assert_printed(cases[i].part);
  }
  for (size_t i = 0; i < FT_COUNT(files); i++) {
    write_text(folder, "x.json", files[i].text);
    report(2, file);
    assert_printed(file);
    assert_printed(files[i].part);
  }
  static const char *const PATCHES[][3] = {
      {"\"measure\": \"accuracy\"", "\"measure\": \"accurate\"", "\"measure\" must be one of"},
      {"\"sweep\": null", "\"sweep\": 1   ", "the index of one of the file's 0 \"sweeps\""},
      {"\"config\": {}", "\"config\": 11", "\"config\" must be an object, not a number"},
      {"\"mixer\": \"agf\"", "\"mixer\": \"\"   ", "\"mixer\" is empty"}};
  for (size_t i = 0; i < FT_COUNT(PATCHES); i++) {
    write_text(folder, "x.json",
               "{\"format\": \"filtra-report-1\", \"sweeps\": [], \"runs\": [" WHOLE "]}");
    report(0, file);
    test_patch(file, PATCHES[i][0], PATCHES[i][1]);
    report(2, file);
    assert_printed(PATCHES[i][2]);
  }
}

TEST_MAIN(make_folders, test_teardown)
