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
           op->code == ADV_OP_LOAD || op->code == ADV_OP_MATRIX_LOAD ? "reads" : "writes",
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

/* Where `address` lies, unless it is where the one before was; false after a report. */
static bool locate(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address, uint32_t size,
                   adv_bytes **at) {
  adv_bytes *b = *at;
  if (!b || address - b->address >= b->size) {
    adv_region *r = op->space == ADV_SHARED ? NULL : adv_memory_at(m->memory, address);
    b = op->space == ADV_SHARED ? &m->shared : r ? &r->bytes : NULL;
  }
  const bool there =
      b && address >= b->address && b->size >= size && address - b->address <= b->size - size;
  if (!there) outside(m, op, lane, address, op->space == ADV_SHARED ? "of shared memory" : "");
  if (there && address % size) outside(m, op, lane, address, "not at a multiple of its size, ");
  *at = there ? b : NULL;
  return there && address % size == 0;
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

static bool finite(const adv_op *op, uint64_t bits) {
  const uint64_t exponent = op->bits == 16   ? 0x7c00
                            : op->bits == 32 ? 0x7f800000
                                             : UINT64_C(0x7ff0000000000000);
  return !op->is_float || op->bits < 16 || (bits & exponent) != exponent;
}

static bool note(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address, uint32_t size,
                 adv_how how, adv_bytes *b) {
  const bool shared = op->space == ADV_SHARED;
  const adv_access by = {m->number, (uint16_t)lane, shared ? m->shared_epoch : m->device_epoch,
                         m->subgroup_of[lane], m->inner_of[lane]};
  adv_access other;
  bool written;
  adv_conflict found = adv_note(b, address - b->address, size, how, by,
                                shared ? 0 : m->memory->stretch, &other, &written);
  if (found) conflict(m, op, lane, address, found, other, how != ADV_READS);
  if (!written && how != ADV_WRITES) unwritten(m, op, lane, address);
  return written;
}

static uint32_t flags_at(const adv_bytes *b, uint64_t address) {
  return b->words[(address - b->address) / 4].flags;
}

uint64_t adv_read(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                  adv_bytes **at) {
  const uint32_t size = op->bits / 8, step = size < 4 ? size : 4;
  const bool before = m->nonfinite_read;
  uint64_t bits = UINT64_C(0x7ff8dead7fc0dead); /* a NaN */
  m->nonfinite_read = true;                     /* unless it is one that was there */
  if (!locate(m, op, lane, address, size, at)) return bits;
  bool written = true;
  for (uint32_t k = 0; k < size; k += step) {
    if (!allowed(m, op, lane, address + k, flags_at(*at, address + k), ADV_MAY_READ)) return bits;
    written &= note(m, op, lane, address + k, step, ADV_READS, *at);
  }
  bits = 0;
  memcpy(&bits, (*at)->data + (address - (*at)->address), size);
  if (written) m->nonfinite_read = before || (op->space == ADV_DEVICE && !finite(op, bits));
  return bits;
}

static void nonfinite(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address) {
  adv_finding *f = adv_report_note(m->report, m->p, ADV_NONFINITE, op->at);
  if (f)
    snprintf(f->text, sizeof f->text,
             "%s writes a NaN or an infinity to %s; all that the call read was finite",
             who(m, lane), adv_report_place(m->report, address));
}

void adv_write(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address, uint64_t bits,
               adv_bytes **at) {
  const uint32_t size = op->bits / 8, step = size < 4 ? size : 4;
  if (!locate(m, op, lane, address, size, at)) return;
  for (uint32_t k = 0; k < size; k += step) {
    if (!allowed(m, op, lane, address + k, flags_at(*at, address + k), ADV_MAY_WRITE)) return;
    note(m, op, lane, address + k, step, ADV_WRITES, *at);
  }
  memcpy((*at)->data + (address - (*at)->address), &bits, size);
  if (op->space == ADV_DEVICE && !finite(op, bits) && !m->nonfinite_read)
    nonfinite(m, op, lane, address);
}

/* ---- variables of one invocation, push constants ---- */

static uint8_t *private_at(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                           uint8_t **written) {
  const uint32_t size = op->bits / 8;
  if (m->p->private_bytes < size || address > m->p->private_bytes - size) {
    outside(m, op, lane, address, "of its variables");
    return NULL;
  }
  const size_t at = (size_t)lane * m->p->private_bytes + address;
  *written = m->private_written + at;
  return m->private_memory + at;
}

static uint64_t private_load(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address) {
  uint64_t bits = UINT64_C(0x7ff8dead7fc0dead);
  uint8_t *written, *from = private_at(m, op, lane, address, &written);
  if (!from) return bits;
  if (!*written) unwritten(m, op, lane, address);
  memcpy(&bits, from, op->bits / 8);
  return bits;
}

static void private_store(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                          uint64_t bits) {
  uint8_t *written, *to = private_at(m, op, lane, address, &written);
  if (!to) return;
  memcpy(to, &bits, op->bits / 8);
  memset(written, 1, op->bits / 8);
}

static uint64_t push_load(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address) {
  uint64_t bits = UINT64_C(0x7ff8dead7fc0dead);
  if (address + op->bits / 8 <= m->push_size)
    memcpy(&bits, m->push + address, op->bits / 8);
  else
    outside(m, op, lane, address, "of the push constants");
  return bits;
}

/* ---- operations ---- */

static uint64_t address_of(const adv_machine *m, const adv_op *op, uint32_t lane) {
  return (op->a == ADV_NO_ROW ? 0 : ADV_ROW(m, uint64_t, op->a)[lane]) + op->c;
}

void adv_load(adv_machine *m, const adv_op *op) {
  adv_bytes *at = NULL;
  for (uint32_t k = 0; k < m->active_count; k++) {
    const uint32_t i = m->active[k];
    const uint64_t address = address_of(m, op, i);
    const uint64_t bits = op->space == ADV_PRIVATE ? private_load(m, op, i, address)
                          : op->space == ADV_PUSH  ? push_load(m, op, i, address)
                                                   : adv_read(m, op, i, address, &at);
    adv_put_bits(m, op, op->d, i, bits);
  }
}

void adv_store(adv_machine *m, const adv_op *op) {
  adv_bytes *at = NULL;
  for (uint32_t k = 0; k < m->active_count; k++) {
    const uint32_t i = m->active[k];
    const uint64_t address = address_of(m, op, i), bits = adv_get_bits(m, op, op->d, i);
    if (op->space == ADV_PRIVATE)
      private_store(m, op, i, address, bits);
    else
      adv_write(m, op, i, address, bits, &at);
  }
}

/* A number's bits as they lie in memory, from and to its row. */
uint64_t adv_get_bits(const adv_machine *m, const adv_op *op, uint32_t row, uint32_t lane) {
  if (op->bits == 64) return ADV_ROW(m, uint64_t, row)[lane];
  if (op->bits == 16 && op->is_float) return adv_half_bits(ADV_ROW(m, float, row)[lane]);
  return ADV_ROW(m, uint32_t, row)[lane];
}

void adv_put_bits(adv_machine *m, const adv_op *op, uint32_t row, uint32_t lane, uint64_t bits) {
  if (op->bits == 64)
    ADV_ROW(m, uint64_t, row)[lane] = bits;
  else if (op->bits == 32)
    ADV_ROW(m, uint32_t, row)[lane] = (uint32_t)bits;
  else if (op->is_float)
    ADV_ROW(m, float, row)[lane] = adv_half_of((uint16_t)bits);
  else
    ADV_ROW(m, uint32_t, row)[lane] = (uint32_t)bits & ((1u << op->bits) - 1);
}

void adv_atomic(adv_machine *m, const adv_op *op) {
  const uint32_t *b = ADV_ROW(m, uint32_t, op->b);
  uint32_t *d = ADV_ROW(m, uint32_t, op->d);
  adv_bytes *at = NULL;
  for (uint32_t k = 0; k < m->active_count; k++) {
    const uint32_t i = m->active[k];
    const uint64_t address = address_of(m, op, i);
    if (!locate(m, op, i, address, 4, &at) ||
        !allowed(m, op, i, address, flags_at(at, address), ADV_MAY_READ | ADV_MAY_WRITE))
      continue;
    note(m, op, i, address, 4, ADV_COUNTS, at);
    uint8_t *data = at->data + (address - at->address);
    memcpy(&d[i], data, sizeof *d);
    const uint32_t after = (uint32_t)adv_combined(op, op->is_float, d[i], b[i]);
    memcpy(data, &after, sizeof after);
  }
}
