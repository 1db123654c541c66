/* filtra data pathfinder: writes the Pathfinder task of Long Range Arena. */
#include "common/options.h"
#include "generation.h"

#include <filtra/data.h>
#include <filtra/synthetic.h>
#include <inttypes.h>
#include <stdio.h>

static void print_help(void) {
  command_print(
      "Usage: filtra data pathfinder --out DIR [OPTION]...\n"
      "Writes DIR/curv_contour_length_14 with imgs/ and metadata/ as Long Range Arena distributes\n"
      "them: images of 32 x 32 grey pixels with dashed contours; do the two markers lie on one? "
      "The\n"
      "same options give the same images with any number of threads. Readers take 80 %% of them "
      "for\n"
      "training, 10 %% for validation and 10 %% for testing, always the same ones.\n\n"
      "  --out DIR            folder to write to; made if need be\n"
      "  --count N            images (200000)\n"
      "  --contour-length N   dashes of the long contours, 3 to 20; published: 6, 9 and 14 (14)\n"
      "  --seed S             start of the random numbers (0)\n"
      "  --threads N          processors to use (all)\n"
      "  --json               print one JSON object\n");
}

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
  command_print("%s/curv_contour_length_%" PRIu64 ": %" PRIu64 " images in %.1f s\n", r->out,
                r->contour_length, r->count, seconds);
  return COMMAND_DONE;
}

static const command_option OPTIONS[] = {
    COMMAND_OUT(request, out),
    COMMAND_NUMBER("count", request, count, 1, UINT32_MAX),
    COMMAND_NUMBER("contour-length", request, contour_length, 1, UINT32_MAX),
    COMMAND_NUMBER("seed", request, seed, 0, INT64_MAX),
    COMMAND_NUMBER("threads", request, threads, 1, UINT32_MAX),
    COMMAND_FLAG("json", request, json),
};

int run_data_pathfinder(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help};
  request a = {.count = 200000, .contour_length = 14};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (!a.out || !*a.out) return command_misused(argv[0], "--out is missing");
  return generate(&a, argv[0]);
}
