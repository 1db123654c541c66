/* What the columns of a table's first file show. */
#ifndef FT_DATA_TABLE_SURVEY_H
#define FT_DATA_TABLE_SURVEY_H

#include "data/number_form.h"
#include "data/table.h"

/** What one column shows. */
typedef struct ft_column_survey {
  ft_number_forms forms;
  char **values; /* [value_count] its different texts, as long as they are few */
  size_t value_count, value_capacity;
  bool many;  /* they are not few */
  bool codes; /* digits that are no number: with a leading 0, or more than 15 */
} ft_column_survey;

typedef struct ft_table_survey {
  char **first; /* [count] the fields of the first row, without spaces around them */
  size_t count;
  ft_column_survey *columns; /* [count], over all rows but the first */
  uint64_t rows;             /* but the first */
  uint64_t line;             /* of the first row */
  uint64_t again;            /* of the first row that is the same; 0: there is none */
} ft_table_survey;

/** Reads a file. The caller frees, also on failure. */
filtra_status ft_table_look(const ft_table *table, const char *path, ft_table_survey *survey);
/** Adds the first row, which is no header, to the columns. */
filtra_status ft_survey_add_first(ft_table_survey *survey);
void ft_survey_free(ft_table_survey *survey);
/** Whether a column is of numbers. */
bool ft_column_is_numbers(const ft_column_survey *column);
/** Whether it is of few different texts. */
bool ft_column_is_categories(const ft_table_survey *survey, size_t column);
/** Fails, or warns, where such a column may be meant as numbers. */
filtra_status ft_survey_check_categories(const ft_table_survey *survey, size_t column,
                                         const char *path);

#endif
