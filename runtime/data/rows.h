/* Reads rows of delimited text (RFC 4180) or of JSON Lines from untrusted input. */
#ifndef FT_DATA_ROWS_H
#define FT_DATA_ROWS_H

#include "base/lines.h"
#include "data/delimiter.h"

#include <jansson.h>

typedef struct ft_row_reader {
  ft_lines lines;
  bool named; /* the first row has the names of the columns, whatever they are: JSON Lines */
  ft_delimiter delimiter;
  filtra_quoting quoting; /* as the options say */
  bool quoted;            /* a field of the current row is quoted */
  const char **fields;    /* [count] of the current row, NUL-terminated, without quotes */
  size_t count, capacity;
  uint64_t number; /* of the row's first line */
  size_t *starts;  /* scratch: offsets of the fields in `text` */
  size_t starts_capacity;
  char *text; /* the current row's fields, one after the other */
  size_t length, text_capacity;
  json_t *first; /* of JSON Lines: the first object, whose keys are the columns */
  bool again;    /* the first object is the next row */
} ft_row_reader;

/** Opens a file: delimited text, whose delimiter ft_delimiter_find finds, or JSON Lines, by the
 * name's ending. `path` must outlive the reader. */
filtra_status ft_rows_open(const char *path, ft_row_form form, ft_row_reader *rows);
/** Moves to the next row that is not blank; *more is false at the end. Errors in a row name file
 * and line. */
filtra_status ft_rows_next(ft_row_reader *rows, bool *more);
/** Fails unless the current row has `wanted` fields, as the first row. If quotes are configured as
 * text, surplus fields are dropped and *longer is set. */
filtra_status ft_rows_check(ft_row_reader *rows, size_t wanted, bool *longer);
/** Puts "file:line: " of the current row before the message. */
filtra_status ft_rows_fail(const ft_row_reader *rows, filtra_status status);
void ft_rows_close(ft_row_reader *rows);

/** Endings of names of JSON Lines, NULL-terminated. */
extern const char *const ft_json_lines_endings[];
/** Reads the row of an object's line (rows_json.c). */
filtra_status ft_rows_read_object(ft_row_reader *rows);
/** For the two kinds of rows (row.c): begin a row, begin a field, add bytes to it, end the row. */
void ft_row_begin(ft_row_reader *rows);
filtra_status ft_row_begin_field(ft_row_reader *rows);
filtra_status ft_row_add(ft_row_reader *rows, const char *bytes, size_t count);
filtra_status ft_row_end(ft_row_reader *rows);
/** Ends errors about quotes, unless the caller says that they are none of the text. */
const char *ft_row_advice(const ft_row_reader *rows);

#endif
