/* filtra_dataset_create: makes a dataset from an application's arrays, which are copied. */
#include "base/memory.h"
#include "data/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Checks what does not depend on a split. */
static filtra_status check_arrays(const filtra_dataset_arrays *a) {
  FT_TRY(FT_CHECK_RESERVED(filtra_dataset_arrays, a));
  const bool labels = a->target == FILTRA_TARGET_LABELS;
  const bool classes = a->target == FILTRA_TARGET_CLASS || labels;
  if ((unsigned)a->target > FILTRA_TARGET_LABELS)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "arrays: target is %d, not a filtra_target",
                   (int)a->target);
  if (classes ? a->classes < (labels ? 1 : 2) || a->classes > 1 << 20 : a->classes != 0)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "arrays: classes is %u, accepted are %s", a->classes,
                   labels    ? "1 to 1048576"
                   : classes ? "2 to 1048576"
                             : "0 where the target is no class");
  if (a->features > 65536)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "arrays: features is %u, accepted are 0 to 65536",
                   a->features);
  if (a->features ? a->target == FILTRA_TARGET_NEXT : a->standardise)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "arrays: %s",
                   a->features ? "successors are for tokens, not for features"
                               : "standardise is for features, not for tokens");
  if (a->columns && (!a->standardise || a->features != 1))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "arrays: columns are numbers, 1 feature a step, that are standardised");
  if (!a->feature_mean != !a->feature_factor || (a->feature_mean && !a->standardise))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "arrays: feature_mean and feature_factor come together, with standardise");
  if (a->edge_types > FT_MOST_EDGE_TYPES ||
      (a->edge_types && (a->features || a->target == FILTRA_TARGET_NEXT)))
    return ft_fail(
        FILTRA_ERROR_ARGUMENT,
        "arrays: edge_types is %u, accepted are 0 to %d, of graphs of tokens with classes "
        "or values",
        a->edge_types, FT_MOST_EDGE_TYPES);
  if (!a->height != !a->width || (a->height && !a->features) || a->height > 65536 ||
      a->width > 65536)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "arrays: height is %u and width %u; images of features have both, up to 65536",
                   a->height, a->width);
  return FILTRA_OK;
}

/* The target field that a split needs and lacks, for the error; "": none. */
static const char *missing_target(const filtra_dataset_arrays *a, const filtra_samples *s) {
  if (a->target == FILTRA_TARGET_CLASS) return s->labels ? "" : ", labels";
  if (a->target == FILTRA_TARGET_VALUE) return s->values ? "" : ", values";
  if (a->target == FILTRA_TARGET_LABELS) return s->targets ? "" : ", targets";
  return "";
}

static bool has_edges(const filtra_samples *s) {
  for (uint64_t i = 0; i < s->count; i++)
    if (s->edge_counts[i]) return true;
  return false;
}

static filtra_status check_split(const filtra_dataset_arrays *a, const filtra_samples *s,
                                 const char *split) {
  FT_TRY(FT_CHECK_RESERVED(filtra_samples, s));
  if (!s->count) return FILTRA_OK;
  if (a->features ? s->tokens != NULL : s->features != NULL)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "arrays: %s has %s, and features, the numbers per token, is %u: %s", split,
                   a->features ? "tokens" : "features", a->features,
                   a->features ? "set features to 0 for tokens, or tokens to NULL"
                               : "set it to 1 or more, or the features of the samples to NULL");
  bool pair = a->splits[FILTRA_SPLIT_TRAIN].second != NULL;
  const char *target = missing_target(a, s);
  if (!s->lengths || !(a->features ? (const void *)s->features : s->tokens) || *target ||
      pair != (s->second && s->second_lengths))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "arrays: %s needs lengths, %s%s%s", split,
                   a->features ? "features" : "tokens", target,
                   pair ? ", second and second_lengths" : "");
  if (pair && (a->features || a->target >= FILTRA_TARGET_NEXT))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "arrays: pairs are of tokens and have classes or values");
  if (a->edge_types ? pair || !s->edge_counts || (!s->edges && has_edges(s))
                    : s->edge_counts || s->edges)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "arrays: %s %s", split,
                   a->edge_types ? "needs edge_counts and edges, and no second sequences"
                                 : "has edges where edge_types is 0");
  return FILTRA_OK;
}

static filtra_status add_tokens(ft_samples *to, const int32_t *tokens, uint32_t length) {
  FT_TRY(ft_tokens_reserve(&to->tokens, length));
  for (uint32_t i = 0; i < length; i++) {
    if (tokens[i] < 0 || tokens[i] >= FT_MOST_IDS)
      return ft_fail(FILTRA_ERROR_INPUT, "token %d at position %u, accepted are 0 to %d", tokens[i],
                     i, FT_MOST_IDS - 1);
    to->tokens.ids[to->tokens.count++] = tokens[i];
  }
  return FILTRA_OK;
}

static filtra_status add_edges(const filtra_dataset_arrays *a, const int32_t *edges, uint32_t count,
                               uint32_t nodes, ft_samples *to) {
  FT_TRY(ft_check_edges(edges, count, nodes, a->edge_types));
  const size_t words = (size_t)count * FT_EDGE_WORDS;
  FT_TRY(ft_tokens_reserve(&to->tokens, words));
  if (words) memcpy(to->tokens.ids + to->tokens.count, edges, words * sizeof *edges);
  to->tokens.count += words;
  return FILTRA_OK;
}

/* `standardise`: missing numbers will be filled. */
static filtra_status add_features(ft_samples *to, const float *values, size_t count,
                                  bool standardise) {
  for (size_t i = 0; i < count; i++) {
    if (isinf(values[i])) return ft_fail(FILTRA_ERROR_INPUT, "number %zu is infinite", i);
    if (isnan(values[i]) && !standardise)
      return ft_fail(FILTRA_ERROR_INPUT, "number %zu is missing (NaN), which needs standardise", i);
  }
  memcpy(to->values + to->value_count, values, count * sizeof *values);
  to->value_count += count;
  return FILTRA_OK;
}

static filtra_status take_labels(const filtra_dataset_arrays *a, const uint8_t *targets,
                                 ft_samples *to, int32_t *set) {
  for (uint32_t k = 0; k < a->classes; k++) {
    if (targets[k] > FILTRA_LABEL_UNKNOWN)
      return ft_fail(FILTRA_ERROR_INPUT, "target %u of label %u, accepted are 0, 1 and 2, unknown",
                     targets[k], k);
    if (targets[k])
      FT_TRY(ft_samples_add_label(to, (int32_t)k, targets[k] != FILTRA_LABEL_UNKNOWN));
  }
  return ft_samples_end_set(to, set);
}

static filtra_status take_target(const filtra_dataset_arrays *a, const filtra_samples *s,
                                 uint64_t i, ft_samples *to, ft_sample_row *row) {
  if (a->target == FILTRA_TARGET_LABELS)
    return take_labels(a, s->targets + i * a->classes, to, &row->label);
  if (a->target == FILTRA_TARGET_VALUE) {
    row->value = s->values[i];
    if (!isfinite(row->value)) return ft_fail(FILTRA_ERROR_INPUT, "value %g", (double)row->value);
  } else if (a->target == FILTRA_TARGET_CLASS) {
    row->label = s->labels[i];
    if (row->label < 0 || (uint32_t)row->label >= a->classes)
      return ft_fail(FILTRA_ERROR_INPUT, "label %d, accepted are 0 to %u", row->label,
                     a->classes - 1);
  }
  return FILTRA_OK;
}

static filtra_status take_weights(const filtra_samples *s, ft_samples *to) {
  if (!s->weights) return FILTRA_OK;
  to->weights = ft_calloc(s->count, sizeof *to->weights);
  if (!to->weights) return FILTRA_ERROR_HOST_MEMORY;
  memcpy(to->weights, s->weights, s->count * sizeof *to->weights);
  for (uint64_t i = 0; i < s->count; i++)
    if (!(to->weights[i] >= 1e-20f && to->weights[i] <= 1e20f)) /* so that sums are finite */
      return ft_fail(
          FILTRA_ERROR_INPUT,
          "arrays: weights[%llu] is %g, accepted are 1e-20 to 1e20: only how they compare "
          "with each other matters",
          (unsigned long long)i, (double)to->weights[i]);
  return FILTRA_OK;
}

/* Checks a sample's length, which images and rows of columns prescribe. */
static filtra_status check_length(const filtra_dataset_arrays *a, uint32_t length,
                                  const ft_samples *to, const filtra_dataset *ds) {
  const uint64_t pixels = (uint64_t)a->height * a->width;
  if (pixels && length != pixels)
    return ft_fail(FILTRA_ERROR_INPUT, "%u pixels, an image of %u x %u has %llu", length, a->width,
                   a->height, (unsigned long long)pixels);
  const ft_samples *first = ds->samples[FILTRA_SPLIT_TRAIN].count ? ds->samples : to;
  if (a->columns && first->count && length != first->rows->length)
    return ft_fail(FILTRA_ERROR_INPUT, "%u columns, the first sample has %u", length,
                   first->rows->length);
  return FILTRA_OK;
}

/* Offsets of the current sample's tokens and edges in the caller's arrays. */
typedef struct position {
  uint64_t first, second, edge;
} position;

static filtra_status add_sample(const filtra_dataset_arrays *a, const filtra_samples *s, uint64_t i,
                                position *at, ft_samples *to) {
  bool next = a->target == FILTRA_TARGET_NEXT;
  uint32_t length = s->lengths[i], second = s->second ? s->second_lengths[i] : 0;
  ft_sample_row row = {.first = a->features ? to->value_count : to->tokens.count,
                       .length = length - next,
                       .second_length = second,
                       .edges = a->edge_types ? s->edge_counts[i] : 0};
  if (length < (next ? 2 : 1) || (s->second && !second))
    return ft_fail(FILTRA_ERROR_INPUT, "a sequence of %u tokens, accepted are %d and more",
                   s->second && !second ? second : length, next ? 2 : 1);
  if (a->features)
    FT_TRY(add_features(to, s->features + at->first * a->features, (size_t)length * a->features,
                        a->standardise));
  else
    FT_TRY(add_tokens(to, s->tokens + at->first, length));
  if (a->features && !a->columns && !a->height)
    ft_interpolate(to->values + row.first, length, a->features);
  if (second) FT_TRY(add_tokens(to, s->second + at->second, second));
  if (row.edges) FT_TRY(add_edges(a, s->edges + at->edge * FT_EDGE_WORDS, row.edges, length, to));
  FT_TRY(take_target(a, s, i, to, &row));
  at->first += length;
  at->second += second;
  at->edge += row.edges;
  to->rows[to->count++] = row;
  return FILTRA_OK;
}

static bool knows_labels(const filtra_dataset_arrays *a, const filtra_samples *s) {
  for (uint64_t i = 0; i < s->count * a->classes; i++)
    if (s->targets[i] != FILTRA_LABEL_UNKNOWN) return true;
  return false;
}

static filtra_status add_split(const filtra_dataset_arrays *a, filtra_split split,
                               filtra_dataset *ds) {
  const filtra_samples *s = &a->splits[split];
  ft_samples *to = &ds->samples[split];
  position at = {0};
  size_t numbers = 0;
  FT_TRY(check_split(a, s, filtra_split_name(split)));
  if (!s->count) return FILTRA_OK;
  if (a->target == FILTRA_TARGET_LABELS && !knows_labels(a, s))
    return ft_fail(FILTRA_ERROR_INPUT, "arrays: no label of any sample of %s is known",
                   filtra_split_name(split));
  for (uint64_t i = 0; a->features && i < s->count; i++)
    numbers += (size_t)s->lengths[i] * a->features;
  to->rows = ft_calloc(s->count, sizeof *to->rows);
  if (numbers) to->values = ft_calloc(numbers, sizeof *to->values);
  if (!to->rows || (numbers && !to->values)) return FILTRA_ERROR_HOST_MEMORY;
  FT_TRY(take_weights(s, to));
  for (uint64_t i = 0; i < s->count; i++) {
    filtra_status status = check_length(a, s->lengths[i], to, ds);
    if (!status) status = add_sample(a, s, i, &at, to);
    if (status)
      return ft_fail_context(status, "arrays: sample %llu of %s", (unsigned long long)i,
                             filtra_split_name(split));
  }
  return FILTRA_OK;
}

static bool are_bytes(const ft_samples *s) {
  for (size_t i = 0; i < s->value_count; i++)
    if (!(s->values[i] >= 0.0f && s->values[i] <= 255.0f && floorf(s->values[i]) == s->values[i]))
      return false;
  return true;
}

static filtra_status make_bytes(ft_samples *s) {
  if (!s->value_count) return FILTRA_OK;
  s->bytes = ft_calloc(s->value_count, 1);
  if (!s->bytes) return FILTRA_ERROR_HOST_MEMORY;
  s->byte_count = s->byte_capacity = s->value_count;
  for (size_t i = 0; i < s->byte_count; i++)
    s->bytes[i] = (uint8_t)s->values[i];
  free(s->values);
  s->values = NULL;
  s->value_count = s->value_capacity = 0;
  return FILTRA_OK;
}

/* Keeps images as bytes, as those of files are, which augmentation needs, if all of their numbers
 * are such: a row's `first` means the same in both. Columns have means that bytes do not. */
static filtra_status keep_pixels(const filtra_dataset_arrays *a, filtra_dataset *ds) {
  if (!a->height || a->columns || (a->features != 1 && a->features != 3)) return FILTRA_OK;
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    if (!are_bytes(&ds->samples[i])) return FILTRA_OK;
  ds->stored_height = a->height;
  ds->stored_width = a->width;
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    FT_TRY(make_bytes(&ds->samples[i]));
  return FILTRA_OK;
}

/* Standardises by the caller's moments, or by the training split's. */
static filtra_status standardise(const filtra_dataset_arrays *a, filtra_dataset *ds) {
  if (!a->feature_mean && !ds->splits[FILTRA_SPLIT_TRAIN].count)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "arrays: standardise measures the training split, which has no samples: give "
                   "feature_mean and feature_factor, those of the model's training data");
  const ft_data_fit fit = {.mean = a->feature_mean,
                           .factor = a->feature_factor,
                           .features = a->feature_mean ? ft_feature_count(ds) : 0};
  for (uint32_t k = 0; k < fit.features; k++)
    if (!isfinite(fit.mean[k]) || !isfinite(fit.factor[k]))
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "arrays: feature_mean or feature_factor %u is not finite", k);
  return ft_standardise(ds, &fit);
}

static filtra_status fill(const filtra_dataset_arrays *a, filtra_dataset *ds) {
  ds->info =
      (filtra_dataset_info){.format = "arrays",
                            .input = a->features ? FILTRA_INPUT_FEATURES : FILTRA_INPUT_TOKENS,
                            .target = a->target,
                            .sequences = a->splits[FILTRA_SPLIT_TRAIN].second ? 2 : 1,
                            .tokenizer = a->tokenizer,
                            .features = a->features,
                            .edge_types = a->edge_types,
                            .height = a->height,
                            .width = a->width};
  FT_TRY(check_arrays(a));
  FT_TRY(ft_check_share(a->validation_share));
  for (uint32_t i = 0; a->class_names && i < a->classes; i++)
    if (!a->class_names[i])
      return ft_fail(FILTRA_ERROR_ARGUMENT, "arrays: class_names[%u] is NULL", i);
  FT_TRY(ft_name_classes(ds, a->classes, a->class_names));
  FT_TRY(ft_check_class_names(ds, "arrays"));
  FT_TRY(ft_warn_of_alike_classes(ds, "arrays"));
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++)
    FT_TRY(add_split(a, split, ds));
  FT_TRY(keep_pixels(a, ds));
  for (int i = FILTRA_SPLIT_TEST; a->columns && i >= 0; i--)
    if (ds->samples[i].count) ds->columns = ds->samples[i].rows->length;
  FT_TRY(ft_make_splits(ds, a->hold_out, a->validation_share, a->seed));
  return a->standardise ? standardise(a, ds) : FILTRA_OK;
}

filtra_status filtra_dataset_create(const filtra_dataset_arrays *arrays, filtra_dataset **dataset) {
  FT_NEED(dataset);
  *dataset = NULL;
  FT_NEED(arrays);
  filtra_dataset *ds = ft_calloc(1, sizeof *ds);
  if (!ds) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = fill(arrays, ds);
  if (status) filtra_dataset_close(&ds);
  *dataset = ds;
  return status;
}
