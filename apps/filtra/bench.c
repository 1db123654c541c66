/* filtra bench: what this device reaches, by its own timestamps. */
#include "bench.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>

static json_t *document(const filtra_device_info *info, bool quick, json_t *results) {
  return json_pack("{ss ss ss ss sb sO}", "filtra", filtra_version(), "device", info->name,
                   "driver", info->driver, "uuid", info->uuid, "quick", quick, "results", results);
}

/* Where the device's name comes from, and whether it opens at all, before minutes of timing. */
static filtra_status describe(const bench_arguments *a, filtra_device_info *info) {
  filtra_device *device;
  FT_TRY(filtra_device_open(&a->device, &device));
  *info = *filtra_device_get_info(device);
  filtra_device_close(&device);
  return FILTRA_OK;
}

static filtra_status measure(const bench_arguments *a, json_t **object) {
  filtra_device_info info;
  FT_TRY(describe(a, &info));
  json_t *results = json_array();
  filtra_status status = a->ops ? bench_gemm(a, results) : FILTRA_OK;
  if (!status && a->mixers) status = bench_mixers(a, results);
  if (!status) *object = document(&info, a->quick, results);
  json_decref(results);
  if (!status && !*object) status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  return status;
}

static int bench(const bench_arguments *a) {
  static const char NAME[] = "filtra bench";
  json_t *object = NULL;
  ft_atomic_file file;
  filtra_status status = a->out ? ft_atomic_open(a->out, &file) : FILTRA_OK;
  if (status) return command_fail(NAME, status);
  status = measure(a, &object);
  if (a->out && status) ft_atomic_abort(&file);
  if (a->out && !status) {
    json_dumpf(object, file.stream, JSON_INDENT(2));
    fputc('\n', file.stream);
    status = ft_atomic_commit(&file);
  }
  int code = status ? command_fail(NAME, status) : COMMAND_DONE;
  if (!status && a->json) return command_print_json(NAME, object);
  json_decref(object);
  return code;
}

/* ---- the command line ---- */

static void print_help(void) {
  printf(
      "Usage: filtra bench [OPTION]...\n"
      "Times kernels with device timestamps, after a warm-up; best and median of %d runs, fewer\n"
      "where they take seconds.\n\n"
      "  --ops LIST         gemm: matrix products in each of their variants; what is timed\n"
      "                     without options\n"
      "  --mixers LIST      one layer of each of these mixers (or all) forward and backward, for\n"
      "                     sequences of 1024 to 32768 tokens: time, memory, and the exponents\n"
      "                     that they grow with; then a train step of two layers, batch 4 and\n"
      "                     1024 tokens\n"
      "  --quick            small sizes, %d runs\n"
      "  --out FILE         write the result as JSON\n"
      "  --json             print it instead of the table\n%s",
      BENCH_REPEATS, BENCH_QUICK_REPEATS, device_options_help);
}

enum { OPTION_OPS = OPTION_FIRST_FREE, OPTION_MIXERS, OPTION_QUICK, OPTION_OUT, OPTION_JSON };

static const struct option OPTIONS[] = {
    DEVICE_OPTIONS,
    {"ops", required_argument, NULL, OPTION_OPS},
    {"mixers", required_argument, NULL, OPTION_MIXERS},
    {"quick", no_argument, NULL, OPTION_QUICK},
    {"out", required_argument, NULL, OPTION_OUT},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {0},
};

int run_bench(int argc, char **argv) {
  bench_arguments a = {0};
  int code;
  while ((code = getopt_long(argc, argv, "h", OPTIONS, NULL)) != -1) {
    if (take_device_option(code, optarg, &a.device)) continue;
    switch (code) {
    case OPTION_OPS:
      a.ops = optarg;
      break;
    case OPTION_MIXERS:
      a.mixers = optarg;
      break;
    case OPTION_QUICK:
      a.quick = true;
      break;
    case OPTION_OUT:
      a.out = optarg;
      break;
    case OPTION_JSON:
      a.json = true;
      break;
    case 'h':
      print_help();
      return COMMAND_DONE;
    default:
      return command_bad_option(argv[0]);
    }
  }
  char unknown[64];
  if (optind < argc) return command_misused(argv[0], "what is \"%s\"?", argv[optind]);
  if (a.ops && strcmp(a.ops, "gemm"))
    return command_misused(argv[0], "--ops %s: this version times gemm", a.ops);
  if (a.mixers && !bench_mixers_known(a.mixers, unknown))
    return command_misused(argv[0], "--mixers: there is no mixer \"%s\"", unknown);
  if (!a.ops && !a.mixers) a.ops = "gemm";
  return bench(&a);
}
