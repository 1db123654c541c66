/* Several processes train one model over every MPI that is installed: the losses equal those of one
 * process with the whole batch, and the bits are the same each time and over each MPI. If a rank
 * dies, hangs or does something else, no other waits for ever and no file is damaged.
 * FILTRA_FAULTS: how many ranks are killed or stopped over each MPI (default 2). FILTRA_RANKS=all:
 * each mixer over 2 and 3 ranks and over each MPI. */
#include "base/rng.h"
#include "support/command.h"
#include "support/harness.h"
#include "support/run.h"

#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 10, FAULT_STEPS = 60 };

typedef struct mpi {
  const char *name, *run, *rank; /* rank: the variable that tells it */
} mpi;

/* Open MPI wants to be told that this is no cluster. */
static const mpi ALL[] = {
    {"Open MPI", "mpirun.openmpi --allow-run-as-root --oversubscribe", "OMPI_COMM_WORLD_RANK"},
    {"MPICH", "mpirun.mpich", "PMI_RANK"}};
static mpi mpis[FT_COUNT(ALL)];
static size_t mpi_count;

static int find_mpis(void **state) {
  (void)state;
  for (size_t i = 0; i < FT_COUNT(ALL); i++) {
    char line[256];
    snprintf(line, sizeof line, "%s -n 1 true > /dev/null 2>&1", ALL[i].run);
    const char *module = i ? "../filtra_mpich.so" : "../filtra_openmpi.so";
    if (!access(test_path(TEST_BINARY_DIR, module), R_OK) && !system(line))
      mpis[mpi_count++] = ALL[i];
    else
      fprintf(stderr, "not tested: %s, which is not installed\n", ALL[i].name);
  }
  return 0;
}

static const char *common(void) {
  static const char *cache;
  if (!cache) cache = test_folder();
  return test_text("--device cpu --cache-dir %s", cache);
}

static const char *options(const char *mixer) {
  return test_text("--mixer %s --steps %d --set width=8 --set layers=1 --set batch_size=7 "
                   "--set dropout=0.1 --set clip_norm=1 --set weight_decay=0.01 "
                   "--set eval_every=5 --set checkpoint_every=5 --set log_every=1 --data %s",
                   mixer, STEPS, test_listops());
}

/* `m` NULL: alone, without mpirun. */
static int run(const mpi *m, int ranks, const char *arguments) {
  const char *before = m ? test_text("%s -n %d", m->run, ranks) : "";
  return test_run_command(before, test_text("train %s %s 2>&1", common(), arguments));
}

static void expect(int code, int wanted) {
  if (code != wanted)
    fail_msg("exit code %d instead of %d, output:\n%s", code, wanted, test_output);
}

static void read_losses(const char *folder, double losses[STEPS]) {
  int seen = 0;
  owned char *text = test_read(test_path(folder, "metrics.jsonl"), NULL);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    json_auto_t *object = json_loads(line, 0, NULL);
    json_t *loss = json_object_get(object, "loss");
    if (loss && seen < STEPS) losses[seen++] = json_real_value(loss);
  }
  assert_int_equal(seen, STEPS);
}

static void near_losses(const char *a, const char *b, const char *what) {
  double x[STEPS], y[STEPS];
  read_losses(a, x);
  read_losses(b, y);
  for (int i = 0; i < STEPS; i++)
    if (!(fabs(x[i] - y[i]) <= 1e-6 * fabs(x[i])))
      fail_msg("%s, step %d: loss %.9f and %.9f", what, i + 1, x[i], y[i]);
}

static void same_file(const char *a, const char *b, const char *name) {
  size_t na, nb;
  owned char *x = test_read(test_path(a, name), &na), *y = test_read(test_path(b, name), &nb);
  assert_int_equal(na, nb);
  assert_memory_equal(x, y, na);
}

static void same_bits(const char *a, const char *b) {
  same_file(a, b, "model.safetensors");
  same_file(a, b, "checkpoint/state.safetensors");
}

/* ---- exactness ---- */

typedef struct trained {
  const mpi *m; /* NULL: alone */
  int ranks;
  const char *mixer, *folder;
} trained;

static trained runs[64];
static size_t run_count;

static const trained *find_run(const mpi *m, int ranks, const char *mixer) {
  for (size_t i = 0; i < run_count; i++)
    if (runs[i].m == m && runs[i].ranks == ranks && !strcmp(runs[i].mixer, mixer)) return &runs[i];
  return NULL;
}

/* Trains with options() unless some test has. */
static const char *run_of(const mpi *m, int ranks, const char *mixer) {
  const trained *known = find_run(m, ranks, mixer);
  if (known) return known->folder;
  const char *folder = test_new_run();
  expect(run(m, ranks, test_text("%s --out %s", options(mixer), folder)), 0);
  test_progress_is_true(test_output, folder);
  assert_true(run_count < FT_COUNT(runs));
  runs[run_count++] = (trained){m, ranks, mixer, folder};
  return folder;
}

static void trains_as_one(const mpi *m, int ranks, const char *mixer) {
  const char *folder = run_of(m, ranks, mixer);
  near_losses(run_of(NULL, 1, mixer), folder, mixer);
  for (size_t i = 0; i < mpi_count; i++)
    if (find_run(&mpis[i], ranks, mixer)) same_bits(run_of(&mpis[i], ranks, mixer), folder);
}

/* Without FILTRA_RANKS=all mixers take turns at 2 and 3 ranks, and but for two of them at MPIs. */
TEST(ranks_train_as_one_does) {
  static const char *const MIXERS[] = {"agf",        "softmax",     "gfsa",
                                       "plaplacian", "synvolution", "kernelution"};
  const char *text = getenv("FILTRA_RANKS");
  bool all = text && !strcmp(text, "all");
  for (size_t k = 0; k < FT_COUNT(MIXERS); k++)
    for (int ranks = 2; ranks <= 3; ranks++)
      for (size_t i = 0; i < mpi_count; i++)
        if (all || ((size_t)ranks == 2 + k % 2 && (k < 2 || k / 2 % mpi_count == i)))
          trains_as_one(&mpis[i], ranks, MIXERS[k]);
}

/* One rank under mpirun is one alone, bit for bit; parts, layers computed again and shares that
 * differ go with ranks, and to the same bits again. */
TEST(levers_and_shares_go_with_ranks) {
  const char *first = NULL;
  for (size_t i = 0; i < mpi_count; i++) {
    same_bits(run_of(NULL, 1, "agf"), run_of(&mpis[i], 1, "agf"));
    const char *folder = test_new_run();
    const char *levers = test_text("train %s %s --set accumulate=2 --set recompute=blocks --out %s",
                                   common(), options("agf"), folder);
    const char *line = test_text("%s -n 1 '%s/../filtra' %s --share 5 : -n 1", mpis[i].run,
                                 TEST_BINARY_DIR, levers);
    expect(test_run_command(line, test_text("%s --share 2 2>&1", levers)), 0);
    near_losses(run_of(NULL, 1, "agf"), folder, "shares");
    if (first) same_bits(first, folder);
    first = folder;
  }
}

/* The first half of a run, whose configuration then says that it is longer. */
static const char *half_a_run(int ranks, const char *more) {
  const char *folder = test_new_run();
  const char *half = test_text("%s --set steps=5 --out %s %s", options("agf"), folder, more);
  expect(run(&mpis[0], ranks, half), 0);
  test_patch(test_path(folder, "config.json"), "\"steps\": 5,", "\"steps\":10,");
  return folder;
}

/* The shares that were measured and noted; they make up the batch of seven. */
static const char *noted_shares(const char *folder) {
  int first = 0, second = 0;
  owned char *text = test_read(test_path(folder, "config.json"), NULL);
  json_auto_t *config = json_loads(text, 0, NULL);
  const char *shares = test_text("%s", json_string_value(json_object_get(config, "shares")));
  if (sscanf(shares, "%d:%d", &first, &second) != 2 || first < 1 || second < 1 ||
      first + second != 7)
    fail_msg("shares are %s", shares);
  return shares;
}

/* Bit for bit on as many ranks, and but for rounding on others. */
TEST(runs_go_on_with_other_ranks) {
  double x[STEPS], y[STEPS];
  if (!mpi_count) return;
  const char *other = half_a_run(3, "");
  expect(run(&mpis[0], 2, test_text("--resume %s --allow-changes", other)), 0);
  near_losses(run_of(NULL, 1, "agf"), other, "3 ranks, then 2");
  const char *same = half_a_run(2, "--share auto"), *whole = test_new_run();
  expect(run(&mpis[0], 2, test_text("--resume %s --allow-changes", same)), 0);
  const char *shares = noted_shares(same);
  assert_printed(test_text("Ranks share each batch as %s", shares));
  expect(run(&mpis[0], 2, test_text("%s --set shares=%s --out %s", options("agf"), shares, whole)),
         0);
  near_losses(run_of(NULL, 1, "agf"), same, "measured shares");
  read_losses(whole, x);
  read_losses(same, y);
  assert_memory_equal(x, y, sizeof x);
}

/* ---- faults ---- */

/* A relative path is another model where each rank has its own folder. */
TEST(ranks_that_begin_with_other_models_are_refused) {
  if (!mpi_count) return;
  const char *begins[2] = {test_new_run(), test_new_run()};
  for (int i = 0; i < 2; i++)
    expect(test_filtra("train %s %s --seed %d --out %s 2>&1", common(), options("softmax"), i + 1,
                       begins[i]),
           0);
  for (size_t i = 0; i < mpi_count; i++) {
    const char *folder = test_new_run();
    const char *own = test_text("train %s %s --init-from model.safetensors --out %s 2>&1", common(),
                                options("softmax"), folder);
    const char *line = test_text("%s -n 1 -wdir %s '%s/../filtra' %s : -n 1 -wdir %s", mpis[i].run,
                                 begins[0], TEST_BINARY_DIR, own, begins[1]);
    expect(test_run_command(line, own), 5);
    assert_printed("begins with another model (\"init_from\" ");
    assert_int_not_equal(access(folder, F_OK), 0);
  }
}

TEST(ranks_of_other_runs_are_refused) {
  for (size_t i = 0; i < mpi_count; i++) {
    const char *folder = test_new_run();
    const char *line = test_text("%s -n 1 '%s/../filtra' train %s %s --out %s : -n 1", mpis[i].run,
                                 TEST_BINARY_DIR, common(), options("agf"), folder);
    const char *other =
        test_text("train %s %s --seed 2 --out %s 2>&1", common(), options("agf"), folder);
    expect(test_run_command(line, other), 5);
    assert_printed("has other settings, data or another version of filtra");
    assert_int_not_equal(access(folder, F_OK), 0);
  }
  if (!mpi_count) return;
  expect(run(&mpis[0], 2, options("agf")), 2);
  assert_printed("need --out");
  const char *few = test_text("%s --set batch_size=2 --out %s", options("agf"), test_new_run());
  expect(run(&mpis[0], 3, few), 2);
  assert_printed("take a larger batch");
}

static pid_t start(const mpi *m, const char *arguments, const char *pids) {
  fflush(NULL); /* the child writes what it finds in buffers */
  pid_t child = fork();
  if (child) return child;
  freopen(test_path(pids, "log"), "w", stdout);
  dup2(1, 2);
  execl("/bin/sh", "sh", "-c",
        test_text("exec %s -n 2 sh -c 'echo $$ > %s/pid.$%s; exec \"%s/../filtra\" train %s %s'",
                  m->run, pids, m->rank, TEST_BINARY_DIR, common(), arguments),
        (char *)NULL);
  _exit(127);
}

static int lines_of(const char *path) {
  FILE *file = fopen(path, "r");
  int lines = 0;
  for (int c; file && (c = fgetc(file)) != EOF;)
    lines += c == '\n';
  if (file) fclose(file);
  return lines;
}

static pid_t pid_of(const char *pids, int rank) {
  FILE *file = fopen(test_path(pids, test_text("pid.%d", rank)), "r");
  long pid = 0;
  if (file && fscanf(file, "%ld", &pid) != 1) pid = 0;
  if (file) fclose(file);
  return (pid_t)pid;
}

/* Whether it ended within so many hundredths of a second. */
static bool ends_within(pid_t child, int hundredths, int *status) {
  for (int i = 0; i < hundredths; i++) {
    if (waitpid(child, status, WNOHANG) == child) return true;
    usleep(10000);
  }
  return false;
}

/* mpirun may end before its ranks have, which hold the run's folder till then. */
static void end_ranks(const char *pids) {
  for (int rank = 0; rank < 2; rank++) {
    pid_t pid = pid_of(pids, rank);
    for (int i = 0; i < 500 && pid > 0 && !kill(pid, SIGKILL); i++)
      usleep(10000);
  }
}

typedef enum outcome { HIT, COMPLETE, LATE } outcome;

static void read_log(const char *pids) {
  owned char *log = test_read(test_path(pids, "log"), NULL);
  snprintf(test_output, sizeof test_output, "%s", log);
}

/* How a run ended by itself: complete, or, on a machine with other work, beyond its deadline. */
static outcome own_end(const char *pids, int status) {
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  read_log(pids);
  if (code == 5 && strstr(test_output, " waited ")) return LATE;
  expect(code, 0);
  return COMPLETE;
}

/* Begins a run or goes on with it, and kills or stops a rank a while after new steps were logged.
 */
static outcome hit_a_rank(const mpi *m, const char *options_of_new, const char *folder, bool stop,
                          ft_rng *rng) {
  const char *pids = test_folder(), *metrics = test_path(folder, "metrics.jsonl");
  bool begun = !access(test_path(folder, "config.json"), R_OK), ended = false;
  const char *arguments = begun ? test_text("--resume %s --deadline 2", folder)
                                : test_text("%s --out %s --deadline 2", options_of_new, folder);
  int before = lines_of(metrics), status = 0;
  pid_t child = start(m, arguments, pids);
  for (int w = 0; w < 6000 && lines_of(metrics) <= before && !ended; w++)
    ended = ends_within(child, 1, &status);
  if (ended) return own_end(pids, status);
  usleep((useconds_t)ft_rng_below(rng, 300000));
  int which = (int)ft_rng_below(rng, 2);
  pid_t rank = pid_of(pids, which), other = pid_of(pids, 1 - which);
  assert_true(rank > 0 && other > 0);
  kill(rank, stop ? SIGSTOP : SIGKILL);
  for (int w = 0; w < 3000 && !kill(other, 0) && !ended; w++)
    ended = ends_within(child, 1, &status);
  if (!ended) ended = ends_within(child, 200, &status);
  bool waits = !ended && !kill(other, 0); /* else it was stopped behind the run's end */
  end_ranks(pids);
  if (!ended) ended = ends_within(child, 1000, &status);
  if (!ended) kill(child, SIGKILL);
  if (!ended || waits) {
    read_log(pids);
    fail_msg("%s: rank %d %s, %s waits, output:\n%s", m->name, which, stop ? "stopped" : "killed",
             waits ? "the other" : "mpirun", test_output);
  }
  return HIT;
}

/* What is left can be resumed each time, and in the end the run is that of ranks that nothing
 * happened to, whichever MPI they had. A run that is complete gives way to a new one. */
TEST(no_fault_hangs_or_breaks_a_run) {
  const char *text = getenv("FILTRA_FAULTS"), *whole = test_new_run();
  int faults = text ? atoi(text) : 2;
  ft_rng rng = ft_rng_make((uint64_t)getpid(), 3);
  char all[4096];
  snprintf(all, sizeof all, "%s --set steps=%d --set checkpoint_every=2", options("agf"),
           FAULT_STEPS);
  if (!mpi_count) return;
  expect(run(&mpis[0], 2, test_text("%s --out %s", all, whole)), 0);
  for (size_t i = 0; i < mpi_count; i++) {
    const char *folder = test_new_run();
    for (int k = 0, tries = 0; k < faults; tries++) {
      assert_true(tries < 4 * faults + 4);
      outcome o = hit_a_rank(&mpis[i], all, folder, k % 2, &rng);
      if (o == HIT) k++;
      if (o != COMPLETE) continue;
      same_bits(whole, folder);
      folder = test_new_run();
    }
    if (access(test_path(folder, "config.json"), R_OK)) continue;
    expect(run(&mpis[i], 2, test_text("--resume %s", folder)), 0);
    same_bits(whole, folder);
    printf("%s: %d faults\n", mpis[i].name, faults);
  }
}

/* Two drivers that round differently in one run: a step's weights are compared on all ranks before
 * each checkpoint. FILTRA_ICD_DIR has another lvp.json than the system's. */
TEST(drivers_may_differ) {
  static const char SYSTEM[] = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
  const char *icds = getenv("FILTRA_ICD_DIR");
  const char *other = icds ? test_path(icds, "lvp.json") : "";
  if (access(SYSTEM, R_OK) || access(other, R_OK)) skip();
  if (!mpi_count) skip();
  const char *all =
      test_text("%s --set steps=100 --set eval_every=50 --out %s", options("agf"), test_new_run());
  const char *line = test_text("%s -n 1 env VK_DRIVER_FILES=%s VK_ICD_FILENAMES=%s "
                               "'%s/../filtra' train %s %s : -n 1 env VK_DRIVER_FILES=%s",
                               mpis[0].run, SYSTEM, SYSTEM, TEST_BINARY_DIR, common(), all, other);
  expect(test_run_command(line, test_text("train %s %s 2>&1", common(), all)), 0);
}

TEST_MAIN(find_mpis, test_teardown)
