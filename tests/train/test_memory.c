/* Ways to save memory in a step: parts of batches give the losses of whole batches, and recomputed
 * layers give the same bits, for every mixer and task. */
#include "support/harness.h"
#include "support/run.h"

#include "gpu/plan.h"
#include "graph/parameters.h"
#include "train/trainer.h"

#include <filtra/filtra.h>

enum { SIZE = 6, LENGTH = 12, CLASSES = 4, VOCABULARY = 9, STEPS = 10 };

typedef struct toy {
  const char *mixer;
  filtra_task task;
  bool converter;
  filtra_precision precision;
  int64_t class_layers;
  float layer_scale;
} toy;

static const toy TOYS[] = {
    {"{\"name\": \"softmax\", \"attention_dropout\": 0.1}", FILTRA_TASK_CLASSIFICATION, false},
    {"{\"name\": \"gfsa\", \"attention_dropout\": 0.1}", FILTRA_TASK_CLASSIFICATION, false},
    {"{\"name\": \"gfsa\", \"filter_dropout\": 0.1}", FILTRA_TASK_CLASSIFICATION, false},
    {"{\"name\": \"plaplacian\", \"attention_dropout\": 0.1}", FILTRA_TASK_CLASSIFICATION, false},
    {"agf", FILTRA_TASK_CLASSIFICATION, false},
    {"synvolution", FILTRA_TASK_CLASSIFICATION, false},
    {"kernelution", FILTRA_TASK_CLASSIFICATION, false},
    {"kernelution", FILTRA_TASK_CLASSIFICATION, true},
    {"{\"name\": \"softmax\", \"attention_dropout\": 0.1}", FILTRA_TASK_LANGUAGE_MODEL, false},
    {"{\"name\": \"gfsa\", \"attention_dropout\": 0.1}", FILTRA_TASK_PAIR_CLASSIFICATION, false},
    {"kernelution", FILTRA_TASK_PAIR_CLASSIFICATION, false},
    {"agf", FILTRA_TASK_REGRESSION, false},
    {"cosformer", FILTRA_TASK_LANGUAGE_MODEL, false},
    {"fnet", FILTRA_TASK_CLASSIFICATION, false},
    {"{\"name\": \"nystrom\", \"landmarks\": 4}", FILTRA_TASK_PAIR_CLASSIFICATION, false},
    {"luna", FILTRA_TASK_PAIR_CLASSIFICATION, false},
    {"primal", FILTRA_TASK_CLASSIFICATION, false},
    {"paramixer", FILTRA_TASK_CLASSIFICATION, false},
    {"softmax", FILTRA_TASK_CLASSIFICATION, false, FILTRA_PRECISION_BF16},
    {"gfsa", FILTRA_TASK_LANGUAGE_MODEL, false, FILTRA_PRECISION_FP16},
    {"synvolution", FILTRA_TASK_CLASSIFICATION, true, FILTRA_PRECISION_BF16},
    {"agf", FILTRA_TASK_CLASSIFICATION, false, FILTRA_PRECISION_FP16},
    {"{\"name\": \"gfsa\", \"talking_heads\": true, \"attention_dropout\": 0.1}",
     FILTRA_TASK_CLASSIFICATION, .class_layers = 2, .layer_scale = 0.1f},
};

static bool trains(const toy *t) {
  return !t->precision || test_stores(test_device(), FILTRA_F16);
}

typedef struct toy_batch {
  filtra_batch batch;
  int32_t tokens[2 * SIZE * LENGTH], lengths[2 * SIZE], labels[SIZE * LENGTH];
  float weights[SIZE], values[SIZE];
} toy_batch;

static void make_batch(const toy *t, uint64_t seed, toy_batch *b) {
  float noise[2 * SIZE * LENGTH + 2 * SIZE];
  test_random(seed, 0, 1, noise, FT_COUNT(noise));
  memset(b, 0, sizeof *b);
  for (int i = 0; i < 2 * SIZE; i++) {
    b->lengths[i] = 3 + (int32_t)(noise[2 * SIZE * LENGTH + i] * (LENGTH - 3));
    for (int n = 0; n < b->lengths[i]; n++)
      b->tokens[i * LENGTH + n] = 1 + (int32_t)(noise[i * LENGTH + n] * (VOCABULARY - 1));
  }
  bool next = t->task == FILTRA_TASK_LANGUAGE_MODEL;
  for (int i = 0; i < SIZE; i++) {
    if (!next) b->labels[i] = b->tokens[i * LENGTH] % CLASSES;
    for (int n = 0; next && n < LENGTH; n++)
      b->labels[i * LENGTH + n] = n + 1 < b->lengths[i] ? b->tokens[i * LENGTH + n + 1] : -1;
    b->values[i] = noise[i];
    b->weights[i] = i == SIZE - 1 && seed % 3 == 0 ? 0.0f : 1.0f;
  }
  bool pair = t->task == FILTRA_TASK_PAIR_CLASSIFICATION;
  bool value = t->task == FILTRA_TASK_REGRESSION;
  b->batch = (filtra_batch){.size = SIZE,
                            .length = LENGTH,
                            .count = SIZE,
                            .sequences = pair ? 2 : 1,
                            .tokens = b->tokens,
                            .lengths = b->lengths,
                            .labels = value ? NULL : b->labels,
                            .values = value ? b->values : NULL,
                            .weights = b->weights};
}

static filtra_model_config config_of(const toy *t) {
  bool next = t->task == FILTRA_TASK_LANGUAGE_MODEL;
  return (filtra_model_config){
      .mixer = t->mixer,
      .task = t->task,
      .block = t->converter ? FILTRA_BLOCK_CONVERTER : FILTRA_BLOCK_TRANSFORMER,
      .positions = t->converter ? FILTRA_POSITIONS_RECURRENT : FILTRA_POSITIONS_LEARNED,
      .vocabulary = VOCABULARY,
      .classes = next || t->task == FILTRA_TASK_REGRESSION ? 0 : CLASSES,
      .max_length = LENGTH,
      .width = 20,
      .dropout = 0.1f,
      .drop_path = t->converter ? 0.0f : 0.4f,
      .layer_scale = t->layer_scale,
      .class_layers = t->class_layers,
      .pooling = t->class_layers ? FILTRA_POOLING_CLASS_TOKEN : FILTRA_POOLING_MEAN,
      .precision = t->precision,
      .seed = 5};
}

static filtra_model *make_model(const toy *t) {
  const filtra_model_config config = config_of(t);
  filtra_model *model = test_model(test_device(), &config);
  return model;
}

static filtra_train_options options_of(void) {
  return (filtra_train_options){
      .optimizer = {.learning_rate = 3e-3f, .weight_decay = 0.01f, .clip_norm = 1.0f}, .seed = 11};
}

/* Every step's metrics. */
static void train(const toy *t, const filtra_train_options *options,
                  filtra_trainer_metrics *steps) {
  filtra_model *model = make_model(t);
  filtra_trainer *trainer = test_trainer(model, options);
  for (int i = 0; i < STEPS; i++) {
    toy_batch b;
    make_batch(t, (uint64_t)i, &b);
    assert_ok(filtra_trainer_step(trainer, &b.batch, NULL));
    assert_ok(filtra_trainer_finish(trainer, &steps[i]));
  }
  filtra_trainer_destroy(&trainer);
  filtra_model_destroy(&model);
}

static void check_near(const toy *t, const filtra_trainer_metrics *a,
                       const filtra_trainer_metrics *b, float relative) {
  for (int i = 0; i < STEPS; i++)
    if (!(fabsf(a[i].loss - b[i].loss) <= relative * fabsf(a[i].loss)) ||
        fabsf(a[i].accuracy - b[i].accuracy) > 1e-5f ||
        fabsf(a[i].absolute_error - b[i].absolute_error) > 1e-5f ||
        !(fabsf(a[i].gradient_norm - b[i].gradient_norm) <= 1e-4f * a[i].gradient_norm))
      fail_msg("%s, step %d: loss %.8f and %.8f, norm %.7f and %.7f", t->mixer, i + 1,
               (double)a[i].loss, (double)b[i].loss, (double)a[i].gradient_norm,
               (double)b[i].gradient_norm);
}

/* Parts that do not divide the batch; of the first mixer also halves, and one sample each. */
TEST(parts_add_up) {
  static const uint64_t PARTS[] = {4, 2, 6};
  for (size_t k = 0; k < FT_COUNT(TOYS); k++) {
    if (TOYS[k].precision) continue; /* its parts differ by roundings to 16 bits */
    filtra_trainer_metrics whole[STEPS], parts[STEPS];
    filtra_train_options options = options_of();
    train(&TOYS[k], &options, whole);
    for (size_t i = 0; i < (k ? 1 : FT_COUNT(PARTS)); i++) {
      options.accumulate = PARTS[i];
      train(&TOYS[k], &options, parts);
      check_near(&TOYS[k], whole, parts, 1e-6f);
    }
  }
}

static uint64_t activations_of(const toy *t, const filtra_train_options *options) {
  owned_model *model = make_model(t);
  owned_trainer *trainer = test_trainer(model, options);
  assert_ok(filtra_trainer_prepare(trainer, SIZE, LENGTH));
  assert_ok(ft_graph_check(trainer->graphs[0]->graph));
  uint64_t bytes = filtra_graph_activation_bytes(trainer->graphs[0]->graph);
  return bytes;
}

/* Every bit of ten steps; plans that the checker finds no hazard in, and smaller ones. */
TEST(recomputing_changes_no_bit) {
  for (size_t k = 0; k < FT_COUNT(TOYS); k++) {
    if (!trains(&TOYS[k])) continue;
    filtra_trainer_metrics kept[STEPS], again[STEPS];
    filtra_train_options options = options_of();
    train(&TOYS[k], &options, kept);
    uint64_t before = activations_of(&TOYS[k], &options);
    for (int how = FILTRA_RECOMPUTE_CHEAP; how <= FILTRA_RECOMPUTE_BLOCKS; how++) {
      options.recompute = (filtra_recompute)how;
      train(&TOYS[k], &options, again);
      assert_memory_equal(kept, again, sizeof kept);
      uint64_t bytes = activations_of(&TOYS[k], &options);
      if (bytes >= before)
        fail_msg("%s, recompute %d: %llu bytes of %llu", TOYS[k].mixer, how,
                 (unsigned long long)bytes, (unsigned long long)before);
    }
  }
}

/* Planned memory of a step of 32 sequences: parameters, gradients, moments and activations. Nothing
 * runs. */
static uint64_t plan_step(filtra_device *device, const filtra_model_config *config, int64_t length,
                          ft_recompute how) {
  ft_model_options options;
  filtra_model *model;
  filtra_memory_use memory;
  assert_ok(ft_model_options_take(config, &options));
  assert_ok(ft_model_declare(device, &options, false, &model));
  ft_parameters_lay_out(model->params);
  ft_batch_graph b = {.size = 32, .length = length, .judged = true};
  assert_ok(ft_model_measure(model, &b, true, how, &memory));
  ft_batch_graph_close(&b);
  uint64_t bytes =
      ft_parameters_extent(model->params) + 3 * model->params->bytes + memory.activations;
  filtra_model_destroy(&model);
  return bytes;
}

static uint64_t plan_large(filtra_device *device, const toy *t, filtra_precision precision,
                           ft_recompute how) {
  enum { LONG = 1024 };
  filtra_model_config config = config_of(t);
  config.vocabulary = 256;
  config.classes = t->task == FILTRA_TASK_CLASSIFICATION ? 2 : 0;
  config.max_length = LONG;
  config.layers = 12;
  config.width = 512;
  config.heads = 8;
  config.ffn_width = 2048;
  config.drop_path = 0;
  config.precision = precision;
  return plan_step(device, &config, LONG, how);
}

/* Whatever kernels a device has chosen for it, also where tests leave those of others out. */
TEST(every_profile_has_a_plan) {
  for (const ft_profile *p = ft_profiles; p->name; p++) {
    filtra_device *device;
    const filtra_device_options options = {
        .select = test_chosen_device(), .caps = test_text("@%s", p->name), .cache_dir = ""};
    assert_ok(filtra_device_open(&options, &device));
    for (size_t k = 0; k < FT_COUNT(TOYS); k++) {
      if (TOYS[k].precision && !test_stores(device, FILTRA_F16)) continue;
      const filtra_model_config config = config_of(&TOYS[k]);
      assert_true(plan_step(device, &config, LENGTH, FT_RECOMPUTE_NONE) > 0);
    }
    filtra_device_close(&device);
  }
}

TEST(blocks_take_a_third_at_most) {
  for (size_t k = 0; k < FT_COUNT(TOYS); k++) {
    if (TOYS[k].task != FILTRA_TASK_CLASSIFICATION && TOYS[k].task != FILTRA_TASK_LANGUAGE_MODEL)
      continue;
    uint64_t kept = plan_large(test_device(), &TOYS[k], FILTRA_PRECISION_FP32, FT_RECOMPUTE_NONE);
    uint64_t again =
        plan_large(test_device(), &TOYS[k], FILTRA_PRECISION_FP32, FT_RECOMPUTE_BLOCKS);
    if (3 * again > kept)
      fail_msg("%s: %llu bytes of %llu", TOYS[k].mixer, (unsigned long long)again,
               (unsigned long long)kept);
  }
}

/* In bf16, in per cent of what fp32 takes that keeps all; most: by ft_recompute. */
static void check_savings(filtra_device *gpu, const toy *t, const int *most) {
  const uint64_t all = plan_large(gpu, t, FILTRA_PRECISION_FP32, FT_RECOMPUTE_NONE);
  for (int how = FT_RECOMPUTE_NONE; how <= FT_RECOMPUTE_BLOCKS; how++) {
    const uint64_t bytes = plan_large(gpu, t, FILTRA_PRECISION_BF16, (ft_recompute)how);
    if (100 * bytes > (uint64_t)most[how] * all)
      fail_msg("%s, recompute %d: %llu bytes of %llu, more than %d %%", t->mixer, how,
               (unsigned long long)bytes, (unsigned long long)all, most[how]);
  }
}

/* What docs/precision.md says, as GPUs have it planned. */
TEST(sixteen_bits_and_recomputing_save) {
  static const int SOFTMAX[] = {60, 45, 40, 25}, AGF[] = {60, 47, 40, 25};
  owned_device *gpu = test_open_variant("class=discrete");
  if (!gpu || !test_stores(gpu, FILTRA_BF16)) skip();
  check_savings(gpu, &TOYS[0], SOFTMAX);
  check_savings(gpu, &TOYS[4], AGF);
}

/* Logits in chunks, also ones that do not divide the rows and of more than eight: the same losses
 * but for rounding, and the checker finds no hazard. In 16 bits on weights that stay as they are:
 * else a sum in another order rounds a weight's copy to its neighbour, and all goes from there. */
TEST(chunks_of_logits_add_up) {
  for (size_t k = 0; k < FT_COUNT(TOYS); k++) {
    const toy *t = &TOYS[k];
    if (t->task != FILTRA_TASK_LANGUAGE_MODEL || !trains(t)) continue;
    filtra_trainer_metrics whole[STEPS], chunks[STEPS];
    filtra_train_options options = options_of();
    if (t->precision) options.optimizer.learning_rate = 1e-12f;
    train(t, &options, whole);
    for (uint64_t count = 2; count <= 11; count += 3) {
      options.loss_chunks = count;
      train(t, &options, chunks);
      check_near(t, whole, chunks, 1e-6f);
      activations_of(t, &options);
    }
  }
}

TEST(parts_allocate_nothing) {
  owned_model *model = make_model(&TOYS[0]);
  filtra_train_options options = options_of();
  options.accumulate = 3;
  owned_trainer *trainer = test_trainer(model, &options);
  assert_ok(filtra_trainer_prepare(trainer, SIZE, LENGTH));
  toy_batch b;
  make_batch(&TOYS[0], 3, &b);
  assert_ok(filtra_trainer_step(trainer, &b.batch, NULL));
  uint64_t used = filtra_device_memory_used(test_device());
  ft_memory_fail_after(1); /* the next host allocation would fail */
  filtra_status status = FILTRA_OK;
  for (int i = 0; i < 5 && !status; i++)
    status = filtra_trainer_step(trainer, &b.batch, NULL);
  if (!status) status = filtra_trainer_finish(trainer, NULL);
  ft_memory_fail_after(0);
  assert_ok(status);
  assert_true(filtra_device_memory_used(test_device()) == used);
}

TEST(bad_step_in_parts_is_recoverable) {
  owned_model *model = make_model(&TOYS[0]);
  filtra_train_options options = options_of();
  options.accumulate = 3;
  float bias[CLASSES] = {0, NAN, 0, 0};
  toy_batch b;
  filtra_trainer_metrics m;
  make_batch(&TOYS[0], 3, &b);
  filtra_trainer *trainer = test_trainer(model, &options);
  assert_ok(filtra_parameters_set(filtra_model_parameters(model), "head.2.bias", bias, CLASSES));
  assert_ok(filtra_trainer_step(trainer, &b.batch, NULL));
  assert_fails(filtra_trainer_finish(trainer, NULL), FILTRA_ERROR_NONFINITE, "step 1: the loss");
  bias[1] = 0.0f;
  assert_ok(filtra_parameters_set(filtra_model_parameters(model), "head.2.bias", bias, CLASSES));
  assert_ok(filtra_trainer_step(trainer, &b.batch, NULL));
  assert_ok(filtra_trainer_finish(trainer, &m));
  assert_int_equal(m.step, 1);
  assert_true(isfinite(m.loss));
  filtra_trainer_destroy(&trainer);
  options.accumulate = 65536;
  assert_fails(filtra_trainer_create(model, &options, &trainer), FILTRA_ERROR_ARGUMENT,
               "\"accumulate\" is 65536, accepted are 1 to 65535");
}

TEST_MAIN(NULL, test_teardown)
