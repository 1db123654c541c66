/* filtra eval: evaluates a run's best model on a split, and compares it with guessing. */
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "common/options.h"
#include "common/page.h"
#include "common/sets.h"
#include "scores.h"

#include <filtra/filtra.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct eval_arguments {
  filtra_device_options device;
  const char *run, *split, *data;
  command_sets sets;
  char *settings; /* `sets` as text; NULL: none */
  const filtra_precision *precision;
  uint64_t stride; /* 0: windows without overlap */
  bool json;
} eval_arguments;

static void print_help(void) {
  command_print(
      "Usage: filtra eval RUN [OPTION]...\n"
      "Evaluates the best model of a run, and keeps the result there for 'filtra report', but not\n"
      "with --data, with --stride or in another precision than the run's. Of a classifier:\n"
      "precision, recall, F1 and AUC of each class or label, too, and the confusion matrix of\n"
      "classes.\n\n"
      "  --run DIR          the run folder, too\n"
      "  --split NAME       train, val or test (default)\n"
      "  --data PATH        other data than the run's\n"
      "%s"
      "  --stride N         of a language model: a window that moves on by N tokens, so that each\n"
      "                     is predicted from at least max_length - N before it\n"
      "%s"
      "  --json             print one JSON object\n%s",
      command_reading_help, precision_option_help, device_options_help);
}

typedef struct outcome {
  filtra_evaluation evaluation;
  filtra_scores *scores; /* for a classifier; else NULL */
  class_names names;
} outcome;

/* NULL when out of memory, or if a path is not UTF-8. */
static json_t *result_json(const eval_arguments *a, const outcome *o) {
  const filtra_evaluation *e = &o->evaluation;
  json_t *object = json_pack("{ss ss sI sf}", "run", a->run, "split", a->split, "samples",
                             (json_int_t)e->samples, "loss", e->loss);
  json_t *rest = NULL;
  if (e->task == FILTRA_TASK_REGRESSION)
    rest =
        json_pack("{sf sf sf sf sf}", "mae", e->absolute_error, "rmse", e->root_mean_square_error,
                  "r2", e->r_squared, "pearson", e->pearson, "spearman", e->spearman);
  else if (e->task == FILTRA_TASK_LANGUAGE_MODEL)
    rest = json_pack("{sI sf sf sf sf}", "tokens", (json_int_t)e->predictions, "perplexity",
                     e->perplexity, "accuracy", e->accuracy, "chance", e->chance, "majority",
                     e->majority);
  else
    rest = json_pack("{sf sf sf sf}", "accuracy", e->accuracy, "f1", e->f1, "chance", e->chance,
                     "majority", e->majority);
  if (e->top5_accuracy >= 0.0)
    rest = ft_json_join(rest, json_pack("{sf}", "top5_accuracy", e->top5_accuracy));
  if (a->stride) rest = ft_json_join(rest, json_pack("{sI}", "stride", (json_int_t)a->stride));
  if (o->scores) rest = ft_json_join(rest, scores_json(o->scores, o->names));
  return ft_json_join(object, rest);
}

/* Whether it was computed in the precision that the run says. */
static bool is_own_precision(const eval_arguments *a, const filtra_run_info *info) {
  if (!a->precision) return true;
  json_t *config = json_loads(info->config, 0, NULL);
  const char *own = json_string_value(json_object_get(config, "precision"));
  const bool same = own && !strcmp(own, filtra_precision_name(*a->precision));
  json_decref(config);
  return same;
}

/* Stores the result in the run folder, for `filtra report`, which takes it for the run's own. */
static void keep_result(const eval_arguments *a, const filtra_run_info *info, const outcome *o) {
  if (a->data || a->stride || !is_own_precision(a, info)) return;
  char *path = ft_format("%s/" FILTRA_RUN_EVALUATION, a->run, a->split);
  char *text = ft_json_text(result_json(a, o), JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  if (!path || !text || ft_file_write_in(a->run, path, text, strlen(text)))
    fprintf(stderr, "filtra eval: the result is not kept: %s\n", filtra_error_message());
  free(text);
  free(path);
}

/* What the baseline always predicts (the most frequent one), by task. */
static const char *const GUESSED[] = {[FILTRA_TASK_CLASSIFICATION] = "class",
                                      [FILTRA_TASK_PAIR_CLASSIFICATION] = "class",
                                      [FILTRA_TASK_LANGUAGE_MODEL] = "token",
                                      [FILTRA_TASK_MULTI_LABEL] = "set of labels"};

static int print_result(const eval_arguments *a, const outcome *o) {
  const filtra_evaluation *e = &o->evaluation;
  char number[NUMBER_TEXT];
  if (a->json) return command_print_json("filtra eval", result_json(a, o));
  command_print("%s: %llu %s, loss %.4f, ", a->split, (unsigned long long)e->samples,
                a->stride ? "windows" : "samples", e->loss);
  if (e->task == FILTRA_TASK_REGRESSION) {
    command_print(
        "mean absolute error %.6g, root mean square error %.6g, R2 %.4f, Pearson %.4f, Spearman "
        "%.4f\n",
        e->absolute_error, e->root_mean_square_error, e->r_squared, e->pearson, e->spearman);
    return COMMAND_DONE;
  }
  if (e->task == FILTRA_TASK_LANGUAGE_MODEL)
    command_print("%llu tokens, perplexity %s, ", (unsigned long long)e->predictions,
                  perplexity_text(e->perplexity, number));
  if (e->top5_accuracy >= 0.0) command_print("top-5 accuracy %.2f%%, ", 100.0 * e->top5_accuracy);
  command_print("accuracy %.2f%% (chance %.2f%%, majority %s %.2f%%)\n", 100.0 * e->accuracy,
                100.0 * e->chance, GUESSED[e->task], 100.0 * e->majority);
  if (e->task == FILTRA_TASK_MULTI_LABEL) command_print("micro F1 %.4f; ", e->f1);
  if (o->scores) scores_print(o->scores, o->names);
  return COMMAND_DONE;
}

/* Evaluates a language model by a sliding window. */
static filtra_status evaluate_text(filtra_device *device, const eval_arguments *a,
                                   filtra_evaluation *result) {
  filtra_run *run = NULL;
  filtra_model *model = NULL;
  filtra_dataset *data = NULL;
  filtra_split split;
  FT_TRY(filtra_split_from_name(a->split, &split));
  FT_TRY(filtra_run_open(a->run, &run));
  filtra_status status = filtra_run_load_model(run, device, &model);
  if (!status && a->precision) status = filtra_model_set_precision(model, *a->precision);
  if (!status)
    status = filtra_run_open_data(run, a->data, a->data ? split : FILTRA_SPLIT_TRAIN, a->settings,
                                  &data);
  if (!status)
    status = filtra_model_evaluate_text(model, data, split, filtra_run_get_info(run)->batch_size,
                                        (uint32_t)a->stride, result);
  filtra_model_destroy(&model);
  filtra_dataset_close(&data);
  filtra_run_close(&run);
  return status;
}

static int evaluate(const eval_arguments *a) {
  filtra_device *device = NULL;
  filtra_run *run = NULL;
  outcome o = {0};
  filtra_status status = filtra_device_open(&a->device, &device);
  if (!status && a->stride)
    status = evaluate_text(device, a, &o.evaluation);
  else if (!status)
    status = filtra_run_evaluate(device, a->run, a->split, a->data, a->settings, a->precision,
                                 &o.evaluation, &o.scores);
  if (!status) status = filtra_run_open(a->run, &run);
  filtra_device_close(&device);
  int code = COMMAND_DONE;
  if (status) {
    code = command_fail("filtra eval", status);
  } else {
    const filtra_run_info *info = filtra_run_get_info(run);
    o.names = (class_names){info->classes, info->class_count};
    keep_result(a, info, &o);
    code = print_result(a, &o);
  }
  filtra_scores_destroy(&o.scores);
  filtra_run_close(&run);
  return code;
}

static void take_set(void *arguments, const char *name, const char *value) {
  (void)name;
  command_add_set(&((eval_arguments *)arguments)->sets, NULL, value);
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("run", eval_arguments, run),
    COMMAND_TEXT("split", eval_arguments, split),
    COMMAND_TEXT("data", eval_arguments, data),
    COMMAND_KEY("set", take_set),
    COMMAND_PRECISION(eval_arguments, precision),
    COMMAND_NUMBER("stride", eval_arguments, stride, 1, 1 << 24),
    COMMAND_FLAG("json", eval_arguments, json),
};

int run_eval(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true,
                                    .run = offsetof(eval_arguments, run)};
  eval_arguments a = {.split = "test", .sets = {.list = json_array()}};
  int code = command_take(argc, argv, &line, &a);
  filtra_status status = code < 0 ? command_reading_settings(&a.sets, &a.settings) : FILTRA_OK;
  if (code < 0) code = status ? command_fail(argv[0], status) : evaluate(&a);
  free(a.settings);
  json_decref(a.sets.list);
  return code;
}
