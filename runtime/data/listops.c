/* The ListOps language: evaluating, tokenizing and parsing expressions. Called by listops_tsv.c,
 * which reads files, and listops_generate.c, which writes them. */
#include "data/listops.h"

#include "base/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const symbols[FT_LISTOPS_IDS] = {"",     "0",    "1",   "2", "3",      "4",
                                                    "5",    "6",    "7",   "8", "9",      "[MIN",
                                                    "[MAX", "[MED", "[SM", "]", "[FIRST", "[LAST"};

/* ---- evaluation ---- */

static int lowest(const ft_listops_frame *f) {
  int digit = 0;
  while (!f->histogram[digit])
    digit++;
  return digit;
}

static int highest(const ft_listops_frame *f) {
  int digit = 9;
  while (!f->histogram[digit])
    digit--;
  return digit;
}

/* The argument at index `rank` in ascending order. */
static int ranked(const ft_listops_frame *f, uint32_t rank) {
  int digit = 0;
  for (uint32_t below = f->histogram[0]; below <= rank; below += f->histogram[digit])
    digit++;
  return digit;
}

/* The median; for an even count the mean of the two middle ones, truncated. */
static int median(const ft_listops_frame *f) {
  return (ranked(f, (f->count - 1) / 2) + ranked(f, f->count / 2)) / 2;
}

static int sum_modulo_10(const ft_listops_frame *f) {
  uint64_t sum = 0;
  for (uint32_t digit = 0; digit < 10; digit++)
    sum += (uint64_t)digit * f->histogram[digit];
  return (int)(sum % 10);
}

static int apply_operator(const ft_listops_frame *f) {
  switch (f->symbol) {
  case FT_LISTOPS_MIN:
    return lowest(f);
  case FT_LISTOPS_MAX:
    return highest(f);
  case FT_LISTOPS_MED:
    return median(f);
  case FT_LISTOPS_SM:
    return sum_modulo_10(f);
  case FT_LISTOPS_FIRST:
    return f->first;
  default: /* FT_LISTOPS_LAST */
    return f->last;
  }
}

static void add_argument(ft_listops_evaluator *e, int value) {
  if (e->depth == 0) {
    e->value = value;
    return;
  }
  ft_listops_frame *f = &e->frames[e->depth - 1];
  if (f->count++ == 0) f->first = (uint8_t)value;
  f->last = (uint8_t)value;
  f->histogram[value]++;
}

static filtra_status open_operator(ft_listops_evaluator *e, int32_t token, size_t column) {
  FT_TRY(FT_GROW(e->frames, e->depth, e->capacity));
  e->frames[e->depth++] = (ft_listops_frame){.column = column, .symbol = (uint8_t)token};
  return FILTRA_OK;
}

static filtra_status close_operator(ft_listops_evaluator *e, size_t column) {
  if (e->depth == 0) return ft_fail(FILTRA_ERROR_INPUT, "']' at column %zu closes nothing", column);
  const ft_listops_frame *f = &e->frames[e->depth - 1];
  if (f->count == 0)
    return ft_fail(FILTRA_ERROR_INPUT, "'%s' at column %zu has no arguments", symbols[f->symbol],
                   f->column);
  int value = apply_operator(f);
  e->depth--;
  add_argument(e, value);
  return FILTRA_OK;
}

void ft_listops_begin(ft_listops_evaluator *e) {
  e->depth = 0;
  e->value = -1;
}

filtra_status ft_listops_feed(ft_listops_evaluator *e, int32_t token, size_t column) {
  if (token == FT_LISTOPS_CLOSE && e->depth > 0) return close_operator(e, column);
  if (e->value >= 0)
    return ft_fail(FILTRA_ERROR_INPUT, "'%s' at column %zu follows a complete expression",
                   symbols[token], column);
  if (token == FT_LISTOPS_CLOSE) return close_operator(e, column);
  if (token >= FT_LISTOPS_MIN) return open_operator(e, token, column);
  add_argument(e, token - FT_LISTOPS_DIGIT);
  return FILTRA_OK;
}

filtra_status ft_listops_end(const ft_listops_evaluator *e, int *value) {
  if (e->depth > 0) {
    const ft_listops_frame *f = &e->frames[e->depth - 1];
    return ft_fail(FILTRA_ERROR_INPUT, "'%s' at column %zu is not closed", symbols[f->symbol],
                   f->column);
  }
  if (e->value < 0) return ft_fail(FILTRA_ERROR_INPUT, "the expression is empty");
  *value = e->value;
  return FILTRA_OK;
}

void ft_listops_free(ft_listops_evaluator *e) {
  free(e->frames);
  *e = (ft_listops_evaluator){0};
}

/* ---- text ---- */

/* Id of a symbol, if it is below `ids`; 0: no such symbol. Most symbols are single characters. */
static int32_t find_symbol(uint32_t ids, const char *text, size_t length) {
  if (length == 1 && *text >= '0' && *text <= '9')
    return (int32_t)(FT_LISTOPS_DIGIT + (*text - '0'));
  for (uint32_t id = FT_LISTOPS_MIN; id < ids; id++)
    if (strlen(symbols[id]) == length && !memcmp(symbols[id], text, length)) return (int32_t)id;
  return 0;
}

/* Fails and shows the symbol: at most 20 characters, '?' for unprintable ones. */
static filtra_status unknown_symbol(uint32_t ids, const char *text, size_t length, size_t column) {
  char shown[24] = "";
  for (size_t i = 0; i < length && i < 20; i++)
    shown[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
  return ft_fail(FILTRA_ERROR_INPUT,
                 "unknown symbol '%s%s' at column %zu; known are digits, [MIN [MAX [MED [SM%s ] "
                 "and parentheses, separated by spaces",
                 shown, length > 20 ? "..." : "", column,
                 ids > FT_LISTOPS_FIRST ? " [FIRST [LAST" : "");
}

/* Counts the parentheses of the binary form. False: the symbol is no parenthesis. */
static bool parenthesis(const char *text, size_t length, size_t column, size_t *open,
                        filtra_status *status) {
  if (length != 1 || (*text != '(' && *text != ')')) return false;
  *status = FILTRA_OK;
  if (*text == '(')
    ++*open;
  else if (*open > 0)
    --*open;
  else
    *status = ft_fail(FILTRA_ERROR_INPUT, "')' at column %zu closes nothing", column);
  return true;
}

filtra_status ft_listops_parse(ft_listops_evaluator *e, uint32_t ids, const char *text,
                               size_t length, ft_tokens *tokens, int *value) {
  FT_TRY(ft_tokens_reserve(tokens, length / 2 + 1)); /* each symbol has a space after it */
  ft_listops_begin(e);
  size_t open = 0;
  for (size_t at = 0; at < length;) {
    size_t start = at;
    while (at < length && !isspace((unsigned char)text[at]))
      at++;
    size_t size = at++ - start;
    filtra_status status;
    if (size == 0) continue;
    if (parenthesis(text + start, size, start + 1, &open, &status)) {
      FT_TRY(status);
      continue;
    }
    int32_t id = find_symbol(ids, text + start, size);
    if (!id) return unknown_symbol(ids, text + start, size, start + 1);
    FT_TRY(ft_listops_feed(e, id, start + 1));
    tokens->ids[tokens->count++] = id;
  }
  FT_TRY(ft_listops_end(e, value));
  if (open > 0) return ft_fail(FILTRA_ERROR_INPUT, "%zu '(' are not closed", open);
  return FILTRA_OK;
}

static filtra_status encode(const filtra_tokenizer *tokenizer, const char *text, size_t length,
                            ft_tokens *tokens) {
  ft_listops_evaluator e = {0};
  int value;
  filtra_status status = ft_listops_parse(&e, tokenizer->size, text, length, tokens, &value);
  ft_listops_free(&e);
  return status;
}

const filtra_tokenizer ft_tokenizer_listops = {"listops", symbols, FT_LISTOPS_CLOSE + 1, encode};
const filtra_tokenizer ft_tokenizer_listops_original = {"listops-original", symbols, FT_LISTOPS_IDS,
                                                        encode};
