/* filtra sweep: runs a grid of trainings from one file, and continues after interruptions. */
#include "sweep.h"

#include "base/memory.h"
#include "common/options.h"
#include "common/system.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEVICES = 64 };

typedef struct sweep_arguments {
  filtra_device_options device;
  const char *file, *out, *cells, *devices;
  json_t *paths; /* {name: path} */
  const char *wrong_path;
  uint64_t jobs;
  bool list, json, starved;
} sweep_arguments;

static void print_help(void) {
  command_print(
      "Usage: filtra sweep FILE [OPTION]...\n"
      "Trains and evaluates a grid of runs: data sets, mixers, options and seeds of a JSON file\n"
      "(docs/sweeps.md). Each cell is a run folder below the sweep's folder, called by its\n"
      "settings. Called again, it goes on: finished cells are kept, one that was interrupted is\n"
      "resumed, one that failed is tried again. 'filtra report' of the folder shows the "
      "results.\n\n"
      "  --out DIR          the folder of the runs; default: the file's key out\n"
      "  --cells LIST       only these: names with commas between, * and ? as in the shell\n"
      "  --list             check the file and list the cells with their states; run nothing\n"
      "  --data NAME=PATH   where a data set of the file is\n"
      "  --jobs N           cells at once (default: one for each of --devices)\n"
      "  --devices LIST     devices with commas between, which cells take in turn\n"
      "  --json             print one JSON object at the end\n%s",
      device_options_help);
}

/* ---- results ---- */

static json_t *cell_json(const sweep_cell *c, bool settings) {
  return json_pack("{ss ss ss ss sf ss* sO*}", "cell", c->name, "run", c->folder, "data",
                   c->data->name, "state", sweep_state_name(c->state), "seconds", c->seconds,
                   "error", c->error, "settings", settings ? c->config : NULL);
}

static json_t *sweep_json(const sweep *s, bool settings) {
  json_t *cells = json_array();
  for (size_t i = 0; i < s->count; i++)
    if (json_array_append_new(cells, cell_json(&s->cells[i], settings))) {
      json_decref(cells);
      return NULL;
    }
  return json_pack("{ss ss sI sI so}", "title", s->title, "folder", s->out, "finished",
                   (json_int_t)sweep_count(s, SWEEP_DONE) +
                       (json_int_t)sweep_count(s, SWEEP_FINISHED),
                   "failed", (json_int_t)sweep_count(s, SWEEP_FAILED), "cells", cells);
}

static int list_cells(const sweep *s, bool json) {
  if (json) return command_print_json("filtra sweep", sweep_json(s, true));
  for (size_t i = 0; i < s->count; i++)
    command_print("%-9s %s\n", sweep_state_name(s->cells[i].state), s->cells[i].name);
  command_print("%zu cells in %s: %zu new, %zu begun, %zu failed, %zu finished\n", s->count, s->out,
                sweep_count(s, SWEEP_NEW), sweep_count(s, SWEEP_BEGUN),
                sweep_count(s, SWEEP_FAILED), sweep_count(s, SWEEP_FINISHED));
  return COMMAND_DONE;
}

/* Lists failed cells again, since progress output has scrolled them away. */
static int show_end(const sweep *s, bool json) {
  size_t failed = sweep_count(s, SWEEP_FAILED);
  int code = failed ? COMMAND_FAILED : COMMAND_DONE;
  if (json) {
    int printed = command_print_json("filtra sweep", sweep_json(s, false));
    return printed ? printed : code;
  }
  command_print("%s: %zu cells finished, %zu of them before, %zu failed\n", s->out,
                sweep_count(s, SWEEP_DONE) + sweep_count(s, SWEEP_FINISHED),
                sweep_count(s, SWEEP_FINISHED), failed);
  for (size_t i = 0; i < s->count; i++)
    if (s->cells[i].state == SWEEP_FAILED)
      command_print("  %s: %s\n", s->cells[i].name, s->cells[i].error);
  return code;
}

static int sweep_cells(sweep *s, const sweep_arguments *a, const sweep_way *way) {
  system_survive_closed_pipes(); /* a closed progress pipe must not end the sweep */
  filtra_status status = sweep_run(s, way);
  if (!status) return show_end(s, a->json);
  int code = command_fail("filtra sweep", status);
  if (status == FILTRA_ERROR_CANCELLED) fprintf(stderr, "Continue with the same command.\n");
  return code;
}

/* ---- the command line ---- */

/* Splits the list in place. */
static size_t split_devices(char *list, const char *devices[MOST_DEVICES]) {
  size_t count = 0;
  for (char *at = list; at && count < MOST_DEVICES; count++) {
    char *comma = strchr(at, ',');
    if (comma) *comma = '\0';
    devices[count] = at;
    at = comma ? comma + 1 : NULL;
  }
  return count;
}

static int run(const sweep_arguments *a) {
  const sweep_choice choice = {a->file, a->out, a->cells, a->paths};
  const char *devices[MOST_DEVICES];
  sweep_way way = {.devices = devices, .device = a->device, .jobs = a->jobs};
  char *list = a->devices ? ft_strdup(a->devices) : NULL;
  sweep s;
  filtra_status status = sweep_read(&choice, &s);
  if (!status && a->devices && !list) status = FILTRA_ERROR_HOST_MEMORY;
  way.device_count = split_devices(list, devices);
  if (!way.jobs) way.jobs = way.device_count ? way.device_count : 1;
  if (!status && a->list) status = sweep_find_states(&s);
  if (!status && a->list) status = sweep_recall_failures(&s);
  int code = status    ? command_fail("filtra sweep", status)
             : a->list ? list_cells(&s, a->json)
                       : sweep_cells(&s, a, &way);
  sweep_free(&s);
  free(list);
  return code;
}

static void take_path(void *arguments, const char *name, const char *value) {
  sweep_arguments *a = arguments;
  (void)name;
  const char *equals = strchr(value, '=');
  char *key = equals ? ft_format("%.*s", (int)(equals - value), value) : NULL;
  if (!equals || equals == value || !equals[1])
    a->wrong_path = value;
  else if (!key || json_object_set_new(a->paths, key, json_string(equals + 1)))
    a->starved = true;
  free(key);
}

static const command_option OPTIONS[] = {
    COMMAND_OUT(sweep_arguments, out),
    COMMAND_TEXT("cells", sweep_arguments, cells),
    COMMAND_FLAG("list", sweep_arguments, list),
    COMMAND_KEY("data", take_path),
    COMMAND_NUMBER("jobs", sweep_arguments, jobs, 1, 256),
    COMMAND_TEXT("devices", sweep_arguments, devices),
    COMMAND_FLAG("json", sweep_arguments, json),
};

static int check(const char *name, const sweep_arguments *a) {
  if (!a->file) return command_misused(name, "which sweep? Give its file: %s sweep.json", name);
  if (a->wrong_path) return command_misused(name, "--data is %s, not NAME=PATH", a->wrong_path);
  if (a->devices && a->device.select)
    return command_misused(name, "give --device or --devices, not both");
  if (a->starved)
    return command_fail(name, ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory, or a path "
                                                                "that is not UTF-8"));
  return -1;
}

int run_sweep(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true,
                                    .words = true};
  sweep_arguments a = {.paths = json_object()};
  int code = command_take(argc, argv, &line, &a);
  if (code < 0 && optind < argc) a.file = argv[optind++];
  if (code < 0 && optind < argc) code = command_misused(argv[0], "what is \"%s\"?", argv[optind]);
  if (code < 0) code = check(argv[0], &a);
  if (code < 0) code = run(&a);
  json_decref(a.paths);
  return code;
}
