/* What a model reports about itself: its configuration, and its memory before it is created. */
#include "support/harness.h"
#include "support/run.h"

#include <filtra/filtra.h>

static const filtra_model_config small = {.mixer = "{\"name\": \"agf\", \"K\": 3}",
                                          .vocabulary = 50,
                                          .classes = 3,
                                          .max_length = 64,
                                          .width = 32,
                                          .positions = FILTRA_POSITIONS_SINUSOIDAL};

TEST(a_configuration_makes_the_same_model) {
  filtra_model *model, *loaded, *again;
  filtra_model_config config, twice;
  void *bytes, *others;
  size_t size, other_size;
  assert_ok(filtra_model_create(test_device(), &small, &model));
  assert_ok(filtra_model_save_to_memory(model, &bytes, &size));
  assert_ok(filtra_model_load_from_memory(test_device(), bytes, size, &loaded));
  assert_ok(filtra_model_get_config(loaded, &config));
  assert_int_equal(config.ffn_width, 64);
  assert_int_equal(config.positions, FILTRA_POSITIONS_SINUSOIDAL);
  assert_non_null(strstr(config.mixer, "\"K\":3"));
  assert_non_null(strstr(config.mixer, "\"basis\""));
  assert_ok(filtra_model_create(test_device(), &config, &again));
  assert_ok(filtra_model_get_config(again, &twice));
  assert_string_equal(config.mixer, twice.mixer);
  config.mixer = twice.mixer;
  assert_memory_equal(&config, &twice, sizeof config);
  assert_ok(filtra_model_save_to_memory(loaded, &others, &other_size));
  assert_int_equal(size, other_size);
  assert_memory_equal(bytes, others, size);
  filtra_model_destroy(&again);
  assert_fails(filtra_model_load_from_memory(test_device(), bytes, size - 1, &again),
               FILTRA_ERROR_INPUT, "model in memory");
  filtra_free(bytes);
  filtra_free(others);
  filtra_model_destroy(&model);
  filtra_model_destroy(&loaded);
}

/* Against what is really taken: all but what drivers round up and the optimizer's numbers. */
TEST(memory_is_known_before) {
  for (int training = 0; training < 2; training++) {
    filtra_memory_use memory;
    uint64_t before = filtra_device_memory_used(test_device());
    assert_ok(filtra_model_measure(test_device(), &small, 8, 64, training, &memory));
    assert_int_equal(filtra_device_memory_used(test_device()), before);
    owned_model *model = test_model(test_device(), &small);
    owned_trainer *trainer = NULL;
    if (training) {
      assert_ok(filtra_trainer_create(model, NULL, &trainer));
      assert_ok(filtra_trainer_prepare(trainer, 8, 64));
    } else {
      int32_t tokens[8 * 64] = {0}, lengths[8];
      float results[8 * 3];
      for (int i = 0; i < 8; i++)
        lengths[i] = 64;
      filtra_batch batch = {.size = 8, .length = 64, .tokens = tokens, .lengths = lengths};
      assert_ok(filtra_model_predict_batch(model, &batch, results));
    }
    uint64_t taken = filtra_device_memory_used(test_device()) - before;
    print_message("%s: %llu bytes of %llu foreseen\n", training ? "training" : "inference",
                  (unsigned long long)taken, (unsigned long long)memory.total);
    assert_between(taken, memory.total, memory.total + (training ? 1 << 20 : 1 << 16));
  }
  filtra_memory_use memory;
  filtra_model_config config = small;
  assert_fails(filtra_model_measure(test_device(), &config, 8, 65, FILTRA_FOR_TRAINING, &memory),
               FILTRA_ERROR_ARGUMENT, "at most 64 tokens");
  config.width = 33;
  assert_fails(filtra_model_measure(test_device(), &config, 8, 64, FILTRA_FOR_TRAINING, &memory),
               FILTRA_ERROR_INPUT, "width");
}

TEST_MAIN(NULL, test_teardown)
