/* The examples that open the public headers, as they are printed there, each with what it takes for
 * given. The one argument is an empty folder to work in. */
#define _POSIX_C_SOURCE 200809L
#include <filtra/filtra.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "%s: %s\n", what, filtra_error_message());
  exit(1);
}

filtra_status train(const char *folder);
#include "guide/filtra.inc"

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  check(file && fputs(text, file) >= 0 && !fclose(file), path);
}

static void make_data(void) {
  const filtra_listops_options options = {
      .train = 64, .val = 16, .test = 16, .min_length = 4, .max_length = 15};
  check(!filtra_listops_generate("listops", &options), "listops");
  check(!mkdir("held-out", 0777) && !link("listops/basic_val.tsv", "held-out/basic_val.tsv"),
        "held-out");
  write_file("a.csv", "text,label\na fine film,good\na bad one,bad\nno film,bad\nfine,good\n");
}

static void graph_example(filtra_device *dev) {
  float data[8 * 16] = {0}, out[8 * 4];
  out[0] = NAN;
#include "guide/graph.inc"
  check(!status && out[0] == 0.0f, "graph.h");
  filtra_graph_destroy(&g);
  filtra_parameters_destroy(&params);
}

static void optimizer_example(filtra_device *dev) {
  const float data[4] = {1, 2, 3, 4};
  filtra_parameters *params;
  filtra_graph *g;
  filtra_optimizer_metrics result;
  check(!filtra_parameters_create(dev, &params) && !filtra_graph_create(dev, NULL, &g), "graph");
  filtra_tensor *x = filtra_graph_input(g, "x", FILTRA_F32, 2, (int64_t[]){1, 4});
  filtra_tensor *w =
      filtra_graph_parameter(g, params, "w", 2, (int64_t[]){1, 4},
                             &(filtra_parameter_options){.init = FILTRA_INIT_CONSTANT, .value = 1});
  filtra_tensor *loss = filtra_reshape(g, filtra_linear(g, x, w, NULL, NULL), 1, (int64_t[]){1});
  check(!filtra_parameters_commit(params, 1, FILTRA_TRAINABLE), "commit");
#include "guide/optimizer.inc"
  float trained[4];
  check(!filtra_parameters_get(params, "w", trained, 4) && trained[0] < 0.95f, "optimizer.h");
  filtra_graph_destroy(&g); /* which uses the optimizer's memory */
  check(!filtra_optimizer_destroy(&opt) && !filtra_parameters_destroy(&params), "destroyed");
}

static int training = 3;

static void step(const filtra_batch *batch) {
  training -= batch->size == 32;
}

static void data_example(void) {
#include "guide/data.inc"
  check(!training, "data.h");
}

static void generate_example(filtra_device *dev) {
  enum { vocabulary = 16 };
  const filtra_model_config config = {
      .task = FILTRA_TASK_LANGUAGE_MODEL, .vocabulary = vocabulary, .max_length = 128, .width = 8};
  const int32_t prompt[] = {1, 2, 3};
  const size_t prompt_length = 3;
  float logits[vocabulary];
  filtra_model *model;
  check(!filtra_model_create(dev, &config, &model), "model");
#include "guide/generate.inc"
  check(filtra_generator_length(gen) == 103, "generate.h");
  filtra_generator_destroy(&gen);
  filtra_model_destroy(&model);
}

static void predictor_example(filtra_device *dev) {
  const filtra_run_options options = {
      .config = "{\"data\": \"a.csv\", \"steps\": 2, \"batch_size\": 2}", .folder = "run"};
  check(!filtra_run_train(dev, &options), "run");
#include "guide/predictor.inc"
  check(answer.label == 0 || answer.label == 1, "predictor.h");
}

/* The run is the predictor's. */
static void run_example(filtra_device *dev) {
#include "guide/run.inc"
  check(result.samples == 1, "run.h");
}

int main(int argc, char **argv) {
  filtra_device *dev;
  check(argc == 2 && !chdir(argv[1]), "a folder to work in");
  make_data();
  check(!train("listops"), "filtra.h");
  check(train("held-out") == FILTRA_ERROR_INPUT, "filtra.h without training data");
  check(train("none") != FILTRA_OK, "filtra.h without data");
  check(!filtra_device_open(NULL, &dev), "device");
  graph_example(dev);
  optimizer_example(dev);
  data_example();
  generate_example(dev);
  predictor_example(dev);
  run_example(dev);
  filtra_device_close(&dev);
  return 0;
}
