/* Attentive graph filter (Wi et al. 2025, "Learning advanced self-attention for linear transformers
 * in the singular value domain"). A token's row of U, weighted by the filter g of its singular
 * values, is multiplied by the D x D product V^T value; nothing is N x N. Tensors with a row for
 * each token (u, s, v, value, U, V, W, y) and their gradients may have 16 bits; D x D tensors are
 * F32. Called by nn/mixer/agf.c and programs through filtra_agf. */
#include "ops/agf.h"
#include "agf/contract.h"
#include "ops/gemm.h"

#include <string.h>

/* K up to which the kernels unroll. */
enum { MOST_ORDER = 32 };

/* ---- Gram matrices ---- */

struct gram {
  filtra_tensor *x, *gram;
};

static ft_gemm gram_product(const struct gram *c) {
  const int64_t *shape = c->x->shape;
  return (ft_gemm){.n = shape[3], .outer = shape[0], .inner = shape[1]};
}

/* dX = X (dG + dG^T); the loss's gradient of the symmetric G is symmetric. */
static void gram_backward(filtra_graph *g, const void *context) {
  const struct gram *c = context;
  ft_gemm p = gram_product(c);
  filtra_tensor *target = ft_grad_target(g, c->x, &p.accumulate);
  if (!target) return;
  filtra_tensor *dg =
      ft_emit_in_type(g, ft_grad(g, c->gram), filtra_tensor_dtype(c->x), "agf gram");
  if (!dg) return;
  p.label = "agf.gram.backward";
  p.a = ft_matrix_of(c->x, false);
  p.b = ft_matrix_of(dg, false);
  p.c = ft_matrix_of(target, false);
  p.m = c->x->shape[2];
  p.k = p.n;
  p.scale = 2;
  ft_emit_gemm(g, &p);
}

/* G = X^T X of [B,H,N,D] -> [B,H,D,D], for a loss with a symmetric gradient. */
static filtra_tensor *gram(filtra_graph *g, filtra_tensor *x) {
  if (!x) return NULL;
  const int64_t shape[] = {x->shape[0], x->shape[1], x->shape[3], x->shape[3]};
  const struct gram call = {x, ft_tensor_new(g, "agf gram", FILTRA_F32, 4, shape)};
  ft_gemm p = gram_product(&call);
  filtra_tensor *y = call.gram;
  if (!ft_record_op(g, "agf.gram", gram_backward, &call, sizeof call, 1, &x, 1, &y)) return NULL;
  p.label = "agf.gram";
  p.a = ft_matrix_of(x, true);
  p.b = ft_matrix_of(x, false);
  p.c = ft_matrix_of(y, false);
  p.m = p.n;
  p.k = x->shape[2];
  ft_emit_gemm(g, &p);
  return y;
}

/* ---- orthogonality loss ---- */

struct ortho {
  filtra_tensor *u_gram, *v_gram, *v_scale, *loss;
};

static void emit_ortho(filtra_graph *g, const struct ortho *c, filtra_tensor *du,
                       filtra_tensor *dv) {
  const bool backward = du || dv;
  filtra_device *dev = ft_graph_device(g);
  const filtra_tensor *gram = c->u_gram;
  ft_arg loss = {backward ? ft_grad(g, c->loss) : c->loss,
                 backward ? FT_ACCESS_READ : FT_ACCESS_WRITE};
  ft_record_call(
      g, &(ft_kernel_call){
             .label = backward ? "agf.ortho.backward" : "agf.ortho",
             .kernel = ft_kernel_name(dev, "agf/ortho"),
             FT_ARGUMENTS(agf_ortho, .u_gram = FT_READ(c->u_gram), .v_gram = FT_READ(c->v_gram),
                          .v_scale = FT_READ(c->v_scale), .loss = loss, .u_grad = FT_WRITE(du),
                          .v_grad = FT_WRITE(dv),
                          .entries = (uint32_t)(gram->shape[1] * gram->shape[2] * gram->shape[3])),
             .workgroup = ft_caps_of(dev)->row_workgroup,
             .groups = {(uint32_t)gram->shape[0]},
             FT_CONSTANTS(agf_ortho, .backward = backward, .width = (uint32_t)gram->shape[3])});
}

static void ortho_backward(filtra_graph *g, const void *context) {
  const struct ortho *c = context;
  bool fresh; /* the Gram matrices have no other use */
  filtra_tensor *du = ft_grad_target(g, c->u_gram, &fresh);
  filtra_tensor *dv = ft_grad_target(g, c->v_gram, &fresh);
  if (du || dv) emit_ortho(g, c, du, dv);
}

/* Mean absolute entry of U^T U - I, plus that of V^T V - I, per sample -> [B]. v_scale: see
 * ft_agf_columns. */
static filtra_tensor *ortho_loss(filtra_graph *g, filtra_tensor *u, filtra_tensor *v,
                                 filtra_tensor *v_scale) {
  filtra_tensor *u_gram = gram(g, u), *v_gram = gram(g, v);
  if (!u_gram || !v_gram) return NULL;
  filtra_tensor *loss = ft_tensor_new(g, "agf ortho", FILTRA_F32, 1, u->shape);
  const struct ortho call = {u_gram, v_gram, v_scale, loss};
  if (!ft_record_op(g, "agf.ortho", ortho_backward, &call, sizeof call, 2,
                    (filtra_tensor *[]){u_gram, v_gram}, 1, &loss))
    return NULL;
  emit_ortho(g, &call, NULL, NULL);
  return loss;
}

/* ---- free singular values ---- */

struct singular_values {
  filtra_tensor *sigma, *matrix, *scaled;
};

static void emit_singular_values(filtra_graph *g, const struct singular_values *c, bool backward) {
  filtra_device *dev = ft_graph_device(g);
  bool add_sigma = false, add_matrix = false;
  filtra_tensor *dsigma = backward ? ft_grad_target(g, c->sigma, &add_sigma) : NULL;
  filtra_tensor *dmatrix = backward ? ft_grad_target(g, c->matrix, &add_matrix) : NULL;
  ft_arg scaled = {backward ? ft_grad(g, c->scaled) : c->scaled,
                   backward ? FT_ACCESS_READ : FT_ACCESS_WRITE};
  const int64_t *shape = c->matrix->shape;
  const uint32_t rows = (uint32_t)(shape[1] * shape[2]);
  ft_record_call(g,
                 &(ft_kernel_call){
                     .label = backward ? "agf.svd.backward" : "agf.svd",
                     .kernel = ft_kernel_name(dev, "agf/singular_values"),
                     FT_ARGUMENTS(agf_singular_values, .sigma = FT_READ(c->sigma),
                                  .matrix = FT_READ(c->matrix), .scaled = scaled,
                                  .sigma_grad = FT_TARGET(dsigma, add_sigma),
                                  .matrix_grad = FT_TARGET(dmatrix, add_matrix), .rows = rows,
                                  .width = (uint32_t)shape[3], .batch = (uint32_t)shape[0]),
                     .workgroup = ft_caps_of(dev)->row_workgroup,
                     .groups = {rows},
                     FT_CONSTANTS(agf_singular_values, .backward = backward,
                                  .accumulate_sigma = add_sigma, .accumulate_matrix = add_matrix)});
}

static void singular_values_backward(filtra_graph *g, const void *context) {
  emit_singular_values(g, context, true);
}

/* diag(sigma) matrix, for each head. */
static filtra_tensor *singular_values(filtra_graph *g, filtra_tensor *sigma,
                                      filtra_tensor *matrix) {
  filtra_tensor *scaled = ft_tensor_like(g, matrix, "agf scaled");
  const struct singular_values call = {sigma, matrix, scaled};
  if (!ft_record_op(g, "agf.svd", singular_values_backward, &call, sizeof call, 2,
                    (filtra_tensor *[]){sigma, matrix}, 1, &scaled))
    return NULL;
  emit_singular_values(g, &call, false);
  return scaled;
}

/* ---- checks ---- */

static bool check_view(filtra_graph *g, const filtra_tensor *t, const filtra_tensor *u,
                       const char *argument) {
  if (!ft_usable_elements(g, t, "agf", argument)) return false;
  if (t->ndim != 4 || t->stride[3] != 1 || !filtra_tensor_elements(t)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "agf: %s (%s %s) must be [B,H,N,D], not empty, with a dense last axis", argument,
                  t->name, ft_shape_text(t));
    return false;
  }
  const filtra_dtype type = filtra_tensor_dtype(t), wanted = filtra_tensor_dtype(u);
  if (ft_same_shape(t, u) && type == wanted) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "agf: %s (%s, %s %s) must have the type and shape of u (%s %s)", argument, t->name,
                filtra_dtype_name(type), ft_shape_text(t), filtra_dtype_name(wanted),
                ft_shape_text(u));
  return false;
}

static bool check_mask(filtra_graph *g, const filtra_tensor *mask, const filtra_tensor *u) {
  if (!mask) return true;
  if (!ft_usable_floats(g, mask, 2, "agf", "mask")) return false;
  if (mask->shape[0] == u->shape[0] && mask->shape[1] == u->shape[2]) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "agf: mask (%s %s) must be [B,N] of u (%s)", mask->name,
                ft_shape_text(mask), ft_shape_text(u));
  return false;
}

static bool check_coefficients(filtra_graph *g, const filtra_tensor *t, const filtra_tensor *u,
                               const filtra_agf_options *o) {
  if (o->variant == FILTRA_AGF_UV) {
    if (!t) return true;
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "agf: the variant without singular values takes no "
                  "coefficients; pass NULL");
    return false;
  }
  if (o->variant == FILTRA_AGF_SVD) {
    if (!ft_usable_floats(g, t, 2, "agf", "coefficients")) return false;
    if (t->shape[0] == u->shape[1] && t->shape[1] == u->shape[3]) return true;
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "agf: singular values (%s %s) must be [H,D] of u (%s)",
                  t->name, ft_shape_text(t), ft_shape_text(u));
    return false;
  }
  if (!ft_usable_floats(g, t, 1, "agf", "coefficients")) return false;
  if (t->shape[0] < 1 || t->shape[0] > MOST_ORDER + 1) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "agf: %lld coefficients, accepted are 1 to %d (K + 1, K at most %d)",
                  (long long)t->shape[0], MOST_ORDER + 1, MOST_ORDER);
    return false;
  }
  return ft_agf_check_basis(g, o, t->shape[0] - 1);
}

static bool check_options(filtra_graph *g, const filtra_agf_options *o) {
  if (!ft_graph_accept(g, FT_CHECK_RESERVED(filtra_agf_options, o))) return false;
  if ((unsigned)o->basis <= FILTRA_BASIS_MONOMIAL && (unsigned)o->rho <= FILTRA_RHO_NONE &&
      (unsigned)o->theta_mode <= FILTRA_THETA_RAW && (unsigned)o->variant <= FILTRA_AGF_SVD)
    return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                "agf: unknown basis %d, rho %d, theta mode %d or variant %d", (int)o->basis,
                (int)o->rho, (int)o->theta_mode, (int)o->variant);
  return false;
}

/* V^T value, F32. Its rows are multiplied by the scales of V's columns and by free singular values.
 */
static filtra_tensor *mixed_values(filtra_graph *g, filtra_tensor *v, filtra_tensor *v_scale,
                                   filtra_tensor *value, filtra_tensor *sigma) {
  filtra_tensor *matrix = filtra_matmul(g, v, value, &(filtra_matmul_options){.transpose_a = true});
  if (matrix && v_scale) matrix = filtra_multiply(g, matrix, v_scale);
  return matrix && sigma ? singular_values(g, sigma, matrix) : matrix;
}

filtra_tensor *filtra_agf(filtra_graph *g, filtra_tensor *u, filtra_tensor *s, filtra_tensor *vv,
                          filtra_tensor *value, filtra_tensor *coefficients,
                          const filtra_agf_options *options) {
  const filtra_agf_options defaults = {0}, *o = options ? options : &defaults;
  if (o->ortho) *o->ortho = NULL;
  const bool filtered = o->variant == FILTRA_AGF_FILTER;
  if (!check_view(g, u, u, "u") || !check_options(g, o) ||
      (filtered && !check_view(g, s, u, "s")) || !check_view(g, vv, u, "vv") ||
      !check_view(g, value, u, "value") || !check_mask(g, o->mask, u) ||
      !check_coefficients(g, coefficients, u, o))
    return NULL;
  filtra_tensor *v_scale, *v = ft_agf_columns(g, vv, o->mask, o->rho, &v_scale);
  filtra_tensor *matrix =
      mixed_values(g, v, v_scale, value, o->variant == FILTRA_AGF_SVD ? coefficients : NULL);
  if (!matrix) return NULL;
  filtra_tensor *factor = NULL;
  filtra_tensor *w =
      ft_agf_filter(g, u, s, filtered ? coefficients : NULL, o, o->ortho ? &factor : NULL);
  if (o->ortho && w) *o->ortho = ortho_loss(g, factor, v, v_scale);
  return filtra_matmul(
      g, w, matrix, &(filtra_matmul_options){.token_major = true, .dtype = filtra_tensor_dtype(u)});
}
