/* How the columns of a training table were read; other files of its run are read in the same
 * way. */
#ifndef FT_DATA_TABLE_FIT_H
#define FT_DATA_TABLE_FIT_H

#include "base/json.h"

#include <filtra/data.h>

/** A column that is read as numbers. */
typedef struct ft_table_column {
  char *name;
  char **values; /* [value_count], sorted: the texts of a categorical column, which becomes one-hot
                    numbers; NULL: a column of numbers */
  size_t value_count;
  uint32_t unit; /* of numbers: the unit, as ft_forms_unit */
} ft_table_column;

/** How the columns of a training file were read. A name is that in the header or, without a header,
 * the column's number from 1; NULL: no such column. */
typedef struct ft_table_fit {
  bool header;
  size_t count; /* fields of a row */
  char *text, *target, *id, *group, *time;
  char *second;             /* the other column of two texts that become one sequence */
  ft_table_column *columns; /* [column_count], if there is no text */
  size_t column_count;
  filtra_decimal decimal; /* point or comma */
  bool decimal_seen;      /* some number, or an option, tells which */
  bool thousands_seen;    /* some number has separators between thousands */
  uint32_t unit;          /* of target numbers: as ft_forms_unit */
  char separator;         /* between the labels of `target`; 0: one class or number */
  char **labels;          /* [label_count] columns of 0 and 1, in place of `target` */
  size_t label_count;
} ft_table_fit;

void ft_table_fit_free(ft_table_fit *fit);
/** Sets "table" of the object; false when out of memory. */
bool ft_table_fit_write(json_t *object, const ft_table_fit *fit);
/** Reads "table" of the object; *out is NULL if there is none. Errors call the object `context`.
 * Caller frees with ft_table_fit_free. */
filtra_status ft_table_fit_read(const json_t *object, const char *context, ft_table_fit **out);
/** Copies a fit; caller frees with ft_table_fit_free. */
filtra_status ft_table_fit_copy(const ft_table_fit *fit, ft_table_fit **out);
/** What is read, for filtra_dataset_info.columns; caller frees. NULL when out of memory. */
char *ft_table_fit_say(const ft_table_fit *fit);
/** Reads the key label_separator: one character, space or tab. Fails with INPUT. */
filtra_status ft_separator_read(const char *option, char *separator);
/** Number of values that a row becomes. */
size_t ft_table_width(const ft_table_fit *fit);

#endif
