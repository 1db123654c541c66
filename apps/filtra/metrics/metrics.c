/* filtra metrics: a run's metrics as CSV or as TensorBoard's event file. */
#include "base/file.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/memory.h"
#include "base/stream.h"
#include "common/options.h"
#include "events.h"

#include <filtra/run.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_COLUMNS = 64, NAME_BYTES = 100 };

typedef struct metrics_arguments {
  const char *out, *run, *tensorboard;
} metrics_arguments;

/* The lines of metrics.jsonl, and the keys of their numbers: "step", then the others in order of
 * appearance. */
typedef struct metrics {
  json_t *lines; /* [object] */
  const char *columns[MOST_COLUMNS];
  size_t count;
} metrics;

static void print_help(void) {
  command_print(
      "Usage: filtra metrics RUN [OPTION]...\n"
      "Prints what a run logged as CSV: a row for each line of its metrics.jsonl, a column for\n"
      "each key; empty where a line has none.\n\n"
      "  --run DIR          the run folder, too\n"
      "  -o, --out FILE     write the CSV to a file\n"
      "  --tensorboard DIR  write an event file for TensorBoard into that folder instead, which "
      "it\n"
      "                     shows as one run: each run needs its own, such as tb/NAME\n");
}

/* ---- reading ---- */

static filtra_status add_columns(metrics *m, const json_t *line) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)line, key, value) {
    size_t i = 0;
    while (i < m->count && strcmp(m->columns[i], key) != 0)
      i++;
    if (i < m->count || !json_is_number(value)) continue;
    if (m->count == MOST_COLUMNS || strlen(key) > NAME_BYTES || strpbrk(key, ",\"\r\n"))
      return ft_fail(FILTRA_ERROR_INPUT, "the key \"%.40s\" is none that a run writes", key);
    m->columns[m->count++] = key; /* valid while the line is kept */
  }
  return FILTRA_OK;
}

static filtra_status add_line(metrics *m, const ft_lines *l) {
  json_t *line;
  FT_TRY(ft_json_parse(l->line, l->length, l->path, &line));
  if (!json_is_integer(json_object_get(line, "step"))) {
    json_decref(line);
    return ft_fail(FILTRA_ERROR_INPUT, "\"step\" is missing");
  }
  if (json_array_append_new(m->lines, line)) return FILTRA_ERROR_HOST_MEMORY;
  return add_columns(m, line);
}

/* Ignores an incomplete last line, which a run may be writing. */
static filtra_status read_lines(metrics *m, ft_lines *lines) {
  for (;;) {
    bool more, complete;
    FT_TRY(ft_lines_next(lines, &more));
    if (!more) return FILTRA_OK;
    complete = lines->length && lines->line[lines->length - 1] == '}';
    filtra_status status = complete ? add_line(m, lines) : FILTRA_OK;
    if (status)
      return ft_fail_context(status, "%s:%llu", lines->path, (unsigned long long)lines->number);
  }
}

static filtra_status read_metrics(const char *path, metrics *m) {
  ft_lines lines;
  m->lines = json_array();
  if (!m->lines) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  FT_TRY(ft_lines_open(path, &lines));
  filtra_status status = read_lines(m, &lines);
  ft_lines_close(&lines);
  return status;
}

/* ---- writing ---- */

static void write_csv(FILE *to, const metrics *m) {
  for (size_t k = 0; k < m->count; k++)
    fprintf(to, "%s%s", k ? "," : "", m->columns[k]);
  fputc('\n', to);
  size_t i;
  const json_t *line;
  json_array_foreach(m->lines, i, line) {
    for (size_t k = 0; k < m->count; k++) {
      const json_t *value = json_object_get(line, m->columns[k]);
      if (k) fputc(',', to);
      if (json_is_integer(value))
        fprintf(to, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
      else if (json_is_number(value))
        fprintf(to, "%.9g", json_number_value(value));
    }
    fputc('\n', to);
  }
}

/* Seconds that the steps from `before` to the line took. */
static double seconds_to(const json_t *line, json_int_t before) {
  const json_int_t step = json_integer_value(json_object_get(line, "step"));
  return json_number_value(json_object_get(line, "milliseconds")) / 1e3 * (double)(step - before);
}

/* Lines have no time of day: the last one gets `now`, earlier ones are placed by the duration of
 * the steps in between. */
static void write_events(FILE *to, const metrics *m, double now) {
  size_t i;
  const json_t *line;
  json_int_t step = 0;
  double time = now;
  json_array_foreach(m->lines, i, line) {
    time -= seconds_to(line, step);
    step = json_integer_value(json_object_get(line, "step"));
  }
  events_begin(to, time);
  step = 0;
  json_array_foreach(m->lines, i, line) {
    time += seconds_to(line, step);
    step = json_integer_value(json_object_get(line, "step"));
    for (size_t k = 0; k < m->count; k++) {
      const json_t *value = json_object_get(line, m->columns[k]);
      if (value && strcmp(m->columns[k], "step") != 0)
        events_scalar(to, time, step, m->columns[k], (float)json_number_value(value));
    }
  }
}

static filtra_status write_file(const char *path, const metrics *m) {
  ft_atomic_file file;
  FT_TRY(ft_atomic_open(path, &file));
  write_csv(file.stream, m);
  return ft_atomic_commit(&file);
}

/* Fails if there is a file that does not begin with the run's events. */
static filtra_status check_events(const char *path, const char *events, size_t size) {
  char old[EVENTS_HEAD_BYTES];
  size_t count;
  FILE *stream;
  if (!ft_file_size(path)) return FILTRA_OK;
  FT_TRY(ft_file_open(path, &stream));
  filtra_status status = ft_stream_read(stream, path, old, sizeof old, &count);
  fclose(stream);
  if (status || events_of_same_run(old, count, events, size)) return status;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "--tensorboard: %s is of another run or program; TensorBoard shows each folder as "
                 "a run: name another",
                 path);
}

/* TensorBoard recognises files by this part of their names; the run's own file is replaced. */
static filtra_status write_tensorboard(const char *folder, const metrics *m) {
  char *events = NULL;
  size_t size;
  FT_TRY(ft_make_directories(folder));
  FILE *to = ft_open_memstream(&events, &size);
  if (!to) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  write_events(to, m, (double)time(NULL));
  const bool failed = ferror(to), unfinished = fclose(to);
  char *path = ft_path_join(folder, "events.out.tfevents.1.filtra");
  filtra_status status = path ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (failed || unfinished) status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  if (!status) status = check_events(path, events, size);
  if (!status) status = ft_file_write(path, events, size);
  free(path);
  free(events);
  return status;
}

static filtra_status write(const metrics_arguments *a) {
  static const char *const heads[] = {"step,", "step\n"}; /* of write_csv */
  metrics m = {.columns = {"step"}, .count = 1};
  filtra_run *run;
  FT_TRY(command_check_replaced("--out", a->out, heads, FT_COUNT(heads)));
  FT_TRY(filtra_run_open(a->run, &run)); /* reports why the folder is not a run */
  filtra_run_close(&run);
  char *path = ft_path_join(a->run, FILTRA_RUN_METRICS);
  filtra_status status = path ? read_metrics(path, &m) : FILTRA_ERROR_HOST_MEMORY;
  if (!status && a->tensorboard)
    status = write_tensorboard(a->tensorboard, &m);
  else if (!status && a->out)
    status = write_file(a->out, &m);
  else if (!status)
    write_csv(command_results(), &m);
  json_decref(m.lines);
  free(path);
  return status;
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("run", metrics_arguments, run),
    COMMAND_OUT(metrics_arguments, out),
    COMMAND_TEXT("tensorboard", metrics_arguments, tensorboard),
};

int run_metrics(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help,
                                    .run = offsetof(metrics_arguments, run)};
  metrics_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (a.out && a.tensorboard)
    return command_misused(argv[0], "--out and --tensorboard exclude each other");
  filtra_status status = write(&a);
  return status ? command_fail(argv[0], status) : COMMAND_DONE;
}
