#include "adversary/memory.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

uint64_t adv_mix(uint64_t seed, uint64_t a, uint64_t b) { /* the finalizer of splitmix64 */
  uint64_t x = seed + a * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xd1b54a32d192ed03);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

void *adv_list(size_t count, size_t size) {
  void *list = ft_calloc(count + 1, size);
  if (!list) abort();
  return list;
}

adv_region adv_region_create(const void *key, uint64_t address, uint64_t size) {
  return (adv_region){.key = key,
                      .address = address,
                      .size = size,
                      .data = adv_list(size / 4 + 1, 4),
                      .words = adv_list(size / 4 + 1, sizeof(adv_word))};
}

void adv_region_destroy(adv_region *r) {
  free(r->data);
  free(r->words);
  free(r->parts);
}

adv_word *adv_region_parts(adv_region *r, uint64_t offset) {
  adv_word *w = &r->words[offset / 4];
  if (!r->parts) r->parts = adv_list(r->size + 8, sizeof *r->parts);
  adv_word *parts = r->parts + offset / 4 * 4;
  for (int k = 0; k < 4 && !(w->flags & ADV_SPLIT); k++)
    parts[k] = *w;
  w->flags |= ADV_SPLIT;
  return parts;
}

void adv_region_pad(adv_region *r, uint64_t offset) {
  adv_word *parts = adv_region_parts(r, offset);
  parts[2].flags |= ADV_WRITTEN;
  parts[3].flags |= ADV_WRITTEN;
}

adv_region *adv_memory_of(const adv_memory *m, const void *key) {
  for (size_t i = 0; i < m->count; i++)
    if (m->regions[i].key == key) return &m->regions[i];
  return NULL;
}

adv_region *adv_memory_add(adv_memory *m, const void *key, uint64_t address, uint64_t size) {
  adv_region *there = adv_memory_of(m, key);
  if (there) return there;
  if (FT_GROW(m->regions, m->count, m->capacity)) abort();
  m->regions[m->count] = adv_region_create(key, address, size);
  return &m->regions[m->count++];
}

adv_region *adv_memory_at(const adv_memory *m, uint64_t address) {
  for (size_t i = 0; i < m->count; i++)
    if (address - m->regions[i].address < m->regions[i].size) return &m->regions[i];
  return NULL;
}

void adv_memory_destroy(adv_memory *m) {
  for (size_t i = 0; i < m->count; i++)
    adv_region_destroy(&m->regions[i]);
  free(m->regions);
  *m = (adv_memory){0};
}

void adv_region_fill(adv_region *r, uint64_t offset, const void *data, uint64_t size) {
  memcpy(r->data + offset, data, size);
  for (uint64_t i = offset / 4; i < (offset + size + 3) / 4; i++)
    r->words[i].flags = (r->words[i].flags | ADV_WRITTEN) & ~(uint32_t)ADV_SPLIT;
}

void adv_region_forget(adv_region *r, uint64_t offset, uint64_t size, uint64_t seed) {
  for (uint64_t i = offset / 4; i < (offset + size + 3) / 4; i++) {
    uint32_t bits = (uint32_t)adv_mix(seed, i, 0) | 0x7f000000; /* 1.7e38 to NaN */
    memcpy(r->data + i * 4, &bits, sizeof bits);
    r->words[i].flags &= ~(uint32_t)(ADV_WRITTEN | ADV_SPLIT);
  }
}
