/* What `filtra report` knows of a run, and how it is written. */
#ifndef FILTRA_REPORT_H
#define FILTRA_REPORT_H

#include "common/command.h"

#include <filtra/run.h>
#include <stdio.h>

/** Points of a learning curve, by step. */
typedef struct report_curve {
  double *step, *value; /* [count] */
  size_t count, capacity;
} report_curve;

/** How a task is judged. */
typedef enum report_score { REPORT_ACCURACY, REPORT_PERPLEXITY, REPORT_ERROR } report_score;

typedef struct report_run {
  const char *path; /* as given */
  const char *data; /* last part of the data's path */
  filtra_run *run;
  const filtra_run_info *info;
  report_score score;
  report_curve loss, validation_loss, validation_score;
  double best, best_step; /* score of the best model on the validation split; NaN: none yet */
  double test;            /* what `filtra eval` kept; NaN: nothing */
  double last_step;
  double tokens_per_second, milliseconds; /* medians; NaN: unknown */
  double memory_bytes;                    /* the most; NaN: unknown */
  double parameters;                      /* NaN: unknown */
  char device[256], driver[256];          /* "": unknown */
} report_run;

/** Reads a run folder; caller frees, also on failure. */
filtra_status report_read(const char *path, report_run *run);
void report_free(report_run *run);

/** Whether two runs can be compared: the same data, judged in the same way. */
bool report_comparable(const report_run *a, const report_run *b);
/** "accuracy", "perplexity" or "mean absolute error". */
const char *report_score_name(report_score score);

void report_write_markdown(FILE *to, const report_run *runs, size_t count);
void report_write_page(FILE *to, const report_run *runs, size_t count);
/** NULL when out of memory. */
json_t *report_json(const report_run *runs, size_t count);

#endif
