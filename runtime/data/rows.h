/* Rows of comma- or tab-separated text (RFC 4180), trusting nothing about it. */
#ifndef FT_DATA_ROWS_H
#define FT_DATA_ROWS_H

#include "base/lines.h"

typedef struct ft_rows {
  ft_lines lines;
  char delimiter;      /* 0: chosen by the first row, see ft_rows_open */
  bool quotes;         /* fields may stand in quotes, which may hold delimiters and line ends */
  const char **fields; /* [count] of the present row, NUL-terminated, without quotes */
  size_t count, capacity;
  uint64_t number; /* of the row's first line */
  size_t *starts;  /* scratch: where fields begin in `text` */
  size_t starts_capacity;
  char *text; /* the fields one behind the other */
  size_t length, text_capacity;
} ft_rows;

/** Fields are separated by commas, else semicolons, in NAME.csv; by tabs in NAME.tsv; and by the
 * first of tab, comma and semicolon that the first line has, in others. Quotes mean something where
 * it is not tabs. `path` must outlive the reader. */
filtra_status ft_rows_open(const char *path, ft_rows *rows);
/** Steps to the next row that is not blank; *more is false at the end. Errors in a row name file
 * and line. */
filtra_status ft_rows_next(ft_rows *rows, bool *more);
/** Puts "file:line: ", of the present row, before the message. */
filtra_status ft_rows_fail(const ft_rows *rows, filtra_status status);
void ft_rows_close(ft_rows *rows);

#endif
