/* Numbers as people write them in tables: 1,000.5 and 1.000,5; 12 %; $3.50; a minus sign U+2212. */
#ifndef FT_DATA_NUMBER_FORM_H
#define FT_DATA_NUMBER_FORM_H

#include "base/status.h"
#include "data/spread.h"

#include <filtra/data.h>

/** What the cells of a column show. [1] of a pair: read with a decimal comma, [0] with a point. */
typedef struct ft_number_forms {
  uint64_t total, missing; /* cells that are not missing; cells that are */
  uint64_t numbers;        /* cells that are numbers in one of the ways or both */
  uint64_t readable[2];    /* cells that are numbers in each way */
  uint64_t fractions[2];   /* numbers that are not whole */
  uint64_t grouped[2];     /* numbers with separators between thousands */
  uint64_t percents, currencies;
  ft_spread spread[2];
  uint64_t sure_line[2]; /* of the first cell that is a number in one way only; 0: none */
  char sure[2][48];
  uint64_t open_line; /* of the first that is another number in each way, such as 1,000 */
  char open[48];
  uint64_t point_line; /* of the first such as 1.000, which is also another number in each way */
  char point[48];
  uint64_t plain;      /* numbers of digits alone: 1.000 beside 900 may be thousands */
  uint64_t other_line; /* of the first that is no number */
  char other[48];
  uint64_t missing_line; /* of the first that is missing */
  char gap[48];
  uint32_t currency; /* the first code point */
  bool currencies_differ;
} ft_number_forms;

/** Whether a cell says that there is no value: empty, ?, NaN, NA, N/A, null, none. */
bool ft_is_missing(const char *text, size_t length);

/** Adds a cell of that line. */
void ft_forms_add(ft_number_forms *forms, const char *text, size_t length, uint64_t line);
/** Whether there are numbers, and nothing else but missing cells. */
bool ft_forms_are_numbers(const ft_number_forms *forms);

/** Finds the decimal sign of columns of numbers: `given` unless that is AUTO. Fails with INPUT,
 * naming `path` and lines, where cells contradict each other, or could mean either. */
filtra_status ft_forms_decide(const ft_number_forms *const *columns, size_t count, const char *path,
                              filtra_decimal given, filtra_decimal *decimal);
/** Fails with INPUT where a column's numbers cannot be used with that sign: some are per cent or of
 * another currency, or they differ by less than a float tells apart. */
filtra_status ft_forms_check(const ft_number_forms *forms, const char *path, const char *column,
                             filtra_decimal decimal);

/** '%' for a column of per cents, the code point of a currency, or 0. */
uint32_t ft_forms_unit(const ft_number_forms *forms);

/** Reads a cell, for example "$1,000.50" or "12 %", which is 12. Fails with INPUT for what is no
 * number, and for another unit than ft_forms_unit found. An amount may name no currency. */
filtra_status ft_read_form(const char *text, size_t length, filtra_decimal decimal, uint32_t unit,
                           float *value);

/** Whether a cell is a number without unit; reads it with all digits that a double has. */
bool ft_read_plain(const char *text, size_t length, filtra_decimal decimal, double *value);

#endif
