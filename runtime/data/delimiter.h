/* Which character separates the fields of a table, told from its first rows. */
#ifndef FT_DATA_DELIMITER_H
#define FT_DATA_DELIMITER_H

#include "base/status.h"

#include <filtra/data.h>

/** What a quote at the start of a field means. */
typedef enum ft_quotes {
  FT_QUOTES_NONE = 0, /* nothing: it is text */
  FT_QUOTES_LINE,     /* a quoted field, if that ends in the same line as RFC 4180 says; or text */
  FT_QUOTES_FULL      /* a quoted field, which may hold line ends */
} ft_quotes;

typedef struct ft_delimiter {
  char character;
  ft_quotes quotes;
  bool said; /* the first line says "sep=" and the character, and is no row */
} ft_delimiter;

/** What is said of a file's rows. */
typedef struct ft_row_form {
  char delimiter; /* 0: any */
  filtra_quoting quoting;
} ft_row_form;

/** Finds the delimiter of a file: the one in `form` if that is not 0; else the one that a first
 * line "sep=;" says; else the one of comma, tab, semicolon and pipe that gives each of the first
 * rows equally many fields. Where none does, it is the one that comes nearest, so that the row
 * that is wrong can be named. Fails with INPUT where two do and neither looks like a part of
 * text or numbers. */
filtra_status ft_delimiter_find(const char *path, ft_row_form form, ft_delimiter *found);

/** The quote with which a field begins, after spaces where these separate nothing; else NULL. */
const char *ft_quote_of(const char *field, char delimiter);
/** The end of the quoted field that begins at the quote `text`: after the closing quote and spaces,
 * if a delimiter or the end of line or text is there; else NULL. A doubled quote means one quote.
 * *open: there is no closing quote at all. */
const char *ft_quoted_end(const char *text, char delimiter, bool *open);

#endif
