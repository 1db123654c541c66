/* Draws random ListOps trees, counts how many exist, and writes their text. Called by
 * listops_generate.c. */
#include "data/listops_tree.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

filtra_status ft_listops_tree_make(const ft_listops_shape *shape, ft_listops_tree *tree) {
  tree->length = 0;
  tree->ids = ft_calloc(shape->max_length, sizeof *tree->ids);
  tree->arguments = ft_calloc(shape->max_length, sizeof *tree->arguments);
  return tree->ids && tree->arguments ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

void ft_listops_tree_free(ft_listops_tree *tree) {
  free(tree->ids);
  free(tree->arguments);
}

/* ---- drawing ---- */

/* Appends a random node at `depth`, the root being 1. Above the deepest level it is an operator
 * with probability 1/4, with 2 to max_args arguments, all numbers equally likely; else a digit.
 * False: the tree is too long. */
static bool draw_node(const ft_listops_shape *s, ft_rng *rng, uint32_t depth, ft_listops_tree *t) {
  if (t->length + 1 >= s->max_length) return false;
  bool is_operator = depth < s->max_depth && ft_rng_below(rng, 4) == 0;
  if (!is_operator) {
    t->ids[t->length++] = (int32_t)(FT_LISTOPS_DIGIT + ft_rng_below(rng, 10));
    return true;
  }
  size_t start = t->length++;
  uint64_t args = 2 + ft_rng_below(rng, s->max_args - 1);
  for (uint64_t i = 0; i < args; i++)
    if (!draw_node(s, rng, depth + 1, t)) return false;
  if (t->length + 1 >= s->max_length) return false;
  t->ids[start] = (int32_t)(FT_LISTOPS_MIN + ft_rng_below(rng, 4));
  t->ids[t->length++] = FT_LISTOPS_CLOSE;
  return true;
}

bool ft_listops_draw(const ft_listops_shape *shape, ft_rng rng, ft_listops_tree *tree) {
  tree->length = 0;
  return draw_node(shape, &rng, 1, tree) && tree->length > shape->min_length;
}

/* ---- counting ---- */

/* Largest length whose trees are counted. A longer tree has at least 22 digits, so there are over
 * 10^21. */
enum { COUNTED = 64 };

/* Counts trees by length at one level from those one level below: 10 digits; and for k arguments, 4
 * operators times the k-fold convolution, 2 tokens longer. */
static void count_level(uint32_t max_args, const double below[COUNTED + 1],
                        double here[COUNTED + 1]) {
  double power[COUNTED + 1] = {1}; /* the k-th convolution power of `below`; first k = 0 */
  memset(here, 0, (COUNTED + 1) * sizeof *here);
  here[1] = 10;
  for (uint32_t k = 1; k <= max_args && k <= COUNTED - 2; k++) {
    double next[COUNTED + 1] = {0};
    for (int a = 0; a <= COUNTED; a++)
      for (int b = 1; a + b <= COUNTED; b++)
        next[a + b] += power[a] * below[b];
    memcpy(power, next, sizeof power);
    for (int n = 1; k >= 2 && n <= COUNTED - 2; n++)
      here[n + 2] += 4 * power[n];
  }
}

uint32_t ft_listops_longest(const ft_listops_shape *shape) {
  uint64_t longest = 1;
  for (uint32_t level = 1; level < shape->max_depth && longest < UINT32_MAX; level++)
    longest = 2 + longest * shape->max_args;
  return longest < UINT32_MAX ? (uint32_t)longest : UINT32_MAX;
}

/* Whether a tree of this length exists, for lengths over COUNTED and up to the longest. With m
 * operators of c_i arguments the length is 1 + sum (c_i + 1). If all c_i are 2, lengths are 3
 * apart; with 3 or more arguments the ranges of m and m + 1 overlap from length 7 on. */
static bool long_length_exists(const ft_listops_shape *shape, uint32_t length) {
  return shape->max_args > 2 || length % 3 == 1;
}

double ft_listops_distinct(const ft_listops_shape *shape) {
  double counts[2][COUNTED + 1] = {{0, 10}}, total = 0;
  int level = 0;
  /* A tree of COUNTED tokens is at most COUNTED levels deep. */
  for (uint32_t depth = 1; depth < shape->max_depth && depth < COUNTED; depth++, level ^= 1)
    count_level(shape->max_args, counts[level], counts[level ^ 1]);
  uint32_t longest = ft_listops_longest(shape), length = shape->min_length + 1;
  for (; length < shape->max_length && length <= COUNTED; length++)
    total += counts[level][length];
  for (int i = 0; i < 3 && length < shape->max_length && length <= longest; i++, length++)
    if (long_length_exists(shape, length)) return 1e21;
  return total;
}

/* ---- text ---- */

/* Sets arguments[i] to the number of arguments of the operator at i. */
static void count_arguments(ft_listops_tree *t) {
  uint32_t open[FT_LISTOPS_MAX_DEPTH] = {0}, depth = 0;
  for (uint32_t i = 0; i < t->length; i++) {
    if (t->ids[i] == FT_LISTOPS_CLOSE) {
      depth--;
      continue;
    }
    if (depth > 0) t->arguments[open[depth - 1]]++;
    t->arguments[i] = 0;
    if (t->ids[i] >= FT_LISTOPS_MIN) open[depth++] = i;
  }
}

static char *append(char *to, const char *text) {
  while (*text)
    *to++ = *text++;
  return to;
}

/* At most 15 bytes for an operator, its bracket and the parentheses of both; 6 for a digit and its
 * own. */
size_t ft_listops_text(ft_listops_tree *t, char *text) {
  char *to = text;
  uint32_t depth = 0;
  count_arguments(t);
  for (size_t i = 0; i < t->length; i++) {
    int32_t id = t->ids[i];
    bool opens = id >= FT_LISTOPS_MIN && id != FT_LISTOPS_CLOSE;
    if (i > 0) *to++ = ' ';
    for (uint32_t k = 0; opens && k <= t->arguments[i]; k++)
      to = append(to, "( ");
    to = append(to, filtra_tokenizer_symbol(&ft_tokenizer_listops, id));
    if (opens) {
      depth++;
      continue;
    }
    if (id == FT_LISTOPS_CLOSE) {
      to = append(to, " )");
      depth--;
    }
    if (depth > 0) to = append(to, " )"); /* closes the argument that ends here */
  }
  return (size_t)(to - text);
}
