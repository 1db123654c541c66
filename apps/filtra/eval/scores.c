/* Scores of a classifier as text and JSON. Called by eval.c. */
#include "scores.h"

#include "base/json.h"
#include "common/command.h"
#include "common/fields.h"
#include "common/page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LISTED = 20, MOST_CROSSED = 12, NAME_WIDTH = 24 };

static const char *name_of(class_names names, uint32_t k) {
  static char number[16];
  if (k < names.count) return names.names[k];
  snprintf(number, sizeof number, "%u", k);
  return number;
}

/* ---- text ---- */

static bool has_unknown(const filtra_scores *s) {
  for (uint32_t k = 0; k < s->classes; k++)
    if (s->of_class[k].known < s->samples) return true;
  return false;
}

static void print_classes(const filtra_scores *s, class_names names) {
  char text[5][NUMBER_TEXT];
  const bool unknown = has_unknown(s);
  command_print("\n%-*s%s %8s %9s %9s %9s %7s %7s\n", NAME_WIDTH, "class",
                unknown ? "    known" : "", "samples", "predicted", "precision", "recall", "F1",
                "AUC");
  for (uint32_t k = 0; k < s->classes; k++) {
    const filtra_class_scores *c = &s->of_class[k];
    command_print_field(name_of(names, k), NAME_WIDTH);
    if (unknown) command_print(" %8llu", (unsigned long long)c->known);
    command_print(" %8llu %9llu %9s %9s %7s %7s\n", (unsigned long long)c->samples,
                  (unsigned long long)c->predicted, number_text("%.4f", c->precision, text[0]),
                  number_text("%.4f", c->recall, text[1]), number_text("%.4f", c->f1, text[2]),
                  number_text("%.4f", c->auc, text[3]));
  }
}

static void print_confusion(const filtra_scores *s, class_names names) {
  command_print("\ntrue class, and how often each was predicted, in the same order\n");
  for (uint32_t k = 0; k < s->classes; k++) {
    command_print_field(name_of(names, k), NAME_WIDTH);
    for (uint32_t i = 0; i < s->classes; i++)
      command_print(" %6llu", (unsigned long long)s->confusion[(size_t)k * s->classes + i]);
    command_print("\n");
  }
}

void scores_print(const filtra_scores *s, class_names names) {
  char auc[NUMBER_TEXT], macro[NUMBER_TEXT], recall[NUMBER_TEXT];
  command_print("95%% interval of the accuracy %.2f%% to %.2f%%; %s %s, macro F1 %s, AUC %s",
                100.0 * s->accuracy_low, 100.0 * s->accuracy_high,
                isnan(s->matthews) ? "mean recall" : "balanced accuracy",
                number_text("%.2f%%", 100.0 * s->balanced_accuracy, recall),
                number_text("%.4f", s->macro_f1, macro), number_text("%.4f", s->auc, auc));
  if (!isnan(s->matthews)) command_print(", Matthews' correlation %.4f", s->matthews);
  command_print("\n");
  if (s->classes <= MOST_LISTED) print_classes(s, names);
  if (s->confusion && s->classes <= MOST_CROSSED) print_confusion(s, names);
  if (s->classes > MOST_LISTED) command_print("--json lists each of the %u classes\n", s->classes);
}

/* ---- JSON ---- */

static json_t *class_json(const filtra_scores *s, class_names names, uint32_t k) {
  const filtra_class_scores *c = &s->of_class[k];
  return json_pack("{ss sI sI sI sI so so so so}", "name", name_of(names, k), "known",
                   (json_int_t)c->known, "samples", (json_int_t)c->samples, "predicted",
                   (json_int_t)c->predicted, "hits", (json_int_t)c->hits, "precision",
                   fields_number(c->precision), "recall", fields_number(c->recall), "f1",
                   fields_number(c->f1), "auc", fields_number(c->auc));
}

static json_t *confusion_json(const filtra_scores *s) {
  json_t *rows = json_array();
  for (uint32_t k = 0; k < s->classes && s->confusion; k++) {
    json_t *row = json_array();
    for (uint32_t i = 0; i < s->classes; i++)
      ft_json_append(&row, json_integer((json_int_t)s->confusion[(size_t)k * s->classes + i]));
    ft_json_append(&rows, row);
  }
  return rows;
}

json_t *scores_json(const filtra_scores *s, class_names names) {
  json_t *classes = json_array();
  for (uint32_t k = 0; k < s->classes; k++)
    ft_json_append(&classes, class_json(s, names, k));
  return json_pack("{sf sf so so so so so so}", "accuracy_low", s->accuracy_low, "accuracy_high",
                   s->accuracy_high, "balanced_accuracy", fields_number(s->balanced_accuracy),
                   "macro_f1", fields_number(s->macro_f1), "auc", fields_number(s->auc), "matthews",
                   fields_number(s->matthews), "classes", classes, "confusion",
                   s->confusion ? confusion_json(s) : json_null());
}
