/* `filtra train` as a shell sees it: wrong input, signals, kills, full disks, odd streams. */
#include "base/file.h"
#include "base/rng.h"
#include "support/command.h"
#include "support/harness.h"
#include "support/run.h"

#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A short run that evaluates and saves all the time: a kill meets half-written files. It still
 * needs its data. */
#define SHORT_RUN                                                                                  \
  "--mixer agf --steps 16 --set width=8 --set layers=1 --set batch_size=8 "                        \
  "--set dropout=0.1 --set eval_every=4 --set checkpoint_every=2 --set log_every=1 "

static const char *short_run(void) {
  return test_text(SHORT_RUN "--data %s", test_listops());
}

/* The options of every run here; the pipelines are compiled once. */
static const char *common(void) {
  static const char *cache;
  if (!cache) cache = test_folder();
  return test_text("--device cpu --cache-dir %s", cache);
}

static int run(const char *before, const char *arguments) {
  return test_run_command(before, test_text("train %s %s", common(), arguments));
}

static int train(const char *before, const char *folder, const char *more) {
  return run(before, test_text("%s --out %s %s", short_run(), folder, more));
}

static int resume(const char *folder, const char *more) {
  return run("", test_text("--resume %s %s", folder, more));
}

static void assert_one_line(void) {
  const char *end = strchr(test_output, '\n');
  if (!end || end[1]) fail_msg("not one line:\n%s", test_output);
}

/* The run that others must equal. */
static const char *reference_run(void) {
  static const char *folder;
  if (folder) return folder;
  folder = test_new_run();
  assert_code(train("", folder, "2>&1"), 0);
  return folder;
}

/* ---- wrong input ---- */

TEST(test_wrong_options) {
  static const struct {
    const char *more, *part;
  } cases[] = {
      {"--set layers=0", "\"layers\" is 0, accepted are 1 to 256"},
      {"--set layer=3", "did you mean \"layers\"?"},
      {"--set layers.x=3", "\"layers\" must be a whole number"},
      {"--set nonsense", "\"nonsense\" is not key=value"},
      {"--set =3", "\"=3\" is not key=value"},
      {"--set learning_rate=1e999", "\"learning_rate\" must be a number"},
      {"--set learning_rate=NaN", "\"learning_rate\" must be a number"},
      {"--set learning_rate=-1", "\"learning_rate\" is -1, accepted are"},
      {"--steps 99999999999999999999", "\"steps\" must be a whole number"},
      {"--steps -1", "\"steps\" is -1"},
      {"--steps many", "\"steps\" must be a whole number"},
      {"--seed 1.5", "\"seed\" must be a whole number"},
      {"--mixer soft", "unknown mixer \"soft\"; known are softmax, "},
      {"--set mixer.order=3", "mixer \"agf\" has no option \"order\"; its options: K, a, b, "},
      {"--mixer softmax --set mixer.K=5", "mixer \"softmax\" has no option \"K\"; its options: "
                                          "attention_dropout, talking_heads; mixers "
                                          "that have it: gfsa, agf"},
      {"--mixer softmax --set mixer.talking_head=true", "(did you mean \"talking_heads\"?)"},
      {"--set mixer.K=-1", "mixer \"agf\": \"K\" is -1, accepted are 0 to 32"},
      {"--set mixer='{\"K\": 5}'",
       "option \"K\" and no \"name\"; name a mixer that has it: gfsa, agf"},
      {"--set mixer='{\"Q\": 5}'",
       "option \"Q\" and no \"name\"; name a mixer that has it: there is none"},
      {"--set mixer.K.x=1", "\"K\" must be a whole number"},
      {"--set mixer.=1", "has no option \"\""},
      {"--set data=nowhere", "nowhere"},
      {"--set data=", "\"data\" is missing"},
      {"--set max_length=7", "basic_train.tsv:"},
      {"--set \"$(printf 'data=\\377')\"", "not UTF-8"},
      {"--config nowhere.json", "nowhere.json"},
      {"--config /", "not a regular file"},
      {"--config /dev/null", "/dev/null"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *folder = test_new_run();
    int code = train("", folder, test_text("%s 2>&1", cases[i].more));
    if (code != 2 || !strstr(test_output, cases[i].part))
      fail_msg("%s: exit code %d, wanted \"%s\" in:\n%s", cases[i].more, code, cases[i].part,
               test_output);
    assert_one_line();
    assert_false(ft_file_exists(folder));
  }
  assert_prints(run("", "2>&1"), 2, "--data");
  assert_prints(run("", "--data x --out '' 2>&1"), 2, "--out is \"\"");
  assert_prints(train("", "/dev/null/run", "2>&1"), 2, "cannot make folder /dev/null: Not a dir");
  assert_prints(train("", "x", "--out y 2>&1"), 2, "--out is given twice, as \"x\" and \"y\"");
  assert_prints(run("", "--data x --allow-changes 2>&1"), 2, "goes with --resume");
  assert_prints(run("", "more 2>&1"), 2, "what is \"more\"?");
  assert_prints(run("", "--nothing 2>&1"), 2, "filtra train --help");
  assert_prints(run("", "--help"), 0, "learning_rate");
  assert_prints(run("", "--help drop_path"), 0, "Stochastic depth: ");
  assert_prints(run("", "--help droppath 2>&1"), 2, "(did you mean \"drop_path\"?)");
}

static const char *config_in; /* folder of the next two functions */

static int run_config(const char *text, size_t size) {
  test_write(test_path(config_in, "config.json"), text, size);
  return run("", test_text("--config %s/config.json --out %s/run 2>&1", config_in, config_in));
}

TEST(test_wrong_files) {
  static const struct {
    const char *text, *part;
  } cases[] = {
      {"", "config.json:1:"},
      {"[]", "must be a JSON object"},
      {"{\"steps\": 3,\n \"layers\": }", "config.json:2:"},
      {"{\"steps\": 3,\n \"steps\": 4}", "config.json:2:"},
      {"{\"data\": \"\xff\"}", "config.json:1:"},
      {"{\"steps\": 1e999}", "config.json:1:"},
      {"{\"steps\": 123456789012345678901234567890}", "config.json:1:"},
      {"{\"learning_rate\": \"fast\"}", "config.json: \"learning_rate\" must be a number"},
      {"{\"mixer\": {\"name\": \"agf\", \"basi\": 1}}", "did you mean \"basis\"?"},
  };
  config_in = test_folder();
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    assert_prints(run_config(cases[i].text, strlen(cases[i].text)), 2, cases[i].part);
    assert_one_line();
  }
  size_t size = 17 << 20;
  owned char *large = malloc(size);
  memset(large, ' ', size);
  assert_prints(run_config(large, size), 2, "at most 16777216 are accepted");
  memset(large, 'x', size); /* a string without end */
  memcpy(large, "{\"data\": \"", 10);
  memcpy(large + 100000, "\"}", 3);
  assert_prints(run_config(large, 100002), 2, "\"data\" is longer than 1023 characters");
  assert_one_line();
  assert_false(ft_file_exists(test_path(config_in, "run")));
}

TEST(test_wrong_folders) {
  uint64_t before = test_snapshot(reference_run());
  assert_prints(train("", reference_run(), "2>&1"), 2, "holds a run already");
  assert_prints(resume(test_folder(), "2>&1"), 2, "is not a run folder");
  assert_code(resume("nowhere", "2>&1"), 2);
  assert_one_line();
  assert_prints(resume(reference_run(), "--set width=3 2>&1"), 2,
                "--resume takes the configuration of the run");
  assert_prints(resume(reference_run(), "--steps 0 2>&1"), 2, "give --steps N or --epochs N");
  assert_prints(resume(reference_run(), "--steps 3 --epochs 2 2>&1"), 2,
                "steps or epochs, not both");
  assert_prints(resume(reference_run(), "--steps 3 2>&1"), 2, "is of step 16; the run has 3 steps");
  assert_prints(resume(reference_run(), "2>&1"), 0, "is complete: 16 of 16 steps");
  assert_true(test_snapshot(reference_run()) == before);
}

/* ---- output ---- */

TEST(test_json) {
  const char *run_folder = test_new_run(), *where = test_folder();
  assert_code(train("", run_folder, test_text("--json 2>%s/progress", where)), 0);
  json_t *root = test_output_json(); /* one object and nothing else */
  assert_string_equal(json_string_value(json_object_get(root, "run")), run_folder);
  assert_int_equal(json_integer_value(json_object_get(root, "steps")), 16);
  assert_true(json_is_real(json_object_get(root, "validation_loss")));
  json_decref(root);
  owned char *progress = test_read(test_path(where, "progress"), NULL);
  assert_non_null(strstr(progress, "Training on "));
  assert_non_null(strstr(progress, "step 16/16"));
  assert_null(strpbrk(progress, "\r\033")); /* no terminal, no tricks */
  test_progress_is_true(progress, run_folder);
  assert_code(resume(run_folder, "--json 2>/dev/null"), 0);
  root = test_output_json();
  assert_int_equal(json_integer_value(json_object_get(root, "steps")), 16);
  assert_true(json_is_null(json_object_get(root, "loss")));
  json_decref(root);
  test_same_run(reference_run(), run_folder);
}

/* The means are of 20 steps although most steps are never shown. */
TEST(test_progress_of_many_steps) {
  const char *folder = test_new_run();
  assert_code(train("", folder, "--steps 53 --set eval_every=53 2>&1"), 0);
  test_progress_is_true(test_output, folder);
}

TEST(test_early_stop_is_said) {
  const char *still = "--set patience=2 --set eval_every=2 --set learning_rate=1e-12 "
                      "--set dropout=0 2>&1",
             *folder = test_new_run();
  assert_prints(train("", folder, still), 0, "Stopped early, after 6 of 16 steps: ");
  assert_printed("Best, at step 2 and saved: loss ");
  assert_prints(resume(folder, "2>&1"), 0, "Stopped early, after 6 of 16 steps: ");
  assert_printed("Best, at step 2 and saved: loss ");
  assert_prints(resume(folder, "--steps 20 2>&1"), 0, "Stopped early, after 10 of 20 steps: ");
}

/* A run that is made longer is one of that length from there on. */
TEST(test_longer) {
  const char *constant = "--set schedule=constant", *folder = test_new_run();
  const char *whole = test_new_run();
  assert_code(train("", whole, test_text("%s 2>&1", constant)), 0);
  assert_code(train("", folder, test_text("%s --steps 8 2>&1", constant)), 0);
  assert_prints(resume(folder, "--steps 16 2>&1"), 0, "goes on as in a run of 16 steps");
  assert_printed("Trained 16 steps");
  test_same_metrics(whole, folder);
  assert_prints(resume(folder, "2>&1"), 0, "is complete: 16 of 16 steps");
  assert_prints(resume(folder, "--epochs 4 2>&1"), 0, "Trained 28 steps");
}

/* Trains on a terminal of that kind. */
static void train_on_terminal(const char *kind, const char *folder) {
  if (system("command -v script >/dev/null 2>&1")) skip();
  FILE *pipe = popen(test_text("TERM='%s' script -qec \"stty cols 60; '%s/../filtra' train %s %s "
                               "--out '%s'\" /dev/null </dev/null",
                               kind, TEST_BINARY_DIR, common(), short_run(), folder),
                     "r");
  assert_non_null(pipe);
  test_output[fread(test_output, 1, sizeof test_output - 1, pipe)] = '\0';
  assert_int_equal(pclose(pipe), 0);
}

/* On a terminal one line is written again and again, no longer than the terminal is wide. */
TEST(test_terminal) {
  static const char end[] = "step 16/16", again[] = "\r\033[Kstep ";
  train_on_terminal("xterm", test_new_run());
  char *first = strstr(test_output, again);
  assert_non_null(first);
  assert_printed(end);
  assert_null(memchr(first, '\n', (size_t)(strstr(test_output, end) - first)));
  for (char *at = first; (at = strstr(at, again)); at++)
    assert_between(strcspn(at + strlen("\r\033[K"), "\r\n"), 20, 59);
}

/* What cannot clear a line gets lines, and no folder's name turns the text around it. */
TEST(test_simple_terminal) {
  static const char *const KINDS[] = {"dumb", ""};
  for (size_t i = 0; i < FT_COUNT(KINDS); i++) {
    train_on_terminal(KINDS[i], test_text("%s\u202e\xc2\x9b", test_new_run()));
    assert_printed("step 16/16");
    assert_printed(" steps; ");
    assert_null(strchr(test_output, '\033'));
    assert_null(strstr(test_output, "\u202e"));
    assert_null(strstr(test_output, "\xc2\x9b"));
  }
}

/* Data of one class are named, and the class. */
TEST(test_one_class) {
  const char *folder = test_folder(), *file = test_path(folder, "cats.csv");
  test_write(file, "text,label\na b,cat\nc d,cat\n", 27);
  assert_prints(run("", test_text("--data %s --device cpu --out %s/run 2>&1", file, folder)), 2,
                test_text("%s: all samples of the data have one class, \"cat\"", file));
}

TEST(test_odd_streams) {
  static const struct {
    const char *streams;
    int code;
  } cases[] = {
      {">&- 2>/dev/null", 1}, /* done, but nobody could be told */
      {"<&- >&- 2>&-", 1},
      {">/dev/full 2>/dev/null", 1},
      {"2>&1 >/dev/null | true", 0}, /* who reads the progress goes away */
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    const char *folder = test_new_run();
    assert_code(train("", folder, cases[i].streams), cases[i].code);
    test_same_run(reference_run(), folder);
  }
}

/* ---- signals ---- */

static pid_t start_in(const char *where, const char *arguments, const char *log) {
  const char *line = test_text("cd %s && exec '%s/../filtra' train %s %s >%s 2>&1", where,
                               TEST_BINARY_DIR, common(), arguments, log);
  pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
  }
  assert_true(child > 0);
  return child;
}

static pid_t start(const char *arguments, const char *log) {
  return start_in(".", arguments, log);
}

static int count_lines(const char *path) {
  int lines = 0, c;
  FILE *stream = fopen(path, "r");
  while (stream && (c = getc(stream)) != EOF)
    lines += c == '\n';
  if (stream) fclose(stream);
  return lines;
}

/* Waits until the run's metrics have `lines` lines. False: the process ended before. */
static bool wait_for(pid_t child, const char *folder, int lines, int *status) {
  for (int i = 0; i < 60000; i++) {
    if (waitpid(child, status, WNOHANG) == child) return false;
    if (count_lines(test_path(folder, "metrics.jsonl")) >= lines) return true;
    usleep(500);
  }
  kill(child, SIGKILL);
  fail_msg("no %d lines of metrics in 30 s", lines);
  return false;
}

/* Stopped before its first evaluation a run has no model; what to do is said. */
TEST(test_no_model_yet) {
  const char *folder = test_new_run(), *log = test_new_run();
  int status;
  pid_t child =
      start(test_text("%s --out %s --set eval_every=1000 --steps 1000", short_run(), folder), log);
  assert_true(wait_for(child, folder, 1, &status));
  kill(child, SIGINT);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_prints(test_filtra("eval %s --device cpu 2>&1", folder), 2,
                "has no model.safetensors yet");
  assert_printed("filtra train --resume");
}

TEST(test_interrupted) {
  ft_rng rng = ft_rng_make((uint64_t)getpid(), 0);
  static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP};
  for (int i = 0; i < 3; i++) {
    const char *folder = test_new_run(), *log = test_new_run();
    int status, lines = 1 + (int)ft_rng_below(&rng, 16);
    pid_t child = start(test_text("%s --out %s", short_run(), folder), log);
    if (wait_for(child, folder, lines, &status)) {
      kill(child, SIGNALS[i]);
      assert_int_equal(waitpid(child, &status, 0), child);
    }
    assert_true(WIFEXITED(status));
    owned char *text = test_read(log, NULL);
    if (WEXITSTATUS(status) == 1) {
      assert_non_null(strstr(text, "Continue with: filtra train --resume "));
      assert_non_null(strstr(text, folder));
      test_no_leftovers(folder);
    } else {
      assert_int_equal(WEXITSTATUS(status), 0); /* it was at its last step */
    }
    assert_code(resume(folder, "2>&1"), 0);
    test_same_run(reference_run(), folder);
  }
}

/* Under nohup a terminal that is closed stops nothing. */
TEST(test_nohup) {
  const char *folder = test_new_run();
  int status;
  pid_t child =
      start_in(". && trap '' HUP", test_text("%s --out %s", short_run(), folder), "/dev/null");
  if (wait_for(child, folder, 1, &status)) {
    kill(child, SIGHUP);
    assert_int_equal(waitpid(child, &status, 0), child);
  }
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  test_same_run(reference_run(), folder);
}

/* Killed again and again, at any moment, until it gets through. */
TEST(test_killed) {
  ft_rng rng = ft_rng_make((uint64_t)getpid(), 1);
  const char *folder = test_new_run();
  int status = -1;
  for (int i = 0; i < 7; i++) {
    int have = count_lines(test_path(folder, "metrics.jsonl"));
    const char *arguments =
        i == 0 ? test_text("%s --out %s", short_run(), folder) : test_text("--resume %s", folder);
    pid_t child = start(arguments, "/dev/null");
    if (!wait_for(child, folder, i == 0 ? 1 : have + (int)ft_rng_below(&rng, 5), &status)) break;
    usleep((useconds_t)ft_rng_below(&rng, 8000));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
  }
  assert_code(resume(folder, "2>&1"), 0);
  test_same_run(reference_run(), folder);
}

/* Two begin in one folder, given or by its default name, with other seeds: one has it, the other
 * says so and changes nothing. */
TEST(test_started_together) {
  for (int i = 0; i < 4; i++) {
    const char *where = test_folder();
    char folder[512];
    pid_t children[2];
    int status[2], winner;
    snprintf(folder, sizeof folder, "%s/runs/agf", where);
    for (int k = 0; k < 2; k++) {
      const char *out = i % 2 ? "" : test_text("--out %s", folder);
      children[k] = start_in(where, test_text("%s --seed %d %s", short_run(), k + 1, out),
                             test_text("log-%d", k));
    }
    for (int k = 0; k < 2; k++)
      assert_int_equal(waitpid(children[k], &status[k], 0), children[k]);
    winner = WEXITSTATUS(status[0]) != 0;
    assert_int_equal(WEXITSTATUS(status[winner]), 0);
    if (WEXITSTATUS(status[!winner]) == 0) continue; /* by a name of its own, it came later */
    assert_int_equal(WEXITSTATUS(status[!winner]), 2);
    if (winner == 0) test_same_run(reference_run(), folder);
    owned char *config = test_read(test_path(folder, "config.json"), NULL);
    assert_non_null(strstr(config, test_text("\"seed\": %d", winner + 1)));
    assert_prints(resume(folder, "2>&1"), 0, "is complete: 16 of 16 steps");
  }
}

/* Four go on with one run: one does, the others say so and change nothing. */
TEST(test_resumed_together) {
  enum { PROCESSES = 4 };
  const char *folder = test_new_run();
  pid_t children[PROCESSES];
  int status, resumed = 0;
  pid_t first = start(test_text("%s --out %s", short_run(), folder), "/dev/null");
  if (wait_for(first, folder, 3, &status)) {
    kill(first, SIGKILL);
    assert_int_equal(waitpid(first, &status, 0), first);
  }
  for (int k = 0; k < PROCESSES; k++)
    children[k] = start(test_text("--resume %s", folder), "/dev/null");
  for (int k = 0; k < PROCESSES; k++) {
    assert_int_equal(waitpid(children[k], &status, 0), children[k]);
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2));
    resumed += WEXITSTATUS(status) == 0; /* who comes when it is complete has nothing to do */
  }
  assert_true(resumed >= 1);
  test_same_run(reference_run(), folder);
}

/* Killed before there is a checkpoint, or a folder. */
TEST(test_killed_early) {
  ft_rng rng = ft_rng_make((uint64_t)getpid(), 2);
  for (int i = 0; i < 3; i++) {
    int status;
    const char *folder = test_new_run();
    pid_t child = start(test_text("%s --out %s", short_run(), folder), "/dev/null");
    usleep((useconds_t)ft_rng_below(&rng, 300000));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    bool begun = ft_file_exists(test_path(folder, "config.json"));
    assert_code(begun ? resume(folder, "2>&1") : train("", folder, "2>&1"), 0);
    test_same_run(reference_run(), folder);
  }
}

/* ---- full disks ---- */

/* A small file system in a mount namespace of the command's own. At each size something else is
 * the first not to fit; what is there when the command ends goes to `folder`. */
static int train_in(int kilobytes, const char *mounted, const char *folder) {
  const char *before = test_text(
      "unshare --map-root-user --mount sh -c 'mount -t tmpfs -o size=%dk none %s && \"$@\"; "
      "code=$?; test ! -e %s/run || cp -a %s/run %s; exit $code' sh",
      kilobytes, mounted, mounted, mounted, folder);
  return train(before, test_path(mounted, "run"), "2>&1");
}

TEST(test_no_room) {
  const char *mounted = test_folder();
  if (system("unshare --map-root-user --mount true 2>/dev/null")) {
    print_message("SKIPPED: no mount namespaces for users here\n");
    skip();
  }
  int code = -1, failures = 0;
  for (int kilobytes = 4; code && kilobytes < 1000; kilobytes += 12) {
    const char *folder = test_new_run();
    code = train_in(kilobytes, mounted, folder);
    if (!code) break;
    failures++;
    assert_prints(code, 1, "cannot ");
    assert_printed(mounted);
    assert_printed("No space left on device");
    if (!ft_file_exists(folder)) continue;
    test_no_leftovers(folder);
    assert_code(resume(folder, "2>&1"), 0);
    test_same_run(reference_run(), folder);
  }
  assert_int_equal(code, 0);
  assert_true(failures > 2);
}

/* Whichever folder cannot be brought to disk, the run can be begun again or goes on. */
TEST(test_failing_folder_syncs) {
  static const char library[] = TEST_BINARY_DIR "/failing_sync.so";
  int code;
  if (!ft_file_exists(library)) skip();
  for (int n = 1; n < 8; n++) {
    const char *folder = test_new_run();
    code = train(test_text("FAIL_FOLDER_SYNC=%d LD_PRELOAD=%s", n, library), folder, "2>&1");
    assert_prints(code, 1, "cannot sync the folder of ");
    bool begun = ft_file_exists(test_path(folder, "config.json"));
    assert_true(begun || !ft_file_exists(folder));
    assert_code(begun ? resume(folder, "2>&1") : train("", folder, "2>&1"), 0);
    test_same_run(reference_run(), folder);
  }
}

/* A data path that is relative, and a run resumed from elsewhere. */
TEST(test_any_directory) {
  const char *folder = test_new_run(), *name = strrchr(test_listops(), '/') + 1;
  const char *before = test_text("cd %s/..;", test_listops());
  const char *arguments = test_text(SHORT_RUN "--data %s --out %s --steps 1 2>&1", name, folder);
  assert_code(run(before, arguments), 0);
  test_patch(test_path(folder, "config.json"), "\"steps\": 1", "\"steps\": 2");
  assert_prints(resume(folder, "2>&1"), 2, "\"steps\" was 1 and is 2");
  /* one more step, in the tests' own directory */
  assert_code(resume(folder, "--allow-changes 2>&1"), 0);
  assert_int_equal(count_lines(test_path(folder, "metrics.jsonl")), 4);
  const char *elsewhere = test_folder();
  for (int i = 0; i < 2; i++)
    assert_code(run(test_text("cd %s;", elsewhere), test_text("%s --steps 1 2>&1", short_run())),
                0);
  assert_printed("the run is in runs/agf-2\n");
}

static json_int_t planned(const char *key) {
  json_auto_t *object = test_output_json();
  const json_t *value = json_object_get(object, key);
  json_int_t number = json_is_boolean(value) ? json_is_true(value) : json_integer_value(value);
  return number;
}

/* A language model of 50,257 words on batches of 32 x 1,024 tokens: its logits have 6.6 GB, several
 * times this device's largest buffer. */
TEST(plans_say_what_fits) {
  char text[32 * 1024 + 2];
  const char *path = test_path(test_folder(), "text.txt");
  for (size_t i = 0; i < sizeof text; i++)
    text[i] = (char)('a' + i * i % 23);
  test_write(path, text, sizeof text);
  const char *large =
      test_text("--data %s --set format=text-lm --set vocabulary=50257 --set max_length=1024 "
                "--set batch_size=32 --set width=64 --set layers=2 --plan",
                path);
  assert_code(run("", test_text("%s --json", large)), 0);
  assert_true(planned("fits"));
  assert_true(planned("activations") < INT64_C(2) << 30);
  assert_int_equal(planned("total"), planned("parameters") + planned("gradients") +
                                         planned("moments") + planned("activations") +
                                         planned("transfers"));
  /* Twelve layers: a third at most where they are computed again. */
  const char *deep = test_text("--data %s --set format=text-lm --set max_length=256 "
                               "--set batch_size=8 --set width=128 --set layers=12 --plan --json",
                               path);
  assert_code(run("", deep), 0);
  json_int_t kept = planned("activations");
  assert_code(run("", test_text("%s --set recompute=blocks", deep)), 0);
  assert_true(3 * planned("activations") <= kept);
  /* What is advised fits. */
  const char *less = test_text("%s --caps memory=100000000", deep);
  assert_code(run("", less), 0);
  assert_false(planned("fits"));
  json_auto_t *object = test_output_json();
  const char *advice = json_string_value(json_object_get(object, "advice"));
  assert_string_equal(advice, "recompute=blocks");
  assert_code(run("", test_text("%s --set recompute=blocks", less)), 0);
  assert_true(planned("fits"));
  assert_false(ft_file_exists("runs"));
}

/* A language model is measured by a sliding window, and that is not kept as its evaluation. */
TEST(test_stride) {
  const char *data = test_path(test_folder(), "text.txt"), *run = test_new_run();
  FILE *file = fopen(data, "w");
  for (int i = 0; i < 40; i++)
    fprintf(file, "to be or not to be that is question %d\n", i * i);
  fclose(file);
  assert_code(test_filtra("train --data %s --out %s --set width=16 --set layers=1 --set "
                          "max_length=16 --set steps=3 --set batch_size=4 2>&1",
                          data, run),
              0);
  assert_code(test_filtra("eval %s --split val --stride 4 --json", run), 0);
  json_auto_t *object = json_loads(test_output, 0, NULL);
  assert_int_equal(json_integer_value(json_object_get(object, "stride")), 4);
  assert_true(json_integer_value(json_object_get(object, "tokens")) > 50);
  assert_true(json_number_value(json_object_get(object, "perplexity")) > 1.0);
  assert_false(ft_file_exists(test_path(run, "eval-val.json")));
  assert_code(test_filtra("eval %s --split val --stride 17 2>&1", run), 2);
  assert_printed("stride is 17, accepted are 1 to 16, the model's max_length");
}

TEST_MAIN(NULL, test_teardown)
