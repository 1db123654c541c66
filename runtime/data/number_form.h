/* Numbers as people write them in tables: 1,000.5 and 1.000,5; 12 %; $3.50; a minus sign U+2212. */
#ifndef FT_DATA_NUMBER_FORM_H
#define FT_DATA_NUMBER_FORM_H

#include "base/status.h"
#include "data/spread.h"

#include <filtra/data.h>

/** Statistics of a column's cells. [0] of a pair: read with a decimal point, [1]: with a comma. */
typedef struct ft_number_forms {
  uint64_t total, missing; /* cells that are not missing; cells that are */
  uint64_t numbers;        /* cells that are numbers in at least one of the ways */
  uint64_t readable[2];    /* cells that are numbers, in each way */
  uint64_t fractions[2];   /* numbers that are not whole */
  uint64_t grouped[2];     /* numbers with separators between thousands */
  uint64_t percents, currencies;
  ft_spread spread[2];
  uint64_t beyond[2];    /* the last number from 2^53 on: a hash of its digits */
  uint64_t sure_line[2]; /* line of the first cell that is a number in this way only; 0: none */
  char sure[2][48];
  uint64_t open_line; /* line of the first that is another number in each way, such as 1,000 */
  char open[48];
  uint64_t point_line; /* line of the first such cell of the form 1.000 */
  char point[48];
  uint64_t plain;      /* numbers of digits only: 1.000 beside 900 may mean thousands */
  uint64_t other_line; /* line of the first cell that is not a number */
  char other[48];
  uint64_t missing_line; /* line of the first missing cell */
  char gap[48];
  uint32_t currency; /* code point of the first currency */
  bool currencies_differ;
} ft_number_forms;

/** Whether a cell means a missing value: empty, ?, NaN, NA, N/A, null, none. */
bool ft_is_missing(const char *text, size_t length);

/** Adds a cell; `line` is its line. */
void ft_forms_add(ft_number_forms *forms, const char *text, size_t length, uint64_t line);
/** Whether the column has numbers and otherwise only missing cells. */
bool ft_forms_are_numbers(const ft_number_forms *forms);

/** Finds the decimal sign of columns of numbers: `given` unless that is AUTO. Fails with INPUT,
 * naming `path` and lines, if cells contradict each other or are ambiguous. */
filtra_status ft_forms_decide(const ft_number_forms *const *columns, size_t count, const char *path,
                              filtra_decimal given, filtra_decimal *decimal);
/** Fails with INPUT if a column's numbers cannot be used with that sign: only some are percentages,
 * currencies differ, or values differ by less than a float resolves. */
filtra_status ft_forms_check(const ft_number_forms *forms, const char *path, const char *column,
                             filtra_decimal decimal);

/** Warns of numbers in another file of the same columns that may have another decimal sign: those
 * with separators between thousands, if the first file has none (`thousands_seen`), or with three
 * digits after the sign, if it shows no sign. */
void ft_forms_warn(const ft_number_forms *forms, const char *path, filtra_decimal decimal,
                   bool decimal_seen, bool thousands_seen);

/** '%' for a column of percentages, the code point of a currency, or 0. */
uint32_t ft_forms_unit(const ft_number_forms *forms);

/** Reads a cell, for example "$1,000.50" or "12 %", which is 12. Fails with INPUT if the cell is
 * not a number or its unit is not that of ft_forms_unit; an amount may omit the currency. */
filtra_status ft_read_form(const char *text, size_t length, filtra_decimal decimal, uint32_t unit,
                           float *value);

/** Whether a cell is a number without unit; reads it in full double precision. */
bool ft_read_plain(const char *text, size_t length, filtra_decimal decimal, double *value);

#endif
