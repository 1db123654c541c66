/* filtra check: golden files run on the device and compared tensor by tensor. */
#include "common/options.h"

#include "golden.h"

#include <math.h>
#include <stdio.h>

static void print_help(void) {
  printf(
      "Usage: filtra check GOLDEN.safetensors... [OPTION]...\n"
      "Runs golden cases on the device and compares outputs and gradients with the expected\n"
      "values, by rtol * max|expected| + atol: outputs 2e-5 and 1e-6, gradients 2e-4 and\n"
      "2e-6 * grad_scale (1e-3 where a unitary map and its inverse cancel). Exit code 0 when all\n"
      "pass.\n\n"
      "  --json             print one JSON object\n"
      "  --quiet            only print failures and the summary\n%s",
      device_options_help);
}

typedef struct check_arguments {
  filtra_device_options device;
  bool json, quiet;
} check_arguments;

static double relative(const golden_result *r) {
  return r->scale > 0.0 ? r->error / r->scale : r->error;
}

static void print_report(const char *path, const golden_report *report, bool quiet) {
  if (quiet && report->pass) return;
  printf("%s  %s (%s)\n", report->pass ? "pass" : "FAIL", path, report->op);
  for (size_t i = 0; i < report->count; i++) {
    const golden_result *r = &report->results[i];
    printf("      %-28s worst relative error %.2e%s%s\n", r->name, relative(r),
           r->zero ? "  (of the largest gradient: none here)" : "",
           r->error <= r->allowed ? "" : "  over the tolerance");
  }
}

static json_t *report_json(const char *path, const golden_report *report) {
  json_t *tensors = json_array();
  for (size_t i = 0; i < report->count; i++) {
    const golden_result *r = &report->results[i];
    /* JSON has no infinity, which a NaN counts as: null */
    json_t *error = isfinite(r->error) ? json_real(relative(r)) : json_null();
    json_array_append_new(tensors, json_pack("{ss so sb}", "name", r->name, "relative_error", error,
                                             "pass", r->error <= r->allowed));
  }
  return json_pack("{ss ss ss sb so}", "file", path, "case", report->name, "op", report->op, "pass",
                   report->pass, "tensors", tensors);
}

/* One file; what goes wrong with it does not stop the others. */
static filtra_status check_file(filtra_device *device, const check_arguments *a, const char *path,
                                json_t *cases, bool *pass) {
  golden_report report;
  filtra_status status = golden_run(device, path, &report);
  *pass = !status && report.pass;
  if (status && a->json)
    json_array_append_new(cases, json_pack("{ss sb ss}", "file", path, "pass", false, "error",
                                           filtra_error_message()));
  if (status) return status;
  if (a->json)
    json_array_append_new(cases, report_json(path, &report));
  else
    print_report(path, &report, a->quiet);
  golden_report_free(&report);
  return FILTRA_OK;
}

static int check_files(filtra_device *device, const check_arguments *a, char **paths, int count) {
  const char *name = filtra_device_get_info(device)->name;
  json_t *cases = json_array();
  int passed = 0, code = COMMAND_DONE;
  for (int i = 0; i < count && code != COMMAND_DEVICE_LOST; i++) {
    bool pass;
    filtra_status status = check_file(device, a, paths[i], cases, &pass);
    int file_code = status ? command_fail("filtra check", status)
                    : pass ? COMMAND_DONE
                           : COMMAND_FAILED;
    passed += pass;
    if (code < file_code) code = file_code;
  }
  if (!a->json) {
    printf("%d of %d golden files pass on %s\n", passed, count, name);
    json_decref(cases);
    return code;
  }
  int printed =
      command_print_json("filtra check", json_pack("{si si ss so}", "files", count, "passed",
                                                   passed, "device", name, "cases", cases));
  return code ? code : printed;
}

static const command_option OPTIONS[] = {
    COMMAND_FLAG("json", check_arguments, json),
    COMMAND_FLAG("quiet", check_arguments, quiet),
};

int run_check(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true,
                                    .words = true};
  check_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (optind == argc) return command_misused(argv[0], "no golden file was given");
  filtra_device *device = NULL;
  filtra_status status = filtra_device_open(&a.device, &device);
  if (status) return command_fail("filtra check", status);
  code = check_files(device, &a, argv + optind, argc - optind);
  filtra_device_close(&device);
  return code;
}
