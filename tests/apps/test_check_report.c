/* The report of `filtra check`: what is in it, what is left out, and what remains after a failure.
 * The measurements are tested elsewhere and replaced here; report.sh makes a whole report. */
#include "check/report.c" /* the command is no library */

#include "base/json.h"
#include "support/harness.h"
#include "support/run.h"

#include "bench_file.h"

/* ---- what measures ---- */

static filtra_status bench_status, bench_failed, tune_status;
static char before_tuning[1 << 16]; /* the file's content when tuning began */
static const char *report_path, *selected = "cpu";

filtra_status bench_quick(const filtra_device_options *device, const char *precisions,
                          json_t **document, filtra_status *failed) {
  (void)device;
  assert_string_equal(precisions, "fp32");
  *failed = bench_failed;
  if (bench_status) return ft_fail(bench_status, "no bench");
  *document = json_loads(FILE_A, 0, NULL);
  json_object_set_new(json_object_get(*document, "device"), "uuid", json_string("00-serial-00"));
  return FILTRA_OK;
}

filtra_status bench_save(const json_t *document, ft_atomic_file *file) {
  json_dumpf(document, file->stream, 0);
  return ft_atomic_commit(file);
}

filtra_status tune_some(filtra_device *device, double seconds, json_t **results) {
  assert_non_null(device);
  assert_true(seconds == 7.0);
  char *text = NULL;
  size_t size;
  assert_ok(ft_file_read(report_path, sizeof before_tuning, &text, &size));
  snprintf(before_tuning, sizeof before_tuning, "%s", text);
  free(text);
  *results = json_pack("[{ss}]", "key", "gemm");
  return tune_status ? ft_fail(tune_status, "tuning failed") : FILTRA_OK;
}

json_t *command_device_json(const filtra_device_info *info) {
  return json_pack("{ss ss}", "name", info->name, "uuid", info->uuid);
}

json_t *matrices_json(const filtra_device *device) {
  (void)device;
  return json_pack("{sb ss}", "passed", 1, "file", "/home/someone/.cache/filtra/matrices.json");
}

int command_fail(const char *name, filtra_status status) {
  print_message("%s: %s\n", name, filtra_error_message());
  return status == FILTRA_ERROR_DEVICE_LOST ? COMMAND_DEVICE_LOST : COMMAND_FAILED;
}

int command_print(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int count = vprintf(format, arguments);
  va_end(arguments);
  return count;
}

/* ---- the report ---- */

static int report(const char *path) {
  const filtra_device_options options = {
      .select = selected, .cache_dir = "", .tuning = "", .caps = getenv("FILTRA_CAPS")};
  ft_atomic_file file;
  report_path = path;
  assert_ok(ft_atomic_open(path, &file));
  return check_report(&options, "fp32", 7.0, json_pack("{si si}", "files", 29, "passed", 29), path,
                      &file);
}

static json_t *read_report(const char *path) {
  json_t *root;
  assert_ok(ft_json_load(path, &root));
  return root;
}

TEST(all_is_in_one_file) {
  const char *path = test_path(test_folder(), "r.json");
  assert_int_equal(report(path), COMMAND_DONE);
  json_t *root = read_report(path);
  static const char *const PARTS[] = {"filtra",   "commit", "device", "peaks",   "results",
                                      "losses",   "check",  "plan",   "profile", "devices",
                                      "matrices", "in_use", "tuning"};
  for (size_t i = 0; i < FT_COUNT(PARTS); i++)
    if (!json_object_get(root, PARTS[i])) fail_msg("\"%s\" is missing", PARTS[i]);
  assert_string_equal(json_string_value(json_object_get(root, "format")), "filtra-check-1");
  assert_true(json_array_size(json_object_get(root, "devices")) > 0);
  json_decref(root);
}

TEST(nothing_personal) {
  const char *path = test_path(test_folder(), "r.json");
  assert_int_equal(report(path), COMMAND_DONE);
  char *text;
  size_t size;
  assert_ok(ft_file_read(path, 1 << 20, &text, &size));
  const char *const kept_out[] = {"/home/",      ".cache",
                                  "uuid",        "serial",
                                  test_folder(), filtra_device_get_info(test_device())->uuid};
  for (size_t i = 0; i < FT_COUNT(kept_out); i++)
    if (strstr(text, kept_out[i])) fail_msg("\"%s\" is in the report", kept_out[i]);
  free(text);
}

/* A driver that tuning takes down leaves all that was known before. */
TEST(written_before_tuning) {
  const char *path = test_path(test_folder(), "r.json");
  assert_int_equal(report(path), COMMAND_DONE);
  assert_non_null(strstr(before_tuning, "filtra-check-1"));
  assert_null(strstr(before_tuning, "\"tuning\""));
  tune_status = FILTRA_ERROR_DEVICE_LOST;
  assert_int_equal(report(path), COMMAND_DEVICE_LOST);
  tune_status = FILTRA_OK;
  json_t *root = read_report(path);
  assert_non_null(json_object_get(root, "check"));
  assert_string_equal(json_string_value(json_object_get(root, "tuning_error")), "tuning failed");
  json_decref(root);
}

TEST(failures) {
  const char *path = test_path(test_folder(), "r.json");
  bench_status = FILTRA_ERROR_CANCELLED;
  assert_int_equal(report(path), COMMAND_FAILED);
  assert_false(ft_file_exists(path));
  bench_status = FILTRA_OK;
  bench_failed = FILTRA_ERROR_DEVICE_MEMORY; /* some cases have an error */
  assert_int_equal(report(path), COMMAND_FAILED);
  json_decref(read_report(path));
  bench_failed = FILTRA_OK;
}

/* A device that is lost after the benchmark does not open again: what is known is written. */
TEST(written_without_the_device) {
  const char *path = test_path(test_folder(), "r.json");
  selected = "no such device";
  assert_int_equal(report(path), COMMAND_FAILED);
  selected = "cpu";
  json_t *root = read_report(path);
  assert_non_null(json_object_get(root, "check"));
  assert_non_null(json_object_get(root, "results"));
  assert_null(json_object_get(root, "plan"));
  assert_null(json_object_get(root, "tuning"));
  json_decref(root);
}

TEST_MAIN(NULL, test_teardown)
