/* Final output of `filtra train`: the last and the best evaluation, as text and as JSON. Called by
 * train.c. */
#include "result.h"

#include "base/json.h"
#include "base/number.h"
#include "common/command.h"
#include "common/page.h"

#include <stdio.h>
#include <string.h>

static bool add_number(json_t *object, const char *prefix, const char *name, double value,
                       bool known) {
  char key[64];
  snprintf(key, sizeof key, "%s%s", prefix, name);
  return !json_object_set_new(object, key, known ? json_real(value) : json_null());
}

/* Adds loss and score, under the names of metrics.jsonl. */
static bool add_score(json_t *object, const char *prefix, filtra_task task, double loss,
                      double accuracy, double error, bool known) {
  bool done = add_number(object, prefix, "loss", loss, known);
  if (task == FILTRA_TASK_REGRESSION)
    return done && add_number(object, prefix, "mae", error, known);
  if (task == FILTRA_TASK_LANGUAGE_MODEL)
    done = done && add_number(object, prefix, "perplexity", ft_perplexity(loss), known);
  return done && add_number(object, prefix, "accuracy", accuracy, known);
}

/* Adds the task's other measures, under the names of metrics.jsonl. */
static bool add_measures(json_t *object, const char *prefix, const filtra_evaluation *e) {
  if (!e || e->task == FILTRA_TASK_LANGUAGE_MODEL) return true;
  if (e->task == FILTRA_TASK_REGRESSION)
    return add_number(object, prefix, "r2", e->r_squared, true) &&
           add_number(object, prefix, "pearson", e->pearson, true) &&
           add_number(object, prefix, "spearman", e->spearman, true);
  return add_number(object, prefix, "f1", e->f1, true) &&
         add_number(object, prefix, "macro_f1", e->macro_f1, true) &&
         (e->task == FILTRA_TASK_MULTI_LABEL ||
          add_number(object, prefix, "matthews", e->matthews, true));
}

static int print_json(const filtra_run_progress *p, const char *folder) {
  json_t *object = json_pack("{ss sI sI sI ss}", "run", folder, "steps", (json_int_t)p->step,
                             "parameters", (json_int_t)p->parameters, "trained_parameters",
                             (json_int_t)p->trained_parameters, "frozen", p->frozen);
  bool done =
      object &&
      add_score(object, "", p->task, ft_shortest(p->last.loss), ft_shortest(p->last.accuracy),
                ft_shortest(p->last.absolute_error), p->last.step > 0) &&
      add_score(object, "validation_", p->task, p->validation_loss, p->validation_accuracy,
                p->validation_absolute_error, p->validation_loss >= 0.0) &&
      add_score(object, "best_", p->task, p->best_loss, p->best_accuracy, p->best_absolute_error,
                p->best_step > 0) &&
      add_measures(object, "validation_", p->validation) &&
      add_measures(object, "best_", p->best) &&
      !json_object_set_new(object, "best_step", json_integer((json_int_t)p->best_step)) &&
      !json_object_set_new(object, "stopped_early", json_boolean(p->ended_of));
  if (done) return command_print_json("filtra train", object);
  json_decref(object);
  return command_print_json("filtra train", NULL);
}

static void print_evaluation(const filtra_evaluation *e) {
  char number[NUMBER_TEXT];
  command_print("loss %.4f, ", e->loss);
  if (e->task == FILTRA_TASK_REGRESSION)
    command_print("mean absolute error %.6g, Pearson %.4f, Spearman %.4f\n", e->absolute_error,
                  e->pearson, e->spearman);
  else if (e->task == FILTRA_TASK_LANGUAGE_MODEL)
    command_print("perplexity %s, accuracy %.2f%%\n", perplexity_text(e->perplexity, number),
                  100.0 * e->accuracy);
  else if (e->task == FILTRA_TASK_MULTI_LABEL)
    command_print("accuracy %.2f%%, micro F1 %.4f, macro F1 %.4f\n", 100.0 * e->accuracy, e->f1,
                  e->macro_f1);
  else
    command_print("accuracy %.2f%%, F1 %.4f, Matthews' correlation %.4f\n", 100.0 * e->accuracy,
                  e->f1, e->matthews);
}

/* Whether lower values of a measure are better. */
static bool is_error(const char *measure) {
  return !strcmp(measure, "loss") || !strcmp(measure, "mae");
}

int train_print_result(const filtra_run_progress *p, const char *folder, bool json) {
  if (json) return print_json(p, folder);
  if (p->last.step)
    command_print("Trained %llu steps; the run is in %s\n", (unsigned long long)p->step, folder);
  else
    command_print("%s is complete: %llu of %llu steps; nothing to do\n", folder,
                  (unsigned long long)p->step, (unsigned long long)p->steps);
  if (p->ended_of)
    command_print(
        "Stopped early, after %llu of %llu steps: no evaluation of the last \"patience\" had a "
        "%s validation %s\n",
        (unsigned long long)p->step, (unsigned long long)p->ended_of,
        is_error(p->patience_by) ? "lower" : "higher", p->patience_by);
  if (!p->validation) return COMMAND_DONE;
  command_print("Last validation: ");
  print_evaluation(p->validation);
  if (!p->best) return COMMAND_DONE;
  command_print("Best, at step %llu and saved: ", (unsigned long long)p->best_step);
  print_evaluation(p->best);
  return COMMAND_DONE;
}
