/* Every call that can fail, in turn, through whole runs of the command:
 *
 *   faults_sweep [--every N] [--most N] [--once 1] [--kind KIND] [--task TASK] [--table FILE]
 *
 * of each kind of call and each task every N-th one (1), at most so many (all), each once and for
 * good, or (--once) one of both; the table goes to FILE as Markdown. After each: the exit code is a
 * documented one, one sentence says why, no block is leaked, no temporary is left, and the task,
 * done again without a fault (a run resumed), gives the bits that it gives where nothing ever
 * failed. Exit code 1 where one did not, each of which is printed. */
#include "base/status.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRAIN                                                                                      \
  "train --data %W/data --mixer agf --steps 4 --set width=8 --set layers=1 --set batch_size=16 "   \
  "--set eval_every=2 --set checkpoint_every=1 --set log_every=1 --set dropout=0.1 "

typedef struct task {
  const char *name;
  const char *prepare; /* shell; %W is the working folder, %F the command */
  const char *arguments;
  const char *again;   /* shell, without a fault: what a user does next */
  const char *compare; /* shell: prints what must be the same as without faults */
} task;

#define RESULT "cat %W/run/model.safetensors %W/run/checkpoint/state.safetensors | cksum"
#define COPY   "rm -rf %W/run && cp -r %W/trained %W/run"
static const task tasks[] = {
    {"train", "rm -rf %W/run", TRAIN "--out %W/run",
     "if [ -e %W/run/config.json ]; then %F train --resume %W/run; else %F " TRAIN
     "--out %W/run; fi",
     RESULT},
    {"resume", "rm -rf %W/run && cp -r %W/stopped %W/run", "train --resume %W/run",
     "%F train --resume %W/run", RESULT},
    {"eval", COPY, "eval %W/run --json", "%F eval %W/run --json", "cat %W/out"},
    {"predict", COPY, "predict %W/run --input %W/lines --json",
     "%F predict %W/run --input %W/lines --json", "cat %W/out"},
    {"generate", "rm -rf %W/run && cp -r %W/language %W/run",
     "generate %W/run --prompt ab --tokens 8", "%F generate %W/run --prompt ab --tokens 8",
     "cat %W/out"},
    {"tune", "rm -rf %W/run && mkdir %W/run",
     "tune --quick --ops chain --config %W/small.json --data %W/data --cache-dir %W/run",
     "%F tune --list --cache-dir %W/run", "echo listed"},
    {"bench", "rm -rf %W/run && mkdir %W/run",
     "bench --quick --ops dropout --out %W/run/bench.json",
     "%F compare %W/run/bench.json -o %W/run/page.html || test ! -e %W/run/bench.json",
     "echo whole"},
    {"report", COPY, "report %W/run --json", "%F report %W/run --json", "cat %W/out"},
    {"sweep", "rm -rf %W/run", "sweep %W/sweep.json --out %W/run",
     "%F sweep %W/sweep.json --out %W/run",
     "cd %W/run/d-agf-seed=1 && cat model.safetensors checkpoint/state.safetensors eval-test.json "
     "| cksum"},
    {"merge", "true", "report %W/report.json --json", "%F report %W/report.json --json",
     "cat %W/out"},
    {"inspect", "rm -rf %W/run", "data inspect %W/data --json", "%F data inspect %W/data --json",
     "cat %W/out"},
};

static const struct {
  const char *name, *what;
  int codes[4]; /* besides 0 where the result is right all the same; ends with 0 */
} kinds[] = {
    {"memory", "an allocation of Filtra, Jansson, libpng or zlib", {1}},
    {"open", "opening a file", {1}},
    {"examine", "asking for a file's size and kind", {1}},
    {"read", "reading a file", {1}},
    {"list", "listing a folder", {1, 2}},
    {"write", "writing to a file or a stream", {1}},
    {"shorten", "shortening a file", {1}},
    {"lock", "locking a file", {1, 2}},
    {"sync", "bringing a file or a folder to disk", {1}},
    {"rename", "renaming a file", {1}},
    {"folder", "making a folder", {1}},
    {"thread", "beginning a thread", {1}},
    {"vk-host", "a call of Vulkan: out of host memory", {1, 3}},
    {"vk-device", "a call of Vulkan: out of device memory", {1, 3}},
    {"vk-lost", "a call of Vulkan: device lost", {4, 1, 3}},
    {"vk-failed", "a call of Vulkan: initialization failed", {1, 3}},
};

typedef struct counts {
  long calls, injected, documented, lost;
} counts;

static char folder[256], command[512];

/* `text` with %W and %F replaced. */
static const char *expand(const char *text, const char *filtra) {
  static char out[4][4096];
  static int next;
  char *to = out[next++ % 4];
  size_t n = 0;
  for (; *text; text++) {
    if (*text != '%' || (text[1] != 'W' && text[1] != 'F')) {
      to[n++] = *text;
      continue;
    }
    n += (size_t)snprintf(to + n, sizeof out[0] - n, "%s", *++text == 'W' ? folder : filtra);
  }
  to[n] = '\0';
  return to;
}

static int shell(const char *format, ...) FT_PRINTF(1, 2);
static int shell(const char *format, ...) {
  char line[8192];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  int status = system(line);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static void need(int code, const char *what) {
  if (!code) return;
  fprintf(stderr, "faults: %s failed: exit code %d; %s/err says why\n", what, code, folder);
  exit(2);
}

/* The plain command, with the pipelines that were compiled before. */
static const char *plain(void) {
  static char text[1024];
  snprintf(text, sizeof text, "env FILTRA_CACHE_DIR=%s/cache FILTRA_DEVICE=cpu %s", folder,
           command);
  return text;
}

static void read_text(const char *name, char *text, size_t size) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *stream = fopen(path, "r");
  size_t got = stream ? fread(text, 1, size - 1, stream) : 0;
  text[got] = '\0';
  if (stream) fclose(stream);
}

/* Sentences that say why: "filtra NAME: ...", or "filtra: ..." of standard output. */
static int sentences(const task *t, const char *text) {
  char begin[64];
  int count = 0;
  snprintf(begin, sizeof begin, "filtra %s", t->arguments);
  *strchr(begin + 7, ' ') = '\0';
  for (const char *line = text; line && *line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (!strncmp(line, "filtra: cannot", 14)) count++;
    if (!strncmp(line, begin, strlen(begin)) && strcspn(line, "\n") > strlen(begin) + 12) count++;
  }
  return count;
}

/* One run with one fault. */
static void inject(const task *t, size_t k, long n, bool lasting, long leaks, const char *wanted,
                   counts *c) {
  char log[512], err[8192], got[16384];
  int fired = 0, documented;
  long blocks = 0;
  shell("%s; rm -f %s/log", expand(t->prepare, ""), folder);
  int code =
      shell("FAULT=%s:%ld%s FAULT_LOG=%s/log %s %s >%s/out 2>%s/err </dev/null", kinds[k].name, n,
            lasting ? "+" : "", folder, plain(), expand(t->arguments, ""), folder, folder);
  read_text("log", log, sizeof log);
  read_text("err", err, sizeof err);
  bool ended = sscanf(log, "%d %ld", &fired, &blocks) == 2;
  if (ended && !fired) return; /* threads do not always make as many calls */
  c->injected++;
  documented = !code;
  for (int i = 0; i < 4 && kinds[k].codes[i]; i++)
    if (code == kinds[k].codes[i]) documented = 1;
  if (code && sentences(t, err) != 1) documented = 0;
  bool leaked = ended && blocks > leaks;
  int after = shell("%s >%s/out 2>%s/err2 </dev/null", expand(t->again, plain()), folder, folder);
  int left = shell("test -z \"$(find %s/run -name '*.tmp' 2>/dev/null)\"", folder);
  need(shell("( %s ) >%s/got", expand(t->compare, ""), folder), "comparing");
  read_text("got", got, sizeof got);
  bool same = !after && !left && !strcmp(got, wanted);
  c->documented += documented && !leaked;
  c->lost += !same;
  if (documented && same && !leaked) return;
  printf("%s, %s %ld%s: exit code %d%s%s%s; afterwards %d\n  %s\n", t->name, kinds[k].name, n,
         lasting ? " and on" : "", code, documented ? "" : ", not as documented",
         leaked ? ", blocks leaked" : "", same ? "" : ", RESULT LOST", after, err);
  fflush(stdout);
}

/* How many calls of each kind a task makes, and how many blocks it never frees. */
static long count_calls(const task *t, counts c[FT_COUNT(kinds)]) {
  char log[512], *at = log;
  need(shell("FAULT=vk-host:1000000000 FAULT_LOG=%s/log %s %s >%s/out 2>%s/err", folder, plain(),
             expand(t->arguments, ""), folder, folder),
       t->name);
  read_text("log", log, sizeof log);
  strtol(at, &at, 10);
  long leaks = strtol(at, &at, 10);
  for (size_t k = 0; k < FT_COUNT(kinds); k++)
    c[k].calls = strtol(at, &at, 10);
  need(!*log, "counting");
  return leaks;
}

static void prepare(void) {
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/filtra-faults-XXXXXX", tmp ? tmp : "/tmp");
  need(!mkdtemp(folder), "making a folder");
  need(shell("cd %s && mkdir cache language-data && i=0 && while [ $i -lt 60 ]; do "
             "echo \"ab cd ef gh $i\"; i=$((i+1)); done >language-data/train.txt && "
             "cp language-data/train.txt language-data/valid.txt && "
             "printf '[MAX 2 9 ]\\n[SM 1 2 ]\\n' >lines && "
             "echo '{\"mixer\": \"synvolution\", \"width\": 8, \"layers\": 1, \"batch_size\": 2}'"
             " >small.json",
             folder),
       "making data");
  need(shell("%s data listops --out %s/data --train 48 --val 16 --test 16 --min-length 5 "
             "--max-length 17 --max-depth 4 --max-args 4 --seed 4 2>%s/err >&2",
             plain(), folder, folder),
       "making ListOps");
  need(shell("%s %s --out %s/trained >%s/err 2>&1", plain(), expand(TRAIN, ""), folder, folder),
       "training");
  need(shell("%s train --data %s/language-data --mixer softmax --steps 2 --set width=8 "
             "--set layers=1 --set max_length=16 --set tokenizer=characters --set batch_size=8 "
             "--set eval_every=1 --out %s/language >%s/err 2>&1",
             plain(), folder, folder, folder),
       "training a language model");
  need(shell("%s report %s/trained --json >%s/report.json", plain(), folder, folder), "reporting");
  need(shell("echo '{\"datasets\": {\"d\": {\"data\": \"%s/data\"}}, \"mixers\": [\"agf\"], "
             "\"seeds\": [1], \"config\": {\"steps\": 2, \"width\": 8, \"layers\": 1, "
             "\"batch_size\": 16}}' >%s/sweep.json",
             folder, folder),
       "describing a sweep");
  /* stopped by a disk that fails at the third checkpoint */
  for (int n = 9; n < 40 && access(expand("%W/stopped/checkpoint/state.safetensors", ""), R_OK);
       n++)
    shell("rm -rf %s/stopped; FAULT=sync:%d %s %s --out %s/stopped >%s/err 2>&1", folder, n,
          plain(), expand(TRAIN, ""), folder, folder);
  need(access(expand("%W/stopped/checkpoint/state.safetensors", ""), R_OK), "stopping a run");
}

static void write_table(const char *path, const char *how,
                        const counts c[FT_COUNT(tasks)][FT_COUNT(kinds)]) {
  FILE *stream = path ? fopen(path, "w") : stdout;
  need(!stream, "writing the table");
  fprintf(
      stream,
      "# Faults\n\nMade by `build/tests/faults_sweep%s --table docs/faults.md`: whole runs of the "
      "command, in\neach of which one call failed, or all from that one on. As documented: the "
      "exit code is the\nREADME's, one sentence says why, no memory is leaked; 0 where the "
      "result is right all the same\n(a cache that could not be written). Lost: what was done "
      "again without the fault, or resumed, did\nnot give the bits of a run in which nothing "
      "failed.\n\n| what fails | in | calls | injected | as documented | lost |\n"
      "|---|---|---:|---:|---:|---:|\n",
      how);
  for (size_t k = 0; k < FT_COUNT(kinds); k++)
    for (size_t t = 0; t < FT_COUNT(tasks); t++)
      if (c[t][k].calls || c[t][k].injected)
        fprintf(stream, "| %s | %s | %ld | %ld | %ld | %ld |\n", kinds[k].what, tasks[t].name,
                c[t][k].calls, c[t][k].injected, c[t][k].documented, c[t][k].lost);
  if (path) fclose(stream);
}

int main(int count, char **arguments) {
  static counts c[FT_COUNT(tasks)][FT_COUNT(kinds)];
  long every = 1, most = 0, bad = 0, injected = 0;
  int once = 0;
  const char *only_kind = NULL, *only_task = NULL, *table = NULL;
  for (int i = 1; i + 1 < count; i += 2) {
    const char *name = arguments[i], *value = arguments[i + 1];
    if (!strcmp(name, "--once")) once = atoi(value);
    if (!strcmp(name, "--every")) every = atol(value);
    if (!strcmp(name, "--most")) most = atol(value);
    if (!strcmp(name, "--kind")) only_kind = value;
    if (!strcmp(name, "--task")) only_task = value;
    if (!strcmp(name, "--table")) table = value;
  }
  char how[128];
  snprintf(how, sizeof how, " --every %ld --most %ld --once %d", every, most, once);
  snprintf(command, sizeof command, "%s", FAULTY_COMMAND);
  prepare();
  for (size_t t = 0; t < FT_COUNT(tasks); t++) {
    char wanted[16384];
    if (only_task && strcmp(only_task, tasks[t].name)) continue;
    shell("%s", expand(tasks[t].prepare, ""));
    long leaks = count_calls(&tasks[t], c[t]);
    need(shell("%s >%s/out 2>%s/err", expand(tasks[t].again, plain()), folder, folder), "again");
    need(shell("( %s ) >%s/got", expand(tasks[t].compare, ""), folder), "comparing");
    read_text("got", wanted, sizeof wanted);
    for (size_t k = 0; k < FT_COUNT(kinds); k++) {
      counts *here = &c[t][k];
      if (only_kind && strcmp(only_kind, kinds[k].name)) continue;
      long calls_here = here->calls, step = every;
      if (most && calls_here > most * step) step = (calls_here + most - 1) / most;
      for (long n = 1 + (long)(t + k) % step; n <= calls_here; n += step)
        for (int lasting = once; lasting < 2; lasting++)
          inject(&tasks[t], k, n, lasting && (!once || (t + k) % 2), leaks, wanted, here);
      injected += here->injected;
      bad += here->injected - here->documented + here->lost;
    }
    if (table)
      write_table(table, how, (const counts(*)[FT_COUNT(kinds)])c); /* what is done is kept */
  }
  if (!table) write_table(NULL, how, (const counts(*)[FT_COUNT(kinds)])c);
  shell("rm -rf %s", folder);
  printf("%ld faults, %ld not as they should be\n", injected, bad);
  return bad || !injected;
}
