/* Random ListOps trees: drawing, counting and their text. */
#ifndef FT_DATA_LISTOPS_TREE_H
#define FT_DATA_LISTOPS_TREE_H

#include "base/rng.h"
#include "data/listops.h"

enum { FT_LISTOPS_MAX_DEPTH = 64 };

/** The distribution, and the accepted lengths: min_length < length < max_length. */
typedef struct ft_listops_shape {
  uint32_t min_length, max_length, max_depth, max_args;
} ft_listops_shape;

/** A tree as tokens, without the binary form's parentheses. */
typedef struct ft_listops_tree {
  int32_t *ids;        /* room for max_length */
  uint32_t *arguments; /* room for max_length; scratch of ft_listops_text */
  size_t length;
} ft_listops_tree;

filtra_status ft_listops_tree_make(const ft_listops_shape *shape, ft_listops_tree *tree);
void ft_listops_tree_free(ft_listops_tree *tree);

/** Draws a tree. False: its length is out of bounds. */
bool ft_listops_draw(const ft_listops_shape *shape, ft_rng rng, ft_listops_tree *tree);

/** Number of distinct trees within bounds; exact below 2^53, else some larger number. */
double ft_listops_distinct(const ft_listops_shape *shape);
/** Length of the longest possible tree; UINT32_MAX if it is longer than that. */
uint32_t ft_listops_longest(const ft_listops_shape *shape);

enum { FT_LISTOPS_TEXT = 8 }; /* most bytes of text per token */
/** Writes the fully left-nested binary form, [MAX 2 9 ] as ( ( ( [MAX 2 ) 9 ) ] ), and returns its
 * length. `text` needs FT_LISTOPS_TEXT * (length + 1) bytes. */
size_t ft_listops_text(ft_listops_tree *tree, char *text);

#endif
