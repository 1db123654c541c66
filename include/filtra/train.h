/* Training: one optimizer step at a time, or a whole run in a folder. */
#ifndef FILTRA_TRAIN_H
#define FILTRA_TRAIN_H

#include <filtra/model.h>
#include <filtra/optimizer.h>
#include <filtra/transport.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Optimizer state, step count and the training graphs of one model. One thread at a time per
 * device. Destroy before the model. */
typedef struct filtra_trainer filtra_trainer;

/** What a layer's forward pass gives that its backward pass reads. Results are the same, bit for
 * bit, but that in CHEAP and FEED_FORWARD a device may round an activation that is made again from
 * what it was applied to otherwise than behind a product; kernels of an application's own must not
 * add to what was there before their layer. */
typedef enum filtra_recompute {
  FILTRA_RECOMPUTE_NONE = 0, /**< is kept */
  /** is made again where that takes no product: norms, dropout, sums, activations */
  FILTRA_RECOMPUTE_CHEAP,
  FILTRA_RECOMPUTE_FEED_FORWARD, /**< the same, and all of the feed-forward layer is made again */
  FILTRA_RECOMPUTE_BLOCKS        /**< is made again, layer by layer: a second forward pass in all */
} filtra_recompute;

/** How to train. Zero means the default given with each field. Ranges are those of the keys of
 * these names in a run's configuration. */
typedef struct filtra_train_options {
  /** Its weight_decay is on matrices, not on biases, norms and filter coefficients. */
  filtra_optimizer_options optimizer;
  float label_smoothing; /**< 0 to 0.999; in regression 0 */
  /** Parts that a batch is cut into, whose gradients are added up: less memory for activations, and
   * one more buffer of gradients. The sums are those of the whole batch but for rounding: losses,
   * clipping and dropout are the batch's. 0 and 1: whole. */
  uint64_t accumulate;
  filtra_recompute recompute;
  /** Chunks in which a language model's logits are computed and judged, so that no tensor holds
   * them all; the backward pass recomputes each. Another number gives other rounding. 0: one, or
   * more where the logits of a batch would not fit a buffer of the device. */
  uint64_t loss_chunks;
  uint64_t seed; /**< of dropout */
  /** Batches have other_labels and label_fractions, as a loader's that mixes samples: the loss is the
   * mean of the cross-entropies against both classes by their shares. */
  bool mixed_labels;
  /** Several processes that train one model, each with this configuration and the same batches:
   * each takes its share of every batch, and holds its shard of the optimizer's state. Losses,
   * clipping and dropout are the whole batch's; weights are the same on all ranks, bit for bit.
   * Lives longer than the trainer. NULL, or of size 1: alone. */
  const filtra_transport *transport;
  float share;          /**< of this rank, beside the others'; 0: 1; or FILTRA_SHARE_AUTO */
  float deadline;       /**< seconds that a rank waits for another; 0: 300 */
  uint64_t reserved[9]; /**< 0 */
} filtra_train_options;

/** As a rank's share: before the first step all ranks measure a forward and backward pass of their
 * devices, and share batches by speed. It is enough that one of them asks for it. */
#define FILTRA_SHARE_AUTO (-1.0f)

/** What one step came to. */
typedef struct filtra_trainer_metrics {
  uint64_t step;  /**< counts from 1 */
  float loss;     /**< as filtra_model_evaluate_batch's, but smoothed and with auxiliary losses */
  float accuracy; /**< fraction of samples (of mixtures by the larger part's class), or of predicted
                       tokens; 0 in regression */
  float absolute_error; /**< mean, in regression, in the values' own units; else 0 */
  float gradient_norm;  /**< before clipping; 0 in a step that was skipped */
  float learning_rate;
  /** Of several ranks: what this one spent in messages, waiting for others included, and how much
   * of that while its device was still at the backward pass. Alone 0. */
  float exchange_seconds, hidden_seconds;
  /** In fp16: what the step's gradients were scaled by, how many steps have overflowed and so were
   * skipped since training began, and the last of them. Else 0. */
  float loss_scale;
  uint64_t skipped, skipped_step;
  uint64_t reserved[4]; /**< 0 */
} filtra_trainer_metrics;

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
                                             filtra_trainer_metrics *metrics);
/** Waits for all steps; *metrics (may be NULL) receives the last one's. */
FILTRA_API filtra_status filtra_trainer_finish(filtra_trainer *trainer,
                                               filtra_trainer_metrics *metrics);
/** Steps submitted so far. */
FILTRA_API uint64_t filtra_trainer_step_count(const filtra_trainer *trainer);
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
  filtra_trainer_metrics last;
  uint64_t step, steps;     /**< done and in all */
  double epoch;             /**< passes over the training data so far */
  double tokens_per_second; /**< real tokens, lately */
  double milliseconds;      /**< per step, lately */
  double seconds_left;      /**< estimate; < 0 while unknown */
  filtra_task task;
  double validation_loss; /**< of the last evaluation; < 0: none yet */
  double validation_accuracy, validation_absolute_error; /**< as in filtra_evaluation, */
  double validation_top5_accuracy;                       /**< and this; < 0: none, or none yet */
  bool evaluated;                                        /**< this call follows an evaluation */
  uint64_t device_memory_bytes;
  const char *shares;   /**< measured ones, or the configuration's; NULL: none of these */
  uint64_t reserved[6]; /**< 0 */
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
  /** As in filtra_train_options: all ranks call with the same configuration and folder, which all
   * must reach, as they must the data; only rank 0 writes. A run goes on with other ranks than it
   * began with, too: then the same but for rounding. */
  const filtra_transport *transport;
  float share; /**< 0: as the configuration's key `shares` says */
  float deadline;
  uint64_t reserved[6]; /**< 0 */
} filtra_run_options;

/** Trains a whole run: data, schedule, evaluation, metrics, checkpoints, best model. A run that is
 * stopped at any moment, even killed, and resumed ends in the same files, bit for bit, but for the
 * times in metrics.jsonl. Resuming a complete run changes nothing. Whatever is wrong with
 * configuration, data or model is found before the folder is made. One process at a time has a
 * folder: of several that start together the others fail and change nothing. */
FILTRA_API filtra_status filtra_run_train(filtra_device *device, const filtra_run_options *options);

/** What a run would take of the device, in bytes, with the slack behind each buffer. */
typedef struct filtra_run_memory_use {
  uint64_t parameters;  /**< the values */
  uint64_t gradients;   /**< with `accumulate` their sums as well */
  uint64_t moments;     /**< the optimizer's two */
  uint64_t activations; /**< of the longest batch, or the validation's, which share the memory */
  uint64_t transfers;   /**< inputs and outputs of the batches under way, for all batch shapes */
  uint64_t total;
  uint64_t available; /**< what the device has, or what --caps leaves of it */
  bool fits;
  /** Where it does not fit: the settings that would make it, as --set takes them, one behind the
   * other; "" where none does. */
  char advice[128];
  uint64_t reserved[8]; /**< 0 */
} filtra_run_memory_use;

/** Plans a run's memory before anything is made or written: of a configuration, or (config NULL) of
 * the run in `folder`. Reads the data and builds the graphs, allocates nothing on the device. A
 * plan that does not fit is a result, not a failure. */
FILTRA_API filtra_status filtra_run_measure(filtra_device *device,
                                            const filtra_run_options *options,
                                            filtra_run_memory_use *plan);

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
  /** Fraction of samples whose class is among the five that the model finds likeliest; < 0 in other
   * tasks than classification, and where there are at most five classes. */
  double top5_accuracy;
  uint64_t reserved[7]; /**< 0 */
} filtra_evaluation;

/** Walks a split in batches of `batch_size`. Fails with NONFINITE where the loss is not finite. */
FILTRA_API filtra_status filtra_model_evaluate_split(filtra_model *model,
                                                     const filtra_dataset *data, filtra_split split,
                                                     uint32_t batch_size,
                                                     filtra_evaluation *result);
/** Evaluates a run's best model on a split ("train", "val" or "test") of its data, or of the data
 * at `data` when not NULL; computes in `precision`, or where that is NULL in the model's. */
FILTRA_API filtra_status filtra_run_evaluate(filtra_device *device, const char *folder,
                                             const char *split, const char *data,
                                             const filtra_precision *precision,
                                             filtra_evaluation *result);

#ifdef __cplusplus
}
#endif
#endif
