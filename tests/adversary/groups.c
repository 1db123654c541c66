/* Subgroups: which invocations form them, and operations among converged invocations.
 *
 * Vulkan does not specify which invocations of a workgroup form a subgroup, nor, unless a pipeline
 * requires full subgroups, that a subgroup is full. Sums may be taken in any order. */
#include "adversary/machine.h"

#include <spirv/unified1/spirv.h>
#include <string.h>

enum { NOBODY = 0xffff };

/* A permutation of 0 .. count - 1, drawn by the seed. */
static void shuffle(uint16_t *list, uint32_t count, uint64_t seed) {
  for (uint32_t i = 0; i < count; i++)
    list[i] = (uint16_t)i;
  for (uint32_t i = count; i > 1; i--) {
    uint32_t k = (uint32_t)(adv_mix(seed, i, 17) % i);
    uint16_t kept = list[k];
    list[k] = list[i - 1];
    list[i - 1] = kept;
  }
}

void adv_make_subgroups(adv_machine *m) {
  const adv_manner *how = m->manner;
  const adv_source *source = &m->p->source;
  uint32_t size = m->subgroup_size = source->subgroup ? source->subgroup : how->subgroup;
  bool full = source->full && m->lanes % size == 0;
  bool ragged = how->ragged && !full && size > 4;
  uint32_t in_each = ragged ? size - size / 4 : size;
  m->subgroups = (m->lanes + in_each - 1) / in_each;
  uint16_t order[ADV_MAX_LANES];
  shuffle(order, m->lanes, how->seed);
  memset(m->lane_at, 0xff, ADV_MAX_LANES * 2 * sizeof *m->lane_at);
  for (uint32_t i = 0; i < m->lanes; i++) {
    uint32_t lane = how->scattered ? order[i] : i;
    m->subgroup_of[lane] = (uint16_t)(i / in_each);
    m->place_of[lane] = (uint16_t)(i % in_each);
    m->lane_at[m->subgroup_of[lane] * size + m->place_of[lane]] = (uint16_t)lane;
  }
}

/* ---- operations ---- */

static double real_combined(uint16_t code, double x, double y) {
  switch (code) {
  case SpvOpGroupNonUniformFMin:
    return y < x ? y : x;
  case SpvOpGroupNonUniformFMax:
    return y > x ? y : x;
  default:
    return x + y;
  }
}

uint64_t adv_combined(const adv_op *op, uint64_t x, uint64_t y) {
  const bool wide = op->bits == 64;
  const int64_t a = wide ? (int64_t)x : (int32_t)x, b = wide ? (int64_t)y : (int32_t)y;
  float f, g;
  double u, v;
  memcpy(&u, &x, sizeof u);
  memcpy(&v, &y, sizeof v);
  memcpy(&f, &x, sizeof f);
  memcpy(&g, &y, sizeof g);
  switch (op->code) {
  case SpvOpAtomicIAdd:
  case SpvOpGroupNonUniformIAdd:
    return x + y;
  case SpvOpAtomicUMin:
  case SpvOpGroupNonUniformUMin:
    return x < y ? x : y;
  case SpvOpAtomicUMax:
  case SpvOpGroupNonUniformUMax:
    return x > y ? x : y;
  case SpvOpAtomicSMin:
  case SpvOpGroupNonUniformSMin:
    return a < b ? x : y;
  case SpvOpAtomicSMax:
  case SpvOpGroupNonUniformSMax:
    return a > b ? x : y;
  case SpvOpAtomicAnd:
  case SpvOpGroupNonUniformBitwiseAnd:
    return x & y;
  case SpvOpAtomicOr:
  case SpvOpGroupNonUniformBitwiseOr:
    return x | y;
  case SpvOpAtomicXor:
  case SpvOpGroupNonUniformBitwiseXor:
    return x ^ y;
  default: /* a float, rounded once */
    if (!wide) return adv_float_bits((float)real_combined(op->code, (double)f, (double)g));
    u = real_combined(op->code, u, v);
    memcpy(&x, &u, sizeof u);
    return x;
  }
}

/* In an order drawn once for the whole run; all get the same. */
static void reduce(adv_machine *m, const adv_op *op, const adv_together *t) {
  uint16_t order[ADV_MAX_LANES];
  shuffle(order, t->count, m->manner->seed);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    const uint64_t x = adv_get_bits(m, op, op->a, t->lanes[m->manner->seed ? order[i] : i]);
    sum = i ? adv_combined(op, sum, x) : x;
  }
  for (uint32_t k = 0; k < t->count; k++)
    adv_put_bits(m, op, op->d, t->lanes[k], sum);
}

static void vote(adv_machine *m, const adv_op *op, const adv_together *t) {
  const uint32_t *a = ADV_ROW(m, uint32_t, op->a);
  uint32_t *d = ADV_ROW(m, uint32_t, op->d), all = 1, any = 0;
  for (uint32_t k = 0; k < t->count; k++) {
    all &= a[t->lanes[k]] != 0;
    any |= a[t->lanes[k]] != 0;
  }
  for (uint32_t k = 0; k < t->count; k++)
    d[t->lanes[k]] = op->code == SpvOpGroupNonUniformAll   ? all
                     : op->code == SpvOpGroupNonUniformAny ? any
                                                           : k == 0; /* elected */
}

void adv_who_is_there(adv_machine *m, const adv_op *op, uint32_t lane, const char *what,
                      uint32_t number) {
  adv_report_note(m->report, m->p, ADV_WHO_IS_THERE, op->at,
                  "invocation %u of workgroup %u in subgroup %u: %s %u", lane, m->group[0],
                  m->subgroup_of[lane], what, number);
}

/* Broadcasts and shuffles: op's b is the place that each reads, or what its own differs by. */
static void exchange(adv_machine *m, const adv_op *op, const adv_together *t) {
  const bool broadcast = op->code == SpvOpGroupNonUniformBroadcast;
  const uint32_t *b = ADV_ROW(m, uint32_t, op->b);
  uint64_t found[ADV_MAX_LANES];
  for (uint32_t k = 0; k < t->count; k++) {
    const uint32_t lane = t->lanes[k];
    const uint32_t place =
        op->code == SpvOpGroupNonUniformShuffleXor ? m->place_of[lane] ^ b[lane] : b[lane];
    if (broadcast && b[lane] != b[t->lanes[0]])
      adv_who_is_there(m, op, lane, "others broadcast from another place than", b[lane]);
    uint16_t from = NOBODY;
    if (place < m->subgroup_size)
      from = m->lane_at[m->subgroup_of[lane] * m->subgroup_size + place];
    const bool there = from != NOBODY && t->here[from];
    /* undefined otherwise, which only matters if it is used */
    found[k] = there ? adv_get_bits(m, op, op->a, from) : 0x7fc0beef;
    if (!there && broadcast) adv_who_is_there(m, op, lane, "nobody is at place", place);
  }
  for (uint32_t k = 0; k < t->count; k++)
    adv_put_bits(m, op, op->d, t->lanes[k], found[k]);
}

static void operate(adv_machine *m, const adv_op *op, const adv_together *t) {
  switch (op->code) {
  case SpvOpGroupNonUniformElect:
  case SpvOpGroupNonUniformAll:
  case SpvOpGroupNonUniformAny:
    vote(m, op, t);
    return;
  case SpvOpGroupNonUniformBroadcast:
  case SpvOpGroupNonUniformShuffle:
  case SpvOpGroupNonUniformShuffleXor:
    exchange(m, op, t);
    return;
  case ADV_MATRIX_LOAD:
  case ADV_MATRIX_STORE:
  case ADV_MATRIX_MULTIPLY:
    adv_matrix(m, op, t);
    return;
  default:
    reduce(m, op, t);
  }
}

/* The active ones of one subgroup, class by class. More than one class: they would be together if
 * control flow had met again where nothing says that it does. */
static void one_subgroup(adv_machine *m, const adv_op *op, uint32_t subgroup, const bool *active) {
  bool done[ADV_MAX_LANES] = {0};
  adv_together t;
  uint32_t classes = 0;
  for (uint32_t first = 0; first < m->subgroup_size; first++) {
    uint32_t head = m->lane_at[subgroup * m->subgroup_size + first];
    if (head == NOBODY || !active[head] || done[head]) continue;
    memset(t.here, 0, m->lanes * sizeof *t.here);
    t.count = 0;
    for (uint32_t place = first; place < m->subgroup_size; place++) {
      uint32_t lane = m->lane_at[subgroup * m->subgroup_size + place];
      if (lane == NOBODY || !active[lane] || m->class_of[lane] != m->class_of[head]) continue;
      t.lanes[t.count++] = (uint16_t)lane;
      t.here[lane] = done[lane] = true;
    }
    operate(m, op, &t);
    if (++classes == 2)
      adv_who_is_there(m, op, head,
                       "control flow has parted, and nothing guarantees that it has met again; "
                       "invocations that are here by another way:",
                       m->active_count - t.count);
  }
}

void adv_subgroups(adv_machine *m, const adv_op *op) {
  bool active[ADV_MAX_LANES] = {0};
  for (uint32_t k = 0; k < m->active_count; k++)
    active[m->active[k]] = true;
  for (uint32_t s = 0; s < m->subgroups; s++)
    one_subgroup(m, op, s, active);
}
