/* Families of models that other programs train: how Hugging Face's `transformers` calls their
 * tensors, and what their config.json means in keys of ours. The same tables read and write. */
#ifndef FT_MODEL_PRETRAINED_FAMILY_H
#define FT_MODEL_PRETRAINED_FAMILY_H

#include "base/json.h"

/** How a tensor's elements lie in the file. */
typedef enum ft_hf_form {
  FT_HF_ROWS = 0,   /* as ours */
  FT_HF_ONE,        /* as ours after a first dimension of 1 */
  FT_HF_TRANSPOSED, /* weights of a layer as [in, out] ("Conv1D") */
  FT_HF_PATCHES     /* weights of a convolution over patches, [out, F, P, P]; ours [out, P P F] */
} ft_hf_form;

enum { FT_HF_PARTS = 4 };

/** A parameter of ours and where its values are. `%d` in a name is the number of the layer. */
typedef struct ft_hf_row {
  const char *name;
  const char *from[FT_HF_PARTS]; /* tensors whose rows follow one another; NULL: no more */
  ft_hf_form form;               /* of a layer's weight */
  bool layer;                    /* names are of layers, which have ".weight" and ".bias" */
  bool optional; /* may be missing: the parameter is then new, or the model has none */
  bool bare;     /* written without the family's prefix */
  /* Only layers with this mixer have it, where its option is true or, if not NULL, `value`. */
  const char *mixer, *option, *value;
} ft_hf_row;

typedef struct ft_hf_rows {
  const ft_hf_row *list;
  size_t count;
} ft_hf_rows;

typedef enum ft_hf_kind {
  FT_HF_INT,        /* a whole number from 0 on */
  FT_HF_NUMBER,     /* any number */
  FT_HF_ACTIVATION, /* a name */
  FT_HF_SIDE,       /* of a square: a number, or two equal ones */
  FT_HF_DROPOUT     /* of attention: ours is an option of the mixer */
} ft_hf_kind;

/** A key of config.json and ours. */
typedef struct ft_hf_key {
  const char *theirs, *ours;
  ft_hf_kind kind;
  double usual;        /* where theirs is missing or null; NAN: that is an error */
  const char *usually; /* the key of ours whose value stands in instead; NULL: `usual` */
} ft_hf_key;

typedef struct ft_hf_keys {
  const ft_hf_key *list;
  size_t count;
} ft_hf_keys;

#define FT_HF_LIST(array)                                                                          \
  { array, FT_COUNT(array) }

/** What config.json says, while it is read. */
typedef struct ft_hf_config {
  const json_t *json;
  const char *path;         /* of config.json, for errors */
  const char *architecture; /* the class that wrote the weights; "" where it is not said */
  bool untied;              /* the weights have a language model's head of its own */
} ft_hf_config;

typedef struct ft_hf_family {
  const char *type;       /* "model_type" in config.json */
  const char *name;       /* of its classes, before what they are for: "Bert" */
  const char *prefix;     /* of names of tensors, "bert.", which they may have or not */
  ft_hf_rows rows;        /* of the encoder */
  ft_hf_rows head;        /* of the head */
  const char *classifier; /* ending of architectures with such a head; "": all have it */
  /* Beginnings or, after a `*`, ends of names that ours have no part for; NULL-terminated. */
  const char *const *unused;
  ft_hf_keys keys;
  const char *ours;   /* JSON object: keys of ours that every model of the family has */
  const char *theirs; /* JSON object: keys that are these or missing, and are written so */
  /* Changes the keys that were read, and changes theirs that are to be written; NULL: nothing. */
  filtra_status (*adjust)(const ft_hf_config *config, json_t *keys);
  filtra_status (*restore)(const json_t *keys, json_t *config);
} ft_hf_family;

/** NULL, with the message set, if `config` is of no known family. */
const ft_hf_family *ft_hf_family_of(const ft_hf_config *config);
/** The family of a model with these keys. */
const ft_hf_family *ft_hf_family_like(const json_t *keys);
/** Whether the weights have a head for the family's task. */
bool ft_hf_has_head(const ft_hf_family *family, const ft_hf_config *config);

extern const ft_hf_family ft_hf_bert, ft_hf_roberta, ft_hf_distilbert, ft_hf_gpt2, ft_hf_vit,
    ft_hf_deit, ft_hf_deit_teacher;

/* ---- config.json ---- */

/** Reads the family's keys, without those of labels. */
filtra_status ft_hf_read_keys(const ft_hf_family *family, const ft_hf_config *config, json_t *keys);
/** The number of labels and, where there is a head for them, the task. */
filtra_status ft_hf_read_labels(const ft_hf_config *config, json_t *keys);
/** The config.json of a model with these keys; `classes`: names, or NULL. The caller releases *out.
 * */
filtra_status ft_hf_write_config(const ft_hf_family *family, const json_t *keys,
                                 const json_t *classes, json_t **out);
/** Sets keys from json_pack's values; fails only when out of memory. */
filtra_status ft_hf_set(json_t *keys, const char *format, ...);

#endif
