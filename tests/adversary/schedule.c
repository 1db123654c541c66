/* Which invocations go where, and who of them is guaranteed to be together.
 *
 * A workgroup's invocations walk through the control flow side by side. Where they part, the ways
 * are gone one after the other, in an order drawn from the seed, and whoever reaches a construct's
 * merge block waits there for the others. That they meet there is the best that can happen. What
 * SPIR-V guarantees (section 2.2.5, "Uniform control flow") is less: they meet at a merge block if
 * control flow was uniform at the header, which is to say that all invocations of the workgroup
 * came there together, and all left the construct through that merge block. So each invocation has
 * a class: parting gives those who go different ways different ones, and only a meeting that is
 * guaranteed gives them one class again. An operation of a subgroup works among those of a class;
 * if it sees two in a subgroup, its result depends on who happens to be there (groups.c).
 *
 * A module that declares SubgroupUniformControlFlowKHR has the same guarantee for a subgroup all of
 * which came to the header together; MaximallyReconvergesKHR gives it for those who came.
 *
 * Where things happen in another order on a GPU, that shows as a race, whatever the order was here
 * (memory.c). */
#include "adversary/machine.h"
#include "adversary/operations.h"

#include "base/memory.h"

#include <fenv.h>
#include <spirv/unified1/spirv.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

struct adv_frame {
  adv_frame *outer;
  uint32_t merge, continues, header; /* blocks; a selection has only the first */
  adv_lanes at_merge, at_continue, at_header;
};

enum { MAX_WAYS = 64 };

/** Some invocations at the beginning of a block. */
typedef struct way {
  uint32_t block;
  adv_lanes lanes;
} way;

/* ---- sets of invocations ---- */

static bool none(const adv_machine *m, const adv_lanes *l) {
  for (uint32_t i = 0; i < m->lane_words; i++)
    if (l->bits[i]) return false;
  return true;
}

static bool same(const adv_machine *m, const adv_lanes *a, const adv_lanes *b) {
  return !memcmp(a->bits, b->bits, m->lane_words * sizeof a->bits[0]);
}

static void add(const adv_machine *m, adv_lanes *to, const adv_lanes *l) {
  for (uint32_t i = 0; i < m->lane_words; i++)
    to->bits[i] |= l->bits[i];
}

static void put(adv_lanes *to, uint32_t lane) {
  to->bits[lane / 64] |= UINT64_C(1) << lane % 64;
}

static bool has(const adv_lanes *l, uint32_t lane) {
  return l->bits[lane / 64] >> lane % 64 & 1;
}

void adv_set_active(adv_machine *m, const adv_lanes *lanes) {
  m->active_count = 0;
  for (uint32_t i = 0; i < m->lane_words; i++)
    for (uint64_t bits = lanes->bits[i]; bits; bits &= bits - 1)
      m->active[m->active_count++] = 64 * i + (uint32_t)__builtin_ctzll(bits);
  m->full = m->active_count == m->lanes;
}

/* ---- classes ---- */

/* Those who go different ways are no longer together. */
static void part(adv_machine *m, const way *ways, uint32_t count) {
  uint32_t before[ADV_MAX_LANES];
  memcpy(before, m->class_of, m->lanes * sizeof *before);
  m->splits++;
  for (uint32_t w = 0; w < count; w++) {
    uint32_t from = 0, to = 0;
    for (uint32_t k = 0; k < m->active_count; k++) {
      uint32_t lane = m->active[k];
      if (!has(&ways[w].lanes, lane)) continue;
      if (!to || before[lane] != from) { /* classes alternate rarely: one more does no harm */
        bool known = false;
        for (uint32_t e = 0; e < k && !known; e++)
          if (has(&ways[w].lanes, m->active[e]) && before[m->active[e]] == before[lane]) {
            known = true;
            to = m->class_of[m->active[e]];
          }
        if (!known) to = m->next_class++;
        from = before[lane];
      }
      m->class_of[lane] = to;
    }
  }
}

static bool one_class(const adv_machine *m, const adv_lanes *lanes, const uint32_t *class_of) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < m->lanes; i++) {
    if (!has(lanes, i)) continue;
    if (found && class_of[i] != found) return false;
    found = class_of[i];
  }
  return true;
}

/* At a merge block: those whom something guarantees to be together again get the class back that
 * they came to the header with. */
static void meet(adv_machine *m, const adv_lanes *came, const adv_lanes *left,
                 const uint32_t *class_then) {
  const bool everybody =
      same(m, came, &m->all) && same(m, left, &m->all) && one_class(m, came, class_then);
  if (everybody || m->p->maximal) {
    for (uint32_t i = 0; i < m->lanes; i++)
      if (has(left, i)) m->class_of[i] = class_then[i];
    return;
  }
  if (!m->p->subgroup_uniform && !m->manner->by_subgroups) return;
  for (uint32_t s = 0; s < m->subgroups; s++) {
    adv_lanes members = {0};
    bool whole = true;
    for (uint32_t i = 0; i < m->lanes; i++) {
      if (m->subgroup_of[i] != s) continue;
      put(&members, i);
      whole = whole && has(came, i) && has(left, i);
    }
    if (!whole || !one_class(m, &members, class_then)) continue;
    for (uint32_t i = 0; i < m->lanes; i++)
      if (m->subgroup_of[i] == s) m->class_of[i] = class_then[i];
  }
}

/* A barrier of subgroups: all of each that has one here must be here, in one class. */
static void subgroup_barrier(adv_machine *m, const adv_op *op, const adv_lanes *here) {
  for (uint32_t k = 0; k < m->active_count; k++) {
    uint32_t s = m->subgroup_of[m->active[k]];
    bool whole = true;
    for (uint32_t i = 0; i < m->lanes; i++)
      if (m->subgroup_of[i] == s)
        whole = whole && has(here, i) && m->class_of[i] == m->class_of[m->active[k]];
    m->inner_of[m->active[k]]++;
    adv_finding *f = whole ? NULL : adv_report_note(m->report, m->p, ADV_BARRIER_LEFT, op->at);
    if (f)
      snprintf(f->text, sizeof f->text,
               "workgroup (%u, %u, %u): nothing guarantees that all of subgroup %u reach it "
               "together",
               m->group[0], m->group[1], m->group[2], s);
  }
}

void adv_barrier(adv_machine *m, const adv_op *op) {
  adv_lanes here = {0};
  for (uint32_t k = 0; k < m->active_count; k++)
    put(&here, m->active[k]);
  if (op->c) {
    subgroup_barrier(m, op, &here);
    return;
  }
  bool together = one_class(m, &here, m->class_of);
  if (m->active_count != m->lanes || !together) {
    adv_finding *f = adv_report_note(m->report, m->p, ADV_BARRIER_LEFT, op->at);
    if (f && m->active_count != m->lanes)
      snprintf(f->text, sizeof f->text, "workgroup (%u, %u, %u): %u of %u invocations reach it",
               m->group[0], m->group[1], m->group[2], m->active_count, m->lanes);
    else if (f)
      snprintf(f->text, sizeof f->text,
               "workgroup (%u, %u, %u): all reach it, but nothing guarantees that they do so "
               "together",
               m->group[0], m->group[1], m->group[2]);
  }
  if (op->a & SpvMemorySemanticsWorkgroupMemoryMask) m->shared_epoch++;
  if (op->a & SpvMemorySemanticsUniformMemoryMask) m->device_epoch++;
}

/* ---- ways ---- */

static void move(adv_machine *m, const adv_edge *edge) {
  const adv_move *moves = m->p->moves + edge->first;
  uint64_t kept[64];
  if (!edge->overlapping || edge->count > 64) {
    for (uint32_t i = 0; i < edge->count; i++) {
      adv_op op = {.code = moves[i].wide ? ADV_OP_MOVE64 : ADV_OP_MOVE,
                   .d = moves[i].to,
                   .a = moves[i].from};
      adv_report *report = m->report;
      m->report = NULL; /* neither counted nor traced */
      adv_execute(m, &op, 1);
      m->report = report;
    }
    return;
  }
  for (uint32_t k = 0; k < m->active_count; k++) {
    uint32_t lane = m->active[k];
    for (uint32_t i = 0; i < edge->count; i++)
      kept[i] = moves[i].wide ? ADV_ROW(m, uint64_t, moves[i].from)[lane]
                              : ADV_ROW(m, uint32_t, moves[i].from)[lane];
    for (uint32_t i = 0; i < edge->count; i++) {
      if (moves[i].wide)
        ADV_ROW(m, uint64_t, moves[i].to)[lane] = kept[i];
      else
        ADV_ROW(m, uint32_t, moves[i].to)[lane] = (uint32_t)kept[i];
    }
  }
}

/* Whether a block is where an enclosing construct waits or goes on; if so they wait there. */
static bool arrive(adv_machine *m, uint32_t block, const adv_lanes *lanes) {
  for (adv_frame *f = m->frame; f; f = f->outer) {
    adv_lanes *place = block == f->merge       ? &f->at_merge
                       : block == f->header    ? &f->at_header
                       : block == f->continues ? &f->at_continue
                                               : NULL;
    if (!place) continue;
    add(m, place, lanes);
    return true;
  }
  return false;
}

static uint32_t edge_for(const adv_machine *m, const adv_block *b, uint32_t lane) {
  if (b->end == ADV_BRANCH) return 0;
  uint32_t value = ADV_ROW(m, uint32_t, b->selector)[lane];
  if (b->end == ADV_CONDITIONAL) return value ? 0 : 1;
  for (uint32_t i = 1; i < b->edge_count; i++)
    if (b->literals[i] == value) return i;
  return 0;
}

/* The ways that the active invocations take behind a block, those of one target together. */
static uint32_t choose(adv_machine *m, const adv_block *b, way ways[MAX_WAYS],
                       const adv_edge *edges[MAX_WAYS]) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < m->active_count; k++) {
    const adv_edge *edge = &b->edges[edge_for(m, b, m->active[k])];
    uint32_t w = 0;
    while (w < count && ways[w].block != edge->target)
      w++;
    if (w == count) {
      if (count == MAX_WAYS) abort();
      ways[count] = (way){.block = edge->target};
      edges[count++] = edge;
    }
    put(&ways[w].lanes, m->active[k]);
  }
  return count;
}

static void stop_endless(adv_machine *m, const adv_block *b) {
  adv_finding *f = adv_report_note(m->report, m->p, ADV_ENDLESS, m->p->instructions[b->at].at);
  if (f)
    snprintf(f->text, sizeof f->text,
             "workgroup (%u, %u, %u): %llu operations, and %u invocations "
             "are still in this block",
             m->group[0], m->group[1], m->group[2], (unsigned long long)m->steps, m->active_count);
  m->stopped = true;
}

/* Executes a block; what is left in `ways` is within the present construct. */
static uint32_t execute(adv_machine *m, uint32_t number, const adv_lanes *lanes,
                        way ways[MAX_WAYS]) {
  const adv_block *b = &m->p->blocks[number];
  const adv_edge *edges[MAX_WAYS];
  adv_set_active(m, lanes);
  adv_execute(m, m->p->ops + b->first, b->count);
  if (++m->steps > m->step_limit) stop_endless(m, b);
  if (m->stopped || b->end == ADV_RETURN || b->end == ADV_UNREACHABLE) return 0;
  uint32_t count, kept = 0;
  if (b->end == ADV_BRANCH) {
    ways[0] = (way){b->edges[0].target, *lanes};
    edges[0] = &b->edges[0];
    count = 1;
  } else {
    count = choose(m, b, ways, edges);
  }
  if (count > 1) part(m, ways, count);
  for (uint32_t w = 0; w < count; w++) {
    if (edges[w]->count) {
      adv_set_active(m, &ways[w].lanes);
      move(m, edges[w]);
    }
    if (!arrive(m, ways[w].block, &ways[w].lanes)) ways[kept++] = ways[w];
  }
  return kept;
}

static void walk(adv_machine *m, way at);

static void walk_each(adv_machine *m, const way *ways, uint32_t count) {
  uint32_t first = count ? (uint32_t)(adv_mix(m->manner->order, m->steps, m->number) % count) : 0;
  for (uint32_t i = 0; i < count && !m->stopped; i++)
    walk(m, ways[(first + i) % count]);
}

static void loop(adv_machine *m, adv_frame *f, adv_lanes lanes) {
  way ways[MAX_WAYS];
  while (!none(m, &lanes) && !m->stopped) {
    f->at_header = f->at_continue = (adv_lanes){0};
    uint32_t count = execute(m, f->header, &lanes, ways);
    walk_each(m, ways, count);
    if (!none(m, &f->at_continue)) {
      adv_lanes on = f->at_continue;
      walk(m, (way){f->continues, on});
    }
    lanes = f->at_header;
  }
}

/* A header with its construct; returns who left by the merge block. */
static adv_lanes construct(adv_machine *m, const way *at) {
  const adv_block *b = &m->p->blocks[at->block];
  adv_frame f = {
      .outer = m->frame, .merge = b->merge, .header = ADV_NO_BLOCK, .continues = ADV_NO_BLOCK};
  uint32_t classes[ADV_MAX_LANES], splits = m->splits;
  memcpy(classes, m->class_of, m->lanes * sizeof *classes);
  m->frame = &f;
  if (b->continues != ADV_NO_BLOCK) {
    f.header = at->block;
    f.continues = b->continues;
    loop(m, &f, at->lanes);
  } else {
    way ways[MAX_WAYS];
    walk_each(m, ways, execute(m, at->block, &at->lanes, ways));
  }
  m->frame = f.outer;
  if (m->splits != splits) meet(m, &at->lanes, &f.at_merge, classes);
  return f.at_merge;
}

/* From a block on, until all have left the construct around it. */
static void walk(adv_machine *m, way at) {
  while (!none(m, &at.lanes) && !m->stopped) {
    const adv_block *b = &m->p->blocks[at.block];
    if (b->merge != ADV_NO_BLOCK) {
      at.lanes = construct(m, &at);
      at.block = b->merge;
      /* the merge block may itself be where an outer construct goes on */
      if (arrive(m, at.block, &at.lanes)) return;
      continue;
    }
    way ways[MAX_WAYS];
    uint32_t count = execute(m, at.block, &at.lanes, ways);
    if (count != 1) {
      walk_each(m, ways, count);
      return;
    }
    at = ways[0];
  }
}

/* ---- workgroups ---- */

bool adv_builtin_known(uint32_t builtin) {
  static const uint32_t known[] = {
      SpvBuiltInNumWorkgroups,      SpvBuiltInWorkgroupId,
      SpvBuiltInWorkgroupSize,      SpvBuiltInLocalInvocationId,
      SpvBuiltInGlobalInvocationId, SpvBuiltInLocalInvocationIndex,
      SpvBuiltInSubgroupSize,       SpvBuiltInNumSubgroups,
      SpvBuiltInSubgroupId,         SpvBuiltInSubgroupLocalInvocationId};
  for (size_t i = 0; i < FT_COUNT(known); i++)
    if (known[i] == builtin) return true;
  return false;
}

static uint32_t builtin(const adv_machine *m, uint32_t which, uint32_t lane, uint32_t axis) {
  const uint32_t *size = m->p->size;
  uint32_t local[3] = {lane % size[0], lane / size[0] % size[1], lane / size[0] / size[1]};
  switch (which) {
  case SpvBuiltInNumWorkgroups:
    return m->groups[axis];
  case SpvBuiltInWorkgroupId:
    return m->group[axis];
  case SpvBuiltInLocalInvocationId:
    return local[axis];
  case SpvBuiltInGlobalInvocationId:
    return m->group[axis] * size[axis] + local[axis];
  case SpvBuiltInLocalInvocationIndex:
    return lane;
  case SpvBuiltInSubgroupSize:
    return m->subgroup_size;
  case SpvBuiltInNumSubgroups:
    return m->subgroups;
  case SpvBuiltInSubgroupId:
    return m->subgroup_of[lane];
  case SpvBuiltInSubgroupLocalInvocationId:
    return m->place_of[lane];
  default: /* the workgroup's size */
    return size[axis];
  }
}

static void reset(adv_machine *m) {
  const adv_program *p = m->p;
  memset(m->private_memory, 0x7f, (size_t)m->lanes * p->private_bytes);
  memset(m->private_written, 0, (size_t)m->lanes * p->private_bytes);
  memset(m->shared.data, 0x7f, p->shared_bytes);
  memset(m->shared.words, 0, (p->shared_bytes / 4 + 1) * sizeof *m->shared.words);
  for (uint32_t lane = 0; lane < m->lanes; lane++)
    for (uint32_t b = 0; b < p->builtin_count; b++)
      for (uint32_t axis = 0; axis < 3; axis++) {
        size_t at = (size_t)lane * p->private_bytes + p->builtins[b].offset + 4 * axis;
        uint32_t value = builtin(m, p->builtins[b].builtin, lane, axis);
        memcpy(m->private_memory + at, &value, sizeof value);
        memset(m->private_written + at, 1, sizeof value);
        if (p->builtins[b].builtin >= SpvBuiltInLocalInvocationIndex) break;
      }
  m->shared_epoch = m->device_epoch = 0;
  memset(m->inner_of, 0, sizeof m->inner_of);
  m->steps = 0;
  m->stopped = false;
  m->next_class = 2;
  for (uint32_t i = 0; i < m->lanes; i++)
    m->class_of[i] = 1;
}

void adv_machine_run(adv_machine *m) {
  uint64_t count = (uint64_t)m->groups[0] * m->groups[1] * m->groups[2];
  uint64_t first = adv_mix(m->manner->order, count, 5) % count;
  bool backwards = m->manner->order & 1;
  fenv_t before;
  fegetenv(&before);
  fesetround(m->manner->rounding);
#ifdef __SSE__
  if (m->manner->flush) _mm_setcsr(_mm_getcsr() | 0x8040); /* results and operands to zero */
#endif
  for (uint64_t i = 0; i < count; i++) {
    uint64_t at = (first + (backwards ? count - i : i)) % count;
    m->group[0] = (uint32_t)(at % m->groups[0]);
    m->group[1] = (uint32_t)(at / m->groups[0] % m->groups[1]);
    m->group[2] = (uint32_t)(at / m->groups[0] / m->groups[1]);
    m->number = m->memory->next_group++;
    reset(m);
    walk(m, (way){0, m->all});
  }
  fesetenv(&before);
}

filtra_status adv_machine_create(const adv_program *p, const adv_manner *manner, adv_memory *memory,
                                 adv_report *report, const void *push, uint32_t push_size,
                                 const uint32_t groups[3], adv_machine **out) {
  adv_machine *m = *out = ft_calloc(1, sizeof *m);
  if (!m) return FILTRA_ERROR_HOST_MEMORY;
  *m = (adv_machine){.p = p,
                     .manner = manner,
                     .memory = memory,
                     .report = report,
                     .push = push,
                     .push_size = push_size,
                     .groups = {groups[0], groups[1], groups[2]},
                     .step_limit = manner->steps ? manner->steps : 1u << 24};
  m->lanes = p->size[0] * p->size[1] * p->size[2];
  m->lane_words = (m->lanes + 63) / 64;
  for (uint32_t i = 0; i < m->lanes; i++)
    put(&m->all, i);
  m->rows = ft_calloc(m->lanes, p->row_bytes + 8u);
  m->private_memory = ft_calloc(m->lanes, p->private_bytes + 8u);
  m->private_written = ft_calloc(m->lanes, p->private_bytes + 8u);
  m->lane_at = ft_calloc(ADV_MAX_LANES * 2, sizeof *m->lane_at);
  if (adv_bytes_create(0, p->shared_bytes, &m->shared) || !m->rows || !m->private_memory ||
      !m->private_written || !m->lane_at) {
    adv_machine_destroy(out);
    return FILTRA_ERROR_HOST_MEMORY;
  }
  for (size_t c = 0; c < p->constant_count; c++)
    for (uint32_t i = 0; i < m->lanes; i++) {
      const adv_constant *constant = &p->constants[c];
      if (constant->wide)
        ADV_ROW(m, uint64_t, constant->row)[i] = constant->bits;
      else
        ADV_ROW(m, uint32_t, constant->row)[i] = (uint32_t)constant->bits;
    }
  adv_make_subgroups(m);
  return FILTRA_OK;
}

void adv_machine_destroy(adv_machine **machine) {
  adv_machine *m = *machine;
  if (!m) return;
  free(m->rows);
  free(m->private_memory);
  free(m->private_written);
  adv_bytes_destroy(&m->shared);
  free(m->lane_at);
  free(m);
  *machine = NULL;
}

adv_manner adv_manner_of(uint64_t seed, uint32_t subgroup, bool rounds) {
  static const int roundings[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
  adv_manner how = {.seed = seed,
                    .order = seed,
                    .subgroup = subgroup ? subgroup
                                : seed   ? 4u << seed % 6
                                         : 32,
                    .rounding = FE_TONEAREST};
  if (!seed) return how;
  uint64_t drawn = adv_mix(seed, 1, 1);
  how.scattered = drawn >> 8 & 1;
  how.ragged = drawn >> 9 & 1;
  if (!rounds) return how;
  how.loose = seed % 4 == 1 ? -1 : seed % 4 == 2 ? 1 : 2;
  how.rounding = roundings[drawn % 4];
  how.flush = drawn >> 10 & 1;
  how.contracts = true;
  return how;
}
