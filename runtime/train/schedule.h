/* Learning-rate schedules. */
#ifndef FT_TRAIN_SCHEDULE_H
#define FT_TRAIN_SCHEDULE_H

#include <filtra/optimizer.h>

typedef struct ft_schedule_point {
  double learning_rate, beta1;
} ft_schedule_point;

/** Learning rate and beta1 of step `step`, counted from 0. `options` have their defaults filled in.
 */
ft_schedule_point ft_schedule_at(const filtra_optimizer_options *options, uint64_t step);

#endif
