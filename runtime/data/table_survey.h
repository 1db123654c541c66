/* Statistics of the columns of a table's first file. */
#ifndef FT_DATA_TABLE_SURVEY_H
#define FT_DATA_TABLE_SURVEY_H

#include "data/number_form.h"
#include "data/table.h"

/** Statistics of one column. */
typedef struct ft_column_survey {
  ft_number_forms forms;
  char **values; /* [value_count]: its distinct texts while these are few */
  size_t value_count, value_capacity;
  uint64_t spaced; /* cells of several words, with a space between */
  uint64_t images; /* cells that end as names of images do */
  bool many;       /* they are too many to list */
  bool codes;      /* digits that are codes, not numbers: with a leading 0, or more than 15 */
} ft_column_survey;

typedef struct ft_table_survey {
  char **first; /* [count] the fields of the first row, without spaces around them */
  size_t count;
  ft_column_survey *columns; /* [count], over all rows but the first */
  bool named;                /* the first row has the columns' names, whatever they are */
  uint64_t rows;             /* without the first */
  uint64_t line;             /* line of the first row */
  uint64_t again;            /* line of a repetition of the first row; 0: none */
} ft_table_survey;

/** Reads a file and fills in the survey. The caller frees, also on failure. */
filtra_status ft_table_look(const ft_table *table, const char *path, ft_table_survey *survey);
/** Adds the first row to the columns, for a file without a header. */
filtra_status ft_survey_add_first(ft_table_survey *survey);
void ft_survey_free(ft_table_survey *survey);
/** Whether a column holds numbers. */
bool ft_column_is_numbers(const ft_column_survey *column);
/** Whether a column holds few distinct texts. */
bool ft_column_is_categories(const ft_table_survey *survey, size_t column);
/** Fails, or warns, if a categorical column may be meant as numbers. */
filtra_status ft_survey_check_categories(const ft_table_survey *survey, size_t column,
                                         const char *path);

#endif
