/* A sweep: a file that describes a grid of runs, its cells, and their states. */
#ifndef FILTRA_SWEEP_H
#define FILTRA_SWEEP_H

#include "common/command.h"

#include <stdio.h>

enum { SWEEP_SPLIT_TEXT = 8 };

/** A data set of the grid. */
typedef struct sweep_data {
  const char *name;
  const char *path;                /* as passed to runs */
  const json_t *generate;          /* how it is generated; NULL: it exists */
  char evaluate[SWEEP_SPLIT_TEXT]; /* the split on which finished runs are evaluated */
} sweep_data;

typedef enum sweep_state {
  SWEEP_NEW,         /* no folder yet */
  SWEEP_BEGUN,       /* has a folder, can be continued */
  SWEEP_FINISHED,    /* trained and evaluated by an earlier call */
  SWEEP_DONE,        /* trained and evaluated by this call */
  SWEEP_INTERRUPTED, /* stopped by a signal to the sweep; continued next time */
  SWEEP_FAILED
} sweep_state;

/** One run of the grid. */
typedef struct sweep_cell {
  char *name;   /* made from its settings */
  char *folder; /* the run folder, OUT/NAME */
  json_t *config;
  const sweep_data *data;
  sweep_state state;
  double seconds; /* spent by this call */
  char *error;    /* message of a failed cell */
} sweep_cell;

typedef struct sweep {
  const char *file, *out;
  char title[256];
  json_t *root;
  char *text; /* text of the file */
  sweep_data *data;
  size_t data_count;
  sweep_cell *cells; /* the chosen cells, in the file's order */
  size_t count;
} sweep;

/** Options of the command line. */
typedef struct sweep_choice {
  const char *file, *out; /* out NULL: as the file says */
  const char *cells;      /* comma-separated patterns of names; NULL: all */
  const json_t *paths;    /* {name: path} of data sets, which replace the file's */
} sweep_choice;

/** Reads and checks the whole file (read.c). Caller frees, also on failure. */
filtra_status sweep_read(const sweep_choice *choice, sweep *s);
void sweep_free(sweep *s);

/** Finds a cell's state, or each cell's (cells.c). Fails if it was begun with other settings, or is
 * reached through symbolic links. */
filtra_status sweep_find_state(const sweep *s, sweep_cell *cell);
filtra_status sweep_find_states(sweep *s);
/** Marks the cells that OUT/sweep.jsonl says failed and that have not finished since, with their
 * errors. */
filtra_status sweep_recall_failures(sweep *s);
/** Writes a new cell's settings to OUT/settings/NAME.json; sets *path; caller frees. */
filtra_status sweep_write_settings(const sweep *s, const sweep_cell *cell, char **path);
const char *sweep_state_name(sweep_state state);
/** Number of cells in that state. */
size_t sweep_count(const sweep *s, sweep_state state);

/** How cells are run. */
typedef struct sweep_way {
  const char *const *devices; /* [device_count] used by cells in turn */
  size_t device_count;        /* 0: the command's default */
  size_t jobs;                /* cells at once */
  filtra_device_options device;
} sweep_way;

/** Runs the unfinished cells (run.c). A failed cell does not end the others. Fails if the sweep
 * itself cannot continue; CANCELLED after a signal. */
filtra_status sweep_run(sweep *s, const sweep_way *way);

/* ---- processes (child.c, child_posix.c, child_win32.c) ---- */

enum { SWEEP_END_NAME = 64 };

/** A child process that runs a `filtra` command and logs its messages. */
typedef struct sweep_child {
  long process; /* 0: none */
  const char *log;
  uint64_t begin; /* offset of its output in the log */
} sweep_child;

/** Starts `filtra ARGUMENTS...`; `arguments` is NULL-terminated. The log, in the folder `within`,
 * stays locked until the child ends (ft_is_locked). If this process dies, the child is asked to
 * end. */
filtra_status sweep_start(const char *within, const char *const *arguments, const char *log,
                          sweep_child *child);
/** Writes to a log which process writes it from then on. */
void sweep_log_begin(FILE *log, const sweep_child *child, const char *subcommand);
/** The process that writes a log; 0: unknown. */
long sweep_writer(const char *log);
/** Whether the child has ended; *code is its exit code, or negative for what ended it. */
bool sweep_ended(sweep_child *child, int *code);
/** Describes a negative code: "signal 9 (Killed)". */
const char *sweep_end_name(int code, char name[SWEEP_END_NAME]);
/** Asks the child to end cleanly. */
void sweep_stop(const sweep_child *child);
/** The last message in the child's log, else a sentence with its exit code; caller frees. NULL: out
 * of memory. */
char *sweep_last_words(const sweep_child *child, int code);

#endif
