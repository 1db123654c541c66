/* Models of Hugging Face's `transformers`, from golden files that it wrote: the same logits,
 * losses, gradients and weights after ten steps; other mixers in their place; what is damaged is
 * named. */

#include "support/harness.h"

#include "base/file.h"
#include "base/safetensors.h"
#include "graph/parameters.h"
#include "model/model.h"

#include <filtra/filtra.h>

enum { STEPS = 10 };

static const char *const FAMILIES[] = {"bert", "roberta", "distilbert", "gpt2", "vit", "deit"};

static const char *folder_of(const char *name, const char *part) {
  static char path[600];
  snprintf(path, sizeof path, "%s/golden/pretrained/%s%s%s", TEST_SOURCE_DIR, name, part ? "/" : "",
           part ? part : "");
  return path;
}

static filtra_model *import(const char *name, const char *part, const char *changes) {
  filtra_model *model;
  assert_ok(filtra_model_import(test_device(), folder_of(name, part), changes, &model));
  return model;
}

/* ---- the golden batch ---- */

typedef struct golden {
  ft_safetensors *file;
  filtra_batch batch;
  const float *logits, *loss;
  int32_t next[256];
  float weights[8];
} golden;

static const void *data_of(const golden *g, const char *name) {
  const ft_safetensor *t = ft_safetensors_find(g->file, name);
  return t ? t->data : NULL;
}

/* A language model's labels are the next tokens. */
static void set_next(golden *g) {
  const filtra_batch *b = &g->batch;
  assert_true((size_t)(b->size * b->length) <= FT_COUNT(g->next));
  for (uint32_t i = 0; i < b->size * b->length; i++) {
    const uint32_t row = i / b->length, n = i % b->length;
    g->next[i] = (int32_t)n + 1 < b->lengths[row] ? b->tokens[i + 1] : -1;
  }
}

static void open_golden(const char *name, golden *g) {
  *g = (golden){0};
  assert_ok(ft_safetensors_open(folder_of(name, "golden.safetensors"), &g->file));
  const ft_safetensor *tokens = ft_safetensors_find(g->file, "tokens"),
                      *features = ft_safetensors_find(g->file, "features");
  const ft_safetensor *input = tokens ? tokens : features;
  assert_non_null(input);
  for (size_t i = 0; i < FT_COUNT(g->weights); i++)
    g->weights[i] = 1;
  g->batch = (filtra_batch){.size = (uint32_t)input->shape[0],
                            .length = (uint32_t)input->shape[1],
                            .count = (uint32_t)input->shape[0],
                            .tokens = tokens ? tokens->data : NULL,
                            .features = features ? features->data : NULL,
                            .lengths = data_of(g, "lengths"),
                            .second = data_of(g, "second"),
                            .labels = data_of(g, "labels"),
                            .values = data_of(g, "values"),
                            .weights = g->weights};
  g->logits = data_of(g, "logits");
  g->loss = data_of(g, "loss");
  if (g->batch.labels || g->batch.values) return;
  set_next(g);
  g->batch.labels = g->next;
}

/* The largest difference, relative to the largest number. A language model's rows at padding are
 * zeros here and anything there. */
static double difference(const filtra_batch *b, const float *x, const float *y, size_t count,
                         bool tokens) {
  double most = 0, largest = 0;
  for (size_t i = 0; i < count; i++) {
    const size_t row = i / (count / (b->size * b->length));
    if (tokens && (int32_t)(row % b->length) >= b->lengths[row / b->length]) continue;
    most = fmax(most, fabs((double)x[i] - (double)y[i]));
    largest = fmax(largest, fabs((double)y[i]));
  }
  return most / largest;
}

static double logits_difference(filtra_model *model, const golden *g) {
  const bool tokens = filtra_model_task(model) == FILTRA_TASK_LANGUAGE_MODEL;
  const size_t count =
      (size_t)g->batch.size * (tokens ? g->batch.length : 1) * (size_t)filtra_model_outputs(model);
  owned float *logits = calloc(count, sizeof *logits);
  assert_non_null(logits);
  assert_ok(filtra_model_predict_batch(model, &g->batch, logits));
  return difference(&g->batch, logits, g->logits, count, tokens);
}

TEST(logits_are_theirs) {
  for (size_t i = 0; i < FT_COUNT(FAMILIES); i++) {
    golden g;
    double loss, score, weight;
    open_golden(FAMILIES[i], &g);
    owned_model *model = import(FAMILIES[i], NULL, NULL);
    const double error = logits_difference(model, &g);
    if (!(error <= 2e-5)) fail_msg("%s: logits differ by %g of the largest", FAMILIES[i], error);
    assert_ok(filtra_model_evaluate_batch(model, &g.batch, &loss, &score, &weight));
    if (!(fabs(loss - (double)*g.loss) <= 2e-5 * fabs((double)*g.loss)))
      fail_msg("%s: loss %.9g, theirs %.9g", FAMILIES[i], loss, (double)*g.loss);
    ft_safetensors_close(&g.file);
  }
}

/* ---- training ---- */

/* The largest difference of a parameter, relative to its largest number, or to `floor`. */
static void compare(const char *family, const char *what, const ft_parameter *p, const float *x,
                    const float *y, double floor, double accepted) {
  double most = 0, largest = floor;
  for (int64_t i = 0; i < p->elements; i++) {
    most = fmax(most, fabs((double)x[i] - (double)y[i]));
    largest = fmax(largest, fabs((double)y[i]));
  }
  if (!(most <= accepted * largest))
    fail_msg("%s: %s of %s differs by %g of %g", family, what, p->name, most, largest);
}

static float *values_of(filtra_model *model, const ft_parameter *p) {
  float *values = calloc((size_t)p->elements, sizeof *values);
  assert_non_null(values);
  assert_ok(ft_parameter_download(model->params, p, values));
  return values;
}

/* Keys' biases change no logits: their gradients are rounding, here and there. */
static void skip_noise(const ft_parameter *p, const float *x, float *y) {
  const int64_t width = p->elements / 3;
  for (int64_t i = width; strstr(p->name, "qkv.bias") && i < 2 * width; i++)
    y[i] = x[i];
}

static void check_gradients(const char *family, filtra_model *model, filtra_model *theirs) {
  for (size_t i = 0; i < model->params->count; i++) {
    const ft_parameter *p = &model->params->list[i];
    owned float *x = calloc((size_t)p->elements, sizeof *x),
                *y = values_of(theirs, ft_parameters_find(theirs->params, p->name));
    assert_non_null(x);
    assert_ok(ft_download(model->device, &model->params->gradients, p->offset, x,
                          (uint64_t)p->elements * sizeof *x));
    compare(family, "the gradient", p, x, y, 1e-3, 2e-4);
  }
}

static void check_weights(const char *family, filtra_model *model, filtra_model *theirs) {
  for (size_t i = 0; i < model->params->count; i++) {
    const ft_parameter *p = &model->params->list[i];
    owned float *x = values_of(model, p),
                *y = values_of(theirs, ft_parameters_find(theirs->params, p->name));
    skip_noise(p, x, y);
    compare(family, "the value", p, x, y, 1, 1e-4);
  }
}

TEST(gradients_and_ten_steps_are_theirs) {
  for (size_t i = 0; i < FT_COUNT(FAMILIES); i++) {
    golden g;
    filtra_trainer_metrics m;
    open_golden(FAMILIES[i], &g);
    owned_model *model = import(FAMILIES[i], NULL, "{\"head_dropout\": 0}");
    owned_model *gradient = import(FAMILIES[i], "gradient", NULL),
                *trained = import(FAMILIES[i], "trained", NULL);
    owned_trainer *trainer;
    assert_ok(filtra_trainer_create(
        model, &(filtra_train_options){.optimizer = {.learning_rate = 1e-3f}}, &trainer));
    for (int step = 0; step < STEPS; step++) {
      assert_ok(filtra_trainer_step(trainer, &g.batch, NULL));
      assert_ok(filtra_trainer_finish(trainer, &m));
      if (!step) check_gradients(FAMILIES[i], model, gradient);
    }
    check_weights(FAMILIES[i], model, trained);
    ft_safetensors_close(&g.file);
  }
}

/* ---- filters plugged in ---- */

/* A filter that begins as softmax attention begins as the same function. */
TEST(filters_begin_as_the_same_function) {
  static const char *const CHANGES[] = {"{\"mixer\": \"gfsa\"}",
                                        "{\"mixer\": {\"name\": \"plaplacian\", \"p\": 2}}"};
  for (size_t i = 0; i < FT_COUNT(FAMILIES); i++)
    for (size_t k = 0; k < FT_COUNT(CHANGES); k++) {
      golden g;
      open_golden(FAMILIES[i], &g);
      owned_model *model = import(FAMILIES[i], NULL, CHANGES[k]);
      const double error = logits_difference(model, &g);
      if (!(error <= 2e-5)) fail_msg("%s, %s: differs by %g", FAMILIES[i], CHANGES[k], error);
      ft_safetensors_close(&g.file);
    }
}

TEST_MAIN(NULL, test_teardown)
