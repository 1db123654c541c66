#include "adversary/memory.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

uint64_t adv_mix(uint64_t seed, uint64_t a, uint64_t b) { /* splitmix64's finish */
  uint64_t x = seed + a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xd1b54a32d192ed03);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

filtra_status adv_bytes_create(uint64_t address, uint64_t size, adv_bytes *out) {
  *out = (adv_bytes){.address = address,
                     .size = size,
                     .data = ft_calloc(size / 4 + 2, 4),
                     .words = ft_calloc(size / 4 + 2, sizeof *out->words)};
  return out->data && out->words ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

void adv_bytes_destroy(adv_bytes *b) {
  free(b->data);
  free(b->words);
  free(b->parts);
}

filtra_status adv_memory_add(adv_memory *m, const void *key, uint64_t address, uint64_t size) {
  if (adv_memory_of(m, key)) return FILTRA_OK;
  FT_TRY(FT_GROW(m->regions, m->count, m->capacity));
  adv_region *r = &m->regions[m->count++];
  r->key = key;
  return adv_bytes_create(address, size, &r->bytes);
}

adv_region *adv_memory_of(const adv_memory *m, const void *key) {
  for (size_t i = 0; i < m->count; i++)
    if (m->regions[i].key == key) return &m->regions[i];
  return NULL;
}

adv_region *adv_memory_at(const adv_memory *m, uint64_t address) {
  for (size_t i = 0; i < m->count; i++)
    if (address - m->regions[i].bytes.address < m->regions[i].bytes.size) return &m->regions[i];
  return NULL;
}

void adv_memory_destroy(adv_memory *m) {
  for (size_t i = 0; i < m->count; i++)
    adv_bytes_destroy(&m->regions[i].bytes);
  free(m->regions);
  *m = (adv_memory){0};
}

void adv_region_fill(adv_region *r, uint64_t offset, const void *data, uint64_t size) {
  memcpy(r->bytes.data + offset, data, size);
  for (uint64_t i = offset / 4; i < (offset + size + 3) / 4; i++)
    r->bytes.words[i].flags = (r->bytes.words[i].flags | ADV_WRITTEN) & ~(uint32_t)ADV_SPLIT;
}

void adv_region_forget(adv_region *r, uint64_t offset, uint64_t size, uint64_t seed) {
  for (uint64_t i = offset / 4; i < (offset + size + 3) / 4; i++) {
    uint32_t bits = (uint32_t)adv_mix(seed, i, 0) | 0x7f000000; /* 1.7e38 to NaN */
    memcpy(r->bytes.data + i * 4, &bits, sizeof bits);
    r->bytes.words[i].flags &= ~(uint32_t)(ADV_WRITTEN | ADV_SPLIT);
  }
}

/* ---- who touched what ---- */

/* Whether what `before` did may still be under way when `by` comes. */
static bool unordered(adv_access before, adv_access by, uint32_t stretch) {
  if (before.group < stretch || !before.group) return false;
  if (before.group != by.group || before.lane == ADV_GROUPS) return true;
  if (before.lane == by.lane || before.epoch < by.epoch) return false;
  return before.subgroup != by.subgroup || before.inner >= by.inner || before.lane >= ADV_ATOMIC;
}

static adv_conflict note_read(adv_word *w, adv_access by, uint32_t stretch, adv_access *other) {
  adv_conflict found = ADV_NO_CONFLICT;
  if (unordered(w->write, by, stretch)) {
    *other = w->write;
    found = ADV_AFTER_WRITE;
  }
  const adv_access before = w->read;
  w->read = by;
  if (unordered(before, by, stretch))
    w->read.lane = before.group == by.group && before.lane != ADV_GROUPS ? ADV_SEVERAL : ADV_GROUPS;
  return found;
}

static adv_conflict note_write(adv_word *w, adv_access by, uint32_t stretch, bool atomic,
                               adv_access *other) {
  adv_conflict found = ADV_NO_CONFLICT;
  if (atomic) by.lane = ADV_ATOMIC;
  if (unordered(w->write, by, stretch) && !(atomic && w->write.lane == ADV_ATOMIC)) {
    *other = w->write;
    found = ADV_AFTER_WRITE;
  } else if (unordered(w->read, by, stretch)) {
    *other = w->read;
    found = ADV_AFTER_READ;
  }
  w->write = by;
  w->flags |= ADV_WRITTEN;
  return found;
}

static adv_conflict note_one(adv_word *w, adv_how how, adv_access by, uint32_t stretch,
                             adv_access *other, bool *written) {
  *written = *written && w->flags & ADV_WRITTEN;
  return how == ADV_READS ? note_read(w, by, stretch, other)
                          : note_write(w, by, stretch, how == ADV_COUNTS, other);
}

adv_conflict adv_note(adv_bytes *b, uint64_t offset, uint32_t size, adv_how how, adv_access by,
                      uint32_t stretch, adv_access *other, bool *written) {
  adv_word *w = &b->words[offset / 4];
  *written = true;
  if (size == 4 && !(w->flags & ADV_SPLIT)) return note_one(w, how, by, stretch, other, written);
  if (!b->parts && !(b->parts = ft_calloc(b->size + 8, sizeof *b->parts))) abort();
  adv_word *parts = b->parts + offset / 4 * 4;
  for (int k = 0; k < 4 && !(w->flags & ADV_SPLIT); k++)
    parts[k] = *w;
  w->flags |= ADV_SPLIT;
  adv_conflict found = ADV_NO_CONFLICT;
  for (uint64_t k = offset % 4; k < offset % 4 + size; k++) {
    adv_conflict here = note_one(&parts[k], how, by, stretch, other, written);
    if (here) found = here;
  }
  return found;
}
