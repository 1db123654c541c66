/* Mixers from modules in every subcommand, and modules that cannot be loaded. */
#include "support/command.h"
#include "support/harness.h"
#include "support/run.h"

#include "base/file.h"

static const char *module(const char *kind) {
  return test_text("%s/plugin_%s.so", TEST_BINARY_DIR, kind);
}

TEST(a_mixer_of_a_module_is_one_of_all) {
  const char *with = test_text("--plugin %s", module("mixer")), *folder = test_new_run();
  const char *device = test_text("--device cpu --cache-dir %s", test_folder());
  assert_prints(test_filtra("%s train --mixer plugin_sum --data %s --out %s --steps 4 %s "
                            "--set width=8 --set layers=1 2>&1",
                            with, test_listops(), folder, device),
                0, "Trained 4 steps");
  assert_prints(test_filtra("eval %s --plugin=%s %s 2>&1", folder, module("mixer"), device), 0,
                "accuracy");
  assert_prints(test_filtra("train %s --help plugin_sum", with), 0, "the sum of all tokens");
  assert_prints(test_run_command(test_text("FILTRA_PLUGINS=%s", module("mixer")),
                                 test_text("predict %s --split val %s", folder, device)),
                0, "0\t");
  /* A report needs no module; what needs the model says which mixer is missing. */
  assert_prints(test_filtra("report %s", folder), 0, "| plugin_sum | accuracy |");
  assert_prints(test_filtra("eval %s %s 2>&1", folder, device), 2, "with --plugin FILE");
}

TEST(children_of_a_sweep_load_modules) {
  const char *folder = test_folder(), *out = test_new_run();
  const char *grid = test_text("{\"datasets\": {\"l\": {\"data\": \"%s\"}}, \"mixers\": "
                               "[\"plugin_sum\"], \"seeds\": [1], \"config\": {\"steps\": 2, "
                               "\"width\": 8, \"layers\": 1}}",
                               test_listops());
  test_write(test_path(folder, "grid.json"), grid, strlen(grid));
  assert_code(test_filtra("sweep %s --out %s --plugin %s --device cpu 2>&1",
                          test_path(folder, "grid.json"), out, module("mixer")),
              0);
  assert_true(ft_file_exists(test_path(out, "sweep.jsonl")));
}

TEST(modules_that_cannot_be_loaded) {
  const char *text = test_path(test_folder(), "text.so");
  test_write(text, "no module", 9);
  assert_prints(test_filtra("devices --plugin nowhere.so 2>&1"), 2, "nowhere.so: there is no such");
  assert_prints(test_filtra("devices --plugin 2>&1"), 2, "--plugin needs the path of a module");
  assert_prints(test_filtra("devices --plugin %s 2>&1", text), 2, "cannot be loaded as a module");
  assert_prints(test_filtra("devices --plugin %s 2>&1", module("lacks")), 2, "filtra_plugin");
  assert_prints(test_filtra("devices --plugin %s 2>&1", module("refuses")), 2,
                "plugin_refuses.so: mixer \"No Name\"");
  assert_prints(test_filtra("devices --plugin %s 2>&1", module("fails")), 1,
                "plugin_fails.so: filtra_plugin() returns unsupported");
  assert_prints(
      test_filtra("devices --plugin %s --plugin %s 2>&1", module("mixer"), module("mixer")), 2,
      "plugin_sum");
}

TEST_MAIN(NULL, test_teardown)
