/* `filtra bench` as a shell sees it: the content of its file, and what it refuses. */
#include "support/command.h"
#include "support/harness.h"
#include "support/run.h"

#include <jansson.h>

static const json_t *find(const json_t *results, const char *op, int index) {
  size_t i;
  const json_t *entry;
  json_array_foreach(results, i, entry) {
    if (!strcmp(json_string_value(json_object_get(entry, "op")), op) && index-- == 0) return entry;
  }
  fail_msg("there is no result %s", op);
  return NULL;
}

static double number(const json_t *entry, const char *key) {
  const json_t *value = json_object_get(entry, key);
  if (!json_is_number(value)) fail_msg("there is no number %s", key);
  double x = json_number_value(value);
  if (!isfinite(x) || x < 0.0) fail_msg("%s is %g", key, x);
  return x;
}

static const char *text(const json_t *entry, const char *key) {
  const char *value = json_string_value(json_object_get(entry, key));
  if (!value) fail_msg("there is no text %s", key);
  return value;
}

/* Runs the command, which prints nothing but one object. */
static json_t *bench(const char *before, const char *arguments) {
  char line[256];
  snprintf(line, sizeof line, "bench %s --quick --json", arguments);
  assert_code(test_run_command(before, line), 0);
  json_t *root = test_output_json();
  return root;
}

/* ---- what every file has ---- */

static void check_times(const json_t *entry, const char *clock) {
  double best = number(entry, "seconds_best"), median = number(entry, "seconds_median");
  assert_true(best > 0.0 && best <= median && median <= number(entry, "seconds_worst"));
  assert_true(number(entry, "runs") >= 1.0);
  if (clock) assert_string_equal(text(entry, "clock"), clock);
}

static void check_measured(const json_t *entry, const char *clock) {
  assert_true(strlen(text(entry, "case")) > 0);
  text(entry, "pass");
  check_times(entry, clock);
  assert_true(number(entry, "bytes") > 0.0 && number(entry, "gbytes_per_second") > 0.0);
  double seconds = number(entry, "seconds_median"), flops = number(entry, "flops");
  assert_true(fabs(number(entry, "gflops") - 1e-9 * flops / seconds) <= 1e-6 * flops);
  /* Far above 1, the op says that it does more than it does; a disturbed peak is no error. */
  double fraction = number(entry, "fraction_of_peak");
  text(entry, "roof");
  if (fraction <= 0.0 || fraction > 3.0) fail_msg("%s: fraction %g", text(entry, "case"), fraction);
  assert_true(number(entry, "memory_bytes") > 0.0);
}

static void check_frame(const json_t *root) {
  const filtra_device_info *info = filtra_device_get_info(test_device());
  const json_t *device = json_object_get(root, "device"), *host = json_object_get(root, "host");
  const json_t *peaks = json_object_get(root, "peaks");
  assert_string_equal(text(root, "format"), "filtra-bench-1");
  assert_string_equal(text(root, "filtra"), filtra_version());
  assert_true(strlen(text(root, "commit")) > 0);
  assert_int_equal(strlen(text(root, "date")), strlen("2026-11-21T09:00:00Z"));
  assert_true(json_is_true(json_object_get(root, "quick")));
  text(root, "caps");
  number(root, "tuned");
  if (info->device_class == FILTRA_DEVICE_CPU) number(root, "driver_threads");
  assert_true(number(root, "seconds") > 0.0);
  assert_string_equal(text(device, "name"), info->name);
  assert_string_equal(text(device, "driver"), info->driver);
  assert_string_equal(text(device, "uuid"), info->uuid);
  text(device, "class");
  text(device, "api_version");
  assert_true(number(device, "memory_bytes") > 0.0 && number(device, "subgroup_size") > 0.0);
  text(host, "cpu");
  text(host, "system");
  assert_true(number(host, "cores") >= 1.0);
  const json_t *fma = json_object_get(peaks, "fma"), *copy = json_object_get(peaks, "copy");
  check_times(fma, NULL);
  check_times(copy, NULL);
  check_times(json_object_get(peaks, "dispatch"), "host");
  assert_true(number(fma, "gflops") >= number(fma, "gflops_median"));
  assert_true(number(copy, "gbytes_per_second") >= number(copy, "gbytes_per_second_median"));
  text(fma, "variant");
  text(copy, "variant");
}

/* Names are what files are compared by. */
static void check_names(const json_t *results) {
  size_t i, k;
  const json_t *a, *b;
  json_array_foreach(results, i, a) {
    json_array_foreach(results, k, b) {
      bool same = i != k;
      static const char *const KEYS[] = {"op", "case", "variant", "precision", "pass"};
      for (size_t n = 0; n < FT_COUNT(KEYS); n++) {
        const json_t *x = json_object_get(a, KEYS[n]), *y = json_object_get(b, KEYS[n]);
        same = same && (x == y || json_equal(x, y));
      }
      if (same) fail_msg("%s %s is there twice", text(a, "op"), text(a, "case"));
    }
  }
}

/* ---- parts ---- */

TEST(test_ops) {
  json_auto_t *root = bench("", "--ops layer_norm,kernel_polynomial,optimizer");
  const json_t *results = json_object_get(root, "results"), *entry;
  size_t i;
  const char *clock = filtra_device_get_info(test_device())->timestamps ? "device" : "host";
  check_frame(root);
  check_names(results);
  json_array_foreach(results, i, entry) check_measured(entry, NULL);
  /* Long runs may be timed by the host; this is a short one. */
  assert_string_equal(text(find(results, "kernel_polynomial", 0), "clock"), clock);
  assert_string_equal(text(find(results, "layer_norm", 0), "pass"), "forward");
  assert_string_equal(text(find(results, "layer_norm", 1), "pass"), "forward+backward");
  assert_true(number(find(results, "layer_norm", 1), "flops") >
              number(find(results, "layer_norm", 0), "flops"));
  assert_true(number(find(results, "optimizer", 0), "parameters") > 0.0);
  assert_int_equal(json_array_size(json_object_get(root, "losses")), 0);
}

/* In 16 bits only what has them is measured; where the device has none, the reason stands there. */
TEST(test_precision) {
  enum { PRODUCTS = 9 }; /* matrix units need single 16-bit elements, and are off */
  json_t *root = bench("", "--ops gemm,layer_norm --precision bf16,fp16 --caps storage16=0");
  const json_t *results = json_object_get(root, "results");
  check_names(results);
  assert_int_equal(json_array_size(results), 2 * PRODUCTS);
  for (int i = 0; i < 2 * PRODUCTS; i++)
    assert_non_null(strstr(text(find(results, "gemm", i), "error"),
                           i / 3 % 2 ? "F16 needs 16-bit storage" : "BF16 needs 16-bit storage"));
  json_decref(root);
  if (!test_has_variant("storage16=1")) return;
  root = bench("", "--ops gemm --mixers linear --precision bf16");
  results = json_object_get(root, "results");
  const int variants = filtra_device_get_info(test_device())->cooperative_matrix ? 4 : 3;
  assert_int_equal(json_array_size(results), variants * PRODUCTS / 3 + 2);
  assert_string_equal(text(find(results, "train_step", 0), "precision"), "bf16");
  check_measured(find(results, "train_step", 0), "host");
  assert_int_equal(json_array_size(json_object_get(root, "losses")), 0);
  for (int i = 0; i < variants * PRODUCTS / 3; i++) {
    const json_t *entry = find(results, "gemm", i);
    assert_string_equal(text(entry, "precision"), "bf16");
    if (!json_object_get(entry, "error")) check_measured(entry, NULL);
  }
  json_decref(root);
}

/* ---- matrix units, which the newest lavapipe imitates ---- */

/* Runs the command there; -1: that driver is not here. */
static int run_newest(const char *arguments) {
  enum { SKIPPED = 77 };
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  return -1; /* its loader starts no sanitized program */
#endif
  int code = test_run_command(TEST_SOURCE_DIR "/vendors/newest.sh", arguments);
  if (code == SKIPPED) print_message("%s", test_output);
  return code == SKIPPED ? -1 : code;
}

enum { MATRIX_PRODUCTS = 2 * 3 * 4 }; /* precisions, cases, variants */

static json_t *bench_newest(const char *caps) {
  const char *arguments = "bench --quick --json --ops gemm --precision bf16,fp16 --device cpu "
                          "--cache-dir \"\" --caps";
  if (run_newest(test_text("%s %s", arguments, caps)) == -1) skip();
  json_t *root = test_output_json();
  check_names(json_object_get(root, "results"));
  assert_int_equal(json_array_size(json_object_get(root, "results")), MATRIX_PRODUCTS);
  return root;
}

static void expect_error(const json_t *entry, const char *part) {
  if (!strstr(text(entry, "error"), part)) fail_msg("error: %s", text(entry, "error"));
  assert_null(json_object_get(entry, "gflops"));
}

/* FLOPs of kernels on matrix units are held against these, all others against multiply-adds. */
static void check_roof(const json_t *e, const json_t *peaks, const json_t *matrix_peak) {
  const bool on_matrices = !strcmp(text(e, "variant"), "matrix");
  assert_true(!json_object_get(e, "matrix_flops") == !on_matrices);
  const double flops = number(e, "flops");
  const double own = on_matrices ? number(e, "matrix_flops") : 0.0;
  assert_true(own <= flops && (!on_matrices || own > 0.9 * flops)); /* but sums of parts of k */
  const double fma = 1e-9 * (flops - own) / number(json_object_get(peaks, "fma"), "gflops");
  const double matrix = on_matrices ? 1e-9 * own / number(matrix_peak, "gflops") : 0.0;
  const double copy =
      1e-9 * number(e, "bytes") / number(json_object_get(peaks, "copy"), "gbytes_per_second");
  const double least = fmax(fma, fmax(matrix, copy)), median = number(e, "seconds_median");
  assert_true(fabs(number(e, "fraction_of_peak") - least / median) <= 1e-6 * least / median);
  assert_string_equal(text(e, "roof"), least == copy ? "copy" : least == fma ? "fma" : "matrix");
}

static void check_roofs(const json_t *root, const char *precision, const char *error) {
  const json_t *results = json_object_get(root, "results"), *peaks = json_object_get(root, "peaks");
  const json_t *peak = json_object_get(peaks, test_text("matrix_%s", precision));
  if (error) expect_error(peak, error);
  for (int i = 0; i < MATRIX_PRODUCTS; i++) {
    const json_t *e = find(results, "gemm", i);
    if (strcmp(text(e, "precision"), precision)) continue;
    if (error && !strcmp(text(e, "variant"), "matrix"))
      expect_error(e, error);
    else
      check_roof(e, peaks, peak);
  }
}

/* Matrix units are measured where they may be used, and nowhere else. What a self-test that passed
 * allows, tests/faults/matrices.sh has, which makes one. */
TEST(test_matrices) {
  json_t *root = bench_newest("matrix=tuned");
  check_roofs(root, "bf16", "not trusted: the self-test was not made");
  check_roofs(root, "fp16", "not trusted: the self-test was not made");
  json_decref(root);
  root = bench_newest("matrix=force");
  check_roofs(root, "bf16", "have no shape for BF16 operands");
  check_roofs(root, "fp16", NULL);
  const json_t *peak = json_object_get(json_object_get(root, "peaks"), "matrix_fp16");
  assert_string_equal(text(peak, "shape"), "8x8x8");
  assert_true(number(peak, "gflops") >= number(peak, "gflops_median"));
  check_times(peak, NULL);
  text(peak, "variant");
  json_decref(root);
}

static json_t *mixer_run; /* for both of the next tests */

TEST(test_mixer) {
  json_t *root = mixer_run = bench("", "--mixers agf");
  const json_t *results = json_object_get(root, "results");
  check_names(results);
  double length = 256, memory = 0;
  for (int i = 0; i < 3; i++, length *= 2) {
    const json_t *layer = find(results, "mixer_layer", i);
    check_measured(layer, NULL);
    assert_string_equal(text(layer, "mixer"), "agf");
    assert_true(number(layer, "length") == length);
    assert_true(number(layer, "memory_bytes") > memory);
    memory = number(layer, "memory_bytes");
  }
  /* Times are the machine's to disturb; memory is not. */
  const json_t *scaling = find(results, "mixer_scaling", 0), *step = find(results, "train_step", 0);
  assert_true(number(scaling, "from_length") == 256 && number(scaling, "to_length") == 1024);
  assert_true(fabs(number(scaling, "memory_exponent") - 0.9) < 0.2);
  number(scaling, "time_exponent");
  check_measured(step, "host");
  assert_true(number(step, "tokens_per_second") > 0 && number(step, "layers") == 2);
  const json_t *inference = find(results, "inference", 0);
  check_measured(inference, "host");
  assert_string_equal(text(inference, "pass"), "forward");
  assert_true(number(inference, "flops") < 0.5 * number(step, "flops"));
  const double samples = 4.0 / number(inference, "seconds_median");
  assert_true(fabs(number(inference, "samples_per_second") / samples - 1.0) < 1e-3);
}

/* Without timestamps the host's clock serves; and two runs on one device agree in every bit of the
 * losses. */
TEST(test_again) {
  json_auto_t *root = bench("", "--mixers agf --ops kernel_polynomial --caps timestamps=0");
  assert_string_equal(text(root, "caps"), "timestamps=0");
  check_frame(root);
  check_measured(find(json_object_get(root, "results"), "kernel_polynomial", 0), "host");
  assert_non_null(mixer_run);
  const json_t *losses = json_object_get(mixer_run, "losses");
  assert_int_equal(json_array_size(losses), 1);
  const json_t *run = json_array_get(losses, 0), *values = json_object_get(run, "values");
  assert_string_equal(text(run, "mixer"), "agf");
  assert_true(number(run, "seed") == 1 && number(run, "steps") == 100);
  assert_true(number(json_object_get(run, "config"), "width") > 0.0);
  assert_int_equal(json_array_size(values), 100);
  double first = json_number_value(json_array_get(values, 0));
  double last = json_number_value(json_array_get(values, 99));
  assert_true(first > 2.0 && first < 3.0 && last < 0.6 * first);
  assert_true(json_equal(losses, json_object_get(root, "losses")));
  json_decref(mixer_run);
}

/* ---- lengths ---- */

static void check_skipped(const json_t *results, int index, const char *part) {
  const json_t *entry = find(results, "mixer_layer", index);
  if (!strstr(text(entry, "skipped"), part))
    fail_msg("%s: skipped: %s", text(entry, "case"), text(entry, "skipped"));
  assert_null(json_object_get(entry, "seconds_best"));
  assert_null(json_object_get(entry, "error"));
}

/* Nothing but layers at the lengths asked for. What is out of bounds is left out with the reason:
 * by what shorter ones took, by what it takes, or as the device has no room. */
TEST(test_lengths) {
  json_t *root = bench("", "--mixers softmax,fnet --lengths 16,64,4096,8192 --most-memory 1");
  const json_t *results = json_object_get(root, "results");
  check_frame(root);
  check_names(results);
  assert_int_equal(json_array_size(results), 2 * 5);
  assert_int_equal(json_array_size(json_object_get(root, "losses")), 0);
  for (int i = 0; i < 8; i += 4) {
    check_measured(find(results, "mixer_layer", i), NULL);
    check_measured(find(results, "mixer_layer", i + 1), NULL);
    check_skipped(results, i + 2, "MiB, --most-memory is 1");
    check_skipped(results, i + 3, "4096 tokens were");
    assert_true(number(find(results, "mixer_layer", i), "length") == 16);
    assert_true(number(find(results, "mixer_scaling", i / 4), "to_length") == 64);
  }
  json_decref(root);
  root = bench("", "--mixers softmax --lengths 64,1024,262144 --most-seconds 5");
  check_skipped(json_object_get(root, "results"), 2, " s, --most-seconds is 5");
  json_decref(root);
  root = bench("", "--mixers softmax --lengths 16,4096 --most-seconds 0.001");
  check_skipped(json_object_get(root, "results"), 1, "up to");
  assert_non_null(
      strstr(text(find(json_object_get(root, "results"), "mixer_scaling", 0), "skipped"),
             "growth needs two lengths, measured was one"));
  json_decref(root);
  root = bench("", "--mixers fnet --lengths 16,65536,131072 --caps allocation=16777216");
  results = json_object_get(root, "results");
  check_measured(find(results, "mixer_layer", 0), NULL);
  check_skipped(results, 1, "largest single allocation");
  check_skipped(results, 2, "65536 tokens were");
  assert_non_null(strstr(text(find(results, "mixer_scaling", 0), "skipped"), "two lengths"));
  json_decref(root);
}

/* ---- a run's model ---- */

static void check_serving(const json_t *entry, const char *name, double runs, double threads) {
  assert_string_equal(text(entry, "case"), name);
  check_times(entry, "host");
  assert_true(number(entry, "runs") == runs);
  if (!threads) return;
  assert_true(number(entry, "threads") == threads);
  const double p99 = number(entry, "seconds_p99");
  assert_true(p99 >= number(entry, "seconds_median") && p99 <= number(entry, "seconds_worst"));
  /* No thread has two requests at once. */
  const double most = threads / number(entry, "seconds_best");
  assert_true(number(entry, "samples_per_second") <= 1.001 * most);
}

static const char *language_model(int max_length) {
  static const char WORDS[] = "we go on and on and on\n";
  const char *data = test_path(test_folder(), "text.txt"), *folder = test_new_run();
  const char *whole =
      test_text("%s%s%s%s%s%s%s%s", WORDS, WORDS, WORDS, WORDS, WORDS, WORDS, WORDS, WORDS);
  test_write(data, whole, strlen(whole));
  assert_ok(test_train(test_text("{\"data\": \"%s\", \"max_length\": %d, \"layers\": 1, "
                                 "\"width\": 8, \"batch_size\": 2, \"steps\": 2}",
                                 data, max_length),
                       folder, 100));
  return folder;
}

TEST(test_serving) {
  const char *folder = language_model(70);
  json_t *root = bench("", test_text("--run %s --threads 3", folder));
  const json_t *results = json_object_get(root, "results");
  const json_t *model = json_object_get(root, "model");
  assert_string_equal(text(json_object_get(model, "mixer"), "name"), "softmax");
  assert_true(number(model, "layers") == 1 && number(model, "width") == 8);
  assert_true(number(model, "max_length") == 70 && number(model, "parameters") > 8);
  check_names(results);
  assert_int_equal(json_array_size(results), 1 + 2 * 4 + 1);
  check_serving(find(results, "start", 0), "all lengths", 1, 0);
  check_serving(find(results, "request", 0), "16 tokens, 1 thread", 20, 1);
  check_serving(find(results, "request", 7), "70 tokens, 3 threads", 20, 3);
  const json_t *next = find(results, "next_token", 0);
  check_serving(next, "after 6 tokens", 64, 0);
  assert_true(fabs(number(next, "tokens_per_second") * number(next, "seconds_median") - 1) < 1e-3);
  json_decref(root);
  assert_code(test_run_command(
                  "", test_text("bench --run %s/model.safetensors --quick --threads 1", folder)),
              0);
  assert_non_null(strstr(test_output, "70 tokens, 1 thread"));
  assert_null(strstr(test_output, "threads"));
}

TEST(test_no_room_for_tokens) {
  json_auto_t *root = bench("", test_text("--run %s --threads 1", language_model(40)));
  const json_t *next = find(json_object_get(root, "results"), "next_token", 0);
  assert_string_equal(text(next, "skipped"),
                      "64 tokens are timed after at least one, max_length is 40");
}

/* ---- what goes wrong ---- */

TEST(test_misuse) {
  static const struct {
    const char *arguments, *part;
  } cases[] = {{"bench --mixers agf,agff 2>&1", "no mixer \"agff\""},
               {"bench --mixers '' 2>&1", "no mixer \"\""},
               {"bench --ops gemm,nothing 2>&1", "no op \"nothing\""},
               {"bench --ops '' 2>&1", "no op \"\""},
               {"bench --precision bf16,fp8 2>&1", "\"fp8\" is none of fp32, bf16 and fp16"},
               {"bench --ops agf --precision bf16 2>&1", "gemm alone is measured in 16 bits"},
               {"bench --caps nothing=1 2>&1", "nothing"},
               {"bench --lengths 64,32 2>&1", "at most 16 numbers, each above the last"},
               {"bench --lengths 64,64 2>&1", "at most 16 numbers, each above the last"},
               {"bench --lengths $(seq -s, 17) 2>&1", "at most 16 numbers"},
               {"bench --lengths 64, 2>&1", "--lengths"},
               {"bench --lengths 1048577 2>&1", "1 to 1048576"},
               {"bench --lengths 64 --ops gemm 2>&1", "leave out --ops"},
               {"bench --lengths 64 --precision bf16 2>&1", "leave out --precision"},
               {"bench --lengths 64 --most-memory 0 2>&1", "--most-memory"},
               {"bench --most-seconds 2 2>&1", "--most-seconds goes with --lengths"},
               {"bench --run no/run --ops gemm 2>&1", "--run goes with --threads"},
               {"bench --run no/run --precision bf16 2>&1", "--run goes with --threads"},
               {"bench --threads 2 2>&1", "--threads goes with --run"},
               {"bench --run no/run --threads 65 2>&1", "1 to 64"},
               {"bench --ranks --lengths 64 2>&1", "--ranks goes with --json alone"},
               {"bench more 2>&1", "\"more\""}};
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    assert_prints(test_run_command("", cases[i].arguments), 2, cases[i].part);
  }
}

/* A path that cannot be written shows before anything is measured. */
TEST(test_no_folder) {
  assert_prints(test_run_command("timeout 5", "bench --out no/such/folder/a.json 2>&1"), 2,
                "no/such/folder/a.json");
}

/* Neither does it measure for a file in whose place it would not be written. */
TEST(test_file_of_others) {
  const char *before = "printf '{\\n  \"data\": \"x\"}\\n' >bench_other.json; timeout 5";
  assert_prints(test_run_command(before, "bench --out bench_other.json 2>&1"), 2,
                "--out bench_other.json would replace a file that this command did not write");
  assert_prints(test_run_command("", "--version; cat bench_other.json"), 0, "\"data\": \"x\"}");
}

/* What cannot be measured stays in the file with the reason, beside all that can. */
TEST(test_failed_part) {
  const char *arguments =
      "bench --quick --ops kernel_polynomial,optimizer --caps allocation=16777216 "
      "--out bench_failed.json 2>&1";
  assert_code(test_run_command("", arguments), 1);
  json_auto_t *root = json_load_file("bench_failed.json", 0, NULL);
  assert_non_null(root);
  check_frame(root);
  const json_t *results = json_object_get(root, "results");
  const json_t *failed = find(results, "optimizer", 0);
  check_measured(find(results, "kernel_polynomial", 0), NULL);
  assert_printed(text(failed, "error"));
  assert_true(number(failed, "parameters") > 0.0);
  assert_null(json_object_get(failed, "seconds_best"));
  const double fraction = number(find(results, "kernel_polynomial", 0), "fraction_of_peak");
  if (!strstr(test_output, test_text(" %.1f%% ", 100.0 * fraction)))
    assert_printed("Measured again, peaks were higher");
}

/* A signal while it measures, which the file beside the old one shows, leaves the old one alone.
 * TERM: a shell's background jobs ignore INT. */
TEST(test_interrupt) {
  const char *before = "rm -rf bench_interrupt; mkdir bench_interrupt; cd bench_interrupt || exit; "
                       "printf '{\\n  \"format\": \"filtra-bench-0\"}\\n' >a.json;";
  const char *arguments =
      "bench --out a.json 2>&1 & while kill -0 $! && [ $(ls -A | wc -l) -lt 2 ]; "
      "do sleep 0.1; done; kill -TERM $!; wait $!; code=$?; ls -A; cat a.json; "
      "exit $code";
  assert_prints(test_run_command(before, arguments), 1,
                "filtra bench: interrupted\na.json\n{\n  \"format\": \"filtra-bench-0\"}\n");
}

TEST_MAIN(NULL, test_teardown)
