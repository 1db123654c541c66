/* filtra analyze: what the mixers of trained runs do to tokens, measured as in the papers on
 * oversmoothing. */
#include "analyze.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/stream.h"
#include "common/chart.h"
#include "common/options.h"
#include "common/sets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct analyze_arguments {
  filtra_device_options device;
  const char *run, *split, *data, *out, *charts, *maps;
  command_sets sets;
  char *settings; /* `sets` as text; NULL: none */
  uint64_t samples;
  bool json;
} analyze_arguments;

static void print_help(void) {
  command_print(
      "Usage: filtra analyze RUN... [OPTION]...\n"
      "Shows what the mixers of runs' best models do to their tokens: amplitude by frequency,\n"
      "similarity between tokens, effective rank and energy from layer to layer, singular values\n"
      "of the last features, learned filters and coefficients; of attention, GFSA, p-LaT and AGF\n"
      "also largest eigenvalue, row sums, likeness of values, homophily, p-LaT's energy, high and\n"
      "low frequencies after powers of their matrices, singular values of AGF's, and the error of\n"
      "GFSA's power against its bound.\n"
      "Several runs are laid over each other. Writes a page for the browser and prints its "
      "path.\n\n"
      "  --run DIR          the run folder, too\n"
      "  --out FILE         the page; of one run DIR/analysis.html by default\n"
      "  --charts FOLDER    also save the page's charts there, as SVG files\n"
      "  --split NAME       train, val (default) or test\n"
      "  --data PATH        other data than the runs'\n"
      "%s"
      "  --samples N        the first N samples of the split are looked at; 16 by default\n"
      "  --maps N,N,...     also show the attention of each layer and head in these samples, 0\n"
      "                     the first of the split, at most %d of %d tokens\n"
      "  --json             print one JSON object instead of writing a page: of several runs "
      "their\n"
      "                     list\n%s",
      command_reading_help, ANALYSIS_MOST_MAPPED, ANALYSIS_MAP_TOKENS, device_options_help);
}

/* ---- several runs ---- */

/* Labels a run by the last part of its folder's path, or by the whole path if another run has the
 * same last part. */
static void label_runs(analysis *runs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const char *name = ft_path_name(runs[i].run);
    runs[i].label = *name ? name : runs[i].run;
  }
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < count; k++)
      if (k != i && !strcmp(runs[i].label, runs[k].label)) {
        runs[i].label = runs[i].run;
        break;
      }
}

/* The run's folder if the page lies in it; else NULL. */
static const char *folder_of_page(const analysis *runs, size_t count, const char *path) {
  for (size_t i = 0; i < count; i++)
    if (ft_lies_in(runs[i].run, path)) return runs[i].run;
  return NULL;
}

/* What pages begin with (page_begin). */
static const char *const HEADS[] = {"<!DOCTYPE html>"};

static filtra_status write_page(const analysis *runs, size_t count, const char *path) {
  char *text = NULL;
  size_t size = 0;
  FILE *to = ft_open_memstream(&text, &size);
  if (!to) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  analyze_write_page(to, runs, count);
  bool failed = fclose(to) != 0;
  filtra_status status =
      failed ? ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory")
             : ft_file_write_in(folder_of_page(runs, count, path), path, text, size);
  free(text);
  return status;
}

static filtra_status show_page(const analysis *runs, size_t count, const char *out) {
  char *path = out ? ft_strdup(out) : ft_path_join(runs->run, "analysis.html");
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = write_page(runs, count, path);
  if (!status && count == 1)
    command_print("%s: %zu samples of %s\n", path, runs->samples, runs->split);
  if (!status && count > 1) command_print("%s: %zu runs\n", path, count);
  free(path);
  return status;
}

typedef struct all_runs {
  const analysis *runs;
  size_t count;
} all_runs;

static filtra_status write_all(FILE *to, const void *page) {
  const all_runs *all = page;
  analyze_write_page(to, all->runs, all->count);
  return FILTRA_OK;
}

static filtra_status save_charts(const analysis *runs, size_t count, const analyze_arguments *a) {
  size_t charts;
  FT_TRY(chart_save_page(folder_of_page(runs, count, a->charts), a->charts, write_all,
                         &(all_runs){runs, count}, &charts));
  if (!a->json) command_print("%s: %zu charts\n", a->charts, charts);
  return FILTRA_OK;
}

static json_t *runs_json(const analysis *runs, size_t count) {
  if (count == 1) return analyze_json(runs);
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    if (json_array_append_new(list, analyze_json(&runs[i]))) {
      json_decref(list);
      return NULL;
    }
  return json_pack("{so}", "runs", list);
}

/* Reads comma-separated distinct numbers; `text` NULL: none. */
static bool read_numbers(const char *text, uint64_t numbers[ANALYSIS_MOST_MAPPED], size_t *count) {
  for (*count = 0; text; text += *text == ',') {
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9' || *count == ANALYSIS_MOST_MAPPED) return false;
    const uint64_t number = strtoull(text, &end, 10);
    if (errno || (*end && *end != ',')) return false;
    bool seen = false;
    for (size_t i = 0; i < *count; i++)
      seen = seen || numbers[i] == number;
    if (!seen) numbers[(*count)++] = number;
    text = end;
    if (!*text) return true;
  }
  return true;
}

static int analyze(const analyze_arguments *arg, char **folders, size_t count) {
  uint64_t chosen[ANALYSIS_MOST_MAPPED];
  analyze_request request = {arg->split, arg->data, arg->settings, arg->samples, chosen, 0};
  filtra_device *device = NULL;
  size_t done = 0;
  analysis *runs = ft_calloc(count, sizeof *runs);
  if (!read_numbers(arg->maps, chosen, &request.chosen_count)) {
    free(runs);
    return command_misused("filtra analyze",
                           "--maps is \"%s\", accepted are 1 to %d numbers of samples with commas "
                           "between",
                           arg->maps, ANALYSIS_MOST_MAPPED);
  }
  filtra_status status = runs ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = command_check_replaced("--out", arg->out, HEADS, FT_COUNT(HEADS));
  if (!status) status = filtra_device_open(&arg->device, &device);
  for (; done < count && !status; done++)
    status = analyze_run(device, folders[done], &request, &runs[done]);
  if (!status) label_runs(runs, count);
  if (!status && !arg->json) status = show_page(runs, count, arg->out);
  if (!status && arg->charts) status = save_charts(runs, count, arg);
  int code = status ? command_fail("filtra analyze", status) : COMMAND_DONE;
  if (!status && arg->json) code = command_print_json("filtra analyze", runs_json(runs, count));
  for (size_t i = 0; i < done; i++)
    analyze_free(&runs[i]);
  free(runs);
  filtra_device_close(&device);
  return code;
}

/* Analyzes --run and all further words. */
static int analyze_all(const analyze_arguments *a, char **words, size_t count) {
  char **folders = ft_calloc(count + 1, sizeof *folders);
  size_t used = 0;
  if (!folders) return command_fail("filtra analyze", FILTRA_ERROR_HOST_MEMORY);
  folders[used++] = (char *)a->run;
  for (size_t i = 0; i < count; i++)
    folders[used++] = words[i];
  int code = used > 1 && !a->json && !a->out
                 ? command_misused("filtra analyze", "several runs need --out FILE for their page, "
                                                     "or --json")
                 : analyze(a, folders, used);
  free(folders);
  return code;
}

static void take_set(void *arguments, const char *name, const char *value) {
  (void)name;
  command_add_set(&((analyze_arguments *)arguments)->sets, NULL, value);
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("run", analyze_arguments, run),
    COMMAND_OUT(analyze_arguments, out),
    COMMAND_TEXT("charts", analyze_arguments, charts),
    COMMAND_TEXT("split", analyze_arguments, split),
    COMMAND_TEXT("data", analyze_arguments, data),
    COMMAND_KEY("set", take_set),
    COMMAND_NUMBER("samples", analyze_arguments, samples, 1, 100000),
    COMMAND_TEXT("maps", analyze_arguments, maps),
    COMMAND_FLAG("json", analyze_arguments, json),
};

int run_analyze(int argc, char **argv) {
  static const command_line line = {OPTIONS,       FT_COUNT(OPTIONS),
                                    print_help,    .opens_device = true,
                                    .words = true, .run = offsetof(analyze_arguments, run)};
  analyze_arguments a = {.split = "val", .samples = 16, .sets = {.list = json_array()}};
  int code = command_take(argc, argv, &line, &a);
  if (code < 0 && a.json && a.out)
    code = command_misused(argv[0], "give --json or --out, not both");
  filtra_status status = code < 0 ? command_reading_settings(&a.sets, &a.settings) : FILTRA_OK;
  if (code < 0)
    code = status ? command_fail(argv[0], status)
                  : analyze_all(&a, argv + optind, (size_t)(argc - optind));
  free(a.settings);
  json_decref(a.sets.list);
  return code;
}
