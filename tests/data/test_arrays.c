/* Data sets from arrays: what they copy, what loaders make of them, what is refused. */
#include "data/dataset.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include <filtra/data.h>

static int32_t tokens[] = {5, 6, 7, 1, 2, 9, 9, 9, 9, 3};
static uint32_t lengths[] = {3, 2, 4, 1};
static int32_t labels[] = {0, 1, 1, 0};

static filtra_dataset_arrays classes(void) {
  return (filtra_dataset_arrays){.splits[FILTRA_SPLIT_TRAIN] = {.count = 4,
                                                                .tokens = tokens,
                                                                .lengths = lengths,
                                                                .labels = labels},
                                 .classes = 2};
}

TEST(tokens_are_copied) {
  filtra_batch batch;
  filtra_sample sample;
  filtra_dataset_arrays arrays = classes();
  owned_dataset *ds = test_dataset(&arrays);
  tokens[3] = 4; /* theirs, from here on */
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  assert_int_equal(info->count[FILTRA_SPLIT_TRAIN], 4);
  assert_int_equal(info->count[FILTRA_SPLIT_VAL], 0);
  assert_int_equal(info->longest, 4);
  assert_string_equal(filtra_dataset_class_name(ds, 1), "1");
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TRAIN, 1, &sample));
  assert_int_equal(sample.length, 2);
  assert_int_equal(sample.tokens[0], 1);
  assert_int_equal(sample.label, 1);
  filtra_loader *loader = test_loader(ds, &(filtra_loader_options){.batch_size = 4});
  assert_ok(filtra_loader_next(loader, &batch));
  assert_int_equal(batch.length, 16);
  assert_int_equal(batch.tokens[16], 1);
  assert_int_equal(batch.tokens[18], 0);
  assert_int_equal(batch.lengths[2], 4);
  filtra_loader_destroy(&loader);
  filtra_dataset_close(&ds);
  tokens[3] = 1;
  arrays.hold_out = true;
  assert_ok(filtra_dataset_create(&arrays, &ds));
  assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_VAL], 1);
}

static uint64_t fingerprint_with(int32_t token) {
  const int32_t was = tokens[3];
  filtra_sample sample;
  filtra_dataset_arrays arrays = classes();
  tokens[3] = token;
  owned_dataset *ds = test_dataset(&arrays);
  tokens[3] = was;
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TRAIN, 1, &sample));
  assert_int_equal(sample.tokens[0], token);
  uint64_t fingerprint = ft_dataset_fingerprint(ds);
  return fingerprint;
}

/* Ids beyond 65,535 are ids of their own; where there are none a data set has the fingerprint that
 * it had when ids had 16 bits, so that its runs can go on. */
TEST(ids_are_large) {
  assert_true(fingerprint_with(1) == 0x13a4d530d0168163u);
  assert_true(fingerprint_with(65536 + 1) != fingerprint_with(1));
  assert_true(fingerprint_with(65536 + 1) != fingerprint_with(2 * 65536 + 1));
  assert_true(fingerprint_with((1 << 24) - 1) != fingerprint_with(65535));
}

TEST(features_are_standardised) {
  const float numbers[] = {1, 10, 2, 20, 3, 30}, small[] = {1e-20f, 0, 2e-20f, 0, 3e-20f, 0};
  const uint32_t steps[] = {1, 2};
  const float values[] = {0.5f, -1};
  filtra_dataset_arrays arrays = {.splits[FILTRA_SPLIT_TRAIN] = {.count = 2,
                                                                 .features = numbers,
                                                                 .lengths = steps,
                                                                 .values = values},
                                  .target = FILTRA_TARGET_VALUE,
                                  .features = 2,
                                  .standardise = true};
  filtra_sample sample;
  float got[4];
  owned_dataset *ds = test_dataset(&arrays);
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TRAIN, 1, got));
  assert_float_equal((double)got[0], 0.0, 1e-6);
  assert_float_equal((double)got[3], 1.0, 1e-6);
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TRAIN, 1, &sample));
  assert_true(sample.value == -1.0f);
  filtra_dataset_close(&ds);
  arrays.splits[FILTRA_SPLIT_TRAIN].features = small;
  ds = test_dataset(&arrays);
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TRAIN, 1, got));
  assert_float_equal((double)got[2], 1.0, 1e-6);
}

static void refuses(filtra_dataset_arrays arrays, filtra_status status, const char *part) {
  filtra_dataset *ds = NULL;
  assert_fails(filtra_dataset_create(&arrays, &ds), status, part);
  assert_null(ds);
}

/* Test data alone are standardised by given moments, not by their own. */
TEST(test_samples_do_not_standardise_themselves) {
  const float numbers[] = {1, 2, 3, 6}, values[] = {0.5f, -1};
  const double mean[] = {2}, factor[] = {0.5};
  const uint32_t steps[] = {2, 2};
  float got[2];
  for (filtra_split split = FILTRA_SPLIT_VAL; split <= FILTRA_SPLIT_TEST; split++) {
    filtra_dataset_arrays arrays = {
        .target = FILTRA_TARGET_VALUE, .features = 1, .standardise = true};
    arrays.splits[split] =
        (filtra_samples){.count = 2, .features = numbers, .lengths = steps, .values = values};
    refuses(arrays, FILTRA_ERROR_ARGUMENT,
            "the training split, which has no samples: give feature_mean and feature_factor");
    arrays.feature_mean = mean;
    arrays.feature_factor = factor;
    owned_dataset *ds = test_dataset(&arrays);
    assert_ok(filtra_dataset_sample_features(ds, split, 1, got));
    assert_true(got[0] == 0.5f && got[1] == 2.0f);
  }
}

/* Missing values of series are interpolated for each feature, as those of files are; columns take
 * their means. */
TEST(missing_numbers_are_filled) {
  const float numbers[] = {1, 10, NAN, 20, 4, NAN, NAN, NAN, 10, 50}, values[] = {0.5f};
  const float filled[] = {1, 10, 2.5f, 20, 4, 30, 7, 40, 10, 50};
  float got[10], want[10];
  filtra_dataset_arrays arrays = {
      .splits[FILTRA_SPLIT_TRAIN] = {.count = 1, .lengths = (uint32_t[]){5}, .values = values},
      .target = FILTRA_TARGET_VALUE,
      .features = 2,
      .standardise = true};
  for (int i = 0; i < 2; i++) {
    arrays.splits[FILTRA_SPLIT_TRAIN].features = i ? filled : numbers;
    owned_dataset *ds = test_dataset(&arrays);
    assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TRAIN, 0, i ? want : got));
  }
  assert_memory_equal(got, want, sizeof got);
  arrays.splits[FILTRA_SPLIT_TRAIN].features = numbers;
  arrays.standardise = false;
  refuses(arrays, FILTRA_ERROR_INPUT,
          "sample 0 of train: number 2 is missing (NaN), which needs standardise");
  const float rows[] = {1, 5, NAN, 6, 3, 7};
  arrays.splits[FILTRA_SPLIT_TRAIN] = (filtra_samples){
      .count = 3, .features = rows, .lengths = (uint32_t[]){2, 2, 2}, .values = (float[]){0, 1, 2}};
  arrays.features = 1;
  arrays.standardise = arrays.columns = true;
  owned_dataset *ds = test_dataset(&arrays);
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TRAIN, 1, got));
  assert_true(got[0] == 0.0f);
}

/* Deviations of 1, 2, 3 and of 10, 20, 30 are 1 and 10; weights come with the samples. */
TEST(columns_have_their_own_means) {
  const float numbers[] = {1, 10, 2, 20, 3, 30}, values[] = {0, 1, 2}, weights[] = {1, 0.5f, 4};
  const uint32_t steps[] = {2, 2, 2};
  filtra_dataset_arrays arrays = {.splits[FILTRA_SPLIT_TRAIN] = {.count = 3,
                                                                 .features = numbers,
                                                                 .lengths = steps,
                                                                 .values = values,
                                                                 .weights = weights},
                                  .target = FILTRA_TARGET_VALUE,
                                  .features = 1,
                                  .standardise = true,
                                  .columns = true};
  float got[2];
  filtra_loader *loader;
  filtra_batch batch;
  owned_dataset *ds = test_dataset(&arrays);
  assert_ok(filtra_dataset_sample_features(ds, FILTRA_SPLIT_TRAIN, 2, got));
  assert_float_equal((double)got[0], 1.0, 1e-6);
  assert_float_equal((double)got[1], 1.0, 1e-6);
  assert_ok(filtra_loader_create(
      ds, &(filtra_loader_options){.batch_size = 4, .sample_weights = true}, &loader));
  assert_ok(filtra_loader_next(loader, &batch));
  for (int i = 0; i < 4; i++)
    assert_float_equal((double)batch.weights[i], i < 3 ? (double)weights[i] : 0.0, 0.0);
  filtra_loader_destroy(&loader);
}

TEST(pairs_and_successors) {
  filtra_dataset_arrays arrays = classes();
  filtra_sample sample;
  arrays.splits[FILTRA_SPLIT_TRAIN].second = tokens;
  arrays.splits[FILTRA_SPLIT_TRAIN].second_lengths = lengths;
  owned_dataset *ds = test_dataset(&arrays);
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TRAIN, 2, &sample));
  assert_int_equal(sample.second_length, 4);
  assert_int_equal(sample.second[0], 9);
  filtra_dataset_close(&ds);
  arrays = (filtra_dataset_arrays){
      .splits[FILTRA_SPLIT_TRAIN] = {.count = 3, .tokens = tokens, .lengths = lengths},
      .target = FILTRA_TARGET_NEXT};
  assert_ok(filtra_dataset_create(&arrays, &ds));
  assert_ok(filtra_dataset_sample(ds, FILTRA_SPLIT_TRAIN, 0, &sample));
  assert_int_equal(sample.length, 2);
  assert_int_equal(sample.tokens[2], 7);
}

/* What is held out is checked as that of files is, with the same words. */
TEST(shares_are_those_of_files) {
  const float refused[] = {-0.5f, 1e-7f, 0.95f, 1.0f, NAN}, accepted[] = {0.0f, 1e-6f, 0.9f};
  filtra_dataset_arrays a = classes();
  a.hold_out = true;
  for (size_t i = 0; i < FT_COUNT(refused); i++) {
    a.validation_share = refused[i];
    refuses(a, FILTRA_ERROR_ARGUMENT,
            test_text("\"validation_share\" is %g, accepted are 1e-06 to 0.9", (double)refused[i]));
  }
  for (size_t i = 0; i < FT_COUNT(accepted); i++) {
    a.validation_share = accepted[i];
    owned_dataset *ds = test_dataset(&a);
    assert_int_equal(filtra_dataset_get_info(ds)->count[FILTRA_SPLIT_VAL], i == 2 ? 3 : 1);
  }
}

TEST(mistakes_are_told) {
  filtra_dataset_arrays a = classes();
  a.classes = 1;
  refuses(a, FILTRA_ERROR_ARGUMENT, "classes is 1, accepted are 2 to 1048576");
  a = classes();
  a.splits[FILTRA_SPLIT_TRAIN].labels = NULL;
  refuses(a, FILTRA_ERROR_ARGUMENT, "train needs lengths, tokens, labels");
  a = classes();
  a.standardise = true;
  refuses(a, FILTRA_ERROR_ARGUMENT, "standardise is for features");
  a = classes();
  a.splits[FILTRA_SPLIT_VAL].reserved[1] = 1;
  refuses(a, FILTRA_ERROR_ARGUMENT, "filtra_samples: reserved[1]");
  a = classes();
  a.columns = true;
  refuses(a, FILTRA_ERROR_ARGUMENT, "columns are numbers, 1 feature a step, that are standardised");
  a = classes();
  a.height = 2;
  refuses(a, FILTRA_ERROR_ARGUMENT, "height is 2 and width 0; images of features have both");
  a = classes();
  a.class_names = (const char *const[]){"one", NULL};
  refuses(a, FILTRA_ERROR_ARGUMENT, "class_names[1] is NULL");
  float weights[] = {1, 0, 1, 1};
  a = classes();
  a.splits[FILTRA_SPLIT_TRAIN].weights = weights;
  refuses(a, FILTRA_ERROR_INPUT, "weights[1] is 0, accepted are 1e-20 to 1e20");
  weights[1] = 3e38f;
  refuses(a, FILTRA_ERROR_INPUT, "weights[1] is 3e+38, accepted");
  weights[1] = NAN;
  refuses(a, FILTRA_ERROR_INPUT, "weights[1] is nan, accepted");
  const float pixels[12] = {0};
  const uint32_t sizes[] = {4, 3, 2, 3};
  a = classes();
  a.features = 1;
  a.splits[FILTRA_SPLIT_TRAIN].lengths = sizes;
  a.splits[FILTRA_SPLIT_TRAIN].features = pixels;
  refuses(a, FILTRA_ERROR_ARGUMENT, "train has tokens, and features, the numbers per token, is 1");
  a.features = 0;
  refuses(a, FILTRA_ERROR_ARGUMENT,
          "train has features, and features, the numbers per token, is 0");
  a.features = 1;
  a.splits[FILTRA_SPLIT_TRAIN].tokens = NULL;
  a.height = a.width = 2;
  refuses(a, FILTRA_ERROR_INPUT, "sample 1 of train: 3 pixels, an image of 2 x 2 has 4");
  a.height = a.width = 0;
  a.standardise = a.columns = true;
  refuses(a, FILTRA_ERROR_INPUT, "sample 1 of train: 3 columns, the first sample has 4");
  labels[2] = 2;
  refuses(classes(), FILTRA_ERROR_INPUT, "sample 2 of train: label 2, accepted are 0 to 1");
  labels[2] = 1;
  tokens[3] = 1 << 24;
  refuses(classes(), FILTRA_ERROR_INPUT,
          "sample 1 of train: token 16777216 at position 0, accepted are 0 to 16777215");
  tokens[3] = 1;
  lengths[3] = 0;
  refuses(classes(), FILTRA_ERROR_INPUT, "sample 3 of train: a sequence of 0 tokens");
  lengths[3] = 1;
}

/* Labels are a row of 0 and 1 each. */
TEST(test_labels) {
  const uint32_t each[] = {1, 2, 1};
  const int32_t ids[] = {3, 4, 5, 6};
  uint8_t targets[] = {1, 0, 1, 0, 0, 0, 2, 1, 2};
  filtra_dataset_arrays a = {.target = FILTRA_TARGET_LABELS, .classes = 3};
  a.splits[FILTRA_SPLIT_TEST] =
      (filtra_samples){.count = 3, .lengths = each, .tokens = ids, .targets = targets};
  owned_dataset *ds = NULL;
  assert_ok(filtra_dataset_create(&a, &ds));
  filtra_sample s = test_sample(ds, FILTRA_SPLIT_TEST, 0);
  assert_true(s.label_count == 2 && s.labels[0] == 0 && s.labels[1] == 2);
  s = test_sample(ds, FILTRA_SPLIT_TEST, 1);
  assert_true(s.label_count == 0 && s.unknown_count == 0 && s.label == 0);
  s = test_sample(ds, FILTRA_SPLIT_TEST, 2);
  assert_true(s.label_count == 1 && s.unknown_count == 2);
  assert_memory_equal(s.labels, ((int32_t[]){1, 0, 2}), 3 * sizeof(int32_t));
  assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST], 0);
  filtra_dataset *none;
  const uint8_t silent[] = {2, 2, 2, 2, 2, 2, 2, 2, 2};
  a.splits[FILTRA_SPLIT_TEST].targets = silent;
  assert_fails(filtra_dataset_create(&a, &none), FILTRA_ERROR_INPUT,
               "arrays: no label of any sample of test is known");
  a.splits[FILTRA_SPLIT_TEST].targets = targets;
  targets[4] = 3;
  assert_fails(filtra_dataset_create(&a, &none), FILTRA_ERROR_INPUT,
               "arrays: sample 1 of test: target 3 of label 1, accepted are 0, 1 and 2, unknown");
  a.splits[FILTRA_SPLIT_TEST].targets = NULL;
  assert_fails(filtra_dataset_create(&a, &none), FILTRA_ERROR_ARGUMENT,
               "needs lengths, tokens, targets");
  a.classes = 0;
  assert_fails(filtra_dataset_create(&a, &none), FILTRA_ERROR_ARGUMENT,
               "classes is 0, accepted are 1 to 1048576");
}

/* Samples without one class are not mixed. */
TEST(mixed_samples_have_classes) {
  static const float pixels[8], values[2];
  static const uint8_t targets[] = {1, 0, 0, 1};
  static const uint32_t four[] = {4, 4};
  filtra_dataset_arrays a = {.splits[FILTRA_SPLIT_TRAIN] = {.count = 2,
                                                            .features = pixels,
                                                            .lengths = four,
                                                            .targets = targets,
                                                            .values = values},
                             .target = FILTRA_TARGET_LABELS,
                             .classes = 2,
                             .features = 1,
                             .height = 2,
                             .width = 2};
  const filtra_loader_options o = {.batch_size = 2,
                                   .augmentation = &(filtra_augmentation){.mixup = 1.0f}};
  filtra_loader *l;
  owned_dataset *several = test_dataset(&a);
  assert_fails(filtra_loader_create(several, &o, &l), FILTRA_ERROR_ARGUMENT,
               "mixup and cutmix mix classes, and the data's targets are any number of labels");
  a.target = FILTRA_TARGET_VALUE;
  a.classes = 0;
  owned_dataset *numbers = test_dataset(&a);
  assert_fails(filtra_loader_create(numbers, &o, &l), FILTRA_ERROR_ARGUMENT, "targets are numbers");
}

static filtra_dataset_arrays images(const float *pixels) {
  static const uint32_t six[] = {6, 6}, one[] = {6};
  static const int32_t kinds[] = {0, 1};
  filtra_dataset_arrays a = {.classes = 2, .features = 1, .height = 2, .width = 3};
  a.splits[FILTRA_SPLIT_TRAIN] =
      (filtra_samples){.count = 2, .features = pixels, .lengths = six, .labels = kinds};
  a.splits[FILTRA_SPLIT_VAL] =
      (filtra_samples){.count = 1, .features = pixels, .lengths = one, .labels = kinds};
  return a;
}

static void first_image(const filtra_dataset *ds, const filtra_augmentation *a, float got[6]) {
  filtra_batch batch;
  owned_loader *l = test_loader(ds, &(filtra_loader_options){.batch_size = 2, .augmentation = a});
  assert_ok(filtra_loader_next(l, &batch));
  memcpy(got, batch.features, 6 * sizeof *got);
}

/* Every change works on images that an application gives, standardised or as they are. */
TEST(images_are_augmented) {
  static const float pixels[] = {0, 10, 255, 30, 40, 50, 1, 2, 3, 4, 5, 6};
  static const filtra_augmentation all[] = {{.crop_scale = 0.3f},
                                            {.hflip = 1.0f},
                                            {.rand_augment = 5, .rand_augment_magnitude = 9.0f},
                                            {.random_erasing = 1.0f},
                                            {.mixup = 1.0f},
                                            {.cutmix = 1.0f}};
  for (int standardise = 0; standardise < 2; standardise++) {
    float plain[6], got[6];
    filtra_dataset_arrays a = images(pixels);
    a.standardise = standardise;
    owned_dataset *ds = test_dataset(&a);
    first_image(ds, NULL, plain);
    for (int k = 0; k < 6 && !standardise; k++)
      assert_true(plain[k] == pixels[k]);
    for (size_t i = 0; i < FT_COUNT(all); i++) {
      first_image(ds, &all[i], got);
      for (int k = 0; k < 6; k++)
        assert_true(isfinite(got[k]) && (!all[i].hflip || got[k] == plain[k / 3 * 3 + 2 - k % 3]));
    }
  }
}

/* Of other numbers, changes of single images are refused, and mixing works. */
TEST(images_of_other_numbers) {
  static const float pixels[] = {0, 10, 255, 30, 40, 50, 0.5f, 2, 3, 4, 5, 6};
  static const struct {
    filtra_augmentation a;
    const char *part;
  } cases[] = {{{.crop_scale = 0.5f}, "crop_scale is for images of 1 or 3 whole numbers"},
               {{.hflip = 0.5f}, "hflip is for images"},
               {{.rand_augment = 1}, "rand_augment is for images"},
               {{.random_erasing = 0.5f}, "random_erasing is for images"}};
  float got[6];
  const filtra_dataset_arrays a = images(pixels);
  owned_dataset *ds = test_dataset(&a);
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    filtra_loader *none;
    const filtra_loader_options o = {.batch_size = 2, .augmentation = &cases[i].a};
    assert_fails(filtra_loader_create(ds, &o, &none), FILTRA_ERROR_ARGUMENT, cases[i].part);
  }
  first_image(ds, &(filtra_augmentation){.mixup = 1.0f}, got);
  first_image(ds, NULL, got);
  assert_memory_equal(got, pixels, sizeof got);
}

TEST_MAIN(NULL, test_teardown)
