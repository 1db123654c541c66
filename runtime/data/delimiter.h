/* Finds the character that separates the fields of a table, from its first rows. */
#ifndef FT_DATA_DELIMITER_H
#define FT_DATA_DELIMITER_H

#include "base/status.h"

#include <filtra/data.h>

/** What a quote at the start of a field means. */
typedef enum ft_quotes {
  FT_QUOTES_NONE = 0, /* nothing: it is part of the text */
  FT_QUOTES_LINE,     /* begins a quoted field if its end is in the line (RFC 4180); else text */
  FT_QUOTES_FULL      /* begins a quoted field, which may contain line ends */
} ft_quotes;

typedef struct ft_delimiter {
  char character;
  ft_quotes quotes;
  bool said; /* the first line is "sep=" and the character, not a row */
} ft_delimiter;

/** What the options say about a file's rows. */
typedef struct ft_row_form {
  char delimiter; /* 0: any */
  filtra_quoting quoting;
} ft_row_form;

/** Finds the delimiter of a file: the one in `form` if that is not 0; else the one named by a first
 * line "sep=;"; else the one of comma, tab, semicolon and pipe with which all first rows have
 * equally many fields. If none does, takes the one that comes nearest, so that errors can name the
 * wrong row. Fails with INPUT if two fit and neither looks like a part of text or numbers. */
filtra_status ft_delimiter_find(const char *path, ft_row_form form, ft_delimiter *found);

/** The quote with which a field begins, after spaces if these are not the delimiter; else NULL. */
const char *ft_quote_of(const char *field, char delimiter);
/** The end of the quoted field that begins at the quote `text`: after the closing quote and spaces,
 * if a delimiter or the end of line or text is there; else NULL. A doubled quote means one quote.
 * *open: there is no closing quote at all. */
const char *ft_quoted_end(const char *text, char delimiter, bool *open);

#endif
