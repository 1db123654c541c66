/* cosFormer (Qin et al. 2022): weights max(q, 0) . max(k, 0) cos(pi/2 (n - m)/M), which Ptolemy's
 * theorem separates into features of n and of m; O(n d^2). M is the model's max_length, so that a
 * token's weight depends on its distance only. */
#include "nn/feature_attention.h"
#include "nn/mixer.h"

struct cosformer_options {
  float eps;
};

static const ft_key KEYS[] = {
    FT_FLOAT_KEY(struct cosformer_options, eps, "eps", 1e-6, 1e-12, 1.0,
                 "Added to the sum of the weights; the authors take the larger of the two."),
};

static const float QUARTER_TURN = 1.57079632679f;

/* Angles pi/2 n/M of the tokens, counted from 1: [1,1,N,1]. In a DECODE pass that of the new token,
 * [B,1,1,1]: the mask then covers all tokens so far. */
static filtra_tensor *angles(const ft_scope *scope, const filtra_mixer_input *in) {
  filtra_graph *g = scope->graph;
  bool decode = filtra_scope_pass(scope) == FILTRA_PASS_DECODE;
  if (!ft_usable(g, in->x)) return NULL;
  const int64_t tokens = in->x->shape[1], batch = in->x->shape[0];
  filtra_tensor *number =
      decode ? filtra_sum(g, in->mask, 1, FILTRA_DROP_AXIS) : ft_counting(g, tokens);
  number = filtra_affine(g, number, QUARTER_TURN / (float)in->max_length, 0.0f);
  return filtra_reshape(g, number, 4, (int64_t[]){decode ? batch : 1, 1, tokens, 1});
}

/* max(x, 0), dense. */
static filtra_tensor *positive(filtra_graph *g, filtra_tensor *heads) {
  return filtra_activate(g, ft_dense_heads(g, heads), FILTRA_ACTIVATION_RELU);
}

/* [B,H,N,2D]: x times the cosines of the angles, then times their sines. */
static filtra_tensor *features(filtra_graph *g, filtra_tensor *x, filtra_tensor *angle) {
  filtra_tensor *cosine =
      filtra_activate(g, filtra_affine(g, angle, 1.0f, QUARTER_TURN), FILTRA_ACTIVATION_SIN);
  filtra_tensor *sine = filtra_activate(g, angle, FILTRA_ACTIVATION_SIN);
  return filtra_concat(
      g, 3, 2, (filtra_tensor *[]){filtra_multiply(g, x, cosine), filtra_multiply(g, x, sine)});
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct cosformer_options *o = options;
  filtra_graph *g = scope->graph;
  filtra_tensor *qkv[3], *angle = angles(scope, in);
  filtra_mixer_qkv(scope, in, qkv);
  filtra_tensor *q = features(g, positive(g, qkv[0]), angle);
  filtra_tensor *k = features(g, ft_mask_heads(scope, in, positive(g, qkv[1])), angle);
  filtra_tensor *y = ft_feature_attention(scope, in, q, k, qkv[2], o->eps);
  return filtra_mixer_output(scope, in, ft_join_heads(g, y));
}

const ft_mixer_class ft_mixer_cosformer = {
    .name = "cosformer",
    .description = "linear attention weighed by a cosine of distances (Qin et al. 2022)",
    .options_size = sizeof(struct cosformer_options),
    .keys = FT_KEYS(KEYS),
    .narrow = true,
    .build = build};
