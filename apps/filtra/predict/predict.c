/* filtra predict: classes or values of texts, one a line, or of a data set's samples. */
#include "common/options.h"

#include "base/json.h"
#include "base/memory.h"
#include "data/lines.h"
#include "model/model.h"
#include "train/run.h"

#include <errno.h>
#include <filtra/filtra.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct predict_arguments {
  filtra_device_options device;
  const char *run, *input, *data, *split;
  bool json;
} predict_arguments;

typedef struct predictor {
  ft_run_config config;
  ft_run_fit fit; /* names of classes */
  filtra_model *model;
  int64_t outputs;
  json_t *predictions; /* with --json */
} predictor;

static void print_help(void) {
  printf("Usage: filtra predict RUN [OPTION]...\n"
         "Predicts the class, or the number, of each line of text with the best model of a run.\n"
         "Prints class, probability and text, or number and text, separated by tabs. Of pairs, a\n"
         "line holds both texts with a tab between. Empty lines are skipped.\n\n"
         "  --run DIR          the run folder, too\n"
         "  --input FILE       one text a line; - (default) is standard input\n"
         "  --data PATH        samples of a data set instead: prints the sample's number, what is\n"
         "                     predicted, its probability, and what the data say\n"
         "  --split NAME       of these data, or of the run's own: train, val or test (default)\n"
         "  --json             print one JSON object\n%s",
         device_options_help);
}

/* ---- what a prediction is ---- */

static const char *class_name(const predictor *p, int64_t label) {
  static char number[32];
  if (label < (int64_t)p->fit.data.class_count) return p->fit.classes[label];
  snprintf(number, sizeof number, "%lld", (long long)label); /* a run without names */
  return number;
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

static bool is_value(const predictor *p) {
  return filtra_model_task(p->model) == FILTRA_TASK_REGRESSION;
}

/* Class and probability, or the number; `results` become probabilities. */
static void print_prediction(const predictor *p, float *results) {
  if (is_value(p)) {
    printf("%.6g", (double)results[0]);
    return;
  }
  int64_t best = normalize(results, p->outputs);
  printf("%s\t%.3f", class_name(p, best), (double)results[best]);
}

/* The same into an object, which is taken over. */
static filtra_status keep_prediction(predictor *p, json_t *object, float *results) {
  bool value = is_value(p);
  int64_t best = value ? 0 : normalize(results, p->outputs);
  json_t *list = value ? NULL : json_array();
  for (int64_t i = 0; i < p->outputs && list; i++)
    json_array_append_new(list, json_real(ft_shortest(results[i])));
  json_t *made = value ? json_pack("{sf}", "value", ft_shortest(results[0]))
                       : json_pack("{sI ss so}", "class", (json_int_t)best, "name",
                                   class_name(p, best), "probabilities", list);
  bool done = object && made && !json_object_update(object, made);
  json_decref(made);
  if (done && !json_array_append_new(p->predictions, object)) return FILTRA_OK;
  if (!done) json_decref(object);
  return ft_fail(FILTRA_ERROR_INPUT, "the text is not UTF-8, as JSON has to be");
}

/* ---- lines of text ---- */

typedef struct reader {
  predictor *p;
  const filtra_tokenizer *tokenizer;
  filtra_tokenizer *owned; /* the same, where the run made it */
  ft_lines lines;
  int32_t *tokens, lengths[2]; /* [2 max_length] */
  float *results;
} reader;

static filtra_status read_text(reader *r, int number, const char *text, size_t length) {
  size_t count, most = (size_t)r->p->config.model.max_length;
  int32_t *tokens = r->tokens + (size_t)number * most;
  FT_TRY(filtra_tokenizer_encode(r->tokenizer, text, length, tokens, most, &count));
  if (count > most && !r->p->config.truncate)
    return ft_fail(FILTRA_ERROR_INPUT, "%zu tokens; the model takes at most %zu (max_length)",
                   count, most);
  if (!count) return ft_fail(FILTRA_ERROR_INPUT, "a text of no tokens");
  r->lengths[number] = (int32_t)(count < most ? count : most);
  return FILTRA_OK;
}

static filtra_status read_line(reader *r, filtra_batch *batch) {
  const ft_lines *l = &r->lines;
  bool pair = filtra_model_task(r->p->model) == FILTRA_TASK_PAIR_CLASSIFICATION;
  const char *tab = pair ? memchr(l->line, '\t', l->length) : NULL;
  if (pair && (!tab || strchr(tab + 1, '\t')))
    return ft_fail(FILTRA_ERROR_INPUT, "a line for pairs holds two texts with one tab between");
  size_t first = tab ? (size_t)(tab - l->line) : l->length;
  FT_TRY(read_text(r, 0, l->line, first));
  if (tab) FT_TRY(read_text(r, 1, tab + 1, l->length - first - 1));
  *batch = (filtra_batch){.size = 1,
                          .length = (uint32_t)r->p->config.model.max_length,
                          .count = 1,
                          .sequences = pair ? 2 : 1,
                          .tokens = r->tokens,
                          .lengths = r->lengths};
  return FILTRA_OK;
}

static filtra_status predict_line(reader *r) {
  filtra_batch batch;
  const ft_lines *l = &r->lines;
  FT_TRY(read_line(r, &batch));
  FT_TRY(filtra_model_predict(r->p->model, &batch, r->results));
  if (r->p->predictions) {
    json_t *object = json_pack("{sI ss}", "line", (json_int_t)l->number, "text", l->line);
    return keep_prediction(r->p, object, r->results);
  }
  print_prediction(r->p, r->results);
  printf("\t%s\n", l->line);
  fflush(stdout); /* for who asks line by line */
  return FILTRA_OK;
}

static filtra_status predict_lines(reader *r) {
  for (;;) {
    bool more;
    FT_TRY(ft_lines_next(&r->lines, &more));
    if (!more || ferror(stdout)) return FILTRA_OK; /* main tells when nobody reads any more */
    if (strspn(r->lines.line, " \t") == r->lines.length) continue;
    filtra_status status = predict_line(r);
    if (status)
      return ft_fail_context(status, "%s:%llu", r->lines.path, (unsigned long long)r->lines.number);
  }
}

static filtra_status open_input(const char *path, ft_lines *lines) {
  bool standard = !path || !strcmp(path, "-");
  FILE *stream = standard ? stdin : fopen(path, "r");
  if (stream) return ft_lines_open_stream(stream, standard ? "standard input" : path, lines);
  return ft_fail(FILTRA_ERROR_IO, "cannot open %s: %s", path, strerror(errno));
}

static filtra_status predict_input(predictor *p, const char *path) {
  reader r = {.p = p};
  if (p->config.model.features)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "%s: the model reads numbers, not text: give --data PATH or --split NAME",
                   p->config.folder);
  filtra_status status = open_input(path, &r.lines);
  if (!status) status = ft_run_load_tokenizer(&p->config, &r.tokenizer, &r.owned);
  if (!status) {
    r.tokens = ft_calloc(2 * (size_t)p->config.model.max_length, sizeof *r.tokens);
    r.results = ft_calloc((size_t)p->outputs, sizeof *r.results);
    status = r.tokens && r.results ? predict_lines(&r) : FILTRA_ERROR_HOST_MEMORY;
  }
  ft_lines_close(&r.lines);
  filtra_tokenizer_destroy(&r.owned);
  free(r.tokens);
  free(r.results);
  return status;
}

/* ---- samples of a data set ---- */

/* Predictions of the whole split, [count, outputs], in file order: batches come by length. */
static filtra_status predict_split(predictor *p, const filtra_dataset *data, filtra_split split,
                                   float *results) {
  filtra_loader *loader;
  uint32_t size = (uint32_t)p->config.batch_size;
  float *rows = ft_calloc((size_t)size * (size_t)p->outputs, sizeof *rows);
  if (!rows) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = filtra_loader_create(
      data, &(filtra_loader_options){.split = split, .batch_size = size}, &loader);
  uint64_t batches = status ? 0 : filtra_loader_batches(loader);
  size_t row = (size_t)p->outputs;
  for (uint64_t i = 0; i < batches && !status; i++) {
    filtra_batch batch;
    status = filtra_loader_next(loader, &batch);
    if (!status) status = filtra_model_predict(p->model, &batch, rows);
    for (uint32_t b = 0; b < batch.count && !status; b++)
      memcpy(results + batch.indices[b] * row, rows + b * row, row * sizeof *rows);
  }
  filtra_loader_destroy(&loader);
  free(rows);
  return status;
}

static filtra_status show_sample(predictor *p, uint64_t index, const filtra_sample *sample,
                                 float *results) {
  bool value = is_value(p);
  if (p->predictions) {
    json_t *object = value ? json_pack("{sI sf}", "sample", (json_int_t)index, "target",
                                       ft_shortest(sample->value))
                           : json_pack("{sI sI}", "sample", (json_int_t)index, "target",
                                       (json_int_t)sample->label);
    return keep_prediction(p, object, results);
  }
  printf("%llu\t", (unsigned long long)index);
  print_prediction(p, results);
  if (value)
    printf("\t%.6g\n", (double)sample->value);
  else
    printf("\t%s\n", class_name(p, sample->label));
  return FILTRA_OK;
}

static filtra_status show_split(predictor *p, const filtra_dataset *data, filtra_split split) {
  uint64_t count = filtra_dataset_get_info(data)->count[split];
  if (!count)
    return ft_fail(FILTRA_ERROR_INPUT, "the data have no %s split", filtra_split_name(split));
  float *results = ft_calloc(count, (size_t)p->outputs * sizeof *results);
  if (!results) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = predict_split(p, data, split, results);
  for (uint64_t i = 0; i < count && !status && !ferror(stdout); i++) {
    filtra_sample sample;
    status = filtra_dataset_sample(data, split, i, &sample);
    if (!status) status = show_sample(p, i, &sample, results + i * (uint64_t)p->outputs);
  }
  free(results);
  return status;
}

static filtra_status predict_data(predictor *p, const char *path, const char *name) {
  filtra_split split;
  filtra_dataset *data = NULL;
  FT_TRY(ft_run_find_split(name ? name : "test", &split));
  filtra_status status = ft_run_open_data(&p->config, path, path ? split : FILTRA_TRAIN, &data);
  if (!status) status = show_split(p, data, split);
  filtra_dataset_close(&data);
  return status;
}

/* ---- the command ---- */

static filtra_status open_predictor(predictor *p, filtra_device *device, const char *run) {
  FT_TRY(ft_run_load_config(run, &p->config));
  FT_TRY(ft_run_load_fit(run, &p->fit));
  FT_TRY(ft_run_load_model(run, device, &p->model));
  p->outputs = filtra_model_outputs(p->model);
  if (filtra_model_task(p->model) != FILTRA_TASK_LANGUAGE_MODEL) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "%s is a language model, which predicts no class and no number: see filtra "
                 "generate and filtra eval",
                 run);
}

static int predict(const predict_arguments *a) {
  filtra_device *device = NULL;
  predictor p = {.predictions = a->json ? json_array() : NULL};
  filtra_status status = filtra_device_open(&a->device, &device);
  if (!status) status = open_predictor(&p, device, a->run);
  if (!status)
    status =
        a->data || a->split ? predict_data(&p, a->data, a->split) : predict_input(&p, a->input);
  int code = status ? command_fail("filtra predict", status) : COMMAND_DONE;
  if (a->json && !status)
    code = command_print_json("filtra predict",
                              json_pack("{ss sO}", "run", a->run, "predictions", p.predictions));
  json_decref(p.predictions);
  ft_run_free_fit(&p.fit);
  filtra_model_destroy(&p.model);
  filtra_device_close(&device);
  return code;
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("run", predict_arguments, run),   COMMAND_TEXT("input", predict_arguments, input),
    COMMAND_TEXT("data", predict_arguments, data), COMMAND_TEXT("split", predict_arguments, split),
    COMMAND_FLAG("json", predict_arguments, json),
};

int run_predict(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true,
                                    .run = offsetof(predict_arguments, run)};
  predict_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (a.input && (a.data || a.split))
    return command_misused(argv[0], "--input is text; leave out --data and --split");
  return predict(&a);
}
