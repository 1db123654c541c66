/* Families of models that other programs train: the names of their tensors in Hugging Face's
 * `transformers`, and what their config.json means in Filtra's keys. Reading and writing use the
 * same tables. "Ours" is Filtra's, "theirs" is that of `transformers`. */
#ifndef FT_MODEL_PRETRAINED_FAMILY_H
#define FT_MODEL_PRETRAINED_FAMILY_H

#include "base/json.h"

/** How a tensor's elements lie in the file. */
typedef enum ft_hf_form {
  FT_HF_ROWS = 0,   /* as ours */
  FT_HF_ONE,        /* as ours, with an additional first dimension of 1 */
  FT_HF_TRANSPOSED, /* a linear layer's weights as [in, out] ("Conv1D") */
  FT_HF_PATCHES     /* a convolution's weights over patches, [out, F, P, P]; ours [out, P P F] */
} ft_hf_form;

enum { FT_HF_PARTS = 4 };

/** A parameter of ours and where its values are. `%d` in a name is the layer's number. */
typedef struct ft_hf_row {
  const char *name;
  const char *from[FT_HF_PARTS]; /* tensors whose rows are concatenated; NULL: no more */
  ft_hf_form form;               /* how the weight is stored */
  bool layer;                    /* names are of linear layers, which have ".weight" and ".bias" */
  bool optional; /* may be missing: the parameter is then new, or the model lacks it */
  bool bare;     /* written without the family's prefix */
  /* Only layers with this mixer have the parameter, if the option is true or, for `value` not NULL,
   * has that value. */
  const char *mixer, *option, *value;
  const char *instead; /* a tensor with the same values, where the first one is missing; or NULL */
} ft_hf_row;

typedef struct ft_hf_rows {
  const ft_hf_row *list;
  size_t count;
} ft_hf_rows;

typedef enum ft_hf_kind {
  FT_HF_INT,        /* a whole number, at least 0 */
  FT_HF_NUMBER,     /* any number */
  FT_HF_ACTIVATION, /* a name */
  FT_HF_SIDE,       /* side of a square: one number, or two equal ones */
  FT_HF_DROPOUT     /* dropout of attention: ours is an option of the mixer */
} ft_hf_kind;

/** A key of config.json and its counterpart. */
typedef struct ft_hf_key {
  const char *theirs, *ours;
  ft_hf_kind kind;
  double usual;        /* value if theirs is missing or null; NAN: then an error */
  const char *usually; /* our key whose value is used then; NULL: `usual` */
} ft_hf_key;

typedef struct ft_hf_keys {
  const ft_hf_key *list;
  size_t count;
} ft_hf_keys;

#define FT_HF_LIST(array)                                                                          \
  { array, FT_COUNT(array) }

/** config.json and what reading it needs. */
typedef struct ft_hf_config {
  const json_t *json;
  const char *path;         /* path of config.json, for errors */
  const char *architecture; /* the class that wrote the weights; "": unknown */
  bool untied;              /* a language model's head has weights of its own */
} ft_hf_config;

typedef struct ft_hf_family {
  const char *type;       /* "model_type" in config.json */
  const char *name;       /* beginning of class names, before the purpose: "Bert" */
  const char *prefix;     /* optional beginning of tensor names: "bert." */
  ft_hf_rows rows;        /* of the encoder */
  ft_hf_rows head;        /* of the head */
  const char *classifier; /* end of the names of classes with this head; "": all have it */
  /* Tensors that we ignore: beginnings of their names or, after a `*`, ends; NULL-terminated. */
  const char *const *unused;
  ft_hf_keys keys;
  const char *ours;   /* JSON object: our keys that every model of the family has */
  const char *theirs; /* JSON object: their keys that must be absent or as here; written so */
  bool ends;          /* their config.json has the ids of the tokens that begin and end texts */
  /* Changes our keys after reading, and theirs before writing; NULL: nothing. */
  filtra_status (*adjust)(const ft_hf_config *config, json_t *keys);
  filtra_status (*restore)(const json_t *keys, json_t *config);
} ft_hf_family;

/** The family of config.json; NULL, with the message set, if it is unknown. */
const ft_hf_family *ft_hf_family_of(const ft_hf_config *config);
/** The family of a model with these keys. */
const ft_hf_family *ft_hf_family_like(const json_t *keys);
/** Whether the weights have a head for the family's task. */
bool ft_hf_has_head(const ft_hf_family *family, const ft_hf_config *config);

extern const ft_hf_family ft_hf_bert, ft_hf_roberta, ft_hf_distilbert, ft_hf_gpt2, ft_hf_vit,
    ft_hf_deit, ft_hf_deit_teacher;

/* ---- config.json ---- */

/** Reads the family's keys, except those of labels. */
filtra_status ft_hf_read_keys(const ft_hf_family *family, const ft_hf_config *config, json_t *keys);
/** Reads the number of labels and, if there is a head for them, the task. */
filtra_status ft_hf_read_labels(const ft_hf_config *config, json_t *keys);
/** The config.json of a model with these keys; `classes`: names, or NULL. The caller releases *out.
 * */
filtra_status ft_hf_write_config(const ft_hf_family *family, const json_t *keys,
                                 const json_t *classes, json_t **out);
/** Sets keys from json_pack's values; fails only when out of memory. */
filtra_status ft_hf_set(json_t *keys, const char *format, ...);

#endif
