/* Runs as `filtra report` reads them, and how reports are written. */
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

/** The measure by which a task is scored. */
typedef enum report_score { REPORT_ACCURACY, REPORT_PERPLEXITY, REPORT_ERROR } report_score;

/** A run. Texts belong to its files, or to the report that contained it. */
typedef struct report_run {
  const char *path, *input; /* input: the argument that named it */
  const char *data;         /* the sweep's name for the data, or the last part of their path */
  const char *data_path, *mixer;
  const char *device, *driver, *filtra; /* filtra: version that trained it; "": unknown */
  const char *commit;                   /* of the sweep's build; "": unknown */
  const char *fingerprint;              /* of the data; "": unknown */
  report_score score;
  double batch_size;
  report_curve loss, validation_loss, validation_score;
  double best, best_step; /* the best model's score on the validation split; NaN: none yet */
  double test;            /* score stored by `filtra eval`; NaN: none */
  /* From the same evaluation; NaN: none. */
  double test_top5, accuracy_low, accuracy_high, chance, majority, balanced_accuracy, macro_f1, auc;
  double test_f1, matthews, r2, pearson, spearman;
  json_t *evaluation; /* that evaluation's file, with its classes; NULL: none */
  double last_step;
  double tokens_per_second, milliseconds; /* medians; NaN: unknown */
  double memory_bytes;                    /* maximum; NaN: unknown */
  double parameters;                      /* NaN: unknown */
  double seed, seconds;                   /* seconds: spent by a sweep; NaN: unknown */
  json_t *config;
  const json_t *sweep;  /* file of the sweep that has it as a cell; NULL: none */
  size_t group, method; /* indices into the summary */
  /* owners of a run folder's texts; NULL for a run from a report */
  char *folder;
  filtra_run *open;
  json_t *about;
} report_run;

/** The runs of the given paths, in order: run folders, folders of them, reports as JSON. */
typedef struct report_set {
  report_run *runs;
  size_t count, room;
  json_t *kept; /* [owners of texts and sweeps]; NULL: none */
} report_set;

/** Reads a run folder (read.c) and thins out its curves for charts; caller frees, also on
 * failure. */
filtra_status report_read(const char *path, report_run *run);
void report_free(report_run *run);
/** Adds a point; neither number may be NaN. */
filtra_status report_add_point(report_curve *c, double step, double value);

/** Reads all paths (collect.c); caller frees, also on failure. */
filtra_status report_collect(char *const *paths, size_t count, report_set *set);
void report_free_set(report_set *set);
/** Adds an empty run; NULL: out of memory. */
report_run *report_add(report_set *set);
/** Moves `root` into the set; fails if it is NULL or memory runs out. */
filtra_status report_keep(report_set *set, json_t *root);
/** The sweep's entry for the run's data set; NULL: none. */
const json_t *report_entry(const report_run *run);

/* ---- statistics over several runs (summary.c) ---- */

/** The runs of one method on one data set. */
typedef struct report_mean {
  size_t runs;            /* runs with a score */
  double mean, deviation; /* deviation is NaN for one run */
  double rank;            /* among the methods on this data set, 1 is best; NaN: no score */
  double validation, validation_deviation, milliseconds, seconds, parameters; /* means */
} report_mean;

/** A data set on which runs can be compared. */
typedef struct report_group {
  const report_run *first;
  bool test; /* scores are the test split's if all its runs have one; else validation's */
} report_group;

/** Wilcoxon's test of methods a and b. */
typedef struct report_test {
  size_t a, b;
  statistics_wilcoxon result;
} report_test;

typedef struct report_summary {
  report_group *groups;
  size_t group_count;
  char **methods; /* mixer, plus the settings in which its runs differ */
  size_t method_count;
  report_mean *means; /* [group_count][method_count] */
  double *mean_ranks; /* [method_count], means over data sets on which all methods have scores */
  size_t ranked;      /* number of such data sets */
  report_test *tests; /* of all pairs of methods with at least one pair of scores */
  size_t test_count;
  report_score score; /* measure that the tests compare */
  bool by_seed;       /* pairs are the seeds of one data set; else data sets */
} report_summary;

filtra_status report_summarize(const report_set *set, report_summary *s);
void report_free_summary(report_summary *s);
/** Whether statistics say more than single runs: a method has several runs. */
bool report_has_repeats(const report_summary *s);
const report_mean *report_mean_of(const report_summary *s, size_t group, size_t method);

/** Whether two runs can be compared: same data, same measure. */
bool report_comparable(const report_run *a, const report_run *b);
/** "accuracy", "perplexity" or "mean absolute error". */
const char *report_score_name(report_score score);

/* ---- writing; failed writes and lack of memory are found at the end, as IO errors ---- */

typedef struct report_view {
  const report_set *set;
  const report_summary *summary;
} report_view;

typedef enum report_format {
  REPORT_MARKDOWN,
  REPORT_PAGE,
  REPORT_LATEX,
  REPORT_RESULTS /* Markdown page of data sets and methods, for documentation */
} report_format;

filtra_status report_write(FILE *to, const report_view *view, report_format format);
/** Writes tables of data sets by methods, of ranks and of tests. */
filtra_status report_write_summary(FILE *to, const report_summary *s, report_format format);
/** The title of the first sweep among the runs; "": none. */
const char *report_title(const report_set *set);
/** Writes a chart with the curves at `offset` in report_run of all runs comparable with `first`;
 * values are multiplied by `scale`. */
filtra_status report_write_curves(FILE *to, const report_view *view, const report_run *first,
                                  size_t offset, const char *title, const char *label,
                                  double scale);
/** Writes the scores of classifiers, if any run has them. */
filtra_status report_write_classes(FILE *to, const report_set *set, report_format format);
/** Writes a Markdown page that can be kept in a repository. */
filtra_status report_write_results(FILE *to, const report_view *view);
/** A score as text. */
const char *report_score_text(report_score score, double value, char out[NUMBER_TEXT]);
/** A mean, and its deviation if known, as text. */
void report_mean_text(report_score score, double mean, double deviation, char *out, size_t size);

/* ---- reports as JSON (json.c), to join what several machines measured ---- */

/** A report as JSON; NULL when out of memory. */
json_t *report_json(const report_view *view);
/** Adds the runs of a report's JSON file, which is not trusted. */
filtra_status report_read_json(report_set *set, const char *path);

#endif
