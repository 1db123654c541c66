/* filtra data listops: writes the ListOps task of Long Range Arena. */
#include "generation.h"

#include <filtra/data.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

enum {
  OPTION_OUT = OPTION_FIRST_FREE,
  OPTION_TRAIN,
  OPTION_VAL,
  OPTION_TEST,
  OPTION_MIN_LENGTH,
  OPTION_MAX_LENGTH,
  OPTION_MAX_DEPTH,
  OPTION_MAX_ARGS,
  OPTION_SEED,
  OPTION_JSON,
  OPTION_HELP
};

static const char help[] =
    "Usage: filtra data listops --out DIR [OPTION]...\n"
    "Writes DIR/basic_train.tsv, basic_val.tsv and basic_test.tsv: random, distinct expressions\n"
    "such as [MAX 2 9 [MIN 4 7 ] 0 ] and their values, the ListOps task of Long Range Arena. The\n"
    "same options give the same files on every machine.\n\n"
    "  --out DIR         folder to write to; made if need be\n"
    "  --train N         expressions for training (96000)\n"
    "  --val N           for validation (2000)\n"
    "  --test N          for testing (2000)\n"
    "  --min-length L    keep those with more than L tokens (500)\n"
    "  --max-length L    and fewer than L (2000)\n"
    "  --max-depth D     levels of the tree, the digits' included, 1 to 64 (10)\n"
    "  --max-args A      arguments of an operator at most, 2 to 1000 (10)\n"
    "  --seed S          start of the random numbers (0)\n"
    "  --json            print one JSON object\n";

typedef struct request {
  const char *out;
  uint64_t train, val, test, min_length, max_length, max_depth, max_args, seed;
  bool json;
} request;

/* ---- result ---- */

static int print_json(const request *r, double seconds) {
  json_t *root =
      json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "directory", r->out,
                "format", "lra-listops", "train", (json_int_t)r->train, "val", (json_int_t)r->val,
                "test", (json_int_t)r->test, "min_length", (json_int_t)r->min_length, "max_length",
                (json_int_t)r->max_length, "max_depth", (json_int_t)r->max_depth, "max_args",
                (json_int_t)r->max_args, "seed", (json_int_t)r->seed, "seconds", seconds);
  return command_print_json("filtra data listops", root);
}

static int generate(const request *r, const char *name) {
  generation p;
  generation_begin(&p, "expressions");
  const filtra_listops_options options = {.train = r->train,
                                          .val = r->val,
                                          .test = r->test,
                                          .min_length = (uint32_t)r->min_length,
                                          .max_length = (uint32_t)r->max_length,
                                          .max_depth = (uint32_t)r->max_depth,
                                          .max_args = (uint32_t)r->max_args,
                                          .seed = r->seed,
                                          .progress = generation_continues,
                                          .progress_user = &p};
  filtra_status status = filtra_listops_generate(r->out, &options);
  double seconds = generation_end(&p);
  if (status) return command_fail(name, status);
  if (r->json) return print_json(r, seconds);
  printf("%s: %" PRIu64 " expressions for training, %" PRIu64 " for validation and %" PRIu64
         " for testing, in %.1f s\n",
         r->out, r->train, r->val, r->test, seconds);
  return COMMAND_DONE;
}

/* ---- options ---- */

/* The ranges that matter, and what is impossible together, are the library's to judge; here only
 * what would wrap around or mean its default. */
static bool take_number(const char *name, int code, const char *text, request *r) {
  static const struct option_range {
    int code;
    const char *option;
    size_t offset;
    uint64_t low, high;
  } ranges[] = {
      {OPTION_TRAIN, "--train", offsetof(request, train), 1, UINT32_MAX},
      {OPTION_VAL, "--val", offsetof(request, val), 1, UINT32_MAX},
      {OPTION_TEST, "--test", offsetof(request, test), 1, UINT32_MAX},
      {OPTION_MIN_LENGTH, "--min-length", offsetof(request, min_length), 1, UINT32_MAX},
      {OPTION_MAX_LENGTH, "--max-length", offsetof(request, max_length), 1, UINT32_MAX},
      {OPTION_MAX_DEPTH, "--max-depth", offsetof(request, max_depth), 1, UINT32_MAX},
      {OPTION_MAX_ARGS, "--max-args", offsetof(request, max_args), 1, UINT32_MAX},
      {OPTION_SEED, "--seed", offsetof(request, seed), 0, INT64_MAX},
  };
  for (size_t i = 0; i < FT_COUNT(ranges); i++)
    if (ranges[i].code == code)
      return command_number(name, ranges[i].option, text, ranges[i].low, ranges[i].high,
                            (uint64_t *)((char *)r + ranges[i].offset));
  return false;
}

int run_data_listops(int argc, char **argv) {
  static const struct option table[] = {{"out", required_argument, NULL, OPTION_OUT},
                                        {"train", required_argument, NULL, OPTION_TRAIN},
                                        {"val", required_argument, NULL, OPTION_VAL},
                                        {"test", required_argument, NULL, OPTION_TEST},
                                        {"min-length", required_argument, NULL, OPTION_MIN_LENGTH},
                                        {"max-length", required_argument, NULL, OPTION_MAX_LENGTH},
                                        {"max-depth", required_argument, NULL, OPTION_MAX_DEPTH},
                                        {"max-args", required_argument, NULL, OPTION_MAX_ARGS},
                                        {"seed", required_argument, NULL, OPTION_SEED},
                                        {"json", no_argument, NULL, OPTION_JSON},
                                        {"help", no_argument, NULL, OPTION_HELP},
                                        {0}};
  request r = {NULL, 96000, 2000, 2000, 500, 2000, 10, 10, 0, false};
  for (int code; (code = getopt_long(argc, argv, "", table, NULL)) != -1;) {
    if (code == OPTION_HELP) {
      fputs(help, stdout);
      return COMMAND_DONE;
    }
    if (code == '?') return command_bad_option(argv[0]);
    if (code == OPTION_OUT)
      r.out = optarg;
    else if (code == OPTION_JSON)
      r.json = true;
    else if (!take_number(argv[0], code, optarg, &r))
      return COMMAND_USAGE;
  }
  if (optind < argc) return command_misused(argv[0], "unexpected \"%s\"", argv[optind]);
  if (!r.out || !*r.out) return command_misused(argv[0], "--out is missing");
  return generate(&r, argv[0]);
}
