/* Models: parameters, inference graphs by batch shape, prediction and memory. Called by programs
 * through <filtra/model.h>, by train/ and by the command. */
#include "model/model.h"

#include "base/safetensors.h"
#include "gpu/matrix.h"
#include "graph/kept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- inference ---- */

/* Adds the outputs of an inference graph. If labels are judged, a language model's logits stay on
 * the device: a vocabulary for each token can take gigabytes of host memory. */
static void add_outputs(const filtra_model *model, ft_batch_graph *b) {
  const bool language = model->options.config.task == FILTRA_TASK_LANGUAGE_MODEL;
  if (!b->judged || !language) filtra_graph_output(b->graph, b->logits);
  if (!b->judged) return;
  ft_batch_graph_judge(model, b, 0.0f, NULL);
  filtra_graph_output(b->graph, b->loss);
}

static filtra_status make_inference(filtra_model *model, int64_t size, int64_t length, bool judged,
                                    ft_observer *observer, ft_batch_graph *b) {
  *b = (ft_batch_graph){.size = size, .length = length, .judged = judged, .observer = observer};
  FT_TRY(filtra_graph_create(
      model->device, &(filtra_graph_options){.arena = model->arena, .slots = 2}, &b->graph));
  filtra_tensor *auxiliary;
  ft_batch_graph_open(model, b, &auxiliary);
  add_outputs(model, b);
  return filtra_graph_compile(b->graph);
}

/* The graph for this shape or a larger one. Shapes are rounded up, so that few graphs serve all
 * requests; the size of a batch with labels is not, since a loader's batches have one size. */
static filtra_status inference_graph(filtra_model *model, int64_t size, int64_t longest,
                                     bool labelled, ft_batch_graph **out) {
  int64_t length = ft_graph_length(longest, FT_SHORTEST_LENGTH, model->options.config.max_length);
  if (!labelled) size = ft_graph_length(size, 1, INT64_MAX);
  for (size_t i = 0; i < model->graph_count; i++) {
    *out = &model->graphs[i];
    if ((*out)->size == size && (*out)->length == length && (*out)->judged == labelled)
      return FILTRA_OK;
  }
  FT_TRY(FT_GROW(model->graphs, model->graph_count, model->graph_capacity));
  *out = &model->graphs[model->graph_count];
  filtra_status status = make_inference(model, size, length, labelled, NULL, *out);
  if (status)
    ft_batch_graph_close(*out);
  else
    model->graph_count++;
  return status;
}

filtra_status ft_model_observe(filtra_model *model, int64_t size, int64_t length,
                               ft_observer *observer, ft_batch_graph *out) {
  filtra_status status = make_inference(model, size, length, false, observer, out);
  if (status) ft_batch_graph_close(out);
  return status;
}

filtra_status ft_model_submit(filtra_model *model, const filtra_batch *batch, bool labelled,
                              ft_pending_batch *pending) {
  ft_batch_graph *b;
  FT_TRY(ft_model_check_batch(model, batch, labelled));
  int64_t longest = 1, sequences = batch->size * ft_model_sequences(&model->options.config);
  for (int64_t i = 0; i < sequences; i++)
    if (batch->lengths[i] > longest) longest = batch->lengths[i];
  FT_TRY(inference_graph(model, batch->size, longest, labelled, &b));
  FT_TRY(ft_batch_graph_set(b, batch, labelled));
  pending->graph = (size_t)(b - model->graphs);
  return filtra_graph_submit(b->graph, &pending->ticket);
}

filtra_status ft_model_collect(filtra_model *model, const ft_pending_batch *pending, double *loss,
                               double *score, double *top5) {
  const ft_batch_graph *b = &model->graphs[pending->graph];
  float value[3] = {0, 0, -1};
  FT_TRY(filtra_graph_wait(b->graph, pending->ticket));
  FT_TRY(filtra_graph_get(b->graph, b->loss, &value[0]));
  FT_TRY(filtra_graph_get(b->graph, b->score, &value[1]));
  if (b->top5) FT_TRY(filtra_graph_get(b->graph, b->top5, &value[2]));
  *loss = value[0];
  *score = value[1];
  if (top5) *top5 = value[2];
  return FILTRA_OK;
}

/* Copies the results of each sequence, in the caller's units. */
static void take_results(const filtra_model *model, const float *all, const filtra_batch *batch,
                         float *results) {
  const filtra_model_config *o = &model->options.config;
  size_t count = (size_t)batch->size * (size_t)ft_model_numbers(model);
  bool value = o->task == FILTRA_TASK_REGRESSION && !model->vector;
  for (size_t i = 0; i < count; i++)
    results[i] = value ? all[i] * o->target_scale + o->target_mean : all[i];
}

/* Copies the results of each token; graph and batch may be padded to different lengths. */
static void take_token_results(const ft_batch_graph *b, int64_t outputs, const float *all,
                               const filtra_batch *batch, float *results) {
  for (int64_t i = 0; i < batch->size; i++) {
    size_t real = (size_t)(batch->lengths[i] * outputs), row = (size_t)(batch->length * outputs);
    float *to = results + (size_t)i * row;
    memcpy(to, all + i * b->length * outputs, real * sizeof *to);
    memset(to + real, 0, (row - real) * sizeof *to);
  }
}

/* Fails and names the first tensor that is not finite, or `result`. Finite weights and finite
 * inputs may overflow together, so that it is not known which of them is to blame. */
static filtra_status fail_nonfinite(const ft_batch_graph *b, const ft_pending_batch *pending,
                                    const char *call, const char *result) {
  const char *name = NULL;
  FT_TRY(ft_graph_find_nonfinite(b->graph, pending->ticket, &name));
  return ft_fail(FILTRA_ERROR_NONFINITE,
                 "%s: %s holds a NaN or an infinity: either the model's weights are not usable or "
                 "an input is too large",
                 call, name ? name : result);
}

/* Fails if a result is not finite. */
static filtra_status check_finite(const ft_batch_graph *b, const ft_pending_batch *pending,
                                  const float *results, size_t count) {
  size_t i = 0;
  while (i < count && isfinite(results[i]))
    i++;
  return i == count ? FILTRA_OK : fail_nonfinite(b, pending, "predict", "the result");
}

int64_t ft_model_numbers(const filtra_model *model) {
  const filtra_model_config *o = &model->options.config;
  if (!model->vector) return ft_model_outputs(o);
  return model->vector == FILTRA_VECTOR_HEAD ? o->head_width : ft_model_last_width(o);
}

filtra_status ft_model_embed(filtra_model *model, filtra_vector vector) {
  const filtra_model_config *o = &model->options.config;
  const bool layer = o->task != FILTRA_TASK_LANGUAGE_MODEL && o->head == FILTRA_HEAD_MLP &&
                     o->pooling != FILTRA_POOLING_FLATTEN;
  if ((unsigned)vector > FILTRA_VECTOR_HEAD)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "model: there is no vector %d", (int)vector);
  if (vector && o->task == FILTRA_TASK_PAIR_CLASSIFICATION)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "model: it compares two sequences; one alone has no vector in task \"%s\"",
                   ft_task_name(o->task));
  if (vector == FILTRA_VECTOR_HEAD && !layer)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "model: its head has no layer before the last one, whose output would be the "
                   "vector; take the mean or the first token");
  model->vector = vector;
  return FILTRA_OK;
}

filtra_status ft_model_prepare(filtra_model *model, int64_t size, int64_t length) {
  ft_batch_graph *b;
  return inference_graph(model, size, length, false, &b);
}

filtra_status ft_model_rows(filtra_model *model, const ft_pending_batch *pending,
                            const int32_t *lengths, size_t count, float *results) {
  const ft_batch_graph *b = &model->graphs[pending->graph];
  const filtra_model_config *o = &model->options.config;
  size_t outputs = (size_t)ft_model_numbers(model), row = (size_t)(b->rows / b->size) * outputs;
  FT_TRY(filtra_graph_wait(b->graph, pending->ticket));
  float *all = ft_calloc((size_t)b->size * row, sizeof *all);
  if (!all) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = filtra_graph_get(b->graph, b->logits, all);
  for (size_t i = 0; i < count && !status; i++) {
    size_t last = row == outputs ? 0 : ((size_t)lengths[i] - 1) * outputs;
    memcpy(results + i * outputs, all + i * row + last, outputs * sizeof *all);
  }
  if (!status && o->task == FILTRA_TASK_REGRESSION && !model->vector)
    for (size_t i = 0; i < count; i++)
      results[i] = results[i] * o->target_scale + o->target_mean;
  free(all);
  return status ? status : check_finite(b, pending, results, count * outputs);
}

filtra_status filtra_model_predict_batch(filtra_model *model, const filtra_batch *batch,
                                         float *results) {
  FT_NEED(model, batch, results);
  ft_pending_batch pending;
  const filtra_model_config *o = &model->options.config;
  FT_TRY(ft_model_submit(model, batch, false, &pending));
  const ft_batch_graph *b = &model->graphs[pending.graph];
  FT_TRY(filtra_graph_wait(b->graph, pending.ticket));
  const bool tokens = o->task == FILTRA_TASK_LANGUAGE_MODEL && !model->vector;
  int64_t outputs = ft_model_numbers(model);
  float *all = ft_calloc((size_t)(b->rows * outputs), sizeof *all);
  if (!all) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = filtra_graph_get(b->graph, b->logits, all);
  if (!status)
    status =
        check_finite(b, &pending, all, (size_t)(batch->size * b->rows / b->size) * (size_t)outputs);
  if (!status && tokens)
    take_token_results(b, outputs, all, batch, results);
  else if (!status)
    take_results(model, all, batch, results);
  free(all);
  if (status) return status;
  int64_t rows = tokens ? batch->size * batch->length : batch->size;
  return check_finite(b, &pending, results, (size_t)(rows * outputs));
}

filtra_status filtra_model_evaluate_batch(filtra_model *model, const filtra_batch *batch,
                                          double *loss, double *score, double *weight) {
  FT_NEED(model, batch, loss, score, weight);
  ft_pending_batch pending;
  FT_TRY(ft_model_submit(model, batch, true, &pending));
  *weight = ft_batch_weight(model, batch);
  FT_TRY(ft_model_collect(model, &pending, loss, score, NULL));
  if (isfinite(*loss)) return FILTRA_OK;
  return fail_nonfinite(&model->graphs[pending.graph], &pending, "evaluate", "the loss");
}

/* ---- the handle ---- */

/* Declares the parameters by building the model once on a graph that is never executed. */
static filtra_status declare_parameters(filtra_model *model) {
  ft_batch_graph dry = {
      .size = 1, .length = model->options.config.patch ? model->options.config.max_length : 1};
  filtra_tensor *auxiliary;
  FT_TRY(filtra_graph_create(model->device, NULL, &dry.graph));
  ft_batch_graph_open(model, &dry, &auxiliary);
  filtra_status status = ft_graph_status(dry.graph);
  ft_batch_graph_close(&dry);
  return status;
}

static filtra_status keep_mixer(filtra_model *model) {
  model->mixer = ft_json_text(ft_mixers_write(&model->options.mixers), JSON_COMPACT);
  model->options.config.mixer = model->mixer;
  return model->mixer ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

filtra_status ft_model_declare(filtra_device *device, const ft_model_options *options, bool narrow,
                               filtra_model **out) {
  *out = NULL;
  FT_TRY(ft_check_precision(device, ft_precision_dtype(options->config.precision)));
  if (options->config.precision != FILTRA_PRECISION_FP32) ft_matrix_say_untested(device);
  filtra_model *model = ft_calloc(1, sizeof *model);
  if (!model) return FILTRA_ERROR_HOST_MEMORY;
  model->device = device;
  model->options = *options;
  filtra_status status = filtra_parameters_create(device, &model->params);
  if (!status) model->params->narrow = narrow;
  if (!status) status = filtra_arena_create(device, &model->arena);
  if (!status) status = declare_parameters(model);
  if (!status) status = keep_mixer(model);
  if (status) filtra_model_destroy(&model);
  *out = model;
  return status;
}

filtra_status ft_model_new(filtra_device *device, const ft_model_options *options, uint64_t seed,
                           filtra_model **out) {
  FT_TRY(ft_model_declare(device, options, false, out));
  filtra_status status = filtra_parameters_commit((*out)->params, seed, FILTRA_FIXED);
  if (status) filtra_model_destroy(out);
  return status;
}

/* How many objects of the application use the model or its parameters. Closes the model's own
 * graphs, which are recorded again on use. */
static unsigned count_users(filtra_model *m) {
  if (m->users) return m->users;
  for (size_t i = 0; i < m->graph_count; i++)
    ft_batch_graph_close(&m->graphs[i]);
  m->graph_count = 0;
  return m->params ? m->params->users : 0;
}

filtra_status filtra_model_destroy(filtra_model **model) {
  FT_NEED(model);
  if (!*model) return FILTRA_OK;
  filtra_model *m = *model;
  FT_TRY(ft_check_unused("the model", count_users(m)));
  free(m->graphs);
  free(m->input);
  free(m->mixer);
  filtra_arena_destroy(&m->arena);
  filtra_parameters_destroy(&m->params);
  free(m);
  *model = NULL;
  return FILTRA_OK;
}

/* The application's options, completed by its data and by defaults. */
static filtra_status take_config(const filtra_model_config *config, ft_model_options *options) {
  filtra_model_config fitted = *config;
  fitted.data = NULL;
  if (config->data) FT_TRY(ft_model_fit(&fitted, "model configuration", config->data));
  if (config->data) FT_TRY(ft_model_fit_target(&fitted, "model configuration", config->data));
  return ft_model_options_take(&fitted, options);
}

filtra_status filtra_model_create(filtra_device *device, const filtra_model_config *config,
                                  filtra_model **out) {
  FT_NEED(out);
  *out = NULL;
  FT_NEED(device, config);
  FT_TRY(FT_CHECK_RESERVED(filtra_model_config, config));
  ft_model_options options;
  FT_TRY(take_config(config, &options));
  FT_TRY(ft_model_new(device, &options, config->seed, out));
  filtra_status status = config->data ? filtra_model_set_data(*out, config->data) : FILTRA_OK;
  if (status) filtra_model_destroy(out);
  return status;
}

/* Copies the values of one set of parameters to another with the same names. */
static filtra_status copy_values(filtra_parameters *from, filtra_parameters *to) {
  for (size_t i = 0; i < from->count; i++) {
    const ft_parameter *source = &from->list[i];
    const ft_parameter *target = ft_parameters_find(to, source->name);
    float *values = ft_calloc((size_t)source->elements, sizeof *values);
    if (!values) return FILTRA_ERROR_HOST_MEMORY;
    filtra_status status = ft_parameter_download(from, source, values);
    if (!status) status = ft_parameter_upload(to, target, values);
    free(values);
    FT_TRY(status);
  }
  return FILTRA_OK;
}

/* Swaps two models except `input`, which does not depend on the precision. */
static void exchange(filtra_model *a, filtra_model *b) {
  filtra_model kept = *a;
  *a = *b;
  *b = kept;
  b->input = a->input;
  a->input = kept.input;
}

filtra_status filtra_model_set_precision(filtra_model *model, filtra_precision precision) {
  FT_NEED(model);
  ft_model_options options = model->options;
  filtra_model *other;
  if ((unsigned)precision > FILTRA_PRECISION_FP16)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "model: there is no precision %d", (int)precision);
  if (options.config.precision == precision && !model->params->narrow) return FILTRA_OK;
  if (model->params->trainable)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "model: the precision of a model that a trainer has cannot change");
  if (count_users(model))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "model: the precision cannot change while generators or graphs use the model; "
                   "destroy them first");
  options.config.precision = precision;
  FT_TRY(ft_model_new(model->device, &options, 0, &other));
  filtra_status status = copy_values(model->params, other->params);
  if (!status) exchange(model, other);
  filtra_model_destroy(&other);
  return status;
}

filtra_task filtra_model_task(const filtra_model *model) {
  return model ? model->options.config.task : FILTRA_TASK_CLASSIFICATION;
}
int64_t filtra_model_outputs(const filtra_model *model) {
  return model ? ft_model_outputs(&model->options.config) : 0;
}
int64_t filtra_model_classes(const filtra_model *model) {
  return model ? model->options.config.classes : 0;
}
int64_t filtra_model_max_length(const filtra_model *model) {
  return model ? model->options.config.max_length : 0;
}
filtra_parameters *filtra_model_parameters(filtra_model *model) {
  return model ? model->params : NULL;
}

filtra_status filtra_model_get_config(const filtra_model *model, filtra_model_config *config) {
  FT_NEED(model, config);
  *config = model->options.config;
  return FILTRA_OK;
}

/* ---- memory, computed before anything is allocated ---- */

filtra_status ft_model_measure(filtra_model *model, ft_batch_graph *b, bool training,
                               ft_recompute how, filtra_memory_use *memory) {
  filtra_tensor *auxiliary;
  if (!model->params->committed) model->params->fixed = !training;
  FT_TRY(filtra_graph_create(
      model->device, &(filtra_graph_options){.slots = training ? 3 : 2, .training = training},
      &b->graph));
  ft_graph_set_recompute(b->graph, how);
  ft_batch_graph_open(model, b, &auxiliary);
  if (training) {
    ft_batch_graph_judge(model, b, 0.0f, auxiliary);
    FT_TRY(filtra_graph_backward(b->graph, 1, &b->loss, NULL));
  } else {
    add_outputs(model, b);
  }
  FT_TRY(ft_graph_measure(b->graph, &memory->activations, &memory->transfers));
  if (!model->params->committed) ft_parameters_lay_out(model->params);
  memory->parameters = ft_parameters_extent(model->params) + ft_kept_extent(model->params);
  memory->training = training ? 3 * ft_buffer_extent(model->params->trained_bytes) : 0;
  memory->total = memory->parameters + memory->training + memory->activations + memory->transfers;
  return FILTRA_OK;
}

filtra_status filtra_model_measure(filtra_device *device, const filtra_model_config *config,
                                   int64_t size, int64_t length, filtra_purpose purpose,
                                   filtra_memory_use *memory) {
  FT_NEED(device, config, memory);
  const bool training = purpose == FILTRA_FOR_TRAINING;
  filtra_model *model;
  ft_model_options options;
  *memory = (filtra_memory_use){0};
  FT_TRY(FT_CHECK_RESERVED(filtra_model_config, config));
  FT_TRY(take_config(config, &options));
  if (size < 1 || size > UINT32_MAX || length < 1 || length > options.config.max_length)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "model: %lld samples of %lld tokens; accepted are at least 1 and at most %lld "
                   "tokens (max_length)",
                   (long long)size, (long long)length, (long long)options.config.max_length);
  FT_TRY(ft_model_declare(device, &options, false, &model));
  ft_batch_graph b = {.size = size, .length = length, .judged = training};
  filtra_status status = ft_model_measure(model, &b, training, FT_RECOMPUTE_NONE, memory);
  ft_batch_graph_close(&b);
  filtra_model_destroy(&model);
  return status;
}
