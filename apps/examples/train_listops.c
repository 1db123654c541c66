/* Trains a graph-filter Transformer on ListOps, with the public API only.
 *
 *   train_listops [STEPS [FOLDER]]
 *
 * ListOps asks for the value, 0 to 9, of nested expressions such as [MAX 2 9 [MIN 4 7 ] 0 ].
 * If FOLDER (listops-example) does not exist, the program creates it with data; it also writes the
 * trained model there. STEPS (400) is the number of training steps with batches of 32. */
#include <filtra/filtra.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32 };

/* An example may just exit; a program would destroy its handles and go on. */
static void check(filtra_status status) {
  if (!status) return;
  fprintf(stderr, "train_listops: %s: %s\n", filtra_status_name(status), filtra_error_message());
  exit(EXIT_FAILURE);
}

static filtra_dataset *open_data(const char *folder) {
  filtra_dataset *data;
  filtra_status status = filtra_dataset_open(folder, NULL, &data);
  if (status == FILTRA_ERROR_PATH) { /* no data: generate short expressions, learned in minutes */
    check(filtra_listops_generate(folder, &(filtra_listops_options){.train = 20000,
                                                                    .val = 500,
                                                                    .test = 1000,
                                                                    .min_length = 3,
                                                                    .max_length = 24,
                                                                    .max_depth = 4,
                                                                    .max_args = 4}));
    status = filtra_dataset_open(folder, NULL, &data);
  }
  check(status);
  return data;
}

static filtra_loader *load(const filtra_dataset *data, filtra_split split) {
  filtra_loader *loader;
  check(filtra_loader_create(
      data,
      &(filtra_loader_options){
          .split = split, .batch_size = BATCH, .shuffle = split == FILTRA_SPLIT_TRAIN, .seed = 1},
      &loader));
  return loader;
}

/* The data decide vocabulary, classes and length. */
static filtra_model *make_model(filtra_device *device, const filtra_dataset *data) {
  filtra_model *model;
  check(filtra_model_create(device,
                            &(filtra_model_config){.mixer = "{\"name\": \"agf\", \"K\": 5}",
                                                   .data = data,
                                                   .layers = 2,
                                                   .heads = 4,
                                                   .width = 64,
                                                   .seed = 1},
                            &model));
  return model;
}

static void train(filtra_model *model, filtra_loader *loader, uint64_t steps) {
  filtra_trainer *trainer;
  filtra_trainer_metrics metrics;
  check(filtra_trainer_create(
      model,
      &(filtra_train_options){.optimizer = {.learning_rate = 2e-3f,
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
      printf("step %4llu  loss %.3f  accuracy %.2f\n", (unsigned long long)metrics.step,
             metrics.loss, metrics.accuracy);
  }
  check(filtra_trainer_finish(trainer, &metrics));
  printf("step %4llu  loss %.3f  accuracy %.2f\n", (unsigned long long)metrics.step, metrics.loss,
         metrics.accuracy);
  filtra_trainer_destroy(&trainer);
}

static void evaluate(filtra_model *model, const filtra_dataset *data) {
  double loss = 0, accuracy = 0, samples = 0;
  filtra_loader *loader = load(data, FILTRA_SPLIT_TEST);
  for (uint64_t i = filtra_loader_batch_count(loader); i > 0; i--) {
    filtra_batch batch;
    double mean_loss, mean_accuracy, weight; /* weight: samples in the batch, without fillers */
    check(filtra_loader_next(loader, &batch));
    check(filtra_model_evaluate_batch(model, &batch, &mean_loss, &mean_accuracy, &weight));
    loss += mean_loss * weight;
    accuracy += mean_accuracy * weight;
    samples += weight;
  }
  printf("test: %.0f expressions  loss %.3f  accuracy %.2f\n", samples, loss / samples,
         accuracy / samples);
  filtra_loader_destroy(&loader);
}

static void predict(filtra_model *model, const filtra_tokenizer *tokenizer, const char *text) {
  int32_t tokens[32], length, best = 0;
  size_t count;
  check(filtra_tokenizer_encode(tokenizer, text, strlen(text), tokens, 32, &count));
  length = (int32_t)count;
  float logits[10];
  check(filtra_model_predict_batch(
      model,
      &(filtra_batch){.size = 1, .length = (uint32_t)length, .tokens = tokens, .lengths = &length},
      logits));
  for (int32_t i = 1; i < 10; i++)
    if (logits[i] > logits[best]) best = i;
  printf("%s is %d, says the model\n", text, best);
}

int main(int argc, char **argv) {
  uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 400;
  const char *folder = argc > 2 ? argv[2] : "listops-example";
  if (argc > 3 || steps < 1) {
    fprintf(stderr, "usage: train_listops [STEPS [FOLDER]]\n");
    return 2;
  }
  filtra_device *device;
  check(filtra_device_open(NULL, &device));
  printf("on %s\n", filtra_device_get_info(device)->name);
  filtra_dataset *data = open_data(folder);
  const filtra_dataset_info *info = filtra_dataset_get_info(data);
  filtra_loader *loader = load(data, FILTRA_SPLIT_TRAIN);
  filtra_model *model = make_model(device, data);
  train(model, loader, steps);
  evaluate(model, data);
  predict(model, info->tokenizer, "[MAX 2 9 [MIN 4 7 ] 0 ]");
  char path[512];
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  check(filtra_model_save(model, path));
  printf("saved %s\n", path);
  filtra_loader_destroy(&loader);
  filtra_model_destroy(&model);
  filtra_dataset_close(&data);
  filtra_device_close(&device);
  return 0;
}
