/* Writes analyses as a page: charts with a line per run, then each run's layers. Called by
 * analyze.c. */
#include "analyze.h"

#include "base/memory.h"
#include "common/chart.h"
#include "common/page.h"
#include "view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers with a line for each run ---- */

/* A chart of y by x; `count` and `y` depend on the run. */
typedef struct view {
  const char *title, *x_label, *y_label;
  bool log_y, whole_x;
  size_t (*count)(const analysis *a);
  double (*y)(const analysis *a, size_t i);
  double (*x)(size_t i); /* NULL: i */
  double (*limit)(size_t i);
  const char *limit_name; /* NULL: none */
} view;

static size_t count_stages(const analysis *a) {
  return a->stage_count;
}

static size_t count_matrices(const analysis *a) {
  return a->mixer_count && a->mixers[0].measured ? a->mixer_count : 0;
}

static size_t count_orders(const analysis *a) {
  return a->mixer_count && a->mixers[0].powers ? MATRIX_ORDERS : 0;
}

static size_t count_energies(const analysis *a) {
  return count_matrices(a) && !isnan(a->mixers[0].matrix.energy) ? a->mixer_count : 0;
}

static size_t count_exponents(const analysis *a) {
  return a->mixer_count && a->mixers[0].parts ? MATRIX_EXPONENTS : 0;
}

static size_t count_factored(const analysis *a) {
  return a->mixer_count ? a->mixers[0].singular_count : 0;
}

static size_t count_bands(const analysis *a) {
  return a->mixer_count ? SPECTRA_BANDS : 0;
}

static size_t count_singular(const analysis *a) {
  return a->singular_count;
}

static double similarity(const analysis *a, size_t i) {
  return a->stages[i].similarity;
}

static double effective_rank(const analysis *a, size_t i) {
  return a->stages[i].effective_rank;
}

static double low_energy(const analysis *a, size_t i) {
  return a->stages[i].low;
}

static double high_energy(const analysis *a, size_t i) {
  return a->stages[i].high;
}

static double singular_value(const analysis *a, size_t i) {
  return a->singular[i];
}

/* Rounds, since numbers that differ from 1 or 0 only by rounding would fill an axis with noise. */
static double without_rounding(double x) {
  return round(x * 1e9) / 1e9;
}

static double row_sum(const analysis *a, size_t i) {
  return without_rounding(a->mixers[i].matrix.row_sum);
}

static double row_spread(const analysis *a, size_t i) {
  return without_rounding(a->mixers[i].matrix.most_row_sum - a->mixers[i].matrix.least_row_sum);
}

static double eigenvalue(const analysis *a, size_t i) {
  return without_rounding(a->mixers[i].matrix.eigenvalue);
}

static double value_cosine(const analysis *a, size_t i) {
  return a->mixers[i].matrix.value_cosine;
}

static double homophily(const analysis *a, size_t i) {
  return a->mixers[i].matrix.homophily;
}

static double energy(const analysis *a, size_t i) {
  return a->mixers[i].matrix.energy;
}

/* Means over the layers with the same kind of matrix as the first. */
static double high_over_low(const analysis *a, size_t i) {
  double sum = 0.0, layers = 0.0;
  for (size_t k = 0; k < a->mixer_count; k++) {
    if (!a->mixers[k].parts) continue;
    sum += a->mixers[k].matrix.high_over_low[i];
    layers += 1.0;
  }
  return sum / layers;
}

static double factored_value(const analysis *a, size_t i) {
  double sum = 0.0, layers = 0.0;
  for (size_t k = 0; k < a->mixer_count; k++) {
    if (a->mixers[k].singular_count <= i) continue;
    sum += a->mixers[k].singular[i];
    layers += 1.0;
  }
  return sum / layers;
}

/* The geometric mean over layers, since the axis is logarithmic. */
static double response(const analysis *a, size_t i) {
  double sum = 0.0;
  for (size_t k = 0; k < a->mixer_count; k++)
    sum += log(a->mixers[k].response[i]) / (double)a->mixer_count;
  return exp(sum);
}

/* At K = 2 the error is 0 up to rounding, which a logarithmic axis would show as significant. */
static double order_error(const analysis *a, size_t i) {
  double sum = 0.0;
  for (size_t k = 0; k < a->mixer_count; k++)
    sum += a->mixers[k].matrix.error[i] / (double)a->mixer_count;
  return sum > 1e-12 ? sum : (double)NAN;
}

static double order_of(size_t i) {
  return (double)(i + MATRIX_FIRST_ORDER);
}

static double layer_of(size_t i) {
  return (double)(i + 1);
}

static const view VIEWS[] = {
    {"Response of the mixers", "frequency along the tokens, 1 = alternating", "amplitude out / in",
     true, false, count_bands, response, spectra_frequency},
    {"Similarity between tokens", "after layer, 0 = embedding", "mean cosine of two tokens", false,
     true, count_stages, similarity},
    {"Effective rank of the features", "after layer, 0 = embedding", "directions", false, true,
     count_stages, effective_rank},
    {"Low-frequency energy", "after layer, 0 = embedding", "share at frequency 0", false, true,
     count_stages, low_energy},
    {"High-frequency energy", "after layer, 0 = embedding", "share above frequency 0.5", false,
     true, count_stages, high_energy},
    {"Singular values of the last features", "index", "over the largest", true, true,
     count_singular, singular_value},
    {"Largest eigenvalue of the matrix", "layer", "modulus", false, true, count_matrices,
     eigenvalue, layer_of},
    {"Row sums of the matrix", "layer", "mean row sum", false, true, count_matrices, row_sum,
     layer_of},
    {"Spread of the row sums", "layer", "largest - smallest", false, true, count_matrices,
     row_spread, layer_of},
    {"Likeness of values", "layer", "weighted mean cosine of values", false, true, count_matrices,
     value_cosine, layer_of},
    {"Homophily", "layer", "share of pairs less than 1 apart", false, true, count_matrices,
     homophily, layer_of},
    {"Energy of the values", "layer", "J(U)", false, true, count_energies, energy, layer_of},
    {"Powers of the matrix on the values", "power t", "log10 of high over low frequency", false,
     true, count_exponents, high_over_low},
    {"Singular values of AGF's matrix", "index", "singular value", true, true, count_factored,
     factored_value},
    {"Error of GFSA's power", "K", "max norm of the difference", true, true, count_orders,
     order_error, order_of, matrix_bound, "the bound 2 K"},
};

/* ---- a chart ---- */

typedef struct points {
  double *x, *y;
  size_t count;
} points;

static points take_points(const view *v, const analysis *a) {
  points p = {.count = v->count(a)};
  p.x = ft_calloc(p.count + 1, sizeof *p.x);
  p.y = ft_calloc(p.count + 1, sizeof *p.y);
  if (!p.x || !p.y) p.count = 0;
  for (size_t i = 0; i < p.count; i++) {
    p.x[i] = v->x ? v->x(i) : (double)i;
    p.y[i] = v->y(a, i);
  }
  return p;
}

/* The limit's line, with as many points as the longest run. */
static points take_limit(const view *v, size_t count) {
  points p = {.count = v->limit ? count : 0};
  p.x = ft_calloc(p.count + 1, sizeof *p.x);
  p.y = ft_calloc(p.count + 1, sizeof *p.y);
  if (!p.x || !p.y) p.count = 0;
  for (size_t i = 0; i < p.count; i++) {
    p.x[i] = v->x(i);
    p.y[i] = v->limit(i);
  }
  return p;
}

/* With one layer, a chart would show a single point. */
static bool is_worth_a_chart(const view *v, const analysis *runs, size_t count) {
  size_t longest = 0;
  for (size_t i = 0; i < count; i++)
    if (v->count(&runs[i]) > longest) longest = v->count(&runs[i]);
  return longest != 1;
}

/* Writes the values of one-layer models as a sentence. */
static void write_values(FILE *to, const view *v, const analysis *runs, size_t count) {
  fprintf(to, "<figure><figcaption>%s</figcaption>\n<p>%s of the one layer: ", v->title,
          v->y_label);
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    if (!v->count(&runs[i])) continue;
    fprintf(to, "%s%.4g", any ? ", " : "", v->y(&runs[i], 0));
    if (count > 1) fputs(" in ", to);
    if (count > 1) page_text(to, runs[i].label);
    any = true;
  }
  fputs("</p></figure>\n", to);
}

static void write_view(FILE *to, const view *v, const analysis *runs, size_t count) {
  chart_series *series = ft_calloc(count + 1, sizeof *series);
  points *lines = ft_calloc(count + 1, sizeof *lines);
  size_t longest = 0;
  if (!is_worth_a_chart(v, runs, count)) {
    write_values(to, v, runs, count);
    free(series);
    free(lines);
    return;
  }
  for (size_t i = 0; series && lines && i < count; i++) {
    lines[i] = take_points(v, &runs[i]);
    series[i] = (chart_series){runs[i].label, lines[i].x, lines[i].y, lines[i].count};
    if (lines[i].count > longest) longest = lines[i].count;
  }
  bool limited = series && lines && v->limit && longest;
  if (limited) {
    lines[count] = take_limit(v, longest);
    series[count] = (chart_series){v->limit_name, lines[count].x, lines[count].y,
                                   lines[count].count, CHART_LIMIT};
  }
  chart_write(to, &(chart){.title = v->title,
                           .x_label = v->x_label,
                           .y_label = v->y_label,
                           .log_y = v->log_y,
                           .whole_x = v->whole_x,
                           .points = longest <= 128,
                           .series = series,
                           .count = series && lines ? count + limited : 0});
  for (size_t i = 0; lines && i <= count; i++) {
    free(lines[i].x);
    free(lines[i].y);
  }
  free(lines);
  free(series);
}

/* ---- learned filters: those with the same argument share a chart ---- */

static const ft_mixer_filter *filter_of(const analysis *a) {
  return a->filter_count ? analyze_filter(a) : NULL;
}

static bool shares_axes(const analysis *a, const analysis *b) {
  const ft_mixer_filter *f = filter_of(a), *g = filter_of(b);
  return f && g && !strcmp(f->argument, g->argument);
}

static double mean_filter(const analysis *a, size_t i) {
  double sum = 0.0;
  for (size_t k = 0; k < a->filter_count; k++)
    sum += a->filters[k].y[i] / (double)a->filter_count;
  return sum;
}

/* Writes filters with the same argument in one chart. Runs with another argument are series without
 * points, so that each run keeps its colour. */
static void write_filters_like(FILE *to, const analysis *first, const analysis *runs,
                               size_t count) {
  const ft_mixer_filter *filter = filter_of(first);
  chart_series *series = ft_calloc(count, sizeof *series);
  double(*x)[ANALYSIS_POINTS] = ft_calloc(count, sizeof *x);
  double(*y)[ANALYSIS_POINTS] = ft_calloc(count, sizeof *y);
  bool done = series && x && y;
  for (size_t i = 0; done && i < count; i++) {
    bool shown = shares_axes(first, &runs[i]);
    for (size_t k = 0; shown && k < ANALYSIS_POINTS; k++) {
      x[i][k] = analyze_argument(&runs[i], k);
      y[i][k] = mean_filter(&runs[i], k);
    }
    series[i] = (chart_series){runs[i].label, x[i], y[i], shown ? ANALYSIS_POINTS : 0};
  }
  chart_write(to, &(chart){.title = "Learned filters",
                           .x_label = filter->argument,
                           .y_label = filter->result ? filter->result : "gain",
                           .series = series,
                           .count = done ? count : 0});
  free(series);
  free(x);
  free(y);
}

static void write_all_filters(FILE *to, const analysis *runs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    bool seen = !filter_of(&runs[i]);
    for (size_t k = 0; k < i && !seen; k++)
      seen = shares_axes(&runs[k], &runs[i]);
    if (!seen) write_filters_like(to, &runs[i], runs, count);
  }
}

/* ---- texts ---- */

static void write_runs(FILE *to, const analysis *runs, size_t count) {
  fputs("<div class=\"wide\"><table><thead><tr><th class=\"text\">Run</th><th class=\"text\">Mixer"
        "</th><th>Layers</th><th>Width</th><th>Heads</th><th>Samples</th><th class=\"text\">Data"
        "</th></tr></thead>\n<tbody>\n",
        to);
  for (size_t i = 0; i < count; i++) {
    char mixers[FT_MIXERS_TEXT];
    const filtra_model_config *m = &runs[i].model->config;
    fputs("<tr><td class=\"text\">", to);
    page_text(to, runs[i].run);
    fprintf(to,
            "</td><td class=\"text\">%s</td><td>%lld</td><td>%lld</td><td>%lld</td><td>%zu of %s"
            "</td><td class=\"text\">",
            ft_mixers_name(&runs[i].model->mixers, mixers), (long long)m->layers,
            (long long)m->width, (long long)m->heads, runs[i].samples, runs[i].split);
    page_text(to, runs[i].data);
    fputs("</td></tr>\n", to);
  }
  fputs("</tbody></table></div>\n", to);
}

/* Names the runs that lack something, with the reason; nothing if none does. */
static void write_lacking(FILE *to, const analysis *runs, size_t count,
                          size_t (*has)(const analysis *), const char *what) {
  size_t lacking = 0;
  for (size_t i = 0; i < count; i++) {
    if (has(&runs[i])) continue;
    fputs(lacking++ ? ", " : "<p>Missing: ", to);
    page_text(to, runs[i].label);
  }
  if (lacking) fprintf(to, ". %s</p>\n", what);
}

static bool is_factored(const analysis *a) {
  return count_matrices(a) && count_factored(a);
}

static size_t has_powers(const analysis *a) {
  return !count_matrices(a) || count_orders(a) || is_factored(a);
}

static size_t has_attention(const analysis *a) {
  return !is_factored(a);
}

static size_t has_filter(const analysis *a) {
  return a->filter_count;
}

static void write_explanation(FILE *to) {
  fputs(
      "<details><summary>How to read this</summary>\n"
      "<p>Attention is a filter over tokens. One that passes only frequency 0, the mean, makes all "
      "tokens alike, layer by layer: oversmoothing. The response is the amplitude of a mixer's "
      "output over that of its input, by frequency along the sequence; of a run, the geometric "
      "mean of its layers. The similarity is the mean cosine between two tokens of a sample; 1 "
      "means that they point the same way. Singular values that fall off fast mean that the "
      "features use few directions; the effective rank says how many: the square of the sum of "
      "squared singular values over the sum of their fourth powers. Low-frequency energy is the "
      "share that the mean over tokens has, high-frequency energy that above half of the highest "
      "frequency.</p>\n"
      "<p>The matrix is what a head applies to its values: A of softmax attention, GFSA's filter "
      "of A, p-LaT's weights times powers of distances, AGF's U g(&Sigma;) V<sup>T</sup>. Softmax "
      "attention's row sums and largest "
      "eigenvalue are 1. The likeness of values is the mean cosine of those that tokens give "
      "weight to; homophily, as p-LaT's paper defines it, the share of pairs whose values are less "
      "than 1 apart, and the energy J(U) the sum over tokens x and y of A<sub>xy</sub> "
      "|u<sub>x</sub> - u<sub>y</sub>|<sup>p</sup> / (2 p) of values u, whose descent p-LaT's "
      "attention is; p is 2 for softmax and GFSA. Powers of the matrix H say what it does when "
      "repeated, as AGF's paper defines filters: H<sup>t</sup> V is divided into LC, the mean over "
      "tokens, and HC, the rest, and log10 of |HC| / |LC| falls with t where H passes low "
      "frequencies and rises where it passes high ones; means over heads and samples. AGF's "
      "singular values are those of U g(&Sigma;) V<sup>T</sup>, as filtered. The error is the max "
      "norm (largest row sum of moduli) of A to the power K "
      "minus A + (K - 1) "
      "(A&sup2; - A), which GFSA takes for it; 2 K bounds it. Coefficients are those that a filter "
      "has, after any function that bounds them; learned filters are means over a layer's heads, "
      "and over a run's layers where runs are compared.</p></details>\n",
      to);
}

/* ---- the page ---- */

void analyze_write_page(FILE *to, const analysis *runs, size_t count) {
  page_begin(to, "What the mixers do to their tokens");
  write_explanation(to);
  write_runs(to, runs, count);
  fputs("<div class=\"charts\">\n", to);
  for (size_t i = 0; i < FT_COUNT(VIEWS); i++)
    write_view(to, &VIEWS[i], runs, count);
  fputs("</div>\n", to);
  write_lacking(
      to, runs, count, count_matrices,
      "Their mixers form no matrix of tokens by tokens, their model masks token 0 or reads "
      "graphs, whose attention has a bias, or their samples are longer than 1,024 tokens: no "
      "eigenvalue, row sums, homophily or "
      "error of a power is defined or looked at.");
  write_lacking(to, runs, count, has_powers,
                "Errors of powers of A are looked at up to 256 tokens.");
  write_lacking(to, runs, count, has_attention,
                "AGF's matrix is made without an attention matrix A: there is no power of A for "
                "GFSA to be in error about.");
  if (count > 1) {
    fputs("<h2>Learned filters</h2>\n<div class=\"charts\">\n", to);
    write_all_filters(to, runs, count);
    fputs("</div>\n", to);
  }
  write_lacking(to, runs, count, has_filter,
                "Their mixers learn no filter as a function of one variable; the response is "
                "theirs.");
  for (size_t i = 0; i < count; i++) {
    fputs("<h2>Layers of ", to);
    page_text(to, runs[i].label);
    fputs("</h2>\n", to);
    analyze_write_layers(to, &runs[i]);
    analyze_write_maps(to, &runs[i]);
  }
  page_end(to);
}
