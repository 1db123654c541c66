/* filtra tune: finds the fastest kernel configurations for models, and stores them. */
#include "tune.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "common/options.h"
#include "common/system.h"
#include "devices/matrices.h"
#include "ops/tuner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char NAME[] = "filtra tune";
enum { QUICK_ROUNDS = 3, ROUNDS = 9 };

typedef struct tune_arguments {
  filtra_device_options device;
  const char *ops, *config_path, *export_path, *import_path;
  const filtra_precision *precision;
  json_t *keys;   /* keys of a configuration, set by options */
  json_t *config; /* an object; NULL: no --config, --preset or --data */
  bool quick, json, list, clear;
} tune_arguments;

typedef struct session {
  const tune_arguments *arguments;
  filtra_device *device;
  char *path; /* the device's tuning file; NULL: no cache folder */
  char *journal;
  ft_tuning *tuning; /* stored and new entries */
  ft_tuning *asked;  /* the questions to tune */
  size_t *work, work_count;
  double until; /* a point in time; 0: until everything is tuned */
  json_t *results;
} session;

/* ---- showing ---- */

static void print_heading(const session *s) {
  const filtra_device_info *info = filtra_device_get_info(s->device);
  command_print("%s, %s\n\n%-62s %10s %10s %7s  %s\n", info->name, info->driver, "key", "default",
                "best", "gain", "configuration");
}

static void print_entry(const ft_tuning_entry *e) {
  char text[FT_TUNING_KEY];
  command_print("%-62s %7.3f ms %7.3f ms %6.2fx  %s", e->key, 1e3 * e->standard_seconds,
                1e3 * e->seconds, e->seconds > 0.0 ? e->standard_seconds / e->seconds : 1.0,
                e->chosen ? ft_configuration_text(e->family, &e->choice, text) : "default");
  if (e->refused_count) command_print(" (%zu refused)", e->refused_count);
  command_print("\n");
  for (size_t i = 0; i < e->refused_count; i++)
    command_print("    refused: %s: %s\n",
                  ft_configuration_text(e->family, &e->refused[i].configuration, text),
                  e->refused[i].why);
}

static json_t *candidate_json(ft_tuning_family family, const ft_tuner_candidate *c) {
  json_t *object =
      json_pack("{so}", "configuration", ft_configuration_json(family, &c->configuration));
  if (c->runs)
    json_object_update_new(object, json_pack("{sf sf si}", "seconds_best", c->best,
                                             "seconds_median", c->median, "runs", c->runs));
  if (*c->why) json_object_set_new(object, "refused", json_string(c->why));
  return object;
}

static json_t *result_json(const ft_tuning_entry *e, const ft_tuner_result *r) {
  json_t *object = ft_tuning_entry_json(e), *list = json_array();
  for (size_t i = 0; i < r->count; i++)
    json_array_append_new(list, candidate_json(e->family, &r->candidates[i]));
  json_object_set_new(object, "default",
                      ft_configuration_json(e->family, &r->candidates[0].configuration));
  json_object_set_new(object, "candidates", list);
  return object;
}

static int print_json(const session *s) {
  const filtra_device_info *info = filtra_device_get_info(s->device);
  return command_print_json(NAME, json_pack("{ss ss ss ss? sO}", "device", info->name, "driver",
                                            info->driver, "uuid", info->uuid, "file", s->path,
                                            "keys", s->results));
}

/* ---- tuning ---- */

static double left_seconds(double since, size_t done, size_t all) {
  return (ft_seconds() - since) / (double)done * (double)(all - done);
}

static void show_progress(const session *s, size_t done, double since) {
  if (!command_rewrites_line() || s->arguments->json) return;
  system_clear_line();
  if (done == s->work_count) return;
  fprintf(stderr, "[%zu/%zu] %s", done + 1, s->work_count, s->asked->questions[s->work[done]].key);
  if (done) fprintf(stderr, ", %.0f s left", left_seconds(since, done, s->work_count));
}

/* Stores entries, together with those that another process stored meanwhile. */
static filtra_status store(const session *s) {
  bool foreign;
  ft_tuning *there = NULL;
  if (!s->path) return FILTRA_OK;
  if (ft_file_exists(s->path) && ft_tuning_load(s->device, s->path, &foreign, &there))
    there = NULL; /* already reported at the start */
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; there && i < there->count && !status; i++)
    if (!ft_tuning_find(s->tuning, there->entries[i].key))
      status = ft_tuning_replace(s->tuning, &there->entries[i]);
  ft_tuning_release(&there);
  return status ? status : ft_tuning_save(s->device, s->tuning, s->path);
}

static filtra_status tune_one(session *s, const ft_tuning_question *q) {
  const ft_tuner_options options = {.rounds = s->arguments->quick ? QUICK_ROUNDS : ROUNDS,
                                    .journal = s->journal,
                                    .known = s->tuning};
  ft_tuning_entry *entry = ft_tuning_add(s->tuning, q->key, q->family);
  ft_tuner_result result;
  if (!entry) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_tune(s->device, q, &options, entry, &result);
  if (!status) status = store(s);
  if (!status && s->arguments->json) json_array_append_new(s->results, result_json(entry, &result));
  if (!status && !s->arguments->json) print_entry(entry);
  free(result.candidates);
  return status;
}

/* Whether --ops includes the family; "gemm" means gemm.tiled, gemm.s64 and gemm.matrix. */
static bool wanted(const char *list, ft_tuning_family family) {
  char name[32];
  snprintf(name, sizeof name, "%s", ft_configurations(family)->name);
  name[strcspn(name, ".")] = '\0';
  return !list || command_listed(list, name);
}

/* Matrix units are compared with the fastest other kernel, so they are tuned last. */
static bool goes_last(ft_tuning_family family) {
  return family == FT_TUNE_GEMM_MATRIX || family == FT_TUNE_ATTENTION_MATRIX;
}

/* Lists questions, except those already measured with as many rounds. */
static void list_part(session *s, bool last) {
  const uint32_t rounds = s->arguments->quick ? QUICK_ROUNDS : ROUNDS;
  for (size_t i = 0; i < s->asked->question_count; i++) {
    const ft_tuning_question *q = &s->asked->questions[i];
    const ft_tuning_entry *e = ft_tuning_find(s->tuning, q->key);
    if (goes_last(q->family) == last && wanted(s->arguments->ops, q->family) &&
        !(e && e->runs >= rounds))
      s->work[s->work_count++] = i;
  }
}

static filtra_status list_work(session *s) {
  s->work = ft_calloc(s->asked->question_count + 1, sizeof *s->work);
  if (!s->work) return FILTRA_ERROR_HOST_MEMORY;
  list_part(s, false);
  list_part(s, true);
  return FILTRA_OK;
}

static const char *keys_text(size_t count) {
  return count == 1 ? "key" : "keys";
}

static void print_summary(const session *s) {
  size_t faster = 0;
  for (size_t i = 0; i < s->tuning->count; i++)
    faster += s->tuning->entries[i].chosen;
  command_print("\n%zu %s tuned now, %zu known, of which %zu run faster than by default",
                s->work_count, keys_text(s->work_count), s->tuning->count, faster);
  command_print(s->path ? "; stored in %s\n" : "; stored nowhere: there is no cache folder\n",
                s->path);
}

static bool goes_on(const session *s) {
  return !command_interrupted() && (s->until <= 0.0 || ft_seconds() < s->until);
}

static filtra_status tune_all(session *s) {
  const tune_arguments *a = s->arguments;
  s->asked = ft_tuning_new();
  if (!s->asked) return FILTRA_ERROR_HOST_MEMORY;
  s->asked->collect = true;
  const char *context = a->config_path ? a->config_path : "configuration";
  FT_TRY(tune_ask(s->device, a->config, context, a->precision, s->asked));
  FT_TRY(list_work(s));
  if (!a->json) print_heading(s);
  double since = ft_seconds();
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < s->work_count && !status && goes_on(s); i++) {
    show_progress(s, i, since);
    status = tune_one(s, &s->asked->questions[s->work[i]]);
    fflush(command_results());
  }
  show_progress(s, s->work_count, since);
  if (!status && !a->json) print_summary(s);
  return status;
}

filtra_status tune_some(filtra_device *device, double seconds, json_t **results) {
  const tune_arguments a = {.quick = true, .json = true};
  session s = {.arguments = &a,
               .device = device,
               .tuning = ft_tuning_new(),
               .until = ft_seconds() + seconds,
               .results = json_array()};
  filtra_status status = s.tuning ? tune_all(&s) : FILTRA_ERROR_HOST_MEMORY;
  ft_tuning_release(&s.tuning);
  ft_tuning_release(&s.asked);
  free(s.work);
  *results = s.results;
  return status;
}

/* ---- listing, clearing, importing ---- */

static filtra_status list_entries(session *s) {
  if (!s->arguments->json) print_heading(s);
  for (size_t i = 0; i < s->tuning->count; i++) {
    const ft_tuning_entry *e = &s->tuning->entries[i];
    if (!wanted(s->arguments->ops, e->family)) continue;
    if (s->arguments->json)
      json_array_append_new(s->results, ft_tuning_entry_json(e));
    else
      print_entry(e);
  }
  return FILTRA_OK;
}

static filtra_status clear(const session *s) {
  if (s->path && ft_file_exists(s->path) && remove(s->path))
    return ft_fail(FILTRA_ERROR_IO, "%s: cannot be removed", s->path);
  if (!s->arguments->json)
    command_print("Forgot %zu %s.\n", s->tuning->count, keys_text(s->tuning->count));
  return FILTRA_OK;
}

/* Imports a file's entries, which replace those with the same keys. */
static filtra_status import_file(session *s) {
  const char *path = s->arguments->import_path;
  bool foreign;
  ft_tuning *from = NULL;
  if (!s->path) return ft_fail(FILTRA_ERROR_ARGUMENT, "--import has no cache folder to store in");
  FT_TRY(ft_tuning_load(s->device, path, &foreign, &from));
  filtra_status status = FILTRA_OK;
  for (size_t i = 0; i < from->count && !status; i++)
    status = ft_tuning_replace(s->tuning, &from->entries[i]);
  if (!status) status = store(s);
  if (!status && !s->arguments->json)
    command_print("Took %zu %s over into %s.\n", from->count, keys_text(from->count), s->path);
  ft_tuning_release(&from);
  return status;
}

/* ---- a session ---- */

/* Loads stored entries, and recovers those of a tuner that crashed. */
static filtra_status load(session *s) {
  ft_tuning_open_cached(s->device);
  s->tuning = ft_tuning_use(s->device, NULL);
  if (!s->tuning) s->tuning = ft_tuning_new();
  if (!s->tuning) return FILTRA_ERROR_HOST_MEMORY;
  s->path = ft_tuning_path(s->device, ft_cache_folder_of(s->device));
  if (!s->path) return ft_cache_folder_of(s->device) ? FILTRA_ERROR_HOST_MEMORY : FILTRA_OK;
  s->journal = ft_tuner_journal(s->path);
  if (!s->journal) return FILTRA_ERROR_HOST_MEMORY;
  FT_TRY(ft_tuner_recover(s->device, s->path, s->tuning));
  /* An interruption by the user is not a fault of the configuration being tried. */
  system_remove_when_ended(s->journal);
  return FILTRA_OK;
}

static filtra_status act(session *s) {
  const tune_arguments *a = s->arguments;
  FT_TRY(load(s));
  if (a->clear) return clear(s);
  if (a->list) return list_entries(s);
  if (a->import_path) return import_file(s);
  const bool asked = a->quick || a->ops || a->config || a->precision;
  if (!a->export_path || asked || !s->tuning->count) FT_TRY(tune_all(s));
  if (!a->export_path) return FILTRA_OK;
  FT_TRY(ft_tuning_save(s->device, s->tuning, a->export_path));
  if (!a->json)
    command_print("Wrote %zu %s to %s.\n", s->tuning->count, keys_text(s->tuning->count),
                  a->export_path);
  return FILTRA_OK;
}

/* What ft_tuning_save's files begin with. */
static const char *const HEADS[] = {"{\n \"format\": \"filtra-tuning-"};

static int tune(const tune_arguments *a) {
  session s = {.arguments = a, .results = json_array()};
  filtra_status status = command_check_replaced("--export", a->export_path, HEADS, FT_COUNT(HEADS));
  /* matrices_test prints its own errors; if matrix units fail, everything else is tuned. */
  if (!status && !a->list && !a->clear) matrices_test(NAME, &a->device, false, MATRIX_TEST_SECONDS);
  if (!status) status = filtra_device_open(&a->device, &s.device);
  if (!status) status = act(&s);
  int code = status ? command_fail(NAME, status) : a->json ? print_json(&s) : COMMAND_DONE;
  ft_tuning_release(&s.tuning);
  ft_tuning_release(&s.asked);
  filtra_device_close(&s.device);
  system_remove_when_ended("");
  free(s.journal);
  free(s.path);
  free(s.work);
  json_decref(s.results);
  return code;
}

/* ---- the command line ---- */

static void print_help(void) {
  command_print(
      "Usage: filtra tune [OPTION]...\n"
      "       filtra tune --list | --clear | --import FILE\n"
      "Times the configurations that kernels have on this device, for what a train step of each\n"
      "mixer asks (batch 4, 1024 tokens, width 64) or of one run. A configuration wins if it is\n"
      "faster than the default by more than 3 %%, after its results were compared with the "
      "plainest\n"
      "kernel's; those that differ or fail are refused. What is found is kept in the cache folder\n"
      "by device, driver and version, and used from then on; runs go on with what they began "
      "with.\n"
      "Matrix units are tested first, in a process of their own and once for each driver "
      "version.\n\n"
      "  --ops LIST         only these of gemm, attention, chain\n"
      "  --config FILE      for a run's configuration (docs/config.md)\n"
      "  --preset NAME      for a recipe's\n"
      "  --data PATH        data set of either (key data)\n"
      "  --precision P      fp32, bf16 or fp16 instead of what these say, or of fp32\n"
      "  --quick            %d rounds of timing instead of %d\n"
      "  --export FILE      write what is known to a file, after tuning where nothing is\n"
      "  --import FILE      take such a file over; it must be of this device and driver\n"
      "  --list             show what is known, with --ops of these alone\n"
      "  --clear            forget it\n"
      "  --json             print one JSON object\n%s",
      QUICK_ROUNDS, ROUNDS, device_options_help);
}

/* Takes a key of a configuration. */
static void take_key(void *arguments, const char *name, const char *value) {
  json_object_set_new(((tune_arguments *)arguments)->keys, name, json_string(value));
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("ops", tune_arguments, ops),
    COMMAND_TEXT("config", tune_arguments, config_path),
    COMMAND_KEY("preset", take_key),
    COMMAND_KEY("data", take_key),
    COMMAND_PRECISION(tune_arguments, precision),
    COMMAND_FLAG("quick", tune_arguments, quick),
    COMMAND_TEXT("export", tune_arguments, export_path),
    COMMAND_TEXT("import", tune_arguments, import_path),
    COMMAND_FLAG("list", tune_arguments, list),
    COMMAND_FLAG("clear", tune_arguments, clear),
    COMMAND_FLAG("json", tune_arguments, json),
};

static bool has_configurations(const char *op) {
  return !strcmp(op, "gemm") || !strcmp(op, "attention") || !strcmp(op, "chain");
}

static filtra_status load_config(const char *path, json_t **config) {
  if (!ft_is_directory(path)) return ft_json_load(path, config);
  char *inner = ft_path_join(path, "config.json");
  if (!inner) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status =
      ft_fail(FILTRA_ERROR_INPUT, "--config %s is a folder; the configuration of a run is %s", path,
              ft_file_exists(inner) ? inner : "its config.json");
  free(inner);
  return status;
}

static int read_config(tune_arguments *a) {
  if (!a->config_path && !json_object_size(a->keys)) return -1;
  filtra_status status = a->config_path ? load_config(a->config_path, &a->config) : FILTRA_OK;
  if (!status && !a->config_path) a->config = json_object();
  if (!status && a->config && !json_is_object(a->config))
    status = ft_fail(FILTRA_ERROR_INPUT, "%s: must be a JSON object", a->config_path);
  json_t *precision = a->precision ? json_string(filtra_precision_name(*a->precision)) : NULL;
  if (!status && (command_json_starved() || json_object_update(a->config, a->keys) ||
                  (a->precision && json_object_set(a->config, "precision", precision))))
    status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  json_decref(precision);
  return status ? command_fail(NAME, status) : -1;
}

/* Refuses options of tuning beside those that do something else, which would ignore them. */
static int check_parts(const char *name, const tune_arguments *a) {
  const char *action = a->list ? "list" : a->clear ? "clear" : a->import_path ? "import" : NULL;
  const char *other = a->export_path              ? "export"
                      : a->quick                  ? "quick"
                      : a->precision              ? "precision"
                      : a->config_path            ? "config"
                      : json_object_size(a->keys) ? json_object_iter_key(json_object_iter(a->keys))
                      : a->ops && !a->list        ? "ops"
                                                  : NULL;
  if (a->list + a->clear + (a->import_path != NULL) > 1)
    return command_misused(name, "give one of --list, --clear and --import");
  if (action && other)
    return command_misused(name, "--%s goes without other options%s: leave out --%s", action,
                           a->list ? " except --ops" : "", other);
  return -1;
}

int run_tune(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true};
  tune_arguments a = {.keys = json_object()};
  int result = command_take(argc, argv, &line, &a);
  if (result < 0) result = check_parts(argv[0], &a);
  if (result < 0 && a.device.tuning)
    result = command_misused(argv[0], "--tuning says what other commands use; this one tunes");
  a.device.tuning = "";
  char unknown[COMMAND_LISTED];
  if (result < 0 && !command_all_known(a.ops, has_configurations, unknown))
    result = command_misused(
        argv[0], "--ops: \"%s\" has no configurations; gemm, attention and chain have", unknown);
  if (result < 0) result = read_config(&a);
  if (result < 0) result = tune(&a);
  json_decref(a.config);
  json_decref(a.keys);
  return result;
}
