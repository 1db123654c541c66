/* Dispatches a family's trial to the op that builds it. Called by the tuner, so that ops need not
 * know the tuner. */
#include "ops/trial.h"

void ft_trial_build(ft_trial *trial, const ft_tuning_question *q, bool odd) {
  switch (q->family) {
  case FT_TUNE_GEMM_TILED:
  case FT_TUNE_GEMM_S64:
  case FT_TUNE_GEMM_MATRIX:
    ft_gemm_build_trial(trial, q, odd);
    break;
  case FT_TUNE_ATTENTION_TILED:
  case FT_TUNE_ATTENTION_LANES:
  case FT_TUNE_ATTENTION_UNIFORM:
  case FT_TUNE_ATTENTION_MATRIX:
    ft_attention_build_trial(trial, q, odd);
    break;
  case FT_TUNE_CHAIN:
    ft_chain_build_trial(trial, q, odd);
    break;
  case FT_TUNING_FAMILIES:
    break;
  }
}
