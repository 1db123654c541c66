/* Builds attention, GFSA or p-Laplacian attention alone, forward and backward, for the tuner.
 * Called by ops/trials.c. */
#include "ops/attention_problem.h"
#include "ops/trial.h"

#include <filtra/ops.h>
#include <math.h>

static filtra_tensor *heads_input(ft_trial *t, const char *name, const ft_attention_problem *p,
                                  int64_t tokens, int64_t columns) {
  filtra_tensor *x = ft_trial_input(t, name, (filtra_dtype)p->type, 3,
                                    (int64_t[]){p->batches, tokens, p->heads * columns});
  if (!x) return NULL;
  filtra_graph_require_gradient(t->graph, x);
  return x;
}

/* Converts x to F32, to compare it with the reference. */
static filtra_tensor *as_floats(filtra_graph *g, filtra_tensor *x) {
  return filtra_tensor_dtype(x) == FILTRA_F32 ? x : filtra_cast(g, x, FILTRA_F32);
}

/* Builds forward and backward pass: a tiling is chosen for both. */
void ft_attention_build_trial(ft_trial *t, const ft_tuning_question *question, bool odd) {
  ft_attention_problem p = ft_attention_problem_of(question);
  if (odd) {
    const bool same = p.queries == p.keys;
    p.batches = 1;
    p.heads = p.heads < 2 ? p.heads : 2;
    p.queries = p.queries < 77 ? p.queries : 77;
    p.keys = same ? p.queries : p.keys < 93 ? p.keys : 93;
    if (p.keys < p.queries) p.queries = p.keys;
  }
  /* Sums in another order may round differently, in y and in everything computed from it. */
  const int bits = p.type == FILTRA_F16 ? 11 : p.type == FILTRA_BF16 ? 8 : 0;
  t->rounding = bits ? ldexp(8, -bits) : 0;
  filtra_graph *g = t->graph;
  filtra_tensor *q = heads_input(t, "q", &p, p.queries, p.columns);
  filtra_tensor *k = heads_input(t, "k", &p, p.keys, p.columns);
  filtra_tensor *v = heads_input(t, "v", &p, p.keys, p.value_columns);
  filtra_attention_options o = {.causal = p.causal, .dropout = (float)p.dropout * 1e-6f};
  if (p.masked) o.mask = ft_trial_input(t, "mask", FILTRA_F32, 2, (int64_t[]){p.batches, p.keys});
  if (p.biased) o.bias = ft_trial_input(t, "bias", FILTRA_F32, 2, (int64_t[]){p.queries, p.keys});
  const filtra_gfsa_options filter = {.attention = o, .w0 = 0.5f, .wK = 0.5f};
  const filtra_plaplacian_options norms = {.attention = o};
  filtra_tensor *heads[] = {filtra_split_heads(g, q, p.heads), filtra_split_heads(g, k, p.heads),
                            filtra_split_heads(g, v, p.heads)};
  filtra_tensor *y = p.op == FT_PROBLEM_GFSA
                         ? filtra_gfsa(g, heads[0], heads[1], heads[2], NULL, NULL, NULL, &filter)
                     : p.op == FT_PROBLEM_PLAPLACIAN
                         ? filtra_plaplacian(g, heads[0], heads[1], heads[2], &norms)
                         : filtra_attention(g, heads[0], heads[1], heads[2], &o);
  y = as_floats(g, filtra_merge_heads(g, y));
  filtra_tensor *dy = ft_trial_input(t, "dy", FILTRA_F32, 3,
                                     (int64_t[]){p.batches, p.queries, p.heads * p.value_columns});
  if (!y || !dy || filtra_graph_backward(g, 1, &y, &dy)) return;
  ft_trial_output(t, y);
  filtra_tensor *const wanted[] = {q, k, v};
  for (size_t i = 0; i < FT_COUNT(wanted); i++)
    ft_trial_output(t, as_floats(g, filtra_graph_gradient(g, wanted[i])));
}
