/* The model handle: parameters by a dry build, inference graphs by batch shape, weights on disk. */
#include "model/model.h"

#include "model/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- graphs for batches ---- */

void ft_batch_graph_open(filtra_model *model, ft_batch_graph *b, filtra_tensor **auxiliary) {
  filtra_graph *g = b->graph;
  ft_scope scope = {.graph = g, .params = model->params, .observer = b->observer};
  b->tokens = filtra_graph_input(g, "tokens", FILTRA_I32, 2, (int64_t[]){b->size, b->length});
  b->lengths = filtra_graph_input(g, "lengths", FILTRA_I32, 1, &b->size);
  filtra_tensor *mask = filtra_length_mask(g, b->lengths, b->length);
  b->logits = ft_classifier_build(&scope, &model->options, b->tokens, mask, auxiliary);
}

filtra_status ft_model_check_batch(const filtra_model *model, const filtra_batch *batch,
                                   bool labelled) {
  const ft_model_options *o = &model->options;
  if (batch->size < 1 || batch->length < 1 || !batch->tokens || !batch->lengths)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "batch: needs tokens, lengths, size and length");
  if (labelled && (!batch->labels || !batch->weights))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "batch: needs labels and weights here");
  for (int64_t i = 0; i < batch->size; i++) {
    if (batch->lengths[i] < 0 || batch->lengths[i] > (int64_t)batch->length ||
        batch->lengths[i] > o->max_length)
      return ft_fail(
          FILTRA_ERROR_INPUT,
          "batch: sample %lld has %d tokens; the batch holds %lld a row and the model at "
          "most %lld (max_length)",
          (long long)i, batch->lengths[i], (long long)batch->length, (long long)o->max_length);
    if (labelled && batch->weights[i] != 0.0f &&
        (batch->labels[i] < 0 || batch->labels[i] >= o->classes))
      return ft_fail(FILTRA_ERROR_INPUT, "batch: sample %lld has label %d, accepted are 0 to %lld",
                     (long long)i, batch->labels[i], (long long)o->classes - 1);
    for (int32_t n = 0; n < batch->lengths[i]; n++) {
      int32_t token = batch->tokens[i * batch->length + n];
      if (token < 0 || token >= o->vocabulary)
        return ft_fail(FILTRA_ERROR_INPUT,
                       "batch: sample %lld has token %d at position %d, accepted are 0 to %lld "
                       "(vocabulary)",
                       (long long)i, token, n, (long long)o->vocabulary - 1);
    }
  }
  return FILTRA_OK;
}

filtra_status ft_batch_graph_set(ft_batch_graph *b, const filtra_batch *batch) {
  int64_t copy = batch->length < b->length ? batch->length : b->length;
  int32_t *tokens = b->host;
  int32_t *lengths = tokens + b->size * b->length;
  int32_t *labels = lengths + b->size;
  float *weights = (float *)(labels + b->size);
  memset(b->host, 0, ft_batch_graph_host_bytes(b->size, b->length));
  for (int64_t i = 0; i < batch->size; i++) {
    memcpy(tokens + i * b->length, batch->tokens + i * batch->length,
           (size_t)copy * sizeof *tokens);
    lengths[i] = batch->lengths[i];
    if (!batch->labels) continue;
    labels[i] = batch->labels[i];
    weights[i] = batch->weights[i];
  }
  FT_TRY(filtra_graph_set(b->graph, b->tokens, tokens));
  FT_TRY(filtra_graph_set(b->graph, b->lengths, lengths));
  FT_TRY(filtra_graph_set(b->graph, b->labels, labels));
  return filtra_graph_set(b->graph, b->weights, weights);
}

size_t ft_batch_graph_host_bytes(int64_t size, int64_t length) {
  return (size_t)(size * length + 3 * size) * sizeof(int32_t);
}

void ft_batch_graph_close(ft_batch_graph *b) {
  filtra_graph_destroy(&b->graph);
  free(b->host);
  b->host = NULL;
}

/* Inference: cross-entropy and accuracy beside the logits, so that evaluation is the same graph. */
static filtra_status make_inference(filtra_model *model, int64_t size, int64_t length,
                                    ft_observer *observer, ft_batch_graph *b) {
  *b = (ft_batch_graph){.size = size, .length = length, .observer = observer};
  FT_TRY(filtra_graph_create(model->device, &(filtra_graph_options){.arena = model->arena},
                             &b->graph));
  filtra_tensor *auxiliary;
  filtra_graph *g = b->graph;
  ft_batch_graph_open(model, b, &auxiliary);
  b->labels = filtra_graph_input(g, "labels", FILTRA_I32, 1, &size);
  b->weights = filtra_graph_input(g, "weights", FILTRA_F32, 1, &size);
  filtra_graph_output(g, b->logits);
  b->loss = filtra_graph_output(
      g, filtra_weighted_mean(g, filtra_cross_entropy(g, b->logits, b->labels, 0.0f), b->weights));
  b->accuracy = filtra_graph_output(
      g, filtra_weighted_mean(g, filtra_accuracy(g, b->logits, b->labels), b->weights));
  b->host = ft_calloc(1, ft_batch_graph_host_bytes(size, length));
  if (!b->host) return FILTRA_ERROR_HOST_MEMORY;
  return filtra_graph_compile(g);
}

static int64_t round_up(int64_t n, int64_t least, int64_t most) {
  int64_t p = least;
  while (p < n)
    p *= 2;
  return p < most ? p : most;
}

/* The graph for at least this shape. Shapes are rounded up so that few graphs serve all; loaders
 * have one size anyway. */
static filtra_status inference_graph(filtra_model *model, const filtra_batch *batch, bool labelled,
                                     ft_batch_graph **out) {
  int64_t longest = 1;
  for (int64_t i = 0; i < batch->size; i++)
    if (batch->lengths[i] > longest) longest = batch->lengths[i];
  int64_t size = labelled ? batch->size : round_up(batch->size, 1, INT64_MAX);
  int64_t length = round_up(longest, 16, model->options.max_length);
  for (size_t i = 0; i < model->graph_count; i++) {
    *out = &model->graphs[i];
    if ((*out)->size == size && (*out)->length == length) return FILTRA_OK;
  }
  FT_TRY(FT_GROW(model->graphs, model->graph_count, model->graph_capacity));
  *out = &model->graphs[model->graph_count];
  filtra_status status = make_inference(model, size, length, NULL, *out);
  if (status)
    ft_batch_graph_close(*out);
  else
    model->graph_count++;
  return status;
}

filtra_status ft_model_observe(filtra_model *model, int64_t size, int64_t length,
                               ft_observer *observer, ft_batch_graph *out) {
  filtra_status status = make_inference(model, size, length, observer, out);
  if (status) ft_batch_graph_close(out);
  return status;
}

static filtra_status run_inference(filtra_model *model, const filtra_batch *batch, bool labelled,
                                   ft_batch_graph **out) {
  FT_TRY(ft_model_check_batch(model, batch, labelled));
  FT_TRY(inference_graph(model, batch, labelled, out));
  filtra_batch read = *batch;
  if (!labelled) read.labels = NULL;
  FT_TRY(ft_batch_graph_set(*out, &read));
  return filtra_graph_run((*out)->graph);
}

filtra_status filtra_model_predict(filtra_model *model, const filtra_batch *batch, float *logits) {
  ft_batch_graph *b;
  FT_TRY(run_inference(model, batch, false, &b));
  size_t row = (size_t)model->options.classes;
  float *all = ft_calloc((size_t)b->size * row, sizeof *all);
  if (!all) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = filtra_graph_get(b->graph, b->logits, all);
  if (!status) memcpy(logits, all, (size_t)batch->size * row * sizeof *all);
  free(all);
  return status;
}

filtra_status filtra_model_evaluate(filtra_model *model, const filtra_batch *batch, double *loss,
                                    double *accuracy, double *weight) {
  ft_batch_graph *b;
  float value[2];
  FT_TRY(run_inference(model, batch, true, &b));
  FT_TRY(filtra_graph_get(b->graph, b->loss, &value[0]));
  FT_TRY(filtra_graph_get(b->graph, b->accuracy, &value[1]));
  *loss = value[0];
  *accuracy = value[1];
  *weight = 0.0;
  for (int64_t i = 0; i < batch->size; i++)
    *weight += batch->weights[i];
  return FILTRA_OK;
}

/* ---- the handle ---- */

/* Declares the parameters by building the model once on a graph that never runs. */
static filtra_status declare_parameters(filtra_model *model) {
  ft_batch_graph dry = {.size = 1, .length = 1};
  filtra_tensor *auxiliary;
  FT_TRY(filtra_graph_create(model->device, NULL, &dry.graph));
  ft_batch_graph_open(model, &dry, &auxiliary);
  filtra_status status = ft_graph_status(dry.graph);
  filtra_graph_destroy(&dry.graph);
  return status;
}

filtra_status ft_model_declare(filtra_device *device, const ft_model_options *options,
                               filtra_model **out) {
  *out = NULL;
  filtra_model *model = ft_calloc(1, sizeof *model);
  if (!model) return FILTRA_ERROR_HOST_MEMORY;
  model->device = device;
  model->options = *options;
  filtra_status status = filtra_parameters_create(device, &model->params);
  if (!status) status = filtra_arena_create(device, &model->arena);
  if (!status) status = declare_parameters(model);
  if (status) filtra_model_destroy(&model);
  *out = model;
  return status;
}

filtra_status ft_model_new(filtra_device *device, const ft_model_options *options, uint64_t seed,
                           filtra_model **out) {
  FT_TRY(ft_model_declare(device, options, out));
  filtra_status status = filtra_parameters_commit((*out)->params, seed, false);
  if (status) filtra_model_destroy(out);
  return status;
}

void filtra_model_destroy(filtra_model **model) {
  filtra_model *m = *model;
  if (!m) return;
  for (size_t i = 0; i < m->graph_count; i++)
    ft_batch_graph_close(&m->graphs[i]);
  free(m->graphs);
  filtra_arena_destroy(&m->arena);
  filtra_parameters_destroy(&m->params);
  free(m);
  *model = NULL;
}

filtra_status filtra_model_create(filtra_device *device, const filtra_model_config *config,
                                  filtra_model **out) {
  ft_model_options options;
  *out = NULL;
  FT_TRY(ft_model_options_from_public(config, &options));
  return ft_model_new(device, &options, config->seed, out);
}

int64_t filtra_model_classes(const filtra_model *model) {
  return model->options.classes;
}
int64_t filtra_model_max_length(const filtra_model *model) {
  return model->options.max_length;
}
filtra_parameters *filtra_model_parameters(filtra_model *model) {
  return model->params;
}
