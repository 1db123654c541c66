/* p-Laplacian attention (p-LaT): attention whose weights depend on how far apart two tokens' values
 * are, stronger between near ones for p < 2, between far ones for p > 2. */
#include "nn/mixer.h"
#include "nn/past.h"

struct plaplacian_options {
  ft_json_floats p;
  float eps;
  int diagonal;
  bool euler, symmetric;
  float dropout;
};

/* The paper's: half of the heads each. */
static const float DEFAULT_P[] = {1.5f, 2.5f, 0};
static const char *const DIAGONALS[] = {"eps", "zero", "one", NULL};

static const ft_json_field FIELDS[] = {
    FT_JSON_FLOATS_FIELD(struct plaplacian_options, p, "p", DEFAULT_P, 1.0, 10.0),
    FT_JSON_FLOAT_FIELD(struct plaplacian_options, eps, "eps", 1e-3, 1e-12, 1e6),
    FT_JSON_ENUM_FIELD(struct plaplacian_options, diagonal, "diagonal", FILTRA_DIAGONAL_EPS,
                       DIAGONALS),
    FT_JSON_BOOL_FIELD(struct plaplacian_options, euler, "euler", false),
    FT_JSON_BOOL_FIELD(struct plaplacian_options, symmetric, "symmetric", false),
    FT_JSON_FLOAT_FIELD(struct plaplacian_options, dropout, "attention_dropout", 0.0, 0.0, 0.999),
};

/* p of each head from a list of one number, of two for the halves, or of one for each head. */
static bool spread(filtra_graph *g, const ft_json_floats *list, int64_t heads,
                   float p[FT_JSON_MAX_FLOATS]) {
  if (heads > FT_JSON_MAX_FLOATS || (list->count > 2 && list->count != heads)) {
    ft_graph_fail(
        g, FILTRA_ERROR_INPUT,
        "mixer \"plaplacian\": \"p\" has %lld numbers for %lld heads; accepted are one, two "
        "for the halves, or one for each of at most %d heads",
        (long long)list->count, (long long)heads, FT_JSON_MAX_FLOATS);
    return false;
  }
  for (int64_t h = 0; h < heads; h++)
    p[h] = list->values[list->count == heads ? h : list->count == 2 && h >= (heads + 1) / 2];
  return true;
}

/* W_Q = W_K: the scores are symmetric, as those of the paper's nonlocal functional are. One layer
 * makes what both are, so that its gradient is the sum of theirs. */
static void project_shared(const ft_scope *scope, const filtra_mixer_input *in, filtra_dtype dtype,
                           filtra_tensor *qkv[3]) {
  filtra_graph *g = scope->graph;
  const filtra_linear_options options = {.dtype = dtype};
  filtra_tensor *kv[2];
  filtra_chunk(g, filtra_scope_linear(scope, "kv", in->x, 2 * ft_columns(in->x), &options), 2, kv);
  ft_observe(scope, "query", kv[0]);
  ft_observe(scope, "key", kv[0]);
  ft_observe(scope, "value", kv[1]);
  qkv[0] = qkv[1] = filtra_split_heads(g, kv[0], in->heads);
  qkv[2] = filtra_split_heads(g, kv[1], in->heads);
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct plaplacian_options *o = options;
  filtra_graph *g = scope->graph;
  float p[FT_JSON_MAX_FLOATS];
  if (!ft_usable(g, in->x) || !spread(g, &o->p, in->heads, p)) return NULL;
  filtra_tensor *qkv[3];
  (o->symmetric ? project_shared : ft_mixer_qkv)(scope, in, ft_mixer_precision(scope), qkv);
  filtra_plaplacian_options norms = {
      .attention = {.mask = in->mask, .dropout = o->dropout, .causal = in->causal},
      .p = p,
      .eps = o->eps,
      .diagonal = (filtra_diagonal)o->diagonal,
      .euler = o->euler};
  filtra_tensor *y = filtra_plaplacian(g, qkv[0], filtra_scope_keep(scope, "k", qkv[1]),
                                       filtra_scope_keep(scope, "v", qkv[2]), &norms);
  return filtra_mixer_output(scope, in, y);
}

const ft_mixer_class ft_mixer_plaplacian = {
    .name = "plaplacian",
    .description = "attention whose weights depend on the distance of values (Nguyen et al. 2023)",
    .options_size = sizeof(struct plaplacian_options),
    .fields = FIELDS,
    .field_count = FT_COUNT(FIELDS),
    .narrow = true,
    .build = build};
