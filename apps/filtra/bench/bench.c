/* filtra bench: measures what a device reaches, compares it with the device's peaks, and records
 * first losses. */
#include "bench.h"

#include "base/file.h"
#include "base/memory.h"
#include "common/options.h"
#include "nn/mixer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the plan ---- */

void bench_plan_add(bench_plan *plan, const bench_task *task) {
  if (!task->entry || FT_GROW(plan->tasks, plan->count, plan->capacity)) {
    plan->failed = true;
    json_decref(task->entry);
    return;
  }
  plan->tasks[plan->count++] = *task;
}

static void free_plan(bench_plan *plan) {
  for (size_t i = 0; i < plan->count; i++)
    json_decref(plan->tasks[i].entry);
  free(plan->tasks);
}

bool bench_precise(const bench_arguments *a, filtra_precision precision) {
  return command_listed(a->precisions, filtra_precision_name(precision));
}

/* Plans all tasks. Peaks are measured first, in between and last, since results are compared with
 * the highest ones. Products, train steps and inference are measured in each precision, everything
 * else in fp32. */
static filtra_status make_plan(bench *b, bench_plan *plan) {
  const bench_arguments *a = b->arguments;
  if (a->run) return bench_plan_serving(b, plan);
  bench_plan_peaks(b, plan, false);
  if (a->length_count) {
    bench_plan_layers(b, plan);
    return plan->failed ? ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory") : FILTRA_OK;
  }
  if (command_listed(a->ops, "gemm")) bench_plan_gemm(b, plan);
  const bool fp32 = bench_precise(a, FILTRA_PRECISION_FP32);
  if (fp32) bench_plan_ops(a, plan);
  if (a->ops && a->mixers) bench_plan_peaks(b, plan, true);
  if (fp32) bench_plan_layers(b, plan);
  bench_plan_steps(a, plan);
  if (fp32) bench_plan_losses(a, plan);
  bench_plan_peaks(b, plan, true);
  return plan->failed ? ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory") : FILTRA_OK;
}

/* ---- running tasks ---- */

/* Runs a task. UNSUPPORTED is a result; other failures do not stop the rest, and the last one is
 * returned. */
static filtra_status run_task(bench *b, const bench_task *task) {
  filtra_status status = task->run(b, task);
  if (status == FILTRA_ERROR_CANCELLED) return status;
  if (status) json_object_set_new(task->entry, "error", json_string(filtra_error_message()));
  bench_keep(b, task);
  if (!b->arguments->json) bench_show(task);
  return status == FILTRA_ERROR_UNSUPPORTED ? FILTRA_OK : status;
}

static filtra_status run_plan(bench *b, const bench_plan *plan, double start) {
  const double soon = 70.0; /* then call bench_hurry: --quick may take two minutes */
  filtra_status failed = FILTRA_OK;
  double weight = 0.0, done = 0.0;
  for (size_t i = 0; i < plan->count; i++)
    weight += plan->tasks[i].weight;
  for (size_t i = 0; i < plan->count; i++) {
    const bench_task *task = &plan->tasks[i];
    double seconds = ft_seconds() - start;
    if (b->arguments->quick && seconds > soon) bench_hurry();
    bench_show_progress(task, i, plan->count, done / weight, seconds);
    filtra_status status = run_task(b, task);
    bench_end_progress();
    if (status) failed = status;
    if (status == FILTRA_ERROR_CANCELLED || status == FILTRA_ERROR_DEVICE_LOST) break;
    done += task->weight;
  }
  return failed;
}

static double fraction_of(const json_t *entry) {
  return json_number_value(json_object_get(entry, "fraction_of_peak"));
}

/* Updates fractions by the final peaks, which may have risen since. */
static void settle(bench *b, double start) {
  size_t i;
  json_t *entry;
  double least = 1.0;
  json_array_foreach(b->results, i, entry) {
    const double before = fraction_of(entry);
    bench_set_fraction(b, entry);
    if (before > 0.0) least = fmin(least, fraction_of(entry) / before);
  }
  if (least < 1.0 && !b->arguments->json) bench_show_higher_peaks(least);
  json_object_set_new(b->document, "seconds", json_real(ft_seconds() - start));
}

/* *failed: the last failure of a task. */
static filtra_status measure(bench *b, filtra_status *failed) {
  bench_plan plan = {0};
  double start = ft_seconds();
  FT_TRY(filtra_device_open(&b->arguments->device, &b->device));
  filtra_status status = bench_document(b);
  if (!status) status = make_plan(b, &plan);
  if (!status) *failed = run_plan(b, &plan, start);
  if (*failed == FILTRA_ERROR_CANCELLED) status = *failed;
  if (!status) settle(b, start);
  free_plan(&plan);
  bench_served_close(&b->served);
  filtra_device_close(&b->device);
  return status;
}

/* ---- the command ---- */

static const char NAME[] = "filtra bench";

/* What bench_save's files begin with (bench_document). */
static const char *const HEADS[] = {"{\n  \"format\": \"filtra-bench-"};

filtra_status bench_save(const json_t *document, ft_atomic_file *file) {
  bool failed = json_dumpf(document, file->stream, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
  if (command_json_starved() || (failed && !ferror(file->stream))) {
    ft_atomic_abort(file);
    return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory: the results are not written");
  }
  fputc('\n', file->stream);
  return ft_atomic_commit(file);
}

filtra_status bench_quick(const filtra_device_options *device, const char *precisions,
                          json_t **document, filtra_status *failed) {
  const bench_arguments a = {.device = *device,
                             .ops = "all",
                             .mixers = "all",
                             .precisions = precisions,
                             .quick = true,
                             .json = true};
  bench b = {.arguments = &a};
  *failed = FILTRA_OK;
  filtra_status status = measure(&b, failed);
  if (status)
    json_decref(b.document);
  else
    *document = b.document;
  return status;
}

static int run_tasks(const bench_arguments *a) {
  bench b = {.arguments = a};
  filtra_status failed = FILTRA_OK;
  ft_atomic_file file;
  command_catch_interrupts();
  if (a->out) { /* fails now, not after minutes of measuring */
    filtra_status status = command_check_replaced("--out", a->out, HEADS, FT_COUNT(HEADS));
    if (!status) status = ft_atomic_open(a->out, &file);
    if (status) return command_fail(NAME, status);
  }
  filtra_status status = measure(&b, &failed);
  if (a->out && status)
    ft_atomic_abort(&file);
  else if (a->out)
    status = bench_save(b.document, &file);
  int code = COMMAND_DONE;
  if (status)
    code = command_fail(NAME, status);
  else if (a->json)
    code = command_print_json(NAME, json_incref(b.document));
  json_decref(b.document);
  if (code || !failed) return code;
  fprintf(stderr, "%s: not all could be measured; \"error\" says why\n", NAME);
  return failed == FILTRA_ERROR_DEVICE_LOST ? COMMAND_DEVICE_LOST : COMMAND_FAILED;
}

/* ---- the command line ---- */

static void print_help(void) {
  command_print(
      "Usage: filtra bench [OPTION]...\n"
      "Measures this device's peaks, then every op at the papers' shapes, one layer of every\n"
      "mixer at growing lengths, a train step and inference with each, and losses of a training.\n"
      "Times are those of the device's clock after a warm-up, and are held against the peaks.\n"
      "docs/benchmarks.md says what the file holds; filtra compare puts files side by side.\n\n"
      "  --ops LIST         only these ops, or all:\n"
      "                     ");
  bench_print_ops();
  command_print(
      "\n"
      "  --mixers LIST      only these mixers, or all. Where one of both is given, the other\n"
      "                     is left out\n"
      "  --precision LIST   of products, train steps, inference; fp32 (default), bf16, fp16 or\n"
      "                     all; all else is measured in fp32, if that is listed\n"
      "  --lengths LIST     nothing but a layer of each mixer at these lengths, such as\n"
      "                     1024,2048,4096: what filtra compare has growth and crossings from\n"
      "  --most-seconds S   of these, leave out those where a run would take longer, as estimated\n"
      "                     from shorter ones\n"
      "  --most-memory MIB  or more of the device's memory\n"
      "  --run RUN          nothing but how this run's model, or model file, answers: the time\n"
      "                     until all lengths are ready, single requests by length, a language\n"
      "                     model's next tokens\n"
      "  --threads N        of these, that send requests at once, after one alone; 4\n"
      "  --quick            small sizes and few runs: a minute or so even on a CPU\n"
      "  --out FILE         write the result as JSON\n"
      "  --json             print it instead of the table\n"
      "  --ranks            under mpirun: nothing but messages between the ranks\n%s",
      device_options_help);
}

static bool mixer_exists(const char *name) {
  return ft_mixer_find(name) != NULL;
}

static bool precision_exists(const char *name) {
  for (int p = 0; p < BENCH_PRECISIONS; p++)
    if (!strcmp(filtra_precision_name(p), name)) return true;
  return false;
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("ops", bench_arguments, ops),
    COMMAND_TEXT("mixers", bench_arguments, mixers),
    COMMAND_TEXT("precision", bench_arguments, precisions),
    COMMAND_TEXT("lengths", bench_arguments, lengths),
    COMMAND_REAL("most-seconds", bench_arguments, most_seconds, 0.001, 86400.0),
    COMMAND_NUMBER("most-memory", bench_arguments, most_memory, 1, 1 << 30),
    COMMAND_TEXT("run", bench_arguments, run),
    COMMAND_NUMBER("threads", bench_arguments, threads, 1, BENCH_THREADS),
    COMMAND_FLAG("quick", bench_arguments, quick),
    COMMAND_OUT(bench_arguments, out),
    COMMAND_FLAG("json", bench_arguments, json),
    COMMAND_FLAG("ranks", bench_arguments, ranks),
};

/* Checks combinations of options; returns -1, or the exit code for wrong usage. */
static int check_parts(const char *name, const bench_arguments *a) {
  bool bounded = a->most_seconds > 0.0f || a->most_memory;
  if (a->ranks && (a->ops || a->mixers || a->precisions || a->lengths || a->quick || a->out))
    return command_misused(name, "--ranks goes with --json alone");
  if (a->run && (a->ranks || a->ops || a->mixers || a->precisions || a->lengths))
    return command_misused(name, "--run goes with --threads, --quick, --out and --json alone");
  if (a->threads && !a->run) return command_misused(name, "--threads goes with --run");
  if (a->lengths && (a->ops || a->precisions))
    return command_misused(name, "--lengths is of layers in fp32: leave out --%s",
                           a->ops ? "ops" : "precision");
  if (bounded && !a->lengths)
    return command_misused(name, "--most-%s goes with --lengths",
                           a->most_memory ? "memory" : "seconds");
  return -1;
}

int run_bench(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true};
  bench_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  char unknown[COMMAND_LISTED];
  if (!command_all_known(a.ops, bench_op_exists, unknown))
    return command_misused(argv[0], "--ops: there is no op \"%s\"", unknown);
  if (!command_all_known(a.mixers, mixer_exists, unknown))
    return command_misused(argv[0], "--mixers: there is no mixer \"%s\"", unknown);
  if (!command_all_known(a.precisions, precision_exists, unknown))
    return command_misused(argv[0], "--precision: \"%s\" is none of fp32, bf16 and fp16", unknown);
  code = check_parts(argv[0], &a);
  if (code >= 0) return code;
  if (a.ranks) return bench_ranks(a.json);
  if (a.lengths && !bench_read_lengths(argv[0], &a)) return COMMAND_USAGE;
  if (a.lengths && !a.mixers) a.mixers = "all";
  if (!a.ops && !a.mixers) a.ops = a.mixers = "all";
  if (!a.precisions) a.precisions = "fp32";
  if (!bench_precise(&a, FILTRA_PRECISION_FP32) && !command_listed(a.ops, "gemm") && !a.mixers)
    return command_misused(argv[0], "--precision %s: of the ops, gemm alone is measured in 16 bits",
                           a.precisions);
  return run_tasks(&a);
}
