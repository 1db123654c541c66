/* `filtra sweep` as a shell sees it: wrong files, states, crashes, interruptions. */
#include "base/file.h"
#include "support/command.h"
#include "support/harness.h"
#include "support/pretrained.h"
#include "support/run.h"

#include <jansson.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int sweep(const char *file, const char *more) {
  static const char *cache;
  if (!cache) cache = test_folder();
  return test_filtra("sweep %s --device cpu --cache-dir %s %s", file, cache, more);
}

/* A file with these keys in a folder of its own; valid until the next. */
static const char *write_file(const char *keys) {
  static char path[256];
  const char *folder = test_new_run();
  assert_int_equal(mkdir(folder, 0700), 0);
  snprintf(path, sizeof path, "%s/sweep.json", folder);
  test_write(path, keys, strlen(keys));
  return path;
}

/* Two mixers by two seeds, of enough steps to be met while they run. */
static const char *grid_file(void) {
  return write_file(test_text(
      "{\"title\": \"T\", \"config\": {\"steps\": 12, \"width\": 8, \"layers\": 1,"
      " \"batch_size\": 8, \"eval_every\": 4, \"checkpoint_every\": 1, \"log_every\": 1},\n"
      " \"datasets\": {\"tiny\": {\"data\": \"%s\"}},\n"
      " \"mixers\": [\"softmax\", {\"name\": \"gfsa\", \"K\": 2}], \"seeds\": [1, 2]}\n",
      test_listops()));
}

static const char *const CELLS[] = {"tiny-softmax-seed=1", "tiny-softmax-seed=2",
                                    "tiny-gfsa-K=2-seed=1", "tiny-gfsa-K=2-seed=2"};

/* The sweep that others must equal. */
static const char *reference(void) {
  static const char *folder;
  if (folder) return folder;
  folder = test_new_run();
  assert_prints(sweep(grid_file(), test_text("--out %s --jobs 2 2>&1", folder)), 0,
                "4 of 4 cells, ETA 0:00:00, last tiny-");
  assert_printed(test_text("%s: 4 cells finished, 0 of them before, 0 failed\n", folder));
  return folder;
}

TEST(test_wrong_files) {
#define DATA "\"datasets\": {\"a\": {\"data\": \"x\"}}"
#define REST "\"mixers\": [\"agf\"], \"seeds\": [1]"
  static const struct {
    const char *keys, *part;
  } cases[] = {
      {"{\n\"seeds\": [1],}", "sweep.json:2:"},
      {"[]", "must be a JSON object"},
      {"{\"seed\": [1]}", "did you mean \"seeds\"?"},
      {"{\"evaluate\": \"dev\"}", "\"evaluate\" must be one of train, val, test"},
      {"{" REST "}", "\"datasets\" must be an object"},
      {"{\"datasets\": {\"a\": {}}, " REST "}", "\"a\": give \"data\", a path, or \"generate\""},
      {"{\"datasets\": {\"a\": {\"date\": \"x\"}}, " REST "}", "did you mean \"data\"?"},
      {"{\"datasets\": {\"a/b\": {\"data\": \"x\"}}, " REST "}", "folders are called by it"},
      {"{" DATA ", " REST "}", "x is not there; say where it is by --data a=PATH"},
      {"{\"datasets\": {\"a\": {\"generate\": {\"kind\": \"x\"}}}, " REST "}",
       "accepted are listops and pathfinder"},
      {"{\"datasets\": {\"a\": {\"generate\": {\"kind\": \"listops\", \"train\": -1}}}, " REST "}",
       "\"train\" must be a whole number"},
      {"{" DATA ", \"mixers\": [], \"seeds\": [1]}", "\"mixers\" must be a list"},
      {"{" DATA ", \"mixers\": [3], \"seeds\": [1]}", "entry 1 must be a name"},
      {"{" DATA ", \"mixers\": [\"agd\"], \"seeds\": [1]}", "unknown mixer \"agd\""},
      {"{" DATA ", \"mixers\": [\"agf\", \"agf\"], \"seeds\": [1]}",
       "two cells are called a-agf-seed=1; one of"},
      {"{" DATA ", \"options\": {\"seed\": [3]}, " REST "}", "leave it out of \"options\""},
      {"{" DATA ", \"mixers\": [\"agf\"], \"seeds\": [0.5]}",
       "cell a-agf-seed=0.5: \"seed\" must be a whole number"},
      {"{" DATA ", \"config\": {\"seed\": 3}, " REST "}", "comes from \"seeds\""},
      {"{" DATA ", \"config\": {\"layer\": 3}, " REST "}", "did you mean \"layers\"?"},
      {"{" DATA ", \"config\": {\"task\": \"language_model\"}, " REST "}",
       "mixer \"agf\" cannot be used for task \"language_model\""},
      {"{" DATA ", \"options\": {\"layers\": 3}, " REST "}", "must be a list of values"},
      {"{" DATA ", \"options\": {\"layers\": [1, 0]}, " REST "}",
       "cell a-agf-layers=0-seed=1: \"layers\" is 0, accepted are 1 to 256"},
      {"{" DATA ", \"options\": {\"width\": [16, 15]}, \"config\": {\"heads\": 2}, " REST "}",
       "cell a-agf-width=15-seed=1: \"width\" 15 must be a multiple of \"heads\" 2"},
      {"{" DATA ", \"options\": {\"mixer.K\": [3]}, \"seeds\": [1], "
       "\"mixers\": [\"agf\", {\"name\": \"gfsa\", \"K\": 2}]}",
       "\"options\": \"mixer.K\": entry 2 of \"mixers\" has a \"K\" of its own"},
      {"{\"datasets\": {\"a\": {\"data\": \"x\", \"mixers\": [\"gfsa\"]}}, " REST "}",
       "entry 1, \"gfsa\", is not the name of one of the file's"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *out = test_new_run();
    int code = sweep(write_file(cases[i].keys), test_text("--out %s 2>&1", out));
    if (code != 2 || !strstr(test_output, cases[i].part))
      fail_msg("%s: exit code %d, wanted \"%s\" in:\n%s", cases[i].keys, code, cases[i].part,
               test_output);
    assert_false(ft_file_exists(out));
  }
}

/* Keys of the mixer are an axis like others; --list checks each cell's configuration. */
TEST(test_options_of_mixers) {
  for (int most = 5; most <= 99; most += 94) {
    const char *file =
        write_file(test_text("{\"datasets\": {\"a\": {\"data\": \"%s\"}}, \"seeds\": [1], "
                             "\"mixers\": [\"agf\", {\"name\": \"gfsa\"}], "
                             "\"options\": {\"mixer.K\": [3, %d], \"layers\": [1]}}",
                             test_listops(), most));
    assert_code(sweep(file, test_text("--out %s --list 2>&1", test_new_run())), most > 5 ? 2 : 0);
    if (most > 5) {
      assert_printed("mixer \"agf\": \"K\" is 99, accepted are 0 to 32");
      continue;
    }
    assert_printed("a-agf-K=3-layers=1-seed=1");
    assert_printed("a-gfsa-K=5-layers=1-seed=1");
  }
}

TEST(test_usage) {
  const char *file = grid_file();
  assert_prints(sweep("", "2>&1"), 2, "which sweep?");
  assert_prints(sweep(file, "--list 2>&1"), 2, "give --out DIR or the key \"out\"");
  assert_prints(sweep(file, "--out x --list --data other=y 2>&1"), 2, "has no data set \"other\"");
  assert_prints(sweep(file, "--out x --list --data tiny 2>&1"), 2, "--data is tiny, not NAME=PATH");
  assert_prints(sweep(file, "--out x --list --devices 0,1 2>&1"), 2,
                "give --device or --devices, not both");
  assert_prints(sweep(file, "--out x --list --cells '*softmax*,agf' 2>&1"), 2,
                "--cells: \"agf\" is the name of no cell");
  assert_prints(sweep("", "--help"), 0, "filtra sweep FILE");
}

/* What is finished is kept as it is, and settings that changed are refused. */
TEST(test_finished) {
  const char *out = reference(), *file = grid_file();
  assert_code(sweep(file, test_text("--out %s --list", out)), 0);
  for (size_t i = 0; i < FT_COUNT(CELLS); i++) {
    assert_printed(test_text("finished  %s\n", CELLS[i]));
    assert_true(ft_file_exists(test_path(test_path(out, CELLS[i]), "eval-test.json")));
  }
  uint64_t before = test_snapshot(out);
  assert_code(sweep(file, test_text("--out %s --json 2>/dev/null", out)), 0);
  assert_true(test_snapshot(out) == before);
  json_t *root = json_loads(test_output, 0, NULL), *cell;
  assert_int_equal(json_integer_value(json_object_get(root, "finished")), 4);
  cell = json_array_get(json_object_get(root, "cells"), 2);
  assert_string_equal(json_string_value(json_object_get(cell, "cell")), CELLS[2]);
  assert_string_equal(json_string_value(json_object_get(cell, "state")), "finished");
  json_decref(root);
  test_patch(file, "\"steps\": 12", "\"steps\": 13");
  assert_prints(sweep(file, test_text("--out %s 2>&1", out)), 2,
                "was begun with other settings: \"steps\" was 12 and is 13 now");
  assert_true(test_snapshot(out) == before);
}

static void assert_same_cells(const char *out) {
  for (size_t i = 0; i < FT_COUNT(CELLS); i++)
    test_same_run(test_path(reference(), CELLS[i]), test_path(out, CELLS[i]));
}

/* What stops the sweep, or one of its processes, while the first cell trains; $p is the sweep. */
static int meet(const char *out, const char *action) {
  char script[1024];
  snprintf(script, sizeof script,
           "--out %s >%s.txt 2>&1 & p=$!; while ! [ -e %s/%s/checkpoint/state.safetensors ]; do "
           "sleep 0.01; done; %s; wait $p; c=$?; cat %s.txt; exit $c",
           out, out, out, CELLS[0], action, out);
  return sweep(grid_file(), script);
}

/* A cell whose process dies is noted, the others go on, and it goes on next time. */
TEST(test_crash) {
  const char *out = test_new_run();
  assert_prints(meet(out, "kill -9 $(cat /proc/$p/task/$p/children)"), 1,
                "3 cells finished, 0 of them before, 1 failed\n");
  assert_printed("tiny-softmax-seed=1: its process was ended by signal 9");
  assert_prints(sweep(grid_file(), test_text("--out %s 2>&1", out)), 0,
                "4 cells finished, 3 of them before, 0 failed\n");
  assert_same_cells(out);
}

/* A process that has the cell's log for a second, as the training of a sweep that was killed. */
static pid_t hold(const char *log) {
  pid_t process = fork();
  if (process) return process;
  FILE *stream;
  char line[64];
  int size = snprintf(line, sizeof line, "process %ld: filtra train\n", ft_process());
  if (ft_append_open(log, &stream) || ft_append_write(stream, log, line, (size_t)size)) _exit(1);
  sleep(1);
  _exit(0);
}

/* Where the sweep itself is killed, what it left is no obstacle: a training that saves a checkpoint
 * and ends, for which the next sweep waits, and half a line in the record. The times of cells that
 * ended later are in the record all the same. */
TEST(test_killed_sweep) {
  const char *out = test_new_run(), *child = test_path(test_folder(), "child");
  const char *log = test_path(out, test_text("logs/%s.log", CELLS[0]));
  char script[512];
  snprintf(
      script, sizeof script,
      "cat /proc/$p/task/$p/children >%s; printf '{\"cell\":\"ti' >>%s/sweep.jsonl; kill -9 $p",
      child, out);
  assert_code(meet(out, script), 137);
  owned char *number = test_read(child, NULL);
  for (int i = 0; i < 1000 && ft_process_runs(strtol(number, NULL, 10)); i++)
    usleep(10000);
  assert_false(ft_process_runs(strtol(number, NULL, 10)));
  pid_t other = hold(log);
  while (!ft_is_locked(log))
    usleep(1000);
  assert_prints(sweep(grid_file(), test_text("--out %s 2>&1", out)), 0, "4 of 4 cells");
  assert_printed(test_text("%s is still being trained by process %ld, ", CELLS[0], (long)other));
  assert_int_equal(waitpid(other, NULL, 0), other);
  assert_same_cells(out);
  assert_code(test_filtra("report %s --json", out), 0);
  json_t *root = json_loads(test_output, 0, NULL), *run;
  size_t i;
  json_array_foreach(json_object_get(root, "runs"), i, run)
      assert_true(json_number_value(json_object_get(run, "seconds")) > 0.0);
  assert_int_equal(i, 4);
  json_decref(root);
}

/* Nothing outside of a stranger's folder is written through a link in it, nor does a value of the
 * grid reach a shell. */
TEST(test_links) {
  static const char *const NAMES[] = {"sweep.jsonl",
                                      "sweep.json",
                                      "settings",
                                      "logs",
                                      "data",
                                      "logs/tiny-softmax-seed=1.log",
                                      "settings/tiny-softmax-seed=1.json",
                                      "tiny-softmax-seed=1",
                                      "logs/data-made.log",
                                      "settings/data-made.json",
                                      "data/made"};
  const char *file = write_file(test_text(
      "{\"config\": {\"steps\": 1, \"width\": 8, \"layers\": 1, \"batch_size\": 8,"
      " \"text_column\": \"$(touch %s/ran)\"}, \"datasets\": {\"tiny\": {\"data\": \"%s\"},"
      " \"made\": {\"generate\": {\"kind\": \"listops\", \"train\": 8, \"val\": 8, \"test\": 8}}},"
      " \"mixers\": [\"softmax\"], \"seeds\": [1]}",
      test_folder(), test_listops()));
  for (size_t i = 0; i < FT_COUNT(NAMES); i++)
    for (int kind = 0; kind < 3; kind++) { /* to a file, to a folder, to nothing */
      char out[256], outside[256], there[300], link[512];
      snprintf(out, sizeof out, "%s", test_folder());
      snprintf(outside, sizeof outside, "%s", test_folder());
      snprintf(there, sizeof there, "%s/theirs", outside);
      snprintf(link, sizeof link, "%s/%s", out, NAMES[i]);
      if (kind == 0) test_write(there, "alias ls='ls --color'\n", 22);
      if (kind == 1) assert_ok(ft_make_directories(there));
      char *slash = strrchr(link, '/');
      *slash = '\0';
      assert_ok(ft_make_directories(link));
      *slash = '/';
      assert_int_equal(symlink(there, link), 0);
      uint64_t before = test_snapshot(outside);
      assert_prints(sweep(file, test_text("--out %s 2>&1", out)), 2,
                    test_text("%s is a symbolic link", link));
      assert_true(test_snapshot(outside) == before);
      assert_true(ft_is_link(link));
    }
}

TEST(test_shell_code) {
  const char *out = test_new_run(), *ran = test_path(test_folder(), "ran");
  const char *file = write_file(
      test_text("{\"config\": {\"steps\": 1, \"width\": 8, \"layers\": 1, \"batch_size\": 8},"
                " \"datasets\": {\"tiny\": {\"data\": \"%s\"}}, \"mixers\": [\"softmax\"],"
                " \"options\": {\"text_column\": [\"$(touch %s)\", \"`touch %s`\","
                " \"; touch %s #\"]}, \"seeds\": [1]}",
                test_listops(), ran, ran, ran));
  sweep(file, test_text("--out %s 2>&1", out));
  assert_printed("3 cells");
  assert_false(ft_file_exists(ran));
}

TEST(test_interruption) {
  const char *out = test_new_run();
  assert_prints(meet(out, "kill $p"), 1, "Continue with the same command.");
  assert_prints(sweep(grid_file(), test_text("--out %s --list", out)), 0,
                "begun     tiny-softmax-seed=1\n");
  assert_printed("new       tiny-softmax-seed=2\n");
  assert_prints(sweep(grid_file(), test_text("--out %s --cells '*softmax*' 2>&1", out)), 0,
                "2 cells finished");
  assert_code(sweep(grid_file(), test_text("--out %s 2>&1", out)), 0);
  assert_same_cells(out);
}

/* Cells take devices in turn; one that is not there is the failure of its cells alone. */
TEST(test_devices) {
  static const char SYSTEM[] = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
  const char *out = test_new_run(), *softmax = "--cells '*softmax*' 2>&1";
  assert_prints(test_filtra("sweep %s --cache-dir %s --devices cpu,none --out %s "
                            "%s",
                            grid_file(), test_folder(), out, softmax),
                1, "1 cells finished, 0 of them before, 1 failed");
  assert_printed("tiny-softmax-seed=2: filtra train: ");
  assert_printed("\"none\"");
  const char *icds = getenv("FILTRA_ICD_DIR");
  char other[512];
  snprintf(other, sizeof other, "%s/lvp.json", icds ? icds : "");
  if (!ft_file_exists(SYSTEM) || !ft_file_exists(other)) {
    print_message("SKIPPED: two devices need two drivers, the system's lavapipe and one that "
                  "FILTRA_ICD_DIR has\n");
    skip();
  }
  /* Two drivers in one process are two devices, each with the bits of its own. Debian 12's leaks a
   * little in each process, and is unloaded when LeakSanitizer asks whose it is. */
  char before[1200], drivers[2][256];
  snprintf(before, sizeof before,
           "env ASAN_OPTIONS=quarantine_size_mb=8:detect_leaks=0 VK_DRIVER_FILES=%s:%s", SYSTEM,
           other);
  out = test_new_run();
  assert_code(
      test_run_command(before, test_text("sweep %s --cache-dir %s --devices 0,1 --out %s %s",
                                         grid_file(), test_folder(), out, softmax)),
      0);
  for (size_t i = 0; i < 2; i++) {
    json_auto_t *about = json_load_file(test_path(test_path(out, CELLS[i]), "about.json"), 0, NULL);
    snprintf(drivers[i], sizeof drivers[i], "%s",
             json_string_value(json_object_get(about, "driver")));
  }
  assert_string_not_equal(drivers[0], drivers[1]);
}

/* Data are generated; a cell that fails gives its sentence, and the others go on. */
TEST(test_failing_cell) {
  const char *out = test_new_run();
  const char *file = write_file(
      "{\"config\": {\"steps\": 2, \"width\": 8, \"layers\": 1, \"batch_size\": 8},"
      " \"datasets\": {\"made\": {\"evaluate\": \"val\", \"generate\": {\"kind\": \"listops\","
      " \"train\": 16, \"val\": 8, \"test\": 8, \"min-length\": 3, \"max-length\": 12}}},"
      " \"mixers\": [\"softmax\"], \"options\": {\"max_length\": [2, 16]}, \"seeds\": [1]}");
  assert_prints(sweep(file, test_text("--out %s 2>&1", out)), 1,
                "made-softmax-max_length=2-seed=1: filtra train: ");
  assert_printed("basic_train.tsv:2");
  assert_printed("1 cells finished, 0 of them before, 1 failed");
  assert_true(ft_file_exists(
      test_path(test_path(out, "made-softmax-max_length=16-seed=1"), "eval-val.json")));
  assert_prints(sweep(file, test_text("--out %s --list", out)), 0,
                "failed    made-softmax-max_length=2-seed=1\n");
  assert_printed("0 new, 0 begun, 1 failed, 1 finished");
  assert_prints(test_filtra("report %s 2>&1", out), 0, "1 of 2 runs are not finished and left out");
  test_patch(file, "\"train\": 16", "\"train\": 17");
  assert_prints(sweep(file, test_text("--out %s 2>&1", out)), 2,
                "data set \"made\" was generated with other settings");
}

/* A split that the data lack is missed at the end; then the key that chooses it is named, and with
 * another value the trained model is only evaluated. */
TEST(test_missing_split) {
  static const char TEXT[] = "good film\tyes\nbad film\tno\ngood day\tyes\nbad day\tno\n";
  const char *out = test_new_run(), *data = test_path(test_folder(), "data.tsv");
  test_write(data, TEXT, strlen(TEXT));
  const char *file = write_file(
      test_text("{\"config\": {\"steps\": 1, \"width\": 8, \"layers\": 1, \"batch_size\": 2, "
                "\"validation_share\": 0.5}, \"datasets\": {\"a\": {\"data\": \"%s\"}}, "
                "\"mixers\": [\"softmax\"], \"seeds\": [1], \"evaluate\": \"test\"}",
                data));
  assert_prints(sweep(file, test_text("--out %s 2>&1", out)), 1, "has no test split");
  assert_printed("; evaluated on split test, which \"evaluate\" in ");
  test_patch(file, "\"test\"", "\"val\" ");
  assert_prints(sweep(file, test_text("--out %s 2>&1", out)), 0, "1 cells finished");
}

/* "--data SET=FOLDER " for the first sets. */
static const char *data_of(const char *const *sets, size_t count) {
  static char paths[1024];
  paths[0] = 0;
  for (size_t i = 0; i < count; i++)
    snprintf(paths + strlen(paths), sizeof paths - strlen(paths), "--data %s=%s ", sets[i],
             test_folder());
  return paths;
}

/* Every cell of the sweeps that come with the sources is a configuration that can be trained. */
TEST(test_kept_sweeps) {
  static const char *const SETS[] = {"japanesevowels", "tinyshakespeare", "basicmotions", "imdb",
                                     "fashion-mnist"};
  static const struct {
    const char *name, *says;
    size_t sets;
  } FILES[] = {{"results", "252 cells in ", 5},
               {"precision", "171 cells in ", 2},
               {"listops", "39 cells in ", 0}};
  for (size_t f = 0; f < FT_COUNT(FILES); f++)
    assert_prints(sweep(test_text(TEST_SOURCE_DIR "/../presets/sweeps/%s.json", FILES[f].name),
                        test_text("%s --out %s/none --list 2>&1", data_of(SETS, FILES[f].sets),
                                  test_folder())),
                  0, FILES[f].says);
}

/* That of pretrained models, with a smaller one. */
TEST(test_kept_sweep_of_pretrained) {
  static const char *const SETS[] = {"cola", "mrpc", "stsb", "sst2"};
  json_t *kept = json_load_file(TEST_SOURCE_DIR "/../presets/sweeps/glue.json", 0, NULL);
  json_t *config = json_object_get(kept, "config");
  assert_int_equal(
      json_object_set_new(config, "init_from", json_string(test_pretrained_folder("bert", NULL))),
      0);
  assert_int_equal(json_object_set_new(config, "max_length", json_integer(8)), 0);
  const char *file = test_path(test_folder(), "glue.json");
  assert_int_equal(json_dump_file(kept, file, 0), 0);
  json_decref(kept);
  assert_prints(sweep(file, test_text("%s --out %s/none --list 2>&1", data_of(SETS, FT_COUNT(SETS)),
                                      test_folder())),
                0, "24 cells in ");
}

TEST_MAIN(NULL, test_teardown)
