/* Models to start from: those of other programs, in folders as Hugging Face lays them out, and
 * Filtra's own, in run folders and model files. Called by programs through filtra_model_import, and
 * by train/ for runs that begin with one. */
#ifndef FT_MODEL_START_H
#define FT_MODEL_START_H

#include "model/model.h"

typedef struct ft_start ft_start;

/** Reads a folder of Hugging Face's (config.json with "model_type", model.safetensors or shards
 * with an index), a run folder or a model file. Fails with INPUT for what is no such thing, of an
 * unknown family, damaged, or whose tensors are not those of its family. Caller closes. */
filtra_status ft_start_open(const char *path, ft_start **out);
/** Sets *start to NULL. */
void ft_start_close(ft_start **start);

/** The model's keys; `classes`, `task` and the unit of values only where it has a head for them. */
const json_t *ft_start_keys(const ft_start *p);
/** How samples are read: the object of FT_INPUT_KEY, of a folder of Hugging Face's without
 * "tokenizer". */
const json_t *ft_start_input(const ft_start *p);
/** Keys of data that a folder of Hugging Face's asks for, those of images; else NULL. */
const json_t *ft_start_data_keys(const ft_start *p);
/** The folder of Hugging Face's, which may have a tokenizer; NULL: a model of ours. */
const char *ft_start_folder(const ft_start *p);

/** Keys of `changes`, an object or NULL, over those of the start. A mixer of another name keeps
 * those of the start's options that it has, too. Warns of a key with which the weights compute
 * something else than they were trained for. The caller releases *keys. */
filtra_status ft_start_merge(const json_t *start, const json_t *changes, json_t **keys);

/** Whether the parameter of this name is a head's. */
bool ft_is_of_head(const char *name);
/** Names of the model's parameters that the start has no values for; NULL when out of memory. */
json_t *ft_start_new(const ft_start *p, const filtra_model *model);
/** Gives the parameters of a model the start's values; without `head` the head's last layer keeps
 * its own. Those that the start does not have, and
 * layers of the head with other shapes, keep theirs, which is said in a warning, as is what the
 * model has no use for. A table of positions may have fewer rows than the start's. Fails with INPUT
 * for other differences of shape, naming both. */
filtra_status ft_start_take(const ft_start *p, filtra_model *model, bool head);
/** Writes the model file that filtra_model_save writes after ft_start_take, of a model that
 * need not be committed; new parameters have initial values of `seed`. `input`: value of
 * FT_INPUT_KEY, or NULL. */
filtra_status ft_start_write(const ft_start *p, const filtra_model *model, uint64_t seed,
                             const char *input, const char *path);

#endif
