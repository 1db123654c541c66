/* Finds the files of time series and stores the series as samples. Called by ts.c and ucr.c. */
#include "data/series.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "data/labels.h"
#include "data/names.h"
#include "data/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one sample ---- */

void ft_series_begin(ft_series *s, const filtra_dataset_options *options, filtra_dataset *ds,
                     filtra_split split) {
  const ft_samples *train = &ds->samples[FILTRA_SPLIT_TRAIN];
  *s = (ft_series){.options = options, .ds = ds, .samples = &ds->samples[split]};
  s->first = !ds->fit || (!ds->fit->features && !ds->fit->plain);
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    s->first = s->first && ds->samples[i].count == 0;
  if (split == FILTRA_SPLIT_TRAIN) return;
  for (size_t i = 0; i < train->count; i++)
    if (train->rows[i].length > s->cut) s->cut = train->rows[i].length;
  if (options->max_length && (!s->cut || options->max_length < s->cut))
    s->cut = options->max_length;
}

void ft_series_end(ft_series *s) {
  free(s->values);
  free(s->spreads);
  if (s->longer)
    ft_log(
        FILTRA_LOG_WARNING,
        "%zu of %zu series are longer than %u steps, the most that the training data or the model "
        "have: what comes later is left out",
        s->longer, s->samples->count, s->cut);
}

bool ft_series_is_missing(const char *text, size_t length) {
  return (length == 1 && *text == '?') || (length == 3 && !ft_strncasecmp(text, "nan", 3));
}

filtra_status ft_series_value(const char *text, size_t length, double *value) {
  ft_trim(&text, &length);
  if (length == 0) return ft_fail(FILTRA_ERROR_INPUT, "nothing");
  *value = NAN;
  return ft_series_is_missing(text, length) ? FILTRA_OK : ft_read_double(text, length, value);
}

filtra_status ft_series_put(ft_series *s, size_t index, double value) {
  FT_TRY(FT_GROW(s->values, index, s->capacity));
  s->values[index] = value;
  return FILTRA_OK;
}

/* One feature, of which neighbours are `stride` numbers apart. */
static void interpolate(float *x, size_t length, size_t stride) {
  for (size_t i = 0; i < length; i++) {
    if (!isnan(x[i * stride])) continue;
    size_t next = i;
    while (next < length && isnan(x[next * stride]))
      next++;
    const bool before = i > 0, after = next < length;
    if (!before && !after) return;
    const double from = x[(before ? i - 1 : next) * stride];
    const double to = after ? x[next * stride] : from;
    for (size_t k = i; k < next; k++)
      x[k * stride] = (float)(from + (to - from) * (double)(k - i + 1) / (double)(next - i + 1));
  }
}

void ft_interpolate(float *x, size_t length, size_t features) {
  for (size_t k = 0; k < features; k++)
    interpolate(x + k, length, features);
}

static filtra_status check_length(ft_series *s, size_t length, size_t *kept) {
  size_t limit = s->options->max_length;
  *kept = s->cut && length > s->cut ? s->cut : length;
  s->longer += *kept < length;
  if (!limit || *kept <= limit) return FILTRA_OK;
  *kept = limit;
  if (s->options->truncate) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "series of %zu values where at most %zu are accepted; %s",
                 length, limit, ft_length_advice(s->ds));
}

/* Appends the first `kept` steps of a series, time step by time step, as models read it. Missing
 * values are interpolated before the rest is cut. */
static filtra_status append(ft_series *series, size_t dimensions, size_t length, size_t kept) {
  ft_samples *s = series->samples;
  size_t count = length * dimensions, wanted = s->value_count + count;
  if (wanted > s->value_capacity) {
    wanted += wanted / 2;
    float *values = ft_realloc(s->values, wanted, sizeof *values);
    if (!values) return FILTRA_ERROR_HOST_MEMORY;
    s->values = values;
    s->value_capacity = wanted;
  }
  float *to = s->values + s->value_count;
  for (size_t i = 0; i < length; i++)
    for (size_t k = 0; k < dimensions; k++)
      to[i * dimensions + k] = (float)series->values[k * length + i];
  ft_interpolate(to, length, dimensions);
  s->value_count += kept * dimensions;
  return FILTRA_OK;
}

static filtra_status measure(ft_series *s, size_t dimensions, size_t length, size_t kept) {
  if (!s->first) return FILTRA_OK;
  if (!s->spreads) s->spreads = ft_calloc(dimensions, sizeof *s->spreads);
  if (!s->spreads) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t k = 0; k < dimensions; k++)
    for (size_t i = 0; i < kept; i++)
      ft_spread_add(&s->spreads[k], s->values[k * length + i]);
  return FILTRA_OK;
}

filtra_status ft_series_check(const ft_series *s, const char *path, const char *what) {
  char feature[64];
  for (size_t k = 0; s->spreads && k < s->ds->info.features; k++) {
    snprintf(feature, sizeof feature, "%s %zu", what, k + 1);
    FT_TRY(ft_spread_check(&s->spreads[k], path, feature));
  }
  return FILTRA_OK;
}

filtra_status ft_series_add(ft_series *s, size_t dimensions, size_t length, ft_sample_row row) {
  ft_samples *samples = s->samples;
  size_t kept;
  if (!s->ds->info.features) s->ds->info.features = (uint32_t)dimensions;
  if (dimensions != s->ds->info.features)
    return ft_fail(FILTRA_ERROR_INPUT, "%zu dimension%s where the samples before have %u",
                   dimensions, dimensions == 1 ? "" : "s", s->ds->info.features);
  FT_TRY(check_length(s, length, &kept));
  FT_TRY(measure(s, dimensions, length, kept));
  row.first = samples->value_count;
  row.length = (uint32_t)kept;
  FT_TRY(append(s, dimensions, length, kept));
  FT_TRY(FT_GROW(samples->rows, samples->count, samples->capacity));
  samples->rows[samples->count++] = row;
  return FILTRA_OK;
}

/* ---- finding the files ---- */

bool ft_series_is_train(const ft_series_kind *kind, const char *name, const ft_series_ends **ends) {
  for (size_t i = 0; i < kind->end_count; i++) {
    *ends = &kind->ends[i];
    if (ft_ends_with(name, (*ends)->train)) return true;
  }
  return false;
}

static bool is_test(const ft_series_kind *kind, const char *name, const ft_series_ends **ends) {
  for (size_t i = 0; i < kind->end_count; i++) {
    *ends = &kind->ends[i];
    if (ft_ends_with(name, (*ends)->test)) return true;
  }
  return false;
}

/* Whether `folder` is called NAME if `train` is NAME_TRAIN.ts. */
static bool is_named_after(const char *folder, const char *train, const char *train_end) {
  size_t end = ft_path_length(folder), length = strlen(train) - strlen(train_end);
  bool whole = end == length || (end > length && ft_is_separator(folder[end - length - 1]));
  return whole && !strncmp(folder + end - length, train, length);
}

/* Chooses a folder's training file: the only one, or the one named as the folder. */
static filtra_status choose_train(const char *folder, char **names, size_t count,
                                  const ft_series_kind *kind, const char **chosen) {
  const char *found[2] = {NULL, NULL};
  *chosen = NULL;
  for (size_t i = 0; i < count && !*chosen; i++) {
    const ft_series_ends *ends;
    if (!ft_series_is_train(kind, names[i], &ends)) continue;
    if (is_named_after(folder, names[i], ends->train)) *chosen = names[i];
    found[1] = found[0] ? names[i] : NULL;
    if (!found[0]) found[0] = names[i];
  }
  if (!*chosen && !found[1]) *chosen = found[0];
  if (*chosen) return FILTRA_OK;
  if (!found[0])
    return ft_fail(FILTRA_ERROR_INPUT, "%s holds no NAME%s", folder, kind->ends[0].train);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s holds more than one data set, %s and %s; give one file's path", folder,
                 found[0], found[1]);
}

/* Reads the other file of a training and test pair, if it exists; `path` ends with `end`. */
static filtra_status read_other(const ft_series_kind *kind, const char *path, const char *end,
                                const char *other_end, filtra_split split) {
  char *other = ft_format("%.*s%s", (int)(strlen(path) - strlen(end)), path, other_end);
  if (!other) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status =
      ft_data_file_exists(other) ? kind->read(kind->user, other, split) : FILTRA_OK;
  free(other);
  return status;
}

static filtra_status read_train(const char *path, const ft_series_kind *kind) {
  const ft_series_ends *ends;
  FT_TRY(kind->read(kind->user, path, FILTRA_SPLIT_TRAIN));
  if (!ft_series_is_train(kind, path, &ends)) return FILTRA_OK;
  return read_other(kind, path, ends->train, ends->test, FILTRA_SPLIT_TEST);
}

static filtra_status read_test(const char *path, filtra_split split, const ft_series_kind *kind) {
  const ft_series_ends *ends;
  if (is_test(kind, path, &ends))
    FT_TRY(read_other(kind, path, ends->test, ends->train, FILTRA_SPLIT_TRAIN));
  return kind->read(kind->user, path, split);
}

static filtra_status read_folder(const char *path, const ft_series_kind *kind) {
  const char *chosen;
  char **names, *train = NULL;
  size_t count;
  FT_TRY(ft_list_files(path, &names, &count));
  filtra_status status = choose_train(path, names, count, kind, &chosen);
  if (!status && !(train = ft_path_join(path, chosen))) status = FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = read_train(train, kind);
  free(train);
  ft_free_names(names, count);
  return status;
}

filtra_status ft_series_open(const char *path, const filtra_dataset_options *options,
                             filtra_dataset *ds, const ft_series_kind *kind) {
  ds->info.input = FILTRA_INPUT_FEATURES;
  ds->standardise = true;
  if (options->tokenizer)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "tokenizer is \"%.64s\", but %s holds series of numbers",
                   options->tokenizer, path);
  if (ft_is_directory(path)) return read_folder(path, kind);
  if (options->file_split == FILTRA_SPLIT_TRAIN) return read_train(path, kind);
  return read_test(path, options->file_split, kind);
}
