/* filtra data pathfinder: writes the Pathfinder task of Long Range Arena. */
#include "generation.h"

#include <filtra/data.h>
#include <inttypes.h>
#include <stdio.h>

enum {
  OPTION_OUT = OPTION_FIRST_FREE,
  OPTION_COUNT,
  OPTION_CONTOUR,
  OPTION_SEED,
  OPTION_THREADS,
  OPTION_JSON,
  OPTION_HELP
};

static const char help[] =
    "Usage: filtra data pathfinder --out DIR [OPTION]...\n"
    "Writes DIR/curv_contour_length_14 with imgs/ and metadata/ as Long Range Arena distributes\n"
    "them: images of 32 x 32 grey pixels with dashed contours; do the two markers lie on one? The\n"
    "same options give the same images with any number of threads. Readers take 80 % of them for\n"
    "training, 10 % for validation and 10 % for testing, always the same ones.\n\n"
    "  --out DIR            folder to write to; made if need be\n"
    "  --count N            images (200000)\n"
    "  --contour-length N   dashes of the long contours, 3 to 20; published: 6, 9 and 14 (14)\n"
    "  --seed S             start of the random numbers (0)\n"
    "  --threads N          processors to use (all)\n"
    "  --json               print one JSON object\n";

typedef struct request {
  const char *out;
  uint64_t count, contour_length, seed, threads;
  bool json;
} request;

static int print_json(const request *r, double seconds) {
  json_t *root =
      json_pack("{s:s, s:s, s:I, s:I, s:I, s:f}", "directory", r->out, "format", "pathfinder",
                "count", (json_int_t)r->count, "contour_length", (json_int_t)r->contour_length,
                "seed", (json_int_t)r->seed, "seconds", seconds);
  return command_print_json("filtra data pathfinder", root);
}

static int generate(const request *r, const char *name) {
  generation p;
  generation_begin(&p, "images");
  const filtra_pathfinder_options options = {.count = r->count,
                                             .contour_length = (uint32_t)r->contour_length,
                                             .seed = r->seed,
                                             .threads = (uint32_t)r->threads,
                                             .progress = generation_continues,
                                             .progress_user = &p};
  filtra_status status = filtra_pathfinder_generate(r->out, &options);
  double seconds = generation_end(&p);
  if (status) return command_fail(name, status);
  if (r->json) return print_json(r, seconds);
  printf("%s/curv_contour_length_%" PRIu64 ": %" PRIu64 " images in %.1f s\n", r->out,
         r->contour_length, r->count, seconds);
  return COMMAND_DONE;
}

int run_data_pathfinder(int argc, char **argv) {
  static const struct option table[] = {{"out", required_argument, NULL, OPTION_OUT},
                                        {"count", required_argument, NULL, OPTION_COUNT},
                                        {"contour-length", required_argument, NULL, OPTION_CONTOUR},
                                        {"seed", required_argument, NULL, OPTION_SEED},
                                        {"threads", required_argument, NULL, OPTION_THREADS},
                                        {"json", no_argument, NULL, OPTION_JSON},
                                        {"help", no_argument, NULL, OPTION_HELP},
                                        {0}};
  request r = {.count = 200000, .contour_length = 14};
  const char *name = argv[0];
  for (int code; (code = getopt_long(argc, argv, "", table, NULL)) != -1;) {
    bool good = code != '?';
    if (code == OPTION_HELP) {
      fputs(help, stdout);
      return COMMAND_DONE;
    }
    if (!good) return command_bad_option(name);
    if (code == OPTION_OUT) r.out = optarg;
    if (code == OPTION_JSON) r.json = true;
    if (code == OPTION_COUNT)
      good = command_number(name, "--count", optarg, 1, UINT32_MAX, &r.count);
    if (code == OPTION_CONTOUR)
      good = command_number(name, "--contour-length", optarg, 1, UINT32_MAX, &r.contour_length);
    if (code == OPTION_SEED) good = command_number(name, "--seed", optarg, 0, INT64_MAX, &r.seed);
    if (code == OPTION_THREADS)
      good = command_number(name, "--threads", optarg, 1, UINT32_MAX, &r.threads);
    if (!good) return COMMAND_USAGE;
  }
  if (optind < argc) return command_misused(name, "unexpected \"%s\"", argv[optind]);
  if (!r.out || !*r.out) return command_misused(name, "--out is missing");
  return generate(&r, name);
}
