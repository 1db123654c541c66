/* A sweep: a file that describes a grid of runs, its cells, and what has become of each. */
#ifndef FILTRA_SWEEP_H
#define FILTRA_SWEEP_H

#include "common/command.h"

#include <stdio.h>

enum { SWEEP_SPLIT_TEXT = 8 };

/** A data set of the grid. */
typedef struct sweep_data {
  const char *name;
  const char *path;                /* as runs take it */
  const json_t *generate;          /* the object that says how it is made; NULL: it is there */
  char evaluate[SWEEP_SPLIT_TEXT]; /* the split that its finished runs are evaluated on */
} sweep_data;

typedef enum sweep_state {
  SWEEP_NEW,         /* nothing is there */
  SWEEP_BEGUN,       /* its folder is there, and goes on */
  SWEEP_FINISHED,    /* trained and evaluated before */
  SWEEP_DONE,        /* the same, by this call */
  SWEEP_INTERRUPTED, /* stopped by a signal to the sweep; goes on next time */
  SWEEP_FAILED
} sweep_state;

/** One run of the grid. */
typedef struct sweep_cell {
  char *name;   /* follows from its settings */
  char *folder; /* of the run: OUT/NAME */
  json_t *config;
  const sweep_data *data;
  sweep_state state;
  double seconds; /* that this call spent on it */
  char *error;    /* of one that failed: its sentence */
} sweep_cell;

typedef struct sweep {
  const char *file, *out;
  char title[256];
  json_t *root;
  char *text; /* of the file */
  sweep_data *data;
  size_t data_count;
  sweep_cell *cells; /* chosen ones, in the order of the file */
  size_t count;
} sweep;

/** What the command line says of a sweep. */
typedef struct sweep_choice {
  const char *file, *out; /* out NULL: as the file says */
  const char *cells;      /* patterns with commas between; NULL: all */
  const json_t *paths;    /* {name: path} of data sets, over the file's */
} sweep_choice;

/** Reads and checks the whole file (read.c). Caller frees, also on failure. */
filtra_status sweep_read(const sweep_choice *choice, sweep *s);
void sweep_free(sweep *s);

/** Finds each cell's state (cells.c). Fails where a cell was begun with other settings. */
filtra_status sweep_find_states(sweep *s);
/** Writes what a new cell is begun with to OUT/settings/NAME.json, and gives that path; caller
 * frees. */
filtra_status sweep_write_settings(const sweep *s, const sweep_cell *cell, char **path);
const char *sweep_state_name(sweep_state state);
/** How many cells have that state. */
size_t sweep_count(const sweep *s, sweep_state state);

/** How cells are run. */
typedef struct sweep_way {
  const char *const *devices; /* [device_count] cells take them in turn */
  size_t device_count;        /* 0: as the command chooses one */
  size_t jobs;                /* cells at once */
  filtra_device_options device;
} sweep_way;

/** Runs what is not finished (run.c). A cell that fails does not end the others. Fails where the
 * sweep itself cannot go on; CANCELLED after a signal. */
filtra_status sweep_run(sweep *s, const sweep_way *way);

/* ---- processes (child.c) ---- */

/** A `filtra` command in a process of its own, with its messages in a log. */
typedef struct sweep_child {
  long process; /* 0: none */
  const char *log;
  uint64_t begin; /* of what it writes there */
} sweep_child;

/** Starts `filtra ARGUMENTS...`; `arguments` ends with NULL. */
filtra_status sweep_start(const char *const *arguments, const char *log, sweep_child *child);
/** Whether it has ended; *code is its exit code then, or minus the number of the signal that ended
 * it. */
bool sweep_ended(sweep_child *child, int *code);
/** Asks it to end in order. */
void sweep_stop(const sweep_child *child);
/** The last sentence that it left in the log, or what its exit code says; caller frees. NULL: out
 * of memory. */
char *sweep_last_words(const sweep_child *child, int code);

#endif
