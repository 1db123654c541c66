/* Models to start from: those of other programs, in Hugging Face folders, and Filtra's own, in run
 * folders and model files. Called by programs through filtra_model_import, and by train/ for runs
 * that begin with one. */
#ifndef FT_MODEL_START_H
#define FT_MODEL_START_H

#include "model/model.h"

typedef struct ft_start ft_start;

/** Reads a Hugging Face folder (config.json with "model_type", model.safetensors or shards with an
 * index), a run folder or a model file. Fails with INPUT for anything else, an unknown family, a
 * damaged file, or tensors that are not those of the family. Caller closes. */
filtra_status ft_start_open(const char *path, ft_start **out);
/** Sets *start to NULL. */
void ft_start_close(ft_start **start);

/** The model's keys; `classes`, `task` and scale of target values only if it has a head for
 * them. */
const json_t *ft_start_keys(const ft_start *p);
/** How samples are read: the object of FT_INPUT_KEY; for a Hugging Face folder without
 * "tokenizer". */
const json_t *ft_start_input(const ft_start *p);
/** Data keys that the model asks for, those of images; else NULL. */
const json_t *ft_start_data_keys(const ft_start *p);
/** The Hugging Face folder, which may have a tokenizer; NULL: a Filtra model. */
const char *ft_start_folder(const ft_start *p);

/** The start's keys overridden by those of `changes`, an object or NULL. Another mixer takes over
 * the start's options that it also has. Warns of keys with which the weights compute something that
 * they were not trained for. The caller releases *keys. */
filtra_status ft_start_merge(const json_t *start, const json_t *changes, json_t **keys);

/** Whether the named parameter belongs to a head. */
bool ft_is_of_head(const char *name);
/** Names of the model's parameters that the start has no values for; NULL when out of memory. */
json_t *ft_start_new(const ft_start *p, const filtra_model *model);
/** Copies the start's values into the parameters of a model; without `head`, except the head's last
 * layer. Parameters that the start lacks, and layers of the head with other shapes, keep their
 * values; a warning names them, and tensors that the model does not use. A table of positions may
 * have fewer rows than the start's. Fails with INPUT for other differences of shape, naming
 * both. */
filtra_status ft_start_take(const ft_start *p, filtra_model *model, bool head);
/** Writes the model file that filtra_model_save would write after ft_start_take; the model need not
 * be committed. New parameters get initial values from `seed`. `input`: value of FT_INPUT_KEY, or
 * NULL. */
filtra_status ft_start_write(const ft_start *p, const filtra_model *model, uint64_t seed,
                             const char *input, const char *path);

#endif
