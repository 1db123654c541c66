/* Models that runs begin with: the key "init_from". */
#ifndef FT_TRAIN_START_H
#define FT_TRAIN_START_H

#include "model/start.h"
#include "train/config.h"

/** A new run's keys: those given over its preset's, over those of the model at "init_from". A
 * head's classes and the unit of values are the data's. The caller releases *out. */
filtra_status ft_run_expand(const json_t *given, json_t **out);
/** The tokenizer of a start; NULL: it has none. *own is the same pointer, to be destroyed, or
 * NULL. */
filtra_status ft_start_tokenizer(const ft_start *start, const filtra_tokenizer **tokenizer,
                                 filtra_tokenizer **own);
/** The tokenizer of a run's start, as ft_start_tokenizer. Fails with INPUT where the configuration
 * names another. */
filtra_status ft_run_start_tokenizer(const ft_run_config *config,
                                     const filtra_tokenizer **tokenizer, filtra_tokenizer **own);
/** Fails with INPUT where the data are not read by the start's tokenizer (NULL: it has none). */
filtra_status ft_run_check_start(const ft_run_config *config, const filtra_tokenizer *tokenizer,
                                 const filtra_dataset *data);
/** Gives a new run's model the values of the start; of a classifier's head only where it is for the
 * data's classes, in their order. */
filtra_status ft_run_take_start(const ft_run_config *config, const filtra_dataset *data,
                                filtra_model *model);

/** A hash of the values of all parameters, by which ranks see that they begin alike. */
filtra_status ft_run_hash_start(filtra_model *model, uint64_t *hash);

#endif
