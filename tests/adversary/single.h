/* One dispatch of one kernel on tensors made for it. */
#ifndef ADVERSARY_SINGLE_H
#define ADVERSARY_SINGLE_H

#include "adversary/machine.h"

enum { ADV_MAX_TENSORS = 16, ADV_MAX_SCALARS = 32 };

/** Push constants are the tensors' addresses, then the scalars. */
typedef struct adv_single {
  adv_source source;
  uint32_t groups[3];
  uint32_t tensor_count, scalar_count;
  struct {
    const char *name;
    uint64_t elements;
    bool read, write; /* what is read holds numbers from -1 to 1 */
  } tensors[ADV_MAX_TENSORS];
  uint32_t scalars[ADV_MAX_SCALARS];
} adv_single;

/** `memory` begins empty; afterwards region i, by the key &single->tensors[i], holds tensor i. */
filtra_status adv_single_run(const adv_single *single, const adv_manner *manner, adv_memory *memory,
                             adv_report *report);
/** All words of a file; NULL if there is none. The caller frees. */
uint32_t *adv_read_words(FILE *from, size_t *bytes);
uint32_t *adv_read_file(const char *path, size_t *bytes);

#endif
