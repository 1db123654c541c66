/* Models to start from: those of other programs, in folders as Hugging Face lays them out, and
 * Filtra's own, in run folders and model files. Called by programs through filtra_model_import, and
 * by train/ for runs that begin with one. */
#ifndef FT_MODEL_PRETRAINED_H
#define FT_MODEL_PRETRAINED_H

#include "model/model.h"

typedef struct ft_pretrained ft_pretrained;

/** Reads a folder of Hugging Face's (config.json with "model_type", model.safetensors or shards with
 * an index), a run folder or a model file. Fails with INPUT for what is no such thing, of an unknown
 * family, damaged, or whose tensors are not those of its family. Caller closes. */
filtra_status ft_pretrained_open(const char *path, ft_pretrained **out);
/** Sets *source to NULL. */
void ft_pretrained_close(ft_pretrained **source);

/** The model's keys; `classes`, `task` and the unit of values only where it has a head for them. */
const json_t *ft_pretrained_keys(const ft_pretrained *source);
/** How samples are read: the object of FT_INPUT_KEY, of a folder of Hugging Face's without
 * "tokenizer". */
const json_t *ft_pretrained_input(const ft_pretrained *source);
/** Keys of data that a folder of Hugging Face's asks for, those of images; else NULL. */
const json_t *ft_pretrained_data_keys(const ft_pretrained *source);
/** The folder of Hugging Face's, which may have a tokenizer; NULL: a model of ours. */
const char *ft_pretrained_folder(const ft_pretrained *source);

/** Keys of `changes`, an object or NULL, over those of the source. A mixer of another name keeps
 * those of the source's options that it has, too. The caller releases *keys. */
filtra_status ft_pretrained_merge(const json_t *source, const json_t *changes, json_t **keys);

/** Gives the parameters of a model the source's values. Those that the source does not have, and
 * layers of the head with other shapes, keep theirs, which is said in a warning, as is what the
 * model has no use for. A table of positions may have fewer rows than the source's. Fails with INPUT
 * for other differences of shape, naming both. */
filtra_status ft_pretrained_take(const ft_pretrained *source, filtra_model *model);
/** Writes the model file that filtra_model_save writes after ft_pretrained_take, of a model that
 * need not be committed; new parameters have initial values of `seed`. `input`: value of
 * FT_INPUT_KEY, or NULL. */
filtra_status ft_pretrained_write(const ft_pretrained *source, const filtra_model *model,
                                  uint64_t seed, const char *input, const char *path);

#endif
