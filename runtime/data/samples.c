/* Adds to a dataset's samples, and reads their sets of labels. Called by the formats, dataset.c,
 * loader.c and fingerprint.c. */
#include "base/memory.h"
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

filtra_status ft_samples_add_name(ft_samples *samples, const char *name, size_t length) {
  FT_TRY(FT_GROW(samples->names, samples->name_count, samples->name_capacity));
  char *copy = ft_calloc(length + 1, 1);
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  samples->names[samples->name_count++] = memcpy(copy, name, length);
  return FILTRA_OK;
}

/* ---- sets of labels ---- */

static size_t begin_of(const ft_samples *samples, size_t set) {
  return set ? (size_t)samples->set_ends[set - 1] : 0;
}

static int compare_labels(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

filtra_status ft_samples_add_label(ft_samples *s, int32_t label) {
  FT_TRY(FT_GROW(s->label_ids, s->label_count, s->label_capacity));
  s->label_ids[s->label_count++] = label;
  return FILTRA_OK;
}

static void sort_set(ft_samples *s, size_t set) {
  const size_t begin = begin_of(s, set), count = (size_t)s->set_ends[set] - begin;
  if (count > 1) qsort(s->label_ids + begin, count, sizeof *s->label_ids, compare_labels);
}

/* Removes repeated labels from the last set. */
static void drop_repeated(ft_samples *s, size_t set) {
  size_t kept = begin_of(s, set);
  for (size_t i = kept; i < s->label_count; i++)
    if (i == begin_of(s, set) || s->label_ids[i] != s->label_ids[kept - 1])
      s->label_ids[kept++] = s->label_ids[i];
  s->label_count = kept;
  s->set_ends[set] = kept;
}

filtra_status ft_samples_end_set(ft_samples *s, int32_t *set) {
  if (s->set_count == INT32_MAX)
    return ft_fail(FILTRA_ERROR_INPUT, "more than %d samples with labels", INT32_MAX);
  FT_TRY(FT_GROW(s->set_ends, s->set_count, s->set_capacity));
  s->set_ends[s->set_count] = s->label_count;
  sort_set(s, s->set_count);
  drop_repeated(s, s->set_count);
  *set = (int32_t)s->set_count++;
  return FILTRA_OK;
}

const int32_t *ft_samples_labels(const ft_samples *s, int32_t set, uint32_t *count) {
  *count = 0;
  if (set < 0) return NULL;
  const size_t begin = begin_of(s, (size_t)set);
  *count = (uint32_t)(s->set_ends[set] - begin);
  return *count ? s->label_ids + begin : NULL;
}

void ft_samples_map_labels(ft_samples *s, const int32_t *map) {
  for (size_t i = 0; i < s->label_count; i++)
    s->label_ids[i] = map[s->label_ids[i]];
  for (size_t i = 0; i < s->set_count; i++)
    sort_set(s, i);
}
