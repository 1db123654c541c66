/* Optimizers: what changes the parameters of any graph by their gradients.
 *
 * A graph that was differentiated leaves gradients beside its parameters each time it runs; nothing
 * else. An optimizer over the same parameters then takes a step, or adds several runs up first:
 *
 *   filtra_optimizer *opt;
 *   filtra_optimizer_create(params, &(filtra_optimizer_options){.learning_rate = 1e-3f}, &opt);
 *   filtra_graph_backward(g, 1, &loss, NULL);
 *   filtra_optimizer_watch_loss(opt, g, loss);        // a loss that is not finite holds steps back
 *   filtra_graph_compile(g);
 *   for (int step = 0; step < 100; step++) {
 *     for (int k = 0; k < 4; k++) {                   // four micro-batches a step
 *       filtra_graph_set(g, x, data);
 *       filtra_graph_submit(g, NULL);
 *       filtra_optimizer_accumulate(opt, 0.25f);      // their mean
 *     }
 *     filtra_optimizer_step(opt);
 *   }
 *   filtra_optimizer_finish(opt, &result);
 *
 * Without filtra_optimizer_accumulate a step takes the gradients of the last run as they are.
 * Between run and step they can be read and written (filtra_parameters_get_gradient and
 * _set_gradient in graph.h), to add up those of several devices, say.
 *
 * One thread at a time per device. Since 0.1.
 */
#ifndef FILTRA_OPTIMIZER_H
#define FILTRA_OPTIMIZER_H

#include <filtra/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Moments and step count beside a set of parameters. Destroy before them. */
typedef struct filtra_optimizer filtra_optimizer;

typedef enum filtra_optimizer_kind {
  FILTRA_OPTIMIZER_ADAMW = 0, /**< decoupled weight decay, Loshchilov & Hutter 2019 */
  FILTRA_OPTIMIZER_ADAM,      /**< Kingma & Ba 2015; weight decay is added to the gradient */
  FILTRA_OPTIMIZER_RADAM      /**< Liu et al. 2020 */
} filtra_optimizer_kind;

typedef enum filtra_schedule {
  FILTRA_SCHEDULE_CONSTANT = 0,
  FILTRA_SCHEDULE_LINEAR,   /**< down to 0 at `steps` */
  FILTRA_SCHEDULE_COSINE,   /**< down to 0 at `steps` */
  FILTRA_SCHEDULE_ONE_CYCLE /**< lr/25 up to lr over the warmup, down to lr/250000; beta1 cycles
                                 0.95, 0.85, 0.95 (Smith & Topin 2018, linear form) */
} filtra_schedule;

/** Parameters that are trained otherwise than the rest. */
typedef struct filtra_parameter_group {
  /** Names, "*" for any number of characters: "layers.0.*". A parameter belongs to the last group
   * that names it; a group that names none is an error. */
  const char *names;
  bool frozen;        /**< no update; its gradients count neither for clipping nor as not finite */
  float rate_scale;   /**< times the learning rate; 0: 1 */
  float weight_decay; /**< 0: as the optimizer's; negative: none */
  uint64_t reserved[4]; /**< zero; later versions' fields */
} filtra_parameter_group;

/** Zero means the default given with each field. The fields up to `warmup_steps` are the keys of
 * these names in a run's configuration (`kind`: `optimizer`), with the same ranges; docs/config.md
 * and `filtra train --help KEY` explain them. */
typedef struct filtra_optimizer_options {
  filtra_optimizer_kind kind;
  filtra_schedule schedule;
  float learning_rate; /**< peak; 0: 1e-3 */
  float weight_decay;  /**< on parameters declared with `decay`, */
  bool decay_all;      /**< unless this is set */
  float beta1, beta2;  /**< 0: 0.9, 0.999 */
  float epsilon;       /**< 0: 1e-8 */
  float clip_norm;     /**< global gradient norm; 0: no clipping */
  /** For graphs that compute in F16: what filtra_optimizer_loss_scale gives at first, a power of
   * two up to 2^40. 0: gradients are not scaled; by a trainer of an fp16 model by 65536. */
  float loss_scale;
  uint32_t loss_scale_window; /**< steps without an overflow after which it doubles; 0: 2000 */
  uint64_t steps;             /**< of the schedule; required unless it is constant */
  uint64_t warmup_steps;      /**< linear from 0 (one-cycle: from lr/25) */
  const filtra_parameter_group *groups; /**< trained otherwise than the rest; copied; NULL: none */
  size_t group_count;
  uint64_t reserved[7]; /**< zero; later versions' fields */
} filtra_optimizer_options;

/** What a step came to. */
typedef struct filtra_optimizer_metrics {
  uint64_t step;       /**< counts from 1; 0: none is finished yet */
  float loss;          /**< of the watched graphs, scaled and added as their gradients were */
  float gradient_norm; /**< before clipping; 0 in a step that was skipped */
  float learning_rate; /**< without groups' scales */
  float loss_scale;    /**< of the step; 0 without one */
  uint64_t skipped, skipped_step; /**< steps that overflowed so far, and the last of them */
  uint64_t reserved[1];
} filtra_optimizer_metrics;

/** An optimizer over committed parameters; makes them trainable if they are not yet. Fails with
 * ARGUMENT naming the field and its accepted range. */
FILTRA_API filtra_status filtra_optimizer_create(filtra_parameters *params,
                                                 const filtra_optimizer_options *options,
                                                 filtra_optimizer **out);
/** Waits for steps in flight; frees everything; sets *optimizer to NULL. */
FILTRA_API void filtra_optimizer_destroy(filtra_optimizer **optimizer);

/** Before the graph is compiled: each of its runs hands its loss, one F32 element, to the
 * optimizer.
 */
FILTRA_API filtra_status filtra_optimizer_watch_loss(filtra_optimizer *optimizer, filtra_graph *g,
                                                     filtra_tensor *loss);

/** The present loss scale [1], to be handed to filtra_graph_backward as the loss's upstream: so all
 * gradients are that many times larger, and small ones do not vanish in F16. An update divides by
 * it. Where gradients overflow, that step is skipped and the scale is halved; below 2^-14 it fails
 * with NONFINITE. NULL without a loss scale. */
FILTRA_API filtra_tensor *filtra_optimizer_loss_scale(filtra_optimizer *optimizer, filtra_graph *g);

/** Submits: adds `scale` times the gradients (and loss) of the last run to what the next step
 * takes. Takes memory for the sums on first use. Returns while the device works. */
FILTRA_API filtra_status filtra_optimizer_accumulate(filtra_optimizer *optimizer, float scale);
/** Submits one update by the accumulated gradients or, where there are none, by those of the last
 * run, and returns while the device works on it; two may be in flight. Where an earlier step met a
 * loss or a gradient norm that is not finite, it and all behind it were held back on the device:
 * this call submits nothing and fails with NONFINITE; parameters, moments, step count and schedule
 * are those before that step, what was accumulated since is forgotten, and training can go on. */
FILTRA_API filtra_status filtra_optimizer_step(filtra_optimizer *optimizer);
/** Forgets what was accumulated: the next step starts anew. */
FILTRA_API void filtra_optimizer_discard(filtra_optimizer *optimizer);
/** Waits for all steps; *result (may be NULL) receives the last finished one's. Fails with
 * NONFINITE as filtra_optimizer_step. */
FILTRA_API filtra_status filtra_optimizer_finish(filtra_optimizer *optimizer,
                                                 filtra_optimizer_metrics *result);

/** The schedule's peak from the next step on. */
FILTRA_API filtra_status filtra_optimizer_set_learning_rate(filtra_optimizer *optimizer,
                                                            float learning_rate);
/** Steps submitted so far, but for those that were held back. */
FILTRA_API uint64_t filtra_optimizer_step_count(const filtra_optimizer *optimizer);

/** Writes parameters, moments and step to one safetensors file, atomically, after all steps in
 * flight. Restored, training goes on with the same bits on the same device. */
FILTRA_API filtra_status filtra_optimizer_save(filtra_optimizer *optimizer, const char *path);
/** Reads it; names and shapes must be the parameters'. On failure nothing has changed but for steps
 * in flight, which are finished. */
FILTRA_API filtra_status filtra_optimizer_restore(filtra_optimizer *optimizer, const char *path);

#ifdef __cplusplus
}
#endif
#endif
