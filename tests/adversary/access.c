/* Checks each load and store: is it within the accessible bytes, was the memory written before, and
 * does another invocation access it without a barrier in between. */
#include "adversary/machine.h"

#include <spirv/unified1/spirv.h>
#include <string.h>

static const uint64_t WRONG = 0x7ff8dead7fc0dead; /* what a wrong read gives: a NaN */

/* ---- who touched what ---- */

/* What an access conflicts with. */
typedef enum conflict { NO_CONFLICT, AFTER_WRITE, AFTER_READ } conflict;
typedef enum access_kind { READS, WRITES, COUNTS /* atomically */ } access_kind;

/* Whether what `before` did may still be under way when `by` comes. */
static bool unordered(adv_access before, adv_access by, uint32_t since_barrier) {
  if (before.group < since_barrier || !before.group) return false;
  if (before.group != by.group || before.lane == ADV_GROUPS) return true;
  if (before.lane == by.lane || before.epoch < by.epoch) return false;
  return before.subgroup != by.subgroup || before.inner >= by.inner || before.lane >= ADV_ATOMIC;
}

static conflict note_read(adv_word *w, adv_access by, uint32_t since_barrier, adv_access *other) {
  conflict found = NO_CONFLICT;
  if (unordered(w->write, by, since_barrier)) {
    *other = w->write;
    found = AFTER_WRITE;
  }
  const adv_access before = w->read;
  w->read = by;
  if (unordered(before, by, since_barrier))
    w->read.lane = before.group == by.group && before.lane != ADV_GROUPS ? ADV_SEVERAL : ADV_GROUPS;
  return found;
}

static conflict note_write(adv_word *w, adv_access by, uint32_t since_barrier, bool atomic,
                           adv_access *other) {
  conflict found = NO_CONFLICT;
  if (atomic) by.lane = ADV_ATOMIC;
  if (unordered(w->write, by, since_barrier) && !(atomic && w->write.lane == ADV_ATOMIC)) {
    *other = w->write;
    found = AFTER_WRITE;
  } else if (unordered(w->read, by, since_barrier)) {
    *other = w->read;
    found = AFTER_READ;
  }
  w->write = by;
  w->flags |= ADV_WRITTEN;
  return found;
}

static conflict note_one(adv_word *w, access_kind how, adv_access by, uint32_t since_barrier,
                         adv_access *other, bool *written) {
  *written = *written && w->flags & ADV_WRITTEN;
  return how == READS ? note_read(w, by, since_barrier, other)
                      : note_write(w, by, since_barrier, how == COUNTS, other);
}

/* Notes an access to 1, 2 or 4 bytes within a word. Two of different invocations conflict if one
 * writes, not both are atomic, and no barrier lies between; invocations of different workgroups
 * have none before the call's end. Calls without a barrier between them overlap. `other` gets who
 * it was, *written whether all had been written. */
static conflict note_word(adv_region *r, uint64_t offset, uint32_t size, access_kind how,
                          adv_access by, uint32_t since_barrier, adv_access *other, bool *written) {
  adv_word *w = &r->words[offset / 4];
  *written = true;
  if (size == 4 && !(w->flags & ADV_SPLIT))
    return note_one(w, how, by, since_barrier, other, written);
  adv_word *parts = adv_region_parts(r, offset);
  conflict found = NO_CONFLICT;
  for (uint64_t k = offset % 4; k < offset % 4 + size; k++) {
    conflict here = note_one(&parts[k], how, by, since_barrier, other, written);
    if (here) found = here;
  }
  return found;
}

/* ---- findings ---- */

static const char *who(const adv_machine *m, uint32_t lane) {
  static _Thread_local char text[80];
  snprintf(text, sizeof text, "invocation %u of workgroup (%u, %u, %u)", lane, m->group[0],
           m->group[1], m->group[2]);
  return text;
}

static void outside(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                    const char *what) {
  adv_report_note(m->report, m->p, ADV_OUTSIDE, op->at, "%s %s byte %llu %s%s", who(m, lane),
                  op->code == SpvOpLoad || op->code == ADV_MATRIX_LOAD ? "reads" : "writes",
                  (unsigned long long)address, what,
                  op->space == ADV_DEVICE ? adv_report_place(m->report, address) : "");
}

static const char *place_of(const adv_machine *m, const adv_op *op, uint64_t address) {
  return op->space == ADV_DEVICE   ? adv_report_place(m->report, address)
         : op->space == ADV_SHARED ? "shared memory"
                                   : "a variable";
}

static void note_conflict(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                          conflict found, adv_access other, bool write) {
  char them[64];
  snprintf(them, sizeof them, "invocation %u", other.lane);
  adv_report_note(m->report, m->p, op->space == ADV_SHARED ? ADV_RACE_SHARED : ADV_RACE_DEVICE,
                  op->at, "%s %s %s, at byte %llu, which %s %s, with no barrier between",
                  who(m, lane), write ? "writes" : "reads", place_of(m, op, address),
                  (unsigned long long)address,
                  other.group != m->number || other.lane == ADV_GROUPS ? "another workgroup"
                  : other.lane >= ADV_ATOMIC                           ? "several others"
                                                                       : them,
                  found == AFTER_WRITE ? "wrote" : "read");
}

static void unwritten(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address) {
  adv_report_note(m->report, m->p, ADV_UNWRITTEN, op->at, "%s reads %s, which nobody wrote",
                  who(m, lane), place_of(m, op, address));
}

/* ---- numbers in memory and in rows ---- */

static uint64_t get(const uint8_t *from, uint32_t size) {
  uint32_t word;
  uint64_t bits = 0;
  if (size != sizeof word) {
    memcpy(&bits, from, size);
    return bits;
  }
  memcpy(&word, from, sizeof word);
  return word;
}

static void put(uint8_t *to, uint64_t bits, uint32_t size) {
  const uint32_t word = (uint32_t)bits;
  if (size == sizeof word)
    memcpy(to, &word, sizeof word);
  else
    memcpy(to, &bits, size);
}

/* A number's bits as they lie in memory, from and to its row. */
uint64_t adv_get_bits(const adv_machine *m, const adv_op *op, uint32_t row, uint32_t lane) {
  if (op->bits == 64) return ADV_ROW(m, uint64_t, row)[lane];
  if (op->bits == 16 && op->is_float) return adv_half_bits(ADV_ROW(m, float, row)[lane]);
  return ADV_ROW(m, uint32_t, row)[lane];
}

void adv_put_bits(adv_machine *m, const adv_op *op, uint32_t row, uint32_t lane, uint64_t bits) {
  if (op->bits == 32)
    ADV_ROW(m, uint32_t, row)[lane] = (uint32_t)bits;
  else if (op->bits == 64)
    ADV_ROW(m, uint64_t, row)[lane] = bits;
  else if (op->is_float)
    ADV_ROW(m, float, row)[lane] = adv_half_of((uint16_t)bits);
  else
    ADV_ROW(m, uint32_t, row)[lane] = (uint32_t)bits & ((1u << op->bits) - 1);
}

/* ---- shared and device memory ---- */

/* Where `address` lies, mostly where the one before it did; NULL after a report. */
static adv_region *locate(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                          uint32_t size) {
  const bool shared = op->space == ADV_SHARED;
  adv_region *r = shared ? &m->shared : m->last;
  if (!shared && (!r || address - r->address >= r->size))
    r = m->last = adv_memory_at(m->memory, address);
  const bool there =
      r && address >= r->address && r->size >= size && address - r->address <= r->size - size;
  if (there && (address & (size - 1)) == 0) return r;
  outside(m, op, lane, address,
          there    ? "not at a multiple of its size, "
          : shared ? "of shared memory"
                   : "");
  return NULL;
}

/* Whether the call may do this with the word; a report otherwise. */
static bool allowed(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                    uint32_t flags, uint32_t need) {
  if (op->space != ADV_DEVICE || (flags & need) == need) return true;
  if (!(flags & (ADV_MAY_READ | ADV_MAY_WRITE))) {
    outside(m, op, lane, address, "");
    return false;
  }
  adv_report_note(m->report, m->p, ADV_MODE, op->at,
                  "%s %s %s, which the call declares only to be %s", who(m, lane),
                  need == ADV_MAY_READ ? "reads" : "writes", adv_report_place(m->report, address),
                  need == ADV_MAY_READ ? "written" : "read");
  return true;
}

static bool finite(const adv_op *op, uint64_t bits) {
  const uint64_t exponent = op->bits == 16   ? 0x7c00
                            : op->bits == 32 ? 0x7f800000
                                             : UINT64_C(0x7ff0000000000000);
  return !op->is_float || op->bits < 16 || (bits & exponent) != exponent;
}

static bool note(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address, uint32_t size,
                 access_kind how, adv_region *r) {
  const bool shared = op->space == ADV_SHARED;
  const adv_access by = {m->number, (uint16_t)lane, shared ? m->shared_epoch : m->device_epoch,
                         m->subgroup_of[lane], m->inner_of[lane]};
  adv_access other = {0};
  bool written;
  const conflict found = note_word(r, address - r->address, size, how, by,
                                   shared ? 0 : m->memory->since_barrier, &other, &written);
  if (found) note_conflict(m, op, lane, address, found, other, how != READS);
  if (!written && how != WRITES) unwritten(m, op, lane, address);
  return written;
}

static uint32_t flags_at(const adv_region *r, uint64_t address) {
  return r->words[(address - r->address) / 4].flags;
}

uint64_t adv_read(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address) {
  const uint32_t size = op->bits / 8, step = size < 4 ? size : 4;
  const bool before = m->nonfinite_read;
  m->nonfinite_read = true; /* unless it is one that was there */
  adv_region *r = locate(m, op, lane, address, size);
  if (!r) return WRONG;
  bool written = true;
  for (uint32_t k = 0; k < size; k += step) {
    if (!allowed(m, op, lane, address + k, flags_at(r, address + k), ADV_MAY_READ)) return WRONG;
    written &= note(m, op, lane, address + k, step, READS, r);
  }
  const uint64_t bits = get(r->data + (address - r->address), size);
  if (written) m->nonfinite_read = before || (op->space == ADV_DEVICE && !finite(op, bits));
  return bits;
}

void adv_write(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address, uint64_t bits) {
  const uint32_t size = op->bits / 8, step = size < 4 ? size : 4;
  adv_region *r = locate(m, op, lane, address, size);
  for (uint32_t k = 0; r && k < size; k += step) {
    if (!allowed(m, op, lane, address + k, flags_at(r, address + k), ADV_MAY_WRITE)) return;
    note(m, op, lane, address + k, step, WRITES, r);
  }
  if (r) put(r->data + (address - r->address), bits, size);
  if (r && op->space == ADV_DEVICE && !finite(op, bits) && !m->nonfinite_read)
    adv_report_note(m->report, m->p, ADV_NONFINITE, op->at,
                    "%s writes a NaN or an infinity to %s; all that the call read was finite",
                    who(m, lane), adv_report_place(m->report, address));
}

/* ---- variables of one invocation, push constants ---- */

/* A variable's number of all invocations lies side by side; another list has whether it was
 * written. */
static uint8_t *private_at(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                           uint8_t **written) {
  const uint32_t size = op->bits / 8;
  if (m->p->private_bytes < size || address > m->p->private_bytes - size) {
    outside(m, op, lane, address, "of its variables");
    return NULL;
  }
  *written = m->private_written + address * m->lanes + lane;
  return m->private_memory + address * m->lanes + lane * size;
}

static uint64_t private_load(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address) {
  uint8_t *written, *from = private_at(m, op, lane, address, &written);
  if (!from) return WRONG;
  if (!*written) unwritten(m, op, lane, address);
  return get(from, op->bits / 8);
}

static void private_store(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address,
                          uint64_t bits) {
  uint8_t *written, *to = private_at(m, op, lane, address, &written);
  if (!to) return;
  put(to, bits, op->bits / 8);
  *written = 1;
}

static uint64_t push_load(adv_machine *m, const adv_op *op, uint32_t lane, uint64_t address) {
  if (address + op->bits / 8 <= m->push_size) return get(m->push + address, op->bits / 8);
  outside(m, op, lane, address, "of the push constants");
  return WRONG;
}

/* ---- operations ---- */

static uint64_t address_of(const adv_machine *m, const adv_op *op, uint32_t lane) {
  return (op->a == ADV_NO_ROW ? 0 : ADV_ROW(m, uint64_t, op->a)[lane]) + op->c;
}

/* Most accesses to variables are those of all to one number of 32 bits: these are moved at once.
 * NULL: it is not such a one, or has something to report. */
static uint8_t *whole_row(adv_machine *m, const adv_op *op, uint8_t **written) {
  const uint64_t *a = op->a == ADV_NO_ROW ? NULL : ADV_ROW(m, uint64_t, op->a);
  const uint64_t address = address_of(m, op, 0);
  uint64_t differ = 0;
  if (op->space != ADV_PRIVATE || op->bits != 32 || !m->full) return NULL;
  for (uint32_t i = 0; a && i < m->lanes; i++)
    differ |= a[i] ^ a[0];
  return differ || address + 4 > m->p->private_bytes ? NULL
                                                     : private_at(m, op, 0, address, written);
}

void adv_load(adv_machine *m, const adv_op *op) {
  uint8_t *written, *row = whole_row(m, op, &written);
  if (row && !memchr(written, 0, m->lanes)) {
    memcpy(ADV_ROW(m, uint8_t, op->d), row, 4 * m->lanes);
    return;
  }
  for (uint32_t k = 0; k < m->active_count; k++) {
    const uint32_t i = m->active[k];
    const uint64_t address = address_of(m, op, i);
    const uint64_t bits = op->space == ADV_PRIVATE ? private_load(m, op, i, address)
                          : op->space == ADV_PUSH  ? push_load(m, op, i, address)
                                                   : adv_read(m, op, i, address);
    adv_put_bits(m, op, op->d, i, bits);
  }
}

void adv_store(adv_machine *m, const adv_op *op) {
  uint8_t *written, *row = whole_row(m, op, &written);
  if (row) {
    memcpy(row, ADV_ROW(m, uint8_t, op->d), 4 * m->lanes);
    memset(written, 1, m->lanes);
    return;
  }
  for (uint32_t k = 0; k < m->active_count; k++) {
    const uint32_t i = m->active[k];
    const uint64_t address = address_of(m, op, i), bits = adv_get_bits(m, op, op->d, i);
    if (op->space == ADV_PRIVATE)
      private_store(m, op, i, address, bits);
    else
      adv_write(m, op, i, address, bits);
  }
}

void adv_atomic(adv_machine *m, const adv_op *op) {
  const uint32_t *b = ADV_ROW(m, uint32_t, op->b);
  uint32_t *d = ADV_ROW(m, uint32_t, op->d);
  for (uint32_t k = 0; k < m->active_count; k++) {
    const uint32_t i = m->active[k];
    const uint64_t address = address_of(m, op, i);
    adv_region *r = locate(m, op, i, address, 4);
    if (!r || !allowed(m, op, i, address, flags_at(r, address), ADV_MAY_READ | ADV_MAY_WRITE))
      continue;
    note(m, op, i, address, 4, COUNTS, r);
    uint8_t *data = r->data + (address - r->address);
    d[i] = (uint32_t)get(data, 4);
    put(data, adv_combined(op, d[i], b[i]), 4);
  }
}
