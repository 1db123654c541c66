/* Runs a sweep's cells: child processes train and then evaluate each. Called by sweep.c. */
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "common/system.h"
#include "sweep.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 40 };

static const double WAIT_SECONDS = 0.02;

/* Runs one cell at a time. */
typedef struct worker {
  sweep_cell *cell; /* NULL: free */
  sweep_child child;
  bool evaluates; /* the process evaluates; false: it trains */
  bool waits;     /* waits for the end of a process that an earlier call began */
  double began;
  char *settings, *log;
  const char *device; /* NULL: the command's default */
} worker;

typedef struct runner {
  sweep *s;
  const sweep_way *way;
  worker *workers; /* [way->jobs] */
  size_t next;     /* the first cell not yet considered */
  bool stopped, terminal;
  double shown_at;
  FILE *record; /* OUT/sweep.jsonl: a line per call and per ended cell; also locks the sweep */
  char *record_path;
} runner;

/* ---- progress ---- */

static bool has_ended(const sweep_cell *cell) {
  return cell->state != SWEEP_NEW && cell->state != SWEEP_BEGUN;
}

/* Mean seconds of the cells that this call has finished, on that data set or, for NULL, on all. */
static double mean_seconds(const sweep *s, const sweep_data *data) {
  double sum = 0.0, count = 0.0;
  for (size_t i = 0; i < s->count; i++) {
    if (s->cells[i].state != SWEEP_DONE || (data && s->cells[i].data != data)) continue;
    sum += s->cells[i].seconds;
    count++;
  }
  return count > 0.0 ? sum / count : -1.0;
}

/* Estimates remaining seconds by the cells finished on the same data set, else on all; -1: none. */
static double seconds_left(const runner *r) {
  double all = mean_seconds(r->s, NULL), left = 0.0, now = ft_seconds();
  if (all < 0.0) return -1.0;
  for (size_t i = 0; i < r->s->count; i++) {
    double of_data = mean_seconds(r->s, r->s->cells[i].data);
    if (!has_ended(&r->s->cells[i])) left += of_data >= 0.0 ? of_data : all;
  }
  for (size_t i = 0; i < r->way->jobs; i++)
    if (r->workers[i].cell) left -= now - r->workers[i].began;
  return left > 0.0 ? left / (double)r->way->jobs : 0.0;
}

static void print_progress(runner *r, const sweep_cell *ended) {
  char left[32] = "-";
  double seconds = seconds_left(r);
  size_t finished = sweep_count(r->s, SWEEP_DONE) + sweep_count(r->s, SWEEP_FINISHED);
  size_t failed = sweep_count(r->s, SWEEP_FAILED);
  if (r->terminal) system_clear_line();
  if (ended && ended->state == SWEEP_FAILED)
    command_say("%s failed: %s\n", ended->name, ended->error ? ended->error : "");
  if (seconds >= 0.0)
    snprintf(left, sizeof left, "%ld:%02ld:%02ld", (long)seconds / 3600, (long)seconds / 60 % 60,
             (long)seconds % 60);
  fprintf(stderr, "%zu of %zu cells%s", finished, r->s->count, failed ? ", " : "");
  if (failed) fprintf(stderr, "%zu failed", failed);
  fprintf(stderr, ", ETA %s", left);
  if (ended) fprintf(stderr, ", last %s in %.0f s", ended->name, ended->seconds);
  if (!r->terminal) fputc('\n', stderr);
  fflush(stderr);
  r->shown_at = ft_seconds();
}

/* ---- processes ---- */

typedef struct command_words {
  const char *words[MOST_ARGUMENTS];
  size_t count;
} command_words;

/* Appends the words of a NULL-terminated list. */
static void add_words(command_words *c, const char *const *words) {
  for (; *words && c->count + 1 < MOST_ARGUMENTS; words++)
    c->words[c->count++] = *words;
}

#define ADD(c, ...) add_words(c, (const char *const[]){__VA_ARGS__, NULL})

static void add_device(command_words *c, const sweep_way *way, const char *device) {
  const filtra_device_options *o = &way->device;
  if (!device) device = o->select;
  if (device) ADD(c, "--device", device);
  if (o->caps) ADD(c, "--caps", o->caps);
  if (o->cache_dir) ADD(c, "--cache-dir", o->cache_dir);
  if (o->tuning) ADD(c, "--tuning", o->tuning);
  if (o->validation) ADD(c, "--validation");
}

static filtra_status start_training(const runner *r, worker *at) {
  command_words c = {{"filtra", "train"}, 2};
  free(at->settings);
  at->settings = NULL;
  if (at->cell->state == SWEEP_BEGUN)
    ADD(&c, "--resume", at->cell->folder);
  else {
    FT_TRY(sweep_write_settings(r->s, at->cell, &at->settings));
    ADD(&c, "--config", at->settings, "--out", at->cell->folder);
  }
  add_device(&c, r->way, at->device);
  at->evaluates = false;
  return sweep_start(r->s->out, c.words, at->log, &at->child);
}

static filtra_status start_evaluation(const runner *r, worker *at) {
  command_words c = {{"filtra", "eval"}, 2};
  ADD(&c, "--run", at->cell->folder, "--split", at->cell->data->evaluate);
  add_device(&c, r->way, at->device);
  at->evaluates = true;
  return sweep_start(r->s->out, c.words, at->log, &at->child);
}

/* ---- cells ---- */

/* Appends an object to the record, of which this takes over the reference. */
static filtra_status put_record(const runner *r, json_t *object) {
  char *line = ft_json_line(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
  filtra_status status = line ? ft_append_write(r->record, r->record_path, line, strlen(line))
                              : FILTRA_ERROR_HOST_MEMORY;
  free(line);
  return status;
}

static filtra_status record_end(const runner *r, const sweep_cell *cell) {
  return put_record(r, json_pack("{ss ss sf ss ss ss*}", "cell", cell->name, "state",
                                 sweep_state_name(cell->state), "seconds", cell->seconds, "date",
                                 ft_date(), "commit", filtra_commit, "error", cell->error));
}

/* Records which cells this call is to bring to their end, if one of them is not there yet. */
static filtra_status record_call(const runner *r) {
  if (sweep_count(r->s, SWEEP_FINISHED) == r->s->count) return FILTRA_OK;
  json_t *names = json_array();
  for (size_t i = 0; i < r->s->count; i++)
    ft_json_append(&names, json_string(r->s->cells[i].name));
  return put_record(r, json_pack("{so ss}", "cells", names, "date", ft_date()));
}

static filtra_status end_cell(runner *r, worker *at, sweep_state state, char *error) {
  sweep_cell *cell = at->cell;
  cell->state = state;
  cell->seconds = ft_seconds() - at->began;
  cell->error = error;
  at->cell = NULL;
  FT_TRY(record_end(r, cell));
  if (state != SWEEP_INTERRUPTED) print_progress(r, cell);
  return FILTRA_OK;
}

/* Prints which process still has the cell, after an earlier sweep was killed. */
static void say_waiting(const runner *r, const worker *at) {
  long process = sweep_writer(at->log);
  char who[32] = "another process";
  if (process) snprintf(who, sizeof who, "process %ld", process);
  if (r->terminal) system_clear_line();
  command_say("%s is still being trained by %s, which a sweep before began: waiting for its end\n",
              at->cell->name, who);
}

static filtra_status begin_cell(runner *r, worker *at, sweep_cell *cell) {
  free(at->log);
  at->log = ft_format("%s/logs/%s.log", r->s->out, cell->name);
  if (!at->log) return FILTRA_ERROR_HOST_MEMORY;
  at->cell = cell;
  at->began = ft_seconds();
  at->waits = ft_is_locked(at->log);
  if (!at->waits) return start_training(r, at);
  say_waiting(r, at);
  return FILTRA_OK;
}

/* Begins a waiting worker's cell once the other process has ended, unless that process finished the
 * cell. */
static filtra_status stop_waiting(runner *r, worker *at) {
  if (r->stopped) return end_cell(r, at, SWEEP_INTERRUPTED, NULL);
  if (ft_is_locked(at->log)) return FILTRA_OK;
  at->waits = false;
  FT_TRY(sweep_find_state(r->s, at->cell));
  if (at->cell->state != SWEEP_FINISHED) return start_training(r, at);
  at->cell = NULL;
  return FILTRA_OK;
}

/* What a failed process said; of an evaluation also on which split. NULL: out of memory. */
static char *last_words(const runner *r, const worker *at, int code) {
  char *words = sweep_last_words(&at->child, code);
  if (!words || !at->evaluates) return words;
  char *more = ft_format("%s; evaluated on split %s, which \"evaluate\" in %s chooses", words,
                         at->cell->data->evaluate, r->s->file);
  free(words);
  return more;
}

/* Handles the end of a worker's process. */
static filtra_status go_on(runner *r, worker *at, int code) {
  if (!code && at->evaluates) return end_cell(r, at, SWEEP_DONE, NULL);
  if (r->stopped) return end_cell(r, at, SWEEP_INTERRUPTED, NULL);
  if (!code) return start_evaluation(r, at);
  char *words = last_words(r, at, code);
  return words ? end_cell(r, at, SWEEP_FAILED, words) : FILTRA_ERROR_HOST_MEMORY;
}

static sweep_cell *next_cell(runner *r) {
  while (r->next < r->s->count && has_ended(&r->s->cells[r->next]))
    r->next++;
  return r->next < r->s->count && !r->stopped ? &r->s->cells[r->next++] : NULL;
}

static void stop(runner *r) {
  r->stopped = true;
  for (size_t i = 0; i < r->way->jobs; i++)
    if (r->workers[i].cell && !r->workers[i].waits) sweep_stop(&r->workers[i].child);
}

/* Checks each worker once; *busy: a process is running. */
static filtra_status look_after(runner *r, bool *busy) {
  *busy = false;
  for (size_t i = 0; i < r->way->jobs; i++) {
    worker *at = &r->workers[i];
    int code;
    if (at->cell && at->waits)
      FT_TRY(stop_waiting(r, at));
    else if (at->cell && sweep_ended(&at->child, &code))
      FT_TRY(go_on(r, at, code));
    sweep_cell *cell = at->cell ? NULL : next_cell(r);
    if (cell) FT_TRY(begin_cell(r, at, cell));
    *busy |= at->cell != NULL;
  }
  return FILTRA_OK;
}

static filtra_status run_cells(runner *r) {
  bool busy = true;
  while (busy) {
    FT_TRY(look_after(r, &busy));
    if (command_interrupted() && !r->stopped) stop(r);
    if (r->terminal && ft_seconds() - r->shown_at >= 1.0) print_progress(r, NULL);
    if (busy) system_sleep(WAIT_SECONDS);
  }
  if (!r->stopped) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_CANCELLED, "stopped; %s has the cells", r->s->out);
}

/* Stops and awaits all processes, so that none continues after a failure of the sweep. */
static void wait_for_all(runner *r) {
  int code;
  for (size_t i = 0; i < r->way->jobs; i++) {
    if (!r->workers[i].child.process) continue;
    sweep_stop(&r->workers[i].child);
    while (!sweep_ended(&r->workers[i].child, &code))
      system_sleep(WAIT_SECONDS);
  }
}

/* ---- data ---- */

/* Stores the settings that generate a data set; fails if it was generated with others. */
static filtra_status keep_generation(const sweep *s, const sweep_data *d, const char *path) {
  json_t *before;
  FT_TRY(ft_check_in(s->out, path));
  FT_TRY(ft_check_in(s->out, d->path));
  if (!ft_file_exists(path)) {
    char *text = ft_json_line(json_deep_copy(d->generate), JSON_INDENT(2));
    filtra_status status =
        text ? ft_file_write_in(s->out, path, text, strlen(text)) : FILTRA_ERROR_HOST_MEMORY;
    free(text);
    return status;
  }
  FT_TRY(ft_json_load(path, &before));
  bool same = json_equal(before, d->generate);
  json_decref(before);
  return same ? FILTRA_OK
              : ft_fail(FILTRA_ERROR_INPUT,
                        "data set \"%s\" was generated with other settings, which %s has; remove "
                        "%s and that file, or give another --out",
                        d->name, path, d->path);
}

static filtra_status generate(runner *r, const sweep_data *d, const char *log) {
  command_words c = {{"filtra", "data"}, 2};
  char texts[MOST_ARGUMENTS][64];
  size_t used = 0;
  int code;
  const char *key;
  const json_t *value;
  sweep_child child;
  ADD(&c, json_string_value(json_object_get(d->generate, "kind")), "--out", d->path);
  json_object_foreach((json_t *)d->generate, key, value) {
    if (!json_is_integer(value) || used == MOST_ARGUMENTS) continue;
    snprintf(texts[used], sizeof *texts, "--%.30s=%" JSON_INTEGER_FORMAT, key,
             json_integer_value(value));
    ADD(&c, texts[used++]);
  }
  while (ft_is_locked(log) && !command_interrupted()) /* a process of an earlier call is ending */
    system_sleep(WAIT_SECONDS);
  FT_TRY(sweep_start(r->s->out, c.words, log, &child));
  while (!sweep_ended(&child, &code)) {
    if (command_interrupted() && !r->stopped) {
      r->stopped = true;
      sweep_stop(&child);
    }
    system_sleep(WAIT_SECONDS);
  }
  if (r->stopped) return ft_fail(FILTRA_ERROR_CANCELLED, "stopped; %s has the cells", r->s->out);
  char *words = code ? sweep_last_words(&child, code) : NULL;
  filtra_status status =
      code ? ft_fail(FILTRA_ERROR_INPUT, "data set \"%s\": %s", d->name, words ? words : "") : 0;
  free(words);
  return status;
}

/* Generates a data set if cells need it and it does not exist. */
static filtra_status make_data(runner *r, const sweep_data *d) {
  bool wanted = false;
  for (size_t i = 0; i < r->s->count; i++)
    wanted |= r->s->cells[i].data == d && !has_ended(&r->s->cells[i]);
  if (!d->generate || !wanted) return FILTRA_OK;
  char *path = ft_format("%s/settings/data-%s.json", r->s->out, d->name);
  char *log = ft_format("%s/logs/data-%s.log", r->s->out, d->name);
  filtra_status status = path && log ? keep_generation(r->s, d, path) : FILTRA_ERROR_HOST_MEMORY;
  if (!status && !ft_file_exists(d->path)) status = generate(r, d, log);
  free(path);
  free(log);
  return status;
}

/* ---- the sweep ---- */

/* Ends a last line that a power failure left incomplete, so that the next line does not join it. */
static filtra_status end_record(const runner *r) {
  FILE *stream;
  if (!ft_file_size(r->record_path)) return FILTRA_OK;
  FT_TRY(ft_file_open(r->record_path, &stream));
  bool whole = !fseek(stream, -1, SEEK_END) && fgetc(stream) == '\n';
  fclose(stream);
  return whole ? FILTRA_OK : ft_append_write(r->record, r->record_path, "\n", 1);
}

/* Creates the folders and locks the sweep. */
static filtra_status prepare(runner *r) {
  static const char *const FOLDERS[] = {"settings", "logs", "data"};
  FT_TRY(ft_make_directories(r->s->out));
  for (size_t i = 0; i < FT_COUNT(FOLDERS); i++) {
    char *path = ft_path_join(r->s->out, FOLDERS[i]);
    filtra_status status = path ? ft_make_folder_in(r->s->out, path) : FILTRA_ERROR_HOST_MEMORY;
    free(path);
    FT_TRY(status);
  }
  r->record_path = ft_path_join(r->s->out, "sweep.jsonl");
  if (!r->record_path) return FILTRA_ERROR_HOST_MEMORY;
  FT_TRY(ft_append_open_in(r->s->out, r->record_path, &r->record));
  return end_record(r);
}

/* Stores the sweep's file for `filtra report`. */
static filtra_status keep_file(const sweep *s) {
  char *path = ft_path_join(s->out, "sweep.json");
  filtra_status status =
      path ? ft_file_write_in(s->out, path, s->text, strlen(s->text)) : FILTRA_ERROR_HOST_MEMORY;
  free(path);
  return status;
}

static void close_runner(runner *r) {
  for (size_t i = 0; r->workers && i < r->way->jobs; i++) {
    free(r->workers[i].settings);
    free(r->workers[i].log);
  }
  free(r->workers);
  free(r->record_path);
  if (r->record) fclose(r->record);
}

filtra_status sweep_run(sweep *s, const sweep_way *way) {
  runner r = {.s = s, .way = way, .terminal = command_rewrites_line()};
  r.workers = ft_calloc(way->jobs, sizeof *r.workers);
  if (!r.workers) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < way->jobs && way->device_count; i++)
    r.workers[i].device = way->devices[i % way->device_count];
  command_catch_interrupts(); /* the first signal lets cells save checkpoints */
  filtra_status status = prepare(&r);
  if (!status) status = sweep_find_states(s); /* safe now: the sweep is locked */
  if (!status) status = keep_file(s);
  if (!status) status = record_call(&r);
  for (size_t i = 0; i < s->data_count && !status; i++)
    status = make_data(&r, &s->data[i]);
  if (!status) status = run_cells(&r);
  wait_for_all(&r);
  if (r.terminal && r.shown_at > 0.0) fputc('\n', stderr);
  close_runner(&r);
  return status;
}
