/* filtra analyze: what a trained run's mixers do to their tokens, after the papers' studies of
 * oversmoothing. */
#include "analyze.h"

#include "base/file.h"
#include "base/memory.h"
#include "common/options.h"

#include <filtra/filtra.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct analyze_arguments {
  filtra_device_options device;
  const char *run, *split, *data, *out;
  uint64_t samples;
  bool json;
} analyze_arguments;

/* The analysis in the making. */
typedef struct analyzer {
  analysis result;
  filtra_run *run;
  filtra_model *model;
  filtra_dataset *data;
  filtra_loader *loader;
  ft_observer observer;
  ft_batch_graph graph;                                 /* of the last batch's shape */
  double (*into)[SPECTRA_BANDS], (*out)[SPECTRA_BANDS]; /* [mixer_count] energies */
  float *features;                                      /* one observed tensor */
  double *scratch, *gram;
} analyzer;

static void print_help(void) {
  printf(
      "Usage: filtra analyze RUN [OPTION]...\n"
      "Shows what the mixers of a run's best model do to their tokens: amplitude by frequency,\n"
      "similarity between tokens from layer to layer, singular values of the last features, and\n"
      "the learned coefficients. Writes a page for the browser and prints its path.\n\n"
      "  --run DIR          the run folder, too\n"
      "  --out FILE         the page; DIR/analysis.html by default\n"
      "  --split NAME       train, val (default) or test\n"
      "  --data PATH        other data than the run's\n"
      "  --samples N        samples looked at; 16 by default\n"
      "  --json             print one JSON object instead of writing a page\n%s",
      device_options_help);
}

/* ---- what is observed ---- */

/* The observed name without its last part: where it was seen. */
static void copy_place(char to[FT_NAME_TEXT], const char *name) {
  snprintf(to, FT_NAME_TEXT, "%s", name);
  char *dot = strrchr(to, '.');
  if (dot) *dot = '\0';
}

/* Lists the stages and mixers from the first graph's observations. */
static filtra_status list_stages(analyzer *a) {
  analysis *r = &a->result;
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
  free(a->features);
  free(a->scratch);
  free(a->gram);
  a->features = ft_calloc(most, sizeof *a->features);
  a->scratch = ft_calloc(2 * (length + 2 + width), sizeof *a->scratch);
  a->gram = ft_calloc(width * width + width, sizeof *a->gram);
  return a->features && a->scratch && a->gram ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

/* A graph of the batch's shape; batches of one shape share it. */
static filtra_status prepare(analyzer *a, const filtra_batch *batch) {
  if (a->graph.graph && a->graph.size == batch->size && a->graph.length == batch->length)
    return FILTRA_OK;
  ft_batch_graph_close(&a->graph);
  a->observer.count = 0;
  FT_TRY(ft_model_observe(a->model, batch->size, batch->length, &a->observer, &a->graph));
  FT_TRY(list_stages(a));
  return make_room(a);
}

/* ---- measuring ---- */

typedef void (*measure_fn)(analyzer *a, size_t number, const float *x, size_t tokens, size_t width);

static void measure_similarity(analyzer *a, size_t number, const float *x, size_t tokens,
                               size_t width) {
  analysis *r = &a->result;
  double similarity = spectra_similarity(x, tokens, width, a->scratch);
  if (!isnan(similarity)) {
    r->stages[number].similarity += similarity;
    r->stages[number].similar++;
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

/* Measures every real sample of the batch that has at least two tokens. A model may put tokens of
 * its own before or cut the sequence otherwise: then all of them count. */
static filtra_status measure_tensor(analyzer *a, const filtra_batch *batch, uint32_t count,
                                    size_t number, const filtra_tensor *t, measure_fn measure) {
  size_t rows = (size_t)t->shape[1], width = (size_t)ft_columns(t);
  FT_TRY(filtra_graph_get(a->graph.graph, (filtra_tensor *)t, a->features));
  for (uint32_t b = 0; b < count; b++) {
    size_t tokens = rows == batch->length ? (size_t)batch->lengths[b] : rows;
    if (tokens >= 2) measure(a, number, a->features + b * rows * width, tokens, width);
  }
  return FILTRA_OK;
}

static filtra_status make_singular(analyzer *a) {
  analysis *r = &a->result;
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
  FT_TRY(filtra_graph_run(a->graph.graph));
  size_t stage = 0, into = 0, out = 0;
  for (size_t i = 0; i < a->observer.count; i++) {
    const ft_observation *seen = &a->observer.list[i];
    if (ft_ends_with(seen->name, ".x"))
      FT_TRY(measure_tensor(a, batch, count, stage++, seen->tensor, measure_similarity));
    else if (ft_ends_with(seen->name, ".value"))
      FT_TRY(measure_tensor(a, batch, count, into++, seen->tensor, measure_into));
    else if (ft_ends_with(seen->name, ".mixed"))
      FT_TRY(measure_tensor(a, batch, count, out++, seen->tensor, measure_out));
  }
  for (uint32_t b = 0; b < count; b++)
    a->result.samples += batch->lengths[b] >= 2;
  return FILTRA_OK;
}

/* Sums become means; energies become amplitude ratios. */
static filtra_status finish(analyzer *a) {
  analysis *r = &a->result;
  if (!r->samples)
    return ft_fail(FILTRA_ERROR_INPUT, "the %s split has no sample of two tokens or more",
                   r->split);
  for (size_t i = 0; i < r->stage_count; i++)
    r->stages[i].similarity /= (double)r->stages[i].similar; /* NaN where there is none */
  for (size_t i = 0; i < r->singular_count; i++)
    r->singular[i] /= (double)r->samples;
  for (size_t i = 0; i < r->mixer_count; i++)
    for (size_t band = 0; band < SPECTRA_BANDS; band++)
      r->mixers[i].response[band] =
          a->into[i][band] > 0.0 ? sqrt(a->out[i][band] / a->into[i][band]) : (double)NAN;
  return FILTRA_OK;
}

static filtra_status measure_samples(analyzer *a, uint64_t samples, filtra_split split) {
  uint32_t size = samples < 8 ? (uint32_t)samples : 8;
  FT_TRY(filtra_loader_create(a->data, &(filtra_loader_options){.split = split, .batch_size = size},
                              &a->loader));
  uint64_t left = filtra_dataset_get_info(a->data)->count[split];
  if (samples < left) left = samples;
  while (left) {
    filtra_batch batch;
    FT_TRY(filtra_loader_next(a->loader, &batch));
    uint32_t count = batch.count < left ? batch.count : (uint32_t)left;
    FT_TRY(measure_batch(a, &batch, count));
    left -= count;
  }
  return finish(a);
}

/* ---- coefficients ---- */

static filtra_status read_coefficients(analyzer *a, size_t index, const char *name,
                                       const ft_mixer_coefficients *kind) {
  analysis *r = &a->result;
  filtra_parameters *p = filtra_model_parameters(a->model);
  int64_t shape[FILTRA_MAX_DIMS];
  int ndim = filtra_parameters_shape(p, index, shape);
  analysis_coefficients *c = &r->coefficients[r->coefficient_count];
  *c = (analysis_coefficients){.kind = kind, .count = 1};
  for (int i = 0; i < ndim; i++)
    c->count *= (size_t)shape[i];
  copy_place(c->layer, name);
  c->values = ft_calloc(c->count, sizeof *c->values);
  if (!c->values) return FILTRA_ERROR_HOST_MEMORY;
  r->coefficient_count++;
  FT_TRY(filtra_parameters_get(p, name, c->values, c->count));
  if (kind->effective) kind->effective(r->model->mixer.options, c->values, c->count);
  return FILTRA_OK;
}

static filtra_status find_coefficients(analyzer *a) {
  analysis *r = &a->result;
  const ft_mixer_class *kind = r->model->mixer.kind;
  filtra_parameters *p = filtra_model_parameters(a->model);
  size_t count = filtra_parameters_count(p);
  r->coefficients = ft_calloc(count, sizeof *r->coefficients);
  if (!r->coefficients) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t k = 0; k < kind->coefficient_count; k++)
    for (size_t i = 0; i < count; i++) {
      const char *name = filtra_parameters_name(p, i);
      char end[FT_NAME_TEXT];
      snprintf(end, sizeof end, ".mixer.%s", kind->coefficients[k].parameter);
      if (ft_ends_with(name, end)) FT_TRY(read_coefficients(a, i, name, &kind->coefficients[k]));
    }
  return FILTRA_OK;
}

/* ---- learned filters ---- */

double analyze_argument(const analysis *a, size_t i) {
  const ft_mixer_filter *f = a->model->mixer.kind->filter;
  return f->low + (f->high - f->low) * (double)i / (ANALYSIS_POINTS - 1);
}

/* The effective coefficients of one layer, by kind. */
static void gather(const analysis *r, const char *layer, const float *values[]) {
  const ft_mixer_class *kind = r->model->mixer.kind;
  for (size_t k = 0; k < kind->coefficient_count; k++)
    for (size_t i = 0; i < r->coefficient_count; i++)
      if (r->coefficients[i].kind == &kind->coefficients[k] &&
          !strcmp(r->coefficients[i].layer, layer))
        values[k] = r->coefficients[i].values;
}

static void evaluate_filter(const analysis *r, analysis_filter *filter) {
  const float *values[FT_MIXER_COEFFICIENTS] = {0};
  const ft_mixer *mixer = &r->model->mixer;
  int64_t heads = mixer->kind->filter->per_head ? r->model->heads : 1;
  gather(r, filter->layer, values);
  for (size_t i = 0; i < ANALYSIS_POINTS; i++) {
    double x = analyze_argument(r, i);
    for (int64_t h = 0; h < heads; h++)
      filter->y[i] += mixer->kind->filter->at(mixer->options, values, h, x) / (double)heads;
  }
}

static filtra_status find_filters(analysis *r) {
  if (!r->model->mixer.kind->filter) return FILTRA_OK;
  r->filters = ft_calloc(r->mixer_count + 1, sizeof *r->filters);
  if (!r->filters) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < r->mixer_count; i++) {
    snprintf(r->filters[i].layer, sizeof r->filters[i].layer, "%s", r->mixers[i].name);
    evaluate_filter(r, &r->filters[i]);
  }
  r->filter_count = r->mixer_count;
  return FILTRA_OK;
}

/* ---- the command ---- */

static filtra_status run_analysis(analyzer *a, const analyze_arguments *arg,
                                  filtra_device *device) {
  filtra_split split;
  analysis *r = &a->result;
  r->run = arg->run;
  r->split = arg->split;
  FT_TRY(filtra_split_find(arg->split, &split));
  FT_TRY(filtra_run_open(arg->run, &a->run));
  FT_TRY(filtra_run_load_model(a->run, device, &a->model));
  r->model = &a->model->options;
  r->data = filtra_run_get_info(a->run)->data;
  FT_TRY(filtra_run_open_data(a->run, arg->data, arg->data ? split : FILTRA_TRAIN, &a->data));
  if (!filtra_dataset_get_info(a->data)->count[split])
    return ft_fail(FILTRA_ERROR_INPUT, "%s: has no %s split", arg->data ? arg->data : r->data,
                   arg->split);
  FT_TRY(measure_samples(a, arg->samples, split));
  FT_TRY(find_coefficients(a));
  return find_filters(r);
}

static void close_analyzer(analyzer *a) {
  analysis *r = &a->result;
  for (size_t i = 0; i < r->coefficient_count; i++)
    free(r->coefficients[i].values);
  free(r->coefficients);
  free(r->filters);
  free(r->stages);
  free(r->mixers);
  free(r->singular);
  free(a->into);
  free(a->out);
  free(a->features);
  free(a->scratch);
  free(a->gram);
  ft_batch_graph_close(&a->graph);
  free(a->observer.list);
  filtra_loader_destroy(&a->loader);
  filtra_model_destroy(&a->model);
  filtra_dataset_close(&a->data);
  filtra_run_close(&a->run);
}

static filtra_status write_page(const analysis *r, const char *path) {
  char *text = NULL;
  size_t size = 0;
  FILE *to = open_memstream(&text, &size);
  if (!to) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  analyze_write_page(to, r);
  bool failed = fclose(to) != 0;
  filtra_status status = failed ? ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory")
                                : ft_file_write(path, text, size);
  free(text);
  return status;
}

static filtra_status show_page(const analysis *r, const char *out) {
  char *path = out ? ft_strdup(out) : ft_path_join(r->run, "analysis.html");
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = write_page(r, path);
  if (!status) printf("%s: %zu samples of %s\n", path, r->samples, r->split);
  free(path);
  return status;
}

static int analyze(const analyze_arguments *arg) {
  filtra_device *device = NULL;
  analyzer a = {0};
  filtra_status status = filtra_device_open(&arg->device, &device);
  if (!status) status = run_analysis(&a, arg, device);
  if (!status && !arg->json) status = show_page(&a.result, arg->out);
  int code = status ? command_fail("filtra analyze", status) : COMMAND_DONE;
  if (!status && arg->json) code = command_print_json("filtra analyze", analyze_json(&a.result));
  close_analyzer(&a);
  filtra_device_close(&device);
  return code;
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("run", analyze_arguments, run),
    COMMAND_OUT(analyze_arguments, out),
    COMMAND_TEXT("split", analyze_arguments, split),
    COMMAND_TEXT("data", analyze_arguments, data),
    COMMAND_NUMBER("samples", analyze_arguments, samples, 1, 100000),
    COMMAND_FLAG("json", analyze_arguments, json),
};

int run_analyze(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true,
                                    .run = offsetof(analyze_arguments, run)};
  analyze_arguments a = {.split = "val", .samples = 16};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (a.json && a.out) return command_misused(argv[0], "give --json or --out, not both");
  return analyze(&a);
}
