/* Paramixer (Yu et al. 2022): X' = W_1 .. W_M g(X), a product of M = log2 N sparse matrices that
 * link each token to those 0, 1, 2, 4, .. further in a ring (CHORD), with entries that an MLP
 * computes from each token; O(n d log^2 n). */
#include "nn/feature_attention.h"
#include "nn/mixer.h"
#include "ops/chord.h"

struct paramixer_options {
  int64_t hidden;
  bool residual;
};

static const ft_key KEYS[] = {
    FT_INT_KEY(struct paramixer_options, hidden, "hidden", 0, 0, 4096,
               "Hidden width of each MLP. 0: the model's width.", .usual = "width"),
    FT_BOOL_KEY(struct paramixer_options, residual, "residual", true,
                "Each factor adds what it is applied to, as in the authors' code."),
};

/* The least M with 2^M >= length. */
static int64_t factors_for(int64_t length) {
  int64_t factors = 1;
  while (((int64_t)1 << factors) < length)
    factors++;
  return factors;
}

/* The entries of all factors, [M,B,N,M+1]. */
static filtra_tensor *links(const ft_scope *scope, const filtra_mixer_input *in, int64_t factors,
                            int64_t hidden) {
  filtra_graph *g = scope->graph;
  const int64_t shape[] = {factors, in->x->shape[0], in->x->shape[1], factors + 1};
  filtra_tensor *h =
      filtra_scope_linear(scope, "links.1", in->x, factors * hidden,
                          &(filtra_linear_options){.activation = FILTRA_ACTIVATION_GELU});
  h = ft_dense_heads(g, filtra_split_heads(g, h, factors));
  return filtra_reshape(g, ft_group_linear(scope, "links.2", h, factors + 1), 4, shape);
}

/* Factor m of the entries: [B,N,M+1]. */
static filtra_tensor *factor(filtra_graph *g, filtra_tensor *all, int64_t m) {
  if (!ft_usable(g, all)) return NULL;
  const int64_t *s = all->shape, box[] = {1, s[1], s[2], s[3]};
  return filtra_reshape(g, filtra_slice(g, all, (int64_t[]){m, 0, 0, 0}, box), 3, s + 1);
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct paramixer_options *o = options;
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, in->x)) return NULL;
  const int64_t width = ft_columns(in->x), hidden = o->hidden ? o->hidden : width;
  const int64_t factors = factors_for(in->max_length);
  filtra_tensor *w = links(scope, in, factors, hidden);
  filtra_tensor *lengths = filtra_sum(g, in->mask, 1, FILTRA_DROP_AXIS);
  filtra_tensor *y =
      filtra_scope_linear(scope, "values.1", in->x, hidden,
                          &(filtra_linear_options){.activation = FILTRA_ACTIVATION_GELU});
  y = filtra_scope_linear(scope, "values.2", y, width, NULL);
  ft_observe(scope, "value", y);
  for (int64_t m = factors; m-- > 0;) {
    filtra_tensor *mixed = ft_chord(g, factor(g, w, m), y, lengths);
    y = o->residual ? filtra_add(g, y, mixed) : mixed;
  }
  ft_observe(scope, "mixed", y);
  y = filtra_dropout(g, y, in->dropout);
  return in->residual ? filtra_add(g, in->residual, y) : y;
}

const ft_mixer_class ft_mixer_paramixer = {
    .name = "paramixer",
    .description = "a product of sparse matrices over a ring of links (Yu et al. 2022)",
    .options_size = sizeof(struct paramixer_options),
    .keys = FT_KEYS(KEYS),
    .not_causal = "its links go on from a sequence's end to its beginning",
    .narrow = true,
    .build = build};
