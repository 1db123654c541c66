/* Writes the cases of a comparison: per op, charts of horizontal bars with a group per case, and a
 * table of all numbers. Called by page.c. */
#include "compare.h"

#include "base/memory.h"
#include "common/chart.h"
#include "common/page.h"

#include <math.h>
#include <string.h>

/* ---- charts ---- */

enum { MOST_GROUPS = 10, NOTE = 48 }; /* cases per chart */

/* Data of a chart's bars. */
typedef struct bars {
  double value[COMPARE_MOST_FILES][MOST_GROUPS];
  double low[COMPARE_MOST_FILES][MOST_GROUPS], high[COMPARE_MOST_FILES][MOST_GROUPS];
  char notes[COMPARE_MOST_FILES][MOST_GROUPS][NOTE];
  const char *note_pointers[COMPARE_MOST_FILES][MOST_GROUPS], *names[MOST_GROUPS];
} bars;

/* Whether bars show tokens per second, as for train steps and inference; else they show time. */
static bool by_tokens(const compare_entry *e) {
  return !strcmp(e->op, "train_step") || !strcmp(e->op, "inference");
}

static void set_note(const compare_row *row, size_t k, char note[NOTE]) {
  const compare_entry *e = row->cells[k];
  char speed[COMPARE_TEXT] = "", number[NUMBER_TEXT];
  if (!compare_measured(e)) {
    snprintf(note, NOTE, e ? "failed" : "not measured");
    return;
  }
  if (k) compare_speed_text(compare_speed(row, k), speed);
  if (by_tokens(e))
    snprintf(note, NOTE, "%s/s", amount_text(e->tokens, number));
  else
    snprintf(note, NOTE, "%s", seconds_text(e->median / e->sequences, number));
  if (k && *speed != '\xe2') /* 0xe2 begins the dash */
    snprintf(note + strlen(note), NOTE - strlen(note), " · %.16s", speed);
}

static void set_bar(const compare_row *row, size_t k, size_t i, bars *b) {
  const compare_entry *e = row->cells[k];
  b->value[k][i] = b->low[k][i] = b->high[k][i] = NAN;
  b->note_pointers[k][i] = b->notes[k][i];
  b->names[i] = row->name;
  set_note(row, k, b->notes[k][i]);
  if (!compare_measured(e)) return;
  if (by_tokens(e)) {
    b->value[k][i] = e->tokens;
    b->low[k][i] = e->tokens * e->median / e->worst;
    b->high[k][i] = e->tokens * e->median / e->best;
  } else {
    b->value[k][i] = 1e3 * e->median / e->sequences;
    b->low[k][i] = 1e3 * e->best / e->sequences;
    b->high[k][i] = 1e3 * e->worst / e->sequences;
  }
}

/* Whether a linear axis would hide the shortest bar. */
static bool needs_logarithm(const bars *b, size_t machines, size_t groups) {
  const double most = 30.0;
  double low = INFINITY, high = 0.0;
  for (size_t k = 0; k < machines; k++)
    for (size_t i = 0; i < groups; i++) {
      if (!(b->value[k][i] > 0.0)) continue;
      low = fmin(low, b->value[k][i]);
      high = fmax(high, b->value[k][i]);
    }
  return high > most * low;
}

static void write_chart(FILE *to, const comparison *c, size_t first, size_t end,
                        const char *title) {
  static bars b; /* too large for the stack */
  chart_series series[COMPARE_MOST_FILES];
  bool tokens = by_tokens(c->rows[first].any);
  for (size_t k = 0; k < c->machine_count; k++) {
    for (size_t i = first; i < end; i++)
      set_bar(&c->rows[i], k, i - first, &b);
    series[k] = (chart_series){.name = c->machines[k].label,
                               .y = b.value[k],
                               .count = end - first,
                               .notes = b.note_pointers[k],
                               .low = b.low[k],
                               .high = b.high[k]};
  }
  chart_write_rows(to, &(chart){.title = title,
                                .x_label = tokens ? "tokens a second" : "median time in ms",
                                .description = "A bar for each case and machine, with a line from "
                                               "the best to the worst run. The table below has "
                                               "the numbers.",
                                .log_x = needs_logarithm(&b, c->machine_count, end - first),
                                .groups = b.names,
                                .series = series,
                                .count = c->machine_count});
}

/* Writes a chart for each variant and pass of an op; several if it has many cases. */
static void write_charts(FILE *to, const comparison *c, size_t first, size_t end) {
  char title[COMPARE_TEXT], kind[COMPARE_TEXT], other[COMPARE_TEXT];
  fputs("<div class=\"charts\">\n", to);
  for (size_t i = first, next; i < end; i = next) {
    compare_kind(c->rows[i].any, kind);
    for (next = i + 1; next < end && next - i < MOST_GROUPS; next++)
      if (strcmp(kind, compare_kind(c->rows[next].any, other))) break;
    snprintf(title, sizeof title, "%.500s%s%.600s", c->rows[i].any->op, *kind ? ", " : "", kind);
    write_chart(to, c, i, next, title);
  }
  fputs("</div>\n", to);
}

/* ---- tables ---- */

/* Optional columns of a table. */
typedef struct columns {
  bool kind, tokens, speed;
} columns;

static void write_head(FILE *to, const comparison *c, const columns *shown) {
  fprintf(to,
          "<thead><tr><th>Case</th>%s%s<th>Median</th><th>Best</th><th>Worst</th>%s<th>GFLOP/s"
          "</th><th>GB/s</th><th>Of roofline</th><th>Memory</th>%s</tr></thead>\n<tbody>\n",
          shown->kind ? "<th class=\"text\">Variant, precision, pass</th>" : "",
          c->machine_count > 1 ? "<th class=\"text\">Machine</th>" : "",
          shown->tokens ? "<th>Tokens/s</th>" : "", shown->speed ? "<th>Over A</th>" : "");
}

static void put(FILE *to, const char *text) {
  fprintf(to, "<td>%s</td>", text);
}

static void write_numbers(FILE *to, const compare_row *row, size_t k, const columns *shown) {
  const compare_entry *e = row->cells[k];
  char number[NUMBER_TEXT], text[COMPARE_TEXT];
  if (!compare_measured(e)) {
    fprintf(to, "<td class=\"text lack\" colspan=\"%d\">", 7 + shown->tokens + shown->speed);
    page_text(to, compare_lack(e, text));
    fputs("</td>", to);
    return;
  }
  put(to, seconds_text(e->median / e->sequences, number));
  put(to, seconds_text(e->best / e->sequences, number));
  put(to, seconds_text(e->worst / e->sequences, number));
  if (shown->tokens) put(to, amount_text(e->tokens, number));
  put(to, rate_text(e->gflops, number));
  put(to, rate_text(e->gbytes, number));
  put(to, number_text(strcmp(e->roof, "matrix") ? "%.1f %%" : "%.1f %% (matrix)",
                      100.0 * e->fraction, number));
  put(to, memory_text(e->memory / e->sequences, number));
  if (shown->speed) put(to, k ? compare_speed_text(compare_speed(row, k), text) : "1");
}

static void write_row(FILE *to, const comparison *c, const compare_row *row, const columns *shown) {
  char text[COMPARE_TEXT];
  for (size_t k = 0; k < c->machine_count; k++) {
    fputs(k ? "<tr>" : "<tr class=\"first\">", to);
    if (k == 0) {
      fprintf(to, "<td class=\"text case\" rowspan=\"%zu\">", c->machine_count);
      page_text(to, row->name);
      fputs("</td>", to);
    }
    if (k == 0 && shown->kind) {
      fprintf(to, "<td class=\"text case\" rowspan=\"%zu\">", c->machine_count);
      page_text(to, compare_kind(row->any, text));
      fputs("</td>", to);
    }
    if (c->machine_count > 1) {
      fprintf(to, "<td class=\"text machine c%zu\"><i></i>", k);
      page_text(to, c->machines[k].label);
      fputs("</td>", to);
    }
    write_numbers(to, row, k, shown);
    fputs("</tr>\n", to);
  }
}

void compare_page_table(FILE *to, const comparison *c, size_t first, size_t end) {
  columns shown = {.tokens = by_tokens(c->rows[first].any), .speed = c->machine_count > 1};
  size_t failed = 0, skipped = 0, missing = 0;
  char kind[COMPARE_TEXT];
  for (size_t i = first; i < end; i++) {
    const compare_row *row = &c->rows[i];
    shown.kind = shown.kind || *compare_kind(row->any, kind);
    for (size_t k = 0; k < c->machine_count; k++) {
      missing += !row->cells[k];
      failed += row->cells[k] && *row->cells[k]->error;
      skipped += row->cells[k] && !*row->cells[k]->error && *row->cells[k]->skipped;
    }
  }
  fprintf(to, "<details open><summary>All numbers: %zu %s", end - first,
          end - first == 1 ? "case" : "cases");
  if (failed) fprintf(to, ", %zu failed", failed);
  if (skipped) fprintf(to, ", %zu skipped", skipped);
  if (missing) fprintf(to, ", %zu not measured", missing);
  fputs("</summary>\n<div class=\"wide\"><table>", to);
  write_head(to, c, &shown);
  for (size_t i = first; i < end; i++)
    write_row(to, c, &c->rows[i], &shown);
  fputs("</tbody></table></div></details>\n", to);
}

filtra_status compare_page_cases(FILE *to, const comparison *c) {
  for (size_t first = 0, end; first < c->row_count; first = end) {
    const char *op = c->rows[first].any->op;
    end = compare_op_end(c, first);
    if (!strcmp(op, "mixer_layer") || !strcmp(op, "mixer_scaling")) continue;
    fprintf(to, "<h2 id=\"op%zu\">", first);
    page_text(to, op);
    fputs("</h2>\n", to);
    write_charts(to, c, first, end);
    compare_page_table(to, c, first, end);
  }
  if (!c->row_count) fputs("<p>There are no results.</p>\n", to);
  return FILTRA_OK;
}
