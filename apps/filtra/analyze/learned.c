/* Reads what a run's mixers have learned: their coefficients, and the filters and matrices made of
 * them. Called by measure.c. */
#include "analyze.h"
#include "base/file.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t number_of(const char *layer) {
  const char *digits = strpbrk(layer, "0123456789");
  return digits ? strtol(digits, NULL, 10) : 0;
}

const ft_mixer *analyze_mixer(const analysis *a, const char *layer) {
  return ft_mixers_at(&a->model->mixers, number_of(layer));
}

static int64_t heads_of(const analysis *a, const char *layer) {
  const filtra_model_config *o = &a->model->config;
  return o->heads << ft_model_stage_of(o, number_of(layer));
}

/* ---- coefficients ---- */

static filtra_status read_coefficients(analysis *r, size_t index, const char *name,
                                       const ft_mixer_coefficients *kind) {
  filtra_parameters *p = filtra_model_parameters(r->loaded);
  int64_t shape[FILTRA_MAX_DIMS];
  int ndim = filtra_parameters_shape(p, index, shape);
  analysis_coefficients *c = &r->coefficients[r->coefficient_count];
  *c = (analysis_coefficients){.kind = kind, .count = 1};
  for (int i = 0; i < ndim; i++)
    c->count *= (size_t)shape[i];
  snprintf(c->layer, sizeof c->layer, "%s", name);
  *strrchr(c->layer, '.') = '\0'; /* a name always contains ".mixer.NAME" */
  c->values = ft_calloc(c->count, sizeof *c->values);
  if (!c->values) return FILTRA_ERROR_HOST_MEMORY;
  r->coefficient_count++;
  FT_TRY(filtra_parameters_get(p, name, c->values, c->count));
  if (kind->effective) kind->effective(analyze_mixer(r, c->layer)->options, c->values, c->count);
  return FILTRA_OK;
}

/* Reads the coefficients of a mixer's layers, kind by kind. */
static filtra_status read_kinds(analysis *r, const ft_mixer *mixer) {
  filtra_parameters *p = filtra_model_parameters(r->loaded);
  for (size_t k = 0; k < mixer->kind->coefficient_count; k++)
    for (size_t i = 0; i < filtra_parameters_count(p); i++) {
      const ft_mixer_coefficients *kind = &mixer->kind->coefficients[k];
      const char *name = filtra_parameters_name(p, i);
      char end[FT_NAME_TEXT];
      snprintf(end, sizeof end, ".mixer.%s", kind->parameter);
      if (ft_ends_with(name, end) && analyze_mixer(r, name) == mixer)
        FT_TRY(read_coefficients(r, i, name, kind));
    }
  return FILTRA_OK;
}

filtra_status analyze_learned(analysis *r) {
  filtra_parameters *p = filtra_model_parameters(r->loaded);
  r->coefficients = ft_calloc(filtra_parameters_count(p), sizeof *r->coefficients);
  if (!r->coefficients) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t k = 0; k < r->model->mixers.count; k++)
    FT_TRY(read_kinds(r, &r->model->mixers.list[k]));
  return FILTRA_OK;
}

/* ---- learned filters ---- */

const ft_mixer_filter *analyze_filter(const analysis *a) {
  for (size_t i = 0; i < a->model->mixers.count; i++)
    if (a->model->mixers.list[i].kind->filter) return a->model->mixers.list[i].kind->filter;
  return NULL;
}

double analyze_argument(const analysis *a, size_t i) {
  const ft_mixer_filter *f = analyze_filter(a);
  return f->low + (f->high - f->low) * (double)i / (ANALYSIS_POINTS - 1);
}

/* Finds one layer's effective coefficients, by kind. */
static void gather(const analysis *r, const char *layer, const float *values[]) {
  const ft_mixer_class *kind = analyze_mixer(r, layer)->kind;
  for (size_t k = 0; k < kind->coefficient_count; k++)
    for (size_t i = 0; i < r->coefficient_count; i++)
      if (r->coefficients[i].kind == &kind->coefficients[k] &&
          !strcmp(r->coefficients[i].layer, layer))
        values[k] = r->coefficients[i].values;
}

static void evaluate_filter(const analysis *r, analysis_filter *filter) {
  const float *values[FT_MIXER_COEFFICIENTS] = {0};
  const ft_mixer *mixer = analyze_mixer(r, filter->layer);
  int64_t heads = mixer->kind->filter->per_head ? heads_of(r, filter->layer) : 1;
  gather(r, filter->layer, values);
  for (size_t i = 0; i < ANALYSIS_POINTS; i++) {
    double x = analyze_argument(r, i);
    for (int64_t h = 0; h < heads; h++)
      filter->y[i] += mixer->kind->filter->at(mixer->options, values, heads, h, x) / (double)heads;
  }
}

filtra_status analyze_filters(analysis *r) {
  const ft_mixer_filter *shown = analyze_filter(r);
  if (!shown) return FILTRA_OK;
  r->filters = ft_calloc(r->mixer_count + 1, sizeof *r->filters);
  if (!r->filters) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < r->mixer_count; i++) {
    if (analyze_mixer(r, r->mixers[i].name)->kind->filter != shown) continue;
    analysis_filter *filter = &r->filters[r->filter_count++];
    snprintf(filter->layer, sizeof filter->layer, "%s", r->mixers[i].name);
    evaluate_filter(r, filter);
  }
  return FILTRA_OK;
}

/* ---- attention's matrices ---- */

static double option(const json_t *options, const char *key) {
  return json_number_value(json_object_get(options, key));
}

/* Reads an option of a head: one number for all heads, two for the halves, or one each
 * (docs/config.md). */
static double head_option(const json_t *list, int64_t heads, int64_t head) {
  int64_t count = (int64_t)json_array_size(list);
  int64_t at = count == heads ? head : count == 2 && head >= (heads + 1) / 2;
  return json_number_value(json_is_array(list) ? json_array_get(list, (size_t)at) : list);
}

/* A head's learned number, or the option if it is not learned. */
static double head_coefficient(const analysis *a, const char *layer, const json_t *options,
                               const char *name, int64_t head) {
  for (size_t i = 0; i < a->coefficient_count; i++) {
    const analysis_coefficients *c = &a->coefficients[i];
    if (!strcmp(c->layer, layer) && !strcmp(c->kind->parameter, name) && (size_t)head < c->count)
      return (double)c->values[head];
  }
  return head_option(json_object_get(options, name), a->model->config.heads, head);
}

static filtra_rho find_rho(const json_t *options) {
  static const char *const NAMES[] = {"softmax", "sigmoid", "tanh", "none"};
  const char *name = json_string_value(json_object_get(options, "rho"));
  for (size_t i = 0; i < FT_COUNT(NAMES); i++)
    if (name && !strcmp(name, NAMES[i])) return (filtra_rho)i;
  return FILTRA_RHO_SOFTMAX;
}

static const char *find_diagonal(const json_t *options) {
  static const char *const NAMES[] = {"eps", "zero", "one"};
  const char *name = json_string_value(json_object_get(options, "diagonal"));
  for (size_t i = 0; i < FT_COUNT(NAMES); i++)
    if (name && !strcmp(name, NAMES[i])) return NAMES[i];
  return NAMES[0];
}

matrix_rule analyze_rule(const analysis *a, const char *layer, int64_t head) {
  const ft_mixer *mixer = analyze_mixer(a, layer);
  const char *name = mixer->kind->name;
  matrix_rule rule = {.causal = a->model->config.task == FILTRA_TASK_LANGUAGE_MODEL, .w1 = 1.0};
  bool gfsa = !strcmp(name, "gfsa"), plaplacian = !strcmp(name, "plaplacian");
  rule.factored = !strcmp(name, "agf");
  /* Not measured: matrices with biases of graphs and images, talking heads, and windows. */
  rule.formed = (gfsa || plaplacian || rule.factored || !strcmp(name, "softmax")) &&
                !a->model->config.mask_zero && !a->model->config.edge_types &&
                !a->model->config.window && !*a->model->config.stages &&
                a->model->config.positions != FILTRA_POSITIONS_RELATIVE;
  json_t *options = rule.formed ? ft_mixer_write(mixer) : NULL;
  if (json_is_true(json_object_get(options, "talking_heads"))) {
    rule.formed = false;
  } else if (gfsa) {
    rule.w0 = head_coefficient(a, layer, options, "w0", head);
    rule.w1 = head_coefficient(a, layer, options, "w1", head);
    rule.wK = head_coefficient(a, layer, options, "wK", head);
    rule.order = option(options, "K");
  } else if (plaplacian) {
    rule.distances = true;
    rule.p = head_option(json_object_get(options, "p"), a->model->config.heads, head);
    rule.eps = option(options, "eps");
    rule.diagonal = find_diagonal(options);
    rule.euler = json_is_true(json_object_get(options, "euler"));
  } else if (rule.factored) {
    rule.rho = find_rho(options);
    rule.mixer = mixer;
    rule.heads = a->model->config.heads;
    rule.head = head;
    gather(a, layer, rule.coefficients);
  }
  json_decref(options);
  return rule;
}
