/* Training: one optimizer step at a time, or a whole run in a folder. */
#ifndef FILTRA_TRAIN_H
#define FILTRA_TRAIN_H

#include <filtra/model.h>
#include <filtra/optimizer.h>
#include <filtra/scores.h>
#include <filtra/transport.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Trains one model: optimizer state, step count and training graphs. One thread at a time per
 * device. Destroy it before the model. */
typedef struct filtra_trainer filtra_trainer;

/** What the backward pass recomputes of a layer's forward pass, instead of keeping it in memory.
 * The results are the same, bit for bit, with one exception: in CHEAP and FEED_FORWARD a device's
 * compiler may round a recomputed activation differently from a fused one. Kernels of an
 * application (kernel.h) must not update tensors that were computed before their layer. */
typedef enum filtra_recompute {
  FILTRA_RECOMPUTE_NONE = 0, /**< nothing */
  /** Everything except matrix products: norms, dropout, sums, activations. */
  FILTRA_RECOMPUTE_CHEAP,
  FILTRA_RECOMPUTE_FEED_FORWARD, /**< as CHEAP, and the whole feed-forward layer */
  FILTRA_RECOMPUTE_BLOCKS        /**< everything, layer by layer: a second forward pass in all */
} filtra_recompute;

/** What a regression minimizes. */
typedef enum filtra_regression_loss {
  FILTRA_REGRESSION_LOSS_MSE = 0, /**< the mean squared error */
  FILTRA_REGRESSION_LOSS_MAE      /**< the mean absolute error, less moved by outliers */
} filtra_regression_loss;

/** How to train. Start from zeros: 0 means the default given with each field. Ranges are those of
 * the keys with these names in a run's configuration (docs/config.md). */
typedef struct filtra_train_options {
  /** weight_decay applies to matrices; not to biases, norms and filter coefficients, unless
   * decay_all is set. */
  filtra_optimizer_options optimizer;
  float label_smoothing; /**< 0 to 0.999; must be 0 in regression and with several labels */
  /** Number of parts of a batch. Parts are computed one after the other and their gradients added
   * up, which needs less memory for activations and one more buffer of gradients. Losses, clipping
   * and dropout are those of the whole batch; results differ by rounding only. 0 and 1: not
   * divided. */
  uint64_t accumulate;
  filtra_recompute recompute;
  /** Number of chunks in which a language model's logits and loss are computed, so that no tensor
   * holds all logits; the backward pass recomputes each chunk. Another number rounds differently.
   * 0: one, or more if the logits of a batch would not fit into a buffer of the device. */
  uint64_t loss_chunks;
  uint64_t seed; /**< of dropout */
  /** Batches have other_labels and label_fractions, as those of a loader that mixes samples. The
   * loss is the mean of the cross-entropies against both classes, weighted by their fractions. */
  bool mixed_labels;
  /** Connects several processes (ranks) that train one model, each with the same configuration and
   * batches. Each rank takes its share of every batch, and holds its shard of the optimizer's
   * state. Losses, clipping and dropout are those of the whole batch; weights are the same on all
   * ranks, bit for bit. The transport must outlive the trainer. NULL, or size 1: one process. */
  const filtra_transport *transport;
  /** This rank's share, relative to the others': with 3 and 1, the first takes 3 of 4 samples. 0:
   * 1; or FILTRA_SHARE_AUTO. */
  float share;
  float deadline; /**< seconds to wait for another rank; 0: 300 */
  /** Factor on the learning rate for each layer downward: the head has the whole rate, the last of
   * n layers layer_decay times as much, the embeddings layer_decay^(n + 1) times. 0: 1. */
  float layer_decay;
  /** In regression: the loss of standardised values, which are divided by target_scale. Evaluations
   * report both losses. */
  filtra_regression_loss regression_loss;
  /** Parameters that stay as they are, with commas between: names, patterns with "*", and words as
   * "embeddings", "all but the head" or "first 6 layers"; a leading "!" excludes what it names.
   * Their gradients are not computed and do not count for clipping. NULL: none. */
  const char *freeze;
  /** Factors on the learning rate, beside layer_decay, as in "head=10,embeddings=0.1"; the last
   * entry that names a parameter applies. NULL: none. */
  const char *learning_rates;
  /** Weight decay of parameters, in place of the optimizer's, as in "embeddings=0.01,layers.0=0".
   * NULL: none. */
  const char *weight_decays;
  uint64_t reserved[5]; /**< 0 */
} filtra_train_options;

/** As `share`: before the first step all ranks time a forward and backward pass on their devices,
 * and divide batches by speed. All ranks do so if one of them asks for it. */
#define FILTRA_SHARE_AUTO (-1.0f)

/** Results of one step. */
typedef struct filtra_trainer_metrics {
  uint64_t step; /**< counts from 1 */
  float loss; /**< as filtra_model_evaluate_batch, but with label smoothing and auxiliary losses */
  /** Fraction of correct samples (of several labels with all of them right; of a mixed sample, the
   * class with the larger fraction counts) or of correct next tokens; 0 in regression. */
  float accuracy;
  float absolute_error; /**< in regression the mean, in the units of the values; else 0 */
  float gradient_norm;  /**< before clipping; 0 if the step was skipped */
  float learning_rate;
  /** With several ranks: seconds that this rank spent in messages, including waiting for others,
   * and the seconds of these in which its device was still computing the backward pass. Else 0. */
  float exchange_seconds, hidden_seconds;
  /** In fp16: the loss scale of the step, the number of steps that overflowed since training began
   * and were skipped, and the last of them. Else 0. */
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

/** Submits one optimizer step and returns while the device works on it. *metrics (may be NULL)
 * receives the results of the newest finished step; their `step` is 0 before the first. Fails with
 * NONFINITE if an earlier step produced a NaN or an infinity; the message names the step and the
 * first such tensor. The device has then held back that step and all later ones, and `batch` was
 * not used: weights, moments, step count and schedule are those before that step, and training can
 * go on. */
FILTRA_API filtra_status filtra_trainer_step(filtra_trainer *trainer, const filtra_batch *batch,
                                             filtra_trainer_metrics *metrics);
/** Waits for all steps; *metrics (may be NULL) receives the results of the last. */
FILTRA_API filtra_status filtra_trainer_finish(filtra_trainer *trainer,
                                               filtra_trainer_metrics *metrics);
/** Number of steps submitted so far. */
FILTRA_API uint64_t filtra_trainer_step_count(const filtra_trainer *trainer);
/** Sets the schedule's peak, from the next step on. */
FILTRA_API filtra_status filtra_trainer_set_learning_rate(filtra_trainer *trainer,
                                                          float learning_rate);

/** Writes parameters, optimizer state and step to one safetensors file, atomically, after all steps
 * in flight. After filtra_trainer_restore, training continues with the same bits on the same
 * device: the file also keeps the tuned choices of kernels with which training began. */
FILTRA_API filtra_status filtra_trainer_save(filtra_trainer *trainer, const char *path);
/** Reads a file of filtra_trainer_save. The model must have the same parameters. */
FILTRA_API filtra_status filtra_trainer_restore(filtra_trainer *trainer, const char *path);

/** Results of a model on a split. */
typedef struct filtra_evaluation {
  filtra_task task;
  uint64_t samples;     /**< of several labels those of which one is known */
  uint64_t predictions; /**< samples; of a language model, predicted tokens */
  /** As of filtra_model_evaluate_batch: mean cross-entropy, in regression mean squared error /
   * target_scale^2. */
  double loss;
  /** Fraction of correct predictions, of several labels of samples with all known ones right; 0 in
   * regression, as chance and majority. */
  double accuracy;
  /** Accuracy of guessing: 1 / classes, 1 / vocabulary, or of several labels the mean of 0.5 to the
   * power of those known. */
  double chance;
  /** Accuracy of always predicting the split's most frequent label, or set of labels; with unknown
   * ones, of the better of the most frequent set that is wholly known and each label's majority. */
  double majority;
  double perplexity; /**< exp(loss) of a language model, at most e^80; else 0 */
  /** In regression: both errors in the units of the values, and r_squared = 1 - squared error /
   * variance. Else 0. */
  double absolute_error, root_mean_square_error, r_squared;
  /** Fraction of samples whose class is among the five most probable. < 0 in other tasks than
   * classification, and with five classes or fewer. */
  double top5_accuracy;
  /** In classification: f1 is the F1 of the second of two classes, as in GLUE, or macro_f1 with
   * more classes; macro_f1 the mean F1 of the classes; matthews Matthews' correlation (Gorodkin
   * 2004). With several labels: f1 is micro F1, over all labels together, and macro_f1 the mean of
   * the labels' F1. Else 0. */
  double f1, macro_f1, matthews;
  /** In regression: Pearson's correlation of values and predictions, and Spearman's, of their
   * ranks; 0 where one of them is constant. Else 0. */
  double pearson, spearman;
  uint64_t reserved[2]; /**< 0 */
} filtra_evaluation;

/* ---- whole runs: one thread at a time per device, one process per folder ------------------ */

/** Progress of filtra_run_train, for filtra_run_options.progress. */
typedef struct filtra_run_progress {
  filtra_trainer_metrics last;
  uint64_t step, steps;     /**< finished steps, and steps of the run */
  double epoch;             /**< passes over the training data so far */
  double tokens_per_second; /**< without padding, over the last steps */
  double milliseconds;      /**< per step, over the last steps */
  double seconds_left;      /**< an estimate; < 0: unknown */
  /** Means of `last` over the last 20 steps, or over those since the run began or was resumed. */
  double loss, accuracy, absolute_error;
  filtra_task task;
  double validation_loss; /**< of the last evaluation; < 0: none yet */
  double validation_accuracy, validation_absolute_error; /**< as in filtra_evaluation */
  /** As in filtra_evaluation; < 0: not available, or no evaluation yet. */
  double validation_top5_accuracy;
  bool evaluated; /**< an evaluation precedes this call */
  /** The evaluation whose model is in model.safetensors; step 0: none, or no validation data. */
  uint64_t best_step;
  double best_loss, best_accuracy, best_absolute_error;
  /** Steps of the configuration, if the key `patience` ended the run before them; else 0. */
  uint64_t ended_of;
  /** Numbers in all parameters, and those that are trained: the others are frozen. */
  uint64_t parameters, trained_parameters;
  uint64_t device_memory_bytes;
  /** The ranks' shares, measured or from the configuration, as in "3:1"; NULL: neither. */
  const char *shares;
  /** The last evaluation and the best, with all measures, during the call; NULL: none yet. The
   * fields above are of these. */
  const filtra_evaluation *validation, *best;
  const char *patience_by; /**< what `patience` waits for: a measure's name */
  /** What is frozen, by name: "embedding, layers.0"; "": nothing. While the run is trained. */
  const char *frozen;
  uint64_t reserved[4]; /**< 0 */
} filtra_run_progress;

typedef struct filtra_run_options {
  /** The configuration as JSON text, complete or partial (docs/config.md). NULL resumes the run in
   * `folder`. */
  const char *config;
  /** Name of the configuration in error messages; NULL: "configuration". */
  const char *config_name;
  /** The run folder: config.json, tuning.json (the device's tuning when the run began),
   * metrics.jsonl, model.safetensors, checkpoint/. A new run needs an empty folder, or creates one.
   */
  const char *folder;
  /** Called before the first step and after each is submitted. Up to two submitted steps may be
   * unfinished: `step` and `last` are of the newest finished step, so that calls may repeat one or
   * pass over it. After an evaluation and after the last step all are finished. If it returns
   * false, the run writes a checkpoint after the submitted steps and stops with status CANCELLED.
   */
  bool (*progress)(void *user, const filtra_run_progress *progress);
  void *user;
  /** Resume even if settings or data differ from those of the checkpoint. Otherwise the call fails
   * with INPUT and names what differs. */
  bool allow_changes;
  /** As in filtra_train_options. All ranks pass the same configuration and folder, and can read
   * folder and data; only rank 0 writes. A run may be resumed with another number of ranks; results
   * then differ by rounding. */
  const filtra_transport *transport;
  float share; /**< as in filtra_train_options; 0: by the configuration's key `shares` */
  float deadline;
  /** Resume with this number of optimizer steps, or of passes over the training data, instead of
   * the configuration's, which is changed: config.json. From there on the learning rate follows the
   * schedule of a run of that length, and `patience` counts anew. At least the steps done. 0: as
   * configured. */
  uint64_t steps, epochs;
  /** Data in memory, in place of the configuration's key `data`, which is then left out. They must
   * outlive the call; resuming needs the same data again. NULL: by the key. */
  const filtra_dataset *data;
  /** Asked with `user` between the batches of an evaluation, but not with several ranks. If it
   * returns true, the run writes a checkpoint and stops with status CANCELLED; once resumed, it
   * begins with that evaluation. NULL: evaluations go on to their end. */
  bool (*stop)(void *user);
  uint64_t reserved[4]; /**< 0 */
} filtra_run_options;

/** Trains a whole run: data, schedule, evaluation, metrics, checkpoints, best model. A run may be
 * stopped or killed at any moment; once resumed, it ends with the same files, bit for bit, except
 * for the times in metrics.jsonl. Resuming a finished run changes nothing. Errors in configuration,
 * data and model are reported before the folder is created. Only one process can train in a folder:
 * if several start together, the others fail and change nothing. */
FILTRA_API filtra_status filtra_run_train(filtra_device *device, const filtra_run_options *options);

/** Device memory of a run in bytes, including 64 KiB of slack after each buffer. */
typedef struct filtra_run_memory_use {
  uint64_t parameters; /**< the values */
  uint64_t gradients;  /**< with `accumulate`, also their sums */
  uint64_t moments;    /**< both moments of the optimizer */
  /** Of the longest batch in training or validation, which share the memory. */
  uint64_t activations;
  uint64_t transfers; /**< inputs and outputs of the batches in flight, for all batch shapes */
  uint64_t total;
  uint64_t available; /**< memory of the device, or what --caps leaves of it */
  bool fits;
  /** If the run does not fit: settings with which it would, as arguments of --set with spaces
   * between; "" if there are none. */
  char advice[128];
  uint64_t reserved[8]; /**< 0 */
} filtra_run_memory_use;

/** Computes the memory of a run before anything is created or written: of options->config or, if
 * that is NULL, of the run in options->folder. Reads the data and builds the graphs; allocates
 * nothing on the device. A run that does not fit is a result, not a failure. */
FILTRA_API filtra_status filtra_run_measure(filtra_device *device,
                                            const filtra_run_options *options,
                                            filtra_run_memory_use *plan);

/** Evaluates a model on a split, in batches of `batch_size`. Fails with NONFINITE if the loss is
 * not finite, and with INPUT for data that do not fit the model (filtra_model_check_data). */
FILTRA_API filtra_status filtra_model_evaluate_split(filtra_model *model,
                                                     const filtra_dataset *data, filtra_split split,
                                                     uint32_t batch_size,
                                                     filtra_evaluation *result);
/** Evaluates a language model on a split that is one text, by a window of its max_length that moves
 * on by `stride` tokens, 1 to max_length: each token but the first is predicted once, from at least
 * max_length - stride tokens before it, if there are that many. Each window is computed in full, so
 * half the stride takes twice the time. `samples` of the result counts windows. Fails with ARGUMENT
 * for samples that are not one text, and with NONFINITE. */
FILTRA_API filtra_status filtra_model_evaluate_text(filtra_model *model, const filtra_dataset *data,
                                                    filtra_split split, uint32_t batch_size,
                                                    uint32_t stride, filtra_evaluation *result);
/** Evaluates a run's best model on a split ("train", "val" or "test") of its data or, unless `data`
 * is NULL, of the data at that path, read with `settings` (filtra_run_open_data). Computes in
 * *precision; NULL: in the model's precision. *scores receives the scores of a classifier, which
 * the caller destroys, of other tasks NULL; `scores` may be NULL. */
FILTRA_API filtra_status filtra_run_evaluate(filtra_device *device, const char *folder,
                                             const char *split, const char *data,
                                             const char *settings,
                                             const filtra_precision *precision,
                                             filtra_evaluation *result, filtra_scores **scores);

#ifdef __cplusplus
}
#endif
#endif
