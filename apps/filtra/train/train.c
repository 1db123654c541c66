/* filtra train: trains a new run from a configuration, or resumes an interrupted one. */
#include "common/options.h"
#include "common/page.h"
#include "common/sets.h"
#include "common/system.h"
#include "result.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"

#include <errno.h>
#include <filtra/filtra.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct train_arguments {
  filtra_device_options device;
  filtra_transport transport;
  float deadline;
  const char *config, *out, *resume, *share;
  const char *twice; /* an option that was given twice */
  command_sets sets;
  uint64_t steps, epochs; /* with --resume: the run's new length; 0: unchanged */
  bool json, allow_changes, plan;
} train_arguments;

/* Prints an error only once if several ranks fail with it: rank 0 prints first and ends the others,
 * which wait. */
static int fail(const train_arguments *a, filtra_status status) {
  if (a->transport.rank > 0) system_sleep(1.0);
  return command_fail("filtra train", status);
}

/* ---- progress ---- */

typedef struct display {
  const char *device, *folder;
  bool terminal, begun, resumed, silent; /* silent: this is a rank other than 0 */
  bool extended;                         /* --resume with --steps or --epochs */
  bool advises; /* may say that the driver's threads cost more than they do */
  double shown_at;
  filtra_run_progress last;
  filtra_evaluation validation, best; /* `last` points to these */
  char frozen[512];
} display;

/* Formats the task's score, besides the loss. */
static void format_score(filtra_task task, double loss, double accuracy, double error,
                         char text[NUMBER_TEXT]) {
  if (task == FILTRA_TASK_REGRESSION)
    snprintf(text, NUMBER_TEXT, "%.4g", error);
  else if (task == FILTRA_TASK_LANGUAGE_MODEL)
    perplexity_text(ft_perplexity(loss), text);
  else
    snprintf(text, NUMBER_TEXT, "%.1f%%", 100.0 * accuracy);
}

static const char *score_name(filtra_task task) {
  switch (task) {
  case FILTRA_TASK_REGRESSION:
    return "error";
  case FILTRA_TASK_LANGUAGE_MODEL:
    return "perplexity";
  default:
    return "acc";
  }
}

static void format_progress(const display *d, char *line, size_t size) {
  const filtra_run_progress *p = &d->last;
  char left[32] = "-", score[NUMBER_TEXT], validation[80] = "";
  long seconds = (long)p->seconds_left;
  if (p->seconds_left >= 0.0)
    snprintf(left, sizeof left, "%ld:%02ld:%02ld", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (p->validation_loss >= 0.0) {
    format_score(p->task, p->validation_loss, p->validation_accuracy, p->validation_absolute_error,
                 score);
    snprintf(validation, sizeof validation, "  val %.4f/%s", p->validation_loss, score);
  }
  format_score(p->task, p->loss, p->accuracy, p->absolute_error, score);
  snprintf(line, size,
           "step %llu/%llu  epoch %.2f  loss %.4f  %s %s%s  ETA %s  %.0f tokens/s  %.0f MiB",
           (unsigned long long)p->step, (unsigned long long)p->steps, p->epoch, p->loss,
           score_name(p->task), score, validation, left, p->tokens_per_second,
           (double)p->device_memory_bytes / 1048576.0);
}

/* Rewrites a terminal's line, cut to its width: a wrapped line would scroll instead. */
static void print_progress(const display *d) {
  char line[256];
  format_progress(d, line, sizeof line);
  if (!d->terminal) {
    fprintf(stderr, "%s\n", line);
    return;
  }
  system_clear_line();
  fprintf(stderr, "%.*s", system_columns() - 1, line);
  fflush(stderr);
}

static void begin(display *d, const filtra_run_progress *p) {
  d->begun = true;
  d->resumed = p->step > 0;
  if (p->step == p->steps) return;
  command_say("Training on %s, %llu steps%s; %s\n", d->device,
              (unsigned long long)(p->steps - p->step), d->resumed ? " left" : "", d->folder);
  if (d->extended)
    fprintf(stderr, "The learning rate goes on as in a run of %llu steps\n",
            (unsigned long long)p->steps);
  if (p->trained_parameters < p->parameters)
    command_say("Training %llu of %llu numbers; frozen: %s\n",
                (unsigned long long)p->trained_parameters, (unsigned long long)p->parameters,
                p->frozen);
  if (p->shares) fprintf(stderr, "Ranks share each batch as %s\n", p->shares);
}

/* lavapipe wakes its threads for each kernel, which on some machines takes longer than kernels of
 * steps so short. */
static void advise(display *d) {
  enum { WARM = 50 };    /* steps */
  const double most = 8; /* milliseconds */
  if (!d->advises || d->last.step < WARM || d->last.milliseconds > most) return;
  d->advises = false;
  if (d->terminal) system_clear_line();
  command_say("Steps take %.1f ms on several threads of the CPU driver; they may take less with "
              "--driver-threads 1\n",
              d->last.milliseconds);
}

static bool show_progress(void *user, const filtra_run_progress *p) {
  display *d = user;
  double now = ft_seconds();
  if (d->silent) return !command_interrupted();
  if (!d->begun) begin(d, p);
  d->last = *p;
  if (p->validation) d->validation = *p->validation;
  if (p->validation) d->last.validation = &d->validation;
  snprintf(d->frozen, sizeof d->frozen, "%s", p->frozen);
  d->last.frozen = d->frozen;
  if (p->best) d->best = *p->best;
  if (p->best) d->last.best = &d->best;
  bool due = now - d->shown_at >= (d->terminal ? 0.2 : 10.0) || p->evaluated || p->step == p->steps;
  if (due && p->last.step) {
    d->shown_at = now;
    advise(d);
    print_progress(d);
  }
  return !command_interrupted();
}

static bool is_stopped(void *user) {
  (void)user;
  return command_interrupted();
}

/* ---- the configuration from file and options ---- */

static filtra_status out_of_memory(void) {
  return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
}

static filtra_status set_text(json_t *config, const char *key, const char *value) {
  if (!ft_utf8_valid(value, strlen(value)))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "--%s: \"%s\" is not UTF-8 text", key, value);
  return json_object_set_new(config, key, json_string(value)) ? out_of_memory() : FILTRA_OK;
}

/* Makes a path absolute, so that the run works from any working directory. */
static filtra_status resolve(json_t *config, const char *key) {
  const char *path = json_string_value(json_object_get(config, key));
  errno = 0;
  char *full = path && *path ? ft_full_path(path) : NULL;
  if (errno == ENOMEM) return out_of_memory();
  filtra_status status = full ? set_text(config, key, full) : FILTRA_OK;
  free(full);
  return status;
}

static filtra_status build_config(const train_arguments *a, json_t **out) {
  if (a->config)
    FT_TRY(ft_json_load(a->config, out));
  else
    *out = json_object();
  if (!*out) return out_of_memory();
  if (!json_is_object(*out))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: must be a JSON object", a->config);
  FT_TRY(command_apply_sets(&a->sets, *out));
  FT_TRY(resolve(*out, "data"));
  return resolve(*out, "init_from");
}

/* The text if it can be part of a folder's name; else "". */
static const char *name_part(const json_t *text) {
  const char *name = json_string_value(text);
  return name && ft_is_name(name) ? name : "";
}

/* Chooses runs/MIXER, runs/PRESET or, with another mixer, runs/PRESET-MIXER; with -2 and so on if
 * it exists. */
static char *choose_folder(const json_t *config) {
  const json_t *mixer = json_object_get(config, "mixer");
  const char *name = name_part(json_is_object(mixer) ? json_object_get(mixer, "name") : mixer);
  const char *preset = name_part(json_object_get(config, "preset"));
  if (!*name && !*preset) name = "softmax";
  const char *dash = *name && *preset ? "-" : "";
  char *folder = ft_format("runs/%s%s%s", preset, dash, name);
  for (int i = 2; folder && ft_file_exists(folder); i++) {
    free(folder);
    folder = ft_format("runs/%s%s%s-%d", preset, dash, name, i);
  }
  return folder;
}

/* ---- the run ---- */

/* Reads the share, which was checked before. */
static float share_of(const train_arguments *a) {
  if (!a->share) return 0.0f;
  return strcmp(a->share, "auto") ? (float)ft_strtod(a->share, NULL) : FILTRA_SHARE_AUTO;
}

static bool is_share(const char *text) {
  char *end;
  double value = ft_strtod(text, &end);
  return !strcmp(text, "auto") || (end != text && !*end && value >= 1e-3 && value <= 1e6);
}

static int train_on(filtra_device *device, const train_arguments *a, const char *config,
                    const char *folder) {
  const filtra_device_info *info = filtra_device_get_info(device);
  display d = {.device = info->name,
               .advises =
                   device_is_lavapipe(info) && ft_processors() > 1 && !getenv("LP_NUM_THREADS"),
               .folder = folder,
               .silent = a->transport.rank > 0,
               .extended = a->steps || a->epochs,
               .terminal = command_rewrites_line()};
  const filtra_run_options options = {.config = config,
                                      .config_name = a->config,
                                      .folder = folder,
                                      .progress = show_progress,
                                      .stop = is_stopped,
                                      .user = &d,
                                      .allow_changes = a->allow_changes,
                                      .transport = &a->transport,
                                      .share = share_of(a),
                                      .deadline = a->deadline,
                                      .steps = a->steps,
                                      .epochs = a->epochs};
  command_catch_interrupts();    /* the first signal saves a checkpoint */
  system_survive_closed_pipes(); /* a closed progress pipe must not end the run */
  filtra_status status = filtra_run_train(device, &options);
  if (d.terminal && d.shown_at > 0.0) fputc('\n', stderr);
  if (!status) return d.silent ? COMMAND_DONE : train_print_result(&d.last, d.folder, a->json);
  if (d.silent && status == FILTRA_ERROR_CANCELLED) return COMMAND_FAILED; /* rank 0 prints it */
  int code = fail(a, status);
  if (status == FILTRA_ERROR_CANCELLED)
    command_say("Continue with: filtra train --resume %s\n", folder);
  return code;
}

/* ---- the plan of a run ---- */

static int print_plan_json(const filtra_run_memory_use *p) {
  return command_print_json(
      "filtra train",
      json_pack("{sI sI sI sI sI sI sI sb ss}", "parameters", (json_int_t)p->parameters,
                "gradients", (json_int_t)p->gradients, "moments", (json_int_t)p->moments,
                "activations", (json_int_t)p->activations, "transfers", (json_int_t)p->transfers,
                "total", (json_int_t)p->total, "available", (json_int_t)p->available, "fits",
                p->fits, "advice", p->advice));
}

static void print_part(const char *name, uint64_t bytes) {
  command_print("  %-12s %12.1f MiB\n", name, (double)bytes / 1048576.0);
}

static int refuse_plan(const filtra_run_memory_use *p) {
  return command_fail("filtra train",
                      ft_fail(FILTRA_ERROR_DEVICE_MEMORY,
                              *p->advice
                                  ? "this run does not fit the device; with these settings it "
                                    "would: %s"
                                  : "this run does not fit the device%s, nor would it with "
                                    "recompute, accumulate and loss_chunks: take a smaller "
                                    "model or length, or a larger device",
                              p->advice));
}

static int plan_on(filtra_device *device, const train_arguments *a, const char *config) {
  filtra_run_memory_use p;
  const filtra_run_options options = {
      .config = config, .config_name = a->config, .folder = a->resume};
  filtra_status status = filtra_run_measure(device, &options, &p);
  if (status) return command_fail("filtra train", status);
  if (a->json) return print_plan_json(&p);
  command_print("Memory on %s:\n", filtra_device_get_info(device)->name);
  print_part("parameters", p.parameters);
  print_part("gradients", p.gradients);
  print_part("moments", p.moments);
  print_part("activations", p.activations);
  print_part("transfers", p.transfers);
  print_part("total", p.total);
  print_part("available", p.available);
  return p.fits ? COMMAND_DONE : refuse_plan(&p);
}

/* Ranks on one machine use its GPUs in turn; without GPUs, all use the CPU driver. */
static filtra_status choose_device(const train_arguments *a, filtra_device_options *options,
                                   char *index, size_t size) {
  enum { MOST = 64 };
  filtra_device_info *list;
  uint32_t count = MOST, gpus = 0;
  if (a->transport.local_size < 2 || options->select || getenv("FILTRA_DEVICE")) return FILTRA_OK;
  list = ft_calloc(MOST, sizeof *list);
  if (!list) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = filtra_device_list(list, &count);
  for (uint32_t i = 0; i < count && i < MOST; i++)
    if (list[i].usable && list[i].device_class != FILTRA_DEVICE_CPU) list[gpus++] = list[i];
  if (!status && gpus) {
    snprintf(index, size, "%u", list[(uint32_t)a->transport.local_rank % gpus].index);
    options->select = index;
  }
  free(list);
  return status;
}

static int train(const train_arguments *a) {
  json_t *config = NULL;
  char *text = NULL, *folder = NULL;
  filtra_device *device = NULL;
  filtra_status status = FILTRA_OK;
  if (!a->resume) {
    status = build_config(a, &config);
    if (!status) text = ft_json_dumps(config, 0);
    if (!status && !text) status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  }
  if (!status) {
    const char *given = a->resume ? a->resume : a->out;
    folder = given ? ft_strdup(given) : choose_folder(config);
    if (!folder) status = FILTRA_ERROR_HOST_MEMORY;
  }
  filtra_device_options options = a->device;
  char index[16];
  if (!status) status = choose_device(a, &options, index, sizeof index);
  if (!status) status = filtra_device_open(&options, &device);
  int code = status    ? fail(a, status)
             : a->plan ? plan_on(device, a, text)
                       : train_on(device, a, text, folder);
  filtra_device_close(&device);
  free(folder);
  free(text);
  json_decref(config);
  return code;
}

/* If this rank fails, ends the others, which would wait for it. */
static int train_ranks(train_arguments *a) {
  filtra_status status = filtra_transport_open(&a->transport);
  if (status) return command_fail("filtra train", status);
  int code = a->transport.size > 1 && !a->out && !a->resume && !a->plan
                 ? command_misused("filtra train", "several ranks need --out, one folder for all")
                 : train(a);
  if (code && a->transport.size > 1) a->transport.abort(a->transport.user, code);
  filtra_transport_close(&a->transport);
  return code;
}

/* ---- the command line ---- */

/* Prints all keys, or describes one. */
static int print_keys(const char *key) {
  char *text;
  filtra_status status = filtra_config_describe(key, &text);
  if (status) return command_fail("filtra train", status);
  fputs(text, command_results());
  filtra_free(text);
  return COMMAND_DONE;
}

static void print_help(void) {
  command_print(
      "Usage: filtra train --data PATH [OPTION]...\n"
      "       filtra train --preset NAME --data PATH [OPTION]...\n"
      "       filtra train --config FILE [OPTION]...\n"
      "       filtra train --resume DIR\n"
      "       filtra train --help KEY\n"
      "Trains a model and keeps configuration, metrics, best model and checkpoints in a run "
      "folder.\n\n"
      "  --preset NAME      a recipe of 'filtra presets' (key preset), under the other options\n"
      "  --config FILE      JSON object with the keys below\n"
      "  --data PATH        data set: a file or a folder (key data)\n"
      "  --mixer NAME       token mixer (key mixer)\n"
      "  --init-from PATH   a run, model file or folder of Hugging Face's to begin with (key "
      "init_from)\n"
      "  --set KEY=VALUE    any key, over what the file says; mixer.K=5 for the mixer's options\n"
      "  --steps N          optimizer steps, or\n"
      "  --epochs N         passes over the training data\n"
      "  --precision P      fp32, bf16 or fp16 (key precision)\n"
      "  --seed S           of initial values, shuffling and dropout\n"
      "  --out DIR          run folder; default runs/MIXER, or runs/PRESET\n"
      "  --resume DIR       continue an interrupted run where its checkpoint is; with --steps N "
      "or\n"
      "                     --epochs N to that length, on the schedule of a run that long\n"
      "  --allow-changes    also where config.json or the data changed since\n"
      "  --share X          under mpirun: this rank's share of each batch beside the others'; "
      "auto: all by\n"
      "                     how fast they are, measured at the start (default: key shares)\n"
      "  --deadline S       under mpirun: seconds that a rank waits for another (default 300)\n"
      "  --plan             print what it would take of the device's memory, and train nothing\n"
      "  --json             print one JSON object at the end\n%s",
      device_options_help);
  print_keys(NULL);
}

/* Whether a --set, or an option that stands for one, has named the key. */
static bool is_set(const command_sets *sets, const char *key) {
  const size_t length = strlen(key);
  size_t i;
  const json_t *set;
  json_array_foreach(sets->list, i, set) {
    const char *text = json_string_value(set);
    if (!strncmp(text, key, length) && text[length] == '=') return true;
  }
  return false;
}

/* Handles --steps 5 as --set steps=5, so that one table checks all keys. */
static void take_key(void *arguments, const char *name, const char *value) {
  train_arguments *a = arguments;
  static const char *const TEXTS[] = {"preset", "data", "mixer", "init_from"};
  const char *key = strcmp(name, "init-from") ? name : "init_from";
  bool text = false;
  for (size_t i = 0; i < FT_COUNT(TEXTS); i++)
    text |= !strcmp(key, TEXTS[i]);
  /* Two files may both be meant; of two mixers the last counts, as of two numbers of steps. */
  if (text && strcmp(key, "mixer") != 0 && is_set(&a->sets, key)) a->twice = name;
  if (text)
    command_add_text(&a->sets, key, value);
  else
    command_add_set(&a->sets, strcmp(key, "set") ? key : NULL, value);
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("config", train_arguments, config),
    COMMAND_KEY("preset", take_key),
    COMMAND_KEY("data", take_key),
    COMMAND_KEY("mixer", take_key),
    COMMAND_KEY("init-from", take_key),
    COMMAND_KEY("set", take_key),
    COMMAND_KEY("steps", take_key),
    COMMAND_KEY("epochs", take_key),
    COMMAND_KEY("seed", take_key),
    COMMAND_KEY("precision", take_key),
    COMMAND_OUT(train_arguments, out),
    COMMAND_TEXT("resume", train_arguments, resume),
    COMMAND_FLAG("allow-changes", train_arguments, allow_changes),
    COMMAND_TEXT("share", train_arguments, share),
    COMMAND_REAL("deadline", train_arguments, deadline, 1e-3, 1e9),
    COMMAND_FLAG("plan", train_arguments, plan),
    COMMAND_FLAG("json", train_arguments, json),
};

/* Takes --steps N and --epochs N for a resumed run. False if other keys are set. */
static bool take_length(train_arguments *a) {
  size_t i;
  const json_t *set;
  json_array_foreach(a->sets.list, i, set) {
    static const char *const NAMES[] = {"steps=", "epochs="};
    const char *text = json_string_value(set);
    const bool epochs = !strncmp(text, NAMES[1], strlen(NAMES[1]));
    const char *number = text + strlen(NAMES[epochs]);
    if (!epochs && strncmp(text, NAMES[0], strlen(NAMES[0])) != 0) return false;
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(number, &end, 10);
    if (errno || *end || value == 0 || strspn(number, "0123456789") == 0) return false;
    *(epochs ? &a->epochs : &a->steps) = value;
  }
  return true;
}

int run_train(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help,
                                    .print_topic = print_keys, .opens_device = true};
  train_arguments a = {.sets = {.list = json_array()}};
  int result = command_take(argc, argv, &line, &a);
  if (result < 0 && a.twice) result = command_misused(argv[0], "--%s is given twice", a.twice);
  if (result < 0 && a.resume && (a.config || a.out || !take_length(&a)))
    result = command_misused(argv[0], "--resume takes the configuration of the run; give --steps N "
                                      "or --epochs N to change its length, and leave out --config, "
                                      "--out, --preset, --set and its short forms");
  if (result < 0 && a.share && !is_share(a.share))
    result =
        command_misused(argv[0], "--share is %s, accepted are 0.001 to 1000000 and auto", a.share);
  if (result < 0 && a.allow_changes && !a.resume)
    result = command_misused(argv[0], "--allow-changes goes with --resume");
  if (result < 0 && a.out && !*a.out)
    result = command_misused(argv[0], "--out is \"\", not the name of a folder");
  if (result < 0) result = train_ranks(&a);
  json_decref(a.sets.list);
  return result;
}
