/* filtra predict: classes or values of texts, one a line. */
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
  ft_run_fit fit;          /* names the classes */
  bool truncate;           /* cut longer texts, as the run did */
  ft_lines lines;
  uint32_t sequences; /* texts a line has */
  int32_t *tokens;    /* [sequences * max_length] */
  float *results;     /* logits, then probabilities; or a value */
  json_t *list;       /* with --json */
} predictor;

static void print_help(void) {
  printf("Usage: filtra predict --run DIR [OPTION]...\n"
         "Predicts from each line of text with the best model of a run. Prints class, probability\n"
         "and text, or value and text, separated by tabs. A line for pairs holds two texts with a\n"
         "tab between them. Empty lines are skipped.\n\n"
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

/* ---- results ---- */

/* A class by the name that the training data gave it. */
static const char *class_name(const predictor *p, int64_t label) {
  return label < (int64_t)p->fit.data.class_count ? p->fit.classes[label] : NULL;
}

static bool add_class(predictor *p, int64_t best) {
  json_t *list = json_array();
  for (int64_t i = 0; i < filtra_model_classes(p->model); i++)
    json_array_append_new(list, json_real(ft_shortest(p->results[i])));
  return !json_array_append_new(p->list,
                                json_pack("{sI ss sI ss* so}", "line", (json_int_t)p->lines.number,
                                          "text", p->lines.line, "class", (json_int_t)best, "name",
                                          class_name(p, best), "probabilities", list));
}

static bool add_value(predictor *p) {
  return !json_array_append_new(p->list,
                                json_pack("{sI ss sf}", "line", (json_int_t)p->lines.number, "text",
                                          p->lines.line, "value", ft_shortest(p->results[0])));
}

static filtra_status report(predictor *p) {
  bool value = filtra_model_task(p->model) == FILTRA_TASK_REGRESSION;
  int64_t best = value ? 0 : normalize(p->results, filtra_model_classes(p->model));
  if (p->list && !(value ? add_value(p) : add_class(p, best)))
    return ft_fail(FILTRA_ERROR_INPUT, "the text is not UTF-8, as JSON has to be");
  if (p->list) return FILTRA_OK;
  if (value)
    printf("%.6g\t%s\n", (double)p->results[0], p->lines.line);
  else if (class_name(p, best))
    printf("%s\t%.3f\t%s\n", class_name(p, best), (double)p->results[best], p->lines.line);
  else
    printf("%lld\t%.3f\t%s\n", (long long)best, (double)p->results[best], p->lines.line);
  fflush(stdout); /* for who asks line by line */
  return FILTRA_OK;
}

/* ---- lines ---- */

/* The texts of a line into rows of max_length tokens. */
static filtra_status encode_line(predictor *p, int32_t lengths[2]) {
  const char *text = p->lines.line, *end = text + p->lines.length;
  size_t most = (size_t)filtra_model_max_length(p->model), count;
  for (uint32_t i = 0; i < p->sequences;
       i++, text = end + 1, end = p->lines.line + p->lines.length) {
    const char *tab = p->sequences == 2 ? memchr(text, '\t', (size_t)(end - text)) : NULL;
    if (p->sequences == 2 && (i == 0) != (tab != NULL))
      return ft_fail(FILTRA_ERROR_INPUT, "a line for pairs holds two texts with one tab between");
    if (tab) end = tab;
    FT_TRY(filtra_tokenizer_encode(p->tokenizer, text, (size_t)(end - text), p->tokens + i * most,
                                   most, &count));
    if (count == 0) return ft_fail(FILTRA_ERROR_INPUT, "a text of no tokens");
    if (count > most && !p->truncate)
      return ft_fail(FILTRA_ERROR_INPUT, "%zu tokens; the model takes at most %zu (max_length)",
                     count, most);
    lengths[i] = (int32_t)(count < most ? count : most);
  }
  return FILTRA_OK;
}

/* Padded as in training, so that few graphs serve all lines. */
static uint32_t padded(int32_t length, int64_t most) {
  int64_t padding = 16;
  while (padding < length)
    padding *= 2;
  return (uint32_t)(padding < most ? padding : most);
}

static filtra_status predict_line(predictor *p) {
  int32_t lengths[2] = {0};
  int64_t most = filtra_model_max_length(p->model);
  FT_TRY(encode_line(p, lengths));
  uint32_t length = padded(lengths[0] > lengths[1] ? lengths[0] : lengths[1], most);
  for (uint32_t i = 0; i < p->sequences; i++) {
    int32_t *row = p->tokens + (size_t)i * length;
    memmove(row, p->tokens + (size_t)i * (size_t)most, (size_t)lengths[i] * sizeof *row);
    memset(row + lengths[i], 0, (length - (size_t)lengths[i]) * sizeof *row);
  }
  const filtra_batch batch = {.size = 1,
                              .length = length,
                              .count = 1,
                              .sequences = p->sequences,
                              .tokens = p->tokens,
                              .lengths = lengths};
  FT_TRY(filtra_model_predict(p->model, &batch, p->results));
  return report(p);
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

/* Whether the run's model predicts from text, and how many texts it takes. */
static filtra_status check_task(predictor *p, const ft_run_config *config, const char *run) {
  filtra_task task = filtra_model_task(p->model);
  if (task == FILTRA_TASK_LANGUAGE_MODEL)
    return ft_fail(FILTRA_ERROR_INPUT, "%s holds a language model: filtra generate writes with it",
                   run);
  if (!config->tokenizer[0])
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "the model in %s reads numbers, not text; filtra eval --data takes files of them", run);
  p->sequences = task == FILTRA_TASK_PAIR_CLASSIFICATION ? 2 : 1;
  return FILTRA_OK;
}

static filtra_status open_predictor(predictor *p, filtra_device *device, const char *run) {
  ft_run_config config;
  FT_TRY(ft_run_load_config(run, &config));
  char *path = ft_path_join(run, FT_RUN_MODEL);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = filtra_model_load(device, path, &p->model);
  free(path);
  if (!status) status = check_task(p, &config, run);
  if (!status) status = ft_run_load_tokenizer(&config, &p->tokenizer, &p->owned);
  if (!status) status = ft_run_load_fit(run, &p->fit);
  if (status) return status;
  p->truncate = config.truncate;
  p->tokens =
      ft_calloc(p->sequences * (size_t)filtra_model_max_length(p->model), sizeof *p->tokens);
  p->results = ft_calloc((size_t)filtra_model_outputs(p->model), sizeof *p->results);
  return p->tokens && p->results ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status open_input(predictor *p, const char *path) {
  bool standard = !path || !strcmp(path, "-");
  FILE *stream = standard ? stdin : fopen(path, "r");
  if (stream) return ft_lines_open_stream(stream, standard ? "standard input" : path, &p->lines);
  return ft_fail(FILTRA_ERROR_IO, "cannot open %s: %s", path, strerror(errno));
}

static int predict(const predict_arguments *a) {
  filtra_device *device = NULL;
  predictor p = {.list = a->json ? json_array() : NULL};
  filtra_status status = open_input(&p, a->input);
  if (!status) status = filtra_device_open(&a->device, &device);
  if (!status) status = open_predictor(&p, device, a->run);
  if (!status) status = predict_lines(&p);
  int code = status ? command_fail("filtra predict", status) : COMMAND_DONE;
  if (a->json && !status)
    code = command_print_json("filtra predict",
                              json_pack("{ss sO}", "run", a->run, "predictions", p.list));
  ft_lines_close(&p.lines);
  json_decref(p.list);
  free(p.tokens);
  free(p.results);
  filtra_tokenizer_destroy(&p.owned);
  ft_run_free_fit(&p.fit);
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
