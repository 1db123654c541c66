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
  return set ? (size_t)samples->sets[set - 1].end : 0;
}

static int compare_labels(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Until its set ends, an unknown label is stored as its complement, which is negative. */
filtra_status ft_samples_add_label(ft_samples *s, int32_t label, bool known) {
  FT_TRY(FT_GROW(s->label_ids, s->label_count, s->label_capacity));
  s->label_ids[s->label_count++] = known ? label : ~label;
  return FILTRA_OK;
}

/* Moves unknown labels after the others and decodes them; returns the number of the others. */
static size_t part_set(int32_t *labels, size_t count) {
  size_t known = 0;
  for (size_t i = 0; i < count; i++) {
    const int32_t label = labels[i];
    if (label < 0) continue;
    labels[i] = labels[known];
    labels[known++] = label;
  }
  for (size_t i = known; i < count; i++)
    labels[i] = ~labels[i];
  return known;
}

static void sort_labels(int32_t *labels, size_t count) {
  if (count > 1) qsort(labels, count, sizeof *labels, compare_labels);
}

static void sort_set(ft_samples *s, size_t set) {
  const size_t begin = begin_of(s, set), known = begin + s->sets[set].known;
  if (s->sets[set].end == begin) return;
  sort_labels(s->label_ids + begin, s->sets[set].known);
  sort_labels(s->label_ids + known, (size_t)s->sets[set].end - known);
}

/* Removes repeated numbers, which are sorted; returns the number of those left. */
static size_t drop_repeated(int32_t *labels, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (i == 0 || labels[i] != labels[kept - 1]) labels[kept++] = labels[i];
  return kept;
}

filtra_status ft_samples_end_set(ft_samples *s, int32_t *set) {
  if (s->set_count == INT32_MAX)
    return ft_fail(FILTRA_ERROR_INPUT, "more than %d samples with labels", INT32_MAX);
  FT_TRY(FT_GROW(s->sets, s->set_count, s->set_capacity));
  const size_t begin = begin_of(s, s->set_count);
  size_t count = s->label_count - begin, known = 0;
  if (count > 0) {
    int32_t *labels = s->label_ids + begin;
    sort_labels(labels, count);
    count = drop_repeated(labels, count);
    known = part_set(labels, count);
  }
  s->label_count = begin + count;
  s->sets[s->set_count] = (ft_label_set){begin + count, (uint32_t)known};
  sort_set(s, s->set_count);
  *set = (int32_t)s->set_count++;
  return FILTRA_OK;
}

const int32_t *ft_samples_labels(const ft_samples *s, int32_t set, uint32_t count[2]) {
  count[0] = count[1] = 0;
  if (set < 0) return NULL;
  const size_t begin = begin_of(s, (size_t)set), all = (size_t)s->sets[set].end - begin;
  count[0] = s->sets[set].known;
  count[1] = (uint32_t)(all - count[0]);
  return all ? s->label_ids + begin : NULL;
}

void ft_samples_map_labels(ft_samples *s, const int32_t *map) {
  for (size_t i = 0; i < s->label_count; i++)
    s->label_ids[i] = map[s->label_ids[i]];
  for (size_t i = 0; i < s->set_count; i++)
    sort_set(s, i);
}
