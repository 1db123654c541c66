#include "adversary/single.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static void add_tensors(const adv_single *s, uint64_t seed, adv_memory *memory,
                        adv_tensor *tensors) {
  memory->next_group = memory->since_barrier = 1;
  for (uint32_t i = 0; i < s->tensor_count; i++) {
    uint64_t bytes = 4 * s->tensors[i].elements, address = (uint64_t)(i + 1) << 32;
    adv_region *r = adv_memory_add(memory, &s->tensors[i], address, bytes);
    tensors[i] = (adv_tensor){s->tensors[i].name, address, address + bytes, 4};
    adv_region_forget(r, 0, bytes, seed);
    for (uint64_t k = 0; k < s->tensors[i].elements; k++) {
      float x = (float)(adv_mix(7, i, k) >> 40) / (float)(1 << 23) - 1.0f;
      if (s->tensors[i].read) adv_region_fill(r, 4 * k, &x, sizeof x);
      r->words[k].flags |=
          (s->tensors[i].read ? ADV_MAY_READ : 0u) | (s->tensors[i].write ? ADV_MAY_WRITE : 0u);
    }
  }
}

filtra_status adv_single_run(const adv_single *s, const adv_manner *manner, adv_memory *memory,
                             adv_report *report) {
  adv_tensor tensors[ADV_MAX_TENSORS];
  uint8_t push[8 * ADV_MAX_TENSORS + 4 * ADV_MAX_SCALARS];
  uint32_t size = 0;
  add_tensors(s, manner->seed, memory, tensors);
  for (uint32_t i = 0; i < s->tensor_count; i++, size += 8)
    memcpy(push + size, &tensors[i].low, 8);
  memcpy(push + size, s->scalars, 4 * s->scalar_count);
  size += 4 * s->scalar_count;
  report->tensors = tensors;
  report->tensor_count = s->tensor_count;
  adv_program *program;
  FT_TRY(adv_program_create(&s->source, &program));
  adv_machine_run(program, manner, memory, report, push, size, s->groups);
  adv_program_destroy(&program);
  report->tensors = NULL;
  report->tensor_count = 0;
  return FILTRA_OK;
}

uint32_t *adv_read_words(FILE *from, size_t *bytes) {
  uint32_t *words = NULL, word;
  size_t count = 0, capacity = 0;
  while (from && fread(&word, sizeof word, 1, from) == 1) {
    if (FT_GROW(words, count, capacity)) abort();
    words[count++] = word;
  }
  *bytes = count * sizeof word;
  return words;
}

uint32_t *adv_read_file(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  uint32_t *words = adv_read_words(file, bytes);
  if (file) fclose(file);
  return words;
}
