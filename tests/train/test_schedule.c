/* Learning-rate schedules against the values of the published recipes. */
#include "support/harness.h"

#include "train/config.h"
#include "train/schedule.h"

static filtra_optimizer_options options(filtra_schedule schedule, uint64_t steps, uint64_t warmup) {
  return (filtra_optimizer_options){.schedule = schedule,
                                    .learning_rate = 1e-3f,
                                    .beta1 = 0.9f,
                                    .steps = steps,
                                    .warmup_steps = warmup};
}

static void near(double got, double want) {
  assert_true(fabs(got - want) <= 1e-6 * 1e-3);
}

TEST(constant_after_warmup) {
  filtra_optimizer_options o = options(FILTRA_SCHEDULE_CONSTANT, 0, 4);
  near(ft_schedule_at(&o, 0).learning_rate, 0.25e-3);
  near(ft_schedule_at(&o, 3).learning_rate, 1e-3);
  near(ft_schedule_at(&o, 1000000).learning_rate, 1e-3);
  assert_true(fabs(ft_schedule_at(&o, 5).beta1 - 0.9) < 1e-6);
}

TEST(linear_and_cosine_reach_zero) {
  filtra_optimizer_options o = options(FILTRA_SCHEDULE_LINEAR, 110, 10);
  near(ft_schedule_at(&o, 10).learning_rate, 1e-3);
  near(ft_schedule_at(&o, 60).learning_rate, 0.5e-3);
  near(ft_schedule_at(&o, 110).learning_rate, 0);
  near(ft_schedule_at(&o, 5000).learning_rate, 0);
  o.schedule = FILTRA_SCHEDULE_COSINE;
  near(ft_schedule_at(&o, 35).learning_rate, 0.5e-3 * (1 + cos(3.14159265358979 / 4)));
  near(ft_schedule_at(&o, 60).learning_rate, 0.5e-3);
  near(ft_schedule_at(&o, 110).learning_rate, 0);
}

/* lr/25 at first, lr after the warmup, lr/25e4 at the end; beta1 the other way round. */
TEST(one_cycle) {
  filtra_optimizer_options o = options(FILTRA_SCHEDULE_ONE_CYCLE, 5000, 1000);
  near(ft_schedule_at(&o, 0).learning_rate, 4e-5);
  near(ft_schedule_at(&o, 999).learning_rate, 1e-3);
  near(ft_schedule_at(&o, 4999).learning_rate, 4e-9);
  assert_true(fabs(ft_schedule_at(&o, 0).beta1 - 0.95) < 1e-6);
  assert_true(fabs(ft_schedule_at(&o, 999).beta1 - 0.85) < 1e-6);
  assert_true(fabs(ft_schedule_at(&o, 4999).beta1 - 0.95) < 1e-6);
  o = options(FILTRA_SCHEDULE_ONE_CYCLE, 1, 0); /* nothing to divide by */
  assert_true(isfinite(ft_schedule_at(&o, 0).learning_rate));
}

/* In epochs, rounded to steps, and no longer than the run. */
TEST(warmup_in_epochs) {
  ft_run_config c = {.warmup_epochs = 0.26f};
  assert_int_equal(ft_run_train_options(&c, 50, 10).optimizer.warmup_steps, 3);
  c.warmup_epochs = 1000.0f;
  assert_int_equal(ft_run_train_options(&c, 50, 10).optimizer.warmup_steps, 50);
  c = (ft_run_config){.train = {.optimizer = {.warmup_steps = 7}}};
  assert_int_equal(ft_run_train_options(&c, 50, 10).optimizer.warmup_steps, 7);
}

TEST_MAIN(NULL, NULL)
