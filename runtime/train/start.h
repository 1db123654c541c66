/* The model that a run begins with: the key "init_from". */
#ifndef FT_TRAIN_START_H
#define FT_TRAIN_START_H

#include "data/dataset.h"
#include "model/start.h"
#include "train/config.h"

/** A new run's keys: given ones override the preset's, which override those of the model at
 * "init_from". Number of classes and scale of target values come from the data. The caller releases
 * *out. */
filtra_status ft_run_expand(const json_t *given, json_t **out);
/** The start's tokenizer; NULL: it has none. *own is the same pointer if the caller must destroy
 * it, else NULL. */
filtra_status ft_start_tokenizer(const ft_start *start, const filtra_tokenizer **tokenizer,
                                 filtra_tokenizer **own);
/** The tokenizer of a run's start, as ft_start_tokenizer. Fails with INPUT if the configuration
 * names another one. */
filtra_status ft_run_start_tokenizer(const ft_run_config *config,
                                     const filtra_tokenizer **tokenizer, filtra_tokenizer **own);
/** Fails with INPUT unless the data are read with the start's tokenizer. NULL: it has none; then
 * the configuration names it, or the data hold token ids or numbers and need none. */
filtra_status ft_run_check_start(const ft_run_config *config, const filtra_tokenizer *tokenizer,
                                 const filtra_dataset *data);
/** The means and factors by which the start's data were standardised, if `data` have the same
 * features and were standardised otherwise; else *fit is empty. Not where the configuration names
 * others. The caller frees *moments, into which *fit points. */
filtra_status ft_run_start_moments(const ft_run_config *config, const filtra_dataset *data,
                                   ft_data_fit *fit, double **moments);
/** Copies the start's values into a new run's model; a classifier's head only if it has the data's
 * classes in the same order. */
filtra_status ft_run_take_start(const ft_run_config *config, const filtra_dataset *data,
                                filtra_model *model);

/** A hash of all parameters' values, by which ranks check that they begin with equal ones. */
filtra_status ft_run_hash_start(filtra_model *model, uint64_t *hash);

#endif
