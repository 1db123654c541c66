/* filtra_chunk, and ft_cut: cut the last axis into pieces. Gradients of chunks are written into the
 * gradient of the whole tensor, without copies. */
#include "graph/tape.h"

#include <string.h>

struct chunk {
  int parts;
  filtra_tensor *part[];
};

/* Sets the gradients of unused chunks to zero; the gradient of the whole tensor is then complete.
 */
static void chunk_backward(filtra_graph *g, const void *context) {
  const struct chunk *s = context;
  for (int i = 0; i < s->parts; i++) {
    if (s->part[i]->grad) continue;
    bool accumulate;
    filtra_tensor *target = ft_grad_target(g, s->part[i], &accumulate);
    if (target && !accumulate) ft_emit_fill(g, target, 0.0f);
  }
  s->part[0]->whole->grad_partial = false;
}

/* Whether t was cut before, so that gradients of its pieces are written, not added. */
static bool was_cut(const filtra_tensor *t) {
  const filtra_tensor *other = t->storage->tensors;
  while (other && other->whole != t->owner)
    other = other->next;
  return t->requires_grad && other;
}

/* The first piece has `first` columns, the others the rest in equal parts. */
static void cut(filtra_graph *g, filtra_tensor *t, int parts, int64_t first, filtra_tensor **out) {
  const int last = t->ndim - 1;
  const int64_t rest = parts > 1 ? (t->shape[last] - first) / (parts - 1) : 0;
  int64_t shape[FILTRA_MAX_DIMS], at = 0;
  memcpy(shape, t->shape, sizeof shape);
  for (int i = 0; i < parts; at += shape[last], i++) {
    shape[last] = i ? rest : first;
    out[i] = ft_tensor_view(g, t, t->ndim, shape, t->stride);
    if (!out[i]) return;
    out[i]->offset += at;
    out[i]->owner = out[i];
    out[i]->whole = t->owner;
  }
  size_t size = sizeof(struct chunk) + (size_t)parts * sizeof *out;
  struct chunk *call = ft_graph_alloc(g, size);
  if (!call) return;
  call->parts = parts;
  memcpy(call->part, out, (size_t)parts * sizeof *out);
  ft_record_op(g, "chunk", chunk_backward, call, size, 1, &t, parts, out);
}

void filtra_chunk(filtra_graph *g, filtra_tensor *t, int parts, filtra_tensor **out) {
  for (int i = 0; out && i < parts; i++)
    out[i] = NULL;
  if (!ft_usable(g, t)) return;
  int last = t->ndim - 1;
  if (!out || parts < 1 || t->shape[last] % parts || !ft_dense(t) || t->owner->whole) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "chunk: %s %s must be dense, not itself a piece, and divide into %d parts",
                  t->name, ft_shape_text(t), parts);
    return;
  }
  if (was_cut(t))
    ft_graph_fail(
        g, FILTRA_ERROR_ARGUMENT,
        "chunk: %s %s was cut before, and its gradient is written by pieces: cut it once, "
        "or cut a copy (filtra_affine with 1 and 0)",
        t->name, ft_shape_text(t));
  else
    cut(g, t, parts, t->shape[last] / parts, out);
}

void ft_cut(filtra_graph *g, filtra_tensor *t, int64_t first, filtra_tensor *out[2]) {
  out[0] = out[1] = NULL;
  if (!ft_usable(g, t)) return;
  if (ft_dense(t) && !t->owner->whole)
    cut(g, t, 2, first, out);
  else
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "cut: %s %s must be dense and not itself a piece",
                  t->name, ft_shape_text(t));
}
