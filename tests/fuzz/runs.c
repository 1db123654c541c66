/* Readers of files that runs and the command write: configurations, metadata, metrics,
 * measurements. */
#include "base/json.h"
#include "base/memory.h"
#include "compare/compare.h"
#include "fuzz.h"
#include "model/start.h"
#include "report/report.h"
#include "sweep/sweep.h"
#include "train/identity.h"
#include "train/input.h"
#include "train/preset.h"

#include <filtra/filtra.h>
#include <stdlib.h>
#include <string.h>

const char filtra_commit[] = "fuzz"; /* the command's */

static json_t *parse(const uint8_t *data, size_t size) {
  json_t *root;
  filtra_status status = ft_json_parse((const char *)data, size, "x.json", &root);
  fuzz_failed(status);
  return root;
}

/* What is read can be written, and reads as the same. */
static void read_config(const uint8_t *data, size_t size) {
  ft_run_config config;
  json_t *given = parse(data, size), *object = NULL;
  if (!given) return;
  filtra_status status = ft_preset_expand(given, &object);
  fuzz_failed(status);
  if (!status) {
    status = ft_run_config_read(object, "x.json", &config);
    fuzz_failed(status);
  }
  json_decref(object);
  json_decref(given);
  if (status) return;
  json_t *written = ft_run_config_write(&config), *again;
  fuzz_check(written != NULL, "writing");
  status = ft_run_config_read(written, "again.json", &config);
  if (!status) { /* what is not known before the data are may be refused */
    again = ft_run_config_write(&config);
    fuzz_check(again && json_equal(again, written), "reading again");
    json_decref(again);
  }
  json_decref(written);
}

/* A folder of Hugging Face's: what is taken from it can be written as a model's keys. */
static void read_start(const uint8_t *data, size_t size) {
  static const char *const NAMES[] = {"hub/config.json", "hub/model.safetensors",
                                      "hub/preprocessor_config.json", NULL};
  ft_start *start;
  ft_model_options options;
  json_t *keys = NULL;
  fuzz_files(data, size, NAMES);
  filtra_status status = ft_start_open(fuzz_path("hub"), &start);
  if (!status) status = ft_start_merge(ft_start_keys(start), NULL, &keys);
  if (!status) status = ft_model_options_read(keys, "hub", &options);
  fuzz_failed(status);
  json_decref(keys);
  ft_start_close(&start);
}

static void read_model_options(const uint8_t *data, size_t size) {
  ft_model_options options;
  json_t *object = parse(data, size);
  if (!object) return;
  filtra_status status = ft_model_options_read(object, "x.json", &options);
  fuzz_failed(status);
  json_decref(object);
  if (status) return;
  json_t *written = ft_model_options_write(&options);
  fuzz_check(written && !ft_model_options_read(written, "again.json", &options), "reading again");
  json_decref(written);
}

static void read_fit(const uint8_t *data, size_t size) {
  ft_run_fit fit;
  json_t *object = parse(data, size);
  if (!object) return;
  filtra_status status = ft_run_take_fit(object, "x.json", &fit);
  fuzz_failed(status);
  if (!status) ft_run_free_fit(&fit);
}

static void read_input(const uint8_t *data, size_t size) {
  ft_input input;
  char *text = fuzz_text(data, size);
  filtra_status status = ft_input_read(text, "x", &input);
  fuzz_failed(status);
  if (!status) ft_input_free(&input);
  free(text);
}

static void read_identity(const uint8_t *data, size_t size) {
  json_t *identity;
  ft_run_identity now = {.settings = json_pack("{si ss}", "width", 8, "mixer", "agf"),
                         .data = "0123456789abcdef"};
  filtra_status status = ft_run_identity_read(fuzz_file("x.safetensors", data, size), &identity);
  fuzz_failed(status);
  if (!status) fuzz_failed(ft_run_identity_resume(&now, identity, "x", size & 1));
  json_decref(identity);
  json_decref(now.settings);
}

/* A run's folder as `filtra report` reads it. */
static void read_report(const uint8_t *data, size_t size) {
  static const char CONFIG[] =
      "{\"data\": \"x\", \"task\": \"classification\", \"mixer\": \"agf\", "
      "\"vocabulary\": 16, \"classes\": 10, \"max_length\": 32}";
  static const char *const NAMES[] = {"run/metrics.jsonl", "run/about.json", "run/eval-test.json",
                                      NULL};
  report_run run;
  fuzz_files(data, size, NAMES);
  fuzz_file("run/config.json", CONFIG, sizeof CONFIG - 1);
  fuzz_failed(report_read(fuzz_path("run"), &run));
  report_free(&run);
}

/* A report as JSON: what is read can be written, and reads as the same. */
static void read_merge(const uint8_t *data, size_t size) {
  report_set sets[2];
  report_summary summary = {0};
  json_t *written[2] = {NULL, NULL};
  const char *text = (const char *)data;
  char *again = NULL;
  filtra_status status = FILTRA_OK;
  for (int i = 0; i < 2 && !status; i++) {
    char *path = ft_strdup(fuzz_file("report.json", text, size));
    status = report_collect(&path, 1, &sets[i]);
    fuzz_failed(status);
    fuzz_check(!status || !i, "reading again");
    if (!status) fuzz_check(!report_summarize(&sets[i], &summary), "summarizing");
    if (!status) written[i] = report_json(&(report_view){&sets[i], &summary});
    fuzz_check(status || written[i], "writing");
    report_free_summary(&summary);
    report_free_set(&sets[i]);
    free(path);
    if (i || status) continue;
    text = again = json_dumps(written[0], JSON_COMPACT);
    size = strlen(again);
  }
  fuzz_check(status || json_equal(written[0], written[1]), "reading again");
  json_decref(written[0]);
  json_decref(written[1]);
  free(again);
}

/* Cells that were read can be run: their names are those of folders, each its own, and training
 * takes their settings. */
static void read_sweep(const uint8_t *data, size_t size) {
  const sweep_choice choice = {.file = fuzz_file("sweep.json", data, size), .out = "out"};
  sweep s;
  fuzz_failed(sweep_read(&choice, &s));
  for (size_t i = 0; i < s.count && i < 100; i++) {
    const char *name = s.cells[i].name;
    char *config = json_dumps(s.cells[i].config, 0), *complete = NULL;
    fuzz_check(*name && *name != '.' && !strchr(name, '/') && strlen(name) < 256, "a cell's name");
    fuzz_check(!strncmp(s.cells[i].folder, "out/", 4), "a cell's folder");
    for (size_t k = 0; k < i; k++)
      fuzz_check(strcmp(name, s.cells[k].name) != 0, "two cells of one name");
    fuzz_check(!filtra_config_complete(config, name, &complete), "a cell's settings");
    filtra_free(complete);
    free(config);
  }
  sweep_free(&s);
}

static void read_comparison(const uint8_t *data, size_t size) {
  compare_machine machine;
  fuzz_failed(compare_read(fuzz_file("bench.json", data, size), &machine));
  compare_free_machine(&machine);
}

const fuzz_reader fuzz_runs[] = {{"config", read_config},
                                 {"start", read_start},
                                 {"model-options", read_model_options},
                                 {"fit", read_fit},
                                 {"input", read_input},
                                 {"identity", read_identity},
                                 {"report", read_report},
                                 {"report-json", read_merge},
                                 {"sweep", read_sweep},
                                 {"compare", read_comparison},
                                 {0}};
