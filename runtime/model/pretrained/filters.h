/* Filters in the place of attention's softmax: how an exported folder names them and their
 * parameters, for docs/filtra_filters.py, which computes them in PyTorch. */
#ifndef FT_MODEL_PRETRAINED_FILTERS_H
#define FT_MODEL_PRETRAINED_FILTERS_H

#include "model/pretrained/family.h"

#define FT_HF_FILTERED  "filtra_"      /* before the family in "model_type" */
#define FT_HF_MIXER_KEY "filtra_mixer" /* of config.json: `mixer`, as in a configuration of ours */
#define FT_HF_MODULE    "filtra_filters" /* docs/filtra_filters.py */

/** A file that the library holds; the list ends with a NULL name. */
typedef struct ft_hf_module {
  const char *name;
  const unsigned char *data;
  size_t bytes;
} ft_hf_module;
extern const ft_hf_module ft_hf_modules[];

/** Whether a model with these keys has other mixers than one softmax for all layers. */
bool ft_hf_is_filtered(const json_t *keys);
/** The mixers of the layers as an array of objects with all options, where "learn_w0" and so on are
 * false if all heads are fixed. Fails with `status` for one that the module does not have. The
 * caller releases *out. */
filtra_status ft_hf_filters(const json_t *keys, const char *path, filtra_status status,
                            json_t **out);

/** Rows of the filters' own parameters, beside the family's. */
extern const ft_hf_rows ft_hf_filter_rows;
/** Whether the layer has the row's parameter; *out is the row as the layer's mixer has it. */
bool ft_hf_row_at(const ft_hf_row *row, const json_t *filters, int64_t layer, ft_hf_row *out);

#endif
