/* p-Laplacian attention (p-LaT): softmax attention whose weights are multiplied by p-norm weights
 * of pairs of values, P_xy = (|v_x - v_y|^2 + eps)^((p-2)/2). Squared distances are summed from
 * differences, tile by tile; a Gram matrix would lose what is below 1e-7 |v|^2, which negative
 * powers magnify. Kernels are in shaders/plaplacian. Called by nn/mixer/plaplacian.c and programs
 * through filtra_plaplacian. */
#include "ops/attention.h"
#include "plaplacian/contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double P_LOWEST = 1, P_HIGHEST = 10;
static const double EPS_DEFAULT = 1e-3, EPS_LOWEST = 1e-12, EPS_HIGHEST = 1e6;

/* Context of the backward rule. */
struct plaplacian {
  ft_attention attention;
  bool narrow; /* 16 bits hold A P and dS: the backward pass may use matrix units */
};

/* ---- gradients ---- */

/* [2,B,H,Nq] with `euler`, else [1,B,H,Nq]: see shaders/plaplacian/delta.comp. */
static filtra_tensor *emit_delta(filtra_graph *g, const ft_attention *c, filtra_tensor *dy) {
  const int64_t *rows = c->lse->shape;
  const int64_t shape[4] = {c->flags & FT_PLAPLACIAN_EULER ? 2 : 1, rows[0], rows[1], rows[2]};
  filtra_tensor *delta = ft_tensor_new(g, "delta", FILTRA_F32, 4, shape);
  ft_attention_emit(
      g, c,
      &(ft_attention_dispatch){.label = "plaplacian.delta",
                               .kernel = "plaplacian/delta",
                               .groups = {ft_flat_groups(g, filtra_tensor_elements(c->lse))},
                               .workgroup = FT_FLAT_WORKGROUP,
                               .lse = FT_READ(NULL),
                               .dy = dy,
                               .delta = FT_WRITE(delta),
                               .result = {FT_READ(c->y), FT_READ(NULL)}});
  return delta;
}

/* One of two passes over all pairs. Each computes dq or dk of its rows, and the rows' contribution
 * to dv; either target may be NULL. */
typedef struct pass {
  const char *label;
  const char *kernel;
  ft_tile tile;
  int64_t rows;
  bool matrix;
  filtra_tensor *dx, *dv;
  bool add_dx, add_dv;
} pass;

static void emit_pass(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                      filtra_tensor *delta, const pass *p) {
  if (!p->dx && !p->dv) return;
  uint32_t flags = (p->dx ? FT_ATTENTION_WANT_0 : 0) | (p->dv ? FT_ATTENTION_WANT_1 : 0) |
                   (p->add_dx ? FT_ATTENTION_ADD_0 : 0) | (p->add_dv ? FT_ATTENTION_ADD_1 : 0);
  int64_t d = c->q->shape[3], dv = c->v->shape[3];
  ft_attention_emit(
      g, c,
      &(ft_attention_dispatch){.label = p->label,
                               .kernel = p->kernel,
                               .tile = p->tile,
                               .matrix = p->matrix,
                               .flags = flags,
                               .tokens = p->rows,
                               .lse = FT_READ(c->lse),
                               .dy = dy,
                               .delta = FT_READ(delta),
                               .result = {FT_TARGET(p->dx, p->add_dx), FT_TARGET(p->dv, p->add_dv)},
                               .columns = (p->dx ? 2 : 1) * d + (p->dv ? 4 : 2) * dv});
}

/* Computes dx of `x` and, over the same rows, dv. If both are one tensor, two dispatches add to its
 * gradient. */
static void emit_rows(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                      filtra_tensor *delta, filtra_tensor *x, pass p) {
  p.dx = ft_grad_target(g, x, &p.add_dx);
  if (p.dx && x->owner == c->v->owner) {
    emit_pass(g, c, dy, delta, &p);
    p.dx = NULL;
    p.add_dx = false;
  }
  p.dv = ft_grad_target(g, c->v, &p.add_dv);
  emit_pass(g, c, dy, delta, &p);
}

static void emit_bias(filtra_graph *g, const ft_attention *c, filtra_tensor *dy,
                      filtra_tensor *delta) {
  bool accumulate;
  filtra_tensor *dbias = ft_grad_target(g, c->bias, &accumulate);
  if (!dbias) return;
  int64_t queries = c->q->shape[2], keys = c->k->shape[2];
  ft_attention_emit(g, c,
                    &(ft_attention_dispatch){
                        .label = "plaplacian.backward_bias",
                        .kernel = "plaplacian/backward_bias",
                        .tile = FT_TILE_QUERY,
                        .flags = accumulate ? FT_ATTENTION_ADD_0 : 0,
                        .groups = {ft_attention_blocks(queries, c->tiling.rows[FT_TILE_QUERY]),
                                   ft_attention_blocks(keys, c->tiling.columns),
                                   (uint32_t)(filtra_tensor_elements(c->bias) / (queries * keys))},
                        .lse = FT_READ(c->lse),
                        .dy = dy,
                        .delta = FT_READ(delta),
                        .result = {FT_TARGET(dbias, accumulate), FT_READ(NULL)},
                        .columns = c->q->shape[3] + 2 * c->v->shape[3]});
}

/* Keys first: in a head with p = 2 they alone compute dv, with the bits of softmax attention; the
 * queries' pass adds nothing there. */
static void plaplacian_backward(filtra_graph *g, const void *context) {
  const struct plaplacian *p = context;
  const ft_attention *c = &p->attention;
  filtra_tensor *dy = ft_grad(g, c->y);
  filtra_tensor *delta = emit_delta(g, c, dy);
  emit_rows(g, c, dy, delta, c->k,
            (pass){"plaplacian.backward_key", "plaplacian/backward_key", FT_TILE_KEY,
                   c->k->shape[2], p->narrow});
  emit_rows(g, c, dy, delta, c->q,
            (pass){"plaplacian.backward_query", "plaplacian/backward_query", FT_TILE_QUERY,
                   c->q->shape[2], p->narrow});
  emit_bias(g, c, dy, delta);
}

/* ---- the op ---- */

static bool check_options(filtra_graph *g, const filtra_plaplacian_options *o,
                          const filtra_tensor *q, const filtra_tensor *k) {
  if (!ft_graph_accept(g, FT_CHECK_RESERVED(filtra_plaplacian_options, o))) return false;
  if (q->shape[2] > k->shape[2]) {
    ft_graph_fail(
        g, FILTRA_ERROR_ARGUMENT,
        "plaplacian: %lld queries and %lld keys; queries are the last of the keys' tokens",
        (long long)q->shape[2], (long long)k->shape[2]);
    return false;
  }
  if (!(o->eps == 0 || ((double)o->eps >= EPS_LOWEST && (double)o->eps <= EPS_HIGHEST))) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "plaplacian: eps is %g, accepted are %g to %g",
                  (double)o->eps, EPS_LOWEST, EPS_HIGHEST);
    return false;
  }
  if ((unsigned)o->diagonal > FILTRA_DIAGONAL_ONE) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "plaplacian: there is no diagonal mode %d",
                  (int)o->diagonal);
    return false;
  }
  for (int64_t h = 0; o->p && h < q->shape[1]; h++) {
    if ((double)o->p[h] >= P_LOWEST && (double)o->p[h] <= P_HIGHEST) continue;
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "plaplacian: p of head %lld is %g, accepted are %g to %g", (long long)h,
                  (double)o->p[h], P_LOWEST, P_HIGHEST);
    return false;
  }
  return true;
}

/* (p - 2) / 2 for each head; caller frees. */
static float *exponents(const float *p, int64_t heads) {
  float *e = ft_calloc((size_t)heads, sizeof *e);
  for (int64_t h = 0; e && h < heads; h++)
    e[h] = ((p ? p[h] : h < (heads + 1) / 2 ? 1.5f : 2.5f) - 2) / 2;
  return e;
}

/* Whether matrix units can be used: they take A P and dS in 16 bits. fp16 ends at 65504 and loses
 * digits below 6e-5; P alone must not bring A P there. At equal values P is eps^e, and it grows or
 * falls with the distance from there. bf16 has the range of F32, and the forward pass is relative
 * to each row's largest A P. */
static bool narrow_norms(filtra_dtype type, const float *exponent, int64_t heads, double eps) {
  const double most = 256, most_exponent = 1;
  for (int64_t h = 0; type == FILTRA_F16 && h < heads; h++) {
    const double e = (double)exponent[h], equal = pow(eps, e);
    if (e > most_exponent || equal > most || (e < 0 && equal < 1 / most)) return false;
  }
  return true;
}

static uint32_t option_flags(const filtra_plaplacian_options *o) {
  static const uint32_t diagonal[] = {[FILTRA_DIAGONAL_EPS] = 0,
                                      [FILTRA_DIAGONAL_ZERO] = FT_PLAPLACIAN_DIAGONAL_ZERO,
                                      [FILTRA_DIAGONAL_ONE] = FT_PLAPLACIAN_DIAGONAL_ONE};
  return diagonal[o->diagonal] | (o->euler ? FT_PLAPLACIAN_EULER : 0);
}

filtra_tensor *filtra_plaplacian(filtra_graph *g, filtra_tensor *q, filtra_tensor *k,
                                 filtra_tensor *v, const filtra_plaplacian_options *options) {
  static const filtra_plaplacian_options defaults;
  const filtra_plaplacian_options *o = options ? options : &defaults;
  struct plaplacian all;
  ft_attention *call = &all.attention;
  if (!ft_attention_init(g, "plaplacian", q, k, v, &o->attention, call) ||
      !check_options(g, o, q, k))
    return NULL;
  float *exponent = exponents(o->p, q->shape[1]);
  if (!exponent) return ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  call->heads = ft_attention_head_table(g, call, exponent);
  call->norms = true;
  call->family_constant = o->eps != 0 ? o->eps : (float)EPS_DEFAULT;
  call->flags |= option_flags(o);
  all.narrow =
      narrow_norms(filtra_tensor_dtype(q), exponent, q->shape[1], (double)call->family_constant);
  free(exponent);
  if (!ft_record_op(g, "plaplacian", plaplacian_backward, &all, sizeof all, 4,
                    (filtra_tensor *[]){q, k, v, call->bias}, 1, &call->y))
    return NULL;
  ft_attention_emit(g, call,
                    &(ft_attention_dispatch){.label = "plaplacian",
                                             .kernel = "plaplacian/forward",
                                             .tile = FT_TILE_FORWARD,
                                             .matrix = true,
                                             .tokens = q->shape[2],
                                             .lse = FT_WRITE(call->lse),
                                             .delta = FT_READ(NULL),
                                             .result = {FT_WRITE(call->y), FT_READ(NULL)},
                                             .columns = q->shape[3] + 3 * v->shape[3]});
  return call->y;
}
