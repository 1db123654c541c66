/* An analysis as a page and as JSON. */
#include "analyze.h"

#include "base/memory.h"
#include "common/chart.h"
#include "common/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the page ---- */

static void write_similarity(FILE *to, const analysis *a) {
  double *y = ft_calloc(a->stage_count, sizeof *y);
  const char **names = ft_calloc(a->stage_count, sizeof *names);
  for (size_t i = 0; y && names && i < a->stage_count; i++) {
    const char *dot = strrchr(a->stages[i].name, '.');
    y[i] = a->stages[i].similarity;
    names[i] = dot ? dot + 1 : a->stages[i].name;
  }
  const chart_series series = {"cosine similarity", NULL, y, y && names ? a->stage_count : 0};
  chart_write(to, &(chart){.title = "Similarity between tokens",
                           .x_label = "after layer",
                           .y_label = "mean cosine of two tokens",
                           .points = true,
                           .groups = a->stage_count <= 24 ? names : NULL,
                           .series = &series,
                           .count = 1});
  free(y);
  free((void *)names);
}

static void write_filters(FILE *to, const analysis *a) {
  double x[ANALYSIS_POINTS];
  chart_series *series = ft_calloc(a->filter_count, sizeof *series);
  for (size_t i = 0; i < ANALYSIS_POINTS; i++)
    x[i] = analyze_argument(a, i);
  for (size_t i = 0; series && i < a->filter_count; i++)
    series[i] = (chart_series){a->filters[i].layer, x, a->filters[i].y, ANALYSIS_POINTS};
  const ft_mixer_filter *filter = a->model->mixer.kind->filter;
  chart_write(to, &(chart){.title = "Learned filters",
                           .x_label = filter->argument,
                           .y_label = filter->result ? filter->result : "gain",
                           .series = series,
                           .count = series ? a->filter_count : 0});
  free(series);
}

static void write_responses(FILE *to, const analysis *a) {
  double x[SPECTRA_BANDS];
  chart_series *series = ft_calloc(a->mixer_count, sizeof *series);
  for (size_t band = 0; band < SPECTRA_BANDS; band++)
    x[band] = spectra_frequency(band);
  for (size_t i = 0; series && i < a->mixer_count; i++)
    series[i] = (chart_series){a->mixers[i].name, x, a->mixers[i].response, SPECTRA_BANDS};
  chart_write(to, &(chart){.title = "Response of the mixers",
                           .x_label = "frequency along the tokens, 1 = alternating",
                           .y_label = "amplitude out / in",
                           .log_y = true,
                           .points = true,
                           .series = series,
                           .count = series ? a->mixer_count : 0});
  free(series);
}

static void write_singular(FILE *to, const analysis *a) {
  const chart_series series = {"singular values", NULL, a->singular, a->singular_count};
  chart_write(to, &(chart){.title = "Singular values of the last features",
                           .x_label = "index",
                           .y_label = "over the largest",
                           .log_y = true,
                           .points = a->singular_count <= 128,
                           .series = &series,
                           .count = 1});
}

/* One chart for all layers' parameters of a kind. */
static void write_coefficients(FILE *to, const analysis *a, const ft_mixer_coefficients *kind) {
  size_t series_count = 0, longest = 0;
  chart_series *series = ft_calloc(a->coefficient_count, sizeof *series);
  for (size_t i = 0; series && i < a->coefficient_count; i++) {
    const analysis_coefficients *c = &a->coefficients[i];
    if (c->kind != kind) continue;
    double *y = ft_calloc(c->count, sizeof *y);
    for (size_t k = 0; y && k < c->count; k++)
      y[k] = (double)c->values[k];
    series[series_count++] = (chart_series){c->layer, NULL, y, y ? c->count : 0};
    if (c->count > longest) longest = c->count;
  }
  char(*numbers)[NUMBER_TEXT] = ft_calloc(longest + 1, sizeof *numbers);
  const char **groups = ft_calloc(longest + 1, sizeof *groups);
  for (size_t k = 0; numbers && groups && k < longest; k++) {
    snprintf(numbers[k], sizeof numbers[k], "%zu", k);
    groups[k] = numbers[k];
  }
  if (series_count && numbers && groups)
    chart_write(to, &(chart){.title = kind->parameter,
                             .x_label = kind->index,
                             .y_label = "value",
                             .groups = longest <= 40 ? groups : NULL,
                             .series = series,
                             .count = series_count});
  for (size_t i = 0; i < series_count; i++)
    free((double *)series[i].y);
  free(series);
  free(numbers);
  free((void *)groups);
}

static void write_summary(FILE *to, const analysis *a) {
  const ft_model_options *m = a->model;
  fputs("<p>", to);
  page_text(to, a->run);
  fprintf(to,
          ": mixer %s, %lld layers of width %lld, %lld heads. Measured on %zu samples of the %s "
          "split of ",
          m->mixer.kind->name, (long long)m->layers, (long long)m->width, (long long)m->heads,
          a->samples, a->split);
  page_text(to, a->data);
  fputs(".</p>\n", to);
}

void analyze_write_page(FILE *to, const analysis *a) {
  const ft_mixer_class *kind = a->model->mixer.kind;
  page_begin(to, "What the mixers do to their tokens");
  write_summary(to, a);
  fputs("<div class=\"charts\">\n", to);
  write_responses(to, a);
  if (a->filter_count) write_filters(to, a);
  write_similarity(to, a);
  write_singular(to, a);
  for (size_t i = 0; i < kind->coefficient_count; i++)
    write_coefficients(to, a, &kind->coefficients[i]);
  fputs("</div>\n<h2>How to read this</h2>\n"
        "<p>Attention is a filter over tokens. One that passes only frequency 0, the mean, makes "
        "all tokens alike, layer by layer: oversmoothing. The response is the amplitude of a "
        "mixer's output over that of its input, by frequency along the sequence. The similarity "
        "is the mean cosine between two tokens of a sample; 1 means that they point the same way. "
        "Singular values that fall off fast mean that the features use few directions. "
        "Coefficients are those that the filter has, after any function that bounds them; the "
        "learned filters are the means over a layer's heads.</p>\n",
        to);
  page_end(to);
}

/* ---- JSON ---- */

static json_t *number(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

static json_t *numbers(const double *x, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(list, number(x[i]));
  return list;
}

static json_t *frequencies(void) {
  json_t *list = json_array();
  for (size_t band = 0; band < SPECTRA_BANDS; band++)
    json_array_append_new(list, number(spectra_frequency(band)));
  return list;
}

static json_t *filters(const analysis *a) {
  json_t *list = json_array(), *x = json_array();
  for (size_t i = 0; i < ANALYSIS_POINTS && a->filter_count; i++)
    json_array_append_new(x, number(analyze_argument(a, i)));
  for (size_t i = 0; i < a->filter_count; i++)
    json_array_append_new(list, json_pack("{ss so}", "layer", a->filters[i].layer, "gain",
                                          numbers(a->filters[i].y, ANALYSIS_POINTS)));
  return json_pack("{so so}", "arguments", x, "layers", list);
}

static json_t *coefficients(const analysis *a) {
  json_t *list = json_array();
  for (size_t i = 0; i < a->coefficient_count; i++) {
    const analysis_coefficients *c = &a->coefficients[i];
    json_t *values = json_array();
    for (size_t k = 0; k < c->count; k++)
      json_array_append_new(values, number((double)c->values[k]));
    json_array_append_new(list, json_pack("{ss ss so}", "layer", c->layer, "name",
                                          c->kind->parameter, "values", values));
  }
  return list;
}

json_t *analyze_json(const analysis *a) {
  json_t *stages = json_array(), *mixers = json_array();
  for (size_t i = 0; i < a->stage_count; i++)
    json_array_append_new(stages, json_pack("{ss so}", "name", a->stages[i].name, "similarity",
                                            number(a->stages[i].similarity)));
  for (size_t i = 0; i < a->mixer_count; i++)
    json_array_append_new(mixers, json_pack("{ss so}", "name", a->mixers[i].name, "response",
                                            numbers(a->mixers[i].response, SPECTRA_BANDS)));
  return json_pack("{ss ss sI so so so so so so so}", "run", a->run, "split", a->split, "samples",
                   (json_int_t)a->samples, "mixer", ft_mixer_write(&a->model->mixer), "frequencies",
                   frequencies(), "mixers", mixers, "stages", stages, "singular_values",
                   numbers(a->singular, a->singular_count), "coefficients", coefficients(a),
                   "filters", filters(a));
}
