/* The device's memory as the adversary sees it: bytes, and beside each word who wrote and read it
 * last, whether anybody did, and what the present call may do with it. */
#ifndef ADVERSARY_MEMORY_H
#define ADVERSARY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** An access: workgroup (numbered through all calls of a run), invocation in it, how many barriers
 * it had passed; and its subgroup, with how many of that one's own barriers. */
typedef struct adv_access {
  uint32_t group;
  uint16_t lane, epoch, subgroup, inner;
} adv_access;

enum {
  ADV_SEVERAL = 0xffff, /* lane: more than one invocation of the workgroup */
  ADV_GROUPS = 0xfffe,  /* or of more than one */
  ADV_ATOMIC = 0xfffd   /* only atomic operations */
};

enum { ADV_WRITTEN = 1, ADV_MAY_READ = 2, ADV_MAY_WRITE = 4, ADV_SPLIT = 8 };

typedef struct adv_word {
  adv_access write, read;
  uint32_t flags;
} adv_word;

/** Bytes with a word for each four; where less than four were touched at once, a word for each. */
typedef struct adv_region {
  const void *key; /* whose it is */
  uint64_t address, size;
  uint8_t *data;
  adv_word *words;
  adv_word *parts; /* NULL before the first such access */
} adv_region;

adv_region adv_region_create(const void *key, uint64_t address, uint64_t size);
void adv_region_destroy(adv_region *r);
/** A word for each byte of the word at `offset`; from then on these say what was done. */
adv_word *adv_region_parts(adv_region *r, uint64_t offset);

typedef struct adv_memory {
  adv_region *regions;
  size_t count, capacity;
  uint32_t since_barrier; /* the first workgroup after the last barrier between calls */
  uint32_t next_group;    /* workgroups so far + 1 */
} adv_memory;

/** The region with this key, which is made unless it is there. */
adv_region *adv_memory_add(adv_memory *m, const void *key, uint64_t address, uint64_t size);
adv_region *adv_memory_of(const adv_memory *m, const void *key);
/** The region that an address lies in; NULL: none. */
adv_region *adv_memory_at(const adv_memory *m, uint64_t address);
void adv_memory_destroy(adv_memory *m);
/** Bytes with a content that somebody wrote before. */
void adv_region_fill(adv_region *r, uint64_t offset, const void *data, uint64_t size);
/** Bytes that nobody wrote: NaNs and large numbers, drawn from the seed. */
void adv_region_forget(adv_region *r, uint64_t offset, uint64_t size, uint64_t seed);

/** The upper half of the word at `offset` holds what it does: nobody has to have written it. */
void adv_region_pad(adv_region *r, uint64_t offset);

void *adv_list(size_t count, size_t size); /* of zeros; where memory ends, it aborts */
/** A number from a seed and two words: how every choice here is made. */
uint64_t adv_mix(uint64_t seed, uint64_t a, uint64_t b);

#endif
