/* Elementwise calls that become one: graph/fusion.c puts it together, graph/fused_call.c makes the
 * call. */
#ifndef FT_GRAPH_FUSED_H
#define FT_GRAPH_FUSED_H

#include "fused/contract.h"
#include "graph/plan.h"

/** Where elements are that are not stored dense (shaders/fused/contract.h). */
typedef struct ft_fused_layout {
  int64_t row;
  bool swapped;
} ft_fused_layout;

/** A tensor in a register: an input, or the result of a step. */
typedef struct ft_fused_value {
  const filtra_tensor *tensor;
  uint32_t axes;   /* bit k: it has axis k of the shape; an input is repeated along others */
  uint32_t stored; /* 0: dense, else the number of its layout */
  uint32_t operand;
} ft_fused_value;

/** A fused call as it is put together. */
typedef struct ft_fused {
  int64_t shape[FILTRA_MAX_DIMS]; /* without axes of length 1 */
  int ndim;
  ft_fused_value inputs[FUSED_INPUTS],
      results[FUSED_STEPS]; /* of results the latest of each tensor */
  uint32_t input_count, result_count, number_count;
  uint32_t step_count; /* with the gaps before activations */
  uint32_t steps[FUSED_STEPS];
  float numbers[FUSED_NUMBERS];
  ft_fused_layout layouts[FUSED_LAYOUTS];
  uint32_t layout_count;
  ft_fused_value outputs[FUSED_OUTPUTS];
  uint32_t output_count;
  bool activates;
  bool sums;      /* along the last axis */
  bool of_rows;   /* a result lacks that axis */
  uint32_t lanes; /* of a workgroup by uniform addresses; 0: it goes by others */
} ft_fused;

/** Completes f: merges its axes, and sets f->lanes to `lanes` (ft_uniform_lanes) where its tensors
 * can be read by uniform addresses. */
void ft_fused_complete(ft_fused *f, uint32_t lanes);
/** The call that computes f, which is complete, in `groups` workgroups, or as many as suit uniform
 * addresses. */
void ft_fused_call(const ft_fused *f, uint32_t groups, ft_recorded_call *call);

#endif
