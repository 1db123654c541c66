/* filtra predict: predicts classes or values, for texts (one per line) or a data set's samples. */
#include "common/options.h"
#include "common/sets.h"
#include "write.h"

#include "base/json.h"
#include "base/lines.h"
#include "base/memory.h"

#include <errno.h>
#include <filtra/filtra.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct predict_arguments {
  filtra_device_options device;
  const char *run, *input, *data, *split, *output;
  const filtra_precision *precision;
  const char *embeddings, *pool; /* pool: the pooling; NULL: "mean" */
  command_sets sets;
  char *settings; /* `sets` as text; NULL: none */
  uint64_t top;
  bool json, logits, normalise;
} predict_arguments;

typedef struct printer {
  filtra_run *run; /* NULL: a model file */
  filtra_predictor *predictor;
  const filtra_predictor_info *info;
  answers answers;
  float *numbers; /* probabilities [outputs], then logits [outputs] */
  bool bad;       /* a line failed, and the error was printed */
  bool vectors;   /* vectors are wanted instead of predictions */
} printer;

static void print_help(void) {
  command_print(
      "Usage: filtra predict RUN [OPTION]...\n"
      "Predicts the class, or the number, of each line of text with the best model of a run.\n"
      "Prints class, probability and text, or number and text, separated by tabs. Of pairs, a\n"
      "line holds both texts with a tab between; for an imported model it may. Empty lines are\n"
      "skipped; a line that cannot be read is said with its number, and the exit code is 2 at\n"
      "the end. In names, tabs and line ends are written as \\t and \\n. Of several labels,\n"
      "those above 0.5 are printed with ; between, which is \\; within a name, and the\n"
      "probabilities of all with commas.\n\n"
      "  --run DIR          the run folder, too; or a model file, for lines of text\n"
      "  --input FILE       one text a line, of pairs two with a tab between; - (default) is\n"
      "                     standard input. Blanks around texts are left out if those of a table\n"
      "                     were trained on, as they were there\n"
      "  --data PATH        samples of a data set instead, with targets or without: prints the\n"
      "                     sample's number, what is predicted, its probability, what the data\n"
      "                     say (empty: nothing; a label with ?: unknown), and the sample's name,\n"
      "                     if it has one\n"
      "%s"
      "  --split NAME       of these data, or of the run's own: train, val or test (default)\n"
      "  --top K            the K most probable classes, each with its probability\n"
      "  --logits           the logits of all classes, too, after the probability\n"
      "  --output FILE      write a file instead: FILE.csv, FILE.jsonl, or FILE.npy, an array of\n"
      "                     probabilities [samples, classes], or logits, or values [samples]\n"
      "  --embeddings FILE  write the vectors of the samples instead, [samples, width], as "
      "FILE.npy\n"
      "  --pool HOW         which vector: mean (default) over the tokens, first for the first\n"
      "                     token's, head for what goes to the last layer, as of BERT's pooler\n"
      "  --normalise        vectors of length 1\n"
      "%s"
      "  --json             print one JSON object\n%s",
      command_reading_help, precision_option_help, device_options_help);
}

/* ---- lines of text ---- */

static filtra_status read_line(const printer *p, const ft_lines *l, filtra_request *request) {
  const bool pair = p->info->pairs;
  const char *tab = p->info->may_pair ? memchr(l->line, '\t', l->length) : NULL;
  if (!pair && tab && strchr(tab + 1, '\t')) tab = NULL;
  if (pair && (!tab || strchr(tab + 1, '\t')))
    return ft_fail(FILTRA_ERROR_INPUT, "a line for pairs holds two texts with one tab between");
  *request = (filtra_request){.text = l->line, .text_length = l->length};
  if (!tab) return FILTRA_OK;
  request->text_length = (size_t)(tab - l->line);
  request->second = tab + 1;
  request->second_length = l->length - request->text_length - 1;
  return FILTRA_OK;
}

static filtra_status predict_line(printer *p, const ft_lines *l) {
  filtra_request request;
  filtra_prediction made;
  FT_TRY(read_line(p, l, &request));
  const bool values = answers_are_values(&p->answers);
  float *const second = p->numbers + p->info->outputs;
  request.probabilities = values || p->vectors ? NULL : p->numbers;
  request.logits = request.probabilities ? second : NULL;
  request.vector = p->vectors ? second : NULL;
  FT_TRY(filtra_predictor_predict(p->predictor, 1, &request, &made));
  return answers_add(&p->answers, &(answer){.number = l->number,
                                            .text = l->line,
                                            .made = &made,
                                            .probabilities = request.probabilities,
                                            .logits = p->vectors ? second : request.logits});
}

/* Prints the error of a bad line and continues. */
static filtra_status predict_lines(printer *p, ft_lines *lines) {
  for (;;) {
    bool more;
    filtra_status status = ft_lines_next(lines, &more);
    if (!more || ferror(command_results())) return status; /* main reports a closed pipe */
    if (!status && strspn(lines->line, " \t") != lines->length) {
      status = predict_line(p, lines);
      if (status)
        ft_fail_context(status, "%s:%llu", lines->path, (unsigned long long)lines->number);
    }
    if (!status) continue;
    if (status != FILTRA_ERROR_INPUT) return status;
    command_fail("filtra predict", status);
    FT_TRY(answers_add_failed(&p->answers));
    p->bad = true;
  }
}

static filtra_status open_input(const char *path, ft_lines *lines) {
  bool standard = !path || !strcmp(path, "-");
  FILE *stream = standard ? stdin : fopen(path, "r");
  if (stream) return ft_lines_open_stream(stream, standard ? "standard input" : path, lines);
  return ft_fail(FILTRA_ERROR_PATH, "cannot open %s: %s", path, strerror(errno));
}

static filtra_status predict_input(printer *p, const char *path) {
  ft_lines lines = {0};
  if (p->info->features)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "%s reads numbers, not text: give --data PATH or --split NAME",
                   p->run ? filtra_run_get_info(p->run)->folder : "the model file");
  if (path && (ft_ends_with(path, ".csv") || ft_ends_with(path, ".jsonl") ||
               ft_ends_with(path, ".ndjson") || (ft_ends_with(path, ".tsv") && !p->info->may_pair)))
    ft_log(FILTRA_LOG_WARNING,
           "%s is read as lines of text, with all that stands in them; --data reads tables", path);
  filtra_status status = open_input(path, &lines);
  if (!status) status = predict_lines(p, &lines);
  ft_lines_close(&lines);
  return status;
}

/* ---- samples of a data set ---- */

static filtra_status show_split(printer *p, const filtra_dataset *data, filtra_split split) {
  const uint64_t count = filtra_dataset_get_info(data)->count[split];
  const size_t outputs = (size_t)p->info->outputs;
  if (!count)
    return ft_fail(FILTRA_ERROR_INPUT, "the data have no %s split; --split chooses another",
                   filtra_split_name(split));
  filtra_prediction *made = ft_calloc(count, sizeof *made);
  float *probabilities = ft_calloc(count, outputs * sizeof *probabilities);
  float *logits = ft_calloc(count, outputs * sizeof *logits);
  filtra_status status = made && probabilities && logits ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status)
    status = filtra_predictor_predict_split(p->predictor, data, split,
                                            filtra_run_get_info(p->run)->batch_size, logits,
                                            p->vectors ? NULL : probabilities, made);
  for (uint64_t i = 0; i < count && !status && !ferror(command_results()); i++) {
    filtra_sample sample;
    status = filtra_dataset_sample(data, split, i, &sample);
    if (!status)
      status = answers_add(&p->answers, &(answer){.number = i,
                                                  .sample = &sample,
                                                  .made = &made[i],
                                                  .probabilities = probabilities + i * outputs,
                                                  .logits = logits + i * outputs});
  }
  free(made);
  free(probabilities);
  free(logits);
  return status;
}

static filtra_status predict_data(printer *p, const predict_arguments *a) {
  filtra_split split;
  filtra_dataset *data = NULL;
  FT_TRY(filtra_split_from_name(a->split ? a->split : "test", &split));
  filtra_status status = filtra_run_open_data(p->run, a->data, a->data ? split : FILTRA_SPLIT_TRAIN,
                                              a->settings, &data);
  if (!status) status = show_split(p, data, split);
  filtra_dataset_close(&data);
  return status;
}

/* ---- the command ---- */

/* NONE: an unknown name. */
static filtra_vector vector_of(const char *pool) {
  static const char *const NAMES[] = {"mean", "first", "head"};
  for (size_t i = 0; i < FT_COUNT(NAMES); i++)
    if (!strcmp(pool ? pool : NAMES[0], NAMES[i])) return FILTRA_VECTOR_MEAN + (filtra_vector)i;
  return FILTRA_VECTOR_NONE;
}

/* Opens a run or a model file. */
static filtra_status open_predictor(printer *p, const predict_arguments *a, filtra_device *device) {
  filtra_predictor_options options = {.precision = a->precision, .normalise = a->normalise};
  if (a->embeddings) options.vector = vector_of(a->pool);
  const bool file = ft_file_exists(a->run) && !ft_is_directory(a->run);
  if (file && (a->data || a->split))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "%s: --data and --split go with a run, not a model file",
                   a->run);
  if (file) return filtra_predictor_create(device, a->run, &options, &p->predictor);
  FT_TRY(filtra_run_open(a->run, &p->run));
  return filtra_run_create_predictor(p->run, device, &options, &p->predictor);
}

static filtra_status open_printer(printer *p, const predict_arguments *a, filtra_device *device) {
  const char *folder = a->run;
  FT_TRY(open_predictor(p, a, device));
  p->info = p->answers.info = filtra_predictor_get_info(p->predictor);
  p->numbers = ft_calloc((size_t)p->info->outputs, 2 * sizeof *p->numbers);
  if (!p->numbers) return FILTRA_ERROR_HOST_MEMORY;
  if ((a->logits || a->top) && answers_are_values(&p->answers))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "%s is of classes; %s predicts a number",
                   a->logits ? "--logits" : "--top", folder);
  if (p->info->task != FILTRA_TASK_LANGUAGE_MODEL || p->vectors) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "%s is a language model, which predicts no class and no number: see filtra "
                 "generate and filtra eval",
                 folder);
}

/* Fails if the answers would replace what is read: `data` is a file, or a folder of them. */
static filtra_status check_output(const char *output, const char *data) {
  char *from = output && data ? ft_full_path(data) : NULL, *to = from ? ft_full_path(output) : NULL;
  const bool replaces = to && (ft_same_file(from, to) || ft_lies_in(from, to));
  free(from);
  free(to);
  if (!replaces) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "--output %s would replace a file of the data that are read: name another",
                 output);
}

/* What answers_finish's files begin with: .csv, .jsonl and .npy, of lines and of samples. */
static const char *const HEADS[] = {"line,text,", "sample,id,target,",
                                    "{\"line\":", "{\"sample\":", "\x93NUMPY"};

static int predict(const predict_arguments *a) {
  filtra_device *device = NULL;
  const bool samples = a->data || a->split;
  const char *output = a->embeddings ? a->embeddings : a->output;
  printer p = {.answers = {.logits = a->logits || a->embeddings,
                           .vectors = a->embeddings,
                           .top = a->top,
                           .lines = !samples},
               .vectors = a->embeddings};
  filtra_status status = check_output(output, a->data ? a->data : a->input);
  if (!status && output) status = answers_open(&p.answers, output);
  if (a->json) p.answers.form = ANSWERS_JSON;
  if (a->json) p.answers.list = json_array();
  if (!status) status = filtra_device_open(&a->device, &device);
  if (!status) status = open_printer(&p, a, device);
  if (!status && p.run && samples && !a->data)
    status = check_output(output, filtra_run_get_info(p.run)->data);
  if (!status)
    status = command_check_replaced(a->embeddings ? "--embeddings" : "--output", output, HEADS,
                                    FT_COUNT(HEADS));
  if (!status) status = samples ? predict_data(&p, a) : predict_input(&p, a->input);
  if (!status) status = answers_finish(&p.answers);
  int code = status ? command_fail("filtra predict", status) : COMMAND_DONE;
  if (a->json && !status)
    code = command_print_json("filtra predict",
                              json_pack("{ss sO}", "run", a->run, "predictions", p.answers.list));
  answers_free(&p.answers);
  free(p.numbers);
  filtra_predictor_destroy(&p.predictor);
  filtra_run_close(&p.run);
  filtra_device_close(&device);
  return code == COMMAND_DONE && p.bad ? COMMAND_USAGE : code;
}

static void take_set(void *arguments, const char *name, const char *value) {
  (void)name;
  command_add_set(&((predict_arguments *)arguments)->sets, NULL, value);
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("run", predict_arguments, run),
    COMMAND_TEXT("input", predict_arguments, input),
    COMMAND_TEXT("data", predict_arguments, data),
    COMMAND_KEY("set", take_set),
    COMMAND_TEXT("split", predict_arguments, split),
    COMMAND_TEXT("output", predict_arguments, output),
    COMMAND_TEXT("embeddings", predict_arguments, embeddings),
    COMMAND_TEXT("pool", predict_arguments, pool),
    COMMAND_FLAG("normalise", predict_arguments, normalise),
    COMMAND_NUMBER("top", predict_arguments, top, 1, 1000000),
    COMMAND_FLAG("json", predict_arguments, json),
    COMMAND_PRECISION(predict_arguments, precision),
    COMMAND_FLAG("logits", predict_arguments, logits),
};

/* -1, or the exit code for wrong usage. */
static int check_usage(const char *name, const predict_arguments *a) {
  if (a->input && (a->data || a->split))
    return command_misused(name, "--input is text; leave out --data and --split");
  if (a->embeddings && (a->output || a->json || a->logits || a->top))
    return command_misused(name,
                           "--embeddings gives vectors, not classes: leave out --output, --json, "
                           "--logits and --top");
  if (a->embeddings && !ft_ends_with(a->embeddings, ".npy"))
    return command_misused(name, "--embeddings %s: accepted are names that end with .npy",
                           a->embeddings);
  if (!a->embeddings && (a->pool || a->normalise))
    return command_misused(name, "--pool and --normalise go with --embeddings FILE");
  if (a->pool && !vector_of(a->pool))
    return command_misused(name, "--pool is \"%s\", accepted are mean, first and head", a->pool);
  if (a->json && a->output) return command_misused(name, "--json and --output exclude each other");
  if (json_array_size(a->sets.list) && !a->data)
    return command_misused(name, "--set says how the file of --data is written: give --data PATH");
  return -1;
}

int run_predict(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true,
                                    .run = offsetof(predict_arguments, run)};
  predict_arguments a = {.sets = {.list = json_array()}};
  int code = command_take(argc, argv, &line, &a);
  if (code < 0) code = check_usage(argv[0], &a);
  filtra_status status = code < 0 ? command_reading_settings(&a.sets, &a.settings) : FILTRA_OK;
  if (code < 0) code = status ? command_fail(argv[0], status) : predict(&a);
  free(a.settings);
  json_decref(a.sets.list);
  return code;
}
