/* The optimizer's kernels: sums of gradients, their norm, halt on NaN or infinity, and the Adam
 * family's update. train/optimizer.c builds graphs of them. All tensors are flat F32. Values that
 * change between steps are a small graph input, so that recorded commands are replayed unchanged.
 */
#ifndef FT_OPS_OPTIMIZER_H
#define FT_OPS_OPTIMIZER_H

#include "graph/graph.h"

#include <filtra/optimizer.h>

/** Settings of one step; a schedule may change all but the kind between steps. */
typedef struct ft_optimizer_settings {
  filtra_optimizer_kind kind;
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  double clip_norm; /* largest global gradient norm; 0: gradients are not clipped */
} ft_optimizer_settings;

/** Input of the kernels in each step; the layout is that of shaders/optimizer/inputs.glsl. */
typedef struct ft_optimizer_inputs {
  float clip_norm;
  float shrink;        /* decoupled decay: learning rate * weight decay */
  float l2;            /* weight decay added to the gradient */
  float beta1, fresh1; /* fresh = 1 - beta, rounded once */
  float beta2, fresh2;
  float step_size;    /* learning rate with the first moment's bias correction */
  float second_scale; /* factor on the root of the second moment; 0: do not divide by it */
  float epsilon;
  uint32_t step_low, step_high;
} ft_optimizer_inputs;

/** Computes the inputs of a step; steps count from 1. */
void ft_optimizer_prepare(const ft_optimizer_settings *settings, uint64_t step,
                          ft_optimizer_inputs *inputs);
/** Declares the graph input for them. */
filtra_tensor *ft_optimizer_input(filtra_graph *g);

/** FT_HALT_SKIPPED: gradients overflowed under a loss scale; not an error. */
enum { FT_HALT_LOSS = 1, FT_HALT_GRADIENT = 2, FT_HALT_SKIPPED = 4 };

/** Result of a step. */
typedef struct ft_step_metrics {
  float loss;
  float gradient_norm;                    /* before clipping */
  float clip_scale;                       /* factor on gradients */
  uint32_t halt;                          /* 0, or what was not finite (FT_HALT_*) */
  uint32_t halt_step_low, halt_step_high; /* the first step that was not finite */
  float loss_scale; /* of this step; this and the following are 0 without loss scaling */
  uint32_t skipped; /* skipped steps so far, and the last of them */
  uint32_t skipped_step_low, skipped_step_high;
} ft_step_metrics;

/** A dynamic loss scale (Micikevicius et al. 2018), in a buffer that outlives the graph; the layout
 * is that of shaders/optimizer/watch.comp. */
typedef struct ft_loss_scale {
  float scale;             /* a power of two */
  uint32_t steady, window; /* steps since the last change; the scale doubles after `window` */
  uint32_t skipped, step_low, step_high;
} ft_loss_scale;

/** Updates the loss scale after a step with `halt`, on the host, for several ranks; for one process
 * the kernel does the same. Gradients that overflow halve the scale; a long time without overflow
 * doubles it. Returns the remaining `halt`, or FT_HALT_SKIPPED. */
uint32_t ft_loss_scale_step(ft_loss_scale *s, uint32_t halt, uint64_t step);

/** Words of the halt state: a buffer that outlives the graph, zeroed before training. After a loss
 * or gradient that is not finite the state stays set, and updates write nothing. */
enum { FT_OPTIMIZER_STATE_WORDS = 4 };

/** sum = scale x or, if `more`, sum += scale x; scale [1]. */
void ft_emit_accumulate(filtra_graph *g, filtra_tensor *x, filtra_tensor *scale, filtra_tensor *sum,
                        bool more);

/** Norm of `count` gradient tensors as of one, and a check of loss [1] and norm. The norm is also
 * not finite if squares overflow (gradients above 1e19). `scaling`: the ft_loss_scale that
 * multiplies gradients, or NULL. Returns the metrics tensor. */
filtra_tensor *ft_emit_gradient_norm(filtra_graph *g, size_t count, filtra_tensor *const *gradients,
                                     filtra_tensor *loss, filtra_tensor *inputs,
                                     filtra_tensor *state, filtra_tensor *scaling);

typedef struct ft_adam_tensors {
  filtra_tensor *values, *gradients;
  filtra_tensor *first, *second; /* moments, zero before the first step */
} ft_adam_tensors;

/** Updates values and moments in one pass; the first `decayed` elements have weight decay. */
void ft_emit_adam(filtra_graph *g, const ft_adam_tensors *tensors, int64_t decayed,
                  filtra_tensor *inputs, filtra_tensor *metrics);

#endif
