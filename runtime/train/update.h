/* Updates of an optimizer (train/update.c). */
#ifndef FT_TRAIN_UPDATE_H
#define FT_TRAIN_UPDATE_H

#include "train/optimizer.h"
#include "train/schedule.h"

/* Words of the state buffer: loss and score of the last execution, and their sums over executions.
 * Only trainers have a score. */
enum {
  LOSS_WORD = FT_OPTIMIZER_STATE_WORDS,
  SCORE_WORD,
  LOSS_SUM_WORD,
  SCORE_SUM_WORD,
  STATE_WORDS,
  FT_STATE_BYTES = STATE_WORDS * sizeof(uint32_t)
};

/** The update by the last execution's gradients, or by their sums; recorded on first use. */
filtra_status ft_update_get(filtra_optimizer *o, bool sums, ft_update **out);
void ft_update_close(ft_update *u);
/** The gradients that such an update reads. */
const ft_buffer *ft_update_gradients(const filtra_optimizer *o, bool sums);
/** Sets the inputs of all groups for the next step. */
filtra_status ft_update_set(const filtra_optimizer *o, const ft_update *u, ft_schedule_point point);
/** A step's metrics as programs get them. */
filtra_optimizer_metrics ft_update_metrics(const ft_step_metrics *m, uint64_t step, float rate);
/** The graph that adds gradients to the sums (`more`) or starts new sums; recorded on first use. */
filtra_status ft_summing_get(filtra_optimizer *o, bool more, struct ft_summing **out);

#endif
