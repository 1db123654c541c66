/* Predictors: requests of several threads over one model. Requests are read on the caller's thread
 * and computed in batches (batcher.c). Called by programs through <filtra/predictor.h>. */
#include "base/memory.h"
#include "data/table_fit.h"
#include "gpu/gpu.h"
#include "train/batcher.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_BATCH = 16, MOST_BATCH = 65535 };

struct filtra_predictor {
  ft_reader reader;
  ft_batcher batcher;
  bool normalise;
};

ft_batcher *ft_predictor_batcher(filtra_predictor *predictor) {
  return &predictor->batcher;
}

/* ---- answers ---- */

static float softmax(const float *logits, int64_t count, int64_t best, float *probabilities) {
  float sum = 0.0f;
  for (int64_t i = 0; i < count; i++) {
    float e = expf(logits[i] - logits[best]);
    if (probabilities) probabilities[i] = e;
    sum += e;
  }
  for (int64_t i = 0; probabilities && i < count; i++)
    probabilities[i] /= sum;
  return 1.0f / sum;
}

/* The probability of each label. */
static void sigmoids(const float *logits, int64_t count, float *probabilities) {
  for (int64_t i = 0; i < count; i++)
    probabilities[i] = 1.0f / (1.0f + expf(-logits[i]));
}

static const char *label_name(const filtra_predictor *p, int64_t label) {
  if (p->reader.info.task == FILTRA_TASK_LANGUAGE_MODEL)
    return filtra_tokenizer_symbol(p->reader.info.tokenizer, (uint32_t)label);
  return (size_t)label < p->reader.info.class_count ? p->reader.info.classes[label] : NULL;
}

/* Copies a vector, normalised to length 1 if that is wanted and it is not zero. */
static filtra_prediction give_vector(const filtra_predictor *p, const float *vector, float *to) {
  double square = 0.0;
  for (int64_t i = 0; i < p->reader.info.outputs; i++)
    square += (double)vector[i] * (double)vector[i];
  const double factor = p->normalise && square > 0.0 ? 1.0 / sqrt(square) : 1.0;
  for (int64_t i = 0; i < p->reader.info.outputs; i++)
    to[i] = (float)(factor * (double)vector[i]);
  return (filtra_prediction){.label = -1};
}

static filtra_prediction prediction_of(const filtra_predictor *p, const float *logits,
                                       float *probabilities) {
  int64_t outputs = p->reader.info.outputs, best = 0;
  if (p->reader.info.task == FILTRA_TASK_REGRESSION)
    return (filtra_prediction){.label = -1, .value = logits[0]};
  for (int64_t i = 1; i < outputs; i++)
    if (logits[i] > logits[best]) best = i;
  filtra_prediction made = {.label = (int32_t)best, .name = label_name(p, best)};
  if (p->reader.info.task != FILTRA_TASK_MULTI_LABEL) {
    made.probability = softmax(logits, outputs, best, probabilities);
    return made;
  }
  if (probabilities) sigmoids(logits, outputs, probabilities);
  sigmoids(logits + best, 1, &made.probability);
  return made;
}

/* ---- the handle ---- */

/* Compiles the graphs of one length. */
static filtra_status prepare(filtra_predictor *p, int64_t length) {
  for (size_t size = 1; size < 2 * p->batcher.batch_size; size *= 2)
    FT_TRY(ft_model_prepare(p->reader.model, (int64_t)size, length));
  return FILTRA_OK;
}

/* Images that are cut into patches are whole: max_length is their only length. */
static bool has_one_length(const filtra_predictor *p) {
  return p->reader.model->options.config.patch;
}

static filtra_status check_lengths(const filtra_predictor *p, const filtra_predictor_options *o) {
  const int64_t most = p->reader.info.max_length, least = has_one_length(p) ? most : 1;
  for (size_t i = 0; i < o->length_count; i++)
    if (o->lengths[i] < least || o->lengths[i] > most)
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "predictor: lengths[%zu] is %u, accepted are %lld to %lld, the model's "
                     "max_length%s",
                     i, o->lengths[i], (long long)least, (long long)most,
                     has_one_length(p) ? ": its images are cut into patches, and whole" : "");
  return FILTRA_OK;
}

static filtra_status prepare_lengths(filtra_predictor *p, const filtra_predictor_options *o) {
  const int64_t most = p->reader.info.max_length;
  int64_t length = has_one_length(p) ? most : FT_SHORTEST_LENGTH;
  FT_TRY(check_lengths(p, o));
  for (size_t i = 0; i < o->length_count; i++)
    FT_TRY(prepare(p, o->lengths[i]));
  for (; o->prepare_all && length < most; length *= 2)
    FT_TRY(prepare(p, length));
  if (o->prepare_all) FT_TRY(prepare(p, most));
  return o->length_count || o->prepare_all ? ft_pipelines_finish(p->reader.model->device)
                                           : FILTRA_OK;
}

/* Fails unless there are as many names as classes of the model. */
static filtra_status check_classes(const filtra_predictor *p) {
  const size_t names = p->reader.info.class_count;
  const int64_t classes = filtra_model_classes(p->reader.model);
  if (!names || (int64_t)names == classes) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "predictor: the file names %zu classes, the model has %lld",
                 names, (long long)classes);
}

/* Warns of results that come from initial values; refuses vectors that do. */
static filtra_status check_trained(const ft_input *input, filtra_vector vector) {
  if (vector == FILTRA_VECTOR_HEAD && input->new_layer)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "predictor: the head's first layer has initial values, since the imported model "
                   "has none, so that its vectors mean nothing; take the mean or the first token");
  if (input->new_parts)
    ft_log(FILTRA_LOG_WARNING, "layers of the model have initial values: what it computes means "
                               "nothing until it is trained");
  else if (!vector && (input->new_head || input->new_layer))
    ft_log(
        FILTRA_LOG_WARNING,
        "the model's head has initial values: what it predicts means nothing until it is trained");
  return FILTRA_OK;
}

static filtra_status open_predictor(filtra_predictor *p, const filtra_predictor_options *o) {
  const filtra_model_config *m = &p->reader.model->options.config;
  if (o->batch_size > MOST_BATCH)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "predictor: batch_size is %u, accepted are 0 to %d",
                   o->batch_size, MOST_BATCH);
  if (o->normalise && !o->vector)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "predictor: normalise is for vectors, and vector is NONE");
  FT_TRY(ft_model_embed(p->reader.model, o->vector));
  p->normalise = o->normalise;
  FT_TRY(ft_input_read(p->reader.model->input, "the model's " FT_INPUT_KEY, &p->reader.input));
  const ft_data_fit *fit = &p->reader.input.fit.data;
  if (fit->features && fit->features != m->features && !(fit->columns && m->features == 1))
    return ft_fail(FILTRA_ERROR_INPUT, "predictor: standardises %u features, the model has %lld",
                   fit->features, (long long)m->features);
  p->batcher.batch_size = o->batch_size ? o->batch_size : DEFAULT_BATCH;
  /* All sizes of batches are prepared then. On a CPU a batch takes as long as its requests. */
  p->batcher.gathers = o->prepare_all && !ft_caps_of(p->reader.model->device)->cpu;
  p->reader.sequences = (size_t)ft_model_sequences(m);
  /* An imported model does not record whether it was trained with pairs. */
  const ft_frame *frame =
      p->reader.input.tokenizer ? ft_tokenizer_frame(p->reader.input.tokenizer) : NULL;
  const bool may_join = p->reader.input.imported && frame && p->reader.sequences == 1 &&
                        m->task != FILTRA_TASK_LANGUAGE_MODEL,
             pairs = p->reader.sequences > 1 || (fit->table && fit->table->second);
  p->reader.joined = may_join || (fit->table && fit->table->second);
  FT_TRY(check_trained(&p->reader.input, o->vector));
  p->reader.columns = m->features ? (size_t)m->features : 1;
  p->reader.info = (filtra_predictor_info){.task = filtra_model_task(p->reader.model),
                                           .outputs = ft_model_numbers(p->reader.model),
                                           .features = m->features,
                                           .max_length = m->max_length,
                                           .tokenizer = p->reader.input.tokenizer,
                                           .classes = fit->classes,
                                           .class_count = fit->class_count,
                                           .truncate = p->reader.input.truncate,
                                           .pairs = pairs,
                                           .may_pair = pairs || may_join};
  FT_TRY(check_classes(p));
  return prepare_lengths(p, o);
}

/* Creates a predictor that owns `model`; destroys the model on failure. */
static filtra_status make_predictor(filtra_model *model, const filtra_predictor_options *options,
                                    filtra_predictor **out) {
  static const filtra_predictor_options defaults;
  filtra_predictor *p = ft_calloc(1, sizeof *p);
  if (!p) {
    filtra_model_destroy(&model);
    return FILTRA_ERROR_HOST_MEMORY;
  }
  p->reader.model = model;
  p->batcher.reader = &p->reader;
  ft_mutex_make(&p->batcher.mutex);
  if (!options) options = &defaults;
  filtra_status status =
      options->precision ? filtra_model_set_precision(model, *options->precision) : FILTRA_OK;
  if (!status) status = open_predictor(p, options);
  if (status) filtra_predictor_destroy(&p);
  *out = p;
  return status;
}

static filtra_status check_create(const filtra_predictor_options *options) {
  FT_TRY(FT_CHECK_RESERVED(filtra_predictor_options, options));
  if (!options || !options->length_count || options->lengths) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "predictor: length_count is %zu where lengths is NULL",
                 options->length_count);
}

filtra_status filtra_predictor_create(filtra_device *device, const char *path,
                                      const filtra_predictor_options *options,
                                      filtra_predictor **out) {
  filtra_model *model;
  FT_NEED(out);
  *out = NULL;
  FT_TRY(check_create(options));
  FT_TRY(filtra_model_load(device, path, &model));
  return make_predictor(model, options, out);
}

filtra_status filtra_predictor_create_from_memory(filtra_device *device, const void *bytes,
                                                  size_t size,
                                                  const filtra_predictor_options *options,
                                                  filtra_predictor **out) {
  filtra_model *model;
  FT_NEED(out);
  *out = NULL;
  FT_TRY(check_create(options));
  FT_TRY(filtra_model_load_from_memory(device, bytes, size, &model));
  return make_predictor(model, options, out);
}

filtra_status filtra_run_create_predictor(const filtra_run *run, filtra_device *device,
                                          const filtra_predictor_options *options,
                                          filtra_predictor **out) {
  filtra_model *model;
  FT_NEED(out);
  *out = NULL;
  FT_TRY(check_create(options));
  FT_TRY(filtra_run_load_model(run, device, &model));
  return make_predictor(model, options, out);
}

void filtra_predictor_destroy(filtra_predictor **predictor) {
  if (!predictor || !*predictor) return;
  filtra_predictor *p = *predictor;
  ft_batcher_close(&p->batcher);
  if (ft_mostly_unknown(&p->batcher.read))
    ft_warn_of_unknown_words(p->reader.info.tokenizer, &p->batcher.read,
                             "the texts of the requests");
  filtra_model_destroy(&p->reader.model);
  ft_input_free(&p->reader.input);
  free(p);
  *predictor = NULL;
}

const filtra_predictor_info *filtra_predictor_get_info(const filtra_predictor *predictor) {
  return predictor ? &predictor->reader.info : NULL;
}

/* ---- requests ---- */

filtra_status filtra_predictor_submit(filtra_predictor *predictor, size_t count,
                                      const filtra_request *requests, uint64_t *ticket) {
  FT_NEED(predictor, requests, ticket);
  filtra_predictor *p = predictor;
  ft_request_sample *samples;
  ft_job *j;
  if (!count) return ft_fail(FILTRA_ERROR_ARGUMENT, "predictor: no request");
  FT_TRY(ft_requests_read(&p->reader, count, requests, &samples));
  FT_TRY(ft_job_new(&p->reader, count, requests, samples, &j));
  const filtra_status status = ft_batcher_submit(&p->batcher, j);
  if (status) {
    ft_job_free(j);
    return status;
  }
  *ticket = j->ticket;
  return FILTRA_OK;
}

filtra_status filtra_predictor_collect(filtra_predictor *predictor, uint64_t ticket,
                                       filtra_prediction *predictions) {
  FT_NEED(predictor, predictions);
  ft_job *j = ft_batcher_take(&predictor->batcher, ticket);
  if (!j)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "predictor: ticket %llu was not given out, or is collected already",
                   (unsigned long long)ticket);
  filtra_status status = j->status;
  if (status) ft_fail(status, "%s", j->message ? j->message : "out of host memory");
  size_t outputs = (size_t)predictor->reader.info.outputs;
  for (size_t i = 0; i < j->count && !status; i++) {
    const float *logits = j->results + i * outputs;
    predictions[i] = j->rooms[i].vector
                         ? give_vector(predictor, logits, j->rooms[i].vector)
                         : prediction_of(predictor, logits, j->rooms[i].probabilities);
    if (j->rooms[i].logits) memcpy(j->rooms[i].logits, logits, outputs * sizeof *logits);
  }
  ft_job_free(j);
  return status;
}

filtra_status filtra_predictor_predict(filtra_predictor *predictor, size_t count,
                                       const filtra_request *requests,
                                       filtra_prediction *predictions) {
  uint64_t ticket;
  FT_NEED(predictions);
  FT_TRY(filtra_predictor_submit(predictor, count, requests, &ticket));
  return filtra_predictor_collect(predictor, ticket, predictions);
}

/* Checks the buffers for rows of results. */
static filtra_status check_rows(const filtra_predictor *p, const float *logits,
                                const float *probabilities) {
  if (!p->reader.model->vector || (logits && !probabilities)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "predictor: vectors go to logits, and there are no probabilities");
}

/* Turns rows of logits into predictions, and copies the logits to the caller's buffer if wanted; or
 * copies vectors. */
static void answer_rows(const filtra_predictor *p, uint64_t count, const float *results,
                        float *logits, float *probabilities, filtra_prediction *predictions) {
  const size_t outputs = (size_t)p->reader.info.outputs;
  const bool vectors = p->reader.model->vector;
  for (size_t i = 0; i < count; i++)
    predictions[i] = vectors ? give_vector(p, results + i * outputs, logits + i * outputs)
                             : prediction_of(p, results + i * outputs,
                                             probabilities ? probabilities + i * outputs : NULL);
  if (logits && !vectors) memcpy(logits, results, count * outputs * sizeof *logits);
}

filtra_status filtra_predictor_predict_batch(filtra_predictor *predictor, const filtra_batch *batch,
                                             float *logits, float *probabilities,
                                             filtra_prediction *predictions) {
  FT_NEED(predictor, batch, predictions);
  size_t outputs = (size_t)predictor->reader.info.outputs;
  FT_TRY(check_rows(predictor, logits, probabilities));
  if (predictor->reader.info.task == FILTRA_TASK_LANGUAGE_MODEL && !predictor->reader.model->vector)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "predictor: of batches of text, filtra_model_predict_batch "
                   "gives a language model's logits at every token");
  float *results = ft_calloc(batch->size, outputs * sizeof *results);
  if (!results) return FILTRA_ERROR_HOST_MEMORY;
  ft_device_lock(predictor->reader.model->device);
  ft_batcher_make_room(&predictor->batcher);
  filtra_status status = filtra_model_predict_batch(predictor->reader.model, batch, results);
  ft_device_unlock(predictor->reader.model->device);
  if (!status) answer_rows(predictor, batch->count, results, logits, probabilities, predictions);
  free(results);
  return status;
}

filtra_status filtra_predictor_predict_split(filtra_predictor *predictor,
                                             const filtra_dataset *data, filtra_split split,
                                             uint32_t batch_size, float *logits,
                                             float *probabilities, filtra_prediction *predictions) {
  FT_NEED(predictor, data, predictions);
  FT_TRY(check_rows(predictor, logits, probabilities));
  const uint64_t count = filtra_dataset_get_info(data)->count[split];
  float *results = ft_calloc(count, (size_t)predictor->reader.info.outputs * sizeof *results);
  if (!results) return FILTRA_ERROR_HOST_MEMORY;
  ft_device_lock(predictor->reader.model->device);
  ft_batcher_make_room(&predictor->batcher);
  filtra_status status =
      filtra_model_predict_split(predictor->reader.model, data, split, batch_size, results);
  ft_device_unlock(predictor->reader.model->device);
  if (!status) answer_rows(predictor, count, results, logits, probabilities, predictions);
  free(results);
  return status;
}
