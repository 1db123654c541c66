/* Training: one optimizer step at a time, or a whole run in a folder. */
#ifndef FILTRA_TRAIN_H
#define FILTRA_TRAIN_H

#include <filtra/model.h>
#include <filtra/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Optimizer state, step count and the training graphs of one model. One thread at a time per
 * device. Destroy before the model. */
typedef struct filtra_trainer filtra_trainer;

/** How to train. Zero means the default given with each field. */
typedef struct filtra_train_options {
  filtra_optimizer_kind optimizer;
  filtra_schedule schedule;
  float learning_rate;   /**< peak; 0: 1e-3 */
  float weight_decay;    /**< on matrices only, not on biases, norms and filter coefficients, */
  bool decay_all;        /**< unless this is set */
  float beta1, beta2;    /**< 0: 0.9, 0.999 */
  float epsilon;         /**< 0: 1e-8 */
  float clip_norm;       /**< global gradient norm; 0: no clipping */
  float label_smoothing; /**< in [0,1); in regression 0 */
  uint64_t steps;        /**< of the schedule; required unless it is constant */
  uint64_t warmup_steps; /**< linear from 0 (one-cycle: from lr/25) */
  uint64_t seed;         /**< of dropout */
  const filtra_parameter_group *groups; /**< trained otherwise than the rest; copied; NULL: none */
  size_t group_count;
  uint64_t reserved[16]; /**< 0 */
} filtra_train_options;

/** What one step came to. */
typedef struct filtra_step_metrics {
  uint64_t step;        /**< counts from 1 */
  float loss;           /**< as filtra_model_evaluate's, but smoothed and with auxiliary losses */
  float accuracy;       /**< fraction of samples, or of predicted tokens; 0 in regression */
  float absolute_error; /**< mean, in regression, in the values' own units; else 0 */
  float gradient_norm;  /**< before clipping */
  float learning_rate;
  uint64_t reserved[8]; /**< 0 */
} filtra_step_metrics;

FILTRA_API filtra_status filtra_trainer_create(filtra_model *model,
                                               const filtra_train_options *options,
                                               filtra_trainer **out);
/** Waits for steps in flight; frees everything; sets *trainer to NULL. */
FILTRA_API void filtra_trainer_destroy(filtra_trainer **trainer);

/** Compiles the graph for batches of `size` sequences padded to `length`, so that no step has to.
 * Prepare the longest first: shorter ones then share its memory. */
FILTRA_API filtra_status filtra_trainer_prepare(filtra_trainer *trainer, int64_t size,
                                                int64_t length);

/** Submits one optimizer step and returns while the device still works on it. *metrics (may be
 * NULL) receives the newest finished step; its `step` is 0 while there is none. Fails with
 * NONFINITE, naming the first tensor with a NaN or an infinity and the step, when a step of before
 * turns out to have met one: it and those behind it were held back, `batch` is not used, and
 * weights, moments, step count and schedule are those before that step. Training can go on from
 * there. */
FILTRA_API filtra_status filtra_trainer_step(filtra_trainer *trainer, const filtra_batch *batch,
                                             filtra_step_metrics *metrics);
/** Waits for all steps; *metrics (may be NULL) receives the last one's. */
FILTRA_API filtra_status filtra_trainer_finish(filtra_trainer *trainer,
                                               filtra_step_metrics *metrics);
/** Steps submitted so far. */
FILTRA_API uint64_t filtra_trainer_steps(const filtra_trainer *trainer);
/** The schedule's peak from the next step on. */
FILTRA_API filtra_status filtra_trainer_set_learning_rate(filtra_trainer *trainer,
                                                          float learning_rate);

/** Writes parameters, optimizer state and step to one safetensors file, atomically. Waits for the
 * steps in flight. A run that is restored continues with the same bits on the same device: with
 * the configurations of kernels that it began with, too, whatever the device was tuned to since. */
FILTRA_API filtra_status filtra_trainer_save(filtra_trainer *trainer, const char *path);
/** Restores what filtra_trainer_save wrote; the model must have the same parameters. */
FILTRA_API filtra_status filtra_trainer_restore(filtra_trainer *trainer, const char *path);

/* ---- whole runs: one thread at a time per device, one process per folder ------------------ */

/** Progress of filtra_run_train, passed to its callback about every step. */
typedef struct filtra_run_progress {
  filtra_step_metrics last;
  uint64_t step, steps;     /**< done and in all */
  double epoch;             /**< passes over the training data so far */
  double tokens_per_second; /**< real tokens, lately */
  double milliseconds;      /**< per step, lately */
  double seconds_left;      /**< estimate; < 0 while unknown */
  filtra_task task;
  double validation_loss; /**< of the last evaluation; < 0: none yet */
  double validation_accuracy, validation_absolute_error; /**< as in filtra_evaluation */
  bool evaluated;                                        /**< this call follows an evaluation */
  uint64_t device_memory_bytes;
  uint64_t reserved[8]; /**< 0 */
} filtra_run_progress;

typedef struct filtra_run_options {
  /** The configuration: JSON text, complete or partial (docs/config.md). NULL resumes `folder`. */
  const char *config;
  const char *config_name; /**< what errors call the configuration; NULL: "configuration" */
  /** The run folder: config.json, tuning.json (what the device was tuned to when the run began),
   * metrics.jsonl, model.safetensors, checkpoint/. Must not exist or be empty unless resuming. */
  const char *folder;
  /** Called when all is set up and after each step; returning false stops after a checkpoint:
   * status CANCELLED. */
  bool (*progress)(void *user, const filtra_run_progress *progress);
  void *user;
  /** Resume although settings or data are not those that the checkpoint was trained with; without
   * this the call fails with INPUT and names what differs. */
  bool allow_changes;
  uint64_t reserved[8]; /**< 0 */
} filtra_run_options;

/** Trains a whole run: data, schedule, evaluation, metrics, checkpoints, best model. A run that is
 * stopped at any moment, even killed, and resumed ends in the same files, bit for bit, but for the
 * times in metrics.jsonl. Resuming a complete run changes nothing. Whatever is wrong with
 * configuration, data or model is found before the folder is made. One process at a time has a
 * folder: of several that start together the others fail and change nothing. */
FILTRA_API filtra_status filtra_run_train(filtra_device *device, const filtra_run_options *options);

/** What a model comes to on a split. */
typedef struct filtra_evaluation {
  filtra_task task;
  uint64_t samples;
  uint64_t predictions; /**< samples; predicted tokens of a language model */
  double loss;       /**< mean cross-entropy; in regression mean squared error / target_scale^2 */
  double accuracy;   /**< fraction of predictions; 0 in regression, as the next two */
  double chance;     /**< accuracy of guessing: 1 / classes, or 1 / vocabulary */
  double majority;   /**< accuracy of always answering what the split has most often */
  double perplexity; /**< of a language model: exp(loss); else 0 */
  /** Regression, else 0: in the values' own units, and 1 - squared error / variance. */
  double absolute_error, root_mean_square_error, r_squared;
  uint64_t reserved[8]; /**< 0 */
} filtra_evaluation;

/** Walks a split in batches of `batch_size`. Fails with NONFINITE where the loss is not finite. */
FILTRA_API filtra_status filtra_evaluate(filtra_model *model, const filtra_dataset *data,
                                         filtra_split split, uint32_t batch_size,
                                         filtra_evaluation *result);
/** Evaluates a run's best model on a split ("train", "val" or "test") of its data, or of the data
 * at `data` when not NULL. */
FILTRA_API filtra_status filtra_run_evaluate(filtra_device *device, const char *folder,
                                             const char *split, const char *data,
                                             filtra_evaluation *result);

#ifdef __cplusplus
}
#endif
#endif
