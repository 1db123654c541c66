/* What `filtra report` knows of a run, and how it is written. */
#ifndef FILTRA_REPORT_H
#define FILTRA_REPORT_H

#include "common/command.h"
#include "common/page.h"
#include "statistics.h"
#include "table.h"

#include <filtra/run.h>
#include <stdio.h>

/** Points of a learning curve, by step. */
typedef struct report_curve {
  double *step, *value; /* [count] */
  size_t count, capacity;
} report_curve;

/** How a task is judged. */
typedef enum report_score { REPORT_ACCURACY, REPORT_PERPLEXITY, REPORT_ERROR } report_score;

/** A run. Texts are those of its files, or of the report that it is taken from. */
typedef struct report_run {
  const char *path, *input; /* input: the argument that led to it */
  const char *data;         /* what a sweep calls the data, or the last part of their path */
  const char *data_path, *mixer;
  const char *device, *driver, *filtra; /* filtra: the version that trained it; "": unknown */
  const char *commit;                   /* of the sweep that did; "": unknown */
  report_score score;
  double batch_size;
  report_curve loss, validation_loss, validation_score;
  double best, best_step; /* score of the best model on the validation split; NaN: none yet */
  double test;            /* what `filtra eval` kept; NaN: nothing */
  double test_top5;       /* top-5 accuracy, the same */
  double last_step;
  double tokens_per_second, milliseconds; /* medians; NaN: unknown */
  double memory_bytes;                    /* the most; NaN: unknown */
  double parameters;                      /* NaN: unknown */
  double seed, seconds;                   /* seconds: that a sweep spent on it; NaN: unknown */
  json_t *config;
  const json_t *sweep;  /* the file of the sweep that it is a cell of; NULL: of none */
  size_t group, method; /* in the summary */
  /* what a run folder's texts belong to; NULL where the run is from a report */
  char *folder;
  filtra_run *open;
  json_t *about;
} report_run;

/** The runs that paths lead to, in order: run folders, folders of them, reports as JSON. */
typedef struct report_set {
  report_run *runs;
  size_t count, room;
  json_t *kept; /* [what runs' texts and sweeps belong to]; NULL: nothing */
} report_set;

/** Reads a run folder (read.c); caller frees, also on failure. Curves are thinned out to what
 * a chart can show. */
filtra_status report_read(const char *path, report_run *run);
void report_free(report_run *run);
/** Adds a point, of whose numbers none may be NaN. */
filtra_status report_add_point(report_curve *c, double step, double value);

/** Reads all (collect.c); caller frees, also on failure. */
filtra_status report_collect(char *const *paths, size_t count, report_set *set);
void report_free_set(report_set *set);
/** Adds a run that is still to be filled; NULL: out of memory. */
report_run *report_add(report_set *set);
/** Has the set own it, which is given up; NULL, or no memory, fails. */
filtra_status report_keep(report_set *set, json_t *root);
/** What the run's sweep says of its data set; NULL: nothing. */
const json_t *report_entry(const report_run *run);

/* ---- what several runs say together (summary.c) ---- */

/** The runs of one method on one data set. */
typedef struct report_mean {
  size_t runs;            /* that have a score */
  double mean, deviation; /* deviation: NaN of one run */
  double rank;            /* among the data set's methods, 1 the best; NaN: no score */
  double validation, validation_deviation, milliseconds, seconds, parameters; /* means */
} report_mean;

/** Data that runs can be compared on. */
typedef struct report_group {
  const report_run *first;
  bool test; /* scores are the test split's, as all its runs have one; else the validation's */
} report_group;

/** Wilcoxon's test of methods a and b. */
typedef struct report_test {
  size_t a, b;
  statistics_wilcoxon result;
} report_test;

typedef struct report_summary {
  report_group *groups;
  size_t group_count;
  char **methods; /* the mixer, with the settings in which runs of it differ */
  size_t method_count;
  report_mean *means; /* [group_count][method_count] */
  double *mean_ranks; /* [method_count] over the data sets that all methods have */
  size_t ranked;      /* how many those are */
  report_test *tests; /* of all pairs of methods that have a pair of scores */
  size_t test_count;
  report_score score; /* that the tests are about */
  bool by_seed;       /* their pairs are the seeds of one data set, not data sets */
} report_summary;

filtra_status report_summarize(const report_set *set, report_summary *s);
void report_free_summary(report_summary *s);
/** Whether there is more to say than of each run by itself: a method has several runs. */
bool report_has_repeats(const report_summary *s);
const report_mean *report_mean_of(const report_summary *s, size_t group, size_t method);

/** Whether two runs can be compared: the same data, judged in the same way. */
bool report_comparable(const report_run *a, const report_run *b);
/** "accuracy", "perplexity" or "mean absolute error". */
const char *report_score_name(report_score score);

/* ---- writing: what memory ran out for is IO's to find ---- */

typedef struct report_view {
  const report_set *set;
  const report_summary *summary;
} report_view;

typedef enum report_format {
  REPORT_MARKDOWN,
  REPORT_PAGE,
  REPORT_LATEX,
  REPORT_RESULTS /* a page of documentation: Markdown of data sets and methods, not of runs */
} report_format;

filtra_status report_write(FILE *to, const report_view *view, report_format format);
/** Tables of data sets by methods, ranks and tests. */
filtra_status report_write_summary(FILE *to, const report_summary *s, report_format format);
/** A page that stands in a repository. */
filtra_status report_write_results(FILE *to, const report_view *view);
/** A score as people read it. */
const char *report_score_text(report_score score, double value, char out[NUMBER_TEXT]);
/** The same with its deviation, where that is known. */
void report_mean_text(report_score score, double mean, double deviation, char *out, size_t size);

/* ---- reports as JSON (json.c): what was measured on several machines becomes one report ---- */

/** All of a report; NULL when out of memory. */
json_t *report_json(const report_view *view);
/** Adds the runs of such a file. Trusts nothing in it. */
filtra_status report_read_json(report_set *set, const char *path);

#endif
