/* Hashes a data set's training and validation samples with their targets, in order. For images that
 * stay in files, the files' sizes and first 4 KiB stand for the pixels. */
#include "base/rng.h"
#include "data/dataset.h"

/* Hashes the lower 16 bits of all ids, so that data sets with small ids keep their fingerprint;
 * then, if any id is larger, the upper bits of all. */
static uint64_t add_tokens(uint64_t hash, const int32_t *ids, size_t count) {
  bool large = false;
  for (size_t i = 0; i < count; i++) {
    const uint16_t low = (uint16_t)ids[i];
    hash = ft_hash_bytes(hash, &low, sizeof low);
    large = large || ids[i] > UINT16_MAX;
  }
  for (size_t i = 0; i < count && large; i++) {
    const uint16_t high = (uint16_t)(ids[i] >> 16);
    hash = ft_hash_bytes(hash, &high, sizeof high);
  }
  return hash;
}

static uint64_t add_input(uint64_t hash, const filtra_dataset *ds, const ft_samples *samples,
                          const ft_sample_row *row) {
  size_t tokens = (size_t)row->length + row->second_length, width = ds->info.features;
  if (ds->info.input == FILTRA_INPUT_TOKENS) {
    tokens += ds->info.target == FILTRA_TARGET_NEXT;
    if (ds->info.edge_types) hash = ft_hash_bytes(hash, &row->edges, sizeof row->edges);
    tokens += (size_t)row->edges * FT_EDGE_WORDS;
    return add_tokens(hash, samples->tokens.ids + row->first, tokens);
  }
  if (samples->files)
    return ft_hash_bytes(hash, &samples->files[row->first].mark, sizeof(uint64_t));
  if (samples->bytes && ds->image_size) /* these pixels are resized when read */
    tokens = (size_t)ds->stored_height * ds->stored_width;
  if (samples->bytes) return ft_hash_bytes(hash, samples->bytes + row->first, tokens * width);
  return ft_hash_bytes(hash, samples->values + row->first, tokens * width * sizeof(float));
}

/* Hashes the bits of the value or label, or all labels and their number; unknown ones, if any, in
 * the same way. */
static uint64_t add_target(uint64_t hash, const filtra_dataset *ds, const ft_samples *samples,
                           const ft_sample_row *row) {
  uint32_t count[2];
  if (ds->info.target != FILTRA_TARGET_LABELS)
    return ft_hash_bytes(hash, &row->label, sizeof row->label);
  const int32_t *labels = ft_samples_labels(samples, row->label, count);
  hash = ft_hash_bytes(hash, &count[0], sizeof count[0]);
  hash = ft_hash_bytes(hash, labels, count[0] * sizeof *labels);
  if (!count[1]) return hash;
  hash = ft_hash_bytes(hash, &count[1], sizeof count[1]);
  return ft_hash_bytes(hash, labels + count[0], count[1] * sizeof *labels);
}

static uint64_t add_split(uint64_t hash, const filtra_dataset *ds, const ft_split *split) {
  hash = ft_hash_bytes(hash, &split->count, sizeof split->count);
  for (size_t i = 0; i < split->count; i++) {
    const ft_sample_row *row = &split->samples->rows[split->rows ? split->rows[i] : i];
    const uint32_t lengths[2] = {row->length, row->second_length};
    hash = ft_hash_bytes(hash, lengths, sizeof lengths);
    if (ds->joined) hash = ft_hash_bytes(hash, &row->second_at, sizeof row->second_at);
    hash = add_target(hash, ds, split->samples, row);
    const float *weights = split->samples->weights;
    if (weights) hash = ft_hash_bytes(hash, &weights[row - split->samples->rows], sizeof *weights);
    hash = add_input(hash, ds, split->samples, row);
  }
  return hash;
}

uint64_t ft_dataset_fingerprint(const filtra_dataset *dataset) {
  const filtra_dataset *ds = dataset;
  size_t scales = ds->feature_scale ? ds->info.features * sizeof(float) : 0;
  uint64_t hash = ft_hash_text(ds->info.format);
  hash = ft_hash_bytes(hash, ds->feature_scale, scales);
  hash = ft_hash_bytes(hash, ds->feature_offset, scales);
  hash = add_split(hash, ds, &ds->splits[FILTRA_SPLIT_TRAIN]);
  return add_split(hash, ds, &ds->splits[FILTRA_SPLIT_VAL]);
}
