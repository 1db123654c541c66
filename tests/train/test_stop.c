/* Runs that are stopped while they evaluate. */
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>

static const char CONFIG[] =
    "{\"data\": \"%s\", \"mixer\": \"agf\", \"width\": 8, \"layers\": 1, \"batch_size\": 8, "
    "\"dropout\": 0.1, \"learning_rate\": 0.01, \"steps\": 12, \"eval_every\": 4, "
    "\"checkpoint_every\": 3, \"log_every\": 1}";

/* Stops at a question that an evaluation asks. */
typedef struct asked {
  int stop_at; /* the number of the question; 0: none */
  int count;
  uint64_t step; /* the last */
} asked;

static bool note_step(void *user, const filtra_run_progress *progress) {
  ((asked *)user)->step = progress->step;
  return true;
}

static bool answer(void *user) {
  asked *a = user;
  return ++a->count == a->stop_at;
}

static filtra_status run(const char *config, const char *folder, asked *a) {
  return filtra_run_train(
      test_device(),
      &(filtra_run_options){
          .config = config, .folder = folder, .progress = note_step, .stop = answer, .user = a});
}

/* A run that is stopped within evaluations, the last one, too, has them when it is resumed. */
TEST(test_stop_in_evaluations) {
  const char *folder = test_new_run(), *whole = test_new_run(), *unasked = test_new_run();
  const char *config = test_text(CONFIG, test_listops());
  asked a = {0};
  assert_ok(run(config, whole, &a));
  assert_ok(test_train(config, unasked, UINT64_MAX));
  test_same_run(unasked, whole);
  const int each = a.count / 3; /* after steps 4, 8 and 12 */
  assert_true(each > 1 && a.count == 3 * each);
  a = (asked){.stop_at = 2};
  assert_fails(run(config, folder, &a), FILTRA_ERROR_CANCELLED, "stopped after step 4 of 12");
  assert_int_equal(a.count, 2);
  a = (asked){.stop_at = 1};
  assert_fails(run(NULL, folder, &a), FILTRA_ERROR_CANCELLED, "after step 4 of 12");
  assert_int_equal(a.step, 4);
  a = (asked){.stop_at = each + 1};
  assert_fails(run(NULL, folder, &a), FILTRA_ERROR_CANCELLED, "after step 8 of 12");
  a = (asked){.stop_at = 2 * each};
  assert_fails(run(NULL, folder, &a), FILTRA_ERROR_CANCELLED, "after step 12 of 12");
  a = (asked){0};
  assert_ok(run(NULL, folder, &a));
  assert_int_equal(a.count, each);
  test_same_run(whole, folder);
}

TEST_MAIN(NULL, test_teardown)
