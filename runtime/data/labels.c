/* Collects class names and their labels while a file is read. Called by formats whose data name the
 * classes: fasta.c, table.c, ts.c. */
#include "data/labels.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LABELS = 10000, MAX_NAME = 200 };

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void ft_trim(const char **text, size_t *length) {
  while (*length > 0 && is_space((*text)[*length - 1]))
    --*length;
  while (*length > 0 && is_space(**text)) {
    ++*text;
    --*length;
  }
}

/* ---- finding ---- */

/* Index of a name in `places`, or of the free place for it. */
static size_t place_of(const ft_labels *labels, const char *name, size_t length) {
  const size_t mask = labels->place_count - 1;
  size_t at = (size_t)ft_hash_bytes(0, name, length) & mask;
  for (; labels->places[at]; at = (at + 1) & mask) {
    const char *found = labels->names[labels->places[at] - 1];
    if (!strncmp(found, name, length) && !found[length]) break;
  }
  return at;
}

/* Rehashes all names into `count` places, a power of two above twice their number. */
static filtra_status place_all(ft_labels *labels, size_t count) {
  uint32_t *places = ft_calloc(count, sizeof *places);
  if (!places) return FILTRA_ERROR_HOST_MEMORY;
  free(labels->places);
  labels->places = places;
  labels->place_count = count;
  for (size_t i = 0; i < labels->count; i++)
    places[place_of(labels, labels->names[i], strlen(labels->names[i]))] = (uint32_t)i + 1;
  return FILTRA_OK;
}

static filtra_status add(ft_labels *labels, const char *name, size_t length) {
  if (length > MAX_NAME)
    return ft_fail(FILTRA_ERROR_INPUT, "a class name of %zu bytes; at most %d are accepted", length,
                   MAX_NAME);
  FT_TRY(ft_check_class_name(name, length));
  if (labels->count == MAX_LABELS)
    return ft_fail(FILTRA_ERROR_INPUT, "\"%.*s\" is class number %d; at most %d are supported",
                   (int)length, name, MAX_LABELS + 1, MAX_LABELS);
  FT_TRY(FT_GROW(labels->names, labels->count, labels->capacity));
  char *copy = ft_calloc(length + 1, 1);
  if (!copy) return FILTRA_ERROR_HOST_MEMORY;
  labels->places[place_of(labels, name, length)] = (uint32_t)labels->count + 1;
  labels->names[labels->count++] = memcpy(copy, name, length);
  return FILTRA_OK;
}

filtra_status ft_labels_find(ft_labels *labels, const char *name, size_t length, int32_t *label) {
  ft_trim(&name, &length);
  if (length == 0) return ft_fail(FILTRA_ERROR_INPUT, "the class is empty");
  if (2 * labels->count >= labels->place_count)
    FT_TRY(place_all(labels, labels->place_count ? 2 * labels->place_count : 16));
  const uint32_t found = labels->places[place_of(labels, name, length)];
  *label = (int32_t)(found ? found - 1 : labels->count);
  if (found) return FILTRA_OK;
  if (!labels->closed) return add(labels, name, length);
  return ft_fail(FILTRA_ERROR_INPUT, "\"%.*s\" is none of the %zu classes",
                 (int)(length < 40 ? length : 40), name, labels->count);
}

/* ---- sorting ---- */

typedef struct named {
  char *name;
  size_t label;
} named;

static int compare_strings(const void *a, const void *b) {
  return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static int compare_numbers(const void *a, const void *b) {
  long long x = strtoll(((const named *)a)->name, NULL, 10);
  long long y = strtoll(((const named *)b)->name, NULL, 10);
  return x == y ? compare_strings(a, b) : x < y ? -1 : 1;
}

static bool all_numbers(const ft_labels *labels) {
  for (size_t i = 0; i < labels->count; i++) {
    const char *digits = labels->names[i] + (*labels->names[i] == '-');
    size_t length = strlen(digits);
    if (length == 0 || length > 18 || strspn(digits, "0123456789") != length) return false;
  }
  return true;
}

filtra_status ft_labels_close(ft_labels *labels, bool numbers, ft_samples *samples) {
  labels->closed = true;
  named *sorted = ft_calloc(labels->count, sizeof *sorted);
  int32_t *renumbered = ft_calloc(labels->count, sizeof *renumbered);
  filtra_status status = sorted && renumbered ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status && labels->count > 0) {
    for (size_t i = 0; i < labels->count; i++)
      sorted[i] = (named){labels->names[i], i};
    qsort(sorted, labels->count, sizeof *sorted,
          numbers && all_numbers(labels) ? compare_numbers : compare_strings);
    for (size_t i = 0; i < labels->count; i++) {
      labels->names[i] = sorted[i].name;
      renumbered[sorted[i].label] = (int32_t)i;
    }
    status = place_all(labels, labels->place_count);
    ft_samples_map_labels(samples, renumbered);
    for (size_t i = 0; i < samples->count && !samples->set_count; i++)
      if (samples->rows[i].label >= 0) samples->rows[i].label = renumbered[samples->rows[i].label];
  }
  free(sorted);
  free(renumbered);
  return status;
}

filtra_status ft_labels_check(const ft_labels *labels, const filtra_dataset *ds,
                              const filtra_dataset_options *options, const char *where,
                              const char *advice) {
  enum { MANY_SAMPLES = 20 };
  const size_t samples = ds->samples[FILTRA_SPLIT_TRAIN].count;
  if (samples < MANY_SAMPLES || labels->count * 2 <= samples) return FILTRA_OK;
  const bool asked = options->targets != FILTRA_TARGETS_AUTO;
  char *text = ft_format("%s has %zu classes in %zu samples, nearly each sample one of its own%s%s",
                         where, labels->count, samples, asked ? "" : "; ", asked ? "" : advice);
  if (!text) return FILTRA_ERROR_HOST_MEMORY;
  if (asked) ft_log(FILTRA_LOG_WARNING, "%s", text);
  const filtra_status status = asked ? FILTRA_OK : ft_fail(FILTRA_ERROR_INPUT, "%s", text);
  free(text);
  return status;
}

void ft_labels_give(ft_labels *labels, filtra_dataset *ds) {
  ds->info.classes = (uint32_t)labels->count;
  ds->owned_class_names = labels->names;
  ds->class_names = (const char *const *)labels->names;
  free(labels->places);
  *labels = (ft_labels){.closed = true};
}

void ft_labels_free(ft_labels *labels) {
  ft_free_names(labels->names, labels->count);
  free(labels->places);
  *labels = (ft_labels){0};
}
