/* Families of models that other programs train: how Hugging Face's `transformers` calls their
 * tensors, and what their config.json means in keys of ours. */
#ifndef FT_MODEL_PRETRAINED_FAMILY_H
#define FT_MODEL_PRETRAINED_FAMILY_H

#include "base/json.h"

/** How a tensor's elements lie in the file. */
typedef enum ft_hf_form {
  FT_HF_ROWS = 0,   /* as ours; a first dimension of 1 may precede */
  FT_HF_TRANSPOSED, /* weights of a layer as [in, out] ("Conv1D") */
  FT_HF_PATCHES     /* weights of a convolution over patches, [out, F, P, P]; ours [out, P P F] */
} ft_hf_form;

/** A parameter of ours and where its values are. `%d` in a name is the number of the layer. */
typedef struct ft_hf_row {
  const char *name;
  const char *from[3]; /* tensors whose rows follow one another; NULL: no more */
  ft_hf_form form;     /* of a layer's weight */
  bool layer;          /* names are of layers, which have ".weight" and ".bias" */
  bool optional;       /* may be missing: the parameter is then new, or the model has none */
} ft_hf_row;

typedef struct ft_hf_rows {
  const ft_hf_row *list;
  size_t count;
} ft_hf_rows;

/** What config.json says, while it is read. */
typedef struct ft_hf_config {
  const json_t *json;
  const char *path;         /* of config.json, for errors */
  const char *architecture; /* the class that wrote the weights; "" where it is not said */
  bool untied;              /* the weights have a language model's head of its own */
} ft_hf_config;

typedef struct ft_hf_family {
  const char *type;       /* "model_type" in config.json */
  const char *prefix;     /* that names of tensors may have, "bert." */
  ft_hf_rows rows;        /* of the encoder */
  ft_hf_rows head;        /* of the head, where `has_head` says that there is one for sequences */
  const char *classifier; /* ending of architectures with such a head */
  const char *const *unused; /* beginnings or, after a `*`, ends of names that ours have no part
                                for; NULL-terminated */
  /* Sets the keys of the model in `keys`. */
  filtra_status (*read)(const ft_hf_config *config, json_t *keys);
} ft_hf_family;

/** NULL, with the message set, if `config` is of no known family. */
const ft_hf_family *ft_hf_family_of(const ft_hf_config *config);
/** Whether the weights have a head for the family's task. */
bool ft_hf_has_head(const ft_hf_family *family, const ft_hf_config *config);

extern const ft_hf_family ft_hf_bert, ft_hf_roberta, ft_hf_distilbert, ft_hf_gpt2, ft_hf_vit,
    ft_hf_deit;

/* ---- reading config.json ---- */

/** Copies a whole number from 0 on to our key. A `usual` from 0 on stands in where theirs is
 * missing or null; otherwise that is an error. */
filtra_status ft_hf_take_int(const ft_hf_config *config, const char *theirs, int64_t usual,
                             json_t *keys, const char *ours);
/** The same of a number; `usual` NAN: none. */
filtra_status ft_hf_take_number(const ft_hf_config *config, const char *theirs, double usual,
                                json_t *keys, const char *ours);
/** The activation of that name as ours. */
filtra_status ft_hf_take_activation(const ft_hf_config *config, const char *theirs, json_t *keys);
/** Softmax attention with the rate of dropout at `theirs`. */
filtra_status ft_hf_take_mixer(const ft_hf_config *config, const char *theirs, json_t *keys);
/** The number of labels and, where there is a head for them, the task. */
filtra_status ft_hf_take_labels(const ft_hf_config *config, json_t *keys);
/** Sets keys from json_pack's values; fails only when out of memory. */
filtra_status ft_hf_set(json_t *keys, const char *format, ...);
/** Fails unless the key is missing, null, or equal to `accepted` as JSON text. */
filtra_status ft_hf_require(const ft_hf_config *config, const char *theirs, const char *accepted);

#endif
