/* filtra predict: classes of texts, one a line. */
#include "command.h"

#include "base/json.h"
#include "base/memory.h"
#include "data/lines.h"
#include "train/run.h"

#include <errno.h>
#include <filtra/filtra.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct predict_arguments {
  filtra_device_options device;
  const char *run, *input;
  bool json;
} predict_arguments;

typedef struct predictor {
  filtra_model *model;
  const filtra_tokenizer *tokenizer;
  filtra_tokenizer *owned; /* the same, where the run made it */
  ft_lines lines;
  int32_t *tokens;    /* [max_length] */
  float *probability; /* [classes] */
  json_t *results;    /* with --json */
} predictor;

static void print_help(void) {
  printf("Usage: filtra predict --run DIR [OPTION]...\n"
         "Predicts the class of each line of text with the best model of a run. Prints class,\n"
         "probability and text, separated by tabs. Empty lines are skipped.\n\n"
         "  --run DIR          run folder\n"
         "  --input FILE       one text a line; - (default) is standard input\n"
         "  --json             print one JSON object\n%s",
         device_options_help);
}

/* Logits to probabilities; returns the most probable class. */
static int64_t normalize(float *logits, int64_t classes) {
  int64_t best = 0;
  float sum = 0.0f;
  for (int64_t i = 1; i < classes; i++)
    if (logits[i] > logits[best]) best = i;
  float highest = logits[best];
  for (int64_t i = 0; i < classes; i++)
    sum += logits[i] = expf(logits[i] - highest);
  for (int64_t i = 0; i < classes; i++)
    logits[i] /= sum;
  return best;
}

static bool add_result(predictor *p, int64_t best) {
  json_t *list = json_array();
  for (int64_t i = 0; i < filtra_model_classes(p->model); i++)
    json_array_append_new(list, json_real(ft_shortest(p->probability[i])));
  return !json_array_append_new(
      p->results, json_pack("{sI ss sI so}", "line", (json_int_t)p->lines.number, "text",
                            p->lines.line, "class", (json_int_t)best, "probabilities", list));
}

static filtra_status predict_line(predictor *p) {
  size_t count, most = (size_t)filtra_model_max_length(p->model);
  FT_TRY(filtra_tokenizer_encode(p->tokenizer, p->lines.line, p->lines.length, p->tokens, most,
                                 &count));
  if (count > most)
    return ft_fail(FILTRA_ERROR_INPUT, "%zu tokens; the model takes at most %zu (max_length)",
                   count, most);
  const int32_t length = (int32_t)count;
  const filtra_batch batch = {
      .size = 1, .length = (uint32_t)count, .count = 1, .tokens = p->tokens, .lengths = &length};
  FT_TRY(filtra_model_predict(p->model, &batch, p->probability));
  int64_t best = normalize(p->probability, filtra_model_classes(p->model));
  if (!p->results) {
    printf("%lld\t%.3f\t%s\n", (long long)best, (double)p->probability[best], p->lines.line);
    fflush(stdout); /* for who asks line by line */
  } else if (!add_result(p, best)) {
    return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  }
  return FILTRA_OK;
}

static filtra_status predict_lines(predictor *p) {
  for (;;) {
    bool more;
    FT_TRY(ft_lines_next(&p->lines, &more));
    if (!more || ferror(stdout)) return FILTRA_OK; /* main tells when nobody reads any more */
    if (strspn(p->lines.line, " \t") == p->lines.length) continue;
    filtra_status status = predict_line(p);
    if (status)
      return ft_fail_context(status, "%s:%llu", p->lines.path, (unsigned long long)p->lines.number);
  }
}

static filtra_status open_predictor(predictor *p, filtra_device *device, const char *run) {
  ft_run_config config;
  FT_TRY(ft_run_load_config(run, &config));
  FT_TRY(ft_run_load_tokenizer(&config, &p->tokenizer, &p->owned));
  char *path = ft_path_join(run, FT_RUN_MODEL);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = filtra_model_load(device, path, &p->model);
  free(path);
  if (status) return status;
  p->tokens = ft_calloc((size_t)filtra_model_max_length(p->model), sizeof *p->tokens);
  p->probability = ft_calloc((size_t)filtra_model_classes(p->model), sizeof *p->probability);
  return p->tokens && p->probability ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status open_input(predictor *p, const char *path) {
  bool standard = !path || !strcmp(path, "-");
  FILE *stream = standard ? stdin : fopen(path, "r");
  if (stream) return ft_lines_open_stream(stream, standard ? "standard input" : path, &p->lines);
  return ft_fail(FILTRA_ERROR_IO, "cannot open %s: %s", path, strerror(errno));
}

static int predict(const predict_arguments *a) {
  filtra_device *device = NULL;
  predictor p = {.results = a->json ? json_array() : NULL};
  filtra_status status = open_input(&p, a->input);
  if (!status) status = filtra_device_open(&a->device, &device);
  if (!status) status = open_predictor(&p, device, a->run);
  if (!status) status = predict_lines(&p);
  int code = status ? command_fail("filtra predict", status) : COMMAND_DONE;
  if (a->json && !status)
    code = command_print_json("filtra predict",
                              json_pack("{ss sO}", "run", a->run, "predictions", p.results));
  ft_lines_close(&p.lines);
  json_decref(p.results);
  free(p.tokens);
  free(p.probability);
  filtra_tokenizer_destroy(&p.owned);
  filtra_model_destroy(&p.model);
  filtra_device_close(&device);
  return code;
}

enum { OPTION_RUN = OPTION_FIRST_FREE, OPTION_INPUT, OPTION_JSON };

static const struct option OPTIONS[] = {
    DEVICE_OPTIONS,
    {"run", required_argument, NULL, OPTION_RUN},
    {"input", required_argument, NULL, OPTION_INPUT},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {0},
};

int run_predict(int argc, char **argv) {
  predict_arguments a = {0};
  int code;
  while ((code = getopt_long(argc, argv, "h", OPTIONS, NULL)) != -1) {
    if (take_device_option(code, optarg, &a.device)) continue;
    switch (code) {
    case OPTION_RUN:
      a.run = optarg;
      break;
    case OPTION_INPUT:
      a.input = optarg;
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
  if (optind < argc) return command_misused(argv[0], "what is \"%s\"?", argv[optind]);
  if (!a.run) return command_misused(argv[0], "--run DIR is missing");
  return predict(&a);
}
