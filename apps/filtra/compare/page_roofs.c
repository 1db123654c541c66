/* Writes rooflines (Williams, Waterman and Patterson 2009): a case's speed over its operations per
 * byte moved, below the measured peaks. Called by page.c. */
#include "compare.h"

#include "base/memory.h"
#include "common/chart.h"
#include "common/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A roof over the range of intensities, with its edge: min(peak, intensity x bandwidth). */
typedef struct roof {
  double x[3], y[3];
} roof;

/* A machine's roofs: one for multiply-adds, and one for each type that its matrix units
 * multiply. */
enum { MULTIPLY_ADDS, BF16, FP16, ROOFS };

static double peak_of(const compare_machine *m, int which) {
  return which == MULTIPLY_ADDS ? m->peak_gflops : which == BF16 ? m->peak_bf16 : m->peak_fp16;
}

static bool has_roof(const compare_machine *m, int which) {
  return peak_of(m, which) > 0.0 && m->peak_gbytes > 0.0;
}

static roof roof_of(const compare_machine *m, int which, double low, double high) {
  const double peak = peak_of(m, which);
  roof r = {.x = {low, peak / m->peak_gbytes, high}};
  for (size_t i = 0; i < FT_COUNT(r.x); i++)
    r.y[i] = fmin(peak, r.x[i] * m->peak_gbytes);
  return r;
}

static bool has_dot(const compare_entry *e) {
  return compare_measured(e) && e->flops > 0.0 && e->bytes > 0.0 && e->gflops > 0.0;
}

/* Computes the range of intensities of the roofs and cases of machines first .. end - 1, with a
 * margin. */
static void find_range(const comparison *c, size_t first, size_t end, double *low, double *high) {
  *low = INFINITY;
  *high = 0.0;
  for (size_t k = first; k < end; k++) {
    const compare_machine *m = &c->machines[k];
    for (int which = 0; which < ROOFS; which++) {
      double edge = peak_of(m, which) / m->peak_gbytes;
      if (has_roof(m, which)) *low = fmin(*low, edge / 4.0);
      if (has_roof(m, which)) *high = fmax(*high, edge * 4.0);
    }
    for (size_t i = 0; i < m->entry_count; i++) {
      const compare_entry *e = &m->entries[i];
      if (!has_dot(e)) continue;
      *low = fmin(*low, e->flops / e->bytes);
      *high = fmax(*high, e->flops / e->bytes);
    }
  }
}

/* ---- one machine's cases ---- */

typedef struct dots {
  double *x, *y;
  char (*notes)[COMPARE_TEXT];
  const char **pointers; /* to the notes */
  chart_series *series;  /* by op, then one per roof */
  size_t count;
} dots;

static void free_dots(dots *d) {
  free(d->x);
  free(d->y);
  free(d->notes);
  free((void *)d->pointers);
  free(d->series);
}

static filtra_status make_dots(const comparison *c, dots *d) {
  *d = (dots){.x = ft_calloc(c->row_count + 1, sizeof *d->x),
              .y = ft_calloc(c->row_count + 1, sizeof *d->y),
              .notes = ft_calloc(c->row_count + 1, sizeof *d->notes),
              .pointers = ft_calloc(c->row_count + 1, sizeof *d->pointers),
              .series = ft_calloc(c->row_count + ROOFS, sizeof *d->series)};
  return d->x && d->y && d->notes && d->pointers && d->series ? FILTRA_OK
                                                              : FILTRA_ERROR_HOST_MEMORY;
}

/* Sets the i-th row's dot; NaN if there is none. */
static void set_dot(const comparison *c, size_t machine, size_t i, dots *d) {
  char kind[COMPARE_TEXT], share[NUMBER_TEXT];
  const compare_entry *e = c->rows[i].cells[machine];
  d->x[i] = d->y[i] = NAN;
  d->pointers[i] = d->notes[i];
  if (!has_dot(e)) return;
  d->x[i] = e->flops / e->bytes;
  d->y[i] = e->gflops;
  compare_kind(e, kind);
  snprintf(d->notes[i], sizeof d->notes[i],
           "%.300s%s%.300s: %.4g GFLOP/s at %.3g FLOP/byte, %s of the roofline%s", c->rows[i].name,
           *kind ? ", " : "", kind, d->y[i], d->x[i],
           number_text("%.0f %%", 100.0 * e->fraction, share),
           strcmp(e->roof, "matrix") ? "" : " of matrix units");
}

/* Sets one series per op, with the same colour and shape for every machine. */
static void set_series(const comparison *c, size_t machine, dots *d) {
  for (size_t first = 0, end; first < c->row_count; first = end) {
    end = compare_op_end(c, first);
    const compare_entry *any = NULL;
    for (size_t i = first; i < end; i++) {
      set_dot(c, machine, i, d);
      for (size_t k = 0; k < c->machine_count; k++)
        if (has_dot(c->rows[i].cells[k])) any = c->rows[i].cells[k];
    }
    if (any)
      d->series[d->count++] = (chart_series){.name = any->op,
                                             .x = d->x + first,
                                             .y = d->y + first,
                                             .count = end - first,
                                             .style = CHART_DOTS,
                                             .notes = d->pointers + first};
  }
}

/* Describes the roofs for screen readers. */
static void describe(const compare_machine *m, char out[COMPARE_TEXT]) {
  char flops[NUMBER_TEXT], bytes[NUMBER_TEXT], matrices[COMPARE_TEXT / 2] = "";
  if (has_roof(m, BF16) || has_roof(m, FP16))
    snprintf(matrices, sizeof matrices, ", on matrix units %s GFLOP/s in bf16 and %s in fp16",
             rate_text(m->peak_bf16, flops), rate_text(m->peak_fp16, bytes));
  snprintf(out, COMPARE_TEXT,
           "A dot for each case, by op, below a roof of %s GFLOP/s%s and %s GB/s. The tables below "
           "have the numbers.",
           rate_text(m->peak_gflops, flops), matrices, rate_text(m->peak_gbytes, bytes));
}

static filtra_status write_machine(FILE *to, const comparison *c, size_t machine) {
  static const char *const NAMES[] = {"what the peaks allow", "what matrix units allow, bf16",
                                      "what matrix units allow, fp16"};
  const compare_machine *m = &c->machines[machine];
  char description[COMPARE_TEXT];
  roof roofs[ROOFS];
  double low, high;
  dots d;
  filtra_status status = make_dots(c, &d);
  find_range(c, machine, machine + 1, &low, &high);
  if (!status) {
    set_series(c, machine, &d);
    for (int which = 0; which < ROOFS; which++) {
      roofs[which] = roof_of(m, which, low, high);
      if (has_roof(m, which))
        d.series[d.count++] = (chart_series){.name = NAMES[which],
                                             .x = roofs[which].x,
                                             .y = roofs[which].y,
                                             .count = 3,
                                             .style = CHART_LIMIT};
    }
    describe(m, description);
    chart_write(to, &(chart){.title = m->label,
                             .x_label = "FLOP per byte moved",
                             .y_label = "GFLOP/s",
                             .description = description,
                             .log_x = true,
                             .log_y = true,
                             .series = d.series,
                             .count = d.count});
  }
  free_dots(&d);
  return status;
}

/* ---- all machines' roofs ---- */

static void write_all(FILE *to, const comparison *c) {
  chart_series series[COMPARE_MOST_FILES];
  roof roofs[COMPARE_MOST_FILES];
  double low, high;
  find_range(c, 0, c->machine_count, &low, &high);
  for (size_t k = 0; k < c->machine_count; k++) {
    const compare_machine *m = &c->machines[k];
    roofs[k] = roof_of(m, MULTIPLY_ADDS, low, high);
    series[k] = (chart_series){.name = m->label,
                               .x = roofs[k].x,
                               .y = roofs[k].y,
                               .count = has_roof(m, MULTIPLY_ADDS) ? 3 : 0};
  }
  chart_write(to, &(chart){.title = "All roofs",
                           .x_label = "FLOP per byte moved",
                           .y_label = "GFLOP/s",
                           .description = "What each machine's measured multiply-adds and copies "
                                          "allow.",
                           .log_x = true,
                           .log_y = true,
                           .series = series,
                           .count = c->machine_count});
}

filtra_status compare_page_roofs(FILE *to, const comparison *c) {
  fputs("<h2 id=\"roofs\">Rooflines</h2>\n<p>A case cannot be faster than the machine multiplies "
        "and adds, nor than it moves the case's bytes; the dashed roof is what the peaks measured "
        "on the machine allow. Where matrix units were measured, a higher one is theirs, for "
        "products "
        "of 16-bit numbers. Dots above the slope were served by caches, which the copies are too "
        "large for; dots above the top mean that something disturbed the measuring of the "
        "peak.</p>\n<div class=\"charts\">\n",
        to);
  if (c->machine_count > 1) write_all(to, c);
  for (size_t k = 0; k < c->machine_count; k++)
    FT_TRY(write_machine(to, c, k));
  fputs("</div>\n", to);
  return FILTRA_OK;
}
