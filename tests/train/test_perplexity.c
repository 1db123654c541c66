/* Perplexity by a sliding window, compared with windows predicted one by one. */
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>

enum { LENGTH = 16 };

static filtra_dataset *text_data(void) {
  const char *path = test_path(test_folder(), "hamlet.txt");
  const char *text =
      "to be, or not to be, that is the question: whether 'tis nobler in the mind to "
      "suffer the slings and arrows of outrageous fortune, or to take arms";
  filtra_dataset *data = NULL;
  test_write(path, text, strlen(text));
  assert_ok(filtra_dataset_open(
      path, &(filtra_dataset_options){.max_length = LENGTH, .file_split = FILTRA_SPLIT_TEST},
      &data));
  return data;
}

static filtra_model *text_model(const filtra_dataset *data) {
  filtra_model *model;
  assert_ok(
      filtra_model_create(test_device(),
                          &(filtra_model_config){.mixer = "softmax",
                                                 .task = FILTRA_TASK_LANGUAGE_MODEL,
                                                 .vocabulary = (int64_t)filtra_tokenizer_size(
                                                     filtra_dataset_get_info(data)->tokenizer),
                                                 .max_length = LENGTH,
                                                 .width = 32,
                                                 .layers = 2,
                                                 .seed = 4},
                          &model));
  /* Far from uniform. */
  filtra_parameters *p = filtra_model_parameters(model);
  for (size_t i = 0; i < filtra_parameters_count(p); i++) {
    const size_t n = (size_t)test_scalars(p, i);
    owned float *values = test_alloc(n * sizeof *values);
    assert_ok(filtra_parameters_get(p, filtra_parameters_name(p, i), values, n));
    for (size_t k = 0; k < n; k++)
      values[k] *= 2.0f;
    assert_ok(filtra_parameters_set(p, filtra_parameters_name(p, i), values, n));
  }
  return model;
}

/* -log of the probability of `target` by logits [outputs]. */
static double surprise(const float *logits, size_t outputs, int32_t target) {
  double most = -1e30, sum = 0;
  for (size_t k = 0; k < outputs; k++)
    most = fmax(most, (double)logits[k]);
  for (size_t k = 0; k < outputs; k++)
    sum += exp((double)logits[k] - most);
  return most + log(sum) - (double)logits[target];
}

/* The mean over all tokens of a text, each once, in double. */
static double reference(filtra_model *model, const int32_t *ids, int count, int stride) {
  const size_t outputs = (size_t)filtra_model_outputs(model);
  owned float *logits = test_alloc(LENGTH * outputs * sizeof *logits);
  double sum = 0;
  int done = 0;
  for (int begin = 0; done < count - 1; begin += stride) {
    const int32_t length = count - 1 - begin < LENGTH ? count - 1 - begin : LENGTH;
    const filtra_batch batch = {.size = 1,
                                .length = (uint32_t)length,
                                .count = 1,
                                .tokens = ids + begin,
                                .lengths = &length};
    assert_ok(filtra_model_predict_batch(model, &batch, logits));
    for (int n = 0; n < length; n++)
      if (begin + n + 1 > done) {
        sum += surprise(logits + (size_t)n * outputs, outputs, ids[begin + n + 1]);
        done = begin + n + 1;
      }
  }
  assert_int_equal(done, count - 1);
  return sum / (count - 1);
}

static int count_tokens(const filtra_dataset *data, const int32_t **ids) {
  int count = 1;
  for (uint64_t i = 0; i < filtra_dataset_get_info(data)->count[FILTRA_SPLIT_TEST]; i++) {
    filtra_sample sample;
    assert_ok(filtra_dataset_sample(data, FILTRA_SPLIT_TEST, i, &sample));
    if (!i) *ids = sample.tokens;
    count += (int)sample.length;
  }
  return count;
}

TEST(each_token_once_from_enough_before) {
  owned_dataset *data = text_data();
  owned_model *model = text_model(data);
  const int32_t *ids = NULL;
  const int count = count_tokens(data, &ids);
  static const uint32_t STRIDES[] = {1, 5, 8, LENGTH};
  double loss[4];
  for (size_t i = 0; i < 4; i++) {
    filtra_evaluation e;
    assert_ok(filtra_model_evaluate_text(model, data, FILTRA_SPLIT_TEST, 4, STRIDES[i], &e));
    assert_int_equal(e.predictions, count - 1);
    loss[i] = e.loss;
    const double wanted = reference(model, ids, count, (int)STRIDES[i]);
    print_message("stride %u: %llu windows, perplexity %.6f, reference %.6f\n", STRIDES[i],
                  (unsigned long long)e.samples, e.perplexity, exp(wanted));
    assert_float_equal(e.loss, wanted, 2e-6 * wanted);
    assert_float_equal(e.perplexity, exp(e.loss), 1e-9 * e.perplexity);
  }
  assert_true(loss[0] != loss[3]);
}

/* Without overlap it is the ordinary evaluation. */
TEST(whole_stride_is_plain) {
  owned_dataset *data = text_data();
  owned_model *model = text_model(data);
  filtra_evaluation plain, e;
  assert_ok(filtra_model_evaluate_split(model, data, FILTRA_SPLIT_TEST, 4, &plain));
  assert_ok(filtra_model_evaluate_text(model, data, FILTRA_SPLIT_TEST, 4, LENGTH, &e));
  assert_int_equal(e.predictions, plain.predictions);
  assert_int_equal(e.samples, plain.samples);
  assert_float_equal(e.loss, plain.loss, 1e-6);
  assert_float_equal(e.accuracy, plain.accuracy, 1e-6);
  assert_float_equal(e.majority, plain.majority, 0);
}

TEST(strides_that_make_no_sense) {
  owned_dataset *data = text_data(), *trees = NULL;
  owned_model *model = text_model(data), *other = NULL;
  filtra_evaluation e;
  assert_fails(filtra_model_evaluate_text(model, data, FILTRA_SPLIT_TEST, 4, 0, &e),
               FILTRA_ERROR_ARGUMENT, "stride is 0, accepted are 1 to 16, the model's max_length");
  assert_fails(filtra_model_evaluate_text(model, data, FILTRA_SPLIT_TEST, 4, LENGTH + 1, &e),
               FILTRA_ERROR_ARGUMENT, "stride is 17, accepted are 1 to 16");
  assert_fails(filtra_model_evaluate_text(model, data, FILTRA_SPLIT_TRAIN, 4, 4, &e),
               FILTRA_ERROR_INPUT, "there is no train split");
  assert_ok(filtra_dataset_open(test_listops(), NULL, &trees));
  assert_ok(filtra_model_create(test_device(),
                                &(filtra_model_config){.mixer = "softmax", .data = trees}, &other));
  assert_fails(filtra_model_evaluate_text(other, trees, FILTRA_SPLIT_TEST, 4, 4, &e),
               FILTRA_ERROR_ARGUMENT, "a stride is for language models; the task is");
}

TEST_MAIN(NULL, test_teardown)
