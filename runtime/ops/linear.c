/* Linear layers, with activation, dropout and residual in the product's epilogue. Called by
 * nn/layers.c, other layers and programs through filtra_linear. */
#include "fused/contract.h"
#include "linear/contract.h"
#include "ops/gemm.h"
#include "ops/support.h"

struct linear {
  filtra_tensor *x, *w, *b, *residual, *y;
  filtra_tensor *left, *right; /* x and w as the product reads them, both of one type */
  filtra_tensor *z; /* as y; decides the activation's derivative; NULL without activation */
  bool slope;       /* z is that derivative */
  filtra_activation activation;
  float dropout;
  uint32_t random_id;
};

static double bytes_of(const filtra_tensor *t) {
  return (double)filtra_dtype_bytes(filtra_tensor_dtype(t));
}

/* The activation whose derivative at z is wanted: none where z is the derivative. */
static filtra_activation activation_at_z(const struct linear *s) {
  return s->slope ? FILTRA_ACTIVATION_NONE : s->activation;
}

/* dz = dy * dropout factor * activation'(z), in the product's type; dy if both factors are 1, or if
 * the rule that wrote dy applied them (give_argument). */
static filtra_tensor *epilogue_backward(filtra_graph *g, const struct linear *s,
                                        filtra_tensor *dy) {
  const filtra_dtype type = filtra_tensor_dtype(s->left);
  if ((!s->activation && s->dropout == 0) || s->y->grad_inner)
    return ft_emit_in_type(g, dy, type, "linear.dz");
  filtra_tensor *dz = ft_tensor_new(g, "linear.dz", type, dy->ndim, dy->shape);
  if (!dz) return NULL;
  const uint32_t count = (uint32_t)filtra_tensor_elements(dz);
  bool random = s->dropout > 0;
  bool whole = ft_whole_quads(dy) && ft_whole_quads(s->z) && ft_whole_quads(dz);
  ft_kernel_call call = {
      .label = "linear.backward",
      .kernel = ft_kernel_typed(ft_graph_device(g), "linear/backward", type),
      .step = {.operation = random     ? STEP_NONE
                            : s->slope ? STEP_MULTIPLY
                                       : STEP_DERIVATIVE,
               .activation = activation_at_z(s)},
      FT_ARGUMENTS(linear_backward, .z = FT_READ(s->z), .dy = FT_READ(dy),
                   .random = FT_READ(random ? ft_graph_random_state(g) : NULL), .dz = FT_WRITE(dz),
                   .count = count, .op_id = s->random_id, .rate = s->dropout),
      FT_CONSTANTS(linear_backward, .ACTIVATION = activation_at_z(s), .DROPOUT = random,
                   .WHOLE = whole, .NARROW = filtra_tensor_dtype(dy) != FILTRA_F32),
      .sequence_elements = random ? ft_graph_sequence_elements(g, dz) : 0,
      FT_FLAT(g, count),
      .bytes = (bytes_of(dz) + (s->z ? 2 : 1) * bytes_of(dy)) * count};
  ft_record_call(g, &call);
  return dz;
}

static void linear_backward(filtra_graph *g, const void *context);

/* The linear layer that x comes from, if its rule needs the gradient of its activation's argument
 * only, and only this rule contributes to it: then the product that computes dx can give that. */
static const struct linear *layer_before(const filtra_graph *g, const filtra_tensor *x) {
  const struct linear *s = ft_sole_producer(g, x, linear_backward);
  const bool fits = s && !s->residual && (s->activation || s->dropout > 0) &&
                    filtra_tensor_dtype(x) == filtra_tensor_dtype(s->left);
  return fits ? s : NULL;
}

/* The product that computes dx applies the dropout and activation' of the layer before. */
static void give_argument(const struct linear *before, ft_gemm *dx) {
  dx->activation = activation_at_z(before);
  dx->z = before->activation ? before->z : NULL;
  dx->slope = before->activation;
  dx->dropout = before->dropout;
  dx->random_id = before->random_id;
  before->y->grad_inner = true;
}

/* dx = dz W, dW = dz^T x, db = column sums of dz; the residual's gradient is dy. */
static void linear_backward(filtra_graph *g, const void *context) {
  const struct linear *s = context;
  filtra_tensor *dy = ft_grad(g, s->y), *target;
  int64_t rows = ft_rows(s->x), in = ft_columns(s->x), out = ft_columns(s->y);
  bool accumulate;
  bool inner = s->x->requires_grad || s->w->requires_grad || (s->b && s->b->requires_grad);
  filtra_tensor *dz = inner ? epilogue_backward(g, s, dy) : NULL;
  const struct linear *before = layer_before(g, s->x);
  target = ft_grad_target(g, s->x, &accumulate);
  if (target) {
    ft_gemm dx = {.label = "linear.backward",
                  .a = ft_matrix_rows(dz, false),
                  .b = ft_matrix_rows(s->right, false),
                  .c = ft_matrix_rows(target, false),
                  .m = rows,
                  .n = in,
                  .k = out,
                  .accumulate = accumulate};
    if (before) give_argument(before, &dx);
    ft_emit_gemm(g, &dx);
  }
  if (dz) ft_emit_affine_gradients(g, "linear.backward", dz, s->left, s->w, s->b);
  ft_grad_give(g, s->residual, dy);
}

static bool usable_operand(filtra_graph *g, const filtra_tensor *t, const char *argument) {
  if (!ft_usable_elements(g, t, "linear", argument)) return false;
  if (ft_dense(t)) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "linear: %s (%s %s) must be dense", argument, t->name,
                ft_shape_text(t));
  return false;
}

/* The weight's type if it has 16 bits, otherwise x's. */
static filtra_dtype product_type(const struct linear *s) {
  const filtra_dtype w = filtra_tensor_dtype(s->w);
  return w != FILTRA_F32 ? w : filtra_tensor_dtype(s->x);
}

static bool check_types(filtra_graph *g, const struct linear *s, filtra_dtype result) {
  const filtra_dtype x = filtra_tensor_dtype(s->x), product = product_type(s);
  if (x != FILTRA_F32 && x != product)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "linear: x (%s) is %s and w (%s) is %s; one of them must be F32, or both of one "
                  "type",
                  s->x->name, filtra_dtype_name(x), s->w->name, filtra_dtype_name(product));
  else if (result != FILTRA_F32 && result != product)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "linear: the result cannot be %s: the product of x (%s) and w (%s) is one of %s, "
                  "and gives that or F32",
                  filtra_dtype_name(result), s->x->name, s->w->name, filtra_dtype_name(product));
  else if (result != FILTRA_F32 && s->residual)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "linear: with a residual (%s) the result is F32 and cannot be %s",
                  s->residual->name, filtra_dtype_name(result));
  else
    return true;
  return false;
}

static bool check_linear(filtra_graph *g, const struct linear *s) {
  if (!usable_operand(g, s->x, "x") || !usable_operand(g, s->w, "w") ||
      !ft_has_dims(g, s->w, 2, "linear", "w") ||
      (s->b && !ft_usable_floats(g, s->b, 1, "linear", "b")))
    return false;
  int64_t in = ft_columns(s->x), out = s->w->shape[0];
  if (s->w->shape[1] != in || !out || !filtra_tensor_elements(s->x)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "linear: w (%s %s) must be [out, %lld] for x %s %s, none of them empty",
                  s->w->name, ft_shape_text(s->w), (long long)in, s->x->name, ft_shape_text(s->x));
    return false;
  }
  if (s->b && s->b->shape[0] != out) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "linear: b (%s %s) must have %lld elements", s->b->name,
                  ft_shape_text(s->b), (long long)out);
    return false;
  }
  if (!ft_known_activation(g, s->activation, "linear")) return false;
  if (!(s->dropout >= 0 && s->dropout < 1)) {
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "linear: dropout rate %g must lie in [0,1)",
                  (double)s->dropout);
    return false;
  }
  return true;
}

/* Records a substitute that recomputes y = activation(z) * dropout factor, so that y need not be
 * kept. */
static void offer_again(filtra_graph *g, const struct linear *s) {
  const filtra_dtype type = filtra_tensor_dtype(s->y);
  const uint32_t count = (uint32_t)filtra_tensor_elements(s->y);
  const bool random = s->dropout > 0;
  ft_kernel_call call = {.label = "linear",
                         .kernel = ft_kernel_typed(ft_graph_device(g), "linear/again", type),
                         FT_ARGUMENTS(linear_again, .z = FT_READ(s->z), .y = FT_WRITE(s->y),
                                      .random = FT_READ(random ? ft_graph_random_state(g) : NULL),
                                      .count = count, .op_id = s->random_id, .rate = s->dropout),
                         FT_CONSTANTS(linear_again, .ACTIVATION = s->activation, .DROPOUT = random,
                                      .WHOLE = ft_whole_quads(s->z) && ft_whole_quads(s->y)),
                         .sequence_elements = random ? ft_graph_sequence_elements(g, s->y) : 0,
                         FT_FLAT(g, count),
                         .bytes = 2 * bytes_of(s->y) * count};
  ft_record_substitute(g, s->y, &call);
}

static void emit_forward(filtra_graph *g, const struct linear *s, filtra_tensor *stored_z) {
  ft_emit_gemm(g, &(ft_gemm){.label = "linear",
                             .a = ft_matrix_rows(s->left, false),
                             .b = ft_matrix_rows(s->right, true),
                             .c = ft_matrix_rows(s->y, false),
                             .m = ft_rows(s->x),
                             .n = ft_columns(s->y),
                             .k = ft_columns(s->x),
                             .bias = s->b,
                             .z = stored_z,
                             .keep_slope = s->slope,
                             .residual = s->residual,
                             .activation = s->activation,
                             .dropout = s->dropout,
                             .random_id = s->random_id});
}

filtra_tensor *filtra_linear(filtra_graph *g, filtra_tensor *x, filtra_tensor *w, filtra_tensor *b,
                             const filtra_linear_options *options) {
  struct linear s = {.x = x, .w = w, .b = b};
  filtra_dtype result = FILTRA_F32;
  if (options) {
    result = options->dtype;
    s.residual = options->residual;
    s.activation = options->activation;
    s.dropout = options->dropout;
  }
  if (!check_linear(g, &s) || !check_types(g, &s, result) ||
      !ft_graph_accept(g, FT_CHECK_RESERVED(filtra_linear_options, options)))
    return NULL;
  int64_t shape[FILTRA_MAX_DIMS];
  int ndim = filtra_tensor_shape(x, shape);
  shape[ndim - 1] = w->shape[0];
  s.y = ft_tensor_new(g, "linear", result, ndim, shape);
  s.left = ft_emit_in_type(g, x, product_type(&s), "linear.x");
  s.right = ft_emit_in_type(g, w, product_type(&s), "linear.w");
  if (!s.y || !s.left || !s.right) return NULL;
  if (s.residual) {
    if (!ft_usable_dense(g, s.residual, "linear", "residual")) return NULL;
    if (!ft_same_shape(s.residual, s.y))
      return ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "linear: residual (%s %s) must be %s",
                           s.residual->name, ft_shape_text(s.residual), ft_shape_text(s.y));
  }
  if (!ft_graph_training(g)) s.dropout = 0;
  if (s.dropout > 0) s.random_id = ft_graph_random_id(g);

  bool differentiable = x->requires_grad || w->requires_grad || (b && b->requires_grad);
  filtra_tensor *stored_z = NULL;
  bool piecewise =
      s.activation == FILTRA_ACTIVATION_RELU || s.activation == FILTRA_ACTIVATION_LEAKY_RELU;
  if (piecewise && s.dropout == 0 && !s.residual) {
    s.z = s.y; /* y > 0 if z > 0, except where F16 rounds y to 0 */
  } else if (s.activation && differentiable) {
    /* GELU's value and slope share what costs most. What computes y again needs the argument; in
     * 16 bits the argument loses less. */
    s.slope = s.activation == FILTRA_ACTIVATION_GELU && result == FILTRA_F32 &&
              ft_graph_recompute(g) == FT_RECOMPUTE_NONE;
    s.z = stored_z = ft_tensor_new(g, s.slope ? "linear.slope" : "linear.z", result, ndim, shape);
    if (!s.z) return NULL;
  }
  emit_forward(g, &s, stored_z);
  if (stored_z && !s.slope && !s.residual) offer_again(g, &s);
  return ft_record_op(g, "linear", linear_backward, &s, sizeof s, 4,
                      (filtra_tensor *[]){x, w, b, s.residual}, 1, &s.y);
}
