/* metrics.jsonl: lines for steps and evaluations, and the speed over the last steps. Called by
 * train/run.c. */
#include "train/metrics.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "train/measures.h"
#include "train/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64 }; /* steps over which speed is measured */

struct ft_metrics {
  char *path;
  FILE *file;
  uint64_t steps, tokens; /* since opening */
  double time[WINDOW];
  uint64_t tokens_then[WINDOW];
  double exchange, hidden; /* seconds spent exchanging messages since the last line */
  uint64_t exchanges;      /* steps since the last line */
};

filtra_status ft_metrics_open(const char *folder, ft_metrics **out) {
  ft_metrics *m = ft_calloc(1, sizeof *m);
  *out = m;
  if (!m) return FILTRA_ERROR_HOST_MEMORY;
  m->path = ft_path_join(folder, FILTRA_RUN_METRICS);
  if (!m->path) return FILTRA_ERROR_HOST_MEMORY;
  return ft_append_open_in(folder, m->path, &m->file);
}

void ft_metrics_close(ft_metrics **metrics) {
  ft_metrics *m = *metrics;
  if (!m) return;
  if (m->file) fclose(m->file);
  free(m->path);
  free(m);
  *metrics = NULL;
}

filtra_status ft_metrics_sync(ft_metrics *m) {
  if (!m) return FILTRA_OK;
  return ft_append_sync(m->file, m->path);
}

filtra_status ft_metrics_check(const ft_metrics *m, const filtra_run_progress *p, uint64_t every) {
  const bool logged = p->step >= every || p->best_step;
  if (!m || !logged || ft_file_size(m->path)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: is missing or empty, the log of the %llu steps so far; bring it back, or "
                 "resume with allow_changes (--allow-changes) to log the next ones alone",
                 m->path, (unsigned long long)p->step);
}

/* Length in bytes of the leading lines that are complete and belong to steps up to `step`. */
static uint64_t lines_until(const char *text, uint64_t step) {
  static const char BEGINNING[] = "{\"step\":"; /* must match write_line */
  const char *line = text;
  for (const char *end; (end = strchr(line, '\n')); line = end + 1)
    if (strncmp(line, BEGINNING, sizeof BEGINNING - 1) ||
        strtoull(line + sizeof BEGINNING - 1, NULL, 10) > step)
      break;
  return (uint64_t)(line - text);
}

filtra_status ft_metrics_rewind(ft_metrics *m, uint64_t step) {
  if (!m) return FILTRA_OK;
  char *text;
  size_t size;
  FT_TRY(ft_file_read(m->path, UINT64_MAX, &text, &size));
  uint64_t keep = lines_until(text, step);
  free(text);
  return ft_append_cut(m->file, m->path, keep);
}

void ft_metrics_count(ft_metrics *m, const filtra_batch *batch, int64_t patch) {
  if (!m) return;
  const uint64_t joined = patch ? (uint64_t)(patch * patch) : 1; /* pixels of a token */
  uint32_t sequences = batch->sequences ? batch->sequences : 1;
  for (uint32_t s = 0; s < sequences; s++)
    for (uint32_t i = 0; i < batch->count; i++)
      m->tokens += (uint64_t)batch->lengths[s * batch->size + i] / joined;
  m->time[m->steps % WINDOW] = ft_seconds();
  m->tokens_then[m->steps % WINDOW] = m->tokens;
  m->steps++;
}

void ft_metrics_speed(const ft_metrics *m, filtra_run_progress *p) {
  if (!m) return;
  if (m->steps < 3) return; /* the first step is still warming up */
  uint64_t newest = (m->steps - 1) % WINDOW;
  uint64_t oldest = m->steps > WINDOW ? m->steps % WINDOW : 1;
  uint64_t steps = m->steps > WINDOW ? WINDOW - 1 : m->steps - 2;
  double seconds = m->time[newest] - m->time[oldest];
  if (seconds <= 0.0) return;
  p->tokens_per_second = (double)(m->tokens_then[newest] - m->tokens_then[oldest]) / seconds;
  p->milliseconds = 1e3 * seconds / (double)steps;
  p->seconds_left = seconds / (double)steps * (double)(p->steps - p->step);
}

void ft_recent_add(ft_recent *r, filtra_run_progress *p) {
  r->steps[r->count++ % FT_RECENT_STEPS] = p->last;
  const uint64_t count = r->count < FT_RECENT_STEPS ? r->count : FT_RECENT_STEPS;
  p->loss = p->accuracy = p->absolute_error = 0.0;
  for (uint64_t i = 0; i < count; i++) {
    p->loss += (double)r->steps[i].loss / (double)count;
    p->accuracy += (double)r->steps[i].accuracy / (double)count;
    p->absolute_error += (double)r->steps[i].absolute_error / (double)count;
  }
}

/* Writes and releases the object; NULL: it could not be allocated. */
static filtra_status write_line(ft_metrics *m, json_t *object) {
  char *line = ft_json_line(object, JSON_COMPACT | JSON_REAL_PRECISION(9));
  if (!line) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_append_write(m->file, m->path, line, strlen(line));
  free(line);
  return status;
}

static double rounded(double value) {
  return ft_shortest((float)value);
}

/* The task's measure besides the loss; `prefix` is for keys of validation. */
static json_t *score(const char *prefix, filtra_task task, double loss, double accuracy,
                     double absolute_error) {
  char key[64], more[64];
  bool regression = task == FILTRA_TASK_REGRESSION;
  snprintf(key, sizeof key, "%s%s", prefix, regression ? "mae" : "accuracy");
  snprintf(more, sizeof more, "%sperplexity", prefix);
  double value = rounded(regression ? absolute_error : accuracy);
  if (task != FILTRA_TASK_LANGUAGE_MODEL) return json_pack("{sf}", key, value);
  return json_pack("{sf sf}", key, value, more, rounded(ft_perplexity(loss)));
}

/* Loss scale and skipped steps; empty without loss scaling. */
static json_t *scaling(const filtra_trainer_metrics *s) {
  if (s->loss_scale == 0.0f) return json_object();
  json_t *object =
      json_pack("{sf sI}", "loss_scale", rounded(s->loss_scale), "skipped", (json_int_t)s->skipped);
  if (!s->skipped) return object;
  return ft_json_join(object, json_pack("{sI}", "skipped_step", (json_int_t)s->skipped_step));
}

/* Times of messages, with several ranks; empty with one process. */
static json_t *take_exchange(ft_metrics *m) {
  if (m->exchange <= 0.0) return json_object();
  json_t *object = json_pack("{sf sf}", "exchange_milliseconds",
                             rounded(1e3 * m->exchange / (double)m->exchanges), "exchange_hidden",
                             rounded(m->hidden / m->exchange));
  m->exchange = m->hidden = 0.0;
  m->exchanges = 0;
  return object;
}

filtra_status ft_metrics_step(ft_metrics *m, const filtra_run_progress *p, uint64_t every) {
  if (!m) return FILTRA_OK;
  const filtra_trainer_metrics *s = &p->last;
  m->exchange += (double)s->exchange_seconds;
  m->hidden += (double)s->hidden_seconds;
  m->exchanges++;
  if (s->step % every) return FILTRA_OK;
  json_t *object = json_pack("{sI sf sf}", "step", (json_int_t)s->step, "epoch", rounded(p->epoch),
                             "loss", rounded(s->loss));
  object = ft_json_join(object, score("", p->task, s->loss, s->accuracy, s->absolute_error));
  json_t *rest = json_pack("{sf sf sf sf sI}", "learning_rate", rounded(s->learning_rate),
                           "grad_norm", rounded(s->gradient_norm), "tokens_per_second",
                           rounded(p->tokens_per_second), "milliseconds", rounded(p->milliseconds),
                           "device_memory_bytes", (json_int_t)p->device_memory_bytes);
  rest = ft_json_join(rest, scaling(s));
  return write_line(m, ft_json_join(ft_json_join(object, rest), take_exchange(m)));
}

filtra_status ft_metrics_validation(ft_metrics *m, const filtra_run_progress *p) {
  if (!m) return FILTRA_OK;
  json_t *object = json_pack("{sI sf sf}", "step", (json_int_t)p->step, "epoch", rounded(p->epoch),
                             "validation_loss", rounded(p->validation_loss));
  if (p->validation_top5_accuracy >= 0.0)
    object = ft_json_join(object, json_pack("{sf}", "validation_top5_accuracy",
                                            rounded(p->validation_top5_accuracy)));
  object = ft_json_join(object, score("validation_", p->task, p->validation_loss,
                                      p->validation_accuracy, p->validation_absolute_error));
  return write_line(m, ft_json_join(object, ft_measures_write("validation_", p->validation)));
}
