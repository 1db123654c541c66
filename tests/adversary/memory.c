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

filtra_status adv_memory_add(adv_memory *m, const void *key, uint64_t address, uint64_t size) {
  if (adv_memory_of(m, key)) return FILTRA_OK;
  FT_TRY(FT_GROW(m->regions, m->count, m->capacity));
  uint64_t words = size / 4 + 1;
  adv_region r = {.key = key,
                  .address = address,
                  .size = size,
                  .data = ft_calloc(words, 4),
                  .words = ft_calloc(words, sizeof *r.words)};
  m->regions[m->count++] = r;
  return r.data && r.words ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

adv_region *adv_memory_of(const adv_memory *m, const void *key) {
  for (size_t i = 0; i < m->count; i++)
    if (m->regions[i].key == key) return &m->regions[i];
  return NULL;
}

adv_region *adv_memory_at(const adv_memory *m, uint64_t address) {
  for (size_t i = 0; i < m->count; i++)
    if (address - m->regions[i].address < m->regions[i].size) return &m->regions[i];
  return NULL;
}

void adv_memory_destroy(adv_memory *m) {
  for (size_t i = 0; i < m->count; i++) {
    free(m->regions[i].data);
    free(m->regions[i].words);
  }
  free(m->regions);
  *m = (adv_memory){0};
}

void adv_region_fill(adv_region *r, uint64_t offset, const void *data, uint64_t size) {
  memcpy(r->data + offset, data, size);
  for (uint64_t i = offset / 4; i < (offset + size + 3) / 4; i++)
    r->words[i].flags |= ADV_WRITTEN;
}

void adv_region_forget(adv_region *r, uint64_t offset, uint64_t size, uint64_t seed) {
  for (uint64_t i = offset / 4; i < (offset + size + 3) / 4; i++) {
    uint32_t bits = (uint32_t)adv_mix(seed, i, 0) | 0x7f000000; /* 1.7e38 to NaN */
    memcpy(r->data + i * 4, &bits, sizeof bits);
    r->words[i].flags &= ~(uint32_t)ADV_WRITTEN;
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

adv_conflict adv_note_read(adv_word *w, adv_access by, uint32_t stretch, adv_access *other) {
  adv_conflict found = ADV_NO_CONFLICT;
  if (unordered(w->write, by, stretch)) {
    *other = w->write;
    found = ADV_AFTER_WRITE;
  }
  if (unordered(w->read, by, stretch))
    w->read.lane =
        w->read.group == by.group && w->read.lane != ADV_GROUPS ? ADV_SEVERAL : ADV_GROUPS;
  else
    w->read.lane = by.lane;
  w->read.group = by.group;
  w->read.epoch = by.epoch;
  w->read.subgroup = by.subgroup;
  w->read.inner = by.inner;
  return found;
}

adv_conflict adv_note_write(adv_word *w, adv_access by, uint32_t stretch, bool atomic,
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
