/* Self-contained HTML pages, light or dark as the reader's system is set, and text and numbers for
 * pages and Markdown. */
#ifndef FILTRA_PAGE_H
#define FILTRA_PAGE_H

#include <stdio.h>

/** Begins a page with style sheet and heading. */
void page_begin(FILE *to, const char *title);
void page_end(FILE *to);
/** Writes text with HTML's markup escaped; control characters become spaces. */
void page_text(FILE *to, const char *text);
/** As page_text, for Markdown, also within a table's cell. */
void markdown_text(FILE *to, const char *text);

/* ---- numbers for people; a dash for NaN and infinities ---- */

enum { NUMBER_TEXT = 32 };

/** Three digits and a prefix: "22.5 k". */
const char *amount_text(double value, char out[NUMBER_TEXT]);
/** At least three digits, without an exponent for large numbers: "0.0456", "3089". */
const char *rate_text(double value, char out[NUMBER_TEXT]);
/** "64 MiB". */
const char *memory_text(double bytes, char out[NUMBER_TEXT]);
/** "1.50 ms". */
const char *seconds_text(double seconds, char out[NUMBER_TEXT]);
/** As printf with `format`, which takes one double. */
const char *number_text(const char *format, double value, char out[NUMBER_TEXT]);
enum { LARGE_PERPLEXITY = 1000000 };
/** With two decimals, or four digits from LARGE_PERPLEXITY on; "-" if it is not finite. */
const char *perplexity_text(double perplexity, char out[NUMBER_TEXT]);

#endif
