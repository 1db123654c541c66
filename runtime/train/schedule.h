/* Learning-rate schedules. */
#ifndef FT_TRAIN_SCHEDULE_H
#define FT_TRAIN_SCHEDULE_H

#include <filtra/optimizer.h>

typedef struct ft_schedule_point {
  double learning_rate, beta1;
} ft_schedule_point;

/** The values of step `step` (from 0). Options are complete (no zero that stands for a default). */
ft_schedule_point ft_schedule_at(const filtra_optimizer_options *options, uint64_t step);

#endif
