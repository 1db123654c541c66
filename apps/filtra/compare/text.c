/* Writes a comparison as Markdown, and formats texts that its page uses too. Called by compare.c
 * and page_*.c. */
#include "compare.h"

#include "common/page.h"

#include <math.h>
#include <string.h>

/* ---- machines ---- */

static void put(char out[COMPARE_TEXT], const char *text) {
  snprintf(out, COMPARE_TEXT, "%s", *text ? text : "–");
}

static void put_device(const compare_machine *m, char out[COMPARE_TEXT]) {
  put(out, m->device);
}

static void put_driver(const compare_machine *m, char out[COMPARE_TEXT]) {
  put(out, m->driver);
}

static void put_kind(const compare_machine *m, char out[COMPARE_TEXT]) {
  put(out, m->kind);
}

static void put_api(const compare_machine *m, char out[COMPARE_TEXT]) {
  put(out, m->api);
}

static void put_memory(const compare_machine *m, char out[COMPARE_TEXT]) {
  char number[NUMBER_TEXT];
  put(out, memory_text(m->memory, number));
}

static void put_subgroup(const compare_machine *m, char out[COMPARE_TEXT]) {
  char number[NUMBER_TEXT];
  put(out, number_text("%.0f", m->subgroup, number));
}

static void put_host(const compare_machine *m, char out[COMPARE_TEXT]) {
  char number[NUMBER_TEXT] = "";
  if (!isnan(m->cores))
    number_text(m->cores == 1.0 ? ", %.0f core" : ", %.0f cores", m->cores, number);
  snprintf(out, COMPARE_TEXT, "%s%s", *m->cpu ? m->cpu : "–", number);
}

static void put_system(const compare_machine *m, char out[COMPARE_TEXT]) {
  put(out, m->system);
}

static void put_program(const compare_machine *m, char out[COMPARE_TEXT]) {
  snprintf(out, COMPARE_TEXT, "%.500s, commit %.500s", m->version,
           *m->commit ? m->commit : "unknown");
}

static void put_date(const compare_machine *m, char out[COMPARE_TEXT]) {
  put(out, m->date);
}

static void put_sizes(const compare_machine *m, char out[COMPARE_TEXT]) {
  put(out, m->quick ? "--quick" : "full");
}

static void put_caps(const compare_machine *m, char out[COMPARE_TEXT]) {
  put(out, *m->caps ? m->caps : "none");
}

static void put_rate(double rate, const char *unit, char out[COMPARE_TEXT]) {
  char number[NUMBER_TEXT];
  if (isnan(rate))
    put(out, "");
  else
    snprintf(out, COMPARE_TEXT, "%s %s", rate_text(rate, number), unit);
}

static void put_fma(const compare_machine *m, char out[COMPARE_TEXT]) {
  put_rate(m->peak_gflops, "GFLOP/s", out);
}

static void put_matrices(const compare_machine *m, char out[COMPARE_TEXT]) {
  char bf16[NUMBER_TEXT], fp16[NUMBER_TEXT];
  if (isnan(m->peak_bf16) && isnan(m->peak_fp16))
    put(out, "");
  else
    snprintf(out, COMPARE_TEXT, "bf16 %s, fp16 %s GFLOP/s", rate_text(m->peak_bf16, bf16),
             rate_text(m->peak_fp16, fp16));
}

static void put_copy(const compare_machine *m, char out[COMPARE_TEXT]) {
  put_rate(m->peak_gbytes, "GB/s", out);
}

static void put_dispatch(const compare_machine *m, char out[COMPARE_TEXT]) {
  char number[NUMBER_TEXT];
  put(out, seconds_text(m->dispatch, number));
}

static void put_check(const compare_machine *m, char out[COMPARE_TEXT]) {
  if (isnan(m->golden_cases) || isnan(m->golden_passed))
    put(out, "");
  else
    snprintf(out, COMPARE_TEXT, "%.0f of %.0f pass", m->golden_passed, m->golden_cases);
}

static void put_file(const compare_machine *m, char out[COMPARE_TEXT]) {
  put(out, m->path);
}

static const struct {
  const char *name;
  void (*put)(const compare_machine *m, char out[COMPARE_TEXT]);
} PROPERTIES[] = {
    {"Device", put_device},
    {"Driver", put_driver},
    {"Class", put_kind},
    {"Vulkan", put_api},
    {"Memory", put_memory},
    {"Subgroup", put_subgroup},
    {"Multiply-adds, peak", put_fma},
    {"Matrix units, peak", put_matrices},
    {"Copies, peak", put_copy},
    {"Empty dispatch", put_dispatch},
    {"Host", put_host},
    {"System", put_system},
    {"Filtra", put_program},
    {"Measured at", put_date},
    {"Sizes", put_sizes},
    {"Caps override", put_caps},
    {"Golden cases", put_check},
    {"File", put_file},
};

const char *compare_property(size_t i, const compare_machine *m, char out[COMPARE_TEXT]) {
  if (i >= FT_COUNT(PROPERTIES)) return NULL;
  PROPERTIES[i].put(m, out);
  return PROPERTIES[i].name;
}

/* ---- cases ---- */

const char *compare_kind(const compare_entry *e, char out[COMPARE_TEXT]) {
  const char *const parts[] = {e->variant, e->precision, e->pass};
  int used = 0;
  *out = '\0';
  for (size_t i = 0; i < FT_COUNT(parts); i++)
    if (*parts[i])
      used += snprintf(out + used, (size_t)(COMPARE_TEXT - used), "%s%.380s", used ? ", " : "",
                       parts[i]);
  return out;
}

const char *compare_speed_text(double speed, char out[COMPARE_TEXT]) {
  int digits = speed >= 99.95 ? 0 : speed >= 9.995 ? 1 : 2;
  if (isnan(speed))
    put(out, "");
  else if (speed < 0.0995)
    snprintf(out, COMPARE_TEXT, "%.2g ×", speed);
  else
    snprintf(out, COMPARE_TEXT, "%.*f ×", digits, speed);
  return out;
}

const char *compare_lack(const compare_entry *e, char out[COMPARE_TEXT]) {
  if (e)
    snprintf(out, COMPARE_TEXT, "%s: %s", *e->error ? "failed" : "skipped",
             *e->error ? e->error : e->skipped);
  else
    put(out, "not in this file");
  return out;
}

const char *compare_verdict(const compare_agreement *a, size_t machine, char out[COMPARE_TEXT]) {
  const compare_deviation *d = &a->of[machine];
  if (!d->losses)
    put(out, "not in this file");
  else if (*d->losses->error)
    snprintf(out, COMPARE_TEXT, "failed: %s", d->losses->error);
  else if (*d->refused)
    snprintf(out, COMPARE_TEXT, "not compared: %s", d->refused);
  else if (machine == a->base)
    put(out, "what others are compared with");
  else
    put(out, d->equal ? "bitwise equal" : "differs");
  return out;
}

/* ---- Markdown ---- */

/* Writes a cell, except the first of a row. */
static void cell(FILE *to, const char *text) {
  fputs(" | ", to);
  markdown_text(to, text);
}

static void end_head(FILE *to, size_t columns) {
  fputs(" |\n|---", to);
  for (size_t k = 1; k < columns; k++)
    fputs("|---:", to);
  fputs("|\n", to);
}

static void write_machines(FILE *to, const comparison *c) {
  char text[COMPARE_TEXT];
  const char *name;
  fputs("| Machine", to);
  for (size_t k = 0; k < c->machine_count; k++)
    cell(to, c->machines[k].label);
  end_head(to, c->machine_count + 1);
  for (size_t i = 0; (name = compare_property(i, &c->machines[0], text)); i++) {
    fprintf(to, "| %s", name);
    for (size_t k = 0; k < c->machine_count; k++) {
      compare_property(i, &c->machines[k], text);
      cell(to, text);
    }
    fputs(" |\n", to);
  }
  for (size_t i = 0; i < c->warning_count; i++) {
    fputs("\n**Beware:** ", to);
    markdown_text(to, c->warnings[i]);
    fputc('\n', to);
  }
}

/* Writes a case's time; for a layer's growth, its exponents. */
static void write_measured(FILE *to, const compare_entry *e) {
  char text[COMPARE_TEXT], time[NUMBER_TEXT], memory[NUMBER_TEXT];
  if (!compare_measured(e))
    cell(to, compare_lack(e, text));
  else if (isnan(e->median)) {
    snprintf(text, sizeof text, "time n^%s, memory n^%s",
             number_text("%.2f", e->time_exponent, time),
             number_text("%.2f", e->memory_exponent, memory));
    cell(to, text);
  } else
    cell(to, seconds_text(e->median / e->sequences, time));
}

static void write_row(FILE *to, const comparison *c, const compare_row *row) {
  char text[COMPARE_TEXT];
  fputs("| ", to);
  markdown_text(to, row->name);
  if (*compare_kind(row->any, text)) {
    fputs(" (", to);
    markdown_text(to, text);
    fputs(")", to);
  }
  for (size_t k = 0; k < c->machine_count; k++) {
    write_measured(to, row->cells[k]);
    if (k) cell(to, compare_speed_text(compare_speed(row, k), text));
  }
  fputs(" |\n", to);
}

static void write_ops(FILE *to, const comparison *c) {
  for (size_t first = 0, end; first < c->row_count; first = end) {
    end = compare_op_end(c, first);
    fputs("\n## ", to);
    markdown_text(to, c->rows[first].any->op);
    fputs("\n\n| Case", to);
    for (size_t k = 0; k < c->machine_count; k++) {
      cell(to, c->machines[k].label);
      if (k) fprintf(to, " | %c over A", (char)('A' + k));
    }
    end_head(to, 2 * c->machine_count);
    for (size_t i = first; i < end; i++)
      write_row(to, c, &c->rows[i]);
  }
}

static void write_crossings(FILE *to, const comparison *c) {
  char text[COMPARE_TEXT];
  size_t first = compare_next_rival(c, 0);
  if (first == c->row_count) return;
  fputs("\n## Lengths from which a mixer's layer takes less than softmax's\n\n| Mixer", to);
  for (size_t k = 0; k < c->machine_count; k++) {
    cell(to, c->machines[k].label);
    fputs(": time | memory", to);
  }
  end_head(to, 2 * c->machine_count + 1);
  for (; first < c->row_count; first = compare_next_rival(c, compare_mixer_end(c, first))) {
    fputs("| ", to);
    markdown_text(to, c->rows[first].any->mixer);
    for (size_t k = 0; k < 2 * c->machine_count; k++) {
      compare_crossing x = compare_cross(c, first, k / 2, k % 2);
      cell(to, compare_crossing_text(&x, text));
    }
    fputs(" |\n", to);
  }
}

static void write_agreement(FILE *to, const comparison *c, const compare_agreement *a) {
  char text[COMPARE_TEXT], number[NUMBER_TEXT];
  for (size_t k = 0; k < c->machine_count; k++) {
    const compare_deviation *d = &a->of[k];
    bool has = compare_has_losses(a, k), differs = has && !d->equal;
    if (has && k == a->base && c->machine_count > 1) continue;
    fputs("| ", to);
    markdown_text(to, a->mixer);
    cell(to, c->machines[k].label);
    cell(to, compare_verdict(a, k, text));
    cell(to, d->steps ? number_text("%.0f", (double)d->steps, number) : "");
    cell(to, differs ? number_text("%.3g", d->absolute, number) : "");
    cell(to, differs ? number_text("%.0f", (double)d->absolute_step, number) : "");
    cell(to, differs ? number_text("%.3g", d->relative, number) : "");
    cell(to, differs ? number_text("%.0f", (double)d->relative_step, number) : "");
    fputs(" |\n", to);
  }
}

void compare_write_markdown(FILE *to, const comparison *c) {
  write_machines(to, c);
  write_ops(to, c);
  write_crossings(to, c);
  if (!c->row_count) fputs("\nNo results.\n", to);
  if (!c->agreement_count) return;
  fputs("\n## Losses of the same training run\n\n| Mixer | Machine | Result | Steps | Largest "
        "difference | at step | Largest relative | at step",
        to);
  end_head(to, 8);
  for (size_t i = 0; i < c->agreement_count; i++)
    write_agreement(to, c, &c->agreements[i]);
}
