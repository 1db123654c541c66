/* Schedules invocations through control flow, and tracks which of them are guaranteed to have
 * reconverged.
 *
 * A workgroup's invocations execute the control flow together. Where they diverge, the branches are
 * executed one after the other, in an order drawn from the seed, and invocations that reach a
 * construct's merge block wait there for the others. This is the most reconvergence that can
 * happen. SPIR-V guarantees less (section 2.2.5, "Uniform control flow"): invocations reconverge at
 * a merge block if control flow was uniform at the header, which means that all invocations of the
 * workgroup arrived there together, and all left the construct through that merge block. So each
 * invocation has a class: invocations that take different branches get different classes, and only
 * guaranteed reconvergence gives them the same class again. A subgroup operation works on the
 * invocations of one class; if a subgroup has two classes there, the result depends on which
 * invocations happen to be together (groups.c).
 *
 * A module that declares SubgroupUniformControlFlowKHR has the same guarantee for a subgroup whose
 * invocations all arrived at the header together; MaximallyReconvergesKHR gives it for those that
 * arrived.
 *
 * Where a GPU may use another order, that shows as a race, whatever the order was here
 * (memory.c). */
#include "adversary/machine.h"

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

static void set_active(adv_machine *m, const adv_lanes *lanes) {
  m->full = same(m, lanes, &m->all);
  if (m->full && m->active_count == m->lanes) return;
  m->active_count = 0;
  for (uint32_t i = 0; i < m->lane_words; i++)
    for (uint64_t bits = lanes->bits[i]; bits; bits &= bits - 1)
      m->active[m->active_count++] = 64 * i + (uint32_t)__builtin_ctzll(bits);
}

/* ---- classes ---- */

/* Those who go different ways are no longer together: of each class, those of one way get a new
 * one. */
static void part(adv_machine *m, const way *ways, uint32_t count) {
  uint32_t before[ADV_MAX_LANES];
  memcpy(before, m->class_of, m->lanes * sizeof *before);
  m->splits++;
  for (uint32_t w = 0; w < count; w++) {
    uint32_t from[ADV_MAX_LANES], to = m->next_class, known = 0;
    for (uint32_t k = 0; k < m->active_count; k++) {
      const uint32_t lane = m->active[k];
      if (!has(&ways[w].lanes, lane)) continue;
      uint32_t at = 0;
      while (at < known && from[at] != before[lane])
        at++;
      if (at == known) from[known++] = before[lane];
      m->class_of[lane] = to + at;
    }
    m->next_class += known;
  }
}

/* Whether all of `group` are in `lanes`. */
static bool within(const adv_machine *m, const adv_lanes *group, const adv_lanes *lanes) {
  for (uint32_t i = 0; i < m->lane_words; i++)
    if (group->bits[i] & ~lanes->bits[i]) return false;
  return true;
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

static adv_lanes subgroup(const adv_machine *m, uint32_t number) {
  adv_lanes members = {0};
  for (uint32_t i = 0; i < m->lanes; i++)
    if (m->subgroup_of[i] == number) put(&members, i);
  return members;
}

/* At a merge block: those whom something guarantees to be together again get the class back that
 * they came to the header with. That is a group all of which came together and left here, or, with
 * `maximal`, whoever left here. */
static void meet_in(adv_machine *m, const adv_lanes *group, const adv_lanes *came,
                    const adv_lanes *left, const uint32_t *class_then, bool maximal) {
  if (!maximal &&
      !(within(m, group, came) && within(m, group, left) && one_class(m, group, class_then)))
    return;
  for (uint32_t i = 0; i < m->lanes; i++)
    if (has(group, i) && has(left, i)) m->class_of[i] = class_then[i];
}

static void meet(adv_machine *m, const adv_lanes *came, const adv_lanes *left,
                 const uint32_t *class_then) {
  const bool by_subgroups = m->p->subgroup_uniform || m->manner->by_subgroups;
  meet_in(m, &m->all, came, left, class_then, m->p->maximal);
  for (uint32_t s = 0; by_subgroups && s < m->subgroups; s++) {
    const adv_lanes members = subgroup(m, s);
    meet_in(m, &members, came, left, class_then, false);
  }
}

static void report(adv_machine *m, adv_fault fault, uint32_t at, const char *what,
                   uint32_t number) {
  adv_report_note(m->report, m->p, fault, at, "workgroup (%u, %u, %u): %s %u", m->group[0],
                  m->group[1], m->group[2], what, number);
}

/* All of the workgroup must be here, in one class. Of a subgroup's barrier: all of each subgroup
 * that has one here. */
void adv_barrier(adv_machine *m, const adv_op *op) {
  adv_lanes here = {0};
  for (uint32_t k = 0; k < m->active_count; k++)
    put(&here, m->active[k]);
  for (uint32_t s = 0; s < (op->c ? m->subgroups : 1); s++) {
    const adv_lanes group = op->c ? subgroup(m, s) : m->all;
    bool none_of_it = true;
    for (uint32_t i = 0; i < m->lane_words; i++)
      none_of_it = none_of_it && !(group.bits[i] & here.bits[i]);
    if (none_of_it) continue;
    if (!within(m, &group, &here))
      report(m, ADV_BARRIER_LEFT, op->at,
             "invocations that reach it, which are not all:", m->active_count);
    else if (!one_class(m, &group, m->class_of))
      report(m, ADV_BARRIER_LEFT, op->at,
             "nothing guarantees that they reach it together, although all do:", m->active_count);
  }
  for (uint32_t k = 0; op->c && k < m->active_count; k++)
    m->inner_of[m->active[k]]++;
  if (!op->c && op->a & SpvMemorySemanticsWorkgroupMemoryMask) m->shared_epoch++;
  if (!op->c && op->a & SpvMemorySemanticsUniformMemoryMask) m->device_epoch++;
}

/* ---- ways ---- */

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

/* Takes those out of `lanes` whose selector is this literal. */
static adv_lanes take(const adv_machine *m, const adv_block *b, uint32_t literal,
                      adv_lanes *lanes) {
  const uint32_t *selector = ADV_ROW(m, uint32_t, b->selector);
  adv_lanes taken = {0};
  for (uint32_t i = 0; i < m->lanes; i++)
    taken.bits[i / 64] |= (uint64_t)(selector[i] == literal) << i % 64;
  for (uint32_t i = 0; i < m->lane_words; i++) {
    taken.bits[i] &= lanes->bits[i];
    lanes->bits[i] &= ~taken.bits[i];
  }
  return taken;
}

/* Whether the selector is the same for all active ones, as it mostly is. */
static bool agree(const adv_machine *m, const adv_block *b) {
  const uint32_t *selector = ADV_ROW(m, uint32_t, b->selector);
  uint32_t differ = 0;
  for (uint32_t k = 0; k < m->active_count; k++)
    differ |= selector[m->active[k]] ^ selector[m->active[0]];
  return !differ;
}

/* The ways that these take behind a block, those of one target together. */
static uint32_t choose(adv_machine *m, const adv_block *b, adv_lanes lanes, way ways[MAX_WAYS],
                       const adv_edge *edges[MAX_WAYS]) {
  uint32_t count = 0;
  if (b->edge_count == 1 || (b->edge_count && agree(m, b))) {
    const uint32_t value = ADV_ROW(m, uint32_t, b->selector)[m->active[0]];
    uint32_t e = b->edge_count - 1;
    while (e && b->literals[e] != value)
      e--;
    ways[0] = (way){b->edges[e].target, lanes};
    edges[0] = &b->edges[e];
    return 1;
  }
  for (uint32_t e = b->edge_count; e-- > 0;) {
    const adv_lanes those = e ? take(m, b, b->literals[e], &lanes) : lanes;
    if (none(m, &those)) continue;
    uint32_t w = 0;
    while (w < count && ways[w].block != b->edges[e].target)
      w++;
    if (w == MAX_WAYS) abort();
    if (w == count) {
      ways[count] = (way){.block = b->edges[e].target};
      edges[count++] = &b->edges[e];
    }
    add(m, &ways[w].lanes, &those);
  }
  return count;
}

/* Executes a block; what is left in `ways` is within the present construct. */
static uint32_t execute(adv_machine *m, uint32_t number, const adv_lanes *lanes,
                        way ways[MAX_WAYS]) {
  const adv_block *b = &m->p->blocks[number];
  const adv_edge *edges[MAX_WAYS];
  set_active(m, lanes);
  adv_execute(m, m->p->ops + b->first, b->count);
  if (++m->steps > m->step_limit) {
    report(m, ADV_ENDLESS, m->p->instructions[b->at].at,
           "too many operations; invocations still in this block:", m->active_count);
    m->stopped = true;
  }
  if (m->stopped) return 0;
  uint32_t count = choose(m, b, *lanes, ways, edges), kept = 0;
  if (count > 1) part(m, ways, count);
  for (uint32_t w = 0; w < count; w++) {
    if (edges[w]->count) {
      set_active(m, &ways[w].lanes);
      adv_execute(m, m->p->ops + edges[w]->first, edges[w]->count);
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

/* What is built in, of each axis if it has some; UINT32_MAX: it is not known here. */
static uint32_t builtin(const adv_machine *m, uint32_t which, uint32_t lane, uint32_t axis) {
  const uint32_t *size = m->p->size, row = lane / size[0];
  const uint32_t local[3] = {lane % size[0], row % size[1], row / size[1]};
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
  default:
    return UINT32_MAX;
  }
}

bool adv_builtin_known(uint32_t which) {
  static const adv_program one = {.size = {1, 1, 1}};
  static const adv_machine any = {.p = &one};
  return builtin(&any, which, 0, 0) != UINT32_MAX;
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
        const size_t row = (size_t)(p->builtins[b].offset + 4 * axis) * m->lanes;
        const uint32_t value = builtin(m, p->builtins[b].builtin, lane, axis);
        memcpy(m->private_memory + row + 4 * lane, &value, sizeof value);
        m->private_written[row + lane] = 1;
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

static void run(adv_machine *m) {
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

static void fill_constants(adv_machine *m) {
  for (const adv_constant *c = m->p->constants; c < m->p->constants + m->p->constant_count; c++)
    for (uint32_t i = 0; i < m->lanes; i++) {
      if (c->wide)
        ADV_ROW(m, uint64_t, c->row)[i] = c->bits;
      else
        ADV_ROW(m, uint32_t, c->row)[i] = (uint32_t)c->bits;
    }
}

void adv_machine_run(const adv_program *p, const adv_manner *manner, adv_memory *memory,
                     adv_report *report, const void *push, uint32_t push_size,
                     const uint32_t groups[3]) {
  adv_machine *m = adv_list(1, sizeof *m);
  *m = (adv_machine){.p = p,
                     .manner = manner,
                     .memory = memory,
                     .report = report,
                     .push = push,
                     .push_size = push_size,
                     .groups = {groups[0], groups[1], groups[2]},
                     .lanes = p->size[0] * p->size[1] * p->size[2],
                     .step_limit = manner->steps ? manner->steps : 1u << 24};
  m->lane_words = (m->lanes + 63) / 64;
  for (uint32_t i = 0; i < m->lanes; i++)
    put(&m->all, i);
  m->rows = adv_list(m->lanes, p->row_bytes + 8u);
  m->private_memory = adv_list(m->lanes, p->private_bytes + 8u);
  m->private_written = adv_list(m->lanes, p->private_bytes + 8u);
  m->lane_at = adv_list(ADV_MAX_LANES * 2, sizeof *m->lane_at);
  m->shared = adv_region_create(NULL, 0, p->shared_bytes);
  fill_constants(m);
  adv_make_subgroups(m);
  run(m);
  report->dispatches++;
  adv_region_destroy(&m->shared);
  void *const lists[] = {m->rows, m->private_memory, m->private_written, m->lane_at, m};
  for (size_t i = 0; i < FT_COUNT(lists); i++)
    free(lists[i]);
}
