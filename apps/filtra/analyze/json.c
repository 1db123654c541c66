/* Writes analyses as JSON. */
#include "analyze.h"
#include "common/fields.h"

static json_t *numbers(const double *x, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(list, fields_number(x[i]));
  return list;
}

static json_t *frequencies(void) {
  json_t *list = json_array();
  for (size_t band = 0; band < SPECTRA_BANDS; band++)
    json_array_append_new(list, fields_number(spectra_frequency(band)));
  return list;
}

static json_t *filters(const analysis *a) {
  json_t *list = json_array(), *x = json_array();
  for (size_t i = 0; i < ANALYSIS_POINTS && a->filter_count; i++)
    json_array_append_new(x, fields_number(analyze_argument(a, i)));
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
      json_array_append_new(values, fields_number((double)c->values[k]));
    json_array_append_new(list, json_pack("{ss ss so}", "layer", c->layer, "name",
                                          c->kind->parameter, "values", values));
  }
  return list;
}

static json_t *stages(const analysis *a) {
  json_t *list = json_array();
  for (size_t i = 0; i < a->stage_count; i++) {
    const analysis_stage *s = &a->stages[i];
    json_array_append_new(list,
                          json_pack("{ss so so so so}", "name", s->name, "similarity",
                                    fields_number(s->similarity), "effective_rank",
                                    fields_number(s->effective_rank), "low_energy",
                                    fields_number(s->low), "high_energy", fields_number(s->high)));
  }
  return list;
}

static json_t *mixers(const analysis *a) {
  json_t *list = json_array();
  for (size_t i = 0; i < a->mixer_count; i++) {
    const analysis_mixer *m = &a->mixers[i];
    json_array_append_new(
        list,
        json_pack("{ss so so so so so so so so so so so}", "name", m->name, "response",
                  numbers(m->response, SPECTRA_BANDS), "row_sum", fields_number(m->matrix.row_sum),
                  "least_row_sum", fields_number(m->matrix.least_row_sum), "most_row_sum",
                  fields_number(m->matrix.most_row_sum), "largest_eigenvalue",
                  fields_number(m->matrix.eigenvalue), "value_cosine",
                  fields_number(m->matrix.value_cosine), "homophily",
                  fields_number(m->matrix.homophily), "energy", fields_number(m->matrix.energy),
                  "gfsa_errors", numbers(m->matrix.error, MATRIX_ORDERS), "log10_high_over_low",
                  numbers(m->matrix.high_over_low, MATRIX_EXPONENTS), "singular_values",
                  numbers(m->singular, m->singular_count)));
  }
  return list;
}

static json_t *orders(void) {
  json_t *list = json_array();
  for (size_t k = 0; k < MATRIX_ORDERS; k++)
    json_array_append_new(list, json_pack("{sI sf}", "K", (json_int_t)k + MATRIX_FIRST_ORDER,
                                          "bound", matrix_bound(k)));
  return list;
}

json_t *analyze_json(const analysis *a) {
  return json_pack("{ss ss sI so so so so so so so so so}", "run", a->run, "split", a->split,
                   "samples", (json_int_t)a->samples, "mixer", ft_mixers_write(&a->model->mixers),
                   "frequencies", frequencies(), "mixers", mixers(a), "stages", stages(a),
                   "singular_values", numbers(a->singular, a->singular_count), "coefficients",
                   coefficients(a), "filters", filters(a), "gfsa_orders", orders(), "attention",
                   analyze_maps_json(a));
}
