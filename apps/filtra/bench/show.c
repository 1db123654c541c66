/* Prints a benchmark's results as a growing table, and the current task below it. Called by
 * bench.c. */
#include "bench.h"

#include "common/system.h"

#include <stdio.h>
#include <string.h>

static const char *text(const json_t *entry, const char *key) {
  const char *value = json_string_value(json_object_get(entry, key));
  return value ? value : "";
}

static double number(const json_t *entry, const char *key) {
  return json_number_value(json_object_get(entry, key));
}

static bool has(const json_t *entry, const char *key) {
  return json_object_get(entry, key) != NULL;
}

/* ---- the current task ---- */

static bool line_shown;

static void clear_line(void) {
  if (line_shown) system_clear_line();
  line_shown = false;
}

static const char *name_of(const bench_task *task) {
  if (task->part == BENCH_PEAK) return task->what;
  return text(task->entry, task->part == BENCH_LOSSES ? "mixer" : "case");
}

void bench_show_progress(const bench_task *task, size_t index, size_t count, double done,
                         double seconds) {
  char line[256], left[32] = "-";
  if (!command_rewrites_line()) return;
  long remaining = done > 0.0 ? (long)(seconds / done * (1.0 - done) + 0.5) : 0;
  if (done > 0.02) snprintf(left, sizeof left, "%ld:%02ld", remaining / 60, remaining % 60);
  snprintf(line, sizeof line, "%zu/%zu  ETA %s  %s %s %s", index + 1, count, left,
           task->part == BENCH_LOSSES ? "losses" : text(task->entry, "op"), name_of(task),
           text(task->entry, "variant"));
  system_clear_line();
  fprintf(stderr, "%.*s", system_columns() - 1, line);
  fflush(stderr);
  line_shown = true;
}

void bench_end_progress(void) {
  clear_line();
  fflush(stderr);
}

/* ---- the table ---- */

enum { LABEL = 47 };

static void show_peak(const bench_task *task) {
  static const char MATRIX[] = "matrix_"; /* the precision follows */
  const json_t *e = task->entry;
  const char *name = task->what, *variant = text(e, "variant");
  if (!strcmp(name, "fma"))
    command_print("  multiply-adds%33.1f GFLOP/s   median %.1f (%s)\n", number(e, "gflops"),
                  number(e, "gflops_median"), variant);
  else if (!strncmp(name, MATRIX, strlen(MATRIX)))
    command_print("  matrix units, %s%28.1f GFLOP/s   median %.1f (%s of %s)\n",
                  name + strlen(MATRIX), number(e, "gflops"), number(e, "gflops_median"), variant,
                  text(e, "shape"));
  else if (!strcmp(name, "copy"))
    command_print("  copies, read and written%22.2f GB/s      median %.2f (%s)\n",
                  number(e, "gbytes_per_second"), number(e, "gbytes_per_second_median"), variant);
  else
    command_print("  an empty dispatch and waiting for it%10.1f us        median %.1f\n",
                  1e6 * number(e, "seconds_best"), 1e6 * number(e, "seconds_median"));
}

static void show_losses(const json_t *e) {
  const json_t *values = json_object_get(e, "values");
  size_t count = json_array_size(values);
  if (!count) return;
  command_print("  %-*s %.6f after one step, %.6f after %zu\n", LABEL - 24, text(e, "mixer"),
                json_number_value(json_array_get(values, 0)),
                json_number_value(json_array_get(values, count - 1)), count);
}

static void show_scaling(const json_t *e) {
  command_print("  %-*s time as n^%.2f, memory as n^%.2f\n", LABEL, text(e, "case"),
                number(e, "time_exponent"), number(e, "memory_exponent"));
}

/* Makes a label such as "case, variant, bf16, +grad" that fits the column. */
static void label_of(const json_t *e, char label[128]) {
  const char *variant = text(e, "variant"), *precision = text(e, "precision");
  if (!strcmp(precision, "fp32")) precision = "";
  bool gradients =
      !strcmp(text(e, "pass"), "forward+backward") && strcmp(text(e, "op"), "train_step");
  snprintf(label, 128, "%s%s%s%s%s%s", text(e, "case"), *variant ? ", " : "", variant,
           *precision ? ", " : "", precision, gradients ? ", +grad" : "");
}

static void show_result(const json_t *e) {
  char label[128], fraction[16] = "-";
  label_of(e, label);
  double median = number(e, "seconds_median");
  double spread =
      median > 0.0 ? (number(e, "seconds_worst") - number(e, "seconds_best")) / median : 0;
  if (has(e, "fraction_of_peak"))
    snprintf(fraction, sizeof fraction, "%.1f%%", 100.0 * number(e, "fraction_of_peak"));
  command_print("  %-*.*s %9.3f %5.0f%% %8.2f %7.2f %6s %8.1f\n", LABEL, LABEL, label, 1e3 * median,
                100.0 * spread, number(e, "gflops"), number(e, "gbytes_per_second"), fraction,
                number(e, "memory_bytes") / (1 << 20));
}

static void show_serving(const json_t *e) {
  char last[32] = "";
  const double p99 = number(e, "seconds_p99");
  const double rate = number(e, "samples_per_second") + number(e, "tokens_per_second");
  if (p99 > 0.0) snprintf(last, sizeof last, "%9.3f", 1e3 * p99);
  command_print("  %-*.*s %9.3f %9s", LABEL, LABEL, text(e, "case"),
                1e3 * number(e, "seconds_median"), last);
  if (rate > 0.0) command_print(" %10.1f", rate);
  command_print("\n");
}

static bool is_serving(const char *op) {
  return !strcmp(op, "start") || !strcmp(op, "request") || !strcmp(op, "next_token");
}

/* Prints a headline before the first row of a kind. */
static void show_headline(const bench_task *task) {
  static char shown[64];
  const char *op = task->part == BENCH_PEAK
                       ? (task->number ? "Peaks again" : "Peaks of this device")
                   : task->part == BENCH_LOSSES ? "Losses of the same short training"
                                                : text(task->entry, "op");
  if (!strcmp(op, "mixer_scaling") || !strcmp(shown, op)) return;
  snprintf(shown, sizeof shown, "%s", op);
  if (is_serving(op))
    command_print("\n%-*s %9s %9s %10s\n", LABEL + 2, op, "median ms", "p99 ms", "a second");
  else if (task->part == BENCH_RESULT)
    command_print("\n%-*s %9s %6s %8s %7s %6s %8s\n", LABEL + 2, op, "median ms", "spread",
                  "GFLOP/s", "GB/s", "of peak", "MiB");
  else
    command_print("%s%s\n", task->part == BENCH_PEAK && !task->number ? "" : "\n", op);
}

void bench_show_higher_peaks(double least) {
  command_print("\nMeasured again, peaks were higher: \"of peak\" is up to %.2g %% lower by these, "
                "which are the file's.\n",
                100.0 * (1.0 - least));
}

void bench_show(const bench_task *task) {
  const json_t *e = task->entry;
  clear_line();
  show_headline(task);
  if (has(e, "error"))
    command_print("  %s %s: %s\n", name_of(task), text(e, "variant"), text(e, "error"));
  else if (has(e, "skipped"))
    command_print("  %s: skipped: %s\n", name_of(task), text(e, "skipped"));
  else if (task->part == BENCH_PEAK)
    show_peak(task);
  else if (task->part == BENCH_LOSSES)
    show_losses(e);
  else if (!strcmp(text(e, "op"), "mixer_scaling"))
    show_scaling(e);
  else if (is_serving(text(e, "op")))
    show_serving(e);
  else
    show_result(e);
  fflush(command_results());
}
