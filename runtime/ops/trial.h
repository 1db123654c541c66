/* Trials: an op's problem alone on a graph, which the tuner times and compares. */
#ifndef FT_OPS_TRIAL_H
#define FT_OPS_TRIAL_H

#include "graph/graph.h"
#include "ops/tuning.h"

enum { FT_TRIAL_TENSORS = 8 };

typedef struct ft_trial {
  filtra_graph *graph;
  filtra_tensor *in[FT_TRIAL_TENSORS], *out[FT_TRIAL_TENSORS];
  int inputs, outputs;
  double rounding; /* accepted difference of 16-bit outputs, of their largest value; 0: F32 */
} ft_trial;

/** An input of floats, uniform in [-1,1). NULL after an error. */
filtra_tensor *ft_trial_input(ft_trial *trial, const char *name, filtra_dtype dtype, int ndim,
                              const int64_t *shape);
/** Adds an output, which is compared with the reference's. */
void ft_trial_output(ft_trial *trial, filtra_tensor *x);

/** Builds a question's problem on trial->graph (ops/trials.c); `odd`: a small one that no tile
 * divides. */
void ft_trial_build(ft_trial *trial, const ft_tuning_question *q, bool odd);

/* The families', which ft_trial_build calls. */
void ft_gemm_build_trial(ft_trial *trial, const ft_tuning_question *q, bool odd);
void ft_attention_build_trial(ft_trial *trial, const ft_tuning_question *q, bool odd);
void ft_chain_build_trial(ft_trial *trial, const ft_tuning_question *q, bool odd);

#endif
