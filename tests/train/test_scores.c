/* Scores of classifiers, against scikit-learn's for the same labels and logits. */
#include "data/tokenizer.h"
#include "model/model.h"
#include "support/harness.h"
#include "support/objects.h"
#include "train/run.h"

#include <filtra/filtra.h>
#include <math.h>

enum { COUNT = 12, CLASSES = 4 };

/* Class 3 has no samples, class 2 no hits; many probabilities are equal. */
static const int32_t LABELS[COUNT] = {0, 1, 2, 0, 1, 2, 0, 0, 1, 2, 2, 0};

static void make_logits(float logits[COUNT * CLASSES]) {
  for (int i = 0; i < COUNT; i++)
    for (int k = 0; k < CLASSES; k++)
      logits[i * CLASSES + k] =
          (float)((i * 7 + k * 5 + (k == LABELS[i] && i % 3 ? 3 : 0)) % 11) / 4.0f;
}

/* precision_recall_fscore_support, roc_auc_score, balanced_accuracy_score, f1_score (macro),
 * matthews_corrcoef of scikit-learn 1.9; the areas by
 * probabilities in single precision. */
TEST(scores_are_scikit_learns) {
  static const double PRECISION[] = {0.5, 0.2, 0, 0}, RECALL[] = {0.4, 1.0 / 3, 0},
                      F1[] = {4.0 / 9, 0.25, 0, 0},
                      AUC[] = {0.5428571428571429, 0.5185185185185185, 0.4375};
  static const uint64_t CONFUSION[] = {2, 1, 2, 0, 1, 1, 0, 1, 1, 3, 0, 0, 0, 0, 0, 0};
  float logits[COUNT * CLASSES];
  filtra_scores *s = NULL;
  make_logits(logits);
  assert_ok(filtra_scores_create(CLASSES, COUNT, LABELS, logits, &s));
  assert_memory_equal(s->confusion, CONFUSION, sizeof CONFUSION);
  for (int k = 0; k < CLASSES; k++) {
    assert_float_equal(s->of_class[k].precision, PRECISION[k], 1e-15);
    assert_float_equal(s->of_class[k].f1, F1[k], 1e-15);
    if (k == 3) continue;
    assert_float_equal(s->of_class[k].recall, RECALL[k], 1e-15);
    assert_float_equal(s->of_class[k].auc, AUC[k], 1e-15);
  }
  assert_true(isnan(s->of_class[3].recall) && isnan(s->of_class[3].auc));
  assert_float_equal(s->accuracy, 0.25, 1e-15);
  assert_float_equal(s->accuracy_low, 0.08894166839405471, 1e-12);
  assert_float_equal(s->accuracy_high, 0.5323053349335657, 1e-12);
  assert_float_equal(s->balanced_accuracy, 0.24444444444444446, 1e-15);
  assert_float_equal(s->macro_f1, 0.1736111111111111, 1e-15);
  assert_float_equal(s->auc, 0.4996252204585538, 1e-15);
  assert_float_equal(s->matthews, -0.07293249574894728, 1e-15);
  filtra_scores_destroy(&s);
  assert_null(s);
}

TEST(extremes) {
  filtra_scores *s = NULL;
  assert_ok(filtra_scores_create(2, 2, (int32_t[]){0, 1}, (float[]){1, 0, 0, 1}, &s));
  assert_true(s->accuracy == 1.0 && s->accuracy_high == 1.0 && s->auc == 1.0 && s->matthews == 1.0);
  filtra_scores_destroy(&s);
  assert_ok(filtra_scores_create(2, 2, (int32_t[]){1, 1}, (float[]){1, 0, 1, 0}, &s));
  assert_true(s->accuracy == 0.0 && s->accuracy_low == 0.0 && isnan(s->auc) && s->matthews == 0.0);
  filtra_scores_destroy(&s);
  const float *logits = (float[]){1, 0, INFINITY, 0};
  assert_fails(filtra_scores_create(2, 2, (int32_t[]){0, 2}, logits, &s), FILTRA_ERROR_ARGUMENT,
               "label 2 of sample 1, accepted are 0 to 1");
  assert_fails(filtra_scores_create(2, 2, (int32_t[]){0, 1}, logits, &s), FILTRA_ERROR_ARGUMENT,
               "logit 0 of sample 1 is not finite");
  assert_fails(filtra_scores_create(1, 1, (int32_t[]){0}, logits, &s), FILTRA_ERROR_ARGUMENT,
               "at least 1 and 2");
  enum { MANY = 1500 };
  static const float wide[MANY] = {0};
  assert_ok(filtra_scores_create(MANY, 1, (int32_t[]){7}, wide, &s));
  assert_true(s->confusion == NULL && s->of_class[0].predicted == 1 && s->of_class[7].samples == 1);
  filtra_scores_destroy(&s);
}

/* Evaluation with scores makes graphs with labels only, and so one pass. */
static void evaluated_in_one_pass(const filtra_dataset *data, const filtra_scores *same) {
  owned_model *model = test_model(
      test_device(), &(filtra_model_config){.data = data, .width = 8, .layers = 1, .heads = 1});
  filtra_evaluation e, shared;
  filtra_scores *s;
  float own[23 * 3], results[23 * 3];
  assert_ok(ft_evaluate_scored(model, data, FILTRA_SPLIT_TEST, 4, &e, &s));
  for (size_t i = 0; i < model->graph_count; i++)
    assert_true(model->graphs[i].judged);
  assert_memory_equal(s->confusion, same->confusion, 9 * sizeof *s->confusion);
  assert_float_equal(s->auc, same->auc, 0);
  assert_float_equal(s->accuracy, e.accuracy, 0);
  assert_ok(ft_evaluate_shared(model, data, FILTRA_SPLIT_TEST, 4,
                               &(ft_evaluation_way){.results = own}, &shared));
  assert_ok(filtra_model_predict_split(model, data, FILTRA_SPLIT_TEST, 4, results));
  assert_memory_equal(own, results, sizeof own);
  filtra_scores_destroy(&s);
}

/* A model's scores are those of its own predictions, and their accuracy the evaluation's. */
TEST(models_are_scored) {
  enum { SAMPLES = 23, STEPS = 3 };
  uint32_t lengths[SAMPLES];
  float features[SAMPLES * STEPS], results[SAMPLES * 3];
  int32_t labels[SAMPLES];
  for (int i = 0; i < SAMPLES; i++) {
    lengths[i] = 1 + (uint32_t)i % STEPS;
    labels[i] = i * i % 3;
  }
  for (int i = 0; i < SAMPLES * STEPS; i++)
    features[i] = (float)(i * 37 % 11);
  owned_dataset *data = NULL;
  assert_ok(filtra_dataset_create(
      &(filtra_dataset_arrays){.splits = {[FILTRA_SPLIT_TEST] = {.count = SAMPLES,
                                                                 .lengths = lengths,
                                                                 .features = features,
                                                                 .labels = labels}},
                               .features = 1,
                               .classes = 3},
      &data));
  filtra_model *model = test_model(
      test_device(), &(filtra_model_config){.data = data, .width = 8, .layers = 1, .heads = 1});
  filtra_evaluation e;
  filtra_scores *s, *same = NULL;
  assert_ok(filtra_model_evaluate_split(model, data, FILTRA_SPLIT_TEST, 4, &e));
  assert_ok(filtra_model_score_split(model, data, FILTRA_SPLIT_TEST, 4, &s));
  assert_float_equal(s->accuracy, e.accuracy, 1e-7);
  assert_ok(filtra_model_predict_split(model, data, FILTRA_SPLIT_TEST, 5, results));
  assert_ok(filtra_scores_create(3, SAMPLES, labels, results, &same));
  assert_memory_equal(s->confusion, same->confusion, 9 * sizeof *s->confusion);
  filtra_scores_destroy(&s);
  filtra_model_destroy(&model);
  evaluated_in_one_pass(data, same);
  filtra_scores_destroy(&same);
}

/* Two series of three steps, of as many numbers a step, and of labels. */
static filtra_dataset *sized(uint32_t features, uint32_t labels) {
  static const uint32_t lengths[2] = {3, 3};
  static const float numbers[2 * 3 * 2] = {1, 2, 3, 4};
  static const uint8_t applies[2 * 3] = {1, 0, 1};
  filtra_dataset *data = NULL;
  assert_ok(filtra_dataset_create(
      &(filtra_dataset_arrays){.splits = {[FILTRA_SPLIT_TEST] = {.count = 2,
                                                                 .lengths = lengths,
                                                                 .features = numbers,
                                                                 .targets = applies}},
                               .features = features,
                               .target = FILTRA_TARGET_LABELS,
                               .classes = labels},
      &data));
  return data;
}

/* Data whose arrays are smaller than a model reads are not read. */
TEST(data_of_other_sizes) {
  owned_dataset *own = sized(2, 3), *narrow = sized(1, 3), *fewer = sized(2, 2);
  owned_model *model = test_model(
      test_device(), &(filtra_model_config){.data = own, .width = 8, .layers = 1, .heads = 1});
  filtra_evaluation e;
  float results[2 * 3];
  assert_ok(filtra_model_evaluate_split(model, own, FILTRA_SPLIT_TEST, 2, &e));
  assert_fails(filtra_model_evaluate_split(model, narrow, FILTRA_SPLIT_TEST, 2, &e),
               FILTRA_ERROR_INPUT, "the data have 1 numbers a step, the model reads 2");
  assert_fails(filtra_model_predict_split(model, narrow, FILTRA_SPLIT_TEST, 2, results),
               FILTRA_ERROR_INPUT, "the data have 1 numbers a step");
  assert_fails(filtra_model_evaluate_split(model, fewer, FILTRA_SPLIT_TEST, 2, &e),
               FILTRA_ERROR_INPUT, "the data have 2 labels, the model has 3");
}

/* Four texts of two classes, or four series of two steps. */
static filtra_dataset *arrays(const filtra_tokenizer *tokenizer, const char *const names[2],
                              const float numbers[8], const double *mean) {
  static const uint32_t lengths[4] = {2, 2, 2, 2};
  static const int32_t tokens[8] = {3, 4, 4, 3, 3, 3, 4, 4}, labels[4] = {0, 1, 0, 1};
  static const double factor[1] = {1.0};
  filtra_dataset *data = NULL;
  assert_ok(
      filtra_dataset_create(&(filtra_dataset_arrays){.splits = {{.count = 4,
                                                                 .lengths = lengths,
                                                                 .tokens = numbers ? NULL : tokens,
                                                                 .features = numbers,
                                                                 .labels = labels}},
                                                     .features = numbers ? 1 : 0,
                                                     .classes = 2,
                                                     .class_names = names,
                                                     .tokenizer = tokenizer,
                                                     .standardise = numbers,
                                                     .feature_mean = mean,
                                                     .feature_factor = mean ? factor : NULL},
                            &data));
  return data;
}

/* Evaluates a model of the first data on the second. `text`: a part of the refusal; NULL: none. */
static void evaluate_other(const filtra_dataset *own, const filtra_dataset *other,
                           const char *text) {
  owned_model *model = test_model(
      test_device(), &(filtra_model_config){.data = own, .width = 8, .layers = 1, .heads = 1});
  filtra_evaluation e;
  assert_ok(filtra_model_evaluate_split(model, own, FILTRA_SPLIT_TRAIN, 4, &e));
  if (text) {
    assert_fails(filtra_model_evaluate_split(model, other, FILTRA_SPLIT_TRAIN, 4, &e),
                 FILTRA_ERROR_INPUT, text);
    assert_fails(filtra_model_check_data(model, other), FILTRA_ERROR_INPUT, text);
    assert_ok(filtra_model_set_data(model, other));
  }
  assert_ok(filtra_model_evaluate_split(model, other, FILTRA_SPLIT_TRAIN, 4, &e));
}

static const char *const AB[] = {"a", "b"};

TEST(data_of_another_vocabulary) {
  static const char *const words[] = {"<unk>", "<eos>", "good", "bad"}, *const others[] = {
                                                                            "<unk>", "<eos>", "bad",
                                                                            "good"};
  filtra_tokenizer *tokenizer = NULL, *same = NULL, *turned = NULL;
  assert_ok(ft_tokenizer_make("words", words, 4, &tokenizer));
  assert_ok(ft_tokenizer_make("words", words, 4, &same));
  assert_ok(ft_tokenizer_make("words", others, 4, &turned));
  filtra_dataset *own = arrays(tokenizer, AB, NULL, NULL), *equal = arrays(same, AB, NULL, NULL),
                 *other = arrays(turned, AB, NULL, NULL), *ids = arrays(NULL, AB, NULL, NULL);
  evaluate_other(own, equal, NULL);
  evaluate_other(own, ids, NULL);
  evaluate_other(own, other, "(\"words\") with another vocabulary than the model's");
  filtra_dataset_close(&own);
  filtra_dataset_close(&equal);
  filtra_dataset_close(&other);
  filtra_dataset_close(&ids);
  filtra_tokenizer_destroy(&tokenizer);
  filtra_tokenizer_destroy(&same);
  filtra_tokenizer_destroy(&turned);
}

TEST(data_of_other_classes) {
  static const char *const bc[] = {"b", "c"};
  owned_dataset *own = arrays(NULL, AB, NULL, NULL), *other = arrays(NULL, bc, NULL, NULL);
  evaluate_other(own, other, "class 0 of the data is \"b\", the model's is \"a\"");
  owned_model *model = test_model(
      test_device(), &(filtra_model_config){.data = own, .width = 8, .layers = 1, .heads = 1});
  float results[4 * 2];
  assert_ok(filtra_model_predict_split(model, other, FILTRA_SPLIT_TRAIN, 4, results));
}

TEST(data_standardised_otherwise) {
  static const float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8}, moved[8] = {4, 5, 6, 7, 8, 9, 10, 11};
  static const double mean[1] = {2.0}, missing[1] = {NAN};
  owned_dataset *own = arrays(NULL, AB, numbers, NULL), *other = arrays(NULL, AB, moved, NULL);
  owned_dataset *given = arrays(NULL, AB, numbers, mean), *like = arrays(NULL, AB, moved, mean);
  evaluate_other(own, other, "standardised otherwise than those of the model's data");
  evaluate_other(given, like, NULL);
  float x[2];
  assert_ok(filtra_dataset_sample_features(like, FILTRA_SPLIT_TRAIN, 0, x));
  assert_float_equal(x[0], 2.0f, 0.0f);
  static const uint32_t length[1] = {1};
  static const int32_t label[1];
  filtra_dataset *none = NULL;
  filtra_dataset_arrays wrong = {
      .splits = {{.count = 1, .lengths = length, .features = numbers, .labels = label}},
      .features = 1,
      .classes = 2,
      .standardise = true,
      .feature_mean = mean};
  assert_fails(filtra_dataset_create(&wrong, &none), FILTRA_ERROR_ARGUMENT, "come together");
  wrong.feature_factor = missing;
  assert_fails(filtra_dataset_create(&wrong, &none), FILTRA_ERROR_ARGUMENT, "0 is not finite");
}

TEST_MAIN(NULL, test_teardown)
