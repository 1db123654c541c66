/* The language of ListOps (Nangia & Bowman 2018, "ListOps: A diagnostic dataset for latent tree
 * learning"): prefix operators over digits, [MAX 2 9 [MIN 4 7 ] 0 ]. */
#ifndef FT_DATA_LISTOPS_H
#define FT_DATA_LISTOPS_H

#include "data/tokenizer.h"

/* Token ids. Long Range Arena uses those up to FT_LISTOPS_CLOSE. */
enum {
  FT_LISTOPS_DIGIT = 1, /* digit d has id FT_LISTOPS_DIGIT + d */
  FT_LISTOPS_MIN = 11,
  FT_LISTOPS_MAX,
  FT_LISTOPS_MED,
  FT_LISTOPS_SM,
  FT_LISTOPS_CLOSE,
  FT_LISTOPS_FIRST,
  FT_LISTOPS_LAST,
  FT_LISTOPS_IDS,
};

/** An open operator and its arguments so far. Arguments are digits, so their histogram, the first
 * and the last are all that any operator needs. */
typedef struct ft_listops_frame {
  size_t column; /* of the operator in the text, counted from 1 */
  uint32_t count, histogram[10];
  uint8_t symbol, first, last;
} ft_listops_frame;

/** Evaluates token by token. Reusable, so that a file of expressions needs one stack. */
typedef struct ft_listops_evaluator {
  ft_listops_frame *frames; /* the open operators, outermost first */
  size_t depth, capacity;
  int value; /* of the complete expression; -1: not complete */
} ft_listops_evaluator;

void ft_listops_begin(ft_listops_evaluator *e);
/** Fails with INPUT, naming `column`, if the token is not allowed here. */
filtra_status ft_listops_feed(ft_listops_evaluator *e, int32_t token, size_t column);
/** Fails with INPUT if the expression is empty or incomplete; else *value is 0 to 9. */
filtra_status ft_listops_end(const ft_listops_evaluator *e, int *value);
void ft_listops_free(ft_listops_evaluator *e);

/** Parses and evaluates an expression, with or without the binary form's parentheses; appends its
 * ids. Accepts symbols with ids below `ids` only. */
filtra_status ft_listops_parse(ft_listops_evaluator *e, uint32_t ids, const char *text,
                               size_t length, ft_tokens *tokens, int *value);

#endif
