/* What the parts of `filtra compare` share: files of `filtra bench` as they were read, and what is
 * matched between them. */
#ifndef FILTRA_COMPARE_H
#define FILTRA_COMPARE_H

#include "common/command.h"

#include <stdio.h>

enum { COMPARE_MOST_FILES = 8 }; /* as many as charts have colours */

/** What was measured of one case. Text belongs to the file's JSON; "" or NaN where the file says
 * nothing. */
typedef struct compare_entry {
  const char *op, *name, *variant, *pass, *mixer;
  const char *precision; /* "" for fp32, as files of older versions have it */
  const char *error;     /* why it was not measured; "": it was, or */
  const char *skipped;   /* it was left out, for this reason; "": it was not */
  char *shape;   /* "batch 4, length 1024": all whole numbers that describe the case; owned */
  uint64_t hash; /* of all that tells cases apart */
  double best, median, worst;          /* seconds */
  double flops, bytes, gflops, gbytes; /* of one run; per second */
  double fraction;                     /* of what the peaks would allow, */
  const char *roof;                    /* of which this one is the lowest; "": not known */
  double memory, tokens;               /* bytes; per second */
  double batch, length;
  double sequences; /* a layer's times and memory are told for one of these; 1 for all else */
  double time_exponent, memory_exponent;
} compare_entry;

/** The first losses of a mixer's training run. */
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
  char *label; /* "B: Radeon ...", unlike all others; owned */
  json_t *root;
  const char *version, *commit, *date, *caps;
  const char *device, *driver, *kind, *api, *cpu, *system;
  bool quick;
  double memory, subgroup, cores;
  double peak_gflops, peak_gbytes, dispatch; /* seconds */
  double peak_bf16, peak_fp16;               /* GFLOP/s of matrix units */
  compare_entry *entries;
  size_t entry_count;
  compare_losses *losses;
  size_t loss_count;
} compare_machine;

/** A case, and what each file has of it; NULL: nothing. */
typedef struct compare_row {
  const compare_entry *cells[COMPARE_MOST_FILES];
  const compare_entry *any; /* the first there is */
  char *name; /* for people, unlike all others of its op, variant, precision and pass; owned */
} compare_row;

/** How a file's losses differ from those of the file that is compared with. */
typedef struct compare_deviation {
  const compare_losses *losses;        /* NULL: the file has none */
  char refused[400];                   /* why they cannot be compared; "": they can */
  size_t steps;                        /* that both have */
  bool equal;                          /* to the last bit */
  double absolute, relative;           /* the largest; of the larger one's magnitude */
  size_t absolute_step, relative_step; /* where; the first step is 1 */
} compare_deviation;

typedef struct compare_agreement {
  const char *mixer;
  size_t base; /* the machine that the others are compared with: the first that has losses */
  compare_deviation of[COMPARE_MOST_FILES];
} compare_agreement;

typedef struct comparison {
  compare_machine machines[COMPARE_MOST_FILES];
  size_t machine_count;
  compare_row *rows; /* those of an op stand together */
  size_t row_count, row_capacity;
  compare_agreement *agreements;
  size_t agreement_count, agreement_capacity;
  char **warnings;
  size_t warning_count, warning_capacity;
} comparison;

/** Reads a file; caller frees, also on failure (read.c). */
filtra_status compare_read(const char *path, compare_machine *m);
void compare_free_machine(compare_machine *m);

/** Matches what was read into machines[]; caller frees the comparison, also on failure
 * (match.c). */
filtra_status compare_match(comparison *c);
void compare_free(comparison *c);

/** Whether the entry is there and was measured. */
bool compare_measured(const compare_entry *e);
/** Whether a machine's losses are held against the base's, the base's own among them. */
bool compare_has_losses(const compare_agreement *a, size_t machine);
/** How many times as fast as the first machine; NaN: one of them has nothing. */
double compare_speed(const compare_row *row, size_t machine);
/** Geometric mean of speeds over rows[first] to below `end`; *cases: how many both have. */
double compare_mean_speed(const comparison *c, size_t first, size_t end, size_t machine,
                          size_t *cases);
/** The row behind those of the same op as rows[first]. */
size_t compare_op_end(const comparison *c, size_t first);
/** The first row of an op; row_count where there is none. */
size_t compare_op_first(const comparison *c, const char *op);

enum { COMPARE_TEXT = 1200 };

/* ---- where a mixer's layer begins to take less than softmax's (cross.c) ---- */

typedef enum compare_cross_state {
  COMPARE_UNKNOWN, /* no length was measured of both */
  COMPARE_BELOW,   /* it does at all lengths */
  COMPARE_CROSSES,
  COMPARE_BEYOND /* it does not at the longest */
} compare_cross_state;

typedef struct compare_crossing {
  compare_cross_state state;
  double length;   /* from which on it does, between two that were measured; NaN: see the state */
  double from, to; /* the lengths that were measured of both */
} compare_crossing;

/** Of time, or of memory, for the mixer whose layers begin at row `first`. */
compare_crossing compare_cross(const comparison *c, size_t first, size_t machine, bool memory);
/** The row behind the layers of that mixer. */
size_t compare_mixer_end(const comparison *c, size_t first);
/** The first row, from there on, of a mixer that is not softmax; row_count: there is none, or
 * nothing of softmax. */
size_t compare_next_rival(const comparison *c, size_t from);
/** "1480", "below 1024", "not up to 16384". */
const char *compare_crossing_text(const compare_crossing *x, char out[COMPARE_TEXT]);

/* ---- as text (text.c) ---- */

/** The name of the i-th thing that is told of a machine, and what it is; NULL: no more. */
const char *compare_property(size_t i, const compare_machine *m, char out[COMPARE_TEXT]);
/** "tiled, bf16, forward"; "" where a case has no variant or pass and is in fp32. */
const char *compare_kind(const compare_entry *e, char out[COMPARE_TEXT]);
/** "1.25 ×". */
const char *compare_speed_text(double speed, char out[COMPARE_TEXT]);
/** What a file has of a case that was not measured, as a sentence. */
const char *compare_lack(const compare_entry *e, char out[COMPARE_TEXT]);
/** How a mixer's losses on a machine relate to those that they are compared with. */
const char *compare_verdict(const compare_agreement *a, size_t machine, char out[COMPARE_TEXT]);
void compare_write_markdown(FILE *to, const comparison *c);

/** NULL when out of memory (json.c). */
json_t *compare_json(const comparison *c);

/* ---- as a page (page.c, and page_*.c for its parts) ---- */

filtra_status compare_write_page(FILE *to, const comparison *c);
filtra_status compare_page_roofs(FILE *to, const comparison *c);
/** Charts and tables of all ops but the layers. */
filtra_status compare_page_cases(FILE *to, const comparison *c);
/** One of those tables. */
void compare_page_table(FILE *to, const comparison *c, size_t first, size_t end);
filtra_status compare_page_growth(FILE *to, const comparison *c);
filtra_status compare_page_losses(FILE *to, const comparison *c);

#endif
