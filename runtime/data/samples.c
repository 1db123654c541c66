/* Adds to a dataset's samples. Called by the formats. */
#include "base/memory.h"
#include "data/dataset.h"

#include <string.h>

filtra_status ft_samples_add_name(ft_samples *samples, const char *name, size_t length) {
  FT_TRY(FT_GROW(samples->names, samples->name_count, samples->name_capacity));
  char *copy = ft_calloc(length + 1, 1);
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  samples->names[samples->name_count++] = memcpy(copy, name, length);
  return FILTRA_OK;
}
