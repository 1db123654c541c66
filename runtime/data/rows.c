/* Reads rows of delimited text, with quotes; rows_json.c reads those of JSON Lines. Called by the
 * files of the format "table". */
#include "data/rows.h"

#include "base/path.h"
#include "data/names.h"

#include <stdlib.h>
#include <string.h>

filtra_status ft_rows_open(const char *path, ft_row_form form, ft_row_reader *rows) {
  *rows = (ft_row_reader){.quoting = form.quoting};
  rows->named = ft_stem_length(ft_path_name(path), ft_json_lines_endings) > 0;
  if (!rows->named) FT_TRY(ft_delimiter_find(path, form, &rows->delimiter));
  return ft_lines_open(path, &rows->lines);
}

void ft_rows_close(ft_row_reader *rows) {
  ft_lines_close(&rows->lines);
  free(rows->fields);
  free(rows->starts);
  free(rows->text);
  json_decref(rows->first);
  *rows = (ft_row_reader){0};
}

filtra_status ft_rows_fail(const ft_row_reader *rows, filtra_status status) {
  return ft_fail_context(status, "%s:%llu", rows->lines.path, (unsigned long long)rows->number);
}

/* ---- delimited text ---- */

/* Appends a quoted field, over several lines if needed. *at moves from the character after the
 * opening quote to the one after the closing quote. A doubled quote means one quote. */
static filtra_status read_quoted(ft_row_reader *r, const char **at) {
  for (;;) {
    size_t count = strcspn(*at, "\"");
    FT_TRY(ft_row_add(r, *at, count));
    *at += count;
    if ((*at)[0] == '"' && (*at)[1] != '"') break;
    if ((*at)[0] == '"') {
      FT_TRY(ft_row_add(r, "\"", 1));
      *at += 2;
      continue;
    }
    bool more;
    FT_TRY(ft_lines_next(&r->lines, &more));
    if (!more) return ft_fail(FILTRA_ERROR_INPUT, "a quote that is not closed%s", ft_row_advice(r));
    FT_TRY(ft_row_add(r, "\n", 1));
    *at = r->lines.line;
  }
  ++*at;
  if (r->delimiter.character != '\t') *at += strspn(*at, " ");
  if (!**at || **at == r->delimiter.character) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "'%c' behind the closing quote of field %zu%s", **at, r->count,
                 ft_row_advice(r));
}

/* The start of a quoted field, after its quote; NULL: the field is text, which may begin with a
 * quote. */
static const char *begin_quoted(const ft_row_reader *r, const char *at) {
  const char delimiter = r->delimiter.character, *quote = ft_quote_of(at, delimiter);
  bool open;
  if (!quote || r->delimiter.quotes == FT_QUOTES_NONE) return NULL;
  if (quote == at && delimiter != '\t') return quote + 1;
  if (ft_quoted_end(quote, delimiter, &open)) return quote + 1;
  return open && r->delimiter.quotes == FT_QUOTES_FULL ? quote + 1 : NULL;
}

/* Fails for a carriage return that does not end the line. */
static filtra_status check_returns(const char *line) {
  const char *first = strchr(line, '\r');
  if (!first || !first[strspn(first, "\r")]) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "a carriage return within the line; if all lines of the file end with one alone, "
                 "save it with line feeds");
}

static filtra_status read_field(ft_row_reader *r, const char **at) {
  FT_TRY(ft_row_begin_field(r));
  const char *quoted = begin_quoted(r, *at);
  if (quoted) {
    r->quoted = true;
    *at = quoted;
    return read_quoted(r, at);
  }
  const char ends[2] = {r->delimiter.character, '\0'};
  size_t count = strcspn(*at, ends);
  FT_TRY(ft_row_add(r, *at, count));
  *at += count;
  return FILTRA_OK;
}

static filtra_status read_row(ft_row_reader *r) {
  const char *at = r->lines.line;
  ft_row_begin(r);
  if (!strchr(at, '"')) FT_TRY(check_returns(at));
  for (bool more = true; more;) {
    FT_TRY(read_field(r, &at));
    more = *at == r->delimiter.character;
    at += more;
  }
  return ft_row_end(r);
}

/* ---- rows of both kinds ---- */

filtra_status ft_rows_next(ft_row_reader *r, bool *more) {
  for (bool skip = !r->again; skip;) {
    FT_TRY(ft_lines_next(&r->lines, more));
    if (!*more) return FILTRA_OK;
    skip = !r->lines.line[strspn(r->lines.line, " \t")];
    if (skip || !r->delimiter.said) continue;
    r->delimiter.said = false;
    skip = true;
  }
  *more = true;
  filtra_status status = r->named ? ft_rows_read_object(r) : read_row(r);
  return status ? ft_rows_fail(r, status) : FILTRA_OK;
}

filtra_status ft_rows_check(ft_row_reader *r, size_t wanted, bool *longer) {
  const char *advice = r->quoted ? ft_row_advice(r) : "";
  *longer = r->count > wanted && r->quoting == FILTRA_QUOTING_NONE;
  if (*longer) r->count = wanted;
  if (r->count == wanted) return FILTRA_OK;
  if (!*advice && r->count > wanted && r->delimiter.character == '\t')
    advice = "; quoting none leaves out what is beyond";
  return ft_fail(FILTRA_ERROR_INPUT, "%zu field%s where the first row has %zu%s", r->count,
                 r->count == 1 ? "" : "s", wanted, advice);
}
