/* A run in its folder. */
#ifndef FT_TRAIN_RUN_H
#define FT_TRAIN_RUN_H

#include "data/dataset.h"
#include "train/config.h"
#include "train/metrics.h"

#define FT_RUN_CONFIG     "config.json"
#define FT_RUN_METRICS    "metrics.jsonl"
#define FT_RUN_ABOUT      "about.json"
#define FT_RUN_TOKENIZER  "tokenizer.json"
#define FT_RUN_FIT        "data.json"
#define FT_RUN_TUNING     "tuning.json"
#define FT_RUN_MODEL      "model.safetensors"
#define FT_RUN_CHECKPOINT "checkpoint/state.safetensors"

/** Reads a run folder's configuration; the error says so when `folder` is no run. `folder` must
 * outlive it. */
filtra_status ft_run_load_config(const char *folder, ft_run_config *config);
/** Loads a run's best model; says so where training has not evaluated one yet. */
filtra_status ft_run_load_model(const char *folder, filtra_device *device, filtra_model **model);
/** What turns a run's text into tokens. Where it was made from the training data, it comes from the
 * run folder and *owned, too, which the caller destroys; else *owned is NULL. */
filtra_status ft_run_load_tokenizer(const ft_run_config *config, const filtra_tokenizer **tokenizer,
                                    filtra_tokenizer **owned);
/** What else was taken from the training data, as data.json has it; empty where there is none. */
typedef struct ft_run_fit {
  ft_data_fit data; /* points into the rest */
  json_t *json;
  const char **classes;
  double *mean, *factor;
} ft_run_fit;
/** From an object that is taken over; errors call it `context`. */
filtra_status ft_run_take_fit(json_t *object, const char *context, ft_run_fit *fit);
filtra_status ft_run_load_fit(const char *folder, ft_run_fit *fit);
void ft_run_free_fit(ft_run_fit *fit);

/** Opens the configuration's data set, or that at `path` where it is not NULL; a single file counts
 * as `file_split`. The configuration of a run that exists reads data as its training data were
 * read, and refuses what its model does not fit. */
filtra_status ft_run_open_data(const ft_run_config *config, const char *path,
                               filtra_split file_split, filtra_dataset **out);
/** Path of the file that holds what the best model came to on a split, where `filtra eval` has left
 * it; caller frees. Training removes it when a better model takes that one's place. */
char *ft_run_evaluation_path(const char *folder, filtra_split split);
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
/** The split of that name: train, val or test. */
filtra_status ft_run_find_split(const char *name, filtra_split *split);

#endif
