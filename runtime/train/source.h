/* Models that runs begin with: the key "init_from". */
#ifndef FT_TRAIN_SOURCE_H
#define FT_TRAIN_SOURCE_H

#include "model/pretrained.h"
#include "train/config.h"

/** A new run's keys: those given over its preset's, over those of the model at "init_from". A head's
 * classes and the unit of values are the data's. The caller releases *out. */
filtra_status ft_run_expand(const json_t *given, json_t **out);
/** The tokenizer of a source; NULL: it has none. *owned is the same pointer, to be destroyed, or
 * NULL. */
filtra_status ft_source_tokenizer(const ft_pretrained *source, const filtra_tokenizer **tokenizer,
                                  filtra_tokenizer **owned);
/** Opens the source of a run's configuration for its tokenizer: *tokenizer as `fitted` data have
 * it, which the caller destroys; NULL: the source has none, or one that has a name. Fails with INPUT
 * where the configuration names another. */
filtra_status ft_run_source_tokenizer(const ft_run_config *config, filtra_tokenizer **tokenizer);
/** Gives a new run's model the values of the source. */
filtra_status ft_run_take_source(const ft_run_config *config, filtra_model *model);

#endif
