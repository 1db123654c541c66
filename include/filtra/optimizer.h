/* Optimizers update the parameters of any graph by their gradients.
 *
 * Each execution of a differentiated graph leaves gradients in its parameters, and changes nothing
 * else. An optimizer over the same parameters then takes a step. Before the step it can add up the
 * gradients of several executions:
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
 * Without filtra_optimizer_accumulate, a step takes the gradients of the last execution as they
 * are. Between execution and step an application can read and write them
 * (filtra_parameters_get_gradient and filtra_parameters_set_gradient in graph.h), for example to
 * add up those of several devices.
 *
 * One thread at a time per device. Since 0.1. */
#ifndef FILTRA_OPTIMIZER_H
#define FILTRA_OPTIMIZER_H

#include <filtra/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Moments and step count of a set of parameters, which outlive it. Graphs that watch its loss or
 * read its loss scale use its memory, and are destroyed before it. */
typedef struct filtra_optimizer filtra_optimizer;

typedef enum filtra_optimizer_kind {
  FILTRA_OPTIMIZER_ADAMW = 0, /**< decoupled weight decay, Loshchilov & Hutter 2019 */
  FILTRA_OPTIMIZER_ADAM,      /**< Kingma & Ba 2015; weight decay is added to the gradient */
  FILTRA_OPTIMIZER_RADAM      /**< Liu et al. 2020 */
} filtra_optimizer_kind;

typedef enum filtra_schedule {
  FILTRA_SCHEDULE_CONSTANT = 0,
  FILTRA_SCHEDULE_LINEAR, /**< falls to 0 at `steps` */
  FILTRA_SCHEDULE_COSINE, /**< falls to 0 at `steps` along half a cosine */
  /** The learning rate rises from lr/25 to lr during the warmup, then falls to lr/250000, while
   * beta1 goes from 0.95 to 0.85 and back (Smith & Topin 2018, linear form). */
  FILTRA_SCHEDULE_ONE_CYCLE
} filtra_schedule;

/** Settings for some of the parameters. */
typedef struct filtra_parameter_group {
  /** Pattern of parameter names; "*" stands for any characters: "layers.0.*". Several have commas
   * between. A parameter belongs to the last group that matches it. A pattern that matches none is
   * an error. */
  const char *names;
  /** No update. The gradients count neither for clipping nor for the check for NaN and infinity. */
  bool frozen;
  float rate_scale;     /**< factor on the learning rate; 0: 1 */
  float weight_decay;   /**< 0: the optimizer's; negative: none */
  bool decay_all;       /**< weight decay applies to all parameters of the group */
  uint64_t reserved[3]; /**< 0 */
} filtra_parameter_group;

/** Start from zeros: 0 means the default given with each field. The fields up to `warmup_steps` are
 * keys of a run's configuration, with the same names and ranges (`kind` is the key `optimizer`);
 * docs/config.md and `filtra train --help KEY` explain them. */
typedef struct filtra_optimizer_options {
  filtra_optimizer_kind kind;
  filtra_schedule schedule;
  float learning_rate; /**< the schedule's peak; 0: 1e-3 */
  float weight_decay;  /**< of parameters declared with `decay` */
  bool decay_all;      /**< weight_decay applies to all parameters */
  float beta1, beta2;  /**< 0: 0.9, 0.999 */
  float epsilon;       /**< 0: 1e-8 */
  float clip_norm;     /**< largest global gradient norm; 0: no clipping */
  /** Initial loss scale (filtra_optimizer_loss_scale), for graphs that compute in F16: a power of
   * two up to 2^40. 0: gradients are not scaled, except that a trainer of an fp16 model starts at
   * 65536. */
  float loss_scale;
  /** Number of steps without overflow after which the scale doubles; 0: 2000. */
  uint32_t loss_scale_window;
  uint64_t steps;        /**< length of the schedule; required unless it is constant */
  uint64_t warmup_steps; /**< the rate rises linearly from 0 (one-cycle: lr/25) */
  /** Settings for some of the parameters; copied; NULL: none. */
  const filtra_parameter_group *groups;
  size_t group_count;
  uint64_t reserved[7]; /**< 0 */
} filtra_optimizer_options;

/** Results of a step. */
typedef struct filtra_optimizer_metrics {
  uint64_t step;       /**< counts from 1; 0: no step has finished */
  float loss;          /**< of the watched graphs, scaled and summed as their gradients */
  float gradient_norm; /**< before clipping; 0 if the step was skipped */
  float learning_rate; /**< without the groups' factors */
  float loss_scale;    /**< in this step; 0 without loss scaling */
  /** Number of steps that overflowed so far, and the last of them. */
  uint64_t skipped, skipped_step;
  uint64_t reserved[1];
} filtra_optimizer_metrics;

/** Creates an optimizer for committed parameters, and makes them trainable if they are not. Fails
 * with ARGUMENT, naming the field and its accepted range. */
FILTRA_API filtra_status filtra_optimizer_create(filtra_parameters *params,
                                                 const filtra_optimizer_options *options,
                                                 filtra_optimizer **out);
/** Waits for steps in flight; frees everything; sets *optimizer to NULL. Fails with ARGUMENT while
 * a graph that watches its loss or reads its loss scale has not been destroyed. */
FILTRA_API filtra_status filtra_optimizer_destroy(filtra_optimizer **optimizer);

/** Records that each execution of the graph passes its loss, one F32 element, to the optimizer.
 * Call it before the graph is compiled. */
FILTRA_API filtra_status filtra_optimizer_watch_loss(filtra_optimizer *optimizer, filtra_graph *g,
                                                     filtra_tensor *loss);

/** The current loss scale [1]. Pass it to filtra_graph_backward as the loss's upstream gradient:
 * all gradients are then multiplied by the scale, and small ones do not vanish in F16. A step
 * divides by it again. If gradients overflow, the step is skipped and the scale is halved; below
 * 2^-14 the step fails with NONFINITE. NULL without loss scaling. */
FILTRA_API filtra_tensor *filtra_optimizer_loss_scale(filtra_optimizer *optimizer, filtra_graph *g);

/** Adds `scale`, which is finite, times the gradients and loss of the last execution to the sums
 * that the next step takes. Returns while the device works. The first call allocates memory for the
 * sums. */
FILTRA_API filtra_status filtra_optimizer_accumulate(filtra_optimizer *optimizer, float scale);
/** Submits one update by the accumulated gradients or, if there are none, by those of the last
 * execution. Returns while the device works; two updates may be in flight. If an earlier step had a
 * loss or gradient norm that is not finite, the device has held back that step and all later ones:
 * this call then submits nothing and fails with NONFINITE. Parameters, moments, step count and
 * schedule are those before that step, accumulated gradients are discarded, and training can go on.
 */
FILTRA_API filtra_status filtra_optimizer_step(filtra_optimizer *optimizer);
/** Discards the accumulated gradients. */
FILTRA_API void filtra_optimizer_discard(filtra_optimizer *optimizer);
/** Waits for all steps; *result (may be NULL) receives the metrics of the last finished one. Fails
 * with NONFINITE as filtra_optimizer_step does. */
FILTRA_API filtra_status filtra_optimizer_finish(filtra_optimizer *optimizer,
                                                 filtra_optimizer_metrics *result);

/** Sets the schedule's peak, from the next step on. */
FILTRA_API filtra_status filtra_optimizer_set_learning_rate(filtra_optimizer *optimizer,
                                                            float learning_rate);
/** Number of steps submitted so far, without those that the device held back after a NONFINITE
 * step. */
FILTRA_API uint64_t filtra_optimizer_step_count(const filtra_optimizer *optimizer);

/** Writes parameters, moments and step to one safetensors file, atomically, after all steps in
 * flight. After filtra_optimizer_restore, training continues with the same bits on the same device.
 */
FILTRA_API filtra_status filtra_optimizer_save(filtra_optimizer *optimizer, const char *path);
/** Reads a file of filtra_optimizer_save; names and shapes must be those of the parameters. Waits
 * for the steps in flight. On failure nothing else has changed. */
FILTRA_API filtra_status filtra_optimizer_restore(filtra_optimizer *optimizer, const char *path);

#ifdef __cplusplus
}
#endif
#endif
