/* Called by nn/encoder.c and model/network.c for the norms of a Transformer's blocks. */
#include "nn/contra_norm.h"

#include "ops/support.h"

/* -1e30 for keys that are padding, [B,1,N]: softmax gives them 0. */
static filtra_tensor *padding(filtra_graph *g, filtra_tensor *mask) {
  filtra_tensor *far = filtra_affine(g, mask, 1e30f, -1e30f);
  return filtra_reshape(g, far, 3, (int64_t[]){mask->shape[0], 1, mask->shape[1]});
}

filtra_tensor *ft_contra_norm(filtra_graph *g, filtra_tensor *x, filtra_tensor *mask, float scale) {
  if (scale == 0.0f || !ft_usable(g, x)) return x;
  filtra_tensor *unit = filtra_scale_norm(g, x, NULL, 1e-12f, FILTRA_REAL);
  filtra_tensor *alike =
      filtra_matmul(g, unit, unit, &(filtra_matmul_options){.transpose_b = true});
  if (mask) alike = filtra_add(g, alike, padding(g, mask));
  filtra_tensor *near = filtra_matmul(g, filtra_softmax(g, alike, 2), x, NULL);
  return filtra_add(g, x, filtra_affine(g, near, -scale, 0.0f));
}
