/* Reads data as the training data were read: maps classes by name, and standardises numbers by the
 * same means. Called by dataset.c. */
#include "base/memory.h"
#include "data/dataset.h"
#include "data/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Maps the data's labels to those of `fit` by name; -1: `fit` has no such class. NULL when out of
 * memory. */
static int32_t *map_classes(const filtra_dataset *ds, const ft_data_fit *fit) {
  int32_t *map = ft_calloc(ds->info.classes, sizeof *map);
  for (uint32_t i = 0; map && i < ds->info.classes; i++) {
    map[i] = (int32_t)fit->class_count - 1;
    while (map[i] >= 0 && strcmp(fit->classes[map[i]], ds->class_names[i]) != 0)
      map[i]--;
  }
  return map;
}

static filtra_status fail_unknown(const filtra_dataset *ds, const ft_data_fit *fit, int32_t label) {
  char list[FT_LISTED];
  ft_list_quoted(fit->classes, fit->class_count, list);
  return ft_fail(FILTRA_ERROR_INPUT, "%s \"%.64s\" is none of the training data's: %s",
                 ds->info.target == FILTRA_TARGET_LABELS ? "label" : "class",
                 ds->class_names[label], list);
}

/* Maps the labels of all sets. */
static filtra_status map_sets(filtra_dataset *ds, const ft_data_fit *fit, const int32_t *map) {
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++) {
    ft_samples *s = &ds->samples[i];
    for (size_t k = 0; k < s->label_count; k++)
      if (map[s->label_ids[k]] < 0) return fail_unknown(ds, fit, s->label_ids[k]);
    ft_samples_map_labels(s, map);
  }
  return FILTRA_OK;
}

static filtra_status map_labels(filtra_dataset *ds, const ft_data_fit *fit, const int32_t *map) {
  if (ds->info.target == FILTRA_TARGET_LABELS) return map_sets(ds, fit, map);
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    for (size_t k = 0; k < ds->samples[i].count; k++) {
      ft_sample_row *row = &ds->samples[i].rows[k];
      if (row->label < 0) continue; /* label unknown */
      if (map[row->label] < 0) return fail_unknown(ds, fit, row->label);
      row->label = map[row->label];
    }
  return FILTRA_OK;
}

static filtra_status take_names(filtra_dataset *ds, const ft_data_fit *fit) {
  char **names = ft_calloc(fit->class_count, sizeof *names);
  bool done = names;
  for (uint32_t i = 0; i < fit->class_count && done; i++)
    done = (names[i] = ft_strdup(fit->classes[i])) != NULL;
  if (!done) {
    ft_free_names(names, names ? fit->class_count : 0);
    return FILTRA_ERROR_HOST_MEMORY;
  }
  ft_free_names(ds->owned_class_names, ds->owned_class_names ? ds->info.classes : 0);
  ds->owned_class_names = names;
  ds->class_names = (const char *const *)names;
  ds->info.classes = fit->class_count;
  return FILTRA_OK;
}

filtra_status ft_fit_foreign(const filtra_dataset *ds, const ft_data_fit *fit, bool *foreign) {
  *foreign = ds->guessed_classes && (fit->values || fit->labels);
  if (!ds->guessed_classes || !fit->class_count) return FILTRA_OK;
  int32_t *map = map_classes(ds, fit);
  if (!map) return FILTRA_ERROR_HOST_MEMORY;
  *foreign = true;
  for (uint32_t i = 0; i < ds->info.classes; i++)
    *foreign = *foreign && map[i] < 0;
  free(map);
  return FILTRA_OK;
}

void ft_fit_drop_classes(filtra_dataset *ds) {
  ft_free_names(ds->owned_class_names, ds->owned_class_names ? ds->info.classes : 0);
  ds->owned_class_names = NULL;
  ds->class_names = NULL;
  ds->info.classes = 0;
}

/* Treats series with one feature as rows of columns, if the training data were such rows from a
 * program's arrays: a file cannot tell them apart. */
static filtra_status take_columns(filtra_dataset *ds, const char *path, uint32_t columns) {
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    for (size_t k = 0; k < ds->samples[i].count; k++)
      if (ds->samples[i].rows[k].length != columns)
        return ft_fail(FILTRA_ERROR_INPUT,
                       "%s: sample %zu of %s has %u numbers; a row of the training data has %u",
                       path, k, filtra_split_name((filtra_split)i), ds->samples[i].rows[k].length,
                       columns);
  ds->columns = columns;
  return FILTRA_OK;
}

/* Fails for a missing number if there is no mean to replace it. */
static filtra_status check_plain(const filtra_dataset *ds, const char *path) {
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    for (size_t k = 0; k < ds->samples[i].value_count; k++)
      if (isnan(ds->samples[i].values[k]))
        return ft_fail(FILTRA_ERROR_INPUT,
                       "%s: a number of the %s split is missing (NaN), and the training data were "
                       "not standardised, so that there is no mean to take for it",
                       path, filtra_split_name((filtra_split)i));
  return FILTRA_OK;
}

filtra_status ft_fit_apply(filtra_dataset *ds, const char *path, const ft_data_fit *fit) {
  if (fit->columns && !fit->table && !ds->columns && ds->info.features == 1)
    FT_TRY(take_columns(ds, path, fit->features));
  if (fit->plain) FT_TRY(check_plain(ds, path));
  if (ds->standardise && fit->features && fit->features != ft_feature_count(ds))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: has %u features, the training data have %u", path,
                   ft_feature_count(ds), fit->features);
  const bool named =
      ds->info.target == FILTRA_TARGET_CLASS || ds->info.target == FILTRA_TARGET_LABELS;
  if (!fit->class_count || !named) return FILTRA_OK;
  int32_t *map = map_classes(ds, fit);
  if (!map) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = map_labels(ds, fit, map);
  free(map);
  if (status) return ft_fail_context(status, "%s", path);
  return take_names(ds, fit);
}
