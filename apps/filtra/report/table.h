/* Tables, written as Markdown, HTML or LaTeX. */
#ifndef FILTRA_TABLE_H
#define FILTRA_TABLE_H

#include "base/status.h"

#include <stdio.h>

typedef struct table_cell {
  char *text;
  bool bold;
} table_cell;

typedef struct table {
  /* [columns] */
  char **titles;
  const char **classes; /* class of left-aligned cells in HTML; NULL: numbers */
  table_cell *cells;    /* row by row */
  size_t columns, column_room, count, room;
  bool starved; /* memory ran out: the table is incomplete */
} table;

/** Adds a column; call it before adding cells. */
void table_column(table *t, const char *css_class, const char *format, ...) FT_PRINTF(3, 4);
/** Adds the next cell. */
void table_cell_add(table *t, bool bold, const char *format, ...) FT_PRINTF(3, 4);
void table_free(table *t);

void table_write_markdown(FILE *to, const table *t);
void table_write_page(FILE *to, const table *t);
void table_write_latex(FILE *to, const table *t);

/** Writes text with LaTeX's markup escaped. */
void latex_text(FILE *to, const char *text);

#endif
