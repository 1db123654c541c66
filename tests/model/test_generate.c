/* Generators against the model's own predictions for the whole text: prompts, steps, several
 * sequences, a text longer than max_length; and what they refuse. */
#include "support/harness.h"

#include "gpu/internal.h"

#include "base/memory.h"
#include "nn/mixer.h"

#include <filtra/generate.h>

enum { VOCABULARY = 11, LONGEST = 21, MOST_SEQUENCES = 3 };

static filtra_model *open_model(const filtra_model_config *given) {
  filtra_model_config c = *given;
  c.task = FILTRA_TASK_LANGUAGE_MODEL;
  c.vocabulary = VOCABULARY;
  c.width = 24;
  c.heads = 3;
  c.dropout = 0.2f;
  if (!c.max_length) c.max_length = LONGEST;
  filtra_model *model = test_model(test_device(), &c);
  filtra_parameters *p = filtra_model_parameters(model);
  for (size_t i = 0; i < filtra_parameters_count(p); i++) {
    const int64_t n = test_scalars(p, i);
    owned float *values = test_alloc((size_t)n * sizeof *values);
    test_random(100 + i, -0.4, 0.4, values, (size_t)n);
    assert_ok(filtra_parameters_set(p, filtra_parameters_name(p, i), values, (size_t)n));
  }
  return model;
}

static void make_text(uint64_t seed, int32_t *tokens, size_t count) {
  float noise[MOST_SEQUENCES * 4 * LONGEST];
  assert_true(count <= FT_COUNT(noise));
  test_random(seed, 0, 1, noise, count);
  for (size_t i = 0; i < count; i++)
    tokens[i] = 1 + (int32_t)(noise[i] * (VOCABULARY - 1));
}

/* logits [sequences, VOCABULARY] after the last of `length` tokens, from the whole text at once. */
static void predict_last(filtra_model *model, const int32_t *tokens, uint32_t sequences,
                         uint32_t length, float *logits) {
  int32_t lengths[MOST_SEQUENCES];
  for (uint32_t i = 0; i < sequences; i++)
    lengths[i] = (int32_t)length;
  const filtra_batch batch = {.size = sequences,
                              .length = length,
                              .count = sequences,
                              .tokens = tokens,
                              .lengths = lengths};
  float *all = test_alloc(sizeof *all * sequences * length * VOCABULARY);
  assert_ok(filtra_model_predict_batch(model, &batch, all));
  for (uint32_t i = 0; i < sequences; i++)
    memcpy(logits + i * VOCABULARY, all + ((i + 1) * length - 1) * VOCABULARY,
           VOCABULARY * sizeof *all);
  free(all);
}

static void assert_near(const float *got, const float *expected, size_t count, const char *what) {
  double reference[MOST_SEQUENCES * VOCABULARY];
  for (size_t i = 0; i < count; i++)
    reference[i] = expected[i];
  double error = test_relative_error(got, reference, count);
  if (!(error < 1e-5)) fail_msg("%s: logits are off by %g", what, error);
}

/* Feeds `prompt` tokens, then one by one up to the longest. */
static void check(const filtra_model_config *config, uint32_t sequences, uint32_t prompt) {
  owned_model *model = open_model(config);
  owned_generator *gen = NULL;
  int32_t text[MOST_SEQUENCES * LONGEST], piece[MOST_SEQUENCES * LONGEST];
  float logits[MOST_SEQUENCES * VOCABULARY], whole[MOST_SEQUENCES * VOCABULARY];
  uint32_t longest = (uint32_t)filtra_model_max_length(model);
  assert_ok(
      filtra_generator_create(model, &(filtra_generator_options){.sequences = sequences}, &gen));
  for (uint64_t seed = 1; seed < 3; seed++) {
    make_text(seed, text, sequences * longest);
    for (uint32_t done = 0, next = prompt; done < longest; done = next++) {
      for (uint32_t i = 0; i < sequences; i++)
        memcpy(piece + i * (next - done), text + i * longest + done, (next - done) * sizeof *piece);
      assert_ok(filtra_generator_feed(gen, piece, next - done, logits));
      assert_int_equal(filtra_generator_length(gen), next);
      for (uint32_t i = 0; i < sequences; i++)
        memcpy(piece + i * next, text + i * longest, next * sizeof *piece);
      predict_last(model, piece, sequences, next, whole);
      assert_near(logits, whole, (size_t)sequences * VOCABULARY, config->mixer);
    }
    filtra_generator_reset(gen);
  }
}

TEST(steps_agree_with_predictions) {
  for (size_t i = 0; i < filtra_mixer_count(); i++) {
    if (ft_mixer_at(i)->not_causal) continue;
    const char *mixer = ft_mixer_at(i)->name;
    check(&(filtra_model_config){.mixer = mixer}, 1, 7);
    check(&(filtra_model_config){.mixer = mixer, .positions = FILTRA_POSITIONS_SINUSOIDAL}, 3, 1);
    check(&(filtra_model_config){.mixer = mixer, .positions = FILTRA_POSITIONS_NONE}, 2, LONGEST);
  }
}

TEST(variants_agree_too) {
  check(&(filtra_model_config){.mixer = "[\"softmax\", {\"name\": \"gfsa\", \"layers\": 1}]",
                               .activation = FILTRA_ACTIVATION_GELU_TANH,
                               .position_offset = 2,
                               .embedding_norm = true,
                               .no_last_norm = true,
                               .no_head_bias = true},
        2, 3);
  check(
      &(filtra_model_config){.mixer = "softmax", .norm = FILTRA_NORM_POST, .tie_embeddings = true},
      2, 3);
  check(&(filtra_model_config){.mixer = "softmax", .mask_zero = true, .scale_embeddings = true}, 1,
        17);
  check(&(filtra_model_config){.mixer = "{\"name\": \"plaplacian\", \"p\": [1.2, 2],"
                                        " \"euler\": true, \"diagonal\": \"zero\"}"},
        2, 5);
  check(&(filtra_model_config){.mixer = "softmax", .max_length = 1}, 1, 1);
  check(&(filtra_model_config){.mixer = "softmax", .max_length = 2}, 2, 2);
}

/* Past 64 tokens a step reads more rows. */
TEST(long_texts_agree) {
  enum { LENGTH = 67 };
  owned_model *model = open_model(&(filtra_model_config){.max_length = 131});
  owned_generator *gen = NULL;
  int32_t text[LENGTH];
  float logits[VOCABULARY], whole[VOCABULARY];
  make_text(5, text, LENGTH);
  assert_ok(filtra_generator_create(model, NULL, &gen));
  assert_ok(filtra_generator_feed(gen, text, 62, NULL));
  assert_ok(filtra_generator_feed(gen, text + 62, 5, logits));
  predict_last(model, text, 1, LENGTH, whole);
  assert_near(logits, whole, VOCABULARY, "a long text");
}

/* A text that outgrows the model goes on from its newest half. */
TEST(long_texts_slide) {
  enum { S = 2, MORE = 5, HALF = (LONGEST + 1) / 2 };
  owned_model *model = open_model(&(filtra_model_config){0});
  owned_generator *gen = NULL;
  int32_t text[S * 3 * LONGEST], piece[S * 3 * LONGEST], kept[S * LONGEST];
  float logits[S * VOCABULARY], whole[S * VOCABULARY];
  make_text(6, text, FT_COUNT(text));
  assert_ok(filtra_generator_create(
      model, &(filtra_generator_options){.sequences = S, .slide = true}, &gen));
  const uint32_t fed[] = {LONGEST - 2, MORE, LONGEST - HALF, 1, 2 * LONGEST};
  const uint32_t left[] = {LONGEST - 2, HALF, LONGEST, HALF, HALF};
  int32_t all[S][8 * LONGEST];
  uint32_t length = 0;
  for (size_t k = 0; k < FT_COUNT(fed); k++) {
    for (uint32_t i = 0; i < S * fed[k]; i++) {
      piece[i] = text[(i * 7 + k) % FT_COUNT(text)];
      all[i / fed[k]][length + i % fed[k]] = piece[i];
    }
    length += fed[k];
    assert_ok(filtra_generator_feed(gen, piece, fed[k], logits));
    assert_int_equal(filtra_generator_length(gen), left[k]);
    for (uint32_t i = 0; i < S; i++)
      memcpy(kept + i * left[k], all[i] + length - left[k], left[k] * sizeof *kept);
    predict_last(model, kept, S, left[k], whole);
    assert_near(logits, whole, S * VOCABULARY, "a sliding text");
  }
}

TEST(seeds_decide_the_text) {
  enum { TOKENS = 40 };
  owned_model *model = open_model(&(filtra_model_config){0});
  int32_t text[3][TOKENS];
  for (int run = 0; run < 3; run++) {
    owned_generator *gen = NULL;
    float logits[VOCABULARY];
    const filtra_sampling sampling = {.temperature = 1, .seed = run == 2 ? 8 : 7};
    assert_ok(filtra_generator_create(model, &(filtra_generator_options){.slide = true}, &gen));
    assert_ok(filtra_generator_feed(gen, (int32_t[]){3, 4, 5}, 3, logits));
    for (uint64_t i = 0; i < TOKENS; i++) {
      assert_ok(filtra_sample_token(logits, VOCABULARY, &sampling, i, &text[run][i]));
      assert_ok(filtra_generator_feed(gen, &text[run][i], 1, logits));
    }
  }
  assert_memory_equal(text[0], text[1], sizeof text[0]);
  assert_memory_not_equal(text[0], text[2], sizeof text[0]);
}

/* ---- errors ---- */

TEST(mistakes_are_told) {
  owned_model *model = open_model(&(filtra_model_config){0});
  owned_generator *gen = NULL;
  int32_t text[LONGEST + 1];
  float logits[VOCABULARY], again[VOCABULARY];
  make_text(9, text, FT_COUNT(text));
  assert_ok(filtra_generator_create(model, NULL, &gen));
  assert_fails(filtra_model_set_precision(model, FILTRA_PRECISION_BF16), FILTRA_ERROR_ARGUMENT,
               "while generators or graphs use the model");
  assert_ok(filtra_generator_feed(gen, text, LONGEST - 1, logits));
  assert_fails(filtra_generator_feed(gen, text, 2, logits), FILTRA_ERROR_INPUT,
               "20 tokens and 2 more; the model takes at most 21 (max_length)");
  assert_fails(filtra_generator_feed(gen, text, 0, logits), FILTRA_ERROR_ARGUMENT,
               "at least one token");
  assert_fails(filtra_generator_feed(gen, (int32_t[]){-1}, 1, logits), FILTRA_ERROR_INPUT,
               "sequence 0 has token -1 at position 20, accepted are 0 to 10");
  assert_fails(filtra_generator_feed(gen, (int32_t[]){VOCABULARY}, 1, logits), FILTRA_ERROR_INPUT,
               "token 11");
  assert_int_equal(filtra_generator_length(gen), LONGEST - 1); /* none of them did anything */
  assert_ok(filtra_generator_feed(gen, text + LONGEST - 1, 1, logits));
  filtra_generator_reset(gen);
  assert_int_equal(filtra_generator_length(gen), 0);
  assert_ok(filtra_generator_feed(gen, text, LONGEST - 1, NULL));
  assert_ok(filtra_generator_feed(gen, text + LONGEST - 1, 1, again));
  assert_memory_equal(logits, again, sizeof logits);
  filtra_generator_destroy(&gen);
  filtra_model_destroy(&model);
  const filtra_model_config classifier = {.vocabulary = VOCABULARY, .classes = 3};
  assert_ok(filtra_model_create(test_device(), &classifier, &model));
  assert_fails(filtra_generator_create(model, NULL, &gen), FILTRA_ERROR_ARGUMENT,
               "only language models");
  assert_null(gen);
}

/* Every allocation and every Vulkan call on the way to the first logits fails once. */
TEST(failures_are_survived) {
  owned_model *model = open_model(&(filtra_model_config){0});
  for (int vulkan = 0; vulkan < 2; vulkan++) {
    filtra_status status = FILTRA_ERROR_HOST_MEMORY;
    for (long n = 1; status; n++) {
      filtra_generator *gen;
      float logits[VOCABULARY];
      if (vulkan)
        ft_vk_fail_after(n, VK_ERROR_OUT_OF_DEVICE_MEMORY);
      else
        ft_memory_fail_after(n);
      status = filtra_generator_create(model, NULL, &gen);
      if (!status) status = filtra_generator_feed(gen, (int32_t[]){1, 2, 3}, 3, logits);
      ft_vk_fail_after(0, VK_SUCCESS);
      ft_memory_fail_after(0);
      if (status && gen) {
        assert_int_equal(filtra_generator_length(gen), 0);
        assert_ok(filtra_generator_feed(gen, (int32_t[]){1, 2, 3}, 3, logits));
      }
      filtra_generator_destroy(&gen);
      assert_null(gen);
    }
  }
}

TEST_MAIN(NULL, test_teardown)
