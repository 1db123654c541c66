/* filtra data listops: writes the ListOps task of Long Range Arena. */
#include "common/options.h"
#include "generation.h"

#include <filtra/data.h>
#include <filtra/synthetic.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

static void print_help(void) {
  command_print(
      "Usage: filtra data listops --out DIR [OPTION]...\n"
      "Writes DIR/basic_train.tsv, basic_val.tsv and basic_test.tsv: random, distinct expressions\n"
      "such as [MAX 2 9 [MIN 4 7 ] 0 ] and their values, the ListOps task of Long Range Arena. "
      "The\n"
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
      "  --json            print one JSON object\n");
}

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
  command_print("%s: %" PRIu64 " expressions for training, %" PRIu64 " for validation and %" PRIu64
                " for testing, in %.1f s\n",
                r->out, r->train, r->val, r->test, seconds);
  return COMMAND_DONE;
}

/* ---- options ---- */

/* The library checks ranges and combinations; values that would wrap around or mean the default are
 * refused here. */
static const command_option OPTIONS[] = {
    COMMAND_OUT(request, out),
    COMMAND_NUMBER("train", request, train, 1, UINT32_MAX),
    COMMAND_NUMBER("val", request, val, 1, UINT32_MAX),
    COMMAND_NUMBER("test", request, test, 1, UINT32_MAX),
    COMMAND_NUMBER("min-length", request, min_length, 1, UINT32_MAX),
    COMMAND_NUMBER("max-length", request, max_length, 1, UINT32_MAX),
    COMMAND_NUMBER("max-depth", request, max_depth, 1, UINT32_MAX),
    COMMAND_NUMBER("max-args", request, max_args, 1, UINT32_MAX),
    COMMAND_NUMBER("seed", request, seed, 0, INT64_MAX),
    COMMAND_FLAG("json", request, json),
};

int run_data_listops(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help};
  request a = {NULL, 96000, 2000, 2000, 500, 2000, 10, 10, 0, false};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (!a.out || !*a.out) return command_misused(argv[0], "--out is missing");
  return generate(&a, argv[0]);
}
