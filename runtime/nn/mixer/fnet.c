/* FNet (Lee-Thorp et al. 2021): the real part of the two-dimensional Fourier transform over tokens
 * and channels of a sequence. There are no parameters and no heads. */
#include "nn/feature_attention.h"
#include "nn/mixer.h"

struct fnet_options {
  bool orthonormal;
};

static const ft_key KEYS[] = {
    FT_BOOL_KEY(
        struct fnet_options, orthonormal, "orthonormal", true,
        "Divide the transform by sqrt(N width), so that it is as large as X. The authors do "
        "not, and then only `norm` post makes sense."),
};

/* Length of each sequence, [B]: the position of its last real token, counted from 1. */
static filtra_tensor *lengths(filtra_graph *g, filtra_tensor *mask) {
  if (!ft_usable(g, mask)) return NULL;
  filtra_tensor *places = filtra_multiply(g, mask, ft_counting(g, mask->shape[1]));
  return filtra_max(g, places, 1, FILTRA_DROP_AXIS);
}

/* F_C x = u - i w over channels; Re F_N (u - i w) = cosine transform of u - sine transform of w. */
static filtra_tensor *transform(filtra_graph *g, filtra_tensor *x, filtra_tensor *length) {
  filtra_tensor *columns = filtra_transpose(g, x, 1, 2);
  filtra_tensor *u = filtra_transpose(g, filtra_fourier(g, columns, NULL, NULL), 1, 2);
  filtra_tensor *w = filtra_transpose(g, filtra_fourier(g, NULL, columns, NULL), 1, 2);
  return filtra_fourier(g, u, filtra_affine(g, w, -1.0f, 0.0f), length);
}

/* y / sqrt(L C), which is no larger than x; an empty sequence counts as one token. */
static filtra_tensor *scaled(filtra_graph *g, filtra_tensor *y, filtra_tensor *length) {
  if (!ft_usable(g, y) || !ft_usable(g, length)) return NULL;
  const int64_t batch[] = {y->shape[0], 1, 1};
  const float width = (float)y->shape[2];
  filtra_tensor *more =
      filtra_activate(g, filtra_affine(g, length, 1.0f, -1.0f), FILTRA_ACTIVATION_RELU);
  filtra_tensor *elements = filtra_affine(g, more, width, width);
  filtra_tensor *root = filtra_activate(g, elements, FILTRA_ACTIVATION_SQRT);
  filtra_tensor *factor = filtra_activate(g, root, FILTRA_ACTIVATION_RECIPROCAL);
  return filtra_multiply(g, y, filtra_reshape(g, factor, 3, batch));
}

static filtra_tensor *build(const ft_scope *scope, const void *options,
                            const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct fnet_options *o = options;
  filtra_graph *g = scope->graph;
  filtra_tensor *x = filtra_mask_tokens(g, in->x, in->mask), *length = lengths(g, in->mask);
  if (!ft_usable(g, x)) return NULL;
  ft_observe(scope, "value", x);
  filtra_tensor *y = transform(g, x, length);
  if (o->orthonormal) y = scaled(g, y, length);
  if (!ft_usable(g, y)) return NULL;
  ft_observe(scope, "mixed", y);
  y = filtra_dropout(g, y, in->dropout);
  return in->residual ? filtra_add(g, in->residual, y) : y;
}

const ft_mixer_class ft_mixer_fnet = {
    .name = "fnet",
    .description = "the Fourier transform of tokens and channels (Lee-Thorp et al. 2021)",
    .options_size = sizeof(struct fnet_options),
    .keys = FT_KEYS(KEYS),
    .not_causal = "its frequencies are of whole sequences",
    .build = build};
