/* Two training steps of a small model with each mixer, run entirely by the adversary: forward,
 * backward and the optimizer, twice in different orders, which must not change a bit. */
#include "support/harness.h"

#include <filtra/filtra.h>

enum { SIZE = 3, LENGTH = 7, CLASSES = 3, VOCABULARY = 6, STEPS = 2 };

/* The last one is the whole Converter, block and positions included. */
static const char CONVERTER[] = "converter";
static const char *const MIXERS[] = {"softmax",     "gfsa",        "plaplacian", "agf",
                                     "synvolution", "kernelution", CONVERTER};

static filtra_trainer *make_trainer(const char *mixer, filtra_model **model) {
  const bool converter = !strcmp(mixer, CONVERTER);
  assert_ok(filtra_model_create(
      test_device(),
      &(filtra_model_config){.mixer = converter ? "kernelution" : mixer,
                             .block = converter ? FILTRA_BLOCK_CONVERTER : FILTRA_BLOCK_TRANSFORMER,
                             .positions =
                                 converter ? FILTRA_POSITIONS_RECURRENT : FILTRA_POSITIONS_LEARNED,
                             .vocabulary = VOCABULARY,
                             .classes = CLASSES,
                             .max_length = LENGTH,
                             .width = 12,
                             .dropout = 0.1f,
                             .seed = 5},
      model));
  filtra_trainer *trainer =
      test_trainer(*model, &(filtra_train_options){.optimizer = {.learning_rate = 1e-3f,
                                                                 .weight_decay = 0.01f,
                                                                 .clip_norm = 1.0f,
                                                                 .steps = STEPS},
                                                   .seed = 11});
  return trainer;
}

static void train(const char *mixer, float losses[STEPS]) {
  static const int32_t tokens[SIZE * LENGTH] = {1, 2, 3, 4, 5, 1, 2, 5, 4, 3, 0,
                                                0, 0, 0, 2, 2, 1, 5, 1, 0, 0};
  static const int32_t lengths[SIZE] = {7, 3, 5}, labels[SIZE] = {1, 2, 0};
  static const float weights[SIZE] = {1, 1, 1};
  const filtra_batch batch = {.size = SIZE,
                              .length = LENGTH,
                              .count = SIZE,
                              .tokens = tokens,
                              .lengths = lengths,
                              .labels = labels,
                              .weights = weights};
  owned_model *model = NULL;
  owned_trainer *trainer = make_trainer(mixer, &model);
  for (int i = 0; i < STEPS; i++) {
    filtra_trainer_metrics m;
    assert_ok(filtra_trainer_step(trainer, &batch, NULL));
    assert_ok(filtra_trainer_finish(trainer, &m));
    assert_true(isfinite(m.loss) && m.loss > 0.0f && isfinite(m.gradient_norm));
    losses[i] = m.loss;
  }
}

TEST(test_steps) {
  for (size_t i = 0; i < sizeof MIXERS / sizeof *MIXERS; i++) {
    float first[STEPS], again[STEPS];
    train(MIXERS[i], first);
    train(MIXERS[i], again);
    assert_memory_equal(first, again, sizeof first);
    print_message("%-12s %.6f %.6f\n", MIXERS[i], (double)first[0], (double)first[1]);
  }
}

TEST_MAIN(NULL, test_teardown)
