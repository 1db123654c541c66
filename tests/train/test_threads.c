/* One thread per device, each with its own run: the same bits as alone. ThreadSanitizer detects
 * races (./run test --all). */
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>
#include <pthread.h>

enum { THREADS = 3 };

typedef struct job {
  char config[1024], folder[512], message[512];
  filtra_status status;
} job;

static filtra_status train(const job *j) {
  filtra_device *device;
  filtra_status status = filtra_device_open(
      &(filtra_device_options){.select = test_chosen_device(), .cache_dir = ""}, &device);
  if (status) return status;
  status =
      filtra_run_train(device, &(filtra_run_options){.config = j->config, .folder = j->folder});
  filtra_device_close(&device);
  return status;
}

static void *work(void *argument) {
  job *j = argument;
  j->status = train(j);
  if (j->status) snprintf(j->message, sizeof j->message, "%s", filtra_error_message());
  return NULL;
}

static void prepare(job *j) {
  snprintf(j->config, sizeof j->config,
           "{\"data\": \"%s\", \"mixer\": \"agf\", \"width\": 8, \"layers\": 1, \"batch_size\": 8, "
           "\"steps\": 6, \"eval_every\": 3, \"dropout\": 0.1}",
           test_listops());
  snprintf(j->folder, sizeof j->folder, "%s", test_new_run());
}

TEST(test_thread_per_device) {
  static job alone, jobs[THREADS];
  pthread_t threads[THREADS];
  prepare(&alone);
  work(&alone);
  if (alone.status) fail_msg("%s", alone.message);
  for (int i = 0; i < THREADS; i++)
    prepare(&jobs[i]);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < THREADS; i++) {
    if (jobs[i].status) fail_msg("thread %d: %s", i, jobs[i].message);
    test_same_run(alone.folder, jobs[i].folder);
  }
}

/* All want one folder: one has it, the others say so. */
TEST(test_threads_in_one_folder) {
  static job jobs[THREADS];
  pthread_t threads[THREADS];
  int done = 0;
  for (int i = 0; i < THREADS; i++) {
    prepare(&jobs[i]);
    if (i) strcpy(jobs[i].folder, jobs[0].folder);
  }
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
  for (int i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    if (!jobs[i].status)
      done++;
    else if (jobs[i].status != FILTRA_ERROR_PATH && jobs[i].status != FILTRA_ERROR_ARGUMENT)
      fail_msg("thread %d: %s", i, jobs[i].message);
  }
  assert_int_equal(done, 1);
  test_no_leftovers(jobs[0].folder);
}

TEST_MAIN(NULL, test_teardown)
