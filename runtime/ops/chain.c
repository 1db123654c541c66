/* Walks along the tokens, cut into chunks that are walked at the same time, and their tuning.
 * Called by ops/dhhp.c and ops/affine_scan.c. */
#include "ops/chain.h"
#include "dhhp/contract.h"
#include "ops/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- plan ---- */

struct plan {
  uint32_t batch, steps, features;
  uint32_t lanes, per_lane, ahead, blocks;
  uint32_t chunk, chunks; /* steps per chunk, and number of chunks */
  bool exact;             /* a team is a subgroup of `lanes`; otherwise a workgroup */
  bool wide;              /* use the kernels' CPU variant */
  bool uniform;           /* use that by uniform addresses: blocks of features are whole */
};

static uint32_t divide_up(uint64_t a, uint64_t b) {
  return (uint32_t)((a + b - 1) / b);
}

/* Number of chunks. Chunks cost another pass over the input, so there are only as many as keep the
 * device busy, and few enough that joining their summaries, one after the other, takes no longer
 * than walking through one chunk. */
static uint32_t standard_chunks(const ft_constants *constants, uint64_t teams, uint32_t steps) {
  const uint64_t enough = constants->chain_teams;
  const double shortest = constants->chain_steps;
  if (teams >= enough || steps < 2 * shortest) return 1;
  double chunk = (double)steps * (double)teams / (double)enough;
  return divide_up(steps, (uint32_t)ceil(fmax(fmax(chunk, shortest), sqrt((double)steps))));
}

enum { PER_LANE, AHEAD, PARTS };

static ft_configuration standard(const ft_caps *caps, const struct plan *p) {
  const uint32_t most = caps->cpu ? 8 : caps->few_registers ? 1 : 2;
  uint32_t per_lane = 1;
  while (per_lane < most && per_lane * p->lanes < p->features)
    per_lane *= 2;
  const uint64_t teams = (uint64_t)p->batch * divide_up(p->features, per_lane * p->lanes);
  return (ft_configuration){{per_lane, caps->cpu || caps->few_registers ? 1 : 4,
                             standard_chunks(ft_constants_of(caps), teams, p->steps)}};
}

static void cut(struct plan *p, const ft_configuration *c) {
  p->per_lane = c->value[PER_LANE];
  p->ahead = c->value[AHEAD];
  p->blocks = divide_up(p->features, p->per_lane * p->lanes);
  p->uniform = p->uniform && p->features % (p->per_lane * p->lanes) == 0;
  p->chunk = divide_up(p->steps, c->value[PARTS]);
  p->chunks = p->chunk ? divide_up(p->steps, p->chunk) : 1;
}

/* The part of the plan that depends on sizes only. */
static struct plan make_plan(const filtra_device *dev, const ft_chain *c) {
  const ft_caps *caps = ft_caps_of(dev);
  const int64_t *shape = c->in[0]->shape;
  struct plan p = {
      .batch = (uint32_t)shape[0], .steps = (uint32_t)shape[1] - 1, .features = (uint32_t)shape[2]};
  /* If lanes share few registers, narrow subgroups leave each lane more. */
  const uint32_t workgroup = ft_teams(dev, 1).workgroup;
  p.lanes = caps->info.subgroup_size;
  if (caps->few_registers && p.lanes > 16 && ft_caps_runs(caps, 16, workgroup)) p.lanes = 16;
  p.exact = ft_caps_runs(caps, p.lanes, workgroup);
  if (!p.exact) p.lanes = caps->row_workgroup;
  p.wide = caps->cpu && p.exact && caps->info.int64 && p.lanes >= 4;
  p.uniform = p.wide && ft_uniform_lanes(caps) == p.lanes;
  return p;
}

/* ---- questions of the tuner ---- */

/* The numbers of a question. */
typedef struct chain_problem {
  int64_t batch, tokens, features, lanes, affine, shift, up, adjoint, phased, permuted, permutation,
      vectors, summed;
} chain_problem;

static chain_problem problem_of(const ft_tuning_question *q) {
  chain_problem p;
  memcpy(&p, q->number, sizeof p);
  return p;
}

static bool usable(const filtra_device *dev, const ft_tuning_question *q,
                   const ft_configuration *c) {
  enum { SHORTEST = 16 }; /* steps of a chunk */
  const chain_problem p = problem_of(q);
  (void)dev;
  /* Not twice as many lanes as the features need, and no chunk without steps. */
  return (c->value[PER_LANE] == 1 || c->value[PER_LANE] * p.lanes < 2 * p.features) &&
         (c->value[PARTS] == 1 || (p.tokens - 1) / c->value[PARTS] >= SHORTEST);
}

/* Builds one walk with everything that the problem has. */
void ft_chain_build_trial(ft_trial *t, const ft_tuning_question *q, bool odd) {
  chain_problem p = problem_of(q);
  if (odd) {
    p.batch = p.batch < 2 ? p.batch : 2;
    p.features = p.features < 13 ? p.features : 13;
    p.tokens += p.tokens % 2 == 0;
  }
  const int64_t steps = p.tokens - 1, shape[] = {p.batch, p.tokens, p.features, 2};
  const int64_t rotations[] = {p.batch, steps, 4, 2}, rows[] = {p.batch, p.tokens, 2};
  ft_chain c = {.label = "chain",
                .affine = p.affine,
                .shift = (uint32_t)p.shift,
                .up = p.up,
                .adjoint = p.adjoint,
                .phased = (ft_chain_side)p.phased,
                .permuted = (ft_chain_side)p.permuted,
                .permutation = p.permutation,
                .vectors = (int)p.vectors};
  /* With coefficients in [-1,1) a step could multiply the carry by sqrt(2); half of that keeps it
   * small. */
  filtra_tensor *given =
      ft_trial_input(t, "coefficients", FILTRA_F32, p.affine ? 3 : 4, p.affine ? rows : rotations);
  if (!given) return;
  c.coefficients = filtra_affine(t->graph, given, 0.5f, 0.0f);
  if (p.phased) c.phases = ft_trial_input(t, "phases", FILTRA_F32, 3, rows);
  for (int i = 0; i < c.vectors; i++) {
    c.in[i] = ft_trial_input(t, "in", FILTRA_F32, 4, shape);
    filtra_tensor *out = ft_tensor_new(t->graph, "out", FILTRA_F32, 4, shape);
    c.out[i] = out;
    ft_trial_output(t, out);
  }
  filtra_tensor *gradient =
      p.summed ? ft_tensor_new(t->graph, "gradient", FILTRA_F32, 4, rotations) : NULL;
  c.gradient = gradient;
  if (p.summed) ft_trial_output(t, gradient);
  if (ft_graph_status(t->graph)) return;
  ft_emit_chain(t->graph, &c);
}

static ft_tuning_question question(const filtra_device *dev, const ft_chain *c,
                                   const struct plan *p) {
  const bool summed = c->gradient && p->steps;
  const chain_problem numbers = {.batch = p->batch,
                                 .tokens = p->steps + 1,
                                 .features = p->features,
                                 .lanes = p->lanes,
                                 .affine = c->affine,
                                 .shift = c->shift,
                                 .up = c->up,
                                 .adjoint = c->adjoint,
                                 .phased = c->phases ? c->phased : FT_CHAIN_NOWHERE,
                                 .permuted = c->permuted,
                                 .permutation = c->permutation,
                                 .vectors = c->vectors,
                                 .summed = summed};
  ft_tuning_question q = {
      .family = FT_TUNE_CHAIN, .standard = standard(ft_caps_of(dev), p), .usable = usable};
  memcpy(q.number, &numbers, sizeof numbers);
  snprintf(q.key, sizeof q.key, "%s w%u%s %s%s x%d n%lld f%lld b%lld",
           ft_configurations(q.family)->name, p->lanes,
           p->wide    ? " cpu"
           : p->exact ? ""
                      : " whole",
           c->affine ? "affine" : "rotations", summed ? " summed" : "", c->vectors,
           (long long)ft_tuning_bucket(p->steps + 1), (long long)ft_tuning_bucket(p->features),
           (long long)ft_tuning_bucket(p->batch));
  return q;
}

static struct plan choose_plan(const filtra_device *dev, const ft_chain *c) {
  struct plan p = make_plan(dev, c);
  if (ft_tuning_reference(dev)) {
    p.wide = p.uniform = false;
    cut(&p, &(ft_configuration){{1, 1, 1}});
  } else {
    ft_tuning_question q = question(dev, c, &p);
    ft_configuration chosen = ft_tuning_choose(dev, &q);
    cut(&p, &chosen);
  }
  return p;
}

/* ---- the two kernels ---- */

/* Kernels for teams that are subgroups, for workgroups, and for CPU drivers. */
typedef struct names {
  const char *exact, *whole, *wide, *uniform;
} names;
#define KERNEL(name)                                                                               \
  (names) {                                                                                        \
    "dhhp/" name, "dhhp/" name ".nosub", "dhhp/" name ".cpu", "dhhp/" name ".uniform"              \
  }

static const char *variant(const struct plan *plan, names kernel) {
  return plan->uniform ? kernel.uniform
         : plan->wide  ? kernel.wide
         : plan->exact ? kernel.exact
                       : kernel.whole;
}

/* Common arguments of both kernels: all are read, none written. */
static struct ft_dhhp_chain_arguments common_arguments(const ft_chain *c, const struct plan *p) {
  const bool phased = c->phases && c->phased;
  return (struct ft_dhhp_chain_arguments){
      .coefficients = FT_READ(p->steps ? c->coefficients : NULL),
      .phases = FT_READ(phased ? c->phases : NULL),
      .in0 = FT_READ(c->in[0]),
      .in1 = FT_READ(c->vectors > 1 ? c->in[1] : NULL),
      .batch = p->batch,
      .steps = p->steps,
      .features = p->features,
      .blocks = p->blocks,
      .chunks = p->chunks,
      .chunk = p->chunk,
      .stride = c->permutation > 1 ? (uint32_t)c->permutation : 1,
      .shift = c->shift};
}

static struct ft_dhhp_walk_constants walk_constants(const ft_chain *c, const struct plan *p) {
  return (struct ft_dhhp_walk_constants){.up = c->up,
                                         .adjoint = c->adjoint,
                                         .affine = c->affine,
                                         .vectors = (uint32_t)c->vectors,
                                         .per_lane = p->per_lane,
                                         .ahead = p->ahead,
                                         .phased = c->phases ? c->phased : FT_CHAIN_NOWHERE,
                                         .permuted =
                                             c->permutation > 1 ? c->permuted : FT_CHAIN_NOWHERE};
}

static void emit_teams(filtra_graph *g, const struct plan *p, ft_kernel_call *call,
                       uint64_t teams) {
  ft_team_grid grid = ft_teams(ft_graph_device(g), (int64_t)teams);
  if (!p->exact)
    grid = (ft_team_grid){p->lanes, (uint32_t)(teams < FT_MOST_GROUPS ? teams : FT_MOST_GROUPS)};
  call->workgroup = grid.workgroup;
  call->groups[0] = grid.groups;
  ft_record_call(g, call);
}

/* Computes what each chunk except the last does to a carry. */
static void emit_summaries(filtra_graph *g, const ft_chain *c, const struct plan *p,
                           const struct ft_dhhp_walk_constants *constants,
                           struct ft_dhhp_chain_arguments *given) {
  const double elements = (double)c->vectors * p->batch * (p->steps + 1.0) * p->features;
  int64_t shape[] = {(int64_t)c->vectors * p->batch, p->chunks - 1, p->features, 2};
  filtra_tensor *ends = ft_tensor_new(g, "chunk ends", FILTRA_F32, 4, shape);
  filtra_tensor *factors =
      ft_tensor_new(g, "chunk factors", FILTRA_F32, 3, (int64_t[]){p->batch, p->chunks - 1, 2});
  given->ends = (ft_arg)FT_WRITE(ends);
  given->factors = (ft_arg)FT_WRITE(factors);
  ft_kernel_call call = {.label = c->label,
                         .kernel = variant(p, KERNEL("summary")),
                         FT_ARGUMENTS_AT(dhhp_chain, given),
                         FT_CONSTANTS_AT(dhhp_walk, constants),
                         .subgroup = p->exact ? p->lanes : 0,
                         .flops = 16 * elements,
                         .bytes = 8 * elements};
  emit_teams(g, p, &call, (uint64_t)p->batch * (p->chunks - 1) * p->blocks);
  given->ends = (ft_arg)FT_READ(ends);
  given->factors = (ft_arg)FT_READ(factors);
}

void ft_emit_chain(filtra_graph *g, const ft_chain *c) {
  const struct plan p = choose_plan(ft_graph_device(g), c);
  const double elements = (double)c->vectors * p.batch * (p.steps + 1.0) * p.features;
  struct ft_dhhp_chain_arguments given = common_arguments(c, &p);
  const struct ft_dhhp_walk_constants walk = walk_constants(c, &p);
  if (p.chunks > 1) emit_summaries(g, c, &p, &walk, &given);

  /* A sum over features that fits one team goes to its target directly. */
  const bool summed = c->gradient && p.steps, direct = p.blocks == 1;
  const filtra_tensor *sums = c->gradient;
  if (summed && !direct)
    sums = ft_tensor_new(g, "rotation gradients", FILTRA_F32, 4,
                         (int64_t[]){p.blocks, p.batch, p.steps, 8});
  given.out0 = (ft_arg)FT_WRITE(c->out[0]);
  if (c->vectors > 1) given.out1 = (ft_arg)FT_WRITE(c->out[1]);
  const bool add = summed && direct && c->accumulate;
  if (summed) given.sums = (ft_arg)FT_TARGET(sums, add);
  struct ft_dhhp_chain_constants constants = {.summed = summed, .accumulate = add};
  memcpy(&constants, &walk, sizeof walk); /* the walk's constants come first */
  ft_kernel_call call = {.label = c->label,
                         .kernel = variant(&p, KERNEL("chain")),
                         FT_ARGUMENTS_AT(dhhp_chain, &given),
                         FT_CONSTANTS_AT(dhhp_chain, &constants),
                         .subgroup = p.exact ? p.lanes : 0,
                         .flops = (summed ? 44 : 28) * elements,
                         .bytes = 16 * elements};
  emit_teams(g, &p, &call, (uint64_t)p.batch * p.chunks * p.blocks);
  if (summed && !direct) ft_emit_sum_leading(g, c->label, sums, c->gradient, c->accumulate);
}

/* ---- products of two rows ---- */

void ft_emit_token_products(filtra_graph *g, const ft_token_products *products) {
  const filtra_device *dev = ft_graph_device(g);
  const int64_t *shape = products->y->shape;
  const uint32_t rows = (uint32_t)(shape[0] * shape[1]);
  const double elements = (double)filtra_tensor_elements(products->y) / 2;
  const bool wide =
      ft_caps_of(dev)->cpu && ft_caps_of(dev)->subgroup && ft_caps_of(dev)->info.int64;
  ft_kernel_call call = {
      .label = products->label,
      .kernel = wide ? "dhhp/products.cpu" : ft_kernel_name(dev, "dhhp/products"),
      FT_ARGUMENTS(dhhp_products, .x = FT_READ(products->x), .y = FT_READ(products->y),
                   .phases = FT_READ(products->phases),
                   .product = FT_TARGET(products->out, products->accumulate), .rows = rows,
                   .tokens = (uint32_t)shape[1], .features = (uint32_t)shape[2],
                   .shift = products->shift),
      FT_CONSTANTS(dhhp_products, .conjugated = products->conjugated,
                   .accumulate = products->accumulate),
      .flops = 8 * elements,
      .bytes = 16 * elements};
  ft_team_grid grid = ft_teams(dev, rows);
  call.workgroup = grid.workgroup;
  call.groups[0] = grid.groups;
  ft_record_call(g, &call);
}

/* ---- checks ---- */

bool ft_usable_features(filtra_graph *g, const filtra_tensor *t, const char *op,
                        const char *argument) {
  if (!ft_usable_floats(g, t, 4, op, argument)) return false;
  if (t->shape[3] == 2 && filtra_tensor_elements(t)) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s (%s %s) must be complex, [B,N,F,2], not empty",
                op, argument, t->name, ft_shape_text(t));
  return false;
}

bool ft_usable_shape(filtra_graph *g, const filtra_tensor *t, int ndim, const int64_t *shape,
                     const char *op, const char *argument) {
  if (!ft_usable_floats(g, t, ndim, op, argument)) return false;
  for (int i = 0; i < ndim; i++) {
    if (t->shape[i] == shape[i]) continue;
    char want[96];
    int used = 0;
    for (int k = 0; k < ndim; k++)
      used += snprintf(want + used, sizeof want - (size_t)used, "%s%lld", k ? ", " : "",
                       (long long)shape[k]);
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s: %s (%s %s) must be [%s]", op, argument, t->name,
                  ft_shape_text(t), want);
    return false;
  }
  return true;
}
