/* Writes the charts of one run with a line for each layer. */
#include "analyze.h"

#include "base/memory.h"
#include "common/chart.h"
#include "common/page.h"
#include "view.h"

#include <stdlib.h>

static void write_filters(FILE *to, const analysis *a) {
  double x[ANALYSIS_POINTS];
  chart_series *series = ft_calloc(a->filter_count, sizeof *series);
  for (size_t i = 0; i < ANALYSIS_POINTS; i++)
    x[i] = analyze_argument(a, i);
  for (size_t i = 0; series && i < a->filter_count; i++)
    series[i] = (chart_series){a->filters[i].layer, x, a->filters[i].y, ANALYSIS_POINTS};
  const ft_mixer_filter *filter = analyze_filter(a);
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

static void write_powers(FILE *to, const analysis *a) {
  chart_series *series = ft_calloc(a->mixer_count, sizeof *series);
  size_t count = 0;
  for (size_t i = 0; series && i < a->mixer_count; i++)
    if (a->mixers[i].parts)
      series[count++] = (chart_series){a->mixers[i].name, NULL, a->mixers[i].matrix.high_over_low,
                                       MATRIX_EXPONENTS};
  if (count)
    chart_write(to, &(chart){.title = "Powers of the matrix on the values",
                             .x_label = "power t",
                             .y_label = "log10 of high over low frequency",
                             .whole_x = true,
                             .points = true,
                             .series = series,
                             .count = count});
  free(series);
}

static void write_singular(FILE *to, const analysis *a) {
  chart_series *series = ft_calloc(a->mixer_count, sizeof *series);
  size_t count = 0;
  for (size_t i = 0; series && i < a->mixer_count; i++)
    if (a->mixers[i].singular_count)
      series[count++] = (chart_series){a->mixers[i].name, NULL, a->mixers[i].singular,
                                       a->mixers[i].singular_count};
  if (count)
    chart_write(to, &(chart){.title = "Singular values of AGF's matrix",
                             .x_label = "index",
                             .y_label = "singular value",
                             .log_y = true,
                             .whole_x = true,
                             .points = true,
                             .series = series,
                             .count = count});
  free(series);
}

/* Writes one chart with a kind of coefficients, for all layers. */
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

void analyze_write_layers(FILE *to, const analysis *a) {
  fputs("<div class=\"charts\">\n", to);
  write_responses(to, a);
  write_powers(to, a);
  write_singular(to, a);
  if (a->filter_count) write_filters(to, a);
  for (size_t m = 0; m < a->model->mixers.count; m++) {
    const ft_mixer_class *kind = a->model->mixers.list[m].kind;
    for (size_t i = 0; i < kind->coefficient_count; i++)
      write_coefficients(to, a, &kind->coefficients[i]);
  }
  fputs("</div>\n", to);
}
