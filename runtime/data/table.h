/* Internals of the format "table": which columns of a file are read, and as what. The first file,
 * the training file if there is one, decides; other files have the same columns, by name. */
#ifndef FT_DATA_TABLE_H
#define FT_DATA_TABLE_H

#include "data/labels.h"
#include "data/names.h"
#include "data/rows.h"
#include "data/table_fit.h"

/** A table being opened. */
typedef struct ft_table {
  const filtra_dataset_options *options;
  filtra_dataset *ds;
  ft_split_files files;
  const char *first; /* the deciding file, one of `files` */
  const ft_table_fit *fit;
  struct ft_number_forms *later; /* the current file's numbers, if it is not the deciding one */
  bool learnt;                   /* `fit` was learnt from this data set, not taken from a run */
  bool values;                   /* targets are numbers, not classes */
  bool numbered;                 /* all names of classes are numbers, so NA is not a class */
  bool targeted;                 /* some file has targets */
  uint64_t longer, longer_line;  /* rows of the last file that were cut, and the first of them */
  bool several;                  /* targets are any number of labels */
  ft_labels labels;
} ft_table;

/** Positions of the columns in one file. */
enum { FT_NOWHERE = -1 };
typedef struct ft_places {
  size_t count; /* fields of a row; 0: no row was read yet */
  long text, second, target, id, group, time;
  long *columns; /* [fit->column_count] */
  long *labels;  /* [fit->label_count]; all or none are FT_NOWHERE */
} ft_places;

/** Learns table->fit and table->values from the first file. The dataset owns the fit. */
filtra_status ft_table_learn(ft_table *table);

typedef filtra_status (*ft_row_fn)(const ft_row_reader *rows, const ft_places *places, void *user);
/** Calls `take` for each row of a file except its header. Errors name file and line. */
filtra_status ft_table_walk(ft_table *table, const char *path, ft_row_fn take, void *user);

/** Reads the target of a row into a row of `samples`, which store its set of labels. A missing
 * target is unknown, or an error. */
filtra_status ft_table_target(ft_table *table, const ft_row_reader *rows, const ft_places *places,
                              ft_samples *samples, ft_sample_row *row);
/** Whether the file has targets. */
bool ft_places_target(const ft_table *table, const ft_places *places);

/* ---- table_labels.c ---- */

/** Reads the labels of a row as a set of `samples`; *set -1: they are unknown. */
filtra_status ft_table_labels(ft_table *table, const ft_row_reader *rows, const ft_places *places,
                              ft_samples *samples, int32_t *set);
/** Finds the character between labels: the option's, or the one of ; | and , that the first file's
 * target column has. */
filtra_status ft_table_find_separator(ft_table *table, char *separator);
/** Makes the names of the label columns the class names. */
filtra_status ft_table_name_labels(ft_table *table);

/** Checks what the empty fields of the label columns mean, and says how many labels are unknown.
 * The samples of a file that knows none have no target, if that is allowed. */
filtra_status ft_table_check_labels(const ft_table *table, const char *path, ft_samples *samples);

/** Names the next sample by the row's id, if there are ids. */
filtra_status ft_table_name(const ft_row_reader *rows, const ft_places *places,
                            ft_samples *samples);
/** Closes the classes after the first file. Fails with INPUT, or warns, if they are implausible:
 * fields hold several labels each, or nearly every target is a class of its own. */
filtra_status ft_table_end_file(ft_table *table, filtra_split split);

/** Reads the numbers of a row, `ft_table_width` of them; NaN: missing. */
filtra_status ft_table_numbers(const ft_table *table, const ft_row_reader *rows,
                               const ft_places *places, float *values);
/** Reads a split as features: a sample is a row or a group of rows. */
filtra_status ft_table_read_features(ft_table *table, filtra_split split);
filtra_status ft_table_read_series(ft_table *table, filtra_split split);

/** Whether a field of a header names a column of texts, or of targets. */
bool ft_names_text(const char *field);
bool ft_names_target(const char *field);

/** The form of rows that the options set. */
ft_row_form ft_table_form(const filtra_dataset_options *options);
/** Index of the header's column of that name; FT_NOWHERE if none. Ignores case unless a name
 * matches exactly; *twice: several columns match. */
long ft_find_column(const char *const *fields, size_t count, const char *name, bool *twice);
/** Index of the column that names samples, by its header; FT_NOWHERE if none. */
long ft_find_id(const char *const *fields, size_t count);

#endif
