/* `filtra compare` as a shell sees it. */
#include "base/file.h"
#include "support/browser.h"
#include "support/command.h"
#include "support/harness.h"
#include "support/page.h"
#include "support/run.h"

#include "bench_file.h"

#include <jansson.h>
#include <sys/stat.h>

static void compare(int code, const char *arguments) {
  assert_code(test_filtra("compare %s 2>&1", arguments), code);
}

/* ---- files ---- */

/* The same with all times half as long. */
static json_t *file_b(void) {
  json_t *root = json_loads(FILE_A, 0, NULL), *entry;
  size_t i;
  json_object_set_new(json_object_get(root, "device"), "name", json_string("B"));
  json_array_foreach(json_object_get(root, "results"), i, entry) {
    static const char *const KEYS[] = {"seconds_best", "seconds_median", "seconds_worst"};
    for (size_t k = 0; k < FT_COUNT(KEYS); k++) {
      double t = json_number_value(json_object_get(entry, KEYS[k]));
      if (t > 0.0) json_object_set_new(entry, KEYS[k], json_real(t / 2.0));
    }
  }
  return root;
}

/* Writes the object to a new file, whose name stays valid, and gives it up. */
static const char *write_file(json_t *root) {
  static char paths[64][512];
  static size_t used;
  assert_true(used < FT_COUNT(paths));
  char *path = paths[used++];
  snprintf(path, sizeof paths[0], "%s/f.json", test_folder());
  assert_non_null(root);
  assert_int_equal(json_dump_file(root, path, 0), 0);
  json_decref(root);
  return path;
}

static const char *write_a(void) {
  return write_file(json_loads(FILE_A, 0, NULL));
}

static json_t *result(json_t *root, size_t i) {
  return json_array_get(json_object_get(root, "results"), i);
}

static json_t *losses(json_t *root) {
  return json_array_get(json_object_get(root, "losses"), 0);
}

/* ---- what is compared ---- */

TEST(test_table) {
  json_t *b = file_b();
  json_array_remove(json_object_get(b, "results"), 1);
  json_object_set_new(result(b, 2), "batch", json_integer(16)); /* a layer of 1024 tokens */
  json_object_set_new(result(b, 2), "case", json_string("agf, 16 x 1024 tokens"));
  compare(0, test_text("%s %s", write_a(), write_file(b)));
  assert_printed("| Machine | A: A \\<fast> & \"quiet\" \\| card | B: B |\n");
  assert_printed("| Multiply-adds, peak | 1000 GFLOP/s | 1000 GFLOP/s |\n");
  assert_printed("| Subgroup | 32 | 32 |\n");
  assert_printed("| square (tiled) | 4.00 ms | 2.00 ms | 2.00 × |\n");
  assert_printed("| long (tiled) | 20.0 ms | not in this file | – |\n");
  assert_printed("| n 256 (forward) | failed: out of \\<memory> | failed: out of \\<memory> | – |");
  assert_printed("| agf, 1024 tokens | 8.00 ms | 250 µs | 32.0 × |\n");
  assert_printed("| agf, 2048 tokens | 16.0 ms | 8.00 ms | 2.00 × |\n");
  assert_printed("| agf | time n^1.00, memory n^-0.25 | time n^1.00, memory n^-0.25 | – |\n");
  assert_printed("| agf | B: B | bitwise equal | 4 |");
  assert_null(strstr(test_output, "Beware"));
}

/* A case in bf16 is none in fp32, which is what a file means that names no precision. */
TEST(test_precisions) {
  json_t *b = file_b();
  json_t *narrow = json_deep_copy(result(b, 0));
  json_object_set_new(result(b, 0), "precision", json_string("fp32"));
  json_object_set_new(narrow, "precision", json_string("bf16"));
  json_array_append_new(json_object_get(b, "results"), narrow);
  compare(0, test_text("%s %s", write_a(), write_file(b)));
  assert_printed("| square (tiled) | 4.00 ms | 2.00 ms | 2.00 × |\n");
  assert_printed("| square (tiled, bf16) | not in this file | 2.00 ms | – |\n");
}

static json_t *compared(const char *arguments) {
  compare(0, test_text("%s --json", arguments));
  json_t *root = test_output_json();
  return root;
}

static double number(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  if (!json_is_number(value)) fail_msg("there is no number %s", key);
  return json_number_value(value);
}

/* Machine 1's losses against machine 0's. */
static const json_t *deviation(const json_t *root) {
  const json_t *entry = json_array_get(json_object_get(root, "losses"), 0);
  return json_array_get(json_object_get(entry, "machines"), 1);
}

TEST(test_agreement) {
  json_t *b = file_b(), *root;
  json_array_set_new(json_object_get(losses(b), "values"), 1, json_real(2.25));
  json_array_set_new(json_object_get(losses(b), "values"), 3, json_real(0.625));
  json_array_append_new(json_object_get(losses(b), "values"), json_real(0.25));
  root = compared(test_text("%s %s", write_a(), write_file(b)));
  assert_true(json_is_false(json_object_get(deviation(root), "bitwise_equal")));
  assert_true(number(deviation(root), "steps") == 4);
  assert_true(number(deviation(root), "max_absolute") == 0.25);
  assert_true(number(deviation(root), "max_absolute_step") == 2);
  assert_true(fabs(number(deviation(root), "max_relative") - 0.125 / 0.625) < 1e-8);
  assert_true(number(deviation(root), "max_relative_step") == 4);
  json_decref(root);

  static const struct {
    const char *key, *value, *part;
  } refused[] = {
      {"seed", "2", "seeds differ: 2 here, 1 there"},
      {"config", "{\"width\": 64, \"mixer\": {\"name\": \"agf\", \"K\": 2}}",
       "width is 64 here, 32"},
      {"config", "{\"width\": 32, \"mixer\": {\"name\": \"agf\", \"K\": 3}}",
       "mixer.K is 3 here, 2 there"},
      {"config", "{\"width\": 32, \"mixer\": {\"name\": \"agf\"}}", "mixer.K is absent here, 2"},
      {"config", "{\"width\": 32, \"mixer\": {\"name\": \"agf\", \"K\": 2}, \"x\": []}",
       "x is [] here, absent there"},
  };
  for (size_t i = 0; i < FT_COUNT(refused); i++) {
    b = file_b();
    json_object_set_new(losses(b), refused[i].key,
                        json_loads(refused[i].value, JSON_DECODE_ANY, NULL));
    root = compared(test_text("%s %s", write_a(), write_file(b)));
    const char *reason = json_string_value(json_object_get(deviation(root), "refused"));
    if (!reason || !strstr(reason, refused[i].part))
      fail_msg("\"%s\" is not in \"%s\"", refused[i].part, reason ? reason : "");
    json_decref(root);
  }
}

/* Losses that the first file lacks are compared among the others. */
TEST(test_first_lacks) {
  json_t *a = json_loads(FILE_A, 0, NULL), *b = file_b();
  json_object_set_new(losses(a), "error", json_string("no luck"));
  json_array_clear(json_object_get(a, "results"));
  json_object_set_new(json_object_get(b, "device"), "driver", json_string("D 9"));
  compare(0, test_text("%s %s %s", write_file(a), write_file(file_b()), write_file(b)));
  assert_printed("| B: B, D 1.2 | C: B, D 9 |");
  assert_printed("card | failed: no luck |");
  assert_null(strstr(test_output, "| agf | B: B, D 1.2"));
  assert_printed("| C: B, D 9 | bitwise equal | 4 |");
  assert_printed("| square (tiled) | not in this file | 2.00 ms | – | 2.00 ms | – |");
}

TEST(test_warnings) {
  json_t *b = file_b(), *dirty[2] = {json_loads(FILE_A, 0, NULL), file_b()};
  json_object_set_new(b, "commit", json_string("bbbbbbbbbbbb"));
  json_object_set_new(b, "quick", json_true());
  json_object_set_new(b, "caps", json_string("gemm=tiled"));
  compare(0, test_text("%s %s", write_a(), write_file(b)));
  assert_printed("B: B was measured with filtra 0.1.0 (bbbbbbbbbbbb), A: ");
  assert_printed("B: B was measured with --quick, A: ");
  assert_printed("B: B was measured under --caps gemm=tiled, A: ");
  for (size_t i = 0; i < 2; i++) {
    json_object_set_new(dirty[i], "commit", json_string("cccccccccccc-dirty"));
    json_object_set_new(dirty[i], "tuned", json_integer(i ? 7 : 0));
    json_object_set_new(dirty[i], "driver_threads", json_integer((json_int_t)i));
    json_object_set_new(dirty[i], "model", json_pack("{si}", "width", i ? 64 : 32));
  }
  compare(0, test_text("%s %s", write_file(dirty[0]), write_file(dirty[1])));
  assert_printed("commit cccccccccccc-dirty, which may stand for different programs");
  assert_printed("B: B was measured with what filtra tune chose, A: ");
  assert_printed("B: B was measured with 1 thread of the driver, A: ");
  assert_printed("card with a thread of the driver for each core.");
  assert_printed("B: B timed the answers of another model than A: ");
  assert_printed("the configurations differ: width is 64 here, 32 there.");
}

/* A report is a benchmark's file, and also says what it checked. */
TEST(test_reports) {
  json_t *report = file_b(), *bad = file_b();
  json_t *const both[] = {report, bad};
  for (int i = 0; i < 2; i++) {
    json_object_set_new(both[i], "format", json_string("filtra-check-1"));
    json_object_set_new(both[i], "check", json_pack("{si si}", "files", 29, "passed", i ? 27 : 29));
  }
  compare(0, test_text("%s %s %s", write_a(), write_file(report), write_file(bad)));
  assert_printed("| Golden cases |");
  assert_printed(" | 29 of 29 pass | 27 of 29 pass |");
  assert_printed("2 of 29 golden cases fail: its times may be of wrong results.");
  assert_printed("| square (tiled) | 4.00 ms | 2.00 ms | 2.00 ");
}

/* ---- the page ---- */

static size_t count(const char *text, const char *part) {
  size_t found = 0;
  for (const char *at = text; (at = strstr(at, part)); at++)
    found++;
  return found;
}

static char *page_of(const char *files) {
  const char *page = test_path(test_folder(), "page.html");
  const char *charts = test_path(test_folder(), "charts");
  ft_remove_tree(charts);
  compare(0, test_text("%s -o %s --charts %s", files, page, charts));
  assert_string_equal(test_output, "");
  test_chart_files(charts, 0, (const char *const[]){NULL});
  char *text = test_read(page, NULL);
  test_well_formed(text);
  test_page_made(page);
  assert_null(strstr(text, "nan"));
  return text;
}

static void set_peak(json_t *root, const char *name, const char *entry) {
  json_object_set_new(json_object_get(root, "peaks"), name, json_loads(entry, 0, NULL));
}

/* What matrix units do at most is another roof than that of multiply-adds; a machine may have none,
 * or none of a type. */
TEST(test_matrix_units) {
  json_t *b = file_b(), *c = file_b(), *narrow = json_deep_copy(result(b, 0));
  set_peak(b, "matrix_bf16", "{\"gflops\": 8000.0, \"shape\": \"16x16x16\"}");
  set_peak(b, "matrix_fp16", "{\"error\": \"no shape\"}");
  set_peak(c, "matrix_fp16", "{\"gflops\": 9000.0}");
  json_object_set_new(narrow, "variant", json_string("matrix"));
  json_object_set_new(narrow, "precision", json_string("bf16"));
  json_object_set_new(narrow, "roof", json_string("matrix"));
  json_object_set_new(narrow, "matrix_flops", json_integer(2000000000)); /* not of its shape */
  json_array_append_new(json_object_get(b, "results"), narrow);
  const char *files = test_text("%s %s %s", write_a(), write_file(b), write_file(c));
  json_auto_t *root = compared(files);
  const json_t *machines = json_object_get(root, "machines"), *cases, *one;
  const json_t *first = json_array_get(machines, 0), *second = json_array_get(machines, 1);
  assert_true(json_is_null(json_object_get(first, "peak_matrix_bf16_gflops")));
  assert_true(number(second, "peak_matrix_bf16_gflops") == 8000.0);
  assert_true(json_is_null(json_object_get(second, "peak_matrix_fp16_gflops")));
  assert_true(number(json_array_get(machines, 2), "peak_matrix_fp16_gflops") == 9000.0);
  size_t i, found = 0;
  cases = json_object_get(root, "cases");
  json_array_foreach(cases, i, one) {
    const json_t *cell = json_array_get(json_object_get(one, "machines"), 1);
    const char *roof = json_string_value(json_object_get(cell, "roof"));
    const bool on_matrices = !strcmp(json_string_value(json_object_get(one, "variant")), "matrix");
    assert_true(on_matrices ? roof && !strcmp(roof, "matrix") : !roof);
    if (on_matrices) assert_string_equal(json_string_value(json_object_get(one, "shape")), "m 64");
    found += on_matrices;
  }
  assert_int_equal(found, 1);
  compare(0, files);
  assert_printed(
      "| Matrix units, peak | – | bf16 8000, fp16 – GFLOP/s | bf16 –, fp16 9000 GFLOP/s");
  owned char *text = page_of(files);
  assert_non_null(strstr(text, "50 % of the roofline of matrix units"));
  assert_non_null(strstr(text, "<td>50.0 % (matrix)</td>"));
  assert_non_null(strstr(text, "on matrix units 8000 GFLOP/s in bf16 and – in fp16 and 100 GB/s"));
  assert_int_equal(count(text, "class=\"limit\""), 3 + 2);
  assert_int_equal(count(text, "<title>what matrix units allow, bf16</title>"), 1);
}

TEST(test_page) {
  json_t *b = file_b();
  json_array_remove(json_object_get(b, "results"), 1);
  json_array_set_new(json_object_get(losses(b), "values"), 2, json_real(1.0009765625));
  json_object_set_new(b, "quick", json_true());
  char *text = page_of(test_text("%s %s", write_a(), write_file(b)));
  assert_non_null(strstr(text, "A: A &lt;fast&gt; &amp; &quot;quiet&quot; | card"));
  assert_non_null(strstr(text, "Not all of these numbers compare"));
  assert_non_null(strstr(text, "failed: out of &lt;memory&gt;"));
  assert_non_null(strstr(text, ">not in this file<"));
  assert_non_null(strstr(text, ">not measured<"));
  assert_non_null(strstr(text, ">no case in common<"));
  assert_non_null(strstr(text, "2.00 ms · 2.00 ×"));
  assert_non_null(strstr(text, "agf n^1.00"));
  assert_non_null(
      strstr(text, "square, tiled: 500 GFLOP/s at 200 FLOP/byte, 50 % of the roofline"));
  assert_non_null(strstr(text, "<td>1.00097656</td><td>0.000977</td>"));
  assert_int_equal(count(text, "class=\"spread\""), 5); /* gemm 2 + 1, train step 1 + 1 */
  /* in all, roofs 3, gemm, growth 4, train step, losses 1 + 1; attention has no bar */
  assert_int_equal(count(text, "<svg viewBox"), 12);
  assert_int_equal(count(text, "<desc>"), 12);
  assert_int_equal(count(text, "No data."), 1);
  free(text);

  text = page_of(write_a());
  assert_null(strstr(text, "Over A"));
  assert_null(strstr(text, "A: A"));
  free(text);
}

/* ---- crossings ---- */

static void add_layer(json_t *root, const char *mixer, int length, double seconds, double memory) {
  json_t *entry =
      json_pack("{ss ss ss si si}", "op", "mixer_layer", "case", test_text("%s, %d", mixer, length),
                "mixer", mixer, "batch", 1, "length", length);
  if (seconds > 0.0)
    json_object_update_new(entry,
                           json_pack("{sf sf sf sf}", "seconds_best", seconds, "seconds_median",
                                     seconds, "seconds_worst", seconds, "memory_bytes", memory));
  else
    json_object_set_new(entry, "skipped", json_string("a run would take <9> s"));
  json_array_append_new(json_object_get(root, "results"), entry);
}

static void check_crossing(const json_t *list, size_t mixer, const char *of, const char *wanted,
                           double length) {
  const json_t *machines = json_object_get(json_array_get(list, mixer), "machines");
  const json_t *x = json_object_get(json_array_get(machines, 0), of);
  assert_string_equal(json_string_value(json_object_get(x, "state")), wanted);
  double got = json_number_value(json_object_get(x, "length"));
  if (!(fabs(got - length) <= 1e-8 * length)) fail_msg("crosses at %g, not %g", got, length);
}

/* softmax takes n², and others n at other factors; on such power laws the line between two lengths
 * is exact. */
TEST(test_crossings) {
  json_t *a = json_loads(FILE_A, 0, NULL);
  json_array_clear(json_object_get(a, "results"));
  for (int n = 1024; n <= 16384; n *= 2) {
    double k = n / 1024.0;
    add_layer(a, "softmax", n, k * k, 1e6 * k);
    add_layer(a, "agf", n, 3.0 * k, n < 4096 ? 2e6 * k : 0.5e6 * k); /* at 3 k; between 2 and 4 k */
    add_layer(a, "gfsa", n, 2.0 * k * k, 1e6 * k);                   /* never; never less */
    add_layer(a, "fnet", n, 0.5 * k, 1e5 * k);                       /* always */
    add_layer(a, "linear", n, n > 4096 ? 0.0 : 5.0 * k, 1e5 * k);    /* beyond what was measured */
  }
  const char *path = write_file(a);
  json_auto_t *root = compared(path);
  const json_t *list = json_object_get(root, "crossings");
  assert_int_equal(json_array_size(list), 4);
  check_crossing(list, 0, "time", "crosses", 3.0 * 1024.0);
  check_crossing(list, 0, "memory", "crosses", 2048.0 * sqrt(2.0));
  check_crossing(list, 1, "time", "beyond", 0.0);
  check_crossing(list, 1, "memory", "beyond", 0.0);
  check_crossing(list, 2, "time", "below", 0.0);
  check_crossing(list, 3, "time", "beyond", 0.0);
  compare(0, path);
  assert_printed("| agf | 3072 | 2896 |\n| gfsa | not up to 16384 | not up to 16384 |\n"
                 "| fnet | below 1024 | below 1024 |\n| linear | not up to 4096 | below 1024 |\n");
  assert_printed("| linear, 8192 tokens | skipped: a run would take \\<9> s |");
  owned char *text = page_of(path);
  assert_non_null(strstr(text, "<tr><td>agf</td><td>3072</td><td>2896</td></tr>"));
  assert_non_null(strstr(text, "skipped: a run would take &lt;9&gt; s"));
  assert_non_null(strstr(text, "25 cases, 2 skipped<"));
  compare(0, write_a()); /* nothing of softmax */
  assert_null(strstr(test_output, "less than softmax"));
}

/* More mixers than colours: the others are dashed. */
TEST(test_many_lines) {
  json_t *a = json_loads(FILE_A, 0, NULL);
  json_array_clear(json_object_get(a, "results"));
  for (int i = 0; i < 13; i++)
    for (int n = 1024; n <= 2048; n *= 2)
      add_layer(a, test_text("mixer%d", i), n, 1.0 + i, 1e6);
  owned char *text = page_of(write_file(a));
  assert_int_equal(count(text, "<g class=\"c4\">"), 2);
  assert_int_equal(count(text, "<g class=\"c4 d1\">"), 2);
  assert_int_equal(count(text, "<span class=\"c4 d1\">"), 2);
}

/* Files with hardly anything in them, and the same device again and again. */
TEST(test_extremes) {
  json_t *a = json_loads(FILE_A, 0, NULL);
  json_array_clear(json_object_get(a, "results"));
  json_object_del(a, "losses");
  json_object_del(a, "peaks");
  json_object_del(a, "host");
  const char *empty = write_file(a), *full = write_a();
  owned char *text = page_of(empty);
  assert_non_null(strstr(text, "There are no results."));
  compare(0, empty);
  assert_printed("No results.");
  assert_printed("| Multiply-adds, peak | – |\n");
  free(page_of(test_text("%s %s %s", empty, full, empty)));
  compare(0, test_text("%s %s", full, full));
  assert_printed("| B: A \\<fast> & \"quiet\" \\| card, ");
  free(page_of(test_text("$(yes %s | head -n 8)", full)));

  a = json_loads(FILE_A, 0, NULL); /* no time, no losses above 0 */
  json_object_set_new(result(a, 0), "seconds_best", json_integer(0));
  json_object_set_new(result(a, 0), "seconds_median", json_integer(0));
  for (size_t i = 0; i < 4; i++)
    json_array_set_new(json_object_get(losses(a), "values"), i, json_real(i ? 0.0 : -1.0));
  const char *zero = write_file(a);
  free(page_of(test_text("%s %s %s", zero, full, zero)));
}

/* What a terminal or a page would take for commands is text. */
TEST(test_hostile_names) {
  json_t *a = json_loads(FILE_A, 0, NULL);
  const char *hostile = "</title><img src=x onerror=alert(1)>\x1b[31m\n| `x` é…";
  json_object_set_new(json_object_get(a, "device"), "name", json_string(hostile));
  json_object_set_new(result(a, 0), "op", json_string(hostile));
  json_object_set_new(result(a, 1), "case", json_string(hostile));
  json_object_set_new(result(a, 1), "variant", json_string(hostile));
  json_object_set_new(result(a, 2), "error", json_string(hostile));
  json_object_set_new(result(a, 6), "mixer", json_string(hostile));
  json_object_set_new(losses(a), "mixer", json_string(hostile));
  const char *path = write_file(a);
  owned char *text = page_of(test_text("%s %s", path, path));
  assert_null(strstr(text, "<img"));
  assert_null(strchr(text, 0x1b));
  compare(0, test_text("%s %s", path, path));
  assert_null(strchr(test_output, 0x1b));
  json_decref(compared(test_text("%s %s", path, path)));
}

/* ---- what is refused ---- */

TEST(test_wrong) {
  static const struct {
    const char *from, *to, *part;
  } cases[] = {
      {"filtra-bench-1", "filtra-bench-2", "\"format\" is \"filtra-bench-2\", accepted are"},
      {"\"format\"", "\"former\"", "is no file of 'filtra bench --out'"},
      {"filtra-bench-1", "", "is no file of 'filtra bench --out'"}, /* as in config.json */
      {"{\"format\"", "[1]{\"format\"", "not valid JSON"},
      {"\"filtra\": \"0.1.0\", ", "", "\"filtra\" is missing"},
      {"\"quick\": false", "\"quick\": 0", "\"quick\" must be true or false, not a number"},
      {"\"name\": \"A", "\"nome\": \"A", "\"device\": \"name\" is missing"},
      {"\"driver\": \"D 1.2\"", "\"driver\": 7", "\"driver\" must be text, not a number"},
      {"\"driver\": \"D 1.2\"", "\"driver\": \"\"", "\"driver\" is empty"},
      {"\"cores\": 8", "\"cores\": -8", "\"host\": \"cores\" is -8, accepted is 0 or more"},
      {"{\"gflops\": 1000.0}", "[1000.0]", "\"fma\" must be an object, not a list"},
      {"\"fma\": {\"gflops\": 1000.0}", "\"matrix_bf16\": {\"gflops\": -1}",
       "\"matrix_bf16\": \"gflops\" is -1, accepted is 0 or more"},
      {"\"seconds_best\": 1e-5", "\"seconds_best\": \"fast\"",
       "\"dispatch\": \"seconds_best\" must be a number of 0 or more, not text"},
      {"\"results\": [{", "\"results\": [7, {", "results[0] must be an object, not a number"},
      {"\"results\"", "\"result\"", "\"results\" is missing"},
      {"\"op\": \"gemm\"", "\"op\": null", "results[0]: \"op\" must be text, not null"},
      {"\"seconds_median\": 0.004, ", "",
       "results[0]: has neither \"seconds_median\" nor \"error\""},
      {"\"seconds_median\": 0.004", "\"seconds_median\": -4", "\"seconds_median\" is -4, accepted"},
      {"\"seconds_median\": 0.004", "\"seconds_median\": 1.0", "are out of order"},
      {"\"seconds_median\": 0.004", "\"seconds_median\": NaN", "not valid JSON"},
      {"\"seconds_median\": 0.004", "\"seconds_median\": 1e999", "real number overflow"},
      {"\"gflops\": 500.0", "\"gflops\": [500]", "\"gflops\" must be a number of 0 or more, not a"},
      {"\"case\": \"long\", \"variant\": \"tiled\", \"m\": 4096",
       "\"case\": \"square\", \"variant\": \"tiled\", \"m\": 64",
       "results[1] repeats results[0]: op \"gemm\", case \"square\""},
      {"\"time_exponent\": 1.0", "\"time_exponent\": true",
       "results[5]: \"time_exponent\" must be a number, not true"},
      {"\"values\": [2.5, 2.0", "\"values\": [2.5, null", "values[1] must be a number, not null"},
      {"[2.5, 2.0, 1.0, 0.5]", "[]", "\"values\" has 0 numbers, accepted are 1 to 10000"},
      {"[2.5, 2.0, 1.0, 0.5]", "2.5", "losses[0]: \"values\" must be a list, not a number"},
      {"\"config\": {", "\"confit\": {", "losses[0]: \"config\" is missing"},
      {"\"losses\": [", "\"losses\": [[], ", "losses[0] must be an object, not a list"},
      {"\"losses\": [", "\"losses\": {}, \"x\": [", "\"losses\" must be a list, not an object"},
      {"\"quick\": false", "\"quick\": false, \"quick\": true", "duplicate object key"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *at = strstr(FILE_A, cases[i].from), *path = test_path(test_folder(), "w.json");
    assert_non_null(at);
    const char *text =
        test_text("%.*s%s%s", (int)(at - FILE_A), FILE_A, cases[i].to, at + strlen(cases[i].from));
    test_write(path, text, strlen(text));
    compare(2, path);
    assert_printed("w.json");
    assert_printed(cases[i].part);
  }
}

TEST(test_bad_files) {
  const char *folder = test_folder(), *big = test_path(folder, "big.json"), *good = write_a();
  owned char *text = ft_calloc(1, (17 << 20) + 1);
  memset(text, ' ', 17 << 20);
  test_write(big, text, 17 << 20);
  compare(2, big);
  assert_printed("big.json has 17825792 bytes, at most 16777216 are accepted");
  compare(2, test_path(folder, "none.json"));
  assert_printed("none.json: No such file");
  compare(2, folder);
  assert_printed("is a folder");
  test_write(big, "", 0);
  compare(2, big);
  test_write(big, "[]", 2);
  compare(2, big);
  assert_printed("must be an object written by 'filtra bench --out', not a list");
  compare(2, "");
  assert_printed("files of 'filtra bench --out' are missing");
  compare(2, "1 2 3 4 5 6 7 8 9");
  assert_printed("9 files are given, at most 8");

  json_t *many = json_loads(FILE_A, 0, NULL);
  for (int i = 0; i <= 2000; i++)
    json_array_append_new(json_object_get(many, "results"), json_object());
  compare(2, write_file(many));
  assert_printed("\"results\" has 2008 entries, at most 2000 are accepted");
  compare(0, test_text("%s --help", good));
}

TEST(test_outputs) {
  const char *folder = test_folder(), *a = write_a(), *page = test_path(folder, "p.html");
  compare(0, test_text("%s --out %s", a, page));
  compare(0, test_text("%s --out %s", a, page)); /* over the old one */
  compare(0, test_text("%s -o %s", a, test_path(folder, "p.md")));
  test_no_leftovers(folder);
  compare(2, test_text("%s -o %s/none/p.html", a, folder));
  assert_printed("/none/p.html: No such file or directory");
  compare(2, test_text("%s -o p.pdf", a));
  assert_printed("must end in .html or .md");
  compare(2, test_text("%s --json -o %s", a, page));
  assert_printed("--json goes to standard output");
  compare(2, test_text("%s -o", a));

  size_t size; /* an input under a name that can be written to */
  const char *input = test_path(folder, "in.html");
  test_write(input, FILE_A, sizeof FILE_A - 1);
  compare(2, test_text("%s %s -o %s/./in.html", a, input, folder));
  assert_printed("a file that is compared");
  free(test_read(test_path(folder, "in.html"), &size));
  assert_int_equal(size, sizeof FILE_A - 1);
  test_write(page, "notes", 5);
  compare(2, test_text("%s -o %s", a, page));
  assert_printed("would replace a file that this command did not write");
}

/* ---- what the benchmark writes ---- */

TEST(test_true_files) {
  const char *folder = test_folder();
  for (int i = 0; i < 2; i++) {
    const char *arguments =
        test_text("bench --mixers agf --quick --cache-dir %s --out %s/%d.json", folder, folder, i);
    assert_code(test_run_command("", arguments), 0);
  }
  const char *files = test_text("%s/0.json %s/1.json", folder, folder);
  json_auto_t *root = compared(files);
  assert_true(json_is_true(json_object_get(deviation(root), "bitwise_equal")));
  assert_true(number(deviation(root), "steps") == 100);
  const json_t *cases = json_object_get(root, "cases"), *one;
  size_t i;
  assert_int_equal(json_array_size(cases), 6); /* lengths, exponents, train step, inference */
  json_array_foreach(cases, i, one) {
    const json_t *cells = json_object_get(one, "machines");
    bool exponents = !strcmp(json_string_value(json_object_get(one, "op")), "mixer_scaling");
    for (size_t k = 0; k < 2; k++)
      assert_true(number(json_array_get(cells, k), exponents ? "memory_exponent" : "speed") > 0.0);
  }
  owned char *text = page_of(files);
  assert_non_null(strstr(text, "bitwise equal"));
  assert_null(strstr(text, "No data."));
}

TEST_ALSO(test_in_browser)
TEST_MAIN(NULL, test_teardown)
