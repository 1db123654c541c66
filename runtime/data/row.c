/* A row as it is read: its fields, one after the other. Called by rows.c and rows_json.c. */
#include "data/rows.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

const char *ft_row_advice(const ft_row_reader *r) {
  return r->quoting == FILTRA_QUOTING_FULL ? "" : "; where quotes are text, set quoting to none";
}

filtra_status ft_row_add(ft_row_reader *r, const char *bytes, size_t count) {
  if (count > FT_LINE_LIMIT - r->length)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "a row of more than %d MiB; is a quote at its start not closed?%s",
                   FT_LINE_LIMIT >> 20, ft_row_advice(r));
  size_t wanted = r->length + count;
  if (count == 0) return FILTRA_OK;
  if (wanted > r->text_capacity) {
    char *text = ft_realloc(r->text, 2 * wanted, 1);
    if (!text) return FILTRA_ERROR_HOST_MEMORY;
    r->text = text;
    r->text_capacity = 2 * wanted;
  }
  memcpy(r->text + r->length, bytes, count);
  r->length += count;
  return FILTRA_OK;
}

void ft_row_begin(ft_row_reader *r) {
  r->number = r->lines.number;
  r->length = r->count = 0;
  r->quoted = false;
}

filtra_status ft_row_begin_field(ft_row_reader *r) {
  if (r->count) FT_TRY(ft_row_add(r, "", 1));
  FT_TRY(FT_GROW(r->starts, r->count, r->starts_capacity));
  r->starts[r->count++] = r->length;
  return FILTRA_OK;
}

/* Fields have addresses only now: appending may have moved the text. */
filtra_status ft_row_end(ft_row_reader *r) {
  FT_TRY(ft_row_add(r, "", 1));
  if (r->count > r->capacity) {
    const char **fields = ft_realloc((void *)r->fields, r->count, sizeof *fields);
    if (!fields) return FILTRA_ERROR_HOST_MEMORY;
    r->fields = fields;
    r->capacity = r->count;
  }
  for (size_t i = 0; i < r->count; i++)
    r->fields[i] = r->text + r->starts[i];
  return FILTRA_OK;
}
