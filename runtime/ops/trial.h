/* Trials: an op's problem alone on a graph, which the tuner times and compares. */
#ifndef FT_OPS_TRIAL_H
#define FT_OPS_TRIAL_H

#include "graph/graph.h"
#include "ops/tuning.h"

enum { FT_TRIAL_TENSORS = 8 };

/** A problem on a separate graph, as ft_trial_build records it. */
typedef struct ft_trial {
  filtra_graph *graph;
  filtra_tensor *in[FT_TRIAL_TENSORS], *out[FT_TRIAL_TENSORS];
  int inputs, outputs;
  /* Accepted difference of 16-bit outputs, relative to their largest value; 0: outputs are F32. */
  double rounding;
} ft_trial;

/** Declares an input of floats, uniform in [-1,1). NULL after an error. */
filtra_tensor *ft_trial_input(ft_trial *trial, const char *name, filtra_dtype dtype, int ndim,
                              const int64_t *shape);
/** Declares an output, which is compared with the reference. */
void ft_trial_output(ft_trial *trial, filtra_tensor *x);

/** Records a question's problem alone on trial->graph (ops/trials.c). `odd`: a similar small
 * problem that no tile divides. */
void ft_trial_build(ft_trial *trial, const ft_tuning_question *q, bool odd);

/* One function per family, called by ft_trial_build. */
void ft_gemm_build_trial(ft_trial *trial, const ft_tuning_question *q, bool odd);
void ft_attention_build_trial(ft_trial *trial, const ft_tuning_question *q, bool odd);
void ft_chain_build_trial(ft_trial *trial, const ft_tuning_question *q, bool odd);

#endif
