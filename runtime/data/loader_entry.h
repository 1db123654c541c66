/* Memory of a loader's batches. */
#ifndef FT_DATA_LOADER_ENTRY_H
#define FT_DATA_LOADER_ENTRY_H

#include "data/dataset.h"

/** Memory of a prepared batch; large enough for the largest bucket. */
typedef struct ft_loader_entry {
  int32_t *tokens, *lengths, *labels, *other_labels, *second, *edges;
  uint32_t *edge_counts;
  float *features, *values, *weights, *label_fractions, *targets;
  uint32_t *indices;
  size_t first; /* index in the epoch of the batch's first row */
  filtra_batch batch;
} ft_loader_entry;

/** Allocates an empty entry for samples of a split: `size` rows of up to `longest` tokens; `mixes`:
 * batches mix two samples each. On failure the caller frees it too. */
filtra_status ft_entry_allocate(ft_loader_entry *s, const filtra_dataset *dataset,
                                filtra_split split, uint32_t size, size_t longest, bool mixes);
void ft_entry_free(ft_loader_entry *s);

#endif
