/* GFSA with the filter formed and dropout on its elements, against a float64 reference that forms
 * it too; dropout changes only training. */
#include "support/gfsa.h"
#include "support/harness.h"
#include "support/toy.h"

#include "nn/formed_attention.h"
#include "nn/formed_filter.h"

#include <filtra/filtra.h>

/* The first sequences have no key at first, or none at all. */
static const float MASK[18] = {0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1};

TEST_BUILD(build) {
  const test_gfsa *s = op->settings;
  filtra_tensor *w[3];
  filtra_gfsa_options o = test_gfsa_operands(s, in, w);
  const ft_scope scope = {.graph = g};
  filtra_tensor *a = ft_formed_attention(&scope, in[0], in[1], &o.attention, false);
  out[0] = test_heads_as_floats(g, ft_formed_filter(&scope, a, in[2], w, &o, s->filter_dropout));
}

/* Behind dropout of A rows are of whole fours, as the reference draws them. */
TEST(against_the_reference) {
  static const test_gfsa cases[] = {
      {1, 2, 1, 5, 5, 3, .filter_dropout = 0.5f},
      {2, 3, 7, 5, 5, 1, .filter_dropout = 0.3f, .fixed = true},
      {2, 2, 9, 5, 5, 4, .filter_dropout = 0.4f, .causal = true, .mask = true},
      {4, 2, 3, 5, 5, 3, .filter_dropout = 0.4f, .mask = true},
      {1, 2, 37, 4, 4, 9, .filter_dropout = 0.2f, .causal = true},
      {2, 2, 8, 5, 5, 3, .filter_dropout = 0.3f, .dropout = 0.4f},
      {2, 2, 7, 5, 5, 3},
  };
  for (size_t i = 0; i < FT_COUNT(cases); i++) {
    test_op op = test_gfsa_op(&cases[i], "formed filter", build);
    if (cases[i].mask) op.in[op.inputs - 1].fixed = MASK;
    test_check_op(test_device(), &op);
  }
}

/* ---- in models ---- */

static filtra_model *model_of(const char *mixer, filtra_precision precision) {
  filtra_model *model =
      test_model(test_device(), &(filtra_model_config){.mixer = mixer,
                                                       .vocabulary = TOY_VOCABULARY,
                                                       .classes = TOY_CLASSES,
                                                       .max_length = TOY_LENGTH,
                                                       .width = 20,
                                                       .precision = precision,
                                                       .seed = 5});
  return model;
}

static const char PLAIN[] = "{\"name\": \"gfsa\", \"wK\": 0.3}";
static const char DROPPED[] = "{\"name\": \"gfsa\", \"wK\": 0.3, \"filter_dropout\": 0.5}";

static void assert_same_predictions(filtra_model *a, filtra_model *b) {
  float x[TOY_SIZE * TOY_CLASSES], y[TOY_SIZE * TOY_CLASSES];
  toy_batch batch;
  toy_make_batch(1, &batch);
  assert_ok(filtra_model_predict_batch(a, &batch.batch, x));
  assert_ok(filtra_model_predict_batch(b, &batch.batch, y));
  assert_memory_equal(x, y, sizeof x);
}

/* The same function of the same weights; training with it goes elsewhere, and again to the same
 * bits. A batch that is taken in parts drops the same elements. */
TEST(training_alone_drops) {
  float losses[4][3];
  owned_model *plain = model_of(PLAIN, FILTRA_PRECISION_FP32);
  for (int i = 0; i < 4; i++) {
    owned_model *model = model_of(i ? DROPPED : PLAIN, FILTRA_PRECISION_FP32);
    assert_same_predictions(plain, model);
    owned_trainer *trainer = test_trainer(
        model, &(filtra_train_options){.optimizer = {.learning_rate = 1e-3f, .steps = 3},
                                       .accumulate = i == 3 ? 3 : 1});
    toy_train(trainer, 0, 3, losses[i]);
  }
  assert_true(fabsf(losses[0][0] - losses[1][0]) > 1e-4f);
  assert_memory_equal(losses[1], losses[2], sizeof losses[1]);
  for (int step = 0; step < 3; step++)
    assert_float_equal((double)losses[3][step], (double)losses[1][step], 2e-6);
}

/* Where products are of 16 bits, the formed filter is fp32 still. */
TEST(beside_16_bits) {
  float losses[3];
  if (!test_stores(test_device(), FILTRA_BF16)) skip();
  owned_model *model = model_of(DROPPED, FILTRA_PRECISION_BF16);
  owned_trainer *trainer = toy_trainer(model);
  toy_train(trainer, 0, 3, losses);
  for (int i = 0; i < 3; i++)
    assert_true(isfinite(losses[i]) && losses[i] < 3.0f);
}

TEST_MAIN(NULL, test_teardown)
