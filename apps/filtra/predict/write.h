/* Writes predictions: lines or JSON on standard output, or a CSV, JSON Lines or NumPy file. */
#ifndef FILTRA_PREDICT_WRITE_H
#define FILTRA_PREDICT_WRITE_H

#include <filtra/predictor.h>
#include <jansson.h>
#include <stdio.h>

typedef enum answers_form {
  ANSWERS_LINES, /* on standard output, separated by tabs */
  ANSWERS_JSON,  /* a list, printed by the caller */
  ANSWERS_CSV,
  ANSWERS_JSONL,
  ANSWERS_NPY
} answers_form;

/** A prediction and its input: a line of text, or a sample of a data set. */
typedef struct answer {
  uint64_t number;             /* number of the line from 1, or of the sample from 0 */
  const char *text;            /* the line; NULL: a sample */
  const filtra_sample *sample; /* NULL: a line */
  const filtra_prediction *made;
  const float *probabilities, *logits; /* [outputs]; NULL for values */
} answer;

typedef struct answers {
  const filtra_predictor_info *info;
  answers_form form;
  const char *path; /* path of the file; NULL: standard output */
  bool lines;       /* answers are to lines of text */
  bool logits;      /* also write logits */
  bool vectors;     /* `logits` are vectors */
  size_t top;       /* most probable classes to list; 0 and 1: the first */
  json_t *list;     /* with ANSWERS_JSON */
  FILE *stream;     /* text of a file */
  char *text;
  size_t size;
  float *rows; /* with ANSWERS_NPY: [count, outputs] */
  size_t count, capacity;
} answers;

/** Whether answers are values, as from a regression. */
bool answers_are_values(const answers *a);
/** Whether answers are any number of labels each. */
bool answers_are_labels(const answers *a);
/** Name of a class; its number if the model has no names. Valid until the next call. */
const char *answers_class(const answers *a, int64_t label);
/** Chooses the form by the path's ending. Fails with ARGUMENT unless it is .csv, .jsonl or .npy. */
filtra_status answers_open(answers *a, const char *path);
filtra_status answers_add(answers *a, const answer *one);
/** Adds a failed answer: a row of NaN, in forms whose rows are counted. */
filtra_status answers_add_failed(answers *a);
/** Writes the file, whole or not at all. */
filtra_status answers_finish(answers *a);
void answers_free(answers *a);

#endif
