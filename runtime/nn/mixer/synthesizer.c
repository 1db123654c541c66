/* Synthesizer (Tay et al. 2021): attention whose scores are no products of tokens. Dense: two maps
 * make a token's scores of all positions; random: scores are learned for pairs of positions; both
 * also factorized. */
#include "nn/feature_attention.h"
#include "nn/mixer.h"
#include "nn/past.h"

#include <math.h>
#include <string.h>

typedef enum variant { DENSE, RANDOM, FACTORIZED_DENSE, FACTORIZED_RANDOM } variant;

struct synthesizer_options {
  int variant;
  int64_t hidden, rows, rank;
  bool fixed;
  float dropout;
};

static const char *const VARIANTS[] = {"dense", "random", "factorized_dense", "factorized_random",
                                       NULL};

static const ft_key KEYS[] = {
    FT_ENUM_KEY(struct synthesizer_options, variant, "variant", DENSE, VARIANTS,
                "Where scores come from: a token's features, or its position."),
    FT_INT_KEY(struct synthesizer_options, hidden, "hidden", 0, 0, 127,
               "Hidden width of dense scores, for each head. 0: the head's width, at most 127.",
               .usual = "the head's width"),
    FT_INT_KEY(struct synthesizer_options, rows, "a", 0, 0, 65536,
               "Scores of factorized_dense are products of a numbers with max_length / a others, "
               "rounded up. 0: the root of max_length, rounded up.",
               .usual = "the root of max_length"),
    FT_INT_KEY(struct synthesizer_options, rank, "k", 8, 1, 128,
               "Rank of the scores of factorized_random."),
    FT_BOOL_KEY(struct synthesizer_options, fixed, "fixed", false,
                "Random scores stay as they are drawn."),
    FT_FLOAT_KEY(struct synthesizer_options, dropout, "attention_dropout", 0.0, 0.0, 0.999,
                 "Dropout rate on the attention weights."),
};

static const char *idle(const void *options, const char *name) {
  const struct synthesizer_options *o = options;
  const bool random = o->variant == RANDOM || o->variant == FACTORIZED_RANDOM;
  if (!strcmp(name, "hidden") && random) return "where scores are random";
  if (!strcmp(name, "fixed") && !random) return "where scores are dense";
  if (!strcmp(name, "a") && o->variant != FACTORIZED_DENSE)
    return "with a \"variant\" other than factorized_dense";
  if (!strcmp(name, "k") && o->variant != FACTORIZED_RANDOM)
    return "with a \"variant\" other than factorized_random";
  return NULL;
}

/* State of a build, with the sizes of this graph. */
typedef struct synthesis {
  const ft_scope *scope;
  const struct synthesizer_options *options;
  const filtra_mixer_input *in;
  int64_t batch, heads, queries, keys, width;
} synthesis;

static bool decodes(const synthesis *s) {
  return filtra_scope_pass(s->scope) == FILTRA_PASS_DECODE;
}

/* ---- parameters of heads and positions ---- */

/* Rows of the queries: the first ones of w [H,L,..], or that of the new token's position ->
 * [B or 1,H,queries,..]. */
static filtra_tensor *query_rows(const synthesis *s, filtra_tensor *w) {
  filtra_graph *g = s->scope->graph;
  if (!ft_usable(g, w)) return NULL;
  const int64_t columns = w->shape[2], size[] = {s->heads, s->queries, columns};
  if (decodes(s)) {
    w = filtra_gather(g, w, 1, s->scope->past->position);
    return filtra_reshape(g, filtra_transpose(g, w, 0, 1), 4,
                          (int64_t[]){s->batch, s->heads, 1, columns});
  }
  w = filtra_slice(g, w, (int64_t[]){0, 0, 0}, size);
  return filtra_reshape(g, w, 4, (int64_t[]){1, s->heads, s->queries, columns});
}

/* [1,H,N,F] -> [B,H,N,F]. */
static filtra_tensor *for_all(const synthesis *s, filtra_tensor *x) {
  const int64_t each[] = {s->batch, 1, 1, 1};
  return filtra_add(s->scope->graph, x, filtra_constant(s->scope->graph, 4, each, 0.0f));
}

/* Rows of the keys: the first rows of w [H,L,..]; a new token's row comes last, as in the kept
 * values -> [B,H,keys,..]. */
static filtra_tensor *key_rows(const synthesis *s, filtra_tensor *w) {
  filtra_graph *g = s->scope->graph;
  if (!ft_usable(g, w)) return NULL;
  const int64_t kept = s->keys - decodes(s), columns = w->shape[2];
  filtra_tensor *last = decodes(s) ? query_rows(s, w) : NULL;
  if (!kept) return last;
  w = filtra_slice(g, w, (int64_t[]){0, 0, 0}, (int64_t[]){s->heads, kept, columns});
  w = for_all(s, filtra_reshape(g, w, 4, (int64_t[]){1, s->heads, kept, columns}));
  return last ? filtra_concat(g, 2, 2, (filtra_tensor *[]){w, last}) : w;
}

/* The column of the new token of scores [B,H,1,L] -> [B,H,1,1]: a column at distance d has weight
 * max(0, 1 - |d|). */
static filtra_tensor *own_column(const synthesis *s, filtra_tensor *scores) {
  filtra_graph *g = s->scope->graph;
  if (!ft_usable(g, scores)) return NULL;
  const int64_t longest = scores->shape[3], row[] = {1, 1, 1, longest},
                each[] = {s->batch, 1, 1, 1};
  filtra_tensor *number = filtra_reshape(g, ft_counting(g, longest), 4, row);
  filtra_tensor *own = filtra_sum(g, s->in->mask, 1, FILTRA_DROP_AXIS);
  filtra_tensor *d = filtra_subtract(g, number, filtra_reshape(g, own, 4, each));
  filtra_tensor *apart =
      filtra_add(g, filtra_activate(g, d, FILTRA_ACTIVATION_RELU),
                 filtra_activate(g, filtra_affine(g, d, -1.0f, 0.0f), FILTRA_ACTIVATION_RELU));
  filtra_tensor *share =
      filtra_activate(g, filtra_affine(g, apart, -1.0f, 1.0f), FILTRA_ACTIVATION_RELU);
  return filtra_sum(g, filtra_multiply(g, scores, share), 3, FILTRA_KEEP_AXIS);
}

/* The keys' columns of scores [B or 1,H,queries,L], in the order of key_rows. */
static filtra_tensor *key_columns(const synthesis *s, filtra_tensor *scores) {
  filtra_graph *g = s->scope->graph;
  if (!ft_usable(g, scores)) return NULL;
  const int64_t box[] = {scores->shape[0], s->heads, s->queries, s->keys - decodes(s)};
  filtra_tensor *last = decodes(s) ? own_column(s, scores) : NULL;
  if (!box[3]) return last;
  scores = filtra_slice(g, scores, (int64_t[]){0, 0, 0, 0}, box);
  return last ? filtra_concat(g, 3, 2, (filtra_tensor *[]){scores, last}) : scores;
}

/* ---- scores ---- */

/* The first of the two maps, for `sets` sets of scores: [B, sets H, queries, hidden]. */
static filtra_tensor *hidden(const synthesis *s, int64_t width, int64_t sets) {
  filtra_tensor *x =
      filtra_scope_linear(s->scope, "hidden", s->in->x, sets * s->heads * width,
                          &(filtra_linear_options){.activation = FILTRA_ACTIVATION_RELU});
  return ft_dense_heads(s->scope->graph, filtra_split_heads(s->scope->graph, x, sets * s->heads));
}

static int64_t hidden_width(const synthesis *s) {
  const int64_t usual = s->width / s->heads;
  return s->options->hidden ? s->options->hidden : usual < 127 ? usual : 127;
}

/* Dense scores: the second map has a row for each key, with the bias as an additional column. */
static filtra_tensor *dense(const synthesis *s, filtra_tensor *v, filtra_attention_options *a) {
  filtra_graph *g = s->scope->graph;
  const int64_t width = hidden_width(s), longest = s->in->max_length;
  const filtra_parameter_options weight = ft_scope_matrix(s->scope, width);
  filtra_tensor *h = hidden(s, width, 1);
  filtra_tensor *w = filtra_scope_parameter(s->scope, "scores.weight", 3,
                                            (int64_t[]){s->heads, longest, width}, &weight);
  const filtra_parameter_options bias = ft_scope_bias(s->scope, width);
  const int64_t biases = s->heads * longest;
  filtra_tensor *b = filtra_scope_parameter(s->scope, "scores.bias", 1, &biases, &bias);
  b = filtra_reshape(g, b, 3, (int64_t[]){s->heads, longest, 1});
  filtra_tensor *one = filtra_constant(g, 4, (int64_t[]){s->batch, s->heads, s->queries, 1}, 1.0f);
  filtra_tensor *q = filtra_concat(g, 3, 2, (filtra_tensor *[]){h, one});
  filtra_tensor *k = filtra_concat(g, 2, 2, (filtra_tensor *[]){w, b});
  a->scale = 1.0f;
  return filtra_attention(g, q, key_rows(s, k), v, a);
}

/* Scores [B,H,queries,keys]: key i b + j gets the product of the i-th of a numbers and the j-th of
 * b numbers: the paper's two tilings must differ in this way to reach all keys. */
static filtra_tensor *outer_products(const synthesis *s) {
  filtra_graph *g = s->scope->graph;
  const int64_t longest = s->in->max_length, width = hidden_width(s);
  const int64_t a = s->options->rows ? s->options->rows : (int64_t)ceil(sqrt((double)longest));
  const int64_t b = (longest + a - 1) / a, rows = s->heads * s->batch * s->queries;
  filtra_tensor *h = hidden(s, width, 2);
  if (!ft_usable(g, h)) return NULL;
  const int64_t half[] = {s->batch, s->heads, s->queries, width};
  filtra_tensor *first = filtra_slice(g, h, (int64_t[]){0, 0, 0, 0}, half);
  filtra_tensor *other = filtra_slice(g, h, (int64_t[]){0, s->heads, 0, 0}, half);
  first =
      filtra_reshape(g, ft_group_linear(s->scope, "rows", first, a), 3, (int64_t[]){rows, a, 1});
  other =
      filtra_reshape(g, ft_group_linear(s->scope, "columns", other, b), 3, (int64_t[]){rows, 1, b});
  filtra_tensor *scores = filtra_reshape(g, filtra_multiply(g, first, other), 4,
                                         (int64_t[]){s->heads, s->batch, s->queries, a * b});
  return key_columns(s, filtra_transpose(g, scores, 0, 1));
}

/* Numbers of each head and position, drawn so that scores have variance 1. */
static filtra_tensor *drawn(const synthesis *s, const char *name, int64_t columns, float spread) {
  return filtra_scope_parameter(
      s->scope, name, 3, (int64_t[]){s->heads, s->in->max_length, columns},
      &(filtra_parameter_options){
          .init = FILTRA_INIT_NORMAL, .value = spread, .buffer = s->options->fixed});
}

/* Attention by given scores: q k^T is 0. */
static filtra_tensor *by_scores(const synthesis *s, filtra_tensor *scores, filtra_tensor *v,
                                filtra_attention_options *a) {
  filtra_graph *g = s->scope->graph;
  filtra_tensor *q = filtra_constant(g, 4, (int64_t[]){s->batch, s->heads, s->queries, 1}, 0.0f);
  filtra_tensor *k = filtra_constant(g, 4, (int64_t[]){s->batch, s->heads, s->keys, 1}, 0.0f);
  a->bias = scores;
  return filtra_attention(g, q, k, v, a);
}

static filtra_tensor *random_scores(const synthesis *s) {
  filtra_tensor *r = key_columns(s, query_rows(s, drawn(s, "scores", s->in->max_length, 1.0f)));
  if (decodes(s) || !ft_usable(s->scope->graph, r)) return r;
  return filtra_reshape(s->scope->graph, r, 3, r->shape + 1);
}

static filtra_tensor *factorized_random(const synthesis *s, filtra_tensor *v,
                                        filtra_attention_options *a) {
  const int64_t rank = s->options->rank;
  const float spread = 1.0f / sqrtf(sqrtf((float)rank));
  filtra_tensor *q = query_rows(s, drawn(s, "scores.1", rank, spread));
  filtra_tensor *k = key_rows(s, drawn(s, "scores.2", rank, spread));
  a->scale = 1.0f;
  return filtra_attention(s->scope->graph, decodes(s) ? q : for_all(s, q), k, v, a);
}

static filtra_tensor *attend(const synthesis *s, filtra_tensor *v, filtra_attention_options *a) {
  switch ((variant)s->options->variant) {
  case DENSE:
    return dense(s, v, a);
  case RANDOM:
    return by_scores(s, random_scores(s), v, a);
  case FACTORIZED_DENSE:
    return by_scores(s, outer_products(s), v, a);
  case FACTORIZED_RANDOM:
    return factorized_random(s, v, a);
  }
  return NULL;
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct synthesizer_options *o = options;
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, in->x)) return NULL;
  filtra_tensor *v = filtra_scope_linear(scope, "value", in->x, ft_columns(in->x), NULL);
  ft_observe(scope, "value", v);
  v = filtra_scope_keep(scope, "v", filtra_split_heads(g, v, in->heads));
  if (!ft_usable(g, v)) return NULL;
  const synthesis s = {
      scope, o, in, in->x->shape[0], in->heads, in->x->shape[1], v->shape[2], ft_columns(in->x)};
  if (s.keys > in->max_length)
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "mixer \"synthesizer\": %lld tokens, its scores are for %lld",
                         (long long)s.keys, (long long)in->max_length);
  filtra_attention_options a = {.mask = in->mask, .dropout = o->dropout, .causal = in->causal};
  return filtra_mixer_output(scope, in, attend(&s, v, &a));
}

const ft_mixer_class ft_mixer_synthesizer = {
    .name = "synthesizer",
    .description =
        "attention with scores of a token's features or position alone (Tay et al. 2021)",
    .options_size = sizeof(struct synthesizer_options),
    .keys = FT_KEYS(KEYS),
    .idle = idle,
    .narrow = true,
    .build = build};
