#include "base/file.h"
#include "base/memory.h"
#include "support/files.h"
#include "support/harness.h"

#include <filtra/data.h>
#include <filtra/synthetic.h>

enum { TRAIN = 517, VAL = 64, TEST = 61 };

static filtra_dataset *dataset; /* lengths 4 to 99 */

static int make_dataset(void **state) {
  (void)state;
  const char *folder = test_folder();
  assert_ok(filtra_listops_generate(
      folder, &(filtra_listops_options){
                  .train = TRAIN, .val = VAL, .test = TEST, .min_length = 3, .max_length = 100}));
  assert_ok(filtra_dataset_open(folder, NULL, &dataset));
  return 0;
}

static int free_dataset(void **state) {
  filtra_dataset_close(&dataset);
  return test_teardown(state);
}

static filtra_loader *make_loader(const filtra_loader_options *options) {
  filtra_loader *l = test_loader(dataset, options);
  return l;
}

static filtra_loader *shuffled(uint64_t seed, uint32_t prefetch) {
  return make_loader(&(filtra_loader_options){
      .batch_size = 8, .shuffle = true, .seed = seed, .prefetch = prefetch});
}

static filtra_batch next(filtra_loader *l) {
  filtra_batch b;
  assert_ok(filtra_loader_next(l, &b));
  return b;
}

/* ---- one batch ---- */

static void check_row(const filtra_batch *b, filtra_split split, uint32_t row) {
  filtra_sample s = test_sample(dataset, split, b->indices[row]);
  assert_int_equal(b->lengths[row], s.length);
  assert_int_equal(b->labels[row], s.label);
  const int32_t *tokens = b->tokens + (size_t)row * b->length;
  for (uint32_t i = 0; i < b->length; i++)
    assert_int_equal(tokens[i], i < s.length ? s.tokens[i] : 0);
}

static void check_batch(const filtra_batch *b, filtra_split split, const uint32_t *buckets,
                        size_t bucket_count) {
  size_t bucket = 0;
  while (bucket < bucket_count && buckets[bucket] != b->length)
    bucket++;
  assert_true(bucket < bucket_count);
  uint32_t below = bucket ? buckets[bucket - 1] : 0;
  assert_between(b->count, 1, b->size);
  for (uint32_t row = 0; row < b->size; row++) {
    check_row(b, split, row);
    assert_between(b->lengths[row], below + 1, b->length);
    assert_true(b->weights[row] == (row < b->count ? 1 : 0));
    if (row >= b->count) assert_int_equal(b->indices[row], b->indices[0]);
  }
}

/* Walks one epoch and counts how often each sample is seen. */
static void walk_epoch(filtra_loader *l, filtra_split split, int *seen) {
  size_t bucket_count;
  const uint32_t *buckets = filtra_loader_buckets(l, &bucket_count);
  uint64_t epoch = filtra_loader_get_position(l).epoch;
  for (uint64_t i = 0; i < filtra_loader_batch_count(l); i++) {
    filtra_batch b = next(l);
    assert_int_equal(b.epoch, epoch);
    check_batch(&b, split, buckets, bucket_count);
    for (uint32_t row = 0; row < b.count; row++)
      seen[b.indices[row]]++;
  }
  assert_int_equal(filtra_loader_get_position(l).epoch, epoch + 1);
  assert_int_equal(filtra_loader_get_position(l).batch, 0);
}

TEST(test_every_sample_once_per_epoch) {
  static const uint32_t sizes[] = {1, 7, 64, 1000};
  for (size_t i = 0; i < FT_COUNT(sizes); i++)
    for (int shuffle = 0; shuffle < 2; shuffle++) {
      filtra_loader *l =
          make_loader(&(filtra_loader_options){.batch_size = sizes[i], .shuffle = shuffle});
      int seen[TRAIN] = {0};
      for (int epoch = 1; epoch <= 3; epoch++) {
        walk_epoch(l, FILTRA_SPLIT_TRAIN, seen);
        for (int k = 0; k < TRAIN; k++)
          assert_int_equal(seen[k], epoch);
      }
      filtra_loader_destroy(&l);
      assert_null(l);
    }
}

TEST(test_file_order_without_shuffling) {
  owned_loader *l =
      make_loader(&(filtra_loader_options){.split = FILTRA_SPLIT_VAL, .batch_size = 5});
  int64_t last[128] = {0};
  for (uint64_t i = 0; i < filtra_loader_batch_count(l); i++) {
    filtra_batch b = next(l);
    for (uint32_t row = 0; row < b.count; row++) {
      assert_true(b.indices[row] + 1 > last[b.length]);
      last[b.length] = b.indices[row] + 1;
    }
  }
}

TEST(test_drop_last) {
  owned_loader *l =
      make_loader(&(filtra_loader_options){.batch_size = 10, .shuffle = true, .drop_last = true});
  owned_loader *whole = make_loader(&(filtra_loader_options){.batch_size = 10});
  assert_true(filtra_loader_batch_count(l) < filtra_loader_batch_count(whole));
  for (uint64_t i = 0; i < 2 * filtra_loader_batch_count(l); i++)
    assert_int_equal(next(l).count, 10);
}

/* ---- buckets ---- */

TEST(test_default_buckets) {
  static const uint32_t expected[] = {16, 32, 64, 128};
  for (filtra_split split = FILTRA_SPLIT_TRAIN; split <= FILTRA_SPLIT_TEST; split++) {
    owned_loader *l = make_loader(&(filtra_loader_options){.split = split, .batch_size = 4});
    size_t count;
    const uint32_t *buckets = filtra_loader_buckets(l, &count);
    assert_int_equal(count, FT_COUNT(expected));
    assert_memory_equal(buckets, expected, sizeof expected);
  }
}

TEST(test_last_bucket_is_at_most_max_length) {
  const char *folder = test_folder();
  assert_ok(filtra_listops_generate(
      folder, &(filtra_listops_options){
                  .train = 50, .val = 1, .test = 1, .min_length = 40, .max_length = 100}));
  owned_dataset *ds = test_open_dataset(folder, NULL, &(filtra_dataset_options){.max_length = 100});
  owned_loader *l = test_loader(ds, &(filtra_loader_options){.batch_size = 4});
  size_t count;
  const uint32_t *buckets = filtra_loader_buckets(l, &count);
  assert_int_equal(count, 2); /* nothing is as short as 16 or 32 */
  assert_int_equal(buckets[0], 64);
  assert_int_equal(buckets[1], 100);
}

TEST(test_given_buckets) {
  static const uint32_t lengths[] = {10, 50, 99, 2000};
  owned_loader *l =
      make_loader(&(filtra_loader_options){.batch_size = 6, .buckets = lengths, .bucket_count = 4});
  size_t count;
  assert_memory_equal(filtra_loader_buckets(l, &count), lengths, sizeof lengths);
  int seen[TRAIN] = {0};
  walk_epoch(l, FILTRA_SPLIT_TRAIN, seen);
}

/* ---- determinism ---- */

static void assert_same_batch(const filtra_batch *a, const filtra_batch *b) {
  assert_int_equal(a->size, b->size);
  assert_int_equal(a->length, b->length);
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->epoch, b->epoch);
  assert_memory_equal(a->tokens, b->tokens, (size_t)a->size * a->length * sizeof *a->tokens);
  assert_memory_equal(a->indices, b->indices, a->size * sizeof *a->indices);
  assert_memory_equal(a->weights, b->weights, a->size * sizeof *a->weights);
}

TEST(test_same_seed_same_batches) {
  owned_loader *a = shuffled(5, 1), *b = shuffled(5, 9);
  for (uint64_t i = 0; i < 3 * filtra_loader_batch_count(a); i++) {
    filtra_batch x = next(a), y = next(b);
    assert_same_batch(&x, &y);
  }
}

static void first_indices(filtra_loader *l, uint64_t epoch, uint32_t *indices) {
  assert_ok(filtra_loader_set_position(l, (filtra_loader_position){.epoch = epoch}));
  memcpy(indices, next(l).indices, 8 * sizeof *indices);
}

TEST(test_seed_and_epoch_change_the_order) {
  uint32_t a[8], b[8], c[8];
  owned_loader *one = shuffled(1, 0), *two = shuffled(2, 0);
  first_indices(one, 0, a);
  first_indices(one, 1, b);
  first_indices(two, 0, c);
  assert_memory_not_equal(a, b, sizeof a);
  assert_memory_not_equal(a, c, sizeof a);
}

/* From every position of two epochs, in a fresh loader and in one that was elsewhere. */
TEST(test_resume_exactly) {
  owned_loader *l = shuffled(3, 2), *wandering = shuffled(3, 2);
  uint64_t steps = 2 * filtra_loader_batch_count(l);
  for (uint64_t i = 0; i < steps; i++) {
    filtra_loader_position position = filtra_loader_get_position(l);
    owned_loader *fresh = shuffled(3, 4);
    assert_ok(filtra_loader_set_position(fresh, position));
    assert_ok(filtra_loader_set_position(wandering, position));
    assert_int_equal(filtra_loader_get_position(fresh).batch, position.batch);
    filtra_batch expected = next(l);
    for (int k = 0; k < 2; k++) {
      filtra_batch got = next(k ? wandering : fresh);
      assert_same_batch(&got, &expected);
    }
    next(wandering);
  }
}

/* A batch stays as it is until the next call, whatever the thread prepares meanwhile. */
TEST(test_batch_stays_valid) {
  owned_loader *l = shuffled(4, 1);
  size_t bucket_count;
  const uint32_t *buckets = filtra_loader_buckets(l, &bucket_count);
  for (int i = 0; i < 30; i++) {
    filtra_batch b = next(l);
    double until = ft_seconds() + 1e-3;
    while (ft_seconds() < until)
      check_batch(&b, FILTRA_SPLIT_TRAIN, buckets, bucket_count);
  }
}

TEST(test_stop_at_any_time) {
  for (uint32_t i = 0; i < 200; i++) {
    owned_loader *l = shuffled(i, 1 + i % 5);
    for (uint32_t k = 0; k < i % 4; k++)
      assert_ok(filtra_loader_set_position(l, (filtra_loader_position){i % 3, k}));
    if (i % 2) next(l);
  }
  owned_loader *none = NULL;
}

/* ---- what is wrong ---- */

static filtra_status try_create(const filtra_loader_options *options) {
  filtra_loader *l = (filtra_loader *)1;
  filtra_status status = filtra_loader_create(dataset, options, &l);
  if (status)
    assert_null(l);
  else
    filtra_loader_destroy(&l);
  return status;
}

TEST(test_options) {
  static const uint32_t falling[] = {64, 64}, zero[] = {0, 99}, small[] = {16, 32};
  assert_fails(try_create(&(filtra_loader_options){0}), FILTRA_ERROR_ARGUMENT, "batch_size is 0");
  assert_fails(try_create(&(filtra_loader_options){.batch_size = 1, .split = (filtra_split)7}),
               FILTRA_ERROR_ARGUMENT, "not a split");
  assert_fails(try_create(&(filtra_loader_options){.batch_size = 1, .prefetch = 5000}),
               FILTRA_ERROR_ARGUMENT, "prefetch");
  assert_fails(
      try_create(&(filtra_loader_options){.batch_size = 1, .buckets = falling, .bucket_count = 2}),
      FILTRA_ERROR_ARGUMENT, "must ascend");
  assert_fails(
      try_create(&(filtra_loader_options){.batch_size = 1, .buckets = zero, .bucket_count = 2}),
      FILTRA_ERROR_ARGUMENT, "must ascend");
  assert_fails(
      try_create(&(filtra_loader_options){.batch_size = 1, .buckets = small, .bucket_count = 2}),
      FILTRA_ERROR_ARGUMENT, "longest bucket, 32");
  assert_fails(try_create(&(filtra_loader_options){.batch_size = TRAIN, .drop_last = true}),
               FILTRA_ERROR_ARGUMENT, "lower batch_size");
}

TEST(test_class_weights) {
  const float weights[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5f}, bad[10] = {1, 1, 1, 0};
  filtra_loader *l =
      make_loader(&(filtra_loader_options){.batch_size = 8, .class_weights = weights});
  for (uint64_t i = filtra_loader_batch_count(l); i > 0; i--) {
    filtra_batch b = next(l);
    for (uint32_t row = 0; row < b.size; row++)
      assert_true(b.weights[row] == (row < b.count ? weights[b.labels[row]] : 0));
  }
  filtra_loader_destroy(&l);
  assert_fails(try_create(&(filtra_loader_options){.batch_size = 8, .class_weights = bad}),
               FILTRA_ERROR_ARGUMENT, "class_weights[3] is 0, accepted are finite numbers above 0");
}

TEST(test_empty_split) {
  char path[512];
  snprintf(path, sizeof path, "%s/one.tsv", test_folder());
  assert_ok(ft_file_write(path, "1\t1\n", 4));
  owned_dataset *ds = NULL;
  filtra_loader *l;
  assert_ok(filtra_dataset_open(path, NULL, &ds));
  assert_fails(filtra_loader_create(
                   ds, &(filtra_loader_options){.split = FILTRA_SPLIT_TEST, .batch_size = 1}, &l),
               FILTRA_ERROR_INPUT, "no test samples");
}

/* Series are padded to their longest or, by the rule of all other lengths, up to a max_length. */
TEST(test_buckets_of_features) {
  char path[512], text[400] = "@univariate true\n@classLabel true x y\n@data\n";
  for (int i = 0; i < 20; i++)
    strcat(text, i ? ",1" : "2");
  strcat(text, ":x\n1,2,3:y\n");
  snprintf(path, sizeof path, "%s/a.ts", test_folder());
  assert_ok(ft_file_write(path, text, strlen(text)));
  for (uint32_t max_length = 0; max_length <= 100; max_length += 100) {
    owned_dataset *ds = NULL;
    size_t count;
    assert_ok(filtra_dataset_open(path, &(filtra_dataset_options){.max_length = max_length}, &ds));
    owned_loader *l = test_loader(ds, &(filtra_loader_options){.batch_size = 1});
    const uint32_t *buckets = filtra_loader_buckets(l, &count);
    assert_int_equal(buckets[count - 1], max_length ? 32 : 20);
  }
}

TEST(test_position_beyond_the_epoch) {
  owned_loader *l = shuffled(1, 0);
  filtra_loader_position position = {0, filtra_loader_batch_count(l)};
  assert_fails(filtra_loader_set_position(l, position), FILTRA_ERROR_ARGUMENT, "does not exist");
  position = (filtra_loader_position){UINT64_MAX, position.batch - 1};
  assert_ok(filtra_loader_set_position(l, position));
  assert_true(next(l).epoch == UINT64_MAX);
}

TEST(test_every_allocation_may_fail) {
  filtra_status status;
  long n = 0;
  do {
    ft_memory_fail_after(++n);
    status = try_create(&(filtra_loader_options){.batch_size = 3});
    ft_memory_fail_after(0);
    assert_true(status == FILTRA_OK || status == FILTRA_ERROR_HOST_MEMORY);
  } while (status);
  assert_true(n > 20);
}

TEST_MAIN(make_dataset, free_dataset)
