/* Runs on samples with several labels: training, evaluation, selection of the best model,
 * prediction by runs and model files, weights, and resuming. Scores are compared with scikit-learn
 * 1.9. */
#include "support/files.h"
#include "support/harness.h"
#include "support/run.h"

#include "train/measures.h"

#include <filtra/filtra.h>
#include <float.h>
#include <jansson.h>

enum { SAMPLES = 6, LABELS = 3 };
static const uint8_t TRUE_LABELS[SAMPLES * LABELS] = {1, 0, 1, 0, 0, 0, 1, 1, 0,
                                                      0, 1, 1, 1, 0, 0, 0, 1, 0};
static const float LOGITS[SAMPLES * LABELS] = {2,    -1, 0.5f, -3, 0.25f, -1, 1,     -2, -0.5f,
                                               -.5f, 3,  1,    -1, -2,    -3, 0.75f, 1,  -2};

/* accuracy_score, f1_score of micro and macro, roc_auc_score, precision_score and recall_score. */
TEST(scores_of_labels) {
  uint8_t predicted[SAMPLES * LABELS];
  filtra_evaluation e = {0};
  filtra_scores *s;
  for (int i = 0; i < SAMPLES * LABELS; i++)
    predicted[i] = ft_predicts_label(LOGITS[i]);
  assert_ok(ft_measure_labels(LABELS, SAMPLES, TRUE_LABELS, predicted, &e));
  assert_float_equal(e.accuracy, 0.3333333333333333, 1e-12);
  assert_float_equal(e.f1, 0.75, 1e-12);
  assert_float_equal(e.macro_f1, 0.7777777777777777, 1e-12);
  assert_ok(ft_scores_labels(LABELS, SAMPLES, TRUE_LABELS, predicted, LOGITS, &s));
  const double areas[] = {7.0 / 9, 13.0 / 18, 1}, rates[] = {2.0 / 3, 2.0 / 3, 1};
  for (int k = 0; k < LABELS; k++) {
    assert_float_equal(s->of_class[k].auc, areas[k], 1e-12);
    assert_float_equal(s->of_class[k].precision, rates[k], 1e-12);
    assert_float_equal(s->of_class[k].recall, rates[k], 1e-12);
  }
  assert_true(!s->confusion && isnan(s->matthews) && s->micro_f1 == e.f1);
  filtra_scores_destroy(&s);
  memset(predicted, 0, sizeof predicted); /* nothing there, nothing predicted */
  assert_ok(ft_measure_labels(LABELS, SAMPLES, predicted, predicted, &e));
  assert_true(e.accuracy == 1 && e.f1 == 0 && e.macro_f1 == 0);
}

/* The same where half of the samples do not tell of a label: each label is scored by the others. */
TEST(unknown_labels_are_not_scored) {
  enum { UNKNOWN = FILTRA_LABEL_UNKNOWN };
  const uint8_t labels[SAMPLES * LABELS] = {1, UNKNOWN, 1,       UNKNOWN, 0, 0,
                                            1, UNKNOWN, UNKNOWN, 0,       1, UNKNOWN,
                                            1, UNKNOWN, 0,       UNKNOWN, 1, UNKNOWN};
  uint8_t predicted[SAMPLES * LABELS];
  filtra_scores *s;
  for (int i = 0; i < SAMPLES * LABELS; i++)
    predicted[i] = ft_predicts_label(LOGITS[i]);
  assert_ok(ft_scores_labels(LABELS, SAMPLES, labels, predicted, LOGITS, &s));
  for (int k = 0; k < LABELS; k++) {
    /* scikit-learn, of each column's known labels: [1, 1, 0, 1], [0, 1, 1] and [1, 0, 0] */
    static const double AREAS[] = {2.0 / 3, 1, 1}, F1[] = {0.8, 0.8, 1};
    static const uint64_t KNOWN[] = {4, 3, 3}, OWN[] = {3, 2, 1}, MADE[] = {2, 3, 1};
    const filtra_class_scores *c = &s->of_class[k];
    assert_true(c->known == KNOWN[k] && c->samples == OWN[k] && c->predicted == MADE[k]);
    assert_float_equal(c->auc, AREAS[k], 1e-12);
    assert_float_equal(c->f1, F1[k], 1e-12);
  }
  assert_float_equal(s->accuracy, 4.0 / 6, 1e-12);
  filtra_scores_destroy(&s);
}

static const char *const NAMES[] = {"cats", "sun", "wild"};

typedef enum form { LISTS, COLUMNS, GAPS } form;

/* Texts of letters; a label says which of a, b and c a text has. GAPS: a third of the columns'
 * fields are empty. */
static const char *table_of(int rows, form columns) {
  static char text[16384];
  char *to = text + sprintf(text, columns ? "text,cats,sun,wild\n" : "text,label\n");
  for (int i = 0; i < rows; i++) {
    const int has[] = {i % 2, i / 2 % 2, i / 4 % 3 == 0};
    to += sprintf(to, "%c%c%s%s%s,", 'd' + i % 5, 'd' + i % 3, has[0] ? "a" : "", has[1] ? "b" : "",
                  has[2] ? "c" : "");
    for (int k = 0; k < LABELS; k++)
      if (columns)
        to += sprintf(to, columns == GAPS && (i + k) % 3 == 0 ? "%.0d%s" : "%d%s",
                      columns == GAPS && (i + k) % 3 == 0 ? 0 : has[k], k < 2 ? "," : "\n");
      else if (has[k])
        to += sprintf(to, "%s;", NAMES[k]);
    if (!columns) *to++ = '\n';
  }
  *to = '\0';
  return text;
}

static const char *config_of(form columns, int steps, const char *more) {
  const char *path = test_write_text(test_folder(), "a.csv", table_of(96, columns));
  return test_text("{\"data\": \"%s\", \"width\": 16, \"layers\": 1, \"batch_size\": 16, "
                   "\"learning_rate\": 0.02, \"steps\": %d, \"eval_every\": 20%s%s}",
                   path, steps, columns ? ", \"target_column\": \"cats,sun,wild\"" : "", more);
}

static const char LABELLED[] = ", \"task\": \"multi_label\"";

/* Both forms are the same data, and lead to the same model; accuracy is that of whole samples. */
TEST(runs_learn_labels) {
  const char *runs[2];
  filtra_evaluation e[2];
  for (int i = 0; i < 2; i++) {
    runs[i] = test_new_run();
    filtra_scores *s;
    assert_ok(test_train(config_of(i ? COLUMNS : LISTS, 120, i ? "" : LABELLED), runs[i], 1000));
    assert_ok(filtra_run_evaluate(test_device(), runs[i], "val", NULL, NULL, NULL, &e[i], &s));
    assert_int_equal(e[i].task, FILTRA_TASK_MULTI_LABEL);
    assert_true(e[i].f1 > 0.95 && e[i].accuracy > 0.8 && e[i].loss < 0.2);
    assert_float_equal(e[i].chance, 0.125, 0);
    assert_true(s->accuracy == e[i].accuracy && s->micro_f1 == e[i].f1 && s->classes == 3);
    filtra_scores_destroy(&s);
  }
  assert_memory_equal(&e[0], &e[1], sizeof e[0]);
  owned char *metrics = test_read(test_path(runs[0], "metrics.jsonl"), NULL);
  assert_non_null(strstr(metrics, "\"validation_macro_f1\":"));
  assert_null(strstr(metrics, "matthews"));
  owned char *config = test_read(test_path(runs[0], "config.json"), NULL);
  assert_non_null(strstr(config, "\"select_by\": \"f1\""));
}

/* What is unknown is neither learnt nor scored: runs reach the others as before. */
TEST(runs_learn_from_some_labels) {
  const char *run = test_new_run();
  filtra_evaluation e;
  filtra_scores *s;
  assert_ok(test_train(config_of(GAPS, 160, ", \"class_weights\": \"balanced\""), run, 1000));
  assert_ok(filtra_run_evaluate(test_device(), run, "train", NULL, NULL, NULL, &e, &s));
  assert_true(e.f1 > 0.95 && e.accuracy > 0.8 && e.loss < 0.2 && s->auc > 0.95);
  assert_true(e.samples > 80 && e.predictions == e.samples && e.chance == 0.25);
  for (int k = 0; k < LABELS; k++)
    assert_true(s->of_class[k].samples < 40 && s->of_class[k].hits > 0);
  filtra_scores_destroy(&s);
}

/* Two labels of four samples are known, of one none, which does not count: coins get both right in
 * a quarter. Each label is 0 in most samples that know it: half of the four have nothing else. */
TEST(guesses_of_some_labels) {
  const char *run = test_new_run();
  filtra_evaluation e;
  assert_ok(test_train(config_of(COLUMNS, 2, ""), run, 1000));
  const char *path = test_write_text(
      test_folder(), "x.csv", "text,cats,sun,wild\nda,1,,0\nde,0,0,\ndf,,0,1\ndg,0,,0\ndf,,,\n");
  assert_ok(filtra_run_evaluate(test_device(), run, "test", path, NULL, NULL, &e, NULL));
  assert_true(e.samples == 4 && e.predictions == 4 && e.chance == 0.25 && e.majority == 0.5);
  /* (1, 0, 1), the most frequent set, is right twice, each label's majority, (0, 0, 1), once. */
  path = test_write_text(test_folder(), "x.csv",
                         "text,cats,sun,wild\nda,1,0,1\nde,1,0,1\ndf,0,1,\ndg,0,,0\nde,0,,\n");
  assert_ok(filtra_run_evaluate(test_device(), run, "test", path, NULL, NULL, &e, NULL));
  assert_true(e.samples == 5 && e.majority == 0.4);
}

/* A run and its model file give the same probabilities: the sigmoids of the logits. */
TEST(predictors_give_each_label) {
  const char *run = test_new_run();
  float logits[3], one[3], two[3];
  filtra_prediction made, again;
  assert_ok(test_train(config_of(LISTS, 120, LABELLED), run, 1000));
  owned_predictor *p = NULL, *q = NULL;
  owned_run *opened = NULL;
  assert_ok(filtra_run_open(run, &opened));
  assert_ok(filtra_run_create_predictor(opened, test_device(), NULL, &p));
  assert_ok(filtra_predictor_create(test_device(), test_path(run, "model.safetensors"), NULL, &q));
  filtra_request r = {.text = "ddab", .text_length = 4, .logits = logits, .probabilities = one};
  assert_ok(filtra_predictor_predict(p, 1, &r, &made));
  r.probabilities = two;
  assert_ok(filtra_predictor_predict(q, 1, &r, &again));
  assert_memory_equal(one, two, sizeof one);
  for (int k = 0; k < 3; k++)
    assert_float_equal(one[k], 1 / (1 + exp(-(double)logits[k])), 1e-6);
  assert_true(one[0] > 0.5f && one[1] > 0.5f && one[2] < 0.5f);
  assert_true(made.probability == one[made.label] && made.probability >= one[0]);
  assert_string_equal(made.name, NAMES[made.label]);
}

TEST(other_labels_and_no_labels) {
  const char *run = test_new_run(), *folder = test_folder();
  filtra_evaluation e;
  assert_ok(test_train(config_of(COLUMNS, 2, ""), run, 1000));
  const char *path = test_write_text(folder, "x.csv", "text,cats,sun\ndab,1,1\n");
  assert_fails(filtra_run_evaluate(test_device(), run, "test", path, NULL, NULL, &e, NULL),
               FILTRA_ERROR_INPUT, "columns of labels, \"cats\" and others, are not all there");
  owned_run *opened = NULL;
  filtra_dataset *ds;
  assert_ok(filtra_run_open(run, &opened));
  assert_ok(filtra_run_open_data(opened, path, FILTRA_SPLIT_TEST, NULL, &ds)); /* to predict */
  assert_int_equal(filtra_dataset_get_info(ds)->unlabelled[FILTRA_SPLIT_TEST], 1);
  filtra_dataset_close(&ds);
  path = test_write_text(folder, "x.csv", "text\ndab\n");
  assert_fails(filtra_run_evaluate(test_device(), run, "test", path, NULL, NULL, &e, NULL),
               FILTRA_ERROR_INPUT, "columns of labels, \"cats\" and others, are not all there");
  path = test_write_text(folder, "x.csv", "wild,text,sun,cats\n0,dd,0,0\n0,de,0,0\n");
  assert_ok(filtra_run_evaluate(test_device(), run, "test", path, NULL, NULL, &e, NULL));
  assert_true(e.samples == 2 && e.majority == 1.0);
}

enum { WIDTH = 8 };

static filtra_model *three_labels(filtra_head head) {
  return test_model(test_device(), &(filtra_model_config){.task = FILTRA_TASK_MULTI_LABEL,
                                                          .vocabulary = 8,
                                                          .classes = 3,
                                                          .width = WIDTH,
                                                          .layers = 1,
                                                          .head = head,
                                                          .seed = 2});
}

static filtra_batch two_samples(const float *targets) {
  static const int32_t tokens[4] = {1, 2, 3, 4}, lengths[2] = {2, 2};
  static const float weights[2] = {1, 1};
  return (filtra_batch){.size = 2,
                        .length = 2,
                        .count = 2,
                        .tokens = tokens,
                        .lengths = lengths,
                        .weights = weights,
                        .targets = targets};
}

/* As BCEWithLogitsLoss with pos_weight 2, 0.5 and 3, without a step: at a learning rate of 0. */
TEST(weights_are_of_where_a_label_applies) {
  const float plain[6] = {1, 0, 1, 0, 0, 0}, heavy[6] = {2, 0, 3, 0, 0, 0};
  filtra_batch b = two_samples(heavy);
  owned_model *model = three_labels(FILTRA_HEAD_MLP);
  float x[6];
  double expected = 0;
  assert_ok(filtra_model_predict_batch(model, &b, x));
  for (int i = 0; i < 6; i++)
    expected +=
        (plain[i] > 0 ? heavy[i] * log1p(exp(-(double)x[i])) : log1p(exp((double)x[i]))) / 6;
  filtra_trainer_metrics m;
  owned_trainer *trainer = test_trainer(model, NULL);
  assert_ok(filtra_trainer_step(trainer, &b, NULL));
  assert_ok(filtra_trainer_finish(trainer, &m));
  assert_float_equal(m.loss, expected, 1e-5);
  b.targets = (float[6]){0, -2};
  assert_fails(filtra_trainer_step(trainer, &b, NULL), FILTRA_ERROR_INPUT,
               "sample 0 has the target -2 for label 1");
  b.targets = NULL;
  assert_fails(filtra_trainer_step(trainer, &b, NULL), FILTRA_ERROR_ARGUMENT,
               "needs targets and weights here");
}

/* The loss is a mean over known labels, and the others have no gradient. */
TEST(unknown_labels_weigh_nothing) {
  const float targets[6] = {2, -1, 0, 1, -1, -1};
  filtra_batch b = two_samples(targets);
  owned_model *model = three_labels(FILTRA_HEAD_LINEAR);
  filtra_parameters *params = filtra_model_parameters(model);
  float x[6], before[3], after[3];
  double loss, score, weight;
  filtra_trainer_metrics m;
  assert_ok(filtra_model_predict_batch(model, &b, x));
  assert_ok(filtra_model_evaluate_batch(model, &b, &loss, &score, &weight));
  assert_float_equal(weight, 1.0, 0);
  const double parts[3] = {log1p(exp(-(double)x[0])), log1p(exp((double)x[2])),
                           log1p(exp(-(double)x[3]))};
  assert_ok(filtra_parameters_get(params, "head.bias", before, 3));
  owned_trainer *trainer =
      test_trainer(model, &(filtra_train_options){.optimizer = {.learning_rate = 0.1f}});
  assert_ok(filtra_trainer_step(trainer, &b, NULL));
  assert_ok(filtra_trainer_finish(trainer, &m));
  assert_float_equal(m.loss, (2 * parts[0] + parts[1] + parts[2]) / 3, 1e-5);
  assert_ok(filtra_parameters_get(params, "head.bias", after, 3));
  assert_true(after[0] != before[0] && after[1] == before[1] && after[2] != before[2]);
}

/* A logit of 0 predicts no label, one just above it does: in training as elsewhere. */
TEST(logits_of_zero_predict_no_label) {
  static const float BIAS[3] = {0, FLT_MIN, -FLT_MIN};
  const float none[3 * WIDTH] = {0};
  float targets[6] = {0, 1, 0, 1, 1, 0}, x[6];
  filtra_batch b = two_samples(targets);
  owned_model *model = three_labels(FILTRA_HEAD_LINEAR);
  filtra_parameters *params = filtra_model_parameters(model);
  assert_ok(filtra_parameters_set(params, "head.weight", none, FT_COUNT(none)));
  assert_ok(filtra_parameters_set(params, "head.bias", BIAS, FT_COUNT(BIAS)));
  assert_ok(filtra_model_predict_batch(model, &b, x));
  assert_memory_equal(x, BIAS, sizeof BIAS);
  assert_true(!ft_predicts_label(x[0]) && ft_predicts_label(x[1]) && !ft_predicts_label(x[2]));
  for (int right = 1; right >= 0; right--) { /* of two samples */
    filtra_trainer_metrics m;
    owned_trainer *trainer = test_trainer(model, NULL);
    targets[3] = right ? 0.0f : 1.0f;
    assert_ok(filtra_trainer_step(trainer, &b, NULL));
    assert_ok(filtra_trainer_finish(trainer, &m));
    assert_float_equal(m.accuracy, right ? 1.0 : 0.5, 0);
  }
}

TEST(settings_of_labels) {
  static const struct {
    filtra_status status;
    const char *more, *part;
  } cases[] = {
      {FILTRA_ERROR_ARGUMENT, "\"label_smoothing\": 0.1", "judges each label alone"},
      {FILTRA_ERROR_INPUT, "\"select_by\": \"matthews\"", "are auto, accuracy, loss, f1, macro_f1"},
      {FILTRA_ERROR_INPUT, "\"class_weights\": \"1:2\"", "has 2 numbers, the data have 3 classes"},
      {FILTRA_ERROR_ARGUMENT, "\"regression_loss\": \"mae\"", "regression_loss is for regression"},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++)
    assert_fails(test_train(config_of(LISTS, 120, test_text("%s, %s", LABELLED, cases[i].more)),
                            test_new_run(), 9),
                 cases[i].status, cases[i].part);
  assert_ok(test_train(config_of(LISTS, 120,
                                 test_text("%s, \"class_weights\": \"balanced\", "
                                           "\"patience\": 2, \"patience_by\": \"macro_f1\"",
                                           LABELLED)),
                       test_new_run(), 1000));
}

TEST(runs_of_labels_resume) {
  const char *whole = test_new_run(), *cut = test_new_run();
  const char *config = config_of(LISTS, 120, ", \"label_separator\": \";\", \"accumulate\": 2");
  owned char *kept = strdup(config);
  assert_ok(test_train(kept, whole, 1000));
  assert_fails(test_train(kept, cut, 50), FILTRA_ERROR_CANCELLED, "");
  assert_ok(test_train(NULL, cut, 1000));
  test_same_run(whole, cut);
}

TEST_MAIN(NULL, test_teardown)
