/* Reads requests as a model reads samples: text to tokens, numbers standardised. Called by
 * predictor.c on the caller's thread. */
#include "train/requests.h"

#include "base/memory.h"
#include "data/image.h"
#include "data/labels.h"
#include "data/series.h"
#include "data/table_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static filtra_status keep_words(const ft_reader *p, ft_request_sample *s, int which,
                                const void *words, size_t length) {
  size_t most = (size_t)p->info.max_length;
  if (!length)
    return ft_fail(FILTRA_ERROR_INPUT, "%s",
                   p->info.features ? "a series of no steps" : "a text of no tokens");
  if (length > most && !p->info.truncate)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%zu tokens; the model takes at most %zu: " FT_LENGTH_ADVICE_TRAINED, length,
                   most);
  if (length > most) length = most;
  s->words[which] = ft_calloc(length * p->columns, sizeof(uint32_t));
  if (!s->words[which]) return FILTRA_ERROR_HOST_MEMORY;
  if (words) memcpy(s->words[which], words, length * p->columns * sizeof(uint32_t));
  s->lengths[which] = (int32_t)length;
  return FILTRA_OK;
}

/* Reads a text that is a graph, and does not truncate it. */
static filtra_status read_graph(const ft_reader *p, ft_request_sample *s, const ft_texts *texts) {
  const filtra_tokenizer *t = p->info.tokenizer;
  ft_tokens nodes = {0};
  filtra_status status = t->encode_graph(t, texts->text, texts->length, &nodes, &s->edges);
  if (!status && nodes.count > (size_t)p->info.max_length)
    status = ft_fail(FILTRA_ERROR_INPUT,
                     "a graph of %zu nodes; the model takes at most %lld: train with a larger "
                     "max_length",
                     nodes.count, (long long)p->info.max_length);
  if (!status) status = keep_words(p, s, 0, nodes.ids, nodes.count);
  free(nodes.ids);
  return status;
}

/* Reads a text or, with special tokens around them, one or two into one sequence, as the training
 * data were read. */
static filtra_status read_text(const ft_reader *p, ft_request_sample *s, int which,
                               const ft_texts *texts, bool framed) {
  const filtra_tokenizer *t = p->info.tokenizer;
  if (p->columns > 1 || p->info.features)
    return ft_fail(FILTRA_ERROR_INPUT, "the model reads numbers, not text");
  if (!t && ft_model_has_edges(&p->model->options.config))
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "the model reads graphs, and none of its data were text; predict a data set, or a "
        "batch");
  if (!t)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "the model file does not say how text becomes tokens: it was imported from a "
                   "folder without a tokenizer, or its program did not name the data "
                   "(filtra_model_config.data or filtra_model_set_data); give tokens");
  ft_tokens tokens = {0};
  size_t second = 0;
  if (t->encode_graph) return read_graph(p, s, texts);
  filtra_status status = framed ? ft_tokenizer_encode_texts(t, texts, (size_t)p->info.max_length,
                                                            p->info.truncate, &tokens, &second)
                                : t->encode(t, texts->text, texts->length, &tokens);
  if (!status) ft_count_words(t, tokens.ids, tokens.count, &s->read);
  if (!status) status = keep_words(p, s, which, tokens.ids, tokens.count);
  s->second = ft_tokenizer_second(t, second);
  free(tokens.ids);
  return status;
}

/* Training read the fields of a table without the white space around them. */
static void trim_field(const ft_reader *p, ft_texts *t) {
  if (t->text && p->input.fit.data.table) ft_trim(&t->text, &t->length);
}

static filtra_status read_texts(const ft_reader *p, ft_request_sample *s, const filtra_request *r) {
  const filtra_tokenizer *t = p->info.tokenizer;
  const bool framed = (ft_tokenizer_frame(t) || ft_tokenizer_cuts_left(t)) &&
                      p->info.task != FILTRA_TASK_LANGUAGE_MODEL;
  ft_texts first = {.text = r->text, .length = r->text_length};
  ft_texts second = {.text = r->second, .length = r->second_length};
  trim_field(p, &first);
  trim_field(p, &second);
  const ft_texts texts = {first.text, first.length, p->joined ? second.text : NULL, second.length};
  if (r->text) FT_TRY(read_text(p, s, 0, &texts, framed));
  return r->second && !p->joined ? read_text(p, s, 1, &second, framed) : FILTRA_OK;
}

/* Fails unless the model file records how training numbers were standardised, or that they were
 * not: otherwise a request's numbers have an unknown scale. */
static filtra_status check_numbers(const ft_reader *p) {
  if (p->model->input || !p->info.features) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "the model file does not say how numbers were standardised: its program did not "
                 "name the data (filtra_model_config.data or filtra_model_set_data)");
}

static filtra_status read_series(const ft_reader *p, ft_request_sample *s, const float *series,
                                 uint32_t length) {
  if (!p->info.features) return ft_fail(FILTRA_ERROR_INPUT, "the model reads tokens, not numbers");
  FT_TRY(check_numbers(p));
  const ft_data_fit *fit = &p->input.fit.data;
  if (fit->bytes)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "the model reads images, whose pixels are bytes, 0 to 255; give pixels, not "
                   "other numbers");
  FT_TRY(keep_words(p, s, 0, series, length));
  float *to = (float *)s->words[0];
  const size_t count = (size_t)s->lengths[0] * p->columns;
  if (fit->columns && count != fit->features)
    return ft_fail(FILTRA_ERROR_INPUT, "%zu numbers; a row of the training data has %u", count,
                   fit->features);
  if (fit->features && !fit->columns && !fit->height) /* as training read series */
    ft_interpolate(to, (size_t)s->lengths[0], p->columns);
  for (size_t i = 0; i < count; i++) {
    if (!fit->features && isnan(to[i]))
      return ft_fail(FILTRA_ERROR_INPUT,
                     "number %zu of the series is missing (NaN), and the training data were not "
                     "standardised, so that there is no mean to take for it",
                     i);
    if (isinf(to[i])) return ft_fail(FILTRA_ERROR_INPUT, "number %zu of the series is infinite", i);
    if (fit->features)
      to[i] = ft_standard(fit->mean[i % fit->features], fit->factor[i % fit->features], to[i]);
  }
  return FILTRA_OK;
}

/* Fails unless an image has the size of the training data's, if these had one. */
static filtra_status check_size(const ft_reader *p, const filtra_request *r) {
  const filtra_model_config *config = &p->model->options.config;
  const ft_data_fit *fit = &p->input.fit.data;
  const int64_t height = config->image_height ? config->image_height : fit->height,
                width = config->image_height ? config->image_width : fit->width;
  if (r->height && r->length % r->height)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "%u pixels in %u rows of one length", r->length,
                   r->height);
  if (height && r->length != height * width)
    return ft_fail(FILTRA_ERROR_INPUT, "%u pixels; the model's images are %lld x %lld", r->length,
                   (long long)width, (long long)height);
  if (height && r->height && r->height != height)
    return ft_fail(FILTRA_ERROR_INPUT, "an image of %u x %u pixels; the model's are %lld x %lld",
                   r->length / r->height, r->height, (long long)width, (long long)height);
  return FILTRA_OK;
}

static filtra_status read_pixels(const ft_reader *p, ft_request_sample *s,
                                 const filtra_request *r) {
  const ft_data_fit *fit = &p->input.fit.data;
  if (r->channels != 1 && r->channels != 3)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "pixels of %u channels; accepted are 1 and 3",
                   r->channels);
  if (p->info.tokenizer && p->info.tokenizer != &ft_tokenizer_pixels)
    return ft_fail(FILTRA_ERROR_INPUT, "the model reads text, not pixels");
  if (p->columns != 1 && p->columns != 3)
    return ft_fail(FILTRA_ERROR_INPUT, "the model reads %zu numbers a step, no pixels", p->columns);
  FT_TRY(check_size(p, r));
  FT_TRY(check_numbers(p));
  FT_TRY(keep_words(p, s, 0, NULL, r->length));
  for (size_t i = 0; i < (size_t)s->lengths[0]; i++) {
    const uint8_t *pixel = r->pixels + i * r->channels;
    uint8_t bytes[3];
    if (!p->info.features) {
      s->words[0][i] = ft_grey_of(pixel, r->channels);
      continue;
    }
    ft_pixel_features(pixel, r->channels, (uint32_t)p->columns, bytes);
    float *to = (float *)s->words[0] + i * p->columns;
    for (size_t k = 0; k < p->columns; k++)
      to[k] = fit->features ? ft_standard_byte(fit->mean[k], fit->factor[k], bytes[k])
                            : (float)bytes[k];
  }
  return FILTRA_OK;
}

static filtra_status check_tokens(const ft_reader *p, const filtra_request *r) {
  const int64_t vocabulary = p->model->options.config.vocabulary;
  for (uint32_t i = 0; i < r->length; i++)
    if (r->tokens[i] < 0 || r->tokens[i] >= vocabulary)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "token %d at position %u, accepted are 0 to %lld (vocabulary)", r->tokens[i],
                     i, (long long)vocabulary - 1);
  return FILTRA_OK;
}

static filtra_status read_request(const ft_reader *p, const filtra_request *r,
                                  ft_request_sample *s) {
  FT_TRY(FT_CHECK_RESERVED(filtra_request, r));
  if (r->second && !p->info.may_pair)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "second must be NULL: the model takes one %s",
                   p->info.features ? "input" : "text");
  if (!!r->text + !!r->tokens + !!r->series + !!r->pixels != 1 || (!r->second && p->info.pairs))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "needs exactly one of text, tokens, series and pixels%s",
                   p->info.pairs ? ", and second: the model compares two texts" : "");
  if (!r->vector != !p->model->vector || (r->vector && (r->logits || r->probabilities)))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "%s",
                   p->model->vector
                       ? "the predictor gives vectors: needs vector, not logits or probabilities"
                       : "vector is for predictors that were made for vectors (options.vector)");
  if (r->probabilities && p->info.task == FILTRA_TASK_REGRESSION)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "a number has no probabilities");
  if (r->series) FT_TRY(read_series(p, s, r->series, r->length));
  if (r->pixels) FT_TRY(read_pixels(p, s, r));
  if (!r->text && ft_model_has_edges(&p->model->options.config))
    return ft_fail(FILTRA_ERROR_INPUT, "the model reads graphs; give text, or predict a batch");
  if (r->tokens && p->info.features)
    return ft_fail(FILTRA_ERROR_INPUT, "the model reads numbers, not tokens");
  if (r->tokens) FT_TRY(check_tokens(p, r));
  if (r->tokens) FT_TRY(keep_words(p, s, 0, r->tokens, r->length));
  FT_TRY(read_texts(p, s, r));
  int32_t longest = s->lengths[0] > s->lengths[1] ? s->lengths[0] : s->lengths[1];
  s->padded = ft_graph_length(longest, FT_SHORTEST_LENGTH, p->info.max_length);
  return FILTRA_OK;
}

void ft_requests_free(ft_request_sample *samples, size_t count) {
  for (size_t i = 0; samples && i < count; i++) {
    free(samples[i].words[0]);
    free(samples[i].words[1]);
    free(samples[i].edges.ids);
  }
  free(samples);
}

filtra_status ft_requests_read(const ft_reader *p, size_t count, const filtra_request *requests,
                               ft_request_sample **out) {
  *out = ft_calloc(count, sizeof **out);
  filtra_status status = *out ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count && !status; i++) {
    status = read_request(p, &requests[i], &(*out)[i]);
    if (status && count > 1) ft_fail_context(status, "request %zu", i);
  }
  if (!status) return FILTRA_OK;
  ft_requests_free(*out, count);
  *out = NULL;
  return status;
}
