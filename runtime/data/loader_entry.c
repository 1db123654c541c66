/* Memory of a loader's batches: one array for each field of filtra_batch that the data need. Called
 * by loader.c. */
#include "data/loader_entry.h"

#include "base/memory.h"

#include <stdlib.h>

/* Allocates the arrays for the data's kind of target. */
static bool allocate_targets(ft_loader_entry *s, const filtra_dataset_info *info, size_t size,
                             size_t longest) {
  switch (info->target) {
  case FILTRA_TARGET_VALUE:
    return (s->values = ft_calloc(size, sizeof *s->values));
  case FILTRA_TARGET_LABELS:
    return (s->targets = ft_calloc(size, info->classes * sizeof *s->targets));
  case FILTRA_TARGET_CLASS:
    return (s->labels = ft_calloc(size, sizeof *s->labels));
  case FILTRA_TARGET_NEXT:
    break;
  }
  return (s->labels = ft_calloc(size * longest, sizeof *s->labels));
}

/* Allocates the arrays for the edges of a batch of graphs. */
static bool allocate_edges(ft_loader_entry *s, const filtra_dataset_info *info,
                           const ft_split *split, size_t size) {
  size_t most = 1; /* most edges of a sample */
  if (!info->edge_types) return true;
  for (size_t i = 0; i < split->count; i++) {
    const ft_sample_row *row = &split->samples->rows[split->rows ? split->rows[i] : i];
    if (row->edges > most) most = row->edges;
  }
  s->edge_counts = ft_calloc(size, sizeof *s->edge_counts);
  s->edges = ft_calloc(size * most, FT_EDGE_WORDS * sizeof *s->edges);
  return s->edge_counts && s->edges;
}

filtra_status ft_entry_allocate(ft_loader_entry *s, const filtra_dataset *dataset,
                                filtra_split split, uint32_t batch_size, size_t longest,
                                bool mixes) {
  const filtra_dataset_info *info = &dataset->info;
  const size_t size = batch_size;
  const bool tokens = info->input == FILTRA_INPUT_TOKENS;
  if (tokens) s->tokens = ft_calloc(info->sequences * size * longest, sizeof *s->tokens);
  if (!tokens) s->features = ft_calloc(size * longest * info->features, sizeof *s->features);
  if (mixes) s->other_labels = ft_calloc(size, sizeof *s->other_labels);
  if (mixes) s->label_fractions = ft_calloc(size, sizeof *s->label_fractions);
  if (dataset->joined) s->second = ft_calloc(size, sizeof *s->second);
  s->lengths = ft_calloc(info->sequences * size, sizeof *s->lengths);
  s->weights = ft_calloc(size, sizeof *s->weights);
  s->indices = ft_calloc(size, sizeof *s->indices);
  if (!(tokens ? (void *)s->tokens : s->features) || !allocate_targets(s, info, size, longest) ||
      !s->lengths || !s->weights || !s->indices || (dataset->joined && !s->second) ||
      !allocate_edges(s, info, &dataset->splits[split], size) ||
      (mixes && (!s->other_labels || !s->label_fractions)))
    return FILTRA_ERROR_HOST_MEMORY;
  s->batch = (filtra_batch){.size = batch_size,
                            .sequences = info->sequences,
                            .tokens = s->tokens,
                            .features = s->features,
                            .lengths = s->lengths,
                            .labels = s->labels,
                            .values = s->values,
                            .weights = s->weights,
                            .indices = s->indices,
                            .other_labels = s->other_labels,
                            .label_fractions = s->label_fractions,
                            .second = s->second,
                            .targets = s->targets,
                            .edge_counts = s->edge_counts,
                            .edges = s->edges};
  return FILTRA_OK;
}

void ft_entry_free(ft_loader_entry *s) {
  free(s->tokens);
  free(s->lengths);
  free(s->labels);
  free(s->other_labels);
  free(s->second);
  free(s->edges);
  free(s->edge_counts);
  free(s->label_fractions);
  free(s->features);
  free(s->values);
  free(s->targets);
  free(s->weights);
  free(s->indices);
}
