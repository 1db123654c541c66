/* Parameters by name: frozen ones have no gradients; rates and decay for some of them; words that
 * select parameters; resumed runs. That frozen ones stay with every mixer is in test_trainer.c,
 * which has the kernels of all. */
#include "support/harness.h"
#include "support/run.h"
#include "support/toy.h"

#include "base/memory.h"
#include "graph/parameters.h"
#include "graph/tape.h"
#include "train/groups.h"
#include "train/trainer.h"

#include <filtra/filtra.h>

/* Steps that change with a gradient as it does, whatever its size; no schedule, no clipping. */
static filtra_train_options smooth(const char *frozen) {
  return (filtra_train_options){
      .optimizer = {.learning_rate = 1.0f, .epsilon = 1.0f}, .freeze = frozen, .seed = 11};
}

static void train(filtra_model *model, const filtra_train_options *options, int steps) {
  filtra_trainer *trainer = NULL;
  assert_ok(filtra_trainer_create(model, options, &trainer));
  toy_train(trainer, 0, steps, NULL);
  filtra_trainer_destroy(&trainer);
}

/* Calls of a step's graph. */
static size_t calls(const char *frozen) {
  owned_model *model = toy_model("softmax", FILTRA_PRECISION_FP32);
  const filtra_train_options options = smooth(frozen);
  owned_trainer *trainer = NULL;
  ft_batch_graph b;
  assert_ok(filtra_trainer_create(model, &options, &trainer));
  assert_ok(ft_trainer_build_part(trainer, TOY_SIZE, TOY_LENGTH, &b));
  const size_t count = b.graph->tape.call_count;
  ft_batch_graph_close(&b);
  return count;
}

TEST(frozen_cost_no_backward_pass) {
  const size_t all = calls(NULL), embeddings = calls("embeddings"), head = calls("backbone");
  print_message("calls: %zu, without embeddings %zu, the head alone %zu\n", all, embeddings, head);
  assert_true(embeddings < all);
  assert_true(head * 5 < all * 3); /* the forward pass and little more */
}

/* The change of a parameter's first number in AdamW's first step, which is one rate long. */
static double change(filtra_model *model, const char *name, const float *before) {
  filtra_parameters *p = filtra_model_parameters(model);
  size_t at = 0;
  for (size_t i = 0; i < filtra_parameters_count(p); i++) {
    const size_t n = (size_t)test_scalars(p, i);
    owned float *values = test_alloc(n * sizeof *values);
    if (strcmp(filtra_parameters_name(p, i), name)) {
      at += n;
      continue;
    }
    assert_ok(filtra_parameters_get(p, name, values, n));
    double most = 0;
    for (size_t k = 0; k < n; k++)
      most = fmax(most, fabs((double)values[k] - (double)before[at + k]));
    return most;
  }
  fail_msg("no %s", name);
  return 0;
}

TEST(rates_by_layer_and_name) {
  size_t count;
  owned_model *model = toy_model("softmax", FILTRA_PRECISION_FP32);
  owned float *before = toy_weights(model, &count);
  const filtra_train_options options = {.optimizer = {.learning_rate = 0.01f, .epsilon = 1e-12f},
                                        .layer_decay = 0.5f,
                                        .learning_rates =
                                            "head = 4, layers.*.ffn=0.5,layers.1.ffn.2.weight=2"};
  train(model, &options, 1);
  const struct {
    const char *name;
    double factor;
  } expected[] = {{"head.1.weight", 4},
                  {"head.2.bias", 4},
                  {"norm.weight", 1},
                  {"layers.1.mixer.out.weight", 0.5},
                  {"layers.0.mixer.out.bias", 0.25},
                  {"layers.1.ffn.1.weight", 0.25},
                  {"layers.1.ffn.2.weight", 1},
                  {"layers.0.ffn.1.bias", 0.125},
                  {"embedding.weight", 0.125},
                  {"positions.weight", 0.125}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    const double is = change(model, expected[i].name, before);
    if (!(fabs(is - 0.01 * expected[i].factor) < 2e-3 * 0.01 * expected[i].factor + 1e-7))
      fail_msg("%s: %g of the rate, wanted %g", expected[i].name, is / 0.01, expected[i].factor);
  }
}

/* A learning rate of almost 0 leaves what decoupled decay does: rate * decay * weight. */
TEST(decay_by_name) {
  size_t count;
  owned_model *model = toy_model("softmax", FILTRA_PRECISION_FP32);
  owned_model *plain = toy_model("softmax", FILTRA_PRECISION_FP32);
  const filtra_train_options options = {
      .optimizer = {.learning_rate = 0.1f, .epsilon = 1.0f, .weight_decay = 0.5f},
      .weight_decays = "embeddings=2,layers.0=0"};
  const filtra_train_options none = {.optimizer = {.learning_rate = 0.1f, .epsilon = 1.0f}};
  owned float *before = toy_weights(model, &count);
  train(model, &options, 1);
  train(plain, &none, 1);
  const filtra_parameters *p = filtra_model_parameters(model);
  owned float *is = toy_weights(model, &count), *without = toy_weights(plain, &count);
  size_t at = 0;
  for (size_t i = 0; i < p->count; i++) {
    const char *name = p->list[i].name;
    double decay = p->list[i].options.decay ? 0.5 : 0.0;
    if (!strncmp(name, "layers.0.", 9)) decay = 0.0;
    if (!strcmp(name, "embedding.weight") || !strcmp(name, "positions.weight")) decay = 2.0;
    for (int64_t k = 0; k < p->list[i].elements; k++, at++) {
      const double wanted = (double)without[at] - 0.1 * decay * (double)before[at];
      if (!(fabs((double)is[at] - wanted) <= 1e-6))
        fail_msg("%s: %g, wanted %g", name, is[at], wanted);
    }
  }
}

/* Options whose values are the defaults change no bit, and one rate for all is the rate itself. */
TEST(no_groups_no_change) {
  owned_model *plain = toy_model("softmax", FILTRA_PRECISION_FP32);
  owned_model *empty = toy_model("softmax", FILTRA_PRECISION_FP32);
  filtra_train_options options = {.optimizer = {.learning_rate = 3e-3f, .clip_norm = 1.0f}};
  train(plain, &options, 5);
  options.freeze = options.learning_rates = options.weight_decays = "";
  options.layer_decay = 1.0f;
  train(empty, &options, 5);
  toy_same_bits(plain, empty);
}

static filtra_train_options tuned(uint64_t parts) {
  return (filtra_train_options){.optimizer = {.learning_rate = 3e-3f,
                                              .weight_decay = 0.01f,
                                              .clip_norm = 1.0f,
                                              .schedule = FILTRA_SCHEDULE_COSINE,
                                              .steps = 40},
                                .freeze = "embeddings, first layer",
                                .learning_rates = "head=5",
                                .layer_decay = 0.8f,
                                .accumulate = parts,
                                .seed = 11};
}

/* In 16 bits, in parts, and restored: the same bits, frozen ones never changed. */
TEST(restored_with_groups) {
  static const filtra_precision PRECISIONS[] = {FILTRA_PRECISION_FP32, FILTRA_PRECISION_BF16,
                                                FILTRA_PRECISION_FP16};
  const char *path = test_path(test_folder(), "groups.safetensors");
  for (size_t k = 0; k < 6; k++) {
    const filtra_precision precision = PRECISIONS[k % 3];
    const filtra_train_options options = tuned(k < 3 ? 1 : 2);
    size_t count;
    owned_model *whole = toy_model("gfsa", precision);
    owned float *fresh = toy_weights(whole, &count);
    owned_model *first = toy_model("gfsa", precision), *second = toy_model("gfsa", precision);
    filtra_trainer *t = NULL;
    train(whole, &options, 8);
    assert_ok(filtra_trainer_create(first, &options, &t));
    toy_train(t, 0, 5, NULL);
    assert_ok(filtra_trainer_save(t, path));
    filtra_trainer_destroy(&t);
    assert_ok(filtra_trainer_create(second, &options, &t));
    toy_train(t, 0, 2, NULL);
    assert_ok(filtra_trainer_restore(t, path));
    toy_train(t, 5, 8, NULL);
    const filtra_parameters *p = filtra_model_parameters(second);
    bool is_frozen[256];
    for (size_t i = 0; i < p->count; i++)
      is_frozen[i] = p->list[i].frozen;
    filtra_trainer_destroy(&t);
    toy_same_bits(whole, second);
    owned float *trained = toy_weights(whole, &count);
    toy_compare_frozen(second, fresh, trained, is_frozen, "restored");
  }
}

TEST(words_that_name_nothing) {
  static const struct {
    filtra_train_options options;
    const char *message;
  } CASES[] = {
      {{.freeze = "layers.0.mixer.qkw.*"},
       "\"freeze\" has \"layers.0.mixer.qkw.*\", which names no trained parameter (did you mean "
       "layers.0.mixer.qkv"},
      {{.freeze = "embeddings,first 3 layers"},
       "\"freeze\" has \"first 3 layers\"; the model has 2 layers"},
      {{.freeze = "layer 2"}, "\"freeze\" has \"layer 2\"; the model has 2 layers"},
      {{.freeze = "all"}, "no parameter is trained, all are frozen"},
      {{.freeze = "head,,norms"}, "accepted are names of 1 to 127 characters"},
      {{.learning_rates = "head"}, "\"learning_rates\" has \"head\", accepted is NAME=NUMBER"},
      {{.learning_rates = "head=0"}, "has the factor 0, accepted are 1e-06 to 1e+06; \"freeze\""},
      {{.learning_rates = "!head=2"}, "only \"freeze\" knows !"},
      {{.weight_decays = "head=11"}, "\"weight_decays\" has 11, accepted are 0 to 10"},
      {{.weight_decays = "heat=1"}, "\"weight_decays\" has \"heat\", which names no trained"},
      {{.layer_decay = 1.5f}, "\"layer_decay\" is 1.5, accepted are 0.01 to 1"},
  };
  owned_model *model = toy_model("softmax", FILTRA_PRECISION_FP32);
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    filtra_trainer *trainer;
    assert_fails(filtra_trainer_create(model, &CASES[i].options, &trainer), FILTRA_ERROR_ARGUMENT,
                 CASES[i].message);
  }
}

static const char *config_text(const char *more) {
  return test_text("{\"data\": \"%s\", \"width\": 16, \"layers\": 2, \"batch_size\": 16, "
                   "\"steps\": 12, \"eval_every\": 6%s}",
                   test_listops(), more);
}

/* Without memory nothing is leaked, which sanitizers see. */
TEST(starved) {
  owned_model *model = toy_model("softmax", FILTRA_PRECISION_FP32);
  const filtra_train_options options = tuned(1);
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  long n = 0;
  while (status) {
    ft_groups groups;
    ft_memory_fail_after(++n);
    status = ft_groups_make(&options, filtra_model_parameters(model), &groups);
    ft_memory_fail_after(0);
    ft_groups_free(&groups);
    if (status) assert_int_equal(status, FILTRA_ERROR_HOST_MEMORY);
  }
  assert_true(n > 10);
}

static bool see_frozen(void *user, const filtra_run_progress *p) {
  snprintf(user, 512, "%s: %d", p->frozen, (int)(p->parameters - p->trained_parameters));
  return false;
}

/* Progress says what is frozen, modules as a whole by their names. */
TEST(frozen_by_name) {
  char seen[512] = "";
  const char *config = config_text(", \"freeze\": \"embeddings,layers.0,layers.1.ffn.1.bias\"");
  assert_int_equal(filtra_run_train(test_device(), &(filtra_run_options){.config = config,
                                                                         .folder = test_new_run(),
                                                                         .progress = see_frozen,
                                                                         .user = seen}),
                   FILTRA_ERROR_CANCELLED);
  print_message("%s\n", seen);
  assert_non_null(strstr(seen, "embedding, "));
  assert_non_null(strstr(seen, "layers.0, layers.1.ffn.1.bias: "));
}

/* Lists and objects mean what texts do, and a run that was stopped ends like one that was not. */
TEST(runs_with_groups) {
  const char *text = ", \"freeze\": \"embeddings,layers.0\", \"learning_rates\": \"head=2\"";
  const char *list = ", \"freeze\": [\"embeddings\", \"layers.0\"], \"learning_rates\": {\"head\": "
                     "2}";
  const char *a = test_new_run(), *b = test_new_run();
  assert_ok(test_train(config_text(text), a, 100));
  assert_int_equal(test_train(config_text(list), b, 7), FILTRA_ERROR_CANCELLED);
  assert_ok(test_train(NULL, b, 100));
  test_same_run(a, b);
  assert_fails(test_train(config_text(", \"freeze\": [3]"), test_new_run(), 100),
               FILTRA_ERROR_INPUT, "\"freeze\" must be a text or a list of texts");
  assert_fails(test_train(config_text(", \"freeze\": \"heat\""), test_new_run(), 100),
               FILTRA_ERROR_ARGUMENT, "\"heat\", which names no trained parameter");
}

/* Less memory: no activations are kept for what is not differentiated. */
TEST(plans_know_what_is_frozen) {
  filtra_run_memory_use all, head;
  assert_ok(
      filtra_run_measure(test_device(), &(filtra_run_options){.config = config_text("")}, &all));
  const char *text = config_text(", \"freeze\": \"all but the head\"");
  assert_ok(filtra_run_measure(test_device(), &(filtra_run_options){.config = text}, &head));
  assert_true(head.activations < all.activations);
}

TEST_MAIN(NULL, test_teardown)
