/* filtra check: runs golden files on the device and compares results tensor by tensor. */
#include "base/file.h"
#include "common/options.h"

#include "golden.h"

#include <math.h>
#include <stdio.h>

static void print_help(void) {
  printf(
      "Usage: filtra check [GOLDEN.safetensors]... [OPTION]...\n"
      "Runs golden cases on the device, those that come with filtra where no file is given, and\n"
      "compares outputs and gradients with the expected values, by rtol * max|expected| + atol:\n"
      "outputs 2e-5 and 1e-6, gradients 2e-4 and 2e-6 * grad_scale (1e-3 where a unitary map and\n"
      "its inverse cancel). Exit code 0 when all pass. The first thing to do on a new device: the\n"
      "last line is for a report.\n\n"
      "  --precision P      bf16 or fp16: only layers and models, whose tensors may err by 48\n"
      "                     roundings of the largest element\n"
      "  --json             print one JSON object\n"
      "  --quiet            only print failures and the summary\n%s",
      device_options_help);
}

typedef struct check_arguments {
  filtra_device_options device;
  const filtra_precision *precision;
  bool json, quiet;
} check_arguments;

static double relative(const golden_result *r) {
  return r->scale > 0.0 ? r->error / r->scale : r->error;
}

static void print_report(const char *name, const golden_report *report, bool quiet) {
  if (quiet && report->pass) return;
  printf("%s  %s (%s)\n", report->pass ? "pass" : "FAIL", name, report->op);
  for (size_t i = 0; i < report->count; i++) {
    const golden_result *r = &report->results[i];
    printf("      %-28s worst relative error %.2e%s%s\n", r->name, relative(r),
           r->zero ? "  (of the largest gradient: none here)" : "",
           r->error <= r->allowed ? "" : "  over the tolerance");
  }
}

static json_t *report_json(const char *name, const golden_report *report) {
  json_t *tensors = json_array();
  for (size_t i = 0; i < report->count; i++) {
    const golden_result *r = &report->results[i];
    /* null, as JSON has no infinity; NaN too */
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
  if (t->cases)
    json_array_append_new(t->cases, report_json(file->name, &report));
  else
    print_report(file->name, &report, t->arguments->quiet);
  count_errors(t, file, &report);
  golden_report_free(&report);
  return FILTRA_OK;
}

static void count_file(tally *t, const golden_file *file) {
  bool pass, skipped;
  if (t->code == COMMAND_DEVICE_LOST) return;
  filtra_status status = check_file(t, file, &pass, &skipped);
  if (skipped) return;
  int code = status ? command_fail("filtra check", status) : pass ? COMMAND_DONE : COMMAND_FAILED;
  t->count++;
  t->passed += pass;
  if (t->code < code) t->code = code;
}

/* Prints one line, to be pasted into a report. */
static int conclude(tally *t) {
  const filtra_device_info *info = filtra_device_get_info(t->device);
  double seconds = ft_seconds() - t->seconds;
  if (t->cases) {
    int printed = command_print_json(
        "filtra check",
        json_pack("{si si ss ss sf so}", "files", t->count, "passed", t->passed, "device",
                  info->name, "driver", info->driver, "seconds", seconds, "cases", t->cases));
    return t->code ? t->code : printed;
  }
  printf("filtra %s (%s): %d of %d golden cases pass on %s, %s, in %.0f s", filtra_version(),
         filtra_commit, t->passed, t->count, info->name, info->driver, seconds);
  if (*t->worst_name)
    printf("; the largest error is %.3g of what is allowed, %s", t->worst, t->worst_name);
  putchar('\n');
  return t->code;
}

static const command_option OPTIONS[] = {
    COMMAND_PRECISION(check_arguments, precision),
    COMMAND_FLAG("json", check_arguments, json),
    COMMAND_FLAG("quiet", check_arguments, quiet),
};

int run_check(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true,
                                    .words = true};
  check_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  tally t = {.arguments = &a, .seconds = ft_seconds()};
  filtra_status status = filtra_device_open(&a.device, &t.device);
  if (status) return command_fail("filtra check", status);
  if (a.json) t.cases = json_array();
  for (int i = optind; i < argc; i++)
    count_file(&t, &(golden_file){.name = argv[i]});
  for (const golden_file *f = golden_files; f->name && optind == argc; f++)
    count_file(&t, f);
  code = conclude(&t);
  filtra_device_close(&t.device);
  return code;
}
