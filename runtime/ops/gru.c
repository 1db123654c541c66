/* Gated recurrent unit (Cho et al. 2014), in the form of Chung et al. 2014 with the reset gate
 * after the recurrent product, as in cuDNN and PyTorch:
 *
 *   r, z = sigmoid(W_i x + b_i + W_h h + b_h), n = tanh(W_in x + b_in + r (W_hn h + b_hn)),
 *   h_t = (1 - z) n + z h_{t-1}, h_{-1} = 0.
 *
 * The terms without h are one product over all tokens before the recurrence; the gradients of
 * weights are products over all tokens after it. Called by nn/converter.c and programs through
 * filtra_gru. */
#include "gru/contract.h"
#include "ops/support.h"

enum { MOST_HIDDEN = 512 };

struct gru {
  filtra_tensor *gates, *w_hh, *b_hh, *y;
  filtra_tensor *inner; /* W_hn h + b_hn, kept for the backward pass; NULL without one */
};

/* Layout of a recurrence on workgroups, see shaders/gru/recurrence.glsl. */
typedef struct gru_plan {
  const char *kernel;
  uint32_t workgroup, subgroup, rows, units, held, slices;
  bool resident; /* an invocation's weights fit into its registers */
  bool uniform;  /* by uniform addresses, for which of these numbers only `rows` counts */
  uint32_t blocks;
} gru_plan;

static uint32_t divide_up(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}

/* Bytes of shared memory per batch entry: the vector, the partial sums, and the backward carry. */
static uint32_t shared_bytes(const gru_plan *p, uint32_t hidden, uint32_t length, uint32_t outputs,
                             uint32_t block) {
  uint32_t vector = divide_up(length, p->slices * block) * p->slices * block;
  return (uint32_t)sizeof(float) * (vector + p->slices * outputs + hidden);
}

/* By uniform addresses a team has blocks of a pair of units for each lane, and as many rows as keep
 * its sums in registers, but no more than half of a small batch. */
static bool plan_uniform(const filtra_device *dev, bool forward, int64_t batch, int64_t width,
                         gru_plan *p) {
  enum { MANY = 16 }; /* lanes of drivers that have 32 registers */
  const uint32_t lanes = ft_uniform_lanes(ft_caps_of(dev));
  if (!lanes || width % (2 * (int64_t)lanes) != 0 || width % GRU_TOGETHER != 0) return false;
  const uint32_t half = divide_up((uint32_t)batch, 2), most = lanes >= MANY ? 4 : 2;
  *p = (gru_plan){.kernel = forward ? "gru/forward_uniform" : "gru/backward_uniform",
                  .workgroup = lanes,
                  .subgroup = lanes,
                  .rows = half < most ? half : most,
                  .uniform = true,
                  .blocks = width % (4 * (int64_t)lanes) == 0 ? 2 : 1};
  return true;
}

/* On CPU drivers a subgroup takes as many rows as make loading weights cheap. On GPUs a workgroup
 * has one invocation per hidden unit, or several if there are few units; it takes more than one row
 * only if the weights exceed the nearest cache and there are enough rows. */
static gru_plan make_plan(const filtra_device *dev, bool forward, int64_t batch, int64_t width,
                          bool in_pairs) {
  enum { MOST_UNITS = 256, CPU_ROWS = 8, MOST_HELD = 3, LEAST_SLICE = 16, GPU_BLOCK = 8 };
  enum { MOST_RESIDENT = 64 }; /* numbers */
  const ft_caps *caps = ft_caps_of(dev);
  uint32_t hidden = (uint32_t)width, wide = 3 * hidden;
  uint32_t length = forward ? hidden : wide, outputs = forward ? wide : hidden;
  gru_plan p = {.slices = 1};
  if (in_pairs && plan_uniform(dev, forward, batch, width, &p)) return p;
  uint32_t block = GPU_BLOCK, rows;
  uint32_t lanes = caps->info.subgroup_size;
  if (caps->cpu && ft_caps_runs(caps, lanes, lanes)) {
    p.kernel = forward ? "gru/forward.lanes" : "gru/backward.lanes";
    p.workgroup = p.subgroup = p.units = block = lanes;
    rows = batch < 2 * CPU_ROWS ? divide_up((uint32_t)batch, 2) : CPU_ROWS;
  } else {
    p.kernel = forward ? "gru/forward" : "gru/backward";
    uint32_t most = caps->info.max_workgroup_invocations;
    if (most > MOST_UNITS) most = MOST_UNITS;
    p.units = hidden < most ? hidden : most;
    p.slices = most / p.units;
    if (p.slices > length / LEAST_SLICE) p.slices = length / LEAST_SLICE;
    if (!p.slices) p.slices = 1;
    p.workgroup = p.units * p.slices;
    rows = hidden <= 64 ? 1 : hidden <= 128 ? 2 : 4;
    while (rows > 1 && batch < 16 * rows)
      rows /= 2;
  }
  p.held = divide_up(outputs, p.units);
  if (p.held > MOST_HELD) p.held = MOST_HELD;
  uint32_t bytes = shared_bytes(&p, hidden, length, outputs, block);
  p.rows = caps->info.shared_memory_bytes / bytes;
  if (p.rows > rows) p.rows = rows;
  const uint32_t slice = divide_up(length, p.slices * block) * block;
  p.resident = !caps->cpu && p.units * p.held >= outputs && slice * p.held <= MOST_RESIDENT;
  return p;
}

/* Time steps per dispatch: a long sequence must not occupy a device longer than its watchdog
 * allows, also on a slow device or with a large batch. */
static uint32_t steps_per_dispatch(int64_t batch, int64_t width) {
  const int64_t most_products = INT64_C(1) << 30, least = 16, most = 256;
  int64_t steps = most_products / (3 * width * width * batch);
  return (uint32_t)(steps < least ? least : steps > most ? most : steps);
}

/* Records one dispatch over `steps` steps of the whole batch; `call` has label and arguments. */
static void emit_steps(filtra_graph *g, const struct gru *c, const gru_plan *plan,
                       ft_kernel_call call, uint32_t steps) {
  int64_t batch = c->y->shape[0], width = ft_columns(c->y);
  double cells = (double)batch * (double)width * steps;
  const struct ft_gru_constants constants = {.hidden = (uint32_t)width,
                                             .rows = plan->rows,
                                             .units = plan->units,
                                             .held = plan->held,
                                             .slices = plan->slices,
                                             .keep = c->inner != NULL,
                                             .resident = plan->resident};
  const struct ft_gru_uniform_constants uniform = {.hidden = (uint32_t)width,
                                                   .rows = plan->rows,
                                                   .keep = c->inner != NULL,
                                                   .blocks = plan->blocks};
  call.kernel = plan->kernel;
  call.constants = plan->uniform ? (const void *)&uniform : &constants;
  call.constant_count = plan->uniform ? FT_CONSTANT_COUNT(gru_uniform) : FT_CONSTANT_COUNT(gru);
  call.workgroup = plan->workgroup;
  call.subgroup = plan->subgroup;
  call.groups[0] = divide_up((uint32_t)batch, plan->rows);
  call.flops = 6 * cells * (double)width;
  call.bytes = 4 * cells * (c->inner ? 8 : 4);
  ft_record_call(g, &call);
}

/* A copy of w_hh as the plan's kernel reads it. For uniform addresses, of each block of columns the
 * even ones come first. */
static filtra_tensor *arranged(filtra_graph *g, filtra_tensor *w, bool transposed,
                               const gru_plan *plan) {
  const int lines = transposed ? 1 : 0, columns = 1 - lines;
  const int64_t line = w->stride[lines], column = w->stride[columns], lanes = plan->subgroup;
  const int64_t plain[] = {w->shape[lines], w->shape[columns]}, stride[] = {line, column};
  const int64_t blocks[] = {plain[0], plan->uniform ? plain[1] / (2 * lanes) : 0, 2, lanes};
  const int64_t apart[] = {line, 2 * lanes * column, column, 2 * column};
  const int ndim = plan->uniform ? 4 : 2;
  const int64_t *shape = plan->uniform ? blocks : plain;
  filtra_tensor *to = ft_tensor_new(g, "arranged w_hh", FILTRA_F32, ndim, shape);
  if (!to) return NULL;
  ft_emit_copy(g, ft_tensor_view(g, w, ndim, shape, plan->uniform ? apart : stride), to, false);
  return to;
}

static void emit_forward(filtra_graph *g, const struct gru *c) {
  int64_t batch = c->y->shape[0], n = c->y->shape[1], width = c->y->shape[2];
  const gru_plan plan = make_plan(ft_graph_device(g), true, batch, width, ft_begins_at(c->b_hh, 8));
  const filtra_tensor *weights = arranged(g, c->w_hh, true, &plan);
  if (!weights) return;
  const ft_access_mode kept = FT_ACCESS_READ | (c->inner ? FT_ACCESS_WRITE : 0);
  uint32_t steps = steps_per_dispatch(batch, width), end;
  for (uint32_t first = 0; first < n; first = end) {
    end = first + steps < n ? first + steps : (uint32_t)n;
    emit_steps(g, c, &plan,
               (ft_kernel_call){
                   .label = "gru",
                   FT_ARGUMENTS(gru_forward, .gates = {c->gates, kept}, .weights = FT_READ(weights),
                                .bias = FT_READ(c->b_hh), .h = FT_TARGET(c->y, first > 0),
                                .inner = FT_TARGET(c->inner, first > 0), .batch = (uint32_t)batch,
                                .n = (uint32_t)n, .first = first, .end = end)},
               end - first);
  }
}

static void emit_backward(filtra_graph *g, const struct gru *c, filtra_tensor *dinputs) {
  int64_t batch = c->y->shape[0], n = c->y->shape[1], width = c->y->shape[2];
  filtra_tensor *carry = ft_tensor_new(g, "gru carry", FILTRA_F32, 2, (int64_t[]){batch, width});
  const filtra_tensor *dh = ft_grad(g, c->y);
  const bool in_pairs = ft_begins_at(dh, 8) && (!dinputs || ft_begins_at(dinputs, 8));
  const gru_plan plan = make_plan(ft_graph_device(g), false, batch, width, in_pairs);
  const filtra_tensor *weights = plan.uniform ? arranged(g, c->w_hh, false, &plan) : c->w_hh;
  uint32_t steps = steps_per_dispatch(batch, width), first;
  for (uint32_t end = (uint32_t)n; carry && weights && end > 0; end = first) {
    first = end > steps ? end - steps : 0;
    bool later = end < n;
    emit_steps(g, c, &plan,
               (ft_kernel_call){
                   .label = "gru.backward",
                   FT_ARGUMENTS(gru_backward, .dh = FT_READ(dh), .h = FT_READ(c->y),
                                .weights = FT_READ(weights), .gates = FT_UPDATE(c->gates),
                                .inner = FT_UPDATE(c->inner), .dinputs = FT_TARGET(dinputs, later),
                                .carry = FT_TARGET(carry, later), .batch = (uint32_t)batch,
                                .n = (uint32_t)n, .first = first, .end = end)},
               end - first);
  }
}

/* After the recurrence `gates` holds the gradient of W_h h + b_h, and `inner` holds h_{t-1}. */
static void gru_backward(filtra_graph *g, const void *context) {
  const struct gru *c = context;
  bool accumulate;
  emit_backward(g, c, ft_grad_target(g, c->gates, &accumulate));
  ft_emit_affine_gradients(g, "gru.backward", c->gates, c->inner, c->w_hh, c->b_hh);
}

static bool check_gru(filtra_graph *g, const filtra_tensor *x, const filtra_tensor *w_ih,
                      const filtra_tensor *w_hh, const filtra_tensor *b_ih,
                      const filtra_tensor *b_hh) {
  if (!ft_usable_floats(g, x, 3, "gru", "x") || !ft_usable_floats(g, w_ih, 2, "gru", "w_ih") ||
      !ft_usable_floats(g, w_hh, 2, "gru", "w_hh") ||
      !ft_usable_floats(g, b_ih, 1, "gru", "b_ih") || !ft_usable_floats(g, b_hh, 1, "gru", "b_hh"))
    return false;
  int64_t width = w_hh->shape[1];
  if (!filtra_tensor_elements(x) || width < 1 || width > MOST_HIDDEN)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "gru: %lld hidden units for x %s %s, accepted are 1 to %d and x not empty",
                  (long long)width, x->name, ft_shape_text(x), MOST_HIDDEN);
  else if (w_hh->shape[0] != 3 * width || w_ih->shape[0] != 3 * width ||
           w_ih->shape[1] != ft_columns(x) || b_ih->shape[0] != 3 * width ||
           b_hh->shape[0] != 3 * width)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "gru: w_ih %s, w_hh %s, b_ih %s, b_hh %s must be [3H, C], [3H, H], [3H] and [3H] "
                  "for x %s %s",
                  ft_shape_text(w_ih), ft_shape_text(w_hh), ft_shape_text(b_ih),
                  ft_shape_text(b_hh), x->name, ft_shape_text(x));
  else
    return true;
  return false;
}

filtra_tensor *filtra_gru(filtra_graph *g, filtra_tensor *x, filtra_tensor *w_ih,
                          filtra_tensor *w_hh, filtra_tensor *b_ih, filtra_tensor *b_hh) {
  if (!check_gru(g, x, w_ih, w_hh, b_ih, b_hh)) return NULL;
  int64_t shape[] = {x->shape[0], x->shape[1], w_hh->shape[1]};
  struct gru s = {.gates = filtra_linear(g, x, w_ih, b_ih, NULL), .w_hh = w_hh, .b_hh = b_hh};
  s.y = ft_tensor_new(g, "gru", FILTRA_F32, 3, shape);
  if (!s.gates || !s.y) return NULL;
  if (s.gates->requires_grad || w_hh->requires_grad || b_hh->requires_grad) {
    s.inner = ft_tensor_new(g, "gru inner", FILTRA_F32, 3, shape);
    if (!s.inner) return NULL;
  }
  emit_forward(g, &s);
  return ft_record_op(g, "gru", gru_backward, &s, sizeof s, 3,
                      (filtra_tensor *[]){s.gates, w_hh, b_hh}, 1, &s.y);
}
