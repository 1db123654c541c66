/* Filters in place of attention's softmax: names of the filters and their parameters in an exported
 * folder, for docs/filtra_filters.py, which computes them in PyTorch. */
#ifndef FT_MODEL_PRETRAINED_FILTERS_H
#define FT_MODEL_PRETRAINED_FILTERS_H

#include "model/pretrained/family.h"

#define FT_HF_FILTERED  "filtra_"        /* precedes the family in "model_type" */
#define FT_HF_MIXER_KEY "filtra_mixer"   /* in config.json: `mixer`, as in Filtra's configuration */
#define FT_HF_MODULE    "filtra_filters" /* docs/filtra_filters.py */

/** A file embedded in the library; the list ends with a NULL name. */
typedef struct ft_hf_module {
  const char *name;
  const unsigned char *data;
  size_t bytes;
} ft_hf_module;
extern const ft_hf_module ft_hf_modules[];

/** Whether a model with these keys has any mixer other than one softmax for all layers. */
bool ft_hf_is_filtered(const json_t *keys);
/** The mixers of the layers as an array of objects with all options, where "learn_w0" and so on are
 * false if all heads are fixed. Fails with `status` for a mixer that the module lacks. The caller
 * releases *out. */
filtra_status ft_hf_filters(const json_t *keys, const char *path, filtra_status status,
                            json_t **out);

/** Rows for the filters' own parameters, in addition to the family's. */
extern const ft_hf_rows ft_hf_filter_rows;
/** Whether the layer has the row's parameter; *out is the row adapted to the layer's mixer. */
bool ft_hf_row_at(const ft_hf_row *row, const json_t *filters, int64_t layer, ft_hf_row *out);

#endif
