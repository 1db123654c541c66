/* Runs that filtra_run_train has left in their folders: what they were, their best models, and data
 * read as theirs were.
 *
 *   filtra_run *run;  filtra_run_open("run", &run);
 *   filtra_model *model;  filtra_run_load_model(run, dev, &model);
 *   filtra_dataset *data;  filtra_run_open_data(run, NULL, FILTRA_TRAIN, &data);
 *   filtra_evaluation result;
 *   filtra_evaluate(model, data, FILTRA_VAL, filtra_run_get_info(run)->batch_size, &result);
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

/* What is in a run's folder. */
#define FILTRA_RUN_CONFIG     "config.json"   /**< complete, all defaults filled in */
#define FILTRA_RUN_METRICS    "metrics.jsonl" /**< a JSON object a line */
#define FILTRA_RUN_ABOUT      "about.json"    /**< what it was trained on */
#define FILTRA_RUN_TOKENIZER  "tokenizer.json"
#define FILTRA_RUN_FIT        "data.json" /**< names of classes, standardisation */
#define FILTRA_RUN_TUNING     "tuning.json"
#define FILTRA_RUN_MODEL      "model.safetensors" /**< the best so far */
#define FILTRA_RUN_CHECKPOINT "checkpoint/state.safetensors"
/** What the best model came to on the split of that name, where `filtra eval` has left it. Training
 * removes it when a better model takes that one's place. */
#define FILTRA_RUN_EVALUATION "eval-%s.json"

/** A run's folder, read when it was opened. Constant: any number of threads may use it. */
typedef struct filtra_run filtra_run;

typedef struct filtra_run_info {
  const char *folder; /**< as it was given */
  const char *config; /**< config.json as JSON text */
  const char *data;   /**< path of the training data */
  const char *mixer;  /**< its name */
  filtra_task task;
  uint32_t batch_size;
  /** What turns its text into tokens; NULL: it reads no text. Lives as the run does. */
  const filtra_tokenizer *tokenizer;
  uint64_t reserved[8]; /**< 0 */
} filtra_run_info;

/** Reads configuration and tokenizer. Fails with INPUT, saying so, where the folder is no run's.
 * Caller closes. */
FILTRA_API filtra_status filtra_run_open(const char *folder, filtra_run **out);
/** Sets *run to NULL. What was opened and loaded by it stays. */
FILTRA_API void filtra_run_close(filtra_run **run);
/** Valid while the run is open. */
FILTRA_API const filtra_run_info *filtra_run_get_info(const filtra_run *run);

/** Loads the best model. Fails with INPUT, saying so, where none was evaluated yet. Caller destroys
 * it. */
FILTRA_API filtra_status filtra_run_load_model(const filtra_run *run, filtra_device *device,
                                               filtra_model **out);
/** The same as a predictor. `options` may be NULL. */
FILTRA_API filtra_status filtra_run_create_predictor(const filtra_run *run, filtra_device *device,
                                                     const filtra_predictor_options *options,
                                                     filtra_predictor **out);
/** Opens the run's data, or those at `path` where it is not NULL, by the run's tokenizer, classes
 * and standardisation; a single file there counts as `file_split`. Fails with INPUT for data that
 * the model does not fit. Caller closes. */
FILTRA_API filtra_status filtra_run_open_data(const filtra_run *run, const char *path,
                                              filtra_split file_split, filtra_dataset **out);

/* ---- configurations ----------------------------------------------------------------------- */

/** The keys of a run's configuration in words, for people. NULL lists all keys and each mixer's
 * options with defaults and accepted values. "drop_path" explains that key: what it does, range,
 * default and paper; "mixer.K" that option of each mixer that has it; "agf" that mixer and all its
 * options. Fails with INPUT, suggesting the nearest, for a name that does not exist. Caller frees
 * *out with filtra_memory_free. Thread-safe. */
FILTRA_API filtra_status filtra_run_describe_keys(const char *key, char **out);
/** Checks a configuration (JSON text, complete or partial) as training would before it opens the
 * data, and gives it complete: *out, JSON text with every key of config.json, 0, "" or auto where
 * the value comes from the data. `name` is what errors call the configuration; NULL:
 * "configuration". Caller frees with filtra_memory_free. Thread-safe. */
FILTRA_API filtra_status filtra_run_complete_config(const char *config, const char *name,
                                                    char **out);

/** Name of a recipe of the papers, which a configuration may name as "preset"; NULL beyond the
 * last. Thread-safe. */
FILTRA_API const char *filtra_preset_name(size_t index);
/** The recipe as JSON text: title, paper, data (what to give as the data), config and, where it
 * differs from the paper's, note. NULL, with the error message suggesting the nearest name, when
 * there is none of this name. Thread-safe. */
FILTRA_API const char *filtra_preset_json(const char *name);

#ifdef __cplusplus
}
#endif
#endif
