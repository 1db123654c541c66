/* Measures a run: runs its best model on samples, and reads back what its layers compute. Called by
 * analyze.c. */
#include "analyze.h"
#include "base/file.h"
#include "base/memory.h"

#include <filtra/filtra.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The analysis in progress. */
typedef struct analyzer {
  analysis *result;
  filtra_dataset *data;
  filtra_loader *loader;
  ft_observer observer;
  ft_batch_graph graph;                                 /* for the last batch's shape */
  double (*into)[SPECTRA_BANDS], (*out)[SPECTRA_BANDS]; /* [mixer_count] energies */
  float *features, *queries, *keys, *sigma;             /* observed tensors */
  double *scratch, *gram, *matrix;
} analyzer;

/* ---- what is observed ---- */

/* Copies the observed name without its last part. */
static void copy_place(char to[FT_NAME_TEXT], const char *name) {
  snprintf(to, FT_NAME_TEXT, "%s", name);
  char *dot = strrchr(to, '.');
  if (dot) *dot = '\0';
}

/* Lists stages and mixers from the observations of the first graph. */
static filtra_status list_stages(analyzer *a) {
  analysis *r = a->result;
  if (r->stages) return FILTRA_OK;
  size_t count = a->observer.count;
  r->stages = ft_calloc(count + 1, sizeof *r->stages);
  r->mixers = ft_calloc(count + 1, sizeof *r->mixers);
  a->into = ft_calloc(count + 1, sizeof *a->into);
  a->out = ft_calloc(count + 1, sizeof *a->out);
  if (!r->stages || !r->mixers || !a->into || !a->out) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++) {
    const char *name = a->observer.list[i].name;
    if (ft_ends_with(name, ".x")) copy_place(r->stages[r->stage_count++].name, name);
    if (ft_ends_with(name, ".mixed")) copy_place(r->mixers[r->mixer_count++].name, name);
  }
  if (r->stage_count) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "the model shows no features");
}

static filtra_status make_room(analyzer *a) {
  size_t most = 0, width = 0, length = (size_t)a->graph.length;
  for (size_t i = 0; i < a->observer.count; i++) {
    const filtra_tensor *t = a->observer.list[i].tensor;
    size_t elements = (size_t)filtra_tensor_elements(t), columns = (size_t)ft_columns(t);
    if (elements > most) most = elements;
    if (columns > width) width = columns;
  }
  size_t tokens = length + 1 < MATRIX_MOST_TOKENS ? length + 1 : MATRIX_MOST_TOKENS;
  free(a->features), free(a->queries), free(a->keys), free(a->sigma);
  free(a->scratch), free(a->gram), free(a->matrix);
  a->features = ft_calloc(most, sizeof *a->features);
  a->queries = ft_calloc(most, sizeof *a->queries);
  a->keys = ft_calloc(most, sizeof *a->keys);
  a->sigma = ft_calloc(most, sizeof *a->sigma);
  a->scratch = ft_calloc(2 * (length + 2 + width), sizeof *a->scratch);
  a->gram = ft_calloc(width * width + width, sizeof *a->gram);
  a->matrix = ft_calloc(matrix_scratch(tokens, width), sizeof *a->matrix);
  bool done =
      a->features && a->queries && a->keys && a->sigma && a->scratch && a->gram && a->matrix;
  return done ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

/* Builds a graph for the batch's shape, unless the last one has it. */
static filtra_status prepare(analyzer *a, const filtra_batch *batch) {
  if (a->graph.graph && a->graph.size == batch->size && a->graph.length == batch->length)
    return FILTRA_OK;
  ft_batch_graph_close(&a->graph);
  a->observer.count = 0;
  FT_TRY(ft_model_observe(a->result->loaded, batch->size, batch->length, &a->observer, &a->graph));
  FT_TRY(list_stages(a));
  return make_room(a);
}

/* ---- features ---- */

typedef void (*measure_fn)(analyzer *a, size_t number, const float *x, size_t tokens, size_t width);

static void measure_stage(analyzer *a, size_t number, const float *x, size_t tokens, size_t width) {
  analysis *r = a->result;
  analysis_stage *stage = &r->stages[number];
  double similarity = spectra_similarity(x, tokens, width, a->scratch);
  if (!isnan(similarity)) {
    spectra_shares shares = spectra_divide(x, tokens, width, a->scratch);
    stage->low += shares.low;
    stage->high += shares.high;
    stage->similarity += similarity;
    stage->effective_rank += spectra_effective_rank(x, tokens, width, a->gram);
    stage->similar++;
  }
  if (number + 1 < r->stage_count) return;
  double *values = a->gram + width * width;
  spectra_singular_values(x, tokens, width, a->gram, values);
  for (size_t i = 0; i < r->singular_count && values[0] > 0.0; i++)
    r->singular[i] += values[i] / values[0];
}

static void measure_into(analyzer *a, size_t number, const float *x, size_t tokens, size_t width) {
  spectra_add_energy(x, tokens, width, a->scratch, a->into[number]);
}

static void measure_out(analyzer *a, size_t number, const float *x, size_t tokens, size_t width) {
  spectra_add_energy(x, tokens, width, a->scratch, a->out[number]);
}

/* Number of a sample's real tokens in a tensor with `rows` rows. A model may add a token before
 * them; if it divides the sequence in another way, all rows count. */
static size_t count_tokens(const filtra_batch *batch, uint32_t sample, size_t rows) {
  size_t length = (size_t)batch->lengths[sample];
  return rows == batch->length ? length : rows == batch->length + 1 ? length + 1 : rows;
}

/* Measures each real sample of the batch that has at least two tokens, or each of its windows. */
static filtra_status measure_tensor(analyzer *a, const filtra_batch *batch, uint32_t count,
                                    size_t number, const filtra_tensor *t, measure_fn measure) {
  size_t rows = (size_t)t->shape[1], width = (size_t)ft_columns(t);
  FT_TRY(filtra_graph_get(a->graph.graph, (filtra_tensor *)t, a->features));
  const int64_t sequences = a->graph.size * ft_model_sequences(&a->result->model->config);
  const uint32_t windows = (uint32_t)(t->shape[0] / sequences);
  for (uint32_t b = 0; b < count * windows; b++) {
    size_t tokens = count_tokens(batch, b / windows, rows);
    if (tokens >= 2) measure(a, number, a->features + b * rows * width, tokens, width);
  }
  return FILTRA_OK;
}

/* ---- matrices ---- */

/* Adds a head's singular values; all heads have equally many columns. */
static filtra_status add_singular(analysis_mixer *m, const double *values, size_t columns) {
  if (!values) return FILTRA_OK;
  if (!m->singular) m->singular = ft_calloc(columns, sizeof *m->singular);
  if (!m->singular) return FILTRA_ERROR_HOST_MEMORY;
  m->singular_count = columns;
  for (size_t i = 0; i < columns; i++)
    m->singular[i] += values[i];
  return FILTRA_OK;
}

static void add_measures(analysis_mixer *m, const matrix_measures *one) {
  matrix_measures *sum = &m->matrix;
  if (!m->measured || one->least_row_sum < sum->least_row_sum)
    sum->least_row_sum = one->least_row_sum;
  if (!m->measured || one->most_row_sum > sum->most_row_sum) sum->most_row_sum = one->most_row_sum;
  sum->row_sum += one->row_sum;
  sum->eigenvalue += one->eigenvalue;
  sum->value_cosine += isnan(one->value_cosine) ? 0.0 : one->value_cosine;
  sum->homophily += one->homophily;
  sum->energy += one->energy;
  m->measured++;
  for (size_t t = 0; t < MATRIX_EXPONENTS && !isnan(one->high_over_low[0]); t++)
    sum->high_over_low[t] += one->high_over_low[t];
  m->parts += !isnan(one->high_over_low[0]);
  if (isnan(one->error[0])) return;
  for (size_t k = 0; k < MATRIX_ORDERS; k++)
    sum->error[k] += one->error[k];
  m->powers++;
}

/* The tensor that the mixer at `place` reported under that name; NULL: none. */
static filtra_tensor *find_seen(const analyzer *a, const char *place, const char *name) {
  char full[2 * FT_NAME_TEXT];
  snprintf(full, sizeof full, "%s.%s", place, name);
  for (size_t i = 0; i < a->observer.count; i++)
    if (!strcmp(a->observer.list[i].name, full)) return a->observer.list[i].tensor;
  return NULL;
}

/* Reads an observed tensor of a mixer into `to`; does nothing if there is none. */
static filtra_status read_seen(const analyzer *a, const char *place, const char *name, float *to) {
  filtra_tensor *t = find_seen(a, place, name);
  return t ? filtra_graph_get(a->graph.graph, t, to) : FILTRA_OK;
}

static filtra_status measure_matrices(analyzer *a, const filtra_batch *batch, uint32_t count,
                                      analysis_mixer *mixer) {
  analysis *r = a->result;
  const bool factored = analyze_rule(r, mixer->name, 0).factored;
  const char *left = factored ? "u" : "query", *right = factored ? "v" : "key";
  const filtra_tensor *v = find_seen(a, mixer->name, "value");
  if (!v || !find_seen(a, mixer->name, left) || !analyze_rule(r, mixer->name, 0).formed)
    return FILTRA_OK;
  FT_TRY(read_seen(a, mixer->name, left, a->queries));
  FT_TRY(read_seen(a, mixer->name, right, a->keys));
  FT_TRY(read_seen(a, mixer->name, "value", a->features));
  FT_TRY(read_seen(a, mixer->name, "sigma", a->sigma));
  size_t rows = (size_t)v->shape[1], width = (size_t)ft_columns(v);
  size_t columns = width / (size_t)r->model->config.heads;
  for (uint32_t b = 0; b < count; b++)
    for (int64_t h = 0; h < r->model->config.heads; h++) {
      size_t at = b * rows * width + (size_t)h * columns, tokens = count_tokens(batch, b, rows);
      const matrix_rule rule = analyze_rule(r, mixer->name, h);
      const matrix_head head = {a->queries + at, a->keys + at, a->features + at, tokens,
                                width,           columns,      a->sigma + at};
      matrix_measures one;
      if (tokens < 2 || tokens > MATRIX_MOST_TOKENS) continue;
      matrix_measure(&rule, &head, a->matrix, &one);
      add_measures(mixer, &one);
      FT_TRY(add_singular(mixer, one.singular, columns));
    }
  return FILTRA_OK;
}

/* ---- maps ---- */

/* Sets the tokens' texts; a token that the model prepends has none. */
static filtra_status name_tokens(const analyzer *a, const int32_t *tokens, size_t length,
                                 analysis_sample *s) {
  const filtra_tokenizer *tokenizer = filtra_dataset_get_info(a->data)->tokenizer;
  const size_t before = s->tokens - length;
  if (!tokenizer || !tokens || s->tokens < length) return FILTRA_OK;
  s->names = ft_calloc(s->tokens, sizeof *s->names);
  for (size_t i = 0; s->names && i < s->tokens; i++) {
    const char *symbol =
        i < before ? "" : filtra_tokenizer_symbol(tokenizer, (uint32_t)tokens[i - before]);
    s->names[i] = ft_strdup(symbol ? symbol : "");
    if (!s->names[i]) return FILTRA_ERROR_HOST_MEMORY;
  }
  return s->names ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

/* Forms the maps of a mixer's heads in a sequence of the batch. */
static filtra_status map_mixer(analyzer *a, uint32_t sequence, const analysis_mixer *mixer,
                               analysis_sample *s) {
  const int64_t heads = a->result->model->config.heads;
  filtra_tensor *q = find_seen(a, mixer->name, "query"), *k = find_seen(a, mixer->name, "key");
  if (!q || !k || !analyze_rule(a->result, mixer->name, 0).formed) return FILTRA_OK;
  FT_TRY(filtra_graph_get(a->graph.graph, q, a->queries));
  FT_TRY(filtra_graph_get(a->graph.graph, k, a->keys));
  const size_t rows = (size_t)q->shape[1], width = (size_t)ft_columns(q);
  const size_t columns = width / (size_t)heads;
  for (int64_t h = 0; h < heads; h++) {
    const size_t at = sequence * rows * width + (size_t)h * columns;
    const matrix_head head = {.q = a->queries + at,
                              .k = a->keys + at,
                              .tokens = s->tokens,
                              .stride = width,
                              .columns = columns};
    double *weights = ft_calloc(s->tokens * s->tokens, sizeof *weights);
    if (!weights) return FILTRA_ERROR_HOST_MEMORY;
    matrix_attention(&head, analyze_rule(a->result, mixer->name, h).causal, weights);
    s->maps[s->map_count++] = (analysis_map){mixer, h, weights};
  }
  return FILTRA_OK;
}

/* Maps a sequence of a batch of one sample. */
static filtra_status map_sequence(analyzer *a, const filtra_batch *batch, uint32_t sequence) {
  analysis *r = a->result;
  analysis_sample *s = &r->chosen[r->chosen_count++];
  const filtra_tensor *x = find_seen(a, r->mixers->name, "value");
  *s = (analysis_sample){.number = *batch->indices, .text = sequence};
  s->tokens = count_tokens(batch, sequence, x ? (size_t)x->shape[1] : batch->length);
  if (s->tokens > ANALYSIS_MAP_TOKENS)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "--maps: sample %llu of %s has %zu tokens, at most %d can be shown",
                   (unsigned long long)s->number, r->split, s->tokens, ANALYSIS_MAP_TOKENS);
  s->maps = ft_calloc(r->mixer_count * (size_t)r->model->config.heads, sizeof *s->maps);
  if (!s->maps) return FILTRA_ERROR_HOST_MEMORY;
  FT_TRY(name_tokens(a, batch->tokens ? batch->tokens + sequence * batch->length : NULL,
                     (size_t)batch->lengths[sequence], s));
  for (size_t i = 0; i < r->mixer_count; i++)
    FT_TRY(map_mixer(a, sequence, &r->mixers[i], s));
  return FILTRA_OK;
}

static bool is_chosen(const analyze_request *request, uint64_t number) {
  for (size_t i = 0; i < request->chosen_count; i++)
    if (request->chosen[i] == number) return true;
  return false;
}

static int by_number(const void *a, const void *b) {
  const analysis_sample *x = a, *y = b;
  const int order = (x->number > y->number) - (x->number < y->number);
  return order ? order : (x->text > y->text) - (x->text < y->text);
}

/* Walks the split in batches of one sample, up to the last chosen one. */
static filtra_status map_samples(analyzer *a, const analyze_request *request, filtra_split split) {
  const uint64_t count = filtra_dataset_get_info(a->data)->count[split];
  const uint32_t sequences = (uint32_t)ft_model_sequences(&a->result->model->config);
  size_t left = request->chosen_count;
  for (size_t i = 0; i < left; i++)
    if (request->chosen[i] >= count)
      return ft_fail(FILTRA_ERROR_ARGUMENT, "--maps: there is no sample %llu; %s has 0 to %llu",
                     (unsigned long long)request->chosen[i], request->split,
                     (unsigned long long)count - 1);
  a->result->chosen = ft_calloc(left * sequences + 1, sizeof *a->result->chosen);
  if (!a->result->chosen) return FILTRA_ERROR_HOST_MEMORY;
  filtra_loader_destroy(&a->loader);
  FT_TRY(filtra_loader_create(a->data, &(filtra_loader_options){.split = split, .batch_size = 1},
                              &a->loader));
  while (left) {
    filtra_batch batch;
    FT_TRY(filtra_loader_next(a->loader, &batch));
    if (!is_chosen(request, *batch.indices)) continue;
    FT_TRY(prepare(a, &batch));
    FT_TRY(ft_batch_graph_set(&a->graph, &batch, false));
    FT_TRY(filtra_graph_execute(a->graph.graph));
    for (uint32_t sequence = 0; sequence < sequences; sequence++)
      FT_TRY(map_sequence(a, &batch, sequence));
    left--;
  }
  qsort(a->result->chosen, a->result->chosen_count, sizeof *a->result->chosen, by_number);
  return FILTRA_OK;
}

/* ---- batches ---- */

static filtra_status make_singular(analyzer *a) {
  analysis *r = a->result;
  for (size_t i = 0; i < a->observer.count; i++)
    if (ft_ends_with(a->observer.list[i].name, ".x"))
      r->singular_count = (size_t)ft_columns(a->observer.list[i].tensor);
  if (!r->singular) r->singular = ft_calloc(r->singular_count, sizeof *r->singular);
  return r->singular ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status measure_batch(analyzer *a, const filtra_batch *batch, uint32_t count) {
  FT_TRY(prepare(a, batch));
  FT_TRY(make_singular(a));
  FT_TRY(ft_batch_graph_set(&a->graph, batch, false));
  FT_TRY(filtra_graph_execute(a->graph.graph));
  size_t stage = 0, into = 0, out = 0;
  for (size_t i = 0; i < a->observer.count; i++) {
    const ft_observation *seen = &a->observer.list[i];
    if (ft_ends_with(seen->name, ".x"))
      FT_TRY(measure_tensor(a, batch, count, stage++, seen->tensor, measure_stage));
    else if (ft_ends_with(seen->name, ".value"))
      FT_TRY(measure_tensor(a, batch, count, into++, seen->tensor, measure_into));
    else if (ft_ends_with(seen->name, ".mixed"))
      FT_TRY(measure_tensor(a, batch, count, out++, seen->tensor, measure_out));
  }
  for (size_t i = 0; i < a->result->mixer_count; i++)
    FT_TRY(measure_matrices(a, batch, count, &a->result->mixers[i]));
  for (uint32_t b = 0; b < count; b++)
    a->result->samples += batch->lengths[b] >= 2;
  return FILTRA_OK;
}

/* ---- means ---- */

/* Divides by the number of samples; NaN if there are none. */
static void finish_stage(analysis_stage *stage) {
  double count = (double)stage->similar;
  stage->similarity /= count;
  stage->effective_rank /= count;
  stage->low /= count;
  stage->high /= count;
}

static void finish_mixer(analysis_mixer *m, const double into[SPECTRA_BANDS],
                         const double out[SPECTRA_BANDS]) {
  double count = (double)m->measured, powers = (double)m->powers;
  for (size_t band = 0; band < SPECTRA_BANDS; band++)
    m->response[band] = into[band] > 0.0 ? sqrt(out[band] / into[band]) : (double)NAN;
  m->matrix.row_sum /= count;
  m->matrix.eigenvalue /= count;
  m->matrix.value_cosine /= count;
  m->matrix.homophily /= count;
  m->matrix.energy /= count;
  for (size_t t = 0; t < MATRIX_EXPONENTS; t++)
    m->matrix.high_over_low[t] /= (double)m->parts;
  for (size_t i = 0; i < m->singular_count; i++)
    m->singular[i] /= count;
  for (size_t k = 0; k < MATRIX_ORDERS; k++)
    m->matrix.error[k] /= powers;
  if (m->measured) return;
  m->matrix.least_row_sum = m->matrix.most_row_sum = (double)NAN;
}

static filtra_status finish(analyzer *a) {
  analysis *r = a->result;
  if (!r->samples)
    return ft_fail(FILTRA_ERROR_INPUT, "the %s split has no sample of two tokens or more",
                   r->split);
  for (size_t i = 0; i < r->stage_count; i++)
    finish_stage(&r->stages[i]);
  for (size_t i = 0; i < r->mixer_count; i++)
    finish_mixer(&r->mixers[i], a->into[i], a->out[i]);
  for (size_t i = 0; i < r->singular_count; i++)
    r->singular[i] /= (double)r->samples;
  return FILTRA_OK;
}

/* ---- the run ---- */

/* Number of the batch's samples that are among the first `samples` of the split. They come first:
 * without shuffling a batch has its samples in the split's order. */
static uint32_t count_first(const filtra_batch *batch, uint64_t samples) {
  uint32_t count = 0;
  while (count < batch->count && batch->indices[count] < samples)
    count++;
  return count;
}

/* Measures the first samples of the split. All samples of a batch are padded to one length, so that
 * those of other lengths are in later batches. */
static filtra_status measure_samples(analyzer *a, uint64_t samples, filtra_split split) {
  uint32_t size = samples < 8 ? (uint32_t)samples : 8;
  FT_TRY(filtra_loader_create(a->data, &(filtra_loader_options){.split = split, .batch_size = size},
                              &a->loader));
  uint64_t left = filtra_dataset_get_info(a->data)->count[split];
  if (samples < left) left = samples;
  while (left) {
    filtra_batch batch;
    FT_TRY(filtra_loader_next(a->loader, &batch));
    const uint32_t count = count_first(&batch, samples);
    if (count) FT_TRY(measure_batch(a, &batch, count));
    left -= count;
  }
  return finish(a);
}

static filtra_status measure(analyzer *a, filtra_device *device, const analyze_request *request) {
  filtra_split split;
  analysis *r = a->result;
  FT_TRY(filtra_split_from_name(request->split, &split));
  FT_TRY(filtra_run_open(r->run, &r->opened));
  FT_TRY(filtra_run_load_model(r->opened, device, &r->loaded));
  r->model = &r->loaded->options;
  r->data = filtra_run_get_info(r->opened)->data;
  FT_TRY(analyze_learned(r));
  FT_TRY(filtra_run_open_data(r->opened, request->data, request->data ? split : FILTRA_SPLIT_TRAIN,
                              request->settings, &a->data));
  if (!filtra_dataset_get_info(a->data)->count[split])
    return ft_fail(FILTRA_ERROR_INPUT, "%s: has no %s split; --split chooses another",
                   request->data ? request->data : r->data, request->split);
  FT_TRY(measure_samples(a, request->samples, split));
  if (request->chosen_count) FT_TRY(map_samples(a, request, split));
  return analyze_filters(r);
}

static void close_analyzer(analyzer *a) {
  free(a->into);
  free(a->out);
  free(a->features);
  free(a->queries);
  free(a->keys);
  free(a->sigma);
  free(a->scratch);
  free(a->gram);
  free(a->matrix);
  ft_batch_graph_close(&a->graph);
  free(a->observer.list);
  filtra_loader_destroy(&a->loader);
  filtra_dataset_close(&a->data);
}

filtra_status analyze_run(filtra_device *device, const char *run, const analyze_request *request,
                          analysis *out) {
  analyzer a = {.result = out};
  *out = (analysis){.run = run, .split = request->split};
  filtra_status status = measure(&a, device, request);
  close_analyzer(&a);
  return status;
}

static void free_sample(analysis_sample *s) {
  for (size_t i = 0; i < s->map_count; i++)
    free(s->maps[i].weights);
  free(s->maps);
  if (s->names) ft_free_names(s->names, s->tokens);
}

void analyze_free(analysis *a) {
  for (size_t i = 0; i < a->coefficient_count; i++)
    free(a->coefficients[i].values);
  free(a->coefficients);
  free(a->filters);
  free(a->stages);
  for (size_t i = 0; i < a->mixer_count; i++)
    free(a->mixers[i].singular);
  free(a->mixers);
  free(a->singular);
  for (size_t i = 0; i < a->chosen_count; i++)
    free_sample(&a->chosen[i]);
  free(a->chosen);
  filtra_model_destroy(&a->loaded);
  filtra_run_close(&a->opened);
}
