/* The padded lengths of batches: given ones, or powers of two that some sample needs. Called by
 * loader.c. */
#include "base/lengths.h"
#include "base/memory.h"
#include "data/dataset.h"

static bool is_used(const filtra_dataset *ds, uint32_t above, uint32_t length) {
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    for (size_t k = 0; k < ds->samples[i].count; k++) {
      uint32_t n = ft_row_length(&ds->samples[i].rows[k]);
      if (n > above && n <= length) return true;
    }
  return false;
}

static filtra_status make_default(const filtra_dataset *ds, uint32_t **buckets, size_t *count) {
  int64_t limit = ds->info.max_length ? ds->info.max_length : INT64_MAX;
  /* Many series and images have the greatest length, and models are made for it: make it the last
   * bucket. */
  if (ds->info.input == FILTRA_INPUT_FEATURES && !ds->info.max_length) limit = ds->info.longest;
  *buckets = ft_calloc(32, sizeof **buckets);
  if (!*buckets) return FILTRA_ERROR_HOST_MEMORY;
  for (uint32_t below = 0, length; below < ds->info.longest; below = length) {
    length = (uint32_t)ft_graph_length((int64_t)below + 1, FT_SHORTEST_LENGTH, limit);
    /* All windows of a text have the same length except the last, which needs no bucket of its
     * own. */
    bool rest = ds->info.target == FILTRA_TARGET_NEXT && length < ds->info.longest;
    if (!rest && is_used(ds, below, length)) (*buckets)[(*count)++] = length;
  }
  return FILTRA_OK;
}

filtra_status ft_buckets_make(const filtra_dataset *ds, const uint32_t *given, size_t given_count,
                              uint32_t **buckets, size_t *count) {
  *count = 0;
  if (!given_count) return make_default(ds, buckets, count);
  *buckets = ft_calloc(given_count, sizeof **buckets);
  if (!*buckets) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < given_count; i++) {
    if (given[i] <= (i ? given[i - 1] : 0))
      return ft_fail(FILTRA_ERROR_ARGUMENT, "bucket %zu is %u; bucket lengths must ascend from 1",
                     i, given[i]);
    (*buckets)[i] = given[i];
  }
  *count = given_count;
  return FILTRA_OK;
}
