/* Subgroups: which invocations they are of, and operations among those that are together.
 *
 * Nothing in Vulkan says which invocations of a workgroup form a subgroup, nor, unless a pipeline
 * requires full subgroups, that a subgroup is full. Sums may be taken in any order. */
#include "adversary/machine.h"
#include "adversary/operations.h"

#include <stdlib.h>
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

uint64_t adv_combined(const adv_op *op, uint32_t reduction, uint64_t x, uint64_t y) {
  const bool wide = op->bits == 64,
             reals = reduction >= ADV_FLOAT_SUM && reduction <= ADV_FLOAT_MAX;
  const int64_t a = wide ? (int64_t)x : (int32_t)x, b = wide ? (int64_t)y : (int32_t)y;
  float f, g;
  double u, v;
  memcpy(&u, &x, sizeof u);
  memcpy(&v, &y, sizeof v);
  memcpy(&f, &x, sizeof f);
  memcpy(&g, &y, sizeof g);
  if (reals && !wide) u = (double)f, v = (double)g;
  switch (reduction) {
  case ADV_FLOAT_SUM:
    u += v;
    f += g; /* rounded once */
    break;
  case ADV_FLOAT_MIN:
    u = v < u ? v : u;
    f = (float)u;
    break;
  case ADV_FLOAT_MAX:
    u = v > u ? v : u;
    f = (float)u;
    break;
  case ADV_SUM:
    return x + y;
  case ADV_UNSIGNED_MIN:
    return x < y ? x : y;
  case ADV_UNSIGNED_MAX:
    return x > y ? x : y;
  case ADV_SIGNED_MIN:
    return a < b ? x : y;
  case ADV_SIGNED_MAX:
    return a > b ? x : y;
  case ADV_BITS_AND:
    return x & y;
  case ADV_BITS_OR:
    return x | y;
  default:
    return x ^ y;
  }
  if (wide)
    memcpy(&x, &u, sizeof u);
  else
    x = adv_float_bits(f);
  return x;
}

/* What an exclusive scan begins with. */
static uint64_t neutral(const adv_op *op) {
  const bool wide = op->bits == 64;
  switch (op->c) {
  case ADV_FLOAT_MIN:
    return wide ? UINT64_C(0x7ff0000000000000) : 0x7f800000;
  case ADV_FLOAT_MAX:
    return wide ? UINT64_C(0xfff0000000000000) : 0xff800000;
  case ADV_UNSIGNED_MIN:
  case ADV_BITS_AND:
    return UINT64_MAX;
  case ADV_SIGNED_MIN:
    return wide ? INT64_MAX : INT32_MAX;
  case ADV_SIGNED_MAX:
    return wide ? (uint64_t)INT64_MIN : (uint32_t)INT32_MIN;
  default:
    return 0;
  }
}

/* Over all, or over each cluster of places; in an order drawn once for the whole run. */
static void reduce(adv_machine *m, const adv_op *op, const adv_together *t) {
  const uint32_t cluster = op->b ? op->b : m->subgroup_size;
  uint16_t order[ADV_MAX_LANES];
  shuffle(order, t->count, m->manner->seed);
  uint64_t sums[ADV_MAX_LANES];
  for (uint32_t k = 0; k < t->count; k++) {
    bool any = false;
    sums[k] = k ? sums[0] : 0;
    for (uint32_t i = 0; i < t->count && (op->b || !k); i++) { /* else the same for all */
      const uint32_t lane = t->lanes[m->manner->seed ? order[i] : i];
      if (m->place_of[lane] / cluster != m->place_of[t->lanes[k]] / cluster) continue;
      const uint64_t x = adv_get_bits(m, op, op->a, lane);
      sums[k] = any ? adv_combined(op, op->c, sums[k], x) : x;
      any = true;
    }
  }
  for (uint32_t k = 0; k < t->count; k++)
    adv_put_bits(m, op, op->d, t->lanes[k], sums[k]);
}

static void scan(adv_machine *m, const adv_op *op, const adv_together *t) {
  uint64_t sum = neutral(op);
  for (uint32_t k = 0; k < t->count; k++) {
    const uint64_t x = adv_get_bits(m, op, op->a, t->lanes[k]);
    const uint64_t next = k ? adv_combined(op, op->c, sum, x) : x;
    adv_put_bits(m, op, op->d, t->lanes[k], op->code == ADV_OP_SCAN ? next : sum);
    sum = next;
  }
}

static void vote(adv_machine *m, const adv_op *op, const adv_together *t) {
  const uint32_t *a = ADV_ROW(m, uint32_t, op->a);
  uint32_t *d = ADV_ROW(m, uint32_t, op->d), all = 1, any = 0, ballot = 0;
  for (uint32_t k = 0; k < t->count && op->code != ADV_OP_ELECT; k++) {
    uint32_t lane = t->lanes[k], place = m->place_of[lane];
    all &= a[lane] != 0;
    any |= a[lane] != 0;
    if (place / 32 == op->c && a[lane]) ballot |= 1u << place % 32;
  }
  for (uint32_t k = 0; k < t->count; k++)
    d[t->lanes[k]] = op->code == ADV_OP_ALL     ? all
                     : op->code == ADV_OP_ANY   ? any
                     : op->code == ADV_OP_ELECT ? k == 0
                                                : ballot;
}

void adv_who_is_there(adv_machine *m, const adv_op *op, uint32_t lane, const char *format,
                      uint32_t number) {
  adv_finding *f = adv_report_note(m->report, m->p, ADV_WHO_IS_THERE, op->at);
  if (!f) return;
  int at = snprintf(f->text, sizeof f->text, "invocation %u of workgroup %u in subgroup %u: ", lane,
                    m->group[0], m->subgroup_of[lane]);
  snprintf(f->text + at, sizeof f->text - (size_t)at, format, number);
}

/* Which place an invocation reads. */
static uint32_t source_of(const adv_machine *m, const adv_op *op, const adv_together *t,
                          uint32_t lane, const uint32_t *b) {
  switch (op->code) {
  case ADV_OP_BROADCAST_FIRST:
    return m->place_of[t->lanes[0]];
  case ADV_OP_SHUFFLE_XOR:
    return m->place_of[lane] ^ b[lane];
  case ADV_OP_SHUFFLE_UP:
    return m->place_of[lane] - b[lane];
  case ADV_OP_SHUFFLE_DOWN:
    return m->place_of[lane] + b[lane];
  default:
    return b[lane];
  }
}

static void exchange(adv_machine *m, const adv_op *op, const adv_together *t) {
  const uint32_t *b = ADV_ROW(m, uint32_t, op->b);
  uint64_t found[ADV_MAX_LANES];
  for (uint32_t k = 0; k < t->count; k++) {
    uint32_t lane = t->lanes[k], place = source_of(m, op, t, lane, b);
    if (op->code == ADV_OP_BROADCAST && b[lane] != b[t->lanes[0]])
      adv_who_is_there(m, op, lane, "broadcasts from place %u, others from another", b[lane]);
    uint16_t from = NOBODY;
    if (place < m->subgroup_size)
      from = m->lane_at[m->subgroup_of[lane] * m->subgroup_size + place];
    const bool there = from != NOBODY && t->here[from];
    /* undefined otherwise, which only matters if it is used */
    found[k] = there ? adv_get_bits(m, op, op->a, from) : 0x7fc0beef;
    if (!there && op->code == ADV_OP_BROADCAST)
      adv_who_is_there(m, op, lane, "reads place %u, which is not there", place);
  }
  for (uint32_t k = 0; k < t->count; k++)
    adv_put_bits(m, op, op->d, t->lanes[k], found[k]);
}

static void operate(adv_machine *m, const adv_op *op, const adv_together *t) {
  switch (op->code) {
  case ADV_OP_REDUCE:
    reduce(m, op, t);
    return;
  case ADV_OP_SCAN:
  case ADV_OP_SCAN_EXCLUSIVE:
    scan(m, op, t);
    return;
  case ADV_OP_ELECT:
  case ADV_OP_ALL:
  case ADV_OP_ANY:
  case ADV_OP_BALLOT_BIT:
    vote(m, op, t);
    return;
  case ADV_OP_MATRIX_LOAD:
  case ADV_OP_MATRIX_STORE:
  case ADV_OP_MATRIX_MULTIPLY:
    adv_matrix(m, op, t);
    return;
  default:
    exchange(m, op, t);
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
      adv_who_is_there(
          m, op, head,
          "control flow has parted, and nothing guarantees that it has met again (%u are "
          "here by another way)",
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
