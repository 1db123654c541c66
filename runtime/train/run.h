/* A run in its folder. */
#ifndef FT_TRAIN_RUN_H
#define FT_TRAIN_RUN_H

#include "data/dataset.h"
#include "train/config.h"
#include "train/metrics.h"
#include "train/ranks.h"

#include <filtra/run.h>

/** A JSON file of the folder, and its path; *object is NULL where there is none. Caller frees both,
 * also on failure. */
filtra_status ft_run_load_part(const char *folder, const char *name, char **path, json_t **object);
/** What else was taken from the training data, as data.json has it; empty where there is none. */
typedef struct ft_run_fit {
  ft_data_fit data; /* points into the rest */
  json_t *json;
  const char **classes;
  double *mean, *factor;
} ft_run_fit;
/** From an object that is taken over; errors call it `context`. */
filtra_status ft_run_take_fit(json_t *object, const char *context, ft_run_fit *fit);
void ft_run_free_fit(ft_run_fit *fit);

/** Opens the configuration's data set, or that at `path` where it is not NULL; a single file counts
 * as `file_split`. The configuration of a run that exists reads data as its training data were
 * read, and refuses what its model does not fit. */
filtra_status ft_run_open_data(const ft_run_config *config, const char *path,
                               filtra_split file_split, filtra_dataset **out);
/** Whether a file of that name is in the folder. */
filtra_status ft_run_has(const char *folder, const char *name, bool *has);
/** Fails with INPUT unless the folder is a run's. */
filtra_status ft_run_check_folder(const char *folder);
/** Fails with ARGUMENT, naming what is there, unless a new run can have the folder: it does not
 * exist, or holds nothing but what a run left that was killed before it had a configuration. */
filtra_status ft_run_check_vacant(const char *folder);
/** Makes such a folder this process's: makes it and opens its metrics, which locks it. Of several
 * that try at once one succeeds; the others change nothing. *made: the folder is new. */
filtra_status ft_run_claim_folder(const char *folder, ft_metrics **metrics, bool *made);
/** Writes what a run begins with, the device's tuning too. With its configuration, written first,
 * it is a run, which starts over where the rest is missing. */
filtra_status ft_run_fill_folder(const char *folder, const filtra_device *device,
                                 const ft_run_config *config, const filtra_dataset *data);
/** Removes what these two made. */
void ft_run_abandon_folder(const char *folder, bool made);
/** The tuning that a run began with; NULL: none, or another device's, with a warning. */
filtra_status ft_run_load_tuning(const char *folder, const filtra_device *device,
                                 struct ft_tuning **tuning);
/** Says in the folder what trains here, for reports. A run that goes on elsewhere is of the last
 * place. */
filtra_status ft_run_write_about(const char *folder, filtra_model *model);
/** Removes what a run that was killed left half-written. */
void ft_run_clean_folder(const char *folder);
/** filtra_model_evaluate_split by all ranks together, which come to the same result; `ranks` NULL: alone. */
filtra_status ft_evaluate_shared(filtra_model *model, const filtra_dataset *data,
                                 filtra_split split, uint32_t batch_size, const ft_ranks *ranks,
                                 filtra_evaluation *result);

#endif
