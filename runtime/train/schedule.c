#include "train/schedule.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

static double mix(double from, double to, double t) {
  return from + (to - from) * t;
}

/* The one-cycle schedule in its linear form, as the AGF authors run it: the last step of each phase
 * reaches the phase's end value. */
static ft_schedule_point one_cycle(const filtra_optimizer_options *o, uint64_t step) {
  const double peak = o->learning_rate, low = peak / 25.0, end = low / 1e4;
  double up = (double)o->warmup_steps - 1.0, all = (double)o->steps - 1.0, at = (double)step;
  if (up > 0.0 && at <= up)
    return (ft_schedule_point){mix(low, peak, at / up), mix(0.95, 0.85, at / up)};
  double t = all > up ? fmin((at - fmax(up, 0.0)) / (all - fmax(up, 0.0)), 1.0) : 1.0;
  return (ft_schedule_point){mix(peak, end, t), mix(0.85, 0.95, t)};
}

ft_schedule_point ft_schedule_at(const filtra_optimizer_options *o, uint64_t step) {
  if (o->schedule == FILTRA_SCHEDULE_ONE_CYCLE) return one_cycle(o, step);
  ft_schedule_point p = {o->learning_rate, o->beta1};
  if (step < o->warmup_steps) {
    p.learning_rate *= (double)(step + 1) / (double)o->warmup_steps;
    return p;
  }
  if (o->schedule == FILTRA_SCHEDULE_CONSTANT) return p;
  double span = (double)o->steps - (double)o->warmup_steps;
  double t = span > 0.0 ? fmin((double)(step - o->warmup_steps) / span, 1.0) : 1.0;
  p.learning_rate *= o->schedule == FILTRA_SCHEDULE_COSINE ? 0.5 * (1.0 + cos(PI * t)) : 1.0 - t;
  return p;
}
