/* Declarations shared by `filtra compare`: the files of `filtra bench`, and the cases matched
 * between them. */
#ifndef FILTRA_COMPARE_H
#define FILTRA_COMPARE_H

#include "common/command.h"

#include <stdio.h>

enum { COMPARE_MOST_FILES = 8 }; /* the number of charts' colours */

/** Measurements of one case. Texts belong to the file's JSON; "" or NaN: not in the file. */
typedef struct compare_entry {
  const char *op, *name, *variant, *pass, *mixer;
  const char *precision;      /* "" for fp32, as in files of older versions */
  const char *error;          /* why measuring failed; "": it succeeded */
  const char *skipped;        /* why the case was skipped; "": it was not */
  char *shape;                /* "batch 4, length 1024": all whole numbers of the case; owned */
  uint64_t hash;              /* of everything that distinguishes cases */
  double best, median, worst; /* seconds */
  double flops, bytes, gflops, gbytes; /* per run; per second */
  double fraction;                     /* fraction of the peaks' limit */
  const char *roof;                    /* the resource that gives the lowest limit; "": unknown */
  double memory, tokens;               /* bytes; tokens per second */
  double batch, length;
  double sequences; /* divide a layer's times and memory by this; else 1 */
  double time_exponent, memory_exponent;
} compare_entry;

/** The first losses of a mixer's training. */
typedef struct compare_losses {
  const char *mixer, *error;
  const json_t *config;
  double seed, steps;
  double *values; /* [count]; owned */
  size_t count;
} compare_losses;

/** A file. */
typedef struct compare_machine {
  const char *path;
  char *label; /* "B: Radeon ...", unique; owned */
  json_t *root;
  const char *version, *commit, *date, *caps;
  const char *device, *driver, *kind, *api, *cpu, *system;
  const json_t *model; /* that answered, with --run; NULL: none */
  bool quick;
  double memory, subgroup, cores;
  double tuned, driver_threads; /* choices of filtra tune; as --driver-threads, 0: one a core */
  double golden_cases, golden_passed;        /* of a report; NaN: not in the file */
  double peak_gflops, peak_gbytes, dispatch; /* dispatch: seconds */
  double peak_bf16, peak_fp16;               /* matrix units: GFLOP/s */
  compare_entry *entries;
  size_t entry_count;
  compare_losses *losses;
  size_t loss_count;
} compare_machine;

/** A case, and each file's measurements of it; NULL: none. */
typedef struct compare_row {
  const compare_entry *cells[COMPARE_MOST_FILES];
  const compare_entry *any; /* the first of `cells` that exists */
  char *name; /* unique among rows of the same op, variant, precision and pass; owned */
} compare_row;

/** Differences of a file's losses from those of the base. */
typedef struct compare_deviation {
  const compare_losses *losses;        /* NULL: the file has none */
  char refused[400];                   /* why losses cannot be compared; "": they can */
  size_t steps;                        /* steps that both files have */
  bool equal;                          /* bit for bit */
  double absolute, relative;           /* largest differences; relative to the larger magnitude */
  size_t absolute_step, relative_step; /* steps of these differences, from 1 */
} compare_deviation;

typedef struct compare_agreement {
  const char *mixer;
  size_t base; /* the machine to compare with: the first that has losses */
  compare_deviation of[COMPARE_MOST_FILES];
} compare_agreement;

typedef struct comparison {
  compare_machine machines[COMPARE_MOST_FILES];
  size_t machine_count;
  compare_row *rows; /* rows of an op are adjacent */
  size_t row_count, row_capacity;
  compare_agreement *agreements;
  size_t agreement_count, agreement_capacity;
  char **warnings;
  size_t warning_count, warning_capacity;
} comparison;

/** Reads a file; caller frees, also on failure (read.c). */
filtra_status compare_read(const char *path, compare_machine *m);
void compare_free_machine(compare_machine *m);

/** Matches the cases and losses of machines[] (match.c); caller frees the comparison, also on
 * failure. */
filtra_status compare_match(comparison *c);
void compare_free(comparison *c);

/** Whether the entry exists and was measured. */
bool compare_measured(const compare_entry *e);
/** Whether a machine's losses are compared with the base's; true for the base. */
bool compare_has_losses(const compare_agreement *a, size_t machine);
/** Speed relative to the first machine; NaN if one of them has no measurement. */
double compare_speed(const compare_row *row, size_t machine);
/** Geometric mean of speeds over rows first .. end - 1; *cases: number of rows that both have. */
double compare_mean_speed(const comparison *c, size_t first, size_t end, size_t machine,
                          size_t *cases);
/** The first row after those of the op of rows[first]. */
size_t compare_op_end(const comparison *c, size_t first);
/** The first row of an op; row_count if there is none. */
size_t compare_op_first(const comparison *c, const char *op);

enum { COMPARE_TEXT = 1200 };

/* ---- the length from which a mixer's layer takes less than softmax's (cross.c) ---- */

typedef enum compare_cross_state {
  COMPARE_UNKNOWN, /* no length was measured for both */
  COMPARE_BELOW,   /* less at all lengths */
  COMPARE_CROSSES,
  COMPARE_BEYOND /* not less at the longest length */
} compare_cross_state;

typedef struct compare_crossing {
  compare_cross_state state;
  double length;   /* interpolated between two measured ones; NaN: see `state` */
  double from, to; /* range of lengths measured for both */
} compare_crossing;

/** Compares time, or memory, of the mixer whose layers begin at row `first` with softmax's. */
compare_crossing compare_cross(const comparison *c, size_t first, size_t machine, bool memory);
/** The first row after the layers of the mixer at row `first`. */
size_t compare_mixer_end(const comparison *c, size_t first);
/** The first row from `from` on with a mixer other than softmax; row_count: there is none, or
 * softmax was not measured. */
size_t compare_next_rival(const comparison *c, size_t from);
/** "1480", "below 1024", "not up to 16384". */
const char *compare_crossing_text(const compare_crossing *x, char out[COMPARE_TEXT]);

/* ---- as text (text.c) ---- */

/** The name of a machine's i-th property; `out` is its value. NULL: no more. */
const char *compare_property(size_t i, const compare_machine *m, char out[COMPARE_TEXT]);
/** "tiled, bf16, forward"; "" for a case in fp32 without variant and pass. */
const char *compare_kind(const compare_entry *e, char out[COMPARE_TEXT]);
/** "1.25 ×". */
const char *compare_speed_text(double speed, char out[COMPARE_TEXT]);
/** A sentence about a case that was not measured. */
const char *compare_lack(const compare_entry *e, char out[COMPARE_TEXT]);
/** A sentence about how a mixer's losses on a machine agree with the base's. */
const char *compare_verdict(const compare_agreement *a, size_t machine, char out[COMPARE_TEXT]);
void compare_write_markdown(FILE *to, const comparison *c);

/** NULL when out of memory (json.c). */
json_t *compare_json(const comparison *c);

/* ---- as a page (page.c; page_*.c have its sections) ---- */

filtra_status compare_write_page(FILE *to, const comparison *c);
filtra_status compare_page_roofs(FILE *to, const comparison *c);
/** Writes charts and tables of all ops, except layers. */
filtra_status compare_page_cases(FILE *to, const comparison *c);
/** Writes the table of rows first .. end - 1. */
void compare_page_table(FILE *to, const comparison *c, size_t first, size_t end);
filtra_status compare_page_growth(FILE *to, const comparison *c);
filtra_status compare_page_losses(FILE *to, const comparison *c);

#endif
