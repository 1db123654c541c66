/* Graph-filter self-attention (Choi et al. 2024): attention applied twice, instead of the square of
 * its matrix. Both applications share the kernels and the dropout mask of softmax attention; the
 * second uses the first's log-sum-exp. The gradients of both reach the scores in one pass over
 * pairs (du, d(A u)) and (v, u). u = A v, A u, A^T dy and the pairs have v's type, as attention
 * kernels read or write them. Called by nn/mixer/gfsa.c and programs through filtra_gfsa. */
#include "gfsa/contract.h"
#include "ops/attention.h"
#include "ops/decoding.h"

#include <math.h>

enum { DEFAULT_ORDER = 3, MOST_ORDER = 32 };

struct gfsa {
  ft_attention first, second; /* u = A v, au = A u */
  filtra_tensor *w[3];        /* w0, w1, wK [H] */
  uint32_t order;
  filtra_tensor *y;
};

static int64_t rows_of(const struct gfsa *c) {
  return ft_rows(c->first.y);
}

/* Bytes for reading or writing `elements` elements of v's type. */
static double bytes_of(const struct gfsa *c, double elements) {
  return elements * (double)filtra_dtype_bytes(filtra_tensor_dtype(c->first.v));
}

static bool in_pairs(const struct gfsa *c) {
  return ft_in_pairs(c->first.v) && ft_in_pairs(c->first.y) && ft_in_pairs(c->second.y);
}

/* How kernels divide rows of [B,N,H,D]; `pairs`: ft_in_pairs of all such tensors of the call. */
static ft_row_part parts_of(filtra_graph *g, const struct gfsa *c, bool pairs) {
  const filtra_device *dev = ft_graph_device(g);
  ft_row_part part = {.grid = ft_teams(dev, rows_of(c)), .held = 1};
  ft_take_uniform_rows(dev, rows_of(c), c->first.v->shape[3],
                       pairs && filtra_tensor_dtype(c->first.v) == FILTRA_F32, &part);
  return part;
}

static const char *kernel_of(filtra_graph *g, const struct gfsa *c, const char *name,
                             const ft_row_part *part) {
  return ft_row_kernel(ft_graph_device(g), name, filtra_tensor_dtype(c->first.v), part);
}

/* ---- forward ---- */

static void emit_combine(filtra_graph *g, const struct gfsa *c) {
  const filtra_tensor *v = c->first.v;
  const int64_t count = filtra_tensor_elements(c->y);
  const uint32_t width = (uint32_t)v->shape[3];
  const ft_row_way way = ft_row_or_flat(g, "gfsa/combine", filtra_tensor_dtype(v), rows_of(c),
                                        width, in_pairs(c) && ft_in_pairs(c->y));
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "gfsa.combine",
             .kernel = way.kernel,
             FT_ARGUMENTS(gfsa_combine, .v = FT_READ(v), .u = FT_READ(c->first.y),
                          .au = FT_READ(c->second.y), .y = FT_WRITE(c->y), .w0 = FT_READ(c->w[0]),
                          .w1 = FT_READ(c->w[1]), .wK = FT_READ(c->w[2]), .order = c->order,
                          .count = (uint32_t)count, .tokens = (uint32_t)v->shape[2],
                          .v_batch = (uint32_t)v->stride[0], .v_head = (uint32_t)v->stride[1],
                          .v_token = (uint32_t)v->stride[2]),
             FT_CONSTANTS(gfsa_combine, .HEADS = (uint32_t)v->shape[1], .WIDTH = width),
             .workgroup = way.workgroup,
             .subgroup = way.subgroup,
             .groups = {way.groups},
             .flops = 6.0 * (double)count,
             .bytes = bytes_of(c, 4 * (double)count)});
}

/* ---- gradients ---- */

static bool wants(const filtra_tensor *t) {
  return t && t->requires_grad;
}

/* [2,B,N,H,2D]: what backward kernels read under FT_ATTENTION_PAIRED. */
static filtra_tensor *make_pairs(filtra_graph *g, const filtra_tensor *v) {
  const int64_t shape[] = {2 * v->shape[0], v->shape[2], v->shape[1], 2 * v->shape[3]};
  return ft_tensor_new(g, "pairs", filtra_tensor_dtype(v), 4, shape);
}

/* Gradients of q, k, bias and v. */
static void emit_inputs(filtra_graph *g, const struct gfsa *c, filtra_tensor *dy) {
  const ft_attention *a = &c->first;
  filtra_tensor *ady = ft_tensor_like(g, a->y, "transposed"), *pairs = make_pairs(g, a->v);
  filtra_tensor *delta = ft_tensor_like(g, a->lse, "delta");
  bool add;
  filtra_tensor *dv = ft_grad_target(g, a->v, &add);
  if (!ady || !pairs || !delta) return;
  ft_attention second = c->second, both = *a;
  both.flags |= FT_ATTENTION_PAIRED;
  both.kept = second.kept = ft_attention_kept(g, &both, true);
  ft_attention_emit_transposed(g, &second, dy, ady);
  const int64_t *stride = a->v->stride;
  const bool paired =
      in_pairs(c) && ft_in_pairs(dy) && ft_in_pairs(ady) && ft_in_pairs(pairs) && ft_in_pairs(dv);
  const ft_row_part part = parts_of(g, c, paired);
  double elements = (double)filtra_tensor_elements(dy);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "gfsa.backward",
             .kernel = kernel_of(g, c, "gfsa/upstream", &part),
             FT_ARGUMENTS(gfsa_upstream, .dy = FT_READ(dy), .ady = FT_READ(ady), .v = FT_READ(a->v),
                          .u = FT_READ(a->y), .au = FT_READ(c->second.y), .w0 = FT_READ(c->w[0]),
                          .w1 = FT_READ(c->w[1]), .wK = FT_READ(c->w[2]), .pairs = FT_WRITE(pairs),
                          .delta = FT_WRITE(delta), .dv = FT_TARGET(dv, add), .order = c->order,
                          .rows = (uint32_t)rows_of(c), .tokens = (uint32_t)a->v->shape[2],
                          .v_batch = (uint32_t)stride[0], .v_head = (uint32_t)stride[1],
                          .v_token = (uint32_t)stride[2]),
             .workgroup = part.grid.workgroup,
             .subgroup = part.subgroup,
             FT_CONSTANTS(gfsa_upstream, .HELD = part.held, .WHOLE = part.whole,
                          .HEADS = (uint32_t)a->v->shape[1], .WIDTH = (uint32_t)a->v->shape[3],
                          .ADD = add),
             .groups = {part.grid.groups},
             .flops = 9 * elements,
             .bytes = bytes_of(c, 10 * elements)});
  ft_attention_emit_backward(g, &both, pairs, delta);
}

/* <dy, v>, <dy, u> and <dy, A u - u> of each row, [B,N,H,3]. */
static filtra_tensor *emit_products(filtra_graph *g, const struct gfsa *c, filtra_tensor *dy) {
  const filtra_tensor *v = c->first.v;
  filtra_tensor *products = ft_tensor_new(g, "products", FILTRA_F32, 2, (int64_t[]){rows_of(c), 3});
  if (!products) return NULL;
  const ft_row_part part = parts_of(g, c, in_pairs(c) && ft_in_pairs(dy));
  double elements = (double)filtra_tensor_elements(dy);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "gfsa.backward",
             .kernel = kernel_of(g, c, "gfsa/products", &part),
             FT_ARGUMENTS(gfsa_products, .dy = FT_READ(dy), .v = FT_READ(v),
                          .u = FT_READ(c->first.y), .au = FT_READ(c->second.y),
                          .products = FT_WRITE(products), .rows = (uint32_t)rows_of(c),
                          .tokens = (uint32_t)v->shape[2], .v_batch = (uint32_t)v->stride[0],
                          .v_head = (uint32_t)v->stride[1], .v_token = (uint32_t)v->stride[2]),
             .workgroup = part.grid.workgroup,
             .subgroup = part.subgroup,
             FT_CONSTANTS(gfsa_rows, .HELD = part.held, .WHOLE = part.whole,
                          .HEADS = (uint32_t)v->shape[1], .WIDTH = (uint32_t)v->shape[3]),
             .groups = {part.grid.groups},
             .flops = 7 * elements,
             .bytes = bytes_of(c, 4 * elements)});
  return products;
}

/* The gradients of w[first] to w[last - 1]. */
static void emit_coefficients(filtra_graph *g, const struct gfsa *c, const filtra_tensor *products,
                              int first, int last) {
  const int64_t *shape = c->first.v->shape;
  filtra_device *dev = ft_graph_device(g);
  filtra_tensor *dw[3] = {NULL};
  bool add[3] = {false};
  for (int i = first; i < last; i++)
    if (wants(c->w[i])) dw[i] = ft_grad_target(g, c->w[i], &add[i]);
  ft_record_call(
      g, &(ft_kernel_call){
             .label = "gfsa.backward",
             .kernel = ft_kernel_name(dev, "gfsa/coefficients"),
             FT_ARGUMENTS(gfsa_coefficients, .products = FT_READ(products),
                          .dw0 = FT_TARGET(dw[0], add[0]), .dw1 = FT_TARGET(dw[1], add[1]),
                          .dwK = FT_TARGET(dw[2], add[2]), .order = c->order,
                          .tokens = (uint32_t)(shape[0] * shape[2])),
             .workgroup = ft_caps_of(dev)->row_workgroup,
             FT_CONSTANTS(gfsa_coefficients, .ADD_0 = add[0], .ADD_1 = add[1], .ADD_K = add[2]),
             .groups = {(uint32_t)shape[1]},
             .bytes = 12.0 * (double)rows_of(c)});
}

static void gfsa_backward(filtra_graph *g, const void *context) {
  const struct gfsa *c = context;
  const ft_attention *a = &c->first;
  filtra_tensor *dy = ft_grad(g, c->y);
  if (wants(a->q) || wants(a->k) || wants(a->v) || wants(a->bias)) emit_inputs(g, c, dy);
  if (!wants(c->w[0]) && !wants(c->w[1]) && !wants(c->w[2])) return;
  const filtra_tensor *products = emit_products(g, c, dy);
  if (!products) return;
  if (c->w[0] != c->w[1] && c->w[0] != c->w[2] && c->w[1] != c->w[2]) {
    emit_coefficients(g, c, products, 0, 3);
    return;
  }
  for (int i = 0; i < 3; i++) /* a tensor's second gradient adds to its first */
    if (wants(c->w[i])) emit_coefficients(g, c, products, i, i + 1);
}

/* ---- the op ---- */

/* Fills in the coefficients and the order. w: w0, w1, wK, each NULL if it is the options' constant.
 */
static bool take_filter(filtra_graph *g, filtra_tensor *const w[3], const filtra_gfsa_options *o,
                        int64_t heads, struct gfsa *out) {
  static const char *const NAMES[] = {"w0", "w1", "wK"};
  const float fixed[3] = {o->w0, o->w1, o->wK};
  for (int i = 0; i < 3; i++) {
    if (w[i] && !ft_usable_floats(g, w[i], 1, "gfsa", NAMES[i])) return false;
    if (w[i] ? w[i]->shape[0] == heads : isfinite(fixed[i]) != 0) {
      out->w[i] = w[i] ? w[i] : filtra_constant(g, 1, &heads, fixed[i]);
      if (!out->w[i]) return false;
      continue;
    }
    if (w[i])
      ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                    "gfsa: %s (%s %s) must have one number for each of %lld "
                    "heads",
                    NAMES[i], w[i]->name, ft_shape_text(w[i]), (long long)heads);
    else
      ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "gfsa: %s %g must be finite", NAMES[i],
                    (double)fixed[i]);
    return false;
  }
  out->order = (uint32_t)(o->order ? o->order : DEFAULT_ORDER);
  if (o->order >= 0 && o->order <= MOST_ORDER) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "gfsa: order %d, accepted are 1 to %d", o->order,
                MOST_ORDER);
  return false;
}

filtra_tensor *filtra_gfsa(filtra_graph *g, filtra_tensor *q, filtra_tensor *k, filtra_tensor *v,
                           filtra_tensor *w0, filtra_tensor *w1, filtra_tensor *wK,
                           const filtra_gfsa_options *options) {
  static const filtra_gfsa_options defaults;
  const filtra_gfsa_options *o = options ? options : &defaults;
  struct gfsa call = {0};
  if (!ft_attention_init(g, "gfsa", q, k, v, &o->attention, &call.first) ||
      !ft_graph_accept(g, FT_CHECK_RESERVED(filtra_gfsa_options, o)) ||
      !take_filter(g, (filtra_tensor *const[]){w0, w1, wK}, o, v->shape[1], &call))
    return NULL;
  if (q->shape[2] != k->shape[2])
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                         "gfsa: q %s and k %s must have the same tokens: A is squared",
                         ft_shape_text(q), ft_shape_text(k));
  call.second = call.first;
  call.second.v = call.first.y;
  call.second.y = ft_tensor_token_major(g, "gfsa", filtra_tensor_dtype(v), v->shape);
  call.second.flags |= FT_ATTENTION_KNOWN;
  call.y = ft_tensor_token_major(g, "gfsa", filtra_tensor_dtype(v), v->shape);
  if (!call.second.y || !call.y) return NULL;
  if (!ft_record_op(g, "gfsa", gfsa_backward, &call, sizeof call, 7,
                    (filtra_tensor *[]){q, k, v, call.first.bias, call.w[0], call.w[1], call.w[2]},
                    1, &call.y))
    return NULL;
  call.first.kept = call.second.kept = ft_attention_kept(g, &call.first, false);
  ft_attention_emit_forward(g, "gfsa", &call.first);
  ft_attention_emit_forward(g, "gfsa", &call.second);
  emit_combine(g, &call);
  return call.y;
}

filtra_tensor *ft_gfsa_combine(filtra_graph *g, filtra_tensor *v, filtra_tensor *u,
                               filtra_tensor *au, filtra_tensor *w0, filtra_tensor *w1,
                               filtra_tensor *wK, const filtra_gfsa_options *o) {
  if (!ft_usable_elements(g, v, "gfsa", "v") || !ft_usable(g, u) || !ft_usable(g, au)) return NULL;
  if (filtra_tensor_dtype(v) != filtra_tensor_dtype(u) ||
      filtra_tensor_dtype(v) != filtra_tensor_dtype(au))
    return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "gfsa: v, A v and A A v must be of one type");
  struct gfsa call = {.first = {.v = v, .y = u}, .second = {.y = au}};
  if (!take_filter(g, (filtra_tensor *const[]){w0, w1, wK}, o, v->shape[1], &call)) return NULL;
  call.y = ft_tensor_token_major(g, "gfsa", filtra_tensor_dtype(v), v->shape);
  if (!call.y) return NULL;
  emit_combine(g, &call);
  return call.y;
}
