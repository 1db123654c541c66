/* Loads and stores, each looked at: is it within what may be touched, was it written, and does
 * another invocation touch it without a barrier between. */
#include "adversary/machine.h"
#include "adversary/operations.h"

#include <string.h>

static const char *who(const adv_machine *m, uint32_t lane) {
  static _Thread_local char text[80];
  snprintf(text, sizeof text, "invocation %u of workgroup (%u, %u, %u)", lane, m->group[0],
           m->group[1], m->group[2]);
  return text;
}

static void outside(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                    const char *what) {
  adv_finding *f = adv_report_note(m->report, m->p, ADV_OUTSIDE, op->at);
  if (!f) return;
  bool device = op->space == ADV_DEVICE;
  snprintf(f->text, sizeof f->text, "%s %s byte %llu %s%s", who(m, lane),
           op->code == ADV_OP_LOAD || op->code == ADV_OP_LOAD64 ? "reads" : "writes",
           (unsigned long long)address, what, device ? adv_report_place(m->report, address) : "");
}

static void conflict(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                     adv_conflict found, adv_access other, bool write) {
  bool shared = op->space == ADV_SHARED;
  adv_finding *f =
      adv_report_note(m->report, m->p, shared ? ADV_RACE_SHARED : ADV_RACE_DEVICE, op->at);
  if (!f) return;
  char them[64];
  if (other.group != m->number || other.lane == ADV_GROUPS)
    snprintf(them, sizeof them, "another workgroup");
  else if (other.lane >= ADV_ATOMIC)
    snprintf(them, sizeof them, "several others");
  else
    snprintf(them, sizeof them, "invocation %u", other.lane);
  char place[160];
  if (shared)
    snprintf(place, sizeof place, "byte %llu of shared memory", (unsigned long long)address);
  else
    snprintf(place, sizeof place, "%s", adv_report_place(m->report, address));
  snprintf(f->text, sizeof f->text, "%s %s %s, which %s %s, with no barrier between", who(m, lane),
           write ? "writes" : "reads", place, them, found == ADV_AFTER_WRITE ? "wrote" : "read");
}

static void unwritten(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address) {
  adv_finding *f = adv_report_note(m->report, m->p, ADV_UNWRITTEN, op->at);
  if (!f) return;
  snprintf(f->text, sizeof f->text, "%s reads %s, which nobody wrote", who(m, lane),
           op->space == ADV_DEVICE   ? adv_report_place(m->report, address)
           : op->space == ADV_SHARED ? "shared memory"
                                     : "a variable");
}

/* ---- shared and device memory ---- */

typedef struct target {
  uint8_t *data;
  adv_word *words;
  uint64_t base, size; /* addresses */
  uint16_t epoch;
  uint32_t stretch;
} target;

/* Where `address` lies; false after a report. */
static bool locate(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                   uint32_t bytes, target *t) {
  if (t->data && address - t->base <= t->size - bytes && address >= t->base) return true;
  if (op->space == ADV_SHARED) {
    *t = (target){m->shared, m->shared_words, 0, m->p->shared_bytes, m->shared_epoch, 0};
  } else {
    const adv_region *r = adv_memory_at(m->memory, address);
    *t = (target){0};
    if (r)
      *t = (target){r->data, r->words, r->address, r->size, m->device_epoch, m->memory->stretch};
  }
  if (t->data && t->size >= bytes && address - t->base <= t->size - bytes) return true;
  outside(m, op, lane, address, op->space == ADV_SHARED ? "of shared memory" : "");
  t->data = NULL;
  return false;
}

/* Whether the call may do this with the word; a report otherwise. */
static bool allowed(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                    uint32_t flags, uint32_t need) {
  if (op->space != ADV_DEVICE || (flags & need) == need) return true;
  if (!(flags & (ADV_MAY_READ | ADV_MAY_WRITE))) {
    outside(m, op, lane, address, "");
    return false;
  }
  adv_finding *f = adv_report_note(m->report, m->p, ADV_MODE, op->at);
  if (f)
    snprintf(f->text, sizeof f->text, "%s %s %s, which the call declares only to be %s",
             who(m, lane), need == ADV_MAY_READ ? "reads" : "writes",
             adv_report_place(m->report, address), need == ADV_MAY_READ ? "written" : "read");
  return true;
}

static bool finite(uint32_t bits) {
  return (bits & 0x7f800000) != 0x7f800000;
}

static adv_access access_of(const adv_machine *m, const target *t, uint32_t lane) {
  return (adv_access){m->number, (uint16_t)lane, t->epoch, m->subgroup_of[lane], m->inner_of[lane]};
}

static uint32_t load_word(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                          target *t) {
  const uint32_t nothing = 0x7fc0dead; /* a NaN */
  const bool before = m->nonfinite_read;
  m->nonfinite_read = true; /* unless it is one that was there */
  if (!locate(m, op, lane, address, 4, t)) return nothing;
  uint64_t offset = address - t->base;
  adv_word *w = &t->words[offset / 4];
  if (!allowed(m, op, lane, address, w->flags, ADV_MAY_READ)) return nothing;
  adv_access other;
  adv_conflict found = adv_note_read(w, access_of(m, t, lane), t->stretch, &other);
  if (found) conflict(m, op, lane, address, found, other, false);
  uint32_t bits;
  memcpy(&bits, t->data + offset, sizeof bits);
  if (!(w->flags & ADV_WRITTEN))
    unwritten(m, op, lane, address);
  else
    m->nonfinite_read = before || (op->is_float && op->space == ADV_DEVICE && !finite(bits));
  return bits;
}

static void store_word(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                       uint32_t bits, target *t) {
  if (!locate(m, op, lane, address, 4, t)) return;
  uint64_t offset = address - t->base;
  adv_word *w = &t->words[offset / 4];
  if (!allowed(m, op, lane, address, w->flags, ADV_MAY_WRITE)) return;
  adv_access other;
  adv_conflict found = adv_note_write(w, access_of(m, t, lane), t->stretch, false, &other);
  if (found) conflict(m, op, lane, address, found, other, true);
  memcpy(t->data + offset, &bits, sizeof bits);
  if (!op->is_float || op->space != ADV_DEVICE || finite(bits) || m->nonfinite_read ||
      m->report->nonfinite)
    return;
  adv_finding *f = adv_report_note(m->report, m->p, ADV_NONFINITE, op->at);
  float number;
  memcpy(&number, &bits, sizeof number);
  if (f)
    snprintf(f->text, sizeof f->text, "%s writes %g to %s; all that the call read was finite",
             who(m, lane), (double)number, adv_report_place(m->report, address));
}

/* ---- variables of one invocation ---- */

static uint8_t *private_at(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                           uint32_t bytes, uint8_t **written) {
  if (address > m->p->private_bytes - bytes || m->p->private_bytes < bytes) {
    outside(m, op, lane, address, "of its variables");
    return NULL;
  }
  *written = m->private_written + ((size_t)lane * m->p->private_bytes + address) / 4;
  return m->private_memory + (size_t)lane * m->p->private_bytes + address;
}

static void private_load(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                         void *to, uint32_t bytes) {
  uint8_t *written, *from = private_at(m, op, lane, address, bytes, &written);
  if (!from) return;
  if (!*written) unwritten(m, op, lane, address);
  memcpy(to, from, bytes);
}

static void private_store(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                          const void *from, uint32_t bytes) {
  uint8_t *written, *to = private_at(m, op, lane, address, bytes, &written);
  if (!to) return;
  memcpy(to, from, bytes);
  written[0] = 1;
  if (bytes == 8) written[1] = 1;
}

/* ---- operations ---- */

static void load_push(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address, void *to,
                      uint32_t bytes) {
  if (address + bytes <= m->push_size)
    memcpy(to, m->push + address, bytes);
  else
    outside(m, op, lane, address, "of the push constants");
}

void adv_load(adv_machine *m, const adv_op *op) {
  const bool wide = op->code == ADV_OP_LOAD64;
  const uint32_t bytes = wide ? 8 : 4;
  const uint64_t *base = op->a == ADV_NO_ROW ? NULL : ADV_ROW(m, uint64_t, op->a);
  uint8_t *d = ADV_ROW(m, uint8_t, op->d);
  target t = {0};
  for (uint32_t k = 0; k < m->active_count; k++) {
    uint32_t i = m->active[k];
    uint64_t address = (base ? base[i] : 0) + op->c;
    uint32_t pair[2] = {0x7fc0dead, 0x7fc0dead};
    if (op->space == ADV_PRIVATE) {
      private_load(m, op, i, address, pair, bytes);
    } else if (op->space == ADV_PUSH) {
      load_push(m, op, i, address, pair, bytes);
    } else {
      pair[0] = load_word(m, op, i, address, &t);
      if (wide) pair[1] = load_word(m, op, i, address + 4, &t);
    }
    memcpy(d + (size_t)i * bytes, pair, bytes);
  }
}

void adv_store(adv_machine *m, const adv_op *op) {
  const bool wide = op->code == ADV_OP_STORE64;
  const uint32_t bytes = wide ? 8 : 4;
  const uint64_t *base = op->a == ADV_NO_ROW ? NULL : ADV_ROW(m, uint64_t, op->a);
  const uint8_t *d = ADV_ROW(m, uint8_t, op->d);
  target t = {0};
  for (uint32_t k = 0; k < m->active_count; k++) {
    uint32_t i = m->active[k], pair[2] = {0};
    uint64_t address = (base ? base[i] : 0) + op->c;
    memcpy(pair, d + (size_t)i * bytes, bytes);
    if (op->space == ADV_PRIVATE) {
      private_store(m, op, i, address, pair, bytes);
    } else {
      store_word(m, op, i, address, pair[0], &t);
      if (wide) store_word(m, op, i, address + 4, pair[1], &t);
    }
  }
}

uint32_t adv_combined(uint32_t reduction, uint32_t a, uint32_t b) {
  switch (reduction) {
  case ADV_SUM:
    return a + b;
  case ADV_UNSIGNED_MIN:
    return a < b ? a : b;
  case ADV_UNSIGNED_MAX:
    return a > b ? a : b;
  case ADV_SIGNED_MIN:
    return (int32_t)a < (int32_t)b ? a : b;
  case ADV_SIGNED_MAX:
    return (int32_t)a > (int32_t)b ? a : b;
  case ADV_BITS_AND:
    return a & b;
  case ADV_BITS_OR:
    return a | b;
  default:
    return a ^ b;
  }
}

void adv_atomic(adv_machine *m, const adv_op *op) {
  const uint64_t *base = op->a == ADV_NO_ROW ? NULL : ADV_ROW(m, uint64_t, op->a);
  const uint32_t *b = ADV_ROW(m, uint32_t, op->b);
  uint32_t *d = ADV_ROW(m, uint32_t, op->d);
  target t = {0};
  for (uint32_t k = 0; k < m->active_count; k++) {
    uint32_t i = m->active[k], before;
    uint64_t address = (base ? base[i] : 0) + op->c;
    if (!locate(m, op, i, address, 4, &t)) continue;
    adv_word *w = &t.words[(address - t.base) / 4];
    if (!allowed(m, op, i, address, w->flags, ADV_MAY_READ | ADV_MAY_WRITE)) continue;
    if (!(w->flags & ADV_WRITTEN)) unwritten(m, op, i, address);
    adv_access other;
    adv_conflict found = adv_note_write(w, access_of(m, &t, i), t.stretch, true, &other);
    if (found) conflict(m, op, i, address, found, other, true);
    memcpy(&before, t.data + (address - t.base), sizeof before);
    d[i] = before;
    before = adv_combined(op->is_float, before, b[i]);
    memcpy(t.data + (address - t.base), &before, sizeof before);
  }
}
