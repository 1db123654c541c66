/* Writes a comparison as one JSON object. Called by compare.c. */
#include "common/fields.h"
#include "compare.h"

#include <math.h>

static json_t *machine(const compare_machine *m) {
  return json_pack(
      "{ss ss ss ss ss ss ss ss sb so so so so so so so so so}", "label", m->label, "file", m->path,
      "device", m->device, "driver", m->driver, "class", m->kind, "filtra", m->version, "commit",
      m->commit, "caps", m->caps, "quick", m->quick, "memory_bytes", fields_number(m->memory),
      "subgroup_size", fields_number(m->subgroup), "peak_gflops", fields_number(m->peak_gflops),
      "peak_matrix_bf16_gflops", fields_number(m->peak_bf16), "peak_matrix_fp16_gflops",
      fields_number(m->peak_fp16), "peak_gbytes_per_second", fields_number(m->peak_gbytes),
      "dispatch_seconds", fields_number(m->dispatch), "golden_cases",
      fields_number(m->golden_cases), "golden_passed", fields_number(m->golden_passed));
}

/* A machine's cell of a row; null: not in the file. */
static json_t *cell(const compare_row *row, size_t k) {
  const compare_entry *e = row->cells[k];
  if (!e) return json_null();
  if (*e->error) return json_pack("{ss}", "error", e->error);
  if (*e->skipped) return json_pack("{ss}", "skipped", e->skipped);
  if (isnan(e->median))
    return json_pack("{so so}", "time_exponent", fields_number(e->time_exponent), "memory_exponent",
                     fields_number(e->memory_exponent));
  return json_pack("{so so so so so so so so so so so}", "sequences", fields_number(e->sequences),
                   "seconds_best", fields_number(e->best), "seconds_median",
                   fields_number(e->median), "seconds_worst", fields_number(e->worst), "gflops",
                   fields_number(e->gflops), "gbytes_per_second", fields_number(e->gbytes),
                   "fraction_of_peak", fields_number(e->fraction), "roof",
                   *e->roof ? json_string(e->roof) : json_null(), "tokens_per_second",
                   fields_number(e->tokens), "memory_bytes", fields_number(e->memory), "speed",
                   fields_number(compare_speed(row, k)));
}

static json_t *cases(const comparison *c) {
  json_t *list = json_array();
  for (size_t i = 0; i < c->row_count; i++) {
    const compare_row *row = &c->rows[i];
    json_t *cells = json_array();
    for (size_t k = 0; k < c->machine_count; k++)
      json_array_append_new(cells, cell(row, k));
    json_array_append_new(list,
                          json_pack("{ss ss ss ss ss ss so}", "op", row->any->op, "case", row->name,
                                    "variant", row->any->variant, "precision",
                                    *row->any->precision ? row->any->precision : "fp32", "pass",
                                    row->any->pass, "shape", row->any->shape, "machines", cells));
  }
  return list;
}

/* Geometric mean of speeds, by op. */
static json_t *ops(const comparison *c) {
  json_t *list = json_array();
  for (size_t first = 0, end; first < c->row_count; first = end) {
    json_t *machines = json_array();
    end = compare_op_end(c, first);
    for (size_t k = 0; k < c->machine_count; k++) {
      size_t count;
      double speed = compare_mean_speed(c, first, end, k, &count);
      json_array_append_new(machines, json_pack("{so sI}", "speed", fields_number(speed), "cases",
                                                (json_int_t)count));
    }
    json_array_append_new(list,
                          json_pack("{ss so}", "op", c->rows[first].any->op, "machines", machines));
  }
  return list;
}

static json_t *crossing(const comparison *c, size_t first, size_t machine, bool memory) {
  static const char *const STATES[] = {"unknown", "below", "crosses", "beyond"};
  compare_crossing x = compare_cross(c, first, machine, memory);
  return json_pack("{ss so so so}", "state", STATES[x.state], "length", fields_number(x.length),
                   "from", fields_number(x.from), "to", fields_number(x.to));
}

static json_t *crossings(const comparison *c) {
  json_t *list = json_array();
  for (size_t first = compare_next_rival(c, 0); first < c->row_count;
       first = compare_next_rival(c, compare_mixer_end(c, first))) {
    json_t *machines = json_array();
    for (size_t k = 0; k < c->machine_count; k++)
      json_array_append_new(machines, json_pack("{so so}", "time", crossing(c, first, k, false),
                                                "memory", crossing(c, first, k, true)));
    json_array_append_new(
        list, json_pack("{ss so}", "mixer", c->rows[first].any->mixer, "machines", machines));
  }
  return list;
}

static json_t *deviation(const compare_deviation *d) {
  if (!d->losses) return json_null();
  if (*d->losses->error) return json_pack("{ss}", "error", d->losses->error);
  if (*d->refused) return json_pack("{ss}", "refused", d->refused);
  return json_pack("{sI sb so sI so sI}", "steps", (json_int_t)d->steps, "bitwise_equal", d->equal,
                   "max_absolute", fields_number(d->absolute), "max_absolute_step",
                   (json_int_t)d->absolute_step, "max_relative", fields_number(d->relative),
                   "max_relative_step", (json_int_t)d->relative_step);
}

static json_t *agreements(const comparison *c) {
  json_t *list = json_array();
  for (size_t i = 0; i < c->agreement_count; i++) {
    const compare_agreement *a = &c->agreements[i];
    json_t *machines = json_array();
    for (size_t k = 0; k < c->machine_count; k++)
      json_array_append_new(machines, deviation(&a->of[k]));
    json_array_append_new(list, json_pack("{ss sI so}", "mixer", a->mixer, "compared_with",
                                          (json_int_t)a->base, "machines", machines));
  }
  return list;
}

json_t *compare_json(const comparison *c) {
  json_t *machines = json_array(), *warnings = json_array();
  for (size_t k = 0; k < c->machine_count; k++)
    json_array_append_new(machines, machine(&c->machines[k]));
  for (size_t i = 0; i < c->warning_count; i++)
    json_array_append_new(warnings, json_string(c->warnings[i]));
  return json_pack("{so so so so so so}", "machines", machines, "warnings", warnings, "ops", ops(c),
                   "cases", cases(c), "crossings", crossings(c), "losses", agreements(c));
}
