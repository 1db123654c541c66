/* Self-contained pages, light or dark as the reader's system is, and text and numbers in pages and
 * in Markdown. */
#ifndef FILTRA_PAGE_H
#define FILTRA_PAGE_H

#include <stdio.h>

/** Begins a page: style sheet and heading. */
void page_begin(FILE *to, const char *title);
void page_end(FILE *to);
/** Writes text with what HTML takes for markup escaped; control characters become spaces. */
void page_text(FILE *to, const char *text);
/** The same for Markdown, within a cell of a table too. */
void markdown_text(FILE *to, const char *text);

/* ---- numbers as people read them; a dash for NaN and infinities ---- */

enum { NUMBER_TEXT = 32 };

/** Three digits and a unit: "22.5 k". */
const char *amount_text(double value, char out[NUMBER_TEXT]);
/** At least three digits, and no exponent for what is large: "0.0456", "3089". */
const char *rate_text(double value, char out[NUMBER_TEXT]);
/** "64 MiB". */
const char *memory_text(double bytes, char out[NUMBER_TEXT]);
/** "1.50 ms". */
const char *seconds_text(double seconds, char out[NUMBER_TEXT]);
/** What `format` makes of it: it takes one double. */
const char *number_text(const char *format, double value, char out[NUMBER_TEXT]);

#endif
