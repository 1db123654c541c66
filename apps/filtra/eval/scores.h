/* Prints the scores of a classifier, as text and as JSON. */
#ifndef FILTRA_EVAL_SCORES_H
#define FILTRA_EVAL_SCORES_H

#include <filtra/scores.h>
#include <jansson.h>

/** `names` [count] of the classes; classes beyond `count` are shown by number. */
typedef struct class_names {
  const char *const *names;
  size_t count;
} class_names;

/** Averages, a table of up to 20 classes, and a confusion matrix of up to 12. */
void scores_print(const filtra_scores *scores, class_names names);
/** Averages, classes and confusion matrix; NULL when out of memory. */
json_t *scores_json(const filtra_scores *scores, class_names names);

#endif
