/* `filtra convert` as a shell sees it: what it writes, and the files that it leaves alone. */
#include "base/file.h"
#include "support/command.h"
#include "support/harness.h"
#include "support/run.h"

#include <unistd.h>

static const char *make_run(void) {
  const char *run = test_new_run();
  assert_code(test_filtra("train --device cpu --cache-dir '' --data %s --out %s --steps 2 "
                          "--set layers=1 --set width=8 --set heads=1 2>&1",
                          test_listops(), run),
              0);
  return run;
}

static void check_refused(const char *run, const char *out, const char *part) {
  assert_prints(test_filtra("convert %s --dtype fp16 --out %s 2>&1", run, out), 2, part);
}

TEST(only_its_own_files_are_replaced) {
  static const char TABLE[] = "text,label\na,x\n";
  const char *run = make_run(), *folder = test_folder();
  const char *out = test_path(folder, "half.safetensors"), *table = test_path(folder, "t.csv");
  const char *model = test_path(run, "model.safetensors"), *alias = test_path(folder, "alias");
  const char *optimizer = test_path(folder, "state.safetensors");
  assert_code(test_filtra("convert %s --dtype bf16 --out %s 2>&1", run, out), 0);
  assert_printed("half.safetensors: written from ");
  assert_code(test_filtra("convert %s --dtype fp32 --out %s 2>&1", run, out), 0);

  const uint64_t files = test_snapshot(run);
  check_refused(run, model, "model.safetensors would replace the model that is read: name another");
  assert_int_equal(symlink(model, alias), 0);
  check_refused(run, alias, "alias would replace the model that is read");
  check_refused(out, model, "model.safetensors would replace a file of a run");
  check_refused(out, alias, "alias would replace a file of a run");
  check_refused(run, test_path(run, "config.json"), "config.json would replace a file of a run");
  check_refused(run, test_path(run, "checkpoint/state.safetensors"),
                "state.safetensors would replace a file that this command did not write");
  assert_true(test_snapshot(run) == files);

  size_t size;
  owned char *text = test_read(test_path(run, "checkpoint/state.safetensors"), &size);
  test_write(optimizer, text, size); /* no model */
  test_write(table, TABLE, sizeof TABLE - 1);
  check_refused(run, optimizer, "would replace a file that this command did not write");
  check_refused(run, table, "t.csv would replace a file that this command did not write");
  owned char *kept = test_read(table, NULL);
  assert_string_equal(kept, TABLE);
  check_refused(out, out, "half.safetensors would replace the model that is read");
  test_write(table, "", 0);
  assert_code(test_filtra("convert %s --dtype fp16 --out %s 2>&1", run, table), 0);
  test_no_leftovers(run);
}

TEST_MAIN(NULL, test_teardown)
