/* The optimizer's kernels: sums of gradients, their norm, halt on NaN or infinity, and the Adam
 * family's update. train/optimizer.c makes graphs of them. All tensors are flat F32; what changes
 * from step to step is a small graph input, so that recorded commands are replayed unchanged. */
#ifndef FT_OPS_OPTIMIZER_H
#define FT_OPS_OPTIMIZER_H

#include "graph/graph.h"

#include <filtra/optimizer.h>

/** One step's settings; a schedule may change all but the kind from step to step. */
typedef struct ft_optimizer_settings {
  filtra_optimizer_kind kind;
  double learning_rate, beta1, beta2, epsilon, weight_decay;
  double clip_norm; /* largest global gradient norm; 0: gradients are not clipped */
} ft_optimizer_settings;

/** What the kernels read each step; the layout is that of shaders/optimizer/inputs.glsl. */
typedef struct ft_optimizer_inputs {
  float clip_norm;
  float shrink;        /* decoupled decay: learning rate * weight decay */
  float l2;            /* weight decay added to the gradient */
  float beta1, fresh1; /* fresh = 1 - beta, rounded once */
  float beta2, fresh2;
  float step_size;    /* learning rate with the first moment's bias correction */
  float second_scale; /* of the root of the second moment; 0: not divided by it */
  float epsilon;
  uint32_t step_low, step_high;
} ft_optimizer_inputs;

/** Fills in the inputs of a step; steps count from 1. */
void ft_optimizer_prepare(const ft_optimizer_settings *settings, uint64_t step,
                          ft_optimizer_inputs *inputs);
/** The graph input for them. */
filtra_tensor *ft_optimizer_input(filtra_graph *g);

/** Skipped: by a loss scale; nothing is wrong then. */
enum { FT_HALT_LOSS = 1, FT_HALT_GRADIENT = 2, FT_HALT_SKIPPED = 4 };

/** Result of a step. */
typedef struct ft_step_metrics {
  float loss;
  float gradient_norm;                    /* before clipping */
  float clip_scale;                       /* what gradients are multiplied by */
  uint32_t halt;                          /* 0, or what was not finite (FT_HALT_*) */
  uint32_t halt_step_low, halt_step_high; /* the first step in which that happened */
  float loss_scale;                       /* of this step; here and below 0 without one */
  uint32_t skipped;                       /* steps so far, and the last of them */
  uint32_t skipped_step_low, skipped_step_high;
} ft_step_metrics;

/** A dynamic loss scale (Micikevicius et al. 2018), in a buffer that outlives the graph; the layout
 * is that of shaders/optimizer/watch.comp. */
typedef struct ft_loss_scale {
  float scale;             /* a power of two */
  uint32_t steady, window; /* steps since it changed; after so many it doubles */
  uint32_t skipped, step_low, step_high;
} ft_loss_scale;

/** What the host of several ranks does with a step that met `halt`, as the kernel does otherwise: a
 * gradient out of range halves the scale, long without one doubles it. Returns what is left of
 * `halt`, or FT_HALT_SKIPPED. */
uint32_t ft_loss_scale_step(ft_loss_scale *s, uint32_t halt, uint64_t step);

/** Words of the halt state: a buffer that outlives the graph, zeroed before training starts. Once a
 * loss or a gradient was not finite the state stays set, and no update writes anything. */
enum { FT_OPTIMIZER_STATE_WORDS = 4 };

/** sum = scale x, or sum += scale x; scale [1]. */
void ft_emit_accumulate(filtra_graph *g, filtra_tensor *x, filtra_tensor *scale, filtra_tensor *sum,
                        bool more);

/** Norm of `count` tensors of gradients as if they were one, and a look at loss [1] and norm, which
 * is not finite either when squares overflow (gradients above 1e19). `scaling`: the ft_loss_scale
 * that gradients are multiplied by, or NULL. Returns the metrics tensor. */
filtra_tensor *ft_emit_gradient_norm(filtra_graph *g, size_t count, filtra_tensor *const *gradients,
                                     filtra_tensor *loss, filtra_tensor *inputs,
                                     filtra_tensor *state, filtra_tensor *scaling);

typedef struct ft_adam_tensors {
  filtra_tensor *values, *gradients;
  filtra_tensor *first, *second; /* moments, zero before the first step */
} ft_adam_tensors;

/** Updates values and moments in one pass; the first `decayed` elements decay. */
void ft_emit_adam(filtra_graph *g, const ft_adam_tensors *tensors, int64_t decayed,
                  filtra_tensor *inputs, filtra_tensor *metrics);

#endif
