/* Training on images that are read, cropped, augmented and mixed on the fly: the loss of mixtures,
 * resumed runs, images that disappear, and what is refused. */
#include "base/file.h"
#include "support/files.h"
#include "support/harness.h"
#include "support/images.h"
#include "support/run.h"

#include <filtra/filtra.h>
#include <jansson.h>

/* ---- the loss of mixtures ---- */

enum { SIZE = 4, LENGTH = 8, CLASSES = 3, VOCABULARY = 9, STEPS = 5 };

static filtra_trainer *make_trainer(bool mixed, uint64_t parts, filtra_model **model) {
  const filtra_model_config config = {.vocabulary = VOCABULARY,
                                      .classes = CLASSES,
                                      .max_length = LENGTH,
                                      .width = 16,
                                      .layers = 1,
                                      .seed = 5};
  assert_ok(filtra_model_create(test_device(), &config, model));
  filtra_trainer *trainer =
      test_trainer(*model, &(filtra_train_options){.optimizer = {.learning_rate = 1e-2f},
                                                   .label_smoothing = 0.1f,
                                                   .accumulate = parts,
                                                   .mixed_labels = mixed});
  return trainer;
}

static filtra_trainer_metrics step(filtra_trainer *trainer, const filtra_batch *batch) {
  filtra_trainer_metrics metrics;
  assert_ok(filtra_trainer_step(trainer, batch, NULL));
  assert_ok(filtra_trainer_finish(trainer, &metrics));
  return metrics;
}

/* Mixed samples are the same as each of them twice, with its classes' shares as weights: losses,
 * and by the norms and the next losses gradients. */
TEST(test_mixtures) {
  enum { TWICE = 2 * SIZE };
  int32_t tokens[TWICE * LENGTH], lengths[TWICE], labels[TWICE];
  float weights[TWICE], ones[SIZE], shares[SIZE];
  for (int i = 0; i < TWICE * LENGTH; i++)
    tokens[i] = 1 + i * i % SIZE * 2 % (VOCABULARY - 1);
  memcpy(tokens + SIZE * LENGTH, tokens, SIZE * LENGTH * sizeof *tokens);
  for (int i = 0; i < TWICE; i++) {
    lengths[i] = LENGTH - i % SIZE;
    labels[i] = (i + i / SIZE) % CLASSES;
  }
  for (int i = 0; i < SIZE; i++) {
    ones[i] = i < SIZE - 1 ? 1.0f : 0.0f; /* the last one is a filler */
    shares[i] = 0.5f + 0.125f * (float)i;
    weights[i] = ones[i] * shares[i];
    weights[SIZE + i] = ones[i] * (1.0f - shares[i]);
  }
  const filtra_batch twice = {.size = TWICE,
                              .length = LENGTH,
                              .count = TWICE,
                              .tokens = tokens,
                              .lengths = lengths,
                              .labels = labels,
                              .weights = weights};
  filtra_batch once = twice;
  once.size = once.count = SIZE;
  once.weights = ones;
  once.other_labels = labels + SIZE;
  once.label_fractions = shares;
  for (uint64_t parts = 1; parts <= 2; parts++) {
    owned_model *a = NULL, *b = NULL;
    owned_trainer *plain = make_trainer(false, 1, &a), *mixed = make_trainer(true, parts, &b);
    for (int i = 0; i < STEPS; i++) {
      filtra_trainer_metrics x = step(plain, &twice), y = step(mixed, &once);
      assert_float_equal(x.loss, y.loss, 1e-5 * (double)x.loss);
      assert_float_equal(x.gradient_norm, y.gradient_norm, 1e-4 * (double)x.gradient_norm);
    }
    assert_fails(filtra_trainer_step(mixed, &twice, NULL), FILTRA_ERROR_ARGUMENT,
                 "without label_fractions where mixed_labels is set");
    assert_fails(filtra_trainer_step(plain, &once, NULL), FILTRA_ERROR_ARGUMENT,
                 "with label_fractions where mixed_labels is not set");
    shares[1] = 1.5f;
    assert_fails(filtra_trainer_step(mixed, &once, NULL), FILTRA_ERROR_INPUT,
                 "sample 1 has 1.5 of its label");
    shares[1] = 0.625f;
    labels[SIZE] = CLASSES;
    assert_fails(filtra_trainer_step(mixed, &once, NULL), FILTRA_ERROR_INPUT,
                 "sample 0 has the other label 3, accepted are 0 to 2");
    labels[SIZE] = 1;
  }
}

/* ---- whole runs ---- */

static const char *write_images(void) {
  const char *root = test_folder();
  for (uint32_t i = 0; i < 18; i++) {
    ft_image image = test_picture(9 + i % 4, 10 + i % 3, 3, i);
    test_write_png(root, test_text("%c/%02u.png", "ab"[i % 2], i), &image);
    free(image.pixels);
  }
  return root;
}

/* Eight pixels a side, in four patches; three steps an epoch. */
static const char *config_text(const char *data, const char *more) {
  return test_text("{\"data\": \"%s\", \"pixels\": \"rgb\", \"image_size\": 8, \"patch\": 4, "
                   "\"width\": 8, \"layers\": 2, \"batch_size\": 6, \"steps\": 9, "
                   "\"eval_every\": 4, \"checkpoint_every\": 2, \"log_every\": 1%s}",
                   data, more);
}

static const char EVERYTHING[] =
    ", \"crop_scale\": 0.3, \"hflip\": 0.5, \"rand_augment\": 2, \"random_erasing\": 0.5, "
    "\"mixup\": 0.8, \"cutmix\": 1, \"mixup_prob\": 0.9, \"drop_path\": 0.2, "
    "\"label_smoothing\": 0.1";

TEST(test_resumed_runs) {
  if (!test_has_png()) skip();
  const char *data = write_images(), *whole = test_new_run(), *stopped = test_new_run();
  assert_ok(test_train(config_text(data, EVERYTHING), whole, 100));
  assert_fails(test_train(config_text(data, EVERYTHING), stopped, 4), FILTRA_ERROR_CANCELLED,
               "4 of 9");
  assert_fails(test_train(NULL, stopped, 5), FILTRA_ERROR_CANCELLED, "of 9");
  assert_ok(test_train(NULL, stopped, 100));
  test_same_run(whole, stopped);
  filtra_evaluation e;
  assert_ok(filtra_run_evaluate(test_device(), whole, "val", NULL, NULL, NULL, &e, NULL));
  assert_true(e.top5_accuracy < 0.0); /* of two classes */
  filtra_run_memory_use plan;
  assert_ok(filtra_run_measure(
      test_device(), &(filtra_run_options){.config = config_text(data, EVERYTHING)}, &plan));
  assert_true(plan.fits);
}

/* An image that goes away ends the run with its name; the checkpoint stays, and goes on when it is
 * back. Another image in its place is other data. */
/* Tokens are patches, of which an image has four, not pixels: at most 24 in a step's time. */
static void check_speed(const char *path) {
  char *text = test_read(path, NULL);
  const char *last = NULL;
  for (const char *at = text; (at = strstr(at, "\"tokens_per_second\":")); at++)
    last = at;
  double tokens = 0.0, milliseconds = 0.0;
  assert_non_null(last);
  assert_int_equal(
      sscanf(last, "\"tokens_per_second\":%lf,\"milliseconds\":%lf", &tokens, &milliseconds), 2);
  const double in_a_step = tokens * milliseconds / 1000;
  assert_true(in_a_step > 3.9 && in_a_step < 24.1);
  free(text);
}

/* Images that are cut into patches have one length, which is prepared. */
TEST(test_prepared_images) {
  if (!test_has_png()) skip();
  const char *folder = test_new_run();
  uint8_t pixels[8 * 8 * 3] = {1, 2, 3};
  uint32_t length = 16;
  filtra_run *run;
  filtra_predictor *p;
  filtra_prediction made;
  assert_ok(test_train(config_text(write_images(), ""), folder, 100));
  check_speed(test_path(folder, "metrics.jsonl"));
  assert_ok(filtra_run_open(folder, &run));
  assert_fails(filtra_run_create_predictor(
                   run, test_device(),
                   &(filtra_predictor_options){.lengths = &length, .length_count = 1}, &p),
               FILTRA_ERROR_ARGUMENT, "accepted are 64 to 64");
  assert_ok(filtra_run_create_predictor(
      run, test_device(), &(filtra_predictor_options){.prepare_all = true, .batch_size = 2}, &p));
  const size_t pipelines = ft_pipeline_count(test_device());
  assert_int_equal(ft_pipelines_unfinished(test_device()), 0);
  assert_ok(filtra_predictor_predict(
      p, 1, &(filtra_request){.pixels = pixels, .length = 64, .channels = 3}, &made));
  assert_int_equal(ft_pipeline_count(test_device()), pipelines);
  filtra_predictor_destroy(&p);
  filtra_run_close(&run);
}

TEST(test_an_image_that_goes_away) {
  if (!test_has_png()) skip();
  const char *data = write_images(), *whole = test_new_run(), *folder = test_new_run();
  const char *config = config_text(data, ", \"hflip\": 0.5");
  char image[1024], aside[1024];
  snprintf(image, sizeof image, "%s/a/04.png", data);
  snprintf(aside, sizeof aside, "%s/aside", data);
  assert_ok(test_train(config, whole, 100));
  assert_fails(test_train(config, folder, 2), FILTRA_ERROR_CANCELLED, "2 of 9");
  size_t size;
  owned char *bytes = test_read(image, &size);
  test_write(image, bytes, size - 20);
  assert_fails(test_train(NULL, folder, 100), FILTRA_ERROR_INPUT, "it ends too early");
  bytes[size - 25] ^= 1; /* of the same size, but damaged within the first 4 KiB */
  test_write(image, bytes, size);
  assert_fails(test_train(NULL, folder, 100), FILTRA_ERROR_INPUT, "was trained on other data");
  bytes[size - 25] ^= 1;
  assert_int_equal(remove(image), 0);
  assert_fails(test_train(NULL, folder, 100), FILTRA_ERROR_INPUT, "was trained on other data");
  test_write(image, bytes, size);
  assert_ok(test_train(NULL, folder, 100));
  test_same_run(whole, folder);
}

/* Damage within pixels, which headers do not show, is found before the first step, whatever is
 * known of the mean, and counted. */
TEST(test_damaged_pixels) {
  if (!test_has_png()) skip();
  static const char *const images[] = {"a/04.png", "b/03.png", "b/11.png"};
  const char *data = write_images(), *folder = test_new_run();
  for (size_t i = 0; i < FT_COUNT(images); i++) {
    size_t size;
    owned char *bytes = test_read(test_path(data, images[i]), &size);
    bytes[60] ^= 1;
    test_write(test_path(data, images[i]), bytes, size);
    const char *one = config_text(data, ", \"normalize\": \"imagenet\"");
    assert_fails(test_train(one, folder, 100), FILTRA_ERROR_INPUT, ".png: damaged PNG");
    assert_true(i < 2 || strstr(filtra_error_message(), " of 1"));
    assert_fails(test_train(config_text(data, ""), folder, 100), FILTRA_ERROR_INPUT,
                 ".png: damaged PNG");
    assert_false(ft_file_exists(folder));
  }
}

/* Grey pixels are tokens, of which a smaller image has fewer: it is refused all the same. */
TEST(test_images_of_another_size) {
  uint8_t image[16 + 12 * 16] = {0, 0, 8, 3, 0, 0, 0, 12, 0, 0, 0, 4, 0, 0, 0, 4};
  uint8_t label[8 + 12] = {0, 0, 8, 1, 0, 0, 0, 12};
  const char *names[] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"};
  const char *data = test_folder(), *other = test_folder(), *folder = test_new_run();
  for (int i = 0; i < 12; i++)
    label[8 + i] = (uint8_t)(i % 2);
  for (int k = 0; k < 2; k++) { /* 4 x 4 pixels, then 2 x 8 */
    test_write(test_path(k ? other : data, names[0]), image, sizeof image);
    test_write(test_path(k ? other : data, names[1]), label, sizeof label);
    image[11] = 2;
    image[15] = 8;
  }
  const char *larger = test_folder(); /* than the longest sequence, too */
  image[7] = 2;
  image[11] = 8;
  test_write(test_path(larger, names[0]), image, 16 + 2 * 64);
  label[7] = 2;
  test_write(test_path(larger, names[1]), label, 10);
  assert_ok(
      test_train(test_text("{\"data\": \"%s\", \"width\": 8, \"layers\": 1, \"steps\": 2}", data),
                 folder, UINT64_MAX));
  owned_dataset *ds = NULL;
  filtra_run *run = NULL;
  assert_ok(filtra_run_open(folder, &run));
  assert_fails(filtra_run_open_data(run, other, FILTRA_SPLIT_TEST, NULL, &ds), FILTRA_ERROR_INPUT,
               "an image of 8 x 2 pixels, those of the training data have 4 x 4");
  assert_fails(filtra_run_open_data(run, larger, FILTRA_SPLIT_TEST, NULL, &ds), FILTRA_ERROR_INPUT,
               "an image of 8 x 8 pixels, those of the training data have 4 x 4");
  assert_ok(filtra_run_open_data(run, data, FILTRA_SPLIT_TEST, NULL, &ds));
  filtra_run_close(&run);
}

TEST(test_refused) {
  if (!test_has_png()) skip();
  static const struct {
    const char *more, *part;
    filtra_status status;
  } cases[] = {
      {", \"image_size\": 0", "unless image_size says what they become", FILTRA_ERROR_INPUT},
      {", \"image_size\": 2000", "\"image_size\" is 2000", FILTRA_ERROR_INPUT},
      {", \"crop_ratio\": 2", "\"crop_ratio\" has no effect without crop_scale below 1",
       FILTRA_ERROR_INPUT},
      {", \"mixup_prob\": 0.5", "\"mixup_prob\" has no effect without mixup or cutmix",
       FILTRA_ERROR_INPUT},
      {", \"rand_augment_std\": 1", "\"rand_augment_std\" has no effect", FILTRA_ERROR_INPUT},
      {", \"mixup\": 0.001", "mixup is 0.001", FILTRA_ERROR_ARGUMENT},
      {", \"pixels\": \"grey\", \"patch\": 0, \"hflip\": 0.5",
       "the data, of format image-folder, "
       "have tokens",
       FILTRA_ERROR_ARGUMENT},
      {", \"normalize\": \"imagenet\", \"pixels\": \"grey_features\"", "pixels rgb",
       FILTRA_ERROR_ARGUMENT},
  };
  const char *data = write_images();
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    owned char *text = NULL;
    json_auto_t *object = json_loads(config_text(data, ""), 0, NULL);
    json_auto_t *more = json_loads(test_text("{\"steps\": 9%s}", cases[i].more), 0, NULL);
    json_object_update(object, more);
    text = json_dumps(object, 0);
    assert_fails(test_train(text, test_new_run(), 100), cases[i].status, cases[i].part);
  }
  assert_fails(test_train(test_text("{\"data\": \"%s\", \"hflip\": 0.5}", test_listops()),
                          test_new_run(), 100),
               FILTRA_ERROR_ARGUMENT, "the data, of format lra-listops, hold none");
}

TEST_MAIN(NULL, test_teardown)
