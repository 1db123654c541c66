/* An application that trains what is its own: a network from ops under the public optimizer, with
 * accumulated micro-batches, a frozen part and a learning rate that changes; and a model around a
 * token mixer that it registers. Data come from memory. What was saved and loaded is what was.
 * The one argument is a folder to write to. */
#define _POSIX_C_SOURCE 200809L
#include <filtra/filtra.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 256, STEPS = 4, FEATURES = 3, CLASSES = 2, BATCH = 16, HIDDEN = 24 };

static void check(int good, const char *what) {
  if (good) return;
  fprintf(stderr, "own_model: %s: %s\n", what, filtra_error_message());
  exit(EXIT_FAILURE);
}

/* Series whose class is whether the first feature goes up, in noise that the others add to. */
static filtra_dataset *make_data(void) {
  static float features[SAMPLES * STEPS * FEATURES];
  static uint32_t lengths[SAMPLES];
  static int32_t labels[SAMPLES];
  static const char *const names[] = {"down", "up"};
  uint32_t random = 1;
  for (int i = 0; i < SAMPLES; i++) {
    lengths[i] = STEPS;
    labels[i] = i % 2;
    for (int n = 0; n < STEPS * FEATURES; n++) {
      random = random * 1664525u + 1013904223u;
      features[i * STEPS * FEATURES + n] = (float)(random >> 8) / 16777216.0f - 0.5f;
      if (n % FEATURES == 0)
        features[i * STEPS * FEATURES + n] += (labels[i] ? 0.5f : -0.5f) * (float)(n / FEATURES);
    }
  }
  filtra_dataset *data;
  const filtra_dataset_arrays arrays = {.splits[FILTRA_SPLIT_TRAIN] = {.count = SAMPLES,
                                                                       .lengths = lengths,
                                                                       .features = features,
                                                                       .labels = labels},
                                        .features = FEATURES,
                                        .classes = CLASSES,
                                        .class_names = names,
                                        .standardise = true};
  check(!filtra_dataset_create(&arrays, &data), "data");
  memset(features, 0, sizeof features); /* they were copied */
  return data;
}

/* ---- a network of ops ---- */

typedef struct network {
  filtra_graph *graph;
  filtra_tensor *x, *labels, *logits, *loss;
} network;

static filtra_tensor *layer(filtra_graph *g, filtra_parameters *p, const char *name,
                            filtra_tensor *x, int64_t out, filtra_activation activation) {
  char weight[64], bias[64];
  int64_t shape[FILTRA_MAX_DIMS];
  int last = filtra_tensor_shape(x, shape) - 1;
  snprintf(weight, sizeof weight, "%s.weight", name);
  snprintf(bias, sizeof bias, "%s.bias", name);
  const filtra_parameter_options uniform = {
      .init = FILTRA_INIT_UNIFORM, .value = 1 / sqrtf((float)shape[last]), .decay = true};
  filtra_tensor *w =
      filtra_graph_parameter(g, p, weight, 2, (int64_t[]){out, shape[last]}, &uniform);
  filtra_tensor *b = filtra_graph_parameter(g, p, bias, 1, &out, NULL);
  return filtra_linear(g, x, w, b, &(filtra_linear_options){.activation = activation});
}

static network build(filtra_device *dev, filtra_parameters *p) {
  network n;
  const int64_t batch = BATCH;
  check(!filtra_graph_create(dev, NULL, &n.graph), "graph");
  n.x = filtra_graph_input(n.graph, "x", FILTRA_F32, 2, (int64_t[]){BATCH, STEPS * FEATURES});
  n.labels = filtra_graph_input(n.graph, "labels", FILTRA_I32, 1, &batch);
  filtra_tensor *h = layer(n.graph, p, "first", n.x, HIDDEN, FILTRA_ACTIVATION_GELU);
  n.logits =
      filtra_graph_output(n.graph, layer(n.graph, p, "second", h, CLASSES, FILTRA_ACTIVATION_NONE));
  n.loss = filtra_cross_entropy(n.graph, n.logits, n.labels, 0);
  n.loss =
      filtra_reshape(n.graph, filtra_mean(n.graph, n.loss, 0, FILTRA_KEEP_AXIS), 1, (int64_t[]){1});
  return n;
}

/* A batch as rows of STEPS * FEATURES; loaders pad to 16 steps or to the longest series. */
static void set_batch(const network *n, filtra_loader *loader) {
  filtra_batch batch;
  float x[BATCH * STEPS * FEATURES];
  check(!filtra_loader_next(loader, &batch), "batch");
  for (uint32_t i = 0; i < BATCH; i++)
    memcpy(x + i * STEPS * FEATURES, batch.features + i * batch.length * FEATURES,
           sizeof x / BATCH);
  check(!filtra_graph_set(n->graph, n->x, x), "x");
  check(!filtra_graph_set(n->graph, n->labels, batch.labels), "labels");
}

static float take_steps(const network *n, filtra_optimizer *opt, filtra_loader *loader, int steps) {
  filtra_optimizer_metrics result;
  for (int s = 0; s < steps; s++) {
    for (int k = 0; k < 2; k++) {
      set_batch(n, loader);
      check(!filtra_graph_submit(n->graph, NULL), "submit");
      check(!filtra_optimizer_accumulate(opt, 0.5f), "accumulate");
    }
    check(!filtra_optimizer_step(opt), "step");
  }
  check(!filtra_optimizer_finish(opt, &result), "finish");
  return result.loss;
}

static void own_network(filtra_device *dev, const filtra_dataset *data) {
  const filtra_parameter_group frozen = {.names = "first.*", .frozen = true};
  const filtra_optimizer_options options = {
      .learning_rate = 0.02f, .clip_norm = 1, .groups = &frozen, .group_count = 1};
  float before[HIDDEN * STEPS * FEATURES], after[HIDDEN * STEPS * FEATURES];
  float logits[BATCH * CLASSES], again[BATCH * CLASSES];
  filtra_loader *loader;
  filtra_optimizer *opt;
  filtra_parameters *p, *q;
  check(!filtra_parameters_create(dev, &p) && !filtra_parameters_create(dev, &q), "parameters");
  network n = build(dev, p), m = build(dev, q);
  check(!filtra_parameters_commit(p, 7, FILTRA_TRAINABLE) &&
            !filtra_parameters_commit(q, 8, FILTRA_TRAINABLE),
        "commit");
  check(!filtra_loader_create(data, &(filtra_loader_options){.batch_size = BATCH, .shuffle = true},
                              &loader),
        "loader");
  check(!filtra_optimizer_create(p, &options, &opt), "optimizer");
  check(!filtra_graph_backward(n.graph, 1, &n.loss, NULL), "backward");
  check(!filtra_optimizer_watch_loss(opt, n.graph, n.loss), "watch");
  check(!filtra_graph_compile(n.graph) && !filtra_graph_compile(m.graph), "compile");
  check(!filtra_parameters_get(p, "first.weight", before, sizeof before / sizeof *before), "get");

  float first = take_steps(&n, opt, loader, 1);
  take_steps(&n, opt, loader, 30);
  check(!filtra_optimizer_set_learning_rate(opt, 0.005f), "learning rate");
  float last = take_steps(&n, opt, loader, 30);
  printf("own network: loss %.3f at first, %.3f at last\n", (double)first, (double)last);
  check(last < 0.6f * first && filtra_optimizer_step_count(opt) == 61, "it learns");
  check(!filtra_parameters_get(p, "first.weight", after, sizeof after / sizeof *after) &&
            !memcmp(before, after, sizeof before),
        "the frozen part stays");

  check(!filtra_parameters_save(p, "own.safetensors"), "save");
  check(!filtra_parameters_load(q, "own.safetensors"), "load");
  set_batch(&n, loader);
  filtra_loader_set_position(loader, (filtra_loader_position){0});
  set_batch(&n, loader);
  filtra_loader_set_position(loader, (filtra_loader_position){0});
  set_batch(&m, loader);
  check(!filtra_graph_execute(n.graph) && !filtra_graph_get(n.graph, n.logits, logits) &&
            !filtra_graph_execute(m.graph) && !filtra_graph_get(m.graph, m.logits, again) &&
            !memcmp(logits, again, sizeof logits),
        "loaded is what was saved");
  filtra_graph_destroy(&n.graph);
  filtra_graph_destroy(&m.graph);
  check(!filtra_optimizer_destroy(&opt) && !filtra_parameters_destroy(&p) &&
            !filtra_parameters_destroy(&q),
        "destroyed");
  filtra_loader_destroy(&loader);
}

/* ---- a mixer ---- */

struct lag {
  float decay;
};

/* Each token sees the decayed sum of those before it and itself. */
static filtra_tensor *build_lag(const filtra_scope *scope, const void *options,
                                const filtra_mixer_input *in, filtra_tensor **auxiliary) {
  (void)auxiliary;
  const struct lag *o = options;
  filtra_graph *g = filtra_scope_graph(scope);
  filtra_tensor *sum = filtra_cumulative_sum(g, in->x, 1, FILTRA_FORWARD);
  return filtra_mixer_output(scope, in, filtra_affine(g, sum, o->decay, 0));
}

static void own_mixer(filtra_device *dev, const filtra_dataset *data) {
  static const filtra_mixer_option OPTIONS[] = {{.name = "decay",
                                                 .type = FILTRA_OPTION_FLOAT,
                                                 .offset = offsetof(struct lag, decay),
                                                 .fallback = 0.5,
                                                 .low = 0,
                                                 .high = 1}};
  const filtra_mixer mixer = {.name = "lag",
                              .description = "decayed sums",
                              .options_size = sizeof(struct lag),
                              .options = OPTIONS,
                              .option_count = 1,
                              .build = build_lag};
  const filtra_model_config config = {.mixer = "{\"name\": \"lag\", \"decay\": 0.25}",
                                      .features = FEATURES,
                                      .classes = CLASSES,
                                      .max_length = STEPS,
                                      .layers = 1,
                                      .width = 16};
  filtra_loader *loader;
  filtra_batch batch;
  filtra_model *model, *loaded;
  filtra_trainer *trainer;
  filtra_trainer_metrics metrics;
  void *bytes;
  size_t size;
  float logits[BATCH * CLASSES], again[BATCH * CLASSES];
  check(!filtra_mixer_register(&mixer), "register");
  check(!filtra_loader_create(data, &(filtra_loader_options){.batch_size = BATCH}, &loader),
        "loader");
  check(!filtra_model_create(dev, &config, &model), "model");
  check(!filtra_trainer_create(
            model, &(filtra_train_options){.optimizer = {.learning_rate = 0.01f}}, &trainer),
        "trainer");
  for (int i = 0; i < 60; i++)
    check(!filtra_loader_next(loader, &batch) && !filtra_trainer_step(trainer, &batch, NULL),
          "step");
  check(!filtra_trainer_finish(trainer, &metrics), "finish");
  printf("own mixer: loss %.3f, accuracy %.2f\n", (double)metrics.loss, (double)metrics.accuracy);
  check(metrics.accuracy > 0.8f, "it learns");
  check(!filtra_model_save_to_memory(model, &bytes, &size) &&
            !filtra_model_load_from_memory(dev, bytes, size, &loaded),
        "through memory");
  check(!filtra_model_predict_batch(model, &batch, logits) &&
            !filtra_model_predict_batch(loaded, &batch, again) &&
            !memcmp(logits, again, sizeof logits),
        "loaded is what was saved");
  filtra_free(bytes);
  filtra_trainer_destroy(&trainer);
  filtra_model_destroy(&model);
  filtra_model_destroy(&loaded);
  filtra_loader_destroy(&loader);
}

int main(int argc, char **argv) {
  filtra_device *dev;
  check(argc == 2 && !chdir(argv[1]), "a folder to write to");
  check(!filtra_device_open(NULL, &dev), "device");
  filtra_dataset *data = make_data();
  own_network(dev, data);
  own_mixer(dev, data);
  filtra_dataset_close(&data);
  filtra_device_close(&dev);
  return 0;
}
