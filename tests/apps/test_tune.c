/* filtra tune as a shell sees it: it finds, stores, lists, exports, imports and clears
 * configurations. */
#include "base/file.h"
#include "support/command.h"
#include "support/harness.h"
#include "support/run.h"

#include <jansson.h>

/* A cache folder of this test's, and a configuration so small that tuning takes seconds. */
static const char *cache_folder(void) {
  static char *folder;
  if (!folder) folder = strdup(test_folder());
  return folder;
}

static const char *config_file(void) {
  static char *path;
  if (path) return path;
  path = ft_path_join(test_folder(), "tiny.json");
  const char *text = test_text("{\"data\": \"%s\", \"mixer\": \"softmax\", \"width\": 8, "
                               "\"heads\": 2, \"layers\": 1, \"batch_size\": 8, \"steps\": 2}",
                               test_listops());
  test_write(path, text, strlen(text));
  return path;
}

static int filtra(const char *arguments) {
  return test_run_command("FILTRA_DEVICE=${FILTRA_DEVICE:-cpu}", arguments);
}

/* Through a file: with all candidates it may be longer than what test_run_command keeps. */
static json_t *filtra_json(const char *arguments) {
  const char *path = test_path(cache_folder(), "output.json");
  assert_int_equal(filtra(test_text("%s > %s", arguments, path)), 0);
  json_t *root = json_load_file(path, 0, NULL);
  assert_non_null(root);
  return root;
}

static const char *tune(const char *more) {
  return test_text("tune --cache-dir %s %s", cache_folder(), more);
}

static size_t keys_of(const json_t *root) {
  return json_array_size(json_object_get(root, "keys"));
}

static size_t keys_listed(void) {
  json_auto_t *root = filtra_json(tune("--list --json"));
  size_t count = keys_of(root);
  return count;
}

TEST(test_tunes_and_keeps) {
  const char *options = test_text("--quick --json --ops gemm --config %s", config_file());
  json_t *root = filtra_json(tune(options)), *item;
  size_t i, count = keys_of(root);
  const char *file = json_string_value(json_object_get(root, "file"));
  assert_true(count > 3);
  assert_true(file && ft_file_exists(file));
  json_array_foreach(json_object_get(root, "keys"), i, item) {
    const json_t *candidates = json_object_get(item, "candidates");
    double own = json_number_value(json_object_get(item, "default_seconds"));
    double best = json_number_value(json_object_get(item, "seconds"));
    assert_true(json_array_size(candidates) >= 1 && own > 0 && best > 0);
    if (json_is_null(json_object_get(item, "configuration")))
      assert_true(own == best);
    else
      assert_true(best < 0.97 * own);
  }
  assert_int_equal(keys_listed(), count);
  json_decref(root);
  root = filtra_json(tune("--list --json --ops attention,chain"));
  assert_int_equal(keys_of(root), 0);
  json_decref(root);
  root = filtra_json(tune(options)); /* known by now */
  assert_int_equal(keys_of(root), 0);
  json_decref(root);
  root = filtra_json(test_text("devices --json --cache-dir %s", cache_folder()));
  assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "tuning"), "keys")),
                   count);
  json_decref(root);
  assert_int_equal(filtra(tune("--list")), 0);
  assert_printed("gemm.");
}

/* The first key is enough: the command ends where nobody reads on. */
TEST(test_precision) {
  if (!ft_caps_of(test_device())->storage16) skip();
  filtra(tune(
      test_text("--quick --ops gemm --precision fp16 --config %s | head -n 4", config_file())));
  assert_printed("gemm.");
  assert_printed(" f16 ");
}

TEST(test_export_and_import) {
  owned char *file = ft_path_join(test_folder(), "sub/tuning.json");
  size_t count = keys_listed();
  assert_int_equal(filtra(tune(test_text("--export %s", file))), 0);
  json_t *root = json_load_file(file, 0, NULL);
  assert_int_equal(json_array_size(json_object_get(root, "entries")), count);
  assert_string_equal(json_string_value(json_object_get(root, "filtra")), filtra_version());
  assert_non_null(json_string_value(json_object_get(root, "date")));
  assert_non_null(json_string_value(json_object_get(json_object_get(root, "device"), "driver")));
  json_decref(root);
  assert_int_equal(filtra(tune(test_text("--export %s", file))), 0); /* over the old one */

  assert_int_equal(filtra(tune("--clear")), 0);
  assert_int_equal(keys_listed(), 0);
  assert_int_equal(filtra(tune(test_text("--import %s", file))), 0);
  assert_int_equal(keys_listed(), count);
  /* Another command takes it by name; "" leaves it. */
  root = filtra_json(test_text("devices --json --cache-dir \"\" --tuning %s", file));
  assert_string_equal(json_string_value(json_object_get(json_object_get(root, "tuning"), "file")),
                      file);
  json_decref(root);
  root = filtra_json(test_text("devices --json --cache-dir %s --tuning \"\"", cache_folder()));
  assert_true(json_is_null(json_object_get(root, "tuning")));
  json_decref(root);

  /* Of another driver: refused, and nothing is changed. */
  test_patch(file, "\"driver_uuid\": \"", "\"driver_uuiD\": \"");
  assert_int_equal(filtra(tune(test_text("--import %s 2>&1", file))), 2);
  assert_printed("another driver");
  assert_int_equal(filtra(test_text("devices --tuning %s 2>&1", file)), 2);
  assert_printed("another driver");
  assert_int_equal(keys_listed(), count);
}

TEST(test_files_of_others) {
  const char *config = config_file();
  owned char *before = test_read(config, NULL);
  assert_int_equal(filtra(tune(test_text("--quick --ops gemm --export %s 2>&1", config))), 2);
  assert_printed(test_text("--export %s would replace a file that this command did not", config));
  owned char *after = test_read(config, NULL);
  assert_string_equal(before, after);
}

TEST(test_wrong_usage) {
  static const char *const cases[][2] = {
      {"--ops gemm,conv", "conv"},
      {"--list --clear", "one of"},
      {"--tuning x", "--tuning"},
      {"what", "what"},
      {"--config /dev/null/no", "no"},
      {"--import /dev/null/no", "/dev/null/no"},
      {"--preset no-such", "no-such"},
      {"--precision fp8", "fp8"},
      {"--clear --ops chain", "--clear goes without other options: leave out --ops"},
      {"--clear --export x", "leave out --export"},
      {"--list --quick", "--list goes without other options except --ops: leave out --quick"},
      {"--list --precision bf16", "leave out --precision"},
      {"--import x --data y", "leave out --data"},
      {"--config .", "is a folder; the configuration of a run is"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    assert_int_equal(filtra(tune(test_text("%s 2>&1", cases[i][0]))), 2);
    assert_printed(cases[i][1]);
  }
  assert_int_equal(filtra("tune --cache-dir \"\" --import x 2>&1"), 2);
  assert_printed("no cache folder");
  assert_int_equal(filtra("tune --help"), 0);
  assert_printed("--export");
}

TEST(test_damaged_cache) {
  json_auto_t *root = filtra_json(tune("--list --json"));
  const char *file = json_string_value(json_object_get(root, "file"));
  size_t size;
  owned char *text = test_read(file, &size);
  test_write(file, text, size / 2);
  assert_int_equal(filtra(tune("--list 2>&1")), 0);
  assert_printed("tuning is ignored");
  assert_int_equal(filtra(test_text("devices --cache-dir %s 2>&1", cache_folder())), 0);
  assert_printed("tuning is ignored");
}

TEST_MAIN(NULL, test_teardown)
