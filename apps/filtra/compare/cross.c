/* Finds the length from which a mixer's layer takes less time, or memory, than softmax
 * attention. */
#include "compare.h"

#include <math.h>
#include <string.h>

static const char REFERENCE[] = "softmax";

/* Softmax's row of the same length as another mixer's row; NULL: none. */
static const compare_row *reference_of(const comparison *c, const compare_row *row) {
  for (size_t i = 0; i < c->row_count; i++) {
    const compare_entry *e = c->rows[i].any;
    if (!strcmp(e->op, row->any->op) && !strcmp(e->mixer, REFERENCE) &&
        e->length == row->any->length)
      return &c->rows[i];
  }
  return NULL;
}

static double amount(const compare_entry *e, bool memory) {
  if (!compare_measured(e)) return NAN;
  return (memory ? e->memory : e->median) / e->sequences;
}

/* The logarithm of the mixer's amount relative to softmax's; NaN: one is unknown. */
static double excess(const comparison *c, size_t row, size_t machine, bool memory) {
  const compare_row *reference = reference_of(c, &c->rows[row]);
  if (!reference) return NAN;
  double x =
      log(amount(c->rows[row].cells[machine], memory) / amount(reference->cells[machine], memory));
  return isfinite(x) ? x : NAN;
}

compare_crossing compare_cross(const comparison *c, size_t first, size_t machine, bool memory) {
  compare_crossing out = {COMPARE_UNKNOWN, NAN, NAN, NAN};
  double last = NAN;
  for (size_t i = first, end = compare_mixer_end(c, first); i < end; i++) {
    double length = c->rows[i].any->length, here = excess(c, i, machine, memory);
    if (isnan(here)) continue;
    if (isnan(out.from)) out.from = length;
    if (here >= 0.0)
      out.state = COMPARE_BEYOND;
    else if (out.state == COMPARE_UNKNOWN)
      out.state = COMPARE_BELOW;
    else if (out.state == COMPARE_BEYOND) { /* interpolates on logarithmic axes */
      out.state = COMPARE_CROSSES;
      out.length = out.to * pow(length / out.to, last / (last - here));
    }
    out.to = length;
    last = here;
  }
  return out;
}

size_t compare_mixer_end(const comparison *c, size_t first) {
  size_t end = first, op_end = compare_op_end(c, first);
  while (end < op_end && !strcmp(c->rows[end].any->mixer, c->rows[first].any->mixer))
    end++;
  return end;
}

size_t compare_next_rival(const comparison *c, size_t from) {
  size_t layers = compare_op_first(c, "mixer_layer"), end;
  bool has_reference = false;
  if (layers == c->row_count) return c->row_count;
  end = compare_op_end(c, layers);
  for (size_t i = layers; i < end; i++)
    has_reference |= !strcmp(c->rows[i].any->mixer, REFERENCE);
  size_t next = from < layers ? layers : from;
  if (next < end && !strcmp(c->rows[next].any->mixer, REFERENCE)) next = compare_mixer_end(c, next);
  return has_reference && next < end ? next : c->row_count;
}

const char *compare_crossing_text(const compare_crossing *x, char out[COMPARE_TEXT]) {
  if (x->state == COMPARE_CROSSES)
    snprintf(out, COMPARE_TEXT, "%.0f", x->length);
  else if (x->state == COMPARE_BELOW)
    snprintf(out, COMPARE_TEXT, "below %.0f", x->from);
  else if (x->state == COMPARE_BEYOND)
    snprintf(out, COMPARE_TEXT, "not up to %.0f", x->to);
  else
    snprintf(out, COMPARE_TEXT, "–");
  return out;
}
