/* A run's folder and data, shared by training, evaluation and prediction. */
#ifndef FT_TRAIN_RUN_H
#define FT_TRAIN_RUN_H

#include "data/dataset.h"
#include "train/config.h"
#include "train/metrics.h"
#include "train/ranks.h"

#include <filtra/run.h>

/** Reads a JSON file of the folder and returns its path; *object is NULL if the file does not
 * exist. Caller frees both, also on failure. */
filtra_status ft_run_load_part(const char *folder, const char *name, char **path, json_t **object);
/** Classes, standardisation and columns of the training data, from data.json; all 0 if the file
 * does not exist. */
typedef struct ft_run_fit {
  ft_data_fit data; /* points to the members below */
  json_t *json;
  const char **classes;
  double *mean, *factor;
  struct ft_table_fit *table;
} ft_run_fit;
/** Takes ownership of `object` and reads it; errors call it `context`. */
filtra_status ft_run_take_fit(json_t *object, const char *context, ft_run_fit *fit);
void ft_run_free_fit(ft_run_fit *fit);

/** Applies the settings of filtra_run_open_data to the configuration and to *out, a copy of how the
 * training table (NULL: none) was read, which the caller frees; NULL on failure. */
filtra_status ft_run_change_reading(ft_run_config *config, const struct ft_table_fit *table,
                                    const char *settings, struct ft_table_fit **out);
/** Opens the configuration's data, or those at `path` if not NULL; a single file is the split
 * `file_split`. For an existing run, reads data as its training data were read, and refuses data
 * that its model does not fit. */
filtra_status ft_run_open_data(const ft_run_config *config, const char *path,
                               filtra_split file_split, filtra_dataset **out);
/** Opens the configuration's data for training: samples of the test split may lack targets, which
 * is then logged. */
filtra_status ft_run_open_training(const ft_run_config *config, filtra_dataset **out);
/** Whether the folder has a file of that name. */
filtra_status ft_run_has(const char *folder, const char *name, bool *has);
/** Fails with INPUT unless the folder holds a run. */
filtra_status ft_run_check_folder(const char *folder);
/** Fails with ARGUMENT, naming what is there, unless a new run can take the folder: it does not
 * exist, or holds only files of a run that was killed before it wrote its configuration. */
filtra_status ft_run_check_vacant(const char *folder);
/** Creates the folder if needed and opens its metrics, which locks it. If several processes try,
 * one succeeds and the others change nothing. *made: the folder is new. */
filtra_status ft_run_claim_folder(const char *folder, ft_metrics **metrics, bool *made);
/** Writes and releases the object; NULL: it could not be allocated. */
filtra_status ft_run_write_json(const char *folder, const char *name, json_t *object, size_t flags);
/** Writes config.json. */
filtra_status ft_run_write_config(const char *folder, const ft_run_config *config);
/** Writes a run's first files, including the device's tuning. The configuration comes first and
 * makes the folder a run; if a later file is missing, the run starts over. */
filtra_status ft_run_fill_folder(const char *folder, const filtra_device *device,
                                 const ft_run_config *config, const filtra_dataset *data);
/** Removes the files of ft_run_claim_folder and ft_run_fill_folder. */
void ft_run_abandon_folder(const char *folder, bool made);
/** Reads the tuning with which a run began; NULL: none, or that of another device, with a warning.
 */
filtra_status ft_run_load_tuning(const char *folder, const filtra_device *device,
                                 struct ft_tuning **tuning);
/** Writes to the folder which device and version train the run, and the data's fingerprint, for
 * reports. If a run changes devices or data, the last ones are recorded. */
filtra_status ft_run_write_about(const char *folder, filtra_model *model, const char *fingerprint);
/** Removes half-written files of a run that was killed. */
void ft_run_clean_folder(const char *folder);
/** Accuracy of always predicting the most frequent label of a split; with `tokens`, the most
 * frequent next token. */
filtra_status ft_majority_share(const filtra_dataset *data, filtra_split split, bool tokens,
                                double *share);
/** How a split is evaluated; all zero: by one process, to the end. */
typedef struct ft_evaluation_way {
  const ft_ranks *ranks;    /* NULL: one process */
  bool (*stop)(void *user); /* asked between batches, without ranks; NULL: never */
  void *user;
  /* [samples, outputs], receives the results of filtra_model_predict_batch, in the split's order;
   * NULL: not wanted. Must be NULL for language models and with ranks. */
  float *results;
} ft_evaluation_way;
/** filtra_model_evaluate_split by all ranks together, with the same result on each, of data that
 * are known to fit the model. Fails with CANCELLED where `stop` says so. */
filtra_status ft_evaluate_shared(filtra_model *model, const filtra_dataset *data,
                                 filtra_split split, uint32_t batch_size,
                                 const ft_evaluation_way *way, filtra_evaluation *result);
/** filtra_model_evaluate_split and filtra_model_score_split of a classifier in one pass. */
filtra_status ft_evaluate_scored(filtra_model *model, const filtra_dataset *data,
                                 filtra_split split, uint32_t batch_size, filtra_evaluation *result,
                                 filtra_scores **scores);
/** Scores a split from its logits [samples, classes]. Caller destroys. */
filtra_status ft_score_results(const filtra_dataset *data, filtra_split split, uint32_t classes,
                               const float *logits, filtra_scores **out);

#endif
