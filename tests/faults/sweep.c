/* Makes every call that can fail do so, one after the other, in whole runs of the command:
 *
 *   faults_sweep [--every N] [--most N] [--once 1] [--kind KIND] [--task TASK] [--table FILE]
 *                [--keep FILE]
 *
 * For each kind of call and each task, takes every N-th place (default 1) that no earlier task
 * reached, at most --most of them (default all). At each place it makes the first call fail and, if
 * there are several, the last; each alone, and with all later calls of the kind; with --once only
 * one of these. --table writes the table to FILE as Markdown. --keep stores finished kinds in FILE;
 * a second start of the same programs skips these. After each fault the exit code must be a
 * documented one; with 0 the output must be complete, else one sentence must give the reason. No
 * block may leak and no temporary file remain, and the task repeated without a fault (a run:
 * resumed) must give the same bits as if nothing had failed. Prints each fault that violates this;
 * the exit code is then 1. */
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

#define RESULT  "cat %W/run/model.safetensors %W/run/checkpoint/state.safetensors | cksum"
#define PRINTED "cat %W/out"
#define COPY    "rm -rf %W/run && cp -r %W/trained %W/run"
/* Cheap ones first: what they share is theirs. */
static const task tasks[] = {
    {"inspect", "rm -rf %W/run", "data inspect %W/data --json", "%F data inspect %W/data --json",
     PRINTED},
    {"packed", "true", "data inspect %W/packed.csv.gz --json",
     "%F data inspect %W/packed.csv.gz --json", PRINTED},
    {"images", "true", "data inspect %W/images --image-size 4 --json",
     "%F data inspect %W/images --image-size 4 --json", PRINTED},
    {"report", COPY, "report %W/run --json", "%F report %W/run --json", PRINTED},
    {"merge", "true", "report %W/report.json --json", "%F report %W/report.json --json", PRINTED},
    {"predict", COPY, "predict %W/run --input %W/lines --json",
     "%F predict %W/run --input %W/lines --json", PRINTED},
    {"eval", COPY, "eval %W/run --json", "%F eval %W/run --json", PRINTED},
    {"import", "rm -rf %W/run", "import %W/bert --out %W/run",
     "test -e %W/run/config.json || %F import %W/bert --out %W/run",
     "cat %W/run/model.safetensors %W/run/tokenizer.json %W/run/config.json | cksum"},
    {"export", "rm -rf %W/run", "export %W/imported %W/run",
     "test -e %W/run/config.json || %F export %W/imported %W/run", "cat %W/run/*.* | cksum"},
    {"generate", "rm -rf %W/run && cp -r %W/language %W/run",
     "generate %W/run --prompt ab --tokens 8", "%F generate %W/run --prompt ab --tokens 8",
     PRINTED},
    {"sweep", "rm -rf %W/run", "sweep %W/sweep.json --out %W/run",
     "%F sweep %W/sweep.json --out %W/run",
     "cd %W/run/d-agf-seed=1 && cat model.safetensors checkpoint/state.safetensors eval-test.json "
     "| cksum"},
    {"resume", "rm -rf %W/run && cp -r %W/stopped %W/run", "train --resume %W/run",
     "%F train --resume %W/run", RESULT},
    {"train", "rm -rf %W/run", TRAIN "--out %W/run",
     "if [ -e %W/run/config.json ]; then %F train --resume %W/run; else %F " TRAIN
     "--out %W/run; fi",
     RESULT},
    {"tune", "rm -rf %W/run && mkdir %W/run",
     "tune --quick --ops chain --config %W/small.json --data %W/data --cache-dir %W/run",
     "%F tune --list --cache-dir %W/run", "echo listed"},
    {"bench", "rm -rf %W/run && mkdir %W/run",
     "bench --quick --ops dropout --out %W/run/bench.json",
     "%F compare %W/run/bench.json -o %W/run/page.html || test ! -e %W/run/bench.json",
     "echo whole"},
};

static const struct {
  const char *name, *what;
  int codes[4]; /* besides 0 where the result is right all the same; ends with 0 */
} kinds[] = {
    {"memory", "an allocation of Filtra, Jansson, libpng, libjpeg or zlib", {1}},
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
  long calls, places, injected, documented, lost;
} counts;

/* Where a task makes calls of a kind, in the order of the first; see inject.c. */
typedef struct place {
  size_t kind;
  long order;
  unsigned long long id;
  long calls;
} place;
enum { MOST_PLACES = 1 << 16 };
static place places[MOST_PLACES]; /* of this task alone, by kind */
static size_t place_count;
static place earlier[MOST_PLACES]; /* of tasks before it */
static size_t earlier_count;

static struct {
  long every, most;
  int once;
  const char *kind, *task, *table, *keep;
} chosen = {.every = 1};

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

/* Sentences that say why: "filtra NAME: ...", or "filtra: ..." of standard output. That a result is
 * not kept in the run's folder is said before it is printed, and is no reason to fail. */
static int sentences(const task *t, const char *text) {
  char begin[64];
  int count = 0;
  snprintf(begin, sizeof begin, "filtra %s", t->arguments);
  *strchr(begin + 7, ' ') = '\0';
  for (const char *line = text; line && *line; line = strchr(line, '\n')) {
    line += *line == '\n';
    if (!strncmp(line, "filtra: cannot", 14)) count++;
    if (!strncmp(line, "filtra eval: the result is not kept", 35)) continue;
    if (!strncmp(line, begin, strlen(begin)) && strcspn(line, "\n") > strlen(begin) + 12) count++;
  }
  return count;
}

/* One run with one fault. */
static void inject(const task *t, const place *p, long n, bool lasting, long leaks,
                   const char *wanted, counts *c) {
  size_t k = p->kind;
  char log[512], err[8192], got[16384];
  int fired = 0, documented;
  long blocks = 0;
  shell("%s; rm -f %s/log", expand(t->prepare, ""), folder);
  int code = shell("FAULT=%s@%llx:%ld%s FAULT_LOG=%s/log %s %s >%s/out 2>%s/err </dev/null",
                   kinds[k].name, p->id, n, lasting ? "+" : "", folder, plain(),
                   expand(t->arguments, ""), folder, folder);
  read_text("log", log, sizeof log);
  read_text("err", err, sizeof err);
  bool ended = sscanf(log, "%d %ld", &fired, &blocks) == 2;
  if (ended && !fired) return; /* threads do not always make as many calls */
  c->injected++;
  documented = !code;
  for (int i = 0; i < 4 && kinds[k].codes[i]; i++)
    if (code == kinds[k].codes[i]) documented = 1;
  if (code && sentences(t, err) != 1) documented = 0;
  if (!code && !strcmp(t->compare, PRINTED)) { /* then nothing may be missing */
    read_text("out", got, sizeof got);
    if (strcmp(got, wanted)) documented = 0;
  }
  bool leaked = ended && blocks > leaks;
  int after =
      shell("( %s ) >%s/out 2>%s/err2 </dev/null", expand(t->again, plain()), folder, folder);
  int left = shell("test -z \"$(find %s/run -name '*.tmp' 2>/dev/null)\"", folder);
  need(shell("( %s ) >%s/got", expand(t->compare, ""), folder), "comparing");
  read_text("got", got, sizeof got);
  bool same = !after && !left && !strcmp(got, wanted);
  c->documented += documented && !leaked;
  c->lost += !same;
  if (documented && same && !leaked) return;
  printf("%s, %s@%llx:%ld%s: exit code %d%s%s%s; afterwards %d\n  %s\n", t->name, kinds[k].name,
         p->id, n, lasting ? " and on" : "", code, documented ? "" : ", not as documented",
         leaked ? ", blocks leaked" : "", same ? "" : ", RESULT LOST", after, err);
  fflush(stdout);
}

static int by_order(const void *a, const void *b) {
  const place *p = a, *q = b;
  if (p->kind != q->kind) return p->kind < q->kind ? -1 : 1;
  return (p->order > q->order) - (p->order < q->order);
}

static bool is_new(const place *p) {
  for (size_t i = 0; i < earlier_count; i++)
    if (earlier[i].kind == p->kind && earlier[i].id == p->id) return false;
  return true;
}

/* Finds the places that only this task comes by so far, and how many blocks it never frees. */
static long find_places(const task *t, counts c[FT_COUNT(kinds)]) {
  int fired;
  long leaks;
  need(shell("FAULT_LOG=%s/log %s %s >%s/out 2>%s/err", folder, plain(), expand(t->arguments, ""),
             folder, folder),
       t->name);
  FILE *stream = fopen(expand("%W/log", ""), "r");
  need(!stream || fscanf(stream, "%d %ld", &fired, &leaks) != 2, "counting");
  place p;
  place_count = 0;
  while (fscanf(stream, "%zu %ld %llx %ld", &p.kind, &p.order, &p.id, &p.calls) == 4) {
    need(p.kind >= FT_COUNT(kinds) || place_count == MOST_PLACES, "counting");
    c[p.kind].calls += p.calls;
    if (!is_new(&p)) continue;
    c[p.kind].places++;
    places[place_count++] = p;
  }
  fclose(stream);
  qsort(places, place_count, sizeof *places, by_order);
  need(earlier_count + place_count > MOST_PLACES, "counting");
  memcpy(earlier + earlier_count, places, place_count * sizeof *places);
  earlier_count += place_count;
  return leaks;
}

/* Which of them fail, and how; `c` has the count of places. */
static void inject_kind(const task *t, size_t k, const char *wanted, long leaks, counts *c) {
  size_t seed = (size_t)(t - tasks) + k;
  long step = chosen.every;
  if (chosen.most && c->places > chosen.most * step)
    step = (c->places + chosen.most - 1) / chosen.most;
  const place *first = places;
  while (first < places + place_count && first->kind != k)
    first++;
  for (long i = (long)seed % step; i < c->places; i += step) {
    const place *p = &first[i];
    size_t way = (size_t)(i / step) + seed;
    if (chosen.once) {
      inject(t, p, way / 2 % 2 ? p->calls : 1, way % 2, leaks, wanted, c);
      continue;
    }
    for (int lasting = 0; lasting < 2; lasting++) {
      inject(t, p, 1, lasting, leaks, wanted, c);
      if (p->calls > 1) inject(t, p, p->calls, lasting, leaks, wanted, c);
    }
  }
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
  need(
      shell(
          "cd %s && printf 'text,label\\na good one,yes\\nbad ones,no\\n' | gzip >packed.csv.gz && "
          "mkdir -p images/train/a images/train/b && cp " FAULTY_SEEDS "/png/alpha "
          "images/train/a/1.png && cp " FAULTY_SEEDS "/png/interlaced images/train/b/1.png && "
          "cp " FAULTY_SEEDS "/jpeg/progressive images/train/a/2.jpg && cp " FAULTY_SEEDS
          "/jpeg/rgb images/train/b/2.jpg",
          folder),
      "making files that libraries read");
  need(shell("mkdir %s/bert && cp " FAULTY_SEEDS "/../../golden/pretrained/bert/*.* %s/bert/ && rm "
             "%s/bert/golden.safetensors && "
             "printf '[PAD]\\n[UNK]\\n[CLS]\\n[SEP]\\na\\nb\\n' >%s/bert/vocab.txt && "
             "%s import %s/bert --mixer gfsa --out %s/imported 2>%s/err >&2",
             folder, folder, folder, folder, plain(), folder, folder, folder),
       "importing a model");
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

static void write_table(const char *how, const counts c[FT_COUNT(tasks)][FT_COUNT(kinds)]) {
  FILE *stream = chosen.table ? fopen(chosen.table, "w") : stdout;
  need(!stream, "writing the table");
  fprintf(stream,
          "Made by `build/tests/faults_sweep%s`; docs/faults.md says what the columns are.\n\n"
          "| what fails | in | calls | places | injected | as documented | lost |\n"
          "|---|---|---:|---:|---:|---:|---:|\n",
          how);
  for (size_t k = 0; k < FT_COUNT(kinds); k++)
    for (size_t t = 0; t < FT_COUNT(tasks); t++)
      if (c[t][k].calls || c[t][k].injected)
        fprintf(stream, "| %s | %s | %ld | %ld | %ld | %ld | %ld |\n", kinds[k].what, tasks[t].name,
                c[t][k].calls, c[t][k].places, c[t][k].injected, c[t][k].documented, c[t][k].lost);
  if (chosen.table) need(fclose(stream), "writing the table");
}

/* ---- what is kept ---- */

/* The first line says of which programs and options the others tell. */
static void kept_header(char *line, size_t size, const char *how) {
  char sum[64];
  need(shell("cksum <%s >%s/got", command, folder), "reading the command");
  read_text("got", sum, sizeof sum);
  snprintf(line, size, "%s; %s", how, sum);
}

static void read_kept(const char *how, counts c[FT_COUNT(tasks)][FT_COUNT(kinds)],
                      bool done[FT_COUNT(tasks)][FT_COUNT(kinds)]) {
  char header[256], line[256] = "";
  size_t t, k;
  counts got;
  if (!chosen.keep) return;
  kept_header(header, sizeof header, how);
  FILE *stream = fopen(chosen.keep, "r");
  if (stream && fgets(line, sizeof line, stream) && !strcmp(line, header))
    while (fscanf(stream, "%zu %zu %ld %ld %ld %ld %ld", &t, &k, &got.calls, &got.places,
                  &got.injected, &got.documented, &got.lost) == 7) {
      need(t >= FT_COUNT(tasks) || k >= FT_COUNT(kinds), "reading what is kept");
      c[t][k] = got;
      done[t][k] = true;
    }
  if (stream) fclose(stream);
  if (!strcmp(line, header)) return;
  stream = fopen(chosen.keep, "w");
  need(!stream || fputs(header, stream) < 0 || fclose(stream), "keeping what is done");
}

static void keep(size_t t, size_t k, const counts *c) {
  FILE *stream = chosen.keep ? fopen(chosen.keep, "a") : NULL;
  if (!chosen.keep) return;
  need(!stream, "keeping what is done");
  fprintf(stream, "%zu %zu %ld %ld %ld %ld %ld\n", t, k, c->calls, c->places, c->injected,
          c->documented, c->lost);
  need(fclose(stream), "keeping what is done");
}

static void do_task(size_t t, counts c[FT_COUNT(kinds)], bool done[FT_COUNT(kinds)]) {
  counts found[FT_COUNT(kinds)] = {{0}};
  char wanted[16384];
  shell("%s", expand(tasks[t].prepare, ""));
  long leaks = find_places(&tasks[t], found);
  need(shell("%s >%s/out 2>%s/err", expand(tasks[t].again, plain()), folder, folder), "again");
  need(shell("( %s ) >%s/got", expand(tasks[t].compare, ""), folder), "comparing");
  read_text("got", wanted, sizeof wanted);
  for (size_t k = 0; k < FT_COUNT(kinds); k++) {
    if (done[k] || (chosen.kind && strcmp(chosen.kind, kinds[k].name))) continue;
    c[k] = found[k];
    inject_kind(&tasks[t], k, wanted, leaks, &c[k]);
    keep(t, k, &c[k]);
  }
}

int main(int count, char **arguments) {
  static counts c[FT_COUNT(tasks)][FT_COUNT(kinds)];
  static bool done[FT_COUNT(tasks)][FT_COUNT(kinds)];
  long bad = 0, injected = 0;
  char how[128] = "";
  for (int i = 1; i + 1 < count; i += 2) {
    const char *name = arguments[i], *value = arguments[i + 1];
    if (!strcmp(name, "--once")) chosen.once = atoi(value);
    if (!strcmp(name, "--every")) chosen.every = atol(value);
    if (!strcmp(name, "--most")) chosen.most = atol(value);
    if (!strcmp(name, "--kind")) chosen.kind = value;
    if (!strcmp(name, "--task")) chosen.task = value;
    if (!strcmp(name, "--table")) chosen.table = value;
    if (!strcmp(name, "--keep")) chosen.keep = value;
    if (strcmp(name, "--table") && strcmp(name, "--keep"))
      snprintf(how + strlen(how), sizeof how - strlen(how), " %s %s", name, value);
  }
  snprintf(command, sizeof command, "%s", FAULTY_COMMAND);
  prepare();
  read_kept(how, c, done);
  for (size_t t = 0; t < FT_COUNT(tasks); t++) {
    if (!chosen.task || !strcmp(chosen.task, tasks[t].name)) do_task(t, c[t], done[t]);
    if (chosen.table) write_table(how, (const counts(*)[FT_COUNT(kinds)])c);
  }
  if (!chosen.table) write_table(how, (const counts(*)[FT_COUNT(kinds)])c);
  for (size_t t = 0; t < FT_COUNT(tasks); t++)
    for (size_t k = 0; k < FT_COUNT(kinds); k++) {
      injected += c[t][k].injected;
      bad += c[t][k].injected - c[t][k].documented + c[t][k].lost;
    }
  shell("rm -rf %s", folder);
  printf("%ld faults, %ld not as they should be\n", injected, bad);
  return bad || !injected;
}
