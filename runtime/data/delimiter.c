/* Finds the delimiter of a table from its first rows: the candidate that gives every row equally
 * many fields. Called by rows.c. */
#include "data/delimiter.h"

#include "base/lines.h"
#include "base/memory.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_LINES = 256, SAMPLE_BYTES = 1 << 18 };

/* The first lines of a file, with \n between them. */
typedef struct sample {
  char *text;
  size_t length, capacity;
  bool whole; /* the sample is the whole file */
  filtra_quoting quoting;
} sample;

/* How a candidate splits the sample. */
typedef struct tally {
  char character;
  size_t rows, fields;                  /* fields: in the first row */
  size_t equal;                         /* rows with as many fields as the first one */
  size_t found, spaced, within_numbers; /* delimiters; followed by a space; between digits */
  bool unquoted;                        /* quotes are text */
  bool strays;                          /* some quote violates RFC 4180 */
  bool multiline;                       /* a quoted field holds a line end */
} tally;

/* ---- the sample ---- */

static filtra_status add_line(sample *s, const char *line, size_t length) {
  size_t wanted = s->length + length + 2;
  if (!s->text || wanted > s->capacity) {
    char *text = ft_realloc(s->text, 2 * wanted, 1);
    if (!text) return FILTRA_ERROR_HOST_MEMORY;
    s->text = text;
    s->capacity = 2 * wanted;
  }
  if (s->length > 0) s->text[s->length++] = '\n';
  memcpy(s->text + s->length, line, length + 1);
  s->length += length;
  return FILTRA_OK;
}

static filtra_status take_sample(ft_lines *lines, sample *s) {
  for (size_t i = 0; i < SAMPLE_LINES && s->length < SAMPLE_BYTES; i++) {
    bool more;
    FT_TRY(ft_lines_next(lines, &more));
    s->whole = !more;
    if (!more) break;
    if (lines->line[strspn(lines->line, " \t")]) FT_TRY(add_line(s, lines->line, lines->length));
  }
  return s->text ? FILTRA_OK : add_line(s, "", 0);
}

static filtra_status read_sample(const char *path, sample *s) {
  ft_lines lines;
  FT_TRY(ft_lines_open(path, &lines));
  filtra_status status = take_sample(&lines, s);
  ft_lines_close(&lines);
  return status;
}

/* ---- splitting it ---- */

const char *ft_quoted_end(const char *text, char delimiter, bool *open) {
  *open = false;
  for (const char *at = text + 1;; at++) {
    at += strcspn(at, "\"");
    *open = !*at;
    if (*open) return NULL;
    if (at[1] == '"') {
      at++;
      continue;
    }
    at += 1 + (delimiter == '\t' ? 0 : strspn(at + 1, " "));
    return !*at || *at == '\n' || *at == delimiter ? at : NULL;
  }
}

const char *ft_quote_of(const char *field, char delimiter) {
  if (delimiter != '\t') field += strspn(field, " ");
  return *field == '"' ? field : NULL;
}

/* The end of a field; the end of the sample if a quoted field continues past it. */
static const char *end_of_field(tally *t, const sample *s, const char *at) {
  const char ends[3] = {t->character, '\n', '\0'};
  bool open = false;
  const char *quote = t->unquoted ? NULL : ft_quote_of(at, t->character);
  const char *end = quote ? ft_quoted_end(quote, t->character, &open) : NULL;
  if (end) {
    t->multiline = t->multiline || memchr(at, '\n', (size_t)(end - at));
    return end;
  }
  if (open && !s->whole) return at + strlen(at);
  end = at + strcspn(at, ends);
  t->strays = t->strays || memchr(at, '"', (size_t)(end - at));
  return end;
}

static void count_delimiter(tally *t, const char *start, const char *at) {
  bool after_digit = at > start && isdigit((unsigned char)at[-1]);
  t->found++;
  t->spaced += at[1] == ' ';
  t->within_numbers += after_digit && isdigit((unsigned char)at[1]);
}

/* Splits the sample. The last row counts only if it is complete, or the only one. */
static tally split_with(const sample *s, char character, bool unquoted) {
  tally t = {.character = character, .unquoted = unquoted};
  for (const char *at = s->text;; at++) {
    size_t fields = 1;
    for (; *(at = end_of_field(&t, s, at)) == character; at++, fields++)
      count_delimiter(&t, s->text, at);
    if (!*at && !s->whole && t.rows > 0) break;
    if (t.rows++ == 0) t.fields = fields;
    t.equal += fields == t.fields;
    if (!*at) break;
  }
  return t;
}

static bool fits(const tally *t) {
  return t->fields > 1 && t->equal == t->rows;
}

/* Quotes in a tab-separated file are quotes only if all conform to RFC 4180 and rows then have
 * equally many fields; otherwise they are text. */
static tally split(const sample *s, char character) {
  if (s->quoting) return split_with(s, character, s->quoting == FILTRA_QUOTING_NONE);
  tally t = split_with(s, character, false);
  return character == '\t' && (t.strays || !fits(&t)) ? split_with(s, character, true) : t;
}

/* ---- choosing ---- */

static bool has_ending(const char *path, const char *ending) {
  size_t length = strlen(path), count = strlen(ending);
  if (length > 3 && !ft_strcasecmp(path + length - 3, ".gz")) length -= 3;
  return length >= count && !ft_strncasecmp(path + length - count, ending, count);
}

static void choose_quotes(const sample *s, ft_delimiter *found) {
  found->quotes = s->quoting == FILTRA_QUOTING_NONE ? FT_QUOTES_NONE : FT_QUOTES_FULL;
  if (s->quoting || found->character != '\t') return;
  tally t = split(s, '\t');
  found->quotes = t.unquoted ? FT_QUOTES_NONE : t.multiline ? FT_QUOTES_FULL : FT_QUOTES_LINE;
}

/* Counts reasons against a candidate: it breaks quotes, or splits what looks like a part of text
 * ("April 1, 2023") or numbers ("0,5"). */
static int doubts(const tally *t) {
  const bool part = t->spaced == t->found || (t->character == ',' && t->within_numbers == t->found);
  return 2 * t->strays + part;
}

static bool comes_nearer(const tally *a, const tally *b) {
  if (b->fields < 2) return a->fields > 1;
  return a->fields > 1 && a->equal * b->rows > b->equal * a->rows;
}

static const char *name_of(char character) {
  return character == '\t'  ? "tab"
         : character == ',' ? "comma"
         : character == ';' ? "semicolon"
                            : "pipe";
}

static filtra_status choose(const sample *s, const char *path, ft_delimiter *found) {
  const char *candidates = has_ending(path, ".csv") ? ",;\t|" : "\t,;|";
  tally best = split(s, *candidates);
  char rival = '\0';
  for (const char *c = candidates + 1; *c; c++) {
    tally t = split(s, *c);
    if (!fits(&t) || !fits(&best)) {
      if (fits(&t) || (!fits(&best) && comes_nearer(&t, &best))) best = t;
      continue;
    }
    if (best.character == '\t' || doubts(&t) > doubts(&best)) continue;
    if (*c != '\t' && doubts(&t) == doubts(&best)) rival = *c;
    if (rival) break;
    best = t;
  }
  found->character = best.character;
  if (!rival) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: a %s gives each row equally many fields, and so does a %s; set delimiter to "
                 "one of them",
                 path, name_of(best.character), name_of(rival));
}

/* Removes a first line that names the delimiter from the sample. */
static bool take_said(sample *s, char *character) {
  const bool says = !ft_strncasecmp(s->text, "sep=", 4) && s->text[4] && s->text[4] != '\n' &&
                    (!s->text[5] || s->text[5] == '\n');
  if (!says) return false;
  const size_t line = s->text[5] ? 6 : 5;
  *character = s->text[4];
  s->length -= line;
  memmove(s->text, s->text + line, s->length + 1);
  return true;
}

filtra_status ft_delimiter_find(const char *path, ft_row_form form, ft_delimiter *found) {
  sample s = {.quoting = form.quoting};
  *found = (ft_delimiter){0};
  filtra_status status = read_sample(path, &s);
  if (!status) found->said = take_said(&s, &found->character);
  if (form.delimiter) found->character = form.delimiter;
  if (!status && !form.delimiter && !found->said) status = choose(&s, path, found);
  if (!status) choose_quotes(&s, found);
  free(s.text);
  return status;
}
