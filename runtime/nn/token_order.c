#include "nn/token_order.h"

#include "ops/support.h"

/* Score difference per position. Without it all scores would be equal at first, without a gradient.
 */
static const float SLOPE = 0.1f;

ft_token_order ft_learn_order(const ft_scope *scope, const filtra_mixer_input *in,
                              float temperature) {
  filtra_graph *g = scope->graph;
  ft_token_order order = {.mask = in->mask, .temperature = temperature};
  if (!ft_usable_floats(g, in->x, 3, "token order", "x")) return order;
  ft_scope inner = ft_scope_enter(scope, "order");
  const int64_t shape[] = {1, ft_columns(in->x)}, places[] = {1, in->x->shape[1], 1};
  filtra_tensor *w = filtra_scope_parameter(&inner, "weight", 2, shape,
                                            &(filtra_parameter_options){.decay = true});
  filtra_tensor *fall =
      filtra_cumulative_sum(g, filtra_constant(g, 3, places, -SLOPE), 1, FILTRA_FORWARD);
  order.score = filtra_add(g, filtra_linear(g, in->x, w, NULL, NULL), fall);
  if (!ft_usable(g, order.score)) return order;
  filtra_tensor *numbers = filtra_reshape(g, order.score, 2, order.score->shape);
  order.there = filtra_argsort(g, numbers, in->mask, FILTRA_SORT);
  order.back = filtra_argsort(g, numbers, in->mask, FILTRA_UNSORT);
  return order;
}

filtra_tensor *ft_take_tokens(filtra_graph *g, filtra_tensor *x, filtra_tensor *rows) {
  if (!ft_usable(g, x)) return NULL;
  const int64_t *shape = x->shape;
  filtra_tensor *flat = filtra_reshape(g, x, 2, (int64_t[]){shape[0] * shape[1], ft_columns(x)});
  flat = filtra_gather(g, flat, 0, rows);
  return flat ? filtra_reshape(g, flat, 3, shape) : NULL;
}

/* [B,N] as a column, and as a row, for broadcasting. */
static filtra_tensor *column(filtra_graph *g, filtra_tensor *t) {
  return filtra_reshape(g, t, 3, (int64_t[]){t->shape[0], t->shape[1], 1});
}

static filtra_tensor *row(filtra_graph *g, filtra_tensor *t) {
  return filtra_reshape(g, t, 3, (int64_t[]){t->shape[0], 1, t->shape[1]});
}

/* SoftSort's matrix from apart[r,t] = s_(r) - s_t. Padding has no effect: its columns have weight
 * 0, and its rows are 0. */
static filtra_tensor *relaxed(filtra_graph *g, const ft_token_order *o, filtra_tensor *apart) {
  filtra_tensor *logits =
      filtra_affine(g, filtra_multiply(g, apart, apart), -1.0f / o->temperature, 0.0f);
  if (!o->mask) return filtra_softmax(g, logits, 2);
  filtra_tensor *behind = filtra_affine(g, row(g, o->mask), 1e30f, -1e30f);
  filtra_tensor *weights = filtra_softmax(g, filtra_add(g, logits, behind), 2);
  return filtra_multiply(g, weights, ft_take_tokens(g, column(g, o->mask), o->there));
}

/* Gradient of the scores from the gradient of the matrix P: through the softmax, the square, and
 * both occurrences of a score. */
static filtra_tensor *score_gradient(filtra_graph *g, const ft_token_order *o, filtra_tensor *dp) {
  filtra_tensor *apart =
      filtra_subtract(g, ft_take_tokens(g, o->score, o->there), row(g, o->score));
  filtra_tensor *p = relaxed(g, o, apart);
  filtra_tensor *mean = filtra_sum(g, filtra_multiply(g, p, dp), 2, FILTRA_KEEP_AXIS);
  filtra_tensor *d = filtra_multiply(g, p, filtra_subtract(g, dp, mean));
  d = filtra_affine(g, filtra_multiply(g, d, apart), -2.0f / o->temperature, 0.0f);
  filtra_tensor *sorted = filtra_sum(g, d, 2, FILTRA_KEEP_AXIS),
                *own = filtra_sum(g, d, 1, FILTRA_KEEP_AXIS);
  if (!ft_usable(g, own)) return NULL;
  own = filtra_reshape(g, own, 3, o->score->shape);
  return filtra_subtract(g, ft_take_tokens(g, sorted, o->back), own);
}

struct sort {
  ft_token_order order;
  filtra_tensor *x, *y;
  bool back;
};

static void sort_backward(filtra_graph *g, const void *context) {
  const struct sort *c = context;
  const ft_token_order *o = &c->order;
  bool accumulate;
  filtra_tensor *dy = ft_grad(g, c->y), *target = ft_grad_target(g, c->x, &accumulate);
  if (target)
    ft_emit_copy(g, ft_take_tokens(g, dy, c->back ? o->there : o->back), target, accumulate);
  target = ft_grad_target(g, o->score, &accumulate);
  if (!target) return;
  filtra_tensor *dp = filtra_matmul(g, c->back ? c->x : dy, c->back ? dy : c->x,
                                    &(filtra_matmul_options){.transpose_b = true});
  filtra_tensor *ds = score_gradient(g, o, dp);
  if (ds) ft_emit_copy(g, ds, target, accumulate);
}

filtra_tensor *ft_sort_tokens(filtra_graph *g, const ft_token_order *order, filtra_tensor *x,
                              bool back) {
  filtra_tensor *rows = back ? order->back : order->there;
  struct sort call = {*order, x, ft_take_tokens(g, filtra_detach(g, x), rows), back};
  if (!ft_usable(g, call.y)) return NULL;
  return ft_record_op(g, "sort tokens", sort_backward, &call, sizeof call, 2,
                      (filtra_tensor *[]){x, order->score}, 1, &call.y);
}
