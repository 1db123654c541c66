/* Times how a run's model answers: until it is ready, single requests of several threads by length,
 * and a language model's next tokens. All by the host's clock, through the public interfaces that
 * programs use (filtra bench --run). */
#include "bench.h"

#include "base/lengths.h"
#include "base/memory.h"
#include "base/thread.h"
#include "model/model.h"
#include "train/batcher.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ANSWERS = 400, MOST_ANSWERS_QUICK = 20, NEW_TOKENS = 64 };

struct bench_served {
  filtra_run *run; /* NULL: a model file */
  filtra_predictor *predictor;
  const filtra_predictor_info *info;
  filtra_model *model; /* of a language model */
  bool pixels;
  double seconds; /* until the predictor was ready */
};

void bench_served_close(struct bench_served **served) {
  struct bench_served *s = *served;
  if (!s) return;
  filtra_model_destroy(&s->model);
  filtra_predictor_destroy(&s->predictor);
  filtra_run_close(&s->run);
  free(s);
  *served = NULL;
}

/* ---- one request ---- */

/* What requests hold: their content does not matter for time, their length does. */
typedef struct content {
  filtra_request request;
  int32_t *tokens;
  float *series;
  uint8_t *pixels;
  char *text;
} content;

static void free_content(content *c) {
  free(c->tokens);
  free(c->series);
  free(c->pixels);
  free(c->text);
}

/* A molecule of `length` atoms of carbon, tokens, numbers, or pixels. */
static filtra_status make_content(const struct bench_served *s, uint32_t length, content *c) {
  const filtra_predictor_info *info = s->info;
  const size_t numbers = (size_t)length * (size_t)(info->features ? info->features : 1);
  *c = (content){.request = {.length = length}};
  if (info->pairs)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "requests of models that read pairs are not timed");
  if (info->tokenizer && !strcmp(filtra_tokenizer_name(info->tokenizer), "smiles")) {
    c->request.text = c->text = ft_calloc(length, 1);
    c->request.text_length = length;
    if (c->text) memset(c->text, 'C', length);
  } else if (!info->features) {
    c->request.tokens = c->tokens = ft_calloc(length, sizeof *c->tokens);
    for (size_t i = 0; c->tokens && i < length; i++)
      c->tokens[i] = 1;
  } else if (s->pixels) {
    c->request.pixels = c->pixels = ft_calloc(numbers, 1);
    c->request.channels = (uint32_t)info->features;
  } else {
    c->request.series = c->series = ft_calloc(numbers, sizeof *c->series);
  }
  return c->text || c->tokens || c->pixels || c->series ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status answer(const struct bench_served *s, const content *c) {
  filtra_prediction made;
  return filtra_predictor_predict(s->predictor, 1, &c->request, &made);
}

/* ---- requests of several threads ---- */

typedef struct clients {
  const struct bench_served *served;
  content content;
  ft_mutex mutex;
  double seconds[MOST_ANSWERS], end;
  size_t most, asked, answered;
  filtra_status status; /* the first failure, with its message */
  char *message;
} clients;

/* Takes part in the requests until there are enough; the next follows the last one's answer. */
static void *be_client(void *argument) {
  clients *c = argument;
  for (;;) {
    ft_lock(&c->mutex);
    const bool enough = c->status || command_interrupted() || c->asked == c->most ||
                        (c->asked && ft_seconds() > c->end);
    c->asked += !enough;
    ft_unlock(&c->mutex);
    if (enough) return NULL;
    const double start = ft_seconds();
    const filtra_status status = answer(c->served, &c->content);
    const double seconds = ft_seconds() - start;
    ft_lock(&c->mutex);
    if (!status) {
      c->seconds[c->answered++] = seconds;
    } else if (!c->status) {
      c->status = status;
      c->message = ft_strdup(filtra_error_message());
    }
    ft_unlock(&c->mutex);
  }
}

static void add_requests(clients *c, double whole, json_t *entry) {
  bench_timing t;
  bench_sort(c->seconds, c->answered, &t);
  bench_add_timing(entry, &t);
  const size_t rank = (c->answered * 99 + 99) / 100; /* the nearest rank */
  json_object_set_new(entry, "seconds_p99", json_real(c->seconds[rank - 1]));
  json_object_set_new(entry, "samples_per_second", json_real((double)c->answered / whole));
}

static filtra_status run_clients(clients *c, unsigned threads, bool quick, json_t *entry) {
  const double longest = quick ? 10.0 : 20.0;
  ft_thread others[BENCH_THREADS];
  FT_TRY(answer(c->served, &c->content)); /* warms up */
  c->most = quick ? MOST_ANSWERS_QUICK : MOST_ANSWERS;
  const double start = ft_seconds();
  c->end = start + longest;
  const unsigned started = ft_threads_start(others, threads - 1, be_client, c);
  be_client(c);
  ft_threads_join(others, started);
  if (command_interrupted()) return ft_fail(FILTRA_ERROR_CANCELLED, "interrupted");
  if (c->status) return ft_fail(c->status, "%s", c->message ? c->message : "out of host memory");
  if (started + 1 < threads)
    return ft_fail(FILTRA_ERROR_HOST_MEMORY, "only %u of %u threads could start", started + 1,
                   threads);
  add_requests(c, ft_seconds() - start, entry);
  return FILTRA_OK;
}

static filtra_status time_requests(bench *b, const bench_task *task) {
  clients *c = ft_calloc(1, sizeof *c);
  if (!c) return FILTRA_ERROR_HOST_MEMORY;
  c->served = b->served;
  ft_mutex_make(&c->mutex);
  filtra_status status = make_content(b->served, (uint32_t)task->number, &c->content);
  const unsigned threads = (unsigned)json_integer_value(json_object_get(task->entry, "threads"));
  if (!status) status = run_clients(c, threads, b->arguments->quick, task->entry);
  ft_mutex_free(&c->mutex);
  free_content(&c->content);
  free(c->message);
  free(c);
  return status;
}

/* ---- tokens of a language model ---- */

/* Feeds the prompt and then single tokens, each of which waits for its logits. */
static filtra_status feed(filtra_generator *g, const int32_t *tokens, size_t prompt, float *logits,
                          double seconds[NEW_TOKENS]) {
  FT_TRY(filtra_generator_feed(g, tokens, prompt, logits));
  for (size_t i = 0; i < NEW_TOKENS; i++) {
    if (command_interrupted()) return ft_fail(FILTRA_ERROR_CANCELLED, "interrupted");
    const double start = ft_seconds();
    FT_TRY(filtra_generator_feed(g, tokens + prompt + i, 1, logits));
    seconds[i] = ft_seconds() - start;
  }
  return FILTRA_OK;
}

/* The first token's graph is compiled when it is first fed: the second pass is timed. */
static filtra_status time_tokens(bench *b, const bench_task *task) {
  const size_t prompt = (size_t)task->number;
  double seconds[NEW_TOKENS];
  filtra_generator *g = NULL;
  filtra_model *model = b->served->model;
  int32_t *tokens = ft_calloc(prompt + NEW_TOKENS, sizeof *tokens);
  float *logits = ft_calloc((size_t)filtra_model_outputs(model), sizeof *logits);
  filtra_status status = tokens && logits ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; tokens && i < prompt + NEW_TOKENS; i++)
    tokens[i] = 1;
  if (!status) status = filtra_generator_create(model, NULL, &g);
  if (!status) status = feed(g, tokens, prompt, logits, seconds);
  if (!status) filtra_generator_reset(g);
  if (!status) status = feed(g, tokens, prompt, logits, seconds);
  filtra_generator_destroy(&g);
  free(tokens);
  free(logits);
  if (status) return status;
  bench_timing t;
  bench_sort(seconds, NEW_TOKENS, &t);
  bench_add_timing(task->entry, &t);
  json_object_set_new(task->entry, "tokens_per_second", json_real(1.0 / t.median));
  return FILTRA_OK;
}

/* Why a language model has no room for the tokens. */
static filtra_status skip_tokens(bench *b, const bench_task *task) {
  return bench_skip(task->entry, "%d tokens are timed after at least one, max_length is %lld",
                    NEW_TOKENS, (long long)b->served->info->max_length);
}

/* ---- the plan ---- */

/* What decides how long an answer takes. */
static json_t *describe_model(filtra_predictor *predictor) {
  static const char *const KEYS[] = {"task",       "block",     "mixer",      "layers",   "width",
                                     "heads",      "ffn_width", "vocabulary", "features", "classes",
                                     "max_length", "patch",     "precision"};
  filtra_model *model = ft_predictor_batcher(predictor)->reader->model;
  json_t *all = ft_model_options_write(&model->options), *object = json_object();
  for (size_t i = 0; i < FT_COUNT(KEYS); i++)
    json_object_set(object, KEYS[i], json_object_get(all, KEYS[i]));
  const uint64_t count = filtra_parameters_scalars(filtra_model_parameters(model));
  json_object_set_new(object, "parameters", json_integer((json_int_t)count));
  json_decref(all);
  return object;
}

static filtra_status open_run(struct bench_served *s, filtra_device *device, const char *path) {
  const filtra_predictor_options all = {.prepare_all = true};
  const double start = ft_seconds();
  const bool file = ft_file_exists(path) && !ft_is_directory(path);
  if (!file) FT_TRY(filtra_run_open(path, &s->run));
  FT_TRY(file ? filtra_predictor_create(device, path, &all, &s->predictor)
              : filtra_run_create_predictor(s->run, device, &all, &s->predictor));
  s->seconds = ft_seconds() - start;
  s->info = filtra_predictor_get_info(s->predictor);
  if (s->info->task != FILTRA_TASK_LANGUAGE_MODEL) return FILTRA_OK;
  return file ? filtra_model_load(device, path, &s->model)
              : filtra_run_load_model(s->run, device, &s->model);
}

static filtra_status report_start(bench *b, const bench_task *task) {
  const double seconds = b->served->seconds;
  bench_add_timing(
      task->entry,
      &(bench_timing){.best = seconds, .median = seconds, .worst = seconds, .runs = 1});
  return FILTRA_OK;
}

/* Whether the model reads images, whose pixels are bytes; a request of numbers then fails. */
static bool reads_pixels(const struct bench_served *s) {
  content c;
  bool pixels = false;
  if (!s->info->features) return false;
  if (!make_content(s, (uint32_t)s->info->max_length, &c))
    pixels =
        answer(s, &c) == FILTRA_ERROR_INPUT && (s->info->features == 1 || s->info->features == 3);
  free_content(&c);
  return pixels;
}

static void plan_requests(const struct bench_served *s, bench_plan *plan, uint32_t length,
                          uint32_t threads) {
  char name[64];
  const char *unit = s->pixels ? "pixels" : s->info->features ? "steps" : "tokens";
  snprintf(name, sizeof name, "%u %s, %u thread%s", length, unit, threads, threads > 1 ? "s" : "");
  json_t *entry = json_pack("{ss ss ss si si si}", "op", "request", "case", name, "pass", "forward",
                            "batch", 1, "length", (int)length, "threads", (int)threads);
  bench_plan_add(plan, &(bench_task){.entry = entry,
                                     .part = BENCH_RESULT,
                                     .run = time_requests,
                                     .number = length,
                                     .weight = 1.0 + length / 64.0});
}

static void plan_tokens(bench_plan *plan, int64_t most) {
  char name[64];
  const int64_t prompt = most - NEW_TOKENS;
  if (prompt > 0)
    snprintf(name, sizeof name, "after %lld tokens", (long long)prompt);
  else
    snprintf(name, sizeof name, "%d tokens", NEW_TOKENS);
  json_t *entry = json_pack("{ss ss ss si sI}", "op", "next_token", "case", name, "pass", "forward",
                            "batch", 1, "length", (json_int_t)most);
  bench_plan_add(plan, &(bench_task){.entry = entry,
                                     .part = BENCH_RESULT,
                                     .run = prompt > 0 ? time_tokens : skip_tokens,
                                     .number = prompt,
                                     .weight = 4.0});
}

filtra_status bench_plan_serving(bench *b, bench_plan *plan) {
  const uint32_t threads = b->arguments->threads ? (uint32_t)b->arguments->threads : 4;
  struct bench_served *s = b->served = ft_calloc(1, sizeof *s);
  if (!s) return FILTRA_ERROR_HOST_MEMORY;
  FT_TRY(open_run(s, b->device, b->arguments->run));
  s->pixels = reads_pixels(s);
  json_object_set_new(b->document, "model", describe_model(s->predictor));
  bench_plan_add(plan, &(bench_task){.entry = json_pack("{ss ss ss}", "op", "start", "case",
                                                        "all lengths", "pass", "forward"),
                                     .part = BENCH_RESULT,
                                     .run = report_start,
                                     .weight = 0.1});
  const int64_t most = s->info->max_length;
  for (int64_t n = s->info->features ? most : FT_SHORTEST_LENGTH;; n *= 2) {
    const uint32_t length = (uint32_t)(n < most ? n : most);
    plan_requests(s, plan, length, 1);
    if (threads > 1) plan_requests(s, plan, length, threads);
    if (n >= most) break;
  }
  if (s->model) plan_tokens(plan, most);
  return plan->failed ? ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory") : FILTRA_OK;
}
