/* Training runs in their folders: reading their settings, their best models, and data as they read
 * it.
 *
 *   filtra_run *run;  filtra_run_open("run", &run);
 *   filtra_model *model;  filtra_run_load_model(run, dev, &model);
 *   filtra_dataset *data;  filtra_run_open_data(run, NULL, FILTRA_SPLIT_TRAIN, NULL, &data);
 *   filtra_evaluation result;
 *   filtra_model_evaluate_split(model, data, FILTRA_SPLIT_VAL,
 *                               filtra_run_get_info(run)->batch_size, &result);
 *   filtra_dataset_close(&data);  filtra_model_destroy(&model);  filtra_run_close(&run);
 */
#ifndef FILTRA_RUN_H
#define FILTRA_RUN_H

#include <filtra/predictor.h>
#include <filtra/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- folders ------------------------------------------------------------------------------ */

/* Files in a run's folder. */
#define FILTRA_RUN_CONFIG     "config.json"   /**< complete, with all defaults */
#define FILTRA_RUN_METRICS    "metrics.jsonl" /**< one JSON object per line */
#define FILTRA_RUN_ABOUT      "about.json"    /**< device, driver and library it was trained with */
#define FILTRA_RUN_TOKENIZER  "tokenizer.json"
#define FILTRA_RUN_DATA       "data.json" /**< names of classes, standardisation */
#define FILTRA_RUN_TUNING     "tuning.json"
#define FILTRA_RUN_MODEL      "model.safetensors" /**< the best so far */
#define FILTRA_RUN_CHECKPOINT "checkpoint/state.safetensors"
/** Result of `filtra eval` for the best model, by name of the split. Training removes it when it
 * finds a better model. */
#define FILTRA_RUN_EVALUATION "eval-%s.json"

/** A run's folder, read by filtra_run_open. Constant: any number of threads may use it. */
typedef struct filtra_run filtra_run;

typedef struct filtra_run_info {
  const char *folder; /**< as it was given */
  const char *config; /**< config.json as JSON text */
  const char *data;   /**< path of the training data */
  const char *mixer;  /**< its name */
  filtra_task task;
  uint32_t batch_size;
  /** NULL: the run reads no text. Valid while the run is open. */
  const filtra_tokenizer *tokenizer;
  const char *const *classes; /**< [class_count] names of the classes, while the run is open */
  size_t class_count;
  uint64_t reserved[8]; /**< 0 */
} filtra_run_info;

/** Reads configuration and tokenizer. Fails with INPUT where the folder is not a run's. Caller
 * closes. */
FILTRA_API filtra_status filtra_run_open(const char *folder, filtra_run **out);
/** Sets *run to NULL. Models, predictors and datasets that it opened stay valid. */
FILTRA_API void filtra_run_close(filtra_run **run);
/** Valid while the run is open. */
FILTRA_API const filtra_run_info *filtra_run_get_info(const filtra_run *run);

/** Loads the best model. Fails with INPUT where the run has not evaluated one yet. Caller
 * destroys. */
FILTRA_API filtra_status filtra_run_load_model(const filtra_run *run, filtra_device *device,
                                               filtra_model **out);
/** Makes a run folder, without data, of a model that was trained elsewhere: filtra_model_import
 * says what `path` and `changes` are. Every command and function that reads a run accepts it. No
 * weights are copied to the device. Fails with ARGUMENT where the folder is not empty. */
FILTRA_API filtra_status filtra_run_import(filtra_device *device, const char *path,
                                           const char *changes, const char *folder);
/** Loads the best model as a predictor. `options` may be NULL. Caller destroys. */
FILTRA_API filtra_status filtra_run_create_predictor(const filtra_run *run, filtra_device *device,
                                                     const filtra_predictor_options *options,
                                                     filtra_predictor **out);
/** Opens the run's data, or the data at `path` if not NULL, with the run's tokenizer, classes and
 * standardisation. A path to one file is read as `file_split`, unless it is the run's own file,
 * whose splits are the run's. Samples may be unlabelled: they can be predicted, not evaluated.
 *
 * `settings`: NULL, or a JSON object of keys that say how the file at `path` is written, in place
 * of the run's: format, delimiter, decimal, quoting, text_column, target_column, label_separator,
 * group_column, time_column and id_column. {"text_column": "body", "delimiter": "semicolon"}
 *
 * Fails with INPUT for data that does not fit the model, and for other settings. Caller closes. */
FILTRA_API filtra_status filtra_run_open_data(const filtra_run *run, const char *path,
                                              filtra_split file_split, const char *settings,
                                              filtra_dataset **out);

/* ---- configurations ----------------------------------------------------------------------- */

/** Text that explains keys of a run's configuration. NULL: a list of all keys and of each mixer's
 * options, with defaults and accepted values. "drop_path": that key, what it does, its range,
 * default and paper. "mixer.K": that option of each mixer that has it. "agf": that mixer and its
 * options. Fails with INPUT, suggesting the nearest, for an unknown name. Caller frees *out with
 * filtra_free. Thread-safe. */
FILTRA_API filtra_status filtra_config_describe(const char *key, char **out);
/** Checks a configuration (JSON text, complete or partial) as training does before it opens the
 * data. *out receives JSON text with every key of config.json; values that the data decide are 0,
 * "" or auto. Errors call the configuration `name`; NULL: "configuration". Caller frees with
 * filtra_free. Thread-safe. */
FILTRA_API filtra_status filtra_config_complete(const char *config, const char *name, char **out);

/** Name of preset `index`, a recipe of one of the papers, for the configuration's key "preset";
 * NULL beyond the last. Thread-safe. */
FILTRA_API const char *filtra_preset_name(size_t index);
/** A preset as JSON text: title, paper, data (which data it needs), config and, where it differs
 * from the paper, note. NULL for an unknown name; the error message then suggests the nearest.
 * Thread-safe. */
FILTRA_API const char *filtra_preset_json(const char *name);

#ifdef __cplusplus
}
#endif
#endif
