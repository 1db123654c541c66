/* filtra check: runs golden files on the device and compares results tensor by tensor. */
#include "base/file.h"
#include "common/options.h"

#include "devices/matrices.h"
#include "golden.h"
#include "gpu/plan.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char NAME[] = "filtra check";

static void print_help(void) {
  command_print(
      "Usage: filtra check [GOLDEN.safetensors]... [OPTION]...\n"
      "Runs golden cases on the device, those that come with filtra where no file is given, and\n"
      "compares outputs and gradients with the expected values, by rtol * max|expected| + atol:\n"
      "outputs 2e-5 and 1e-6, gradients 2e-4 and 2e-6 * grad_scale (1e-3 where a unitary map and\n"
      "its inverse cancel). Exit code 0 when all pass. The first thing to do on a new device: the\n"
      "last line is for a report.\n\n"
      "  --precision P      bf16 or fp16: only layers and models, whose tensors may err by 48\n"
      "                     roundings of the largest element\n"
      "  --json             print one JSON object\n"
      "  --quiet            only print failures and the summary\n"
      "  --report FILE      also measure as filtra bench --quick does, and tune, and write all of "
      "it\n"
      "                     and what the device is to a file that can be sent: it names device,\n"
      "                     driver, processor and system, and no person, machine or folder.\n"
      "                     filtra compare reads it\n"
      "  --seconds S        of tuning for the report, by default %d; nothing of it is kept\n%s",
      CHECK_TUNING_SECONDS, device_options_help);
}

typedef struct check_arguments {
  filtra_device_options device;
  const filtra_precision *precision;
  const char *report;
  uint64_t seconds;
  bool json, quiet;
} check_arguments;

static double relative(const golden_result *r) {
  return r->scale > 0.0 ? r->error / r->scale : r->error;
}

static void print_report(const char *name, const golden_report *report, bool quiet) {
  if (quiet && report->pass) return;
  command_print("%s  %s (%s)\n", report->pass ? "pass" : "FAIL", name, report->op);
  for (size_t i = 0; i < report->count; i++) {
    const golden_result *r = &report->results[i];
    command_print("      %-28s worst relative error %.2e%s%s\n", r->name, relative(r),
                  r->zero ? "  (of the largest gradient: none here)" : "",
                  r->error <= r->allowed ? "" : "  over the tolerance");
  }
}

static json_t *report_json(const char *name, const golden_report *report) {
  json_t *tensors = json_array();
  for (size_t i = 0; i < report->count; i++) {
    const golden_result *r = &report->results[i];
    /* null for an infinity or a NaN, which JSON lacks */
    json_t *error = isfinite(r->error) ? json_real(relative(r)) : json_null();
    json_array_append_new(tensors, json_pack("{ss so sb}", "name", r->name, "relative_error", error,
                                             "pass", r->error <= r->allowed));
  }
  return json_pack("{ss ss ss sb so}", "file", name, "case", report->name, "op", report->op, "pass",
                   report->pass, "tensors", tensors);
}

typedef struct tally {
  filtra_device *device;
  const check_arguments *arguments;
  json_t *cases;
  int count, passed, code;
  bool cpu;       /* a CPU driver, which emulates 16 bits and takes minutes */
  double seconds; /* start time */
  double worst;   /* largest error relative to its tolerance, */
  char worst_name[256];
} tally;

static void count_errors(tally *t, const golden_file *file, const golden_report *report) {
  for (size_t i = 0; i < report->count; i++) {
    const golden_result *r = &report->results[i];
    if (r->error / r->allowed <= t->worst) continue;
    t->worst = r->error / r->allowed;
    snprintf(t->worst_name, sizeof t->worst_name, "%s of %s", r->name, file->name);
  }
}

/* Runs one file; its failure does not stop the others. */
static filtra_status check_file(tally *t, const golden_file *file, bool *pass, bool *skipped) {
  golden_report report;
  const filtra_precision *precision = t->arguments->precision;
  filtra_status status =
      golden_run(t->device, file, precision ? *precision : FILTRA_PRECISION_FP32, &report);
  *pass = !status && report.pass;
  *skipped = !status && report.skipped;
  if (*skipped) return FILTRA_OK;
  if (status && t->cases)
    json_array_append_new(t->cases, json_pack("{ss sb ss}", "file", file->name, "pass", false,
                                              "error", filtra_error_message()));
  if (status) return status;
  if (t->cases) json_array_append_new(t->cases, report_json(file->name, &report));
  if (!t->arguments->json) print_report(file->name, &report, t->arguments->quiet);
  count_errors(t, file, &report);
  golden_report_free(&report);
  return FILTRA_OK;
}

static void count_file(tally *t, const golden_file *file) {
  bool pass, skipped;
  if (t->code == COMMAND_DEVICE_LOST) return;
  filtra_status status = check_file(t, file, &pass, &skipped);
  if (skipped) return;
  int code = status ? command_fail(NAME, status) : pass ? COMMAND_DONE : COMMAND_FAILED;
  t->count++;
  t->passed += pass;
  if (t->code < code) t->code = code;
}

/* Makes the summary, which takes ownership of the cases. */
static json_t *summary_json(tally *t, double seconds) {
  json_t *cases = t->cases;
  t->cases = NULL;
  return json_pack("{si si sf so}", "files", t->count, "passed", t->passed, "seconds", seconds,
                   "cases", cases);
}

/* Prints one line, to be pasted into a report. */
static int conclude(tally *t) {
  const filtra_device_info *info = filtra_device_get_info(t->device);
  double seconds = ft_seconds() - t->seconds;
  if (t->arguments->json) {
    json_t *root = summary_json(t, seconds);
    if (root)
      json_object_update_new(root,
                             json_pack("{ss ss}", "device", info->name, "driver", info->driver));
    int printed = command_print_json(NAME, root);
    return t->code ? t->code : printed;
  }
  command_print("filtra %s (%s): %d of %d golden cases pass on %s, %s, in %.0f s", filtra_version(),
                filtra_commit, t->passed, t->count, info->name, info->driver, seconds);
  if (*t->worst_name)
    command_print("; the largest error is %.3g of what is allowed, %s", t->worst, t->worst_name);
  command_print("\n");
  return t->code;
}

static const command_option OPTIONS[] = {
    COMMAND_PRECISION(check_arguments, precision),
    COMMAND_TEXT("report", check_arguments, report),
    COMMAND_NUMBER("seconds", check_arguments, seconds, 1, 86400),
    COMMAND_FLAG("json", check_arguments, json),
    COMMAND_FLAG("quiet", check_arguments, quiet),
};

static bool comes_along(const char *profile, size_t length) {
  for (const ft_profile *p = ft_profiles; p->name; p++)
    if (strlen(p->name) == length && !strncmp(p->name, profile, length)) return true;
  return false;
}

/* Whether any setting is something other than built-in keys and profiles, such as a file. */
static bool names_file(const char *caps) {
  for (const char *item = caps; item; item = strchr(item, ',')) {
    item += *item == ',';
    const size_t length = strcspn(item, ",");
    if (*item == '@' && !comes_along(item + 1, length - 1)) return true;
  }
  return strpbrk(caps, "/\\") != NULL;
}

/* Checks combinations of options; returns -1, or the exit code for wrong usage. */
static int check_usage(const char *name, const check_arguments *a, bool files) {
  const char *caps = a->device.caps ? a->device.caps : getenv("FILTRA_CAPS");
  if (!a->report)
    return a->seconds ? command_misused(name, "--seconds is of tuning for --report") : -1;
  if (files || a->json || a->precision)
    return command_misused(name, "--report is of all that comes with filtra: leave out %s",
                           files     ? "the files"
                           : a->json ? "--json"
                                     : "--precision");
  if (caps && names_file(caps))
    return command_misused(name,
                           "--caps %s names a file, which would be in the report: give keys, or a "
                           "profile of filtra devices --list-profiles",
                           caps);
  return -1;
}

/* Runs the files named, or all built-in cases if none are. */
static int run_files(tally *t, int argc, char **argv) {
  filtra_status status = filtra_device_open(&t->arguments->device, &t->device);
  if (status) return command_fail(NAME, status);
  t->cpu = filtra_device_get_info(t->device)->device_class == FILTRA_DEVICE_CPU;
  for (int i = optind; i < argc; i++)
    count_file(t, &(golden_file){.name = argv[i]});
  for (const golden_file *f = golden_files; f->name && optind == argc; f++)
    count_file(t, f);
  int code = conclude(t);
  filtra_device_close(&t->device);
  return code;
}

/* As run_files, then completes the report, even if cases fail. */
static int run_with_report(tally *t, int argc, char **argv) {
  static const char *const heads[] = {"{\n  \"format\": \"" CHECK_FORMAT}; /* of check_report */
  const check_arguments *a = t->arguments;
  ft_atomic_file file;
  filtra_status status = command_check_replaced("--report", a->report, heads, FT_COUNT(heads));
  if (status) return command_fail(NAME, status);
  command_catch_interrupts();
  matrices_test(NAME, &a->device, false,
                MATRIX_TEST_SECONDS);        /* the child must not inherit the file */
  status = ft_atomic_open(a->report, &file); /* fails now, not after minutes */
  if (status) return command_fail(NAME, status);
  int code = run_files(t, argc, argv);
  if (!t->count) { /* no device was opened */
    ft_atomic_abort(&file);
    return code;
  }
  int written = check_report(&a->device, t->cpu ? "fp32" : "all",
                             a->seconds ? (double)a->seconds : CHECK_TUNING_SECONDS,
                             summary_json(t, ft_seconds() - t->seconds), a->report, &file);
  return written > code ? written : code;
}

int run_check(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true,
                                    .words = true};
  check_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  if (code < 0) code = check_usage(argv[0], &a, optind < argc);
  if (code >= 0) return code;
  tally t = {.arguments = &a, .seconds = ft_seconds()};
  if (a.json || a.report) t.cases = json_array();
  code = a.report ? run_with_report(&t, argc, argv) : run_files(&t, argc, argv);
  json_decref(t.cases);
  return code;
}
