/* The tensors of a Hugging Face folder under Filtra's names. */
#ifndef FT_MODEL_PRETRAINED_TENSORS_H
#define FT_MODEL_PRETRAINED_TENSORS_H

#include "model/pretrained/filters.h"
#include "model/pretrained/folder.h"
#include "nn/layers.h"

/** A parameter of ours and the tensors that hold its values. */
typedef struct ft_hf_tensor {
  char name[FT_NAME_TEXT];
  const ft_safetensor *from[FT_HF_PARTS];
  size_t parts;
  ft_hf_form form;
  int ndim;
  int64_t shape[FT_SAFETENSORS_MAX_DIMS];
} ft_hf_tensor;

typedef struct ft_hf_tensors {
  ft_hf_tensor *list;
  size_t count, capacity;
} ft_hf_tensors;

/** Writes prefix, `pattern` with the layer's number for %d, and ending; cuts a name that is too
 * long, which then is not found. */
void ft_hf_write_name(char out[FT_NAME_TEXT], const char *prefix, const char *pattern,
                      int64_t layer, const char *ending);
/** Finds the tensors of a family's rows, for layers with the mixers of ft_hf_filters. Fails with
 * INPUT if one is missing or has another shape. Caller frees the list, also on failure. */
filtra_status ft_hf_map(ft_hf_folder *folder, const ft_hf_family *family, const ft_hf_rows *rows,
                        const json_t *filters, ft_hf_tensors *out);
/** Fails with INPUT for a tensor that is not used and that the family does not list as ignored. */
filtra_status ft_hf_check_left(const ft_hf_folder *folder, const ft_hf_family *family);
/** Writes the first `count` of a parameter's values as F32; all of them if the form is not rows.
 * Fails with INPUT if one is not finite. */
filtra_status ft_hf_fill(const ft_hf_tensor *tensor, size_t count, float *to);

#endif
