/* Learns the characters of a text, then writes a similar one, with the public API only.
 *
 *   write_text FILE [STEPS]
 *
 * FILE is plain text in UTF-8, at least 100 kB for words to appear. STEPS (1000) is the number of
 * training steps with batches of 16 times 64 characters. */
#include <filtra/filtra.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 16, CONTEXT = 64, WRITTEN = 500 };

/* An example may just exit; a program would destroy its handles and go on. */
static void check(filtra_status status) {
  if (!status) return;
  fprintf(stderr, "write_text: %s: %s\n", filtra_status_name(status), filtra_error_message());
  exit(EXIT_FAILURE);
}

static filtra_model *make_model(filtra_device *device, int64_t vocabulary) {
  filtra_model *model;
  check(filtra_model_create(device,
                            &(filtra_model_config){.task = FILTRA_TASK_LANGUAGE_MODEL,
                                                   .mixer = "{\"name\": \"gfsa\", \"K\": 3}",
                                                   .vocabulary = vocabulary,
                                                   .max_length = CONTEXT,
                                                   .layers = 4,
                                                   .heads = 4,
                                                   .width = 128,
                                                   .ffn_width = 512,
                                                   .seed = 1},
                            &model));
  return model;
}

static void train(filtra_model *model, const filtra_dataset *data, uint64_t steps) {
  filtra_loader *loader;
  filtra_trainer *trainer;
  filtra_trainer_metrics metrics;
  check(filtra_loader_create(
      data, &(filtra_loader_options){.batch_size = BATCH, .shuffle = true, .seed = 1}, &loader));
  check(filtra_trainer_create(
      model,
      &(filtra_train_options){.optimizer = {.learning_rate = 2e-3f,
                                            .weight_decay = 0.1f,
                                            .beta2 = 0.99f,
                                            .schedule = FILTRA_SCHEDULE_COSINE,
                                            .warmup_steps = steps / 10,
                                            .steps = steps,
                                            .clip_norm = 1.0f}},
      &trainer));
  for (uint64_t i = 0; i < steps; i++) {
    filtra_batch batch;
    check(filtra_loader_next(loader, &batch));
    check(filtra_trainer_step(trainer, &batch, &metrics)); /* of the last finished step */
    if (metrics.step && metrics.step % 50 == 0)
      printf("step %4llu  loss %.3f\n", (unsigned long long)metrics.step, metrics.loss);
  }
  check(filtra_trainer_finish(trainer, NULL));
  filtra_trainer_destroy(&trainer);
  filtra_loader_destroy(&loader);
}

/* Continues the first character of the data. */
static void write_text(filtra_model *model, const filtra_dataset *data) {
  const filtra_tokenizer *tokenizer = filtra_dataset_get_info(data)->tokenizer;
  const filtra_sampling sampling = {.temperature = 0.8f, .seed = 1};
  uint32_t vocabulary = filtra_tokenizer_size(tokenizer);
  float *logits = malloc(vocabulary * sizeof *logits);
  filtra_generator *generator;
  filtra_sample first;
  check(filtra_dataset_sample(data, FILTRA_SPLIT_TRAIN, 0, &first));
  check(filtra_generator_create(model, &(filtra_generator_options){.slide = true}, &generator));
  int32_t previous = -1, token = first.tokens[0];
  for (uint64_t i = 0; logits && i < WRITTEN; i++) {
    char text[256]; /* a character or, of other tokenizers, a word */
    size_t length;
    check(filtra_tokenizer_decode_next(tokenizer, previous, token, text, sizeof text, &length));
    previous = token;
    fwrite(text, 1, length, stdout);
    fflush(stdout);
    check(filtra_generator_feed(generator, &token, 1, logits));
    check(filtra_sample_token(logits, vocabulary, &sampling, i, &token));
  }
  putchar('\n');
  filtra_generator_destroy(&generator);
  free(logits);
}

int main(int argc, char **argv) {
  uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
  if (argc < 2 || argc > 3 || steps < 1) {
    fprintf(stderr, "usage: write_text FILE [STEPS]\n");
    return 2;
  }
  filtra_device *device;
  filtra_dataset *data;
  check(filtra_device_open(NULL, &device));
  check(filtra_dataset_open(argv[1],
                            &(filtra_dataset_options){.format = "text-lm",
                                                      .tokenizer = "characters",
                                                      .max_length = CONTEXT},
                            &data));
  printf("on %s\n", filtra_device_get_info(device)->name);
  filtra_model *model =
      make_model(device, filtra_tokenizer_size(filtra_dataset_get_info(data)->tokenizer));
  train(model, data, steps);
  write_text(model, data);
  filtra_model_destroy(&model);
  filtra_dataset_close(&data);
  filtra_device_close(&device);
  return 0;
}
