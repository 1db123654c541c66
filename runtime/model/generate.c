/* Generators: a language model's graphs, one for the first tokens of a text and one for each
 * further token. Called by programs and `filtra generate` through <filtra/generate.h>. */
#include "model/model.h"
#include "nn/past.h"
#include "ops/decoding.h"

#include <filtra/generate.h>
#include <stdlib.h>
#include <string.h>

enum { FEWEST_ROWS = 64 }; /* fewest rows of the past that a pass reads */

/* A graph over `tokens` tokens of each sequence: the first ones, or one token that sees `seen` rows
 * of the past. */
typedef struct pass {
  filtra_graph *graph;
  int64_t tokens, seen;    /* seen = 0: the first tokens */
  filtra_tensor *ids;      /* I32 [B, tokens] */
  filtra_tensor *position; /* I32 [B], if tokens = 1: its position */
  filtra_tensor *lengths;  /* I32 [B], first tokens: length of the text */
  filtra_tensor *rows; /* I32 [B,1], first tokens: row of each sequence's last one in [B tokens] */
  filtra_tensor *logits;
} pass;

struct filtra_generator {
  filtra_model *model;
  ft_past past;
  pass *passes;
  size_t pass_count, pass_capacity;
  int64_t length;
  bool slide;
  int32_t *text; /* [size, capacity]: the text up to now */
  int32_t *host; /* [size, capacity]: staging of an input before its upload */
};

/* ---- graphs ---- */

static filtra_status make_pass(filtra_generator *gen, int64_t tokens, int64_t seen, pass *p) {
  filtra_model *model = gen->model;
  int64_t size = gen->past.size;
  *p = (pass){.tokens = tokens, .seen = seen};
  FT_TRY(filtra_graph_create(
      model->device, &(filtra_graph_options){.arena = model->arena, .slots = 1}, &p->graph));
  filtra_graph *g = p->graph;
  p->ids = filtra_graph_input(g, "tokens", FILTRA_I32, 2, (int64_t[]){size, tokens});
  if (seen) {
    p->position = filtra_graph_input(g, "position", FILTRA_I32, 1, &size);
  } else {
    p->lengths = filtra_graph_input(g, "lengths", FILTRA_I32, 1, &size);
    p->rows = filtra_graph_input(g, "last tokens", FILTRA_I32, 2, (int64_t[]){size, 1});
  }
  const ft_past_use use = ft_past_begin(&gen->past, p->position, seen);
  ft_scope scope = ft_network_scope(g, model->params, &model->options.config);
  scope.past = &use;
  ft_network_input in = {.tokens = p->ids,
                         .rows = p->rows,
                         .mask = seen ? ft_cache_mask(g, p->position, seen)
                                      : filtra_length_mask(g, p->lengths, tokens)};
  filtra_tensor *auxiliary;
  p->logits = filtra_graph_output(g, ft_network_build(&scope, &model->options, &in, &auxiliary));
  return filtra_graph_compile(g);
}

static filtra_status find_pass(filtra_generator *gen, int64_t tokens, int64_t seen, pass **out) {
  for (size_t i = 0; i < gen->pass_count; i++) {
    *out = &gen->passes[i];
    if ((*out)->tokens == tokens && (*out)->seen == seen) return FILTRA_OK;
  }
  FT_TRY(FT_GROW(gen->passes, gen->pass_count, gen->pass_capacity));
  *out = &gen->passes[gen->pass_count];
  filtra_status status = make_pass(gen, tokens, seen, *out);
  if (status)
    filtra_graph_destroy(&(*out)->graph);
  else
    gen->pass_count++;
  return status;
}

/* Sets an input to `value` for the first sequence, and to `step` more for each further one. */
static filtra_status set_all(filtra_generator *gen, const pass *p, filtra_tensor *input,
                             int64_t value, int64_t step) {
  for (int64_t b = 0; b < gen->past.size; b++)
    gen->host[b] = (int32_t)(value + b * step);
  return filtra_graph_set(p->graph, input, gen->host);
}

/* Executes a pass over tokens [first, first + count) of the text; `count` may be less than the
 * pass's tokens. */
static filtra_status run_pass(filtra_generator *gen, const pass *p, int64_t first, int64_t count) {
  int64_t size = gen->past.size;
  memset(gen->host, 0, (size_t)(size * p->tokens) * sizeof *gen->host);
  for (int64_t b = 0; b < size; b++)
    memcpy(gen->host + b * p->tokens, gen->text + b * gen->past.capacity + first,
           (size_t)count * sizeof *gen->host);
  FT_TRY(filtra_graph_set(p->graph, p->ids, gen->host));
  if (p->position) {
    FT_TRY(set_all(gen, p, p->position, first, 0));
  } else {
    FT_TRY(set_all(gen, p, p->lengths, count, 0));
    FT_TRY(set_all(gen, p, p->rows, count - 1, p->tokens));
  }
  return filtra_graph_execute(p->graph);
}

/* Computes the logits after tokens [done, length) of the text; the past holds those before `done`.
 */
static filtra_status read_text(filtra_generator *gen, int64_t done, int64_t length, pass **last) {
  int64_t capacity = gen->past.capacity;
  if (!done && length > 1) {
    FT_TRY(find_pass(gen, ft_graph_length(length, FT_SHORTEST_LENGTH, capacity), 0, last));
    return run_pass(gen, *last, 0, length);
  }
  for (int64_t n = done; n < length; n++) {
    FT_TRY(find_pass(gen, 1, ft_graph_length(n + 1, FEWEST_ROWS, capacity), last));
    FT_TRY(run_pass(gen, *last, n, 1));
  }
  return FILTRA_OK;
}

/* ---- text ---- */

static filtra_status check_tokens(const filtra_generator *gen, const int32_t *tokens,
                                  size_t count) {
  int64_t vocabulary = gen->model->options.config.vocabulary, capacity = gen->past.capacity;
  if (!tokens || !count)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "generator: needs at least one token");
  if (!gen->slide && count > (size_t)(capacity - gen->length))
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "generator: %lld tokens and %zu more; the model takes at most %lld (max_length). "
        "Reset the generator, or let it slide",
        (long long)gen->length, count, (long long)capacity);
  for (size_t i = 0; i < count * (size_t)gen->past.size; i++)
    if (tokens[i] < 0 || tokens[i] >= vocabulary)
      return ft_fail(
          FILTRA_ERROR_INPUT,
          "generator: sequence %zu has token %d at position %lld, accepted are 0 to %lld",
          i / count, tokens[i], (long long)gen->length + (long long)(i % count),
          (long long)vocabulary - 1);
  return FILTRA_OK;
}

/* Appends `count` tokens to each sequence's text. If they do not fit, keeps the newest half of the
 * text. Returns how many tokens the past still holds. */
static int64_t append(filtra_generator *gen, const int32_t *tokens, size_t count) {
  size_t capacity = (size_t)gen->past.capacity, old = (size_t)gen->length;
  size_t length = old + count, keep = length <= capacity ? length : (capacity + 1) / 2;
  size_t fresh = count < keep ? count : keep, kept = keep - fresh;
  for (int64_t b = 0; b < gen->past.size; b++) {
    int32_t *text = gen->text + (size_t)b * capacity;
    memmove(text, text + old - kept, kept * sizeof *text);
    memcpy(text + kept, tokens + ((size_t)b + 1) * count - fresh, fresh * sizeof *text);
  }
  gen->length = (int64_t)keep;
  return keep == length ? (int64_t)old : 0;
}

filtra_status filtra_generator_feed(filtra_generator *generator, const int32_t *tokens,
                                    size_t count, float *logits) {
  FT_NEED(generator, tokens);
  filtra_generator *gen = generator;
  pass *last = NULL;
  FT_TRY(check_tokens(gen, tokens, count));
  int64_t known = append(gen, tokens, count);
  filtra_status status = read_text(gen, known, gen->length, &last);
  if (!status && logits) status = filtra_graph_get(last->graph, last->logits, logits);
  if (status) gen->length = 0;
  return status;
}

void filtra_generator_reset(filtra_generator *generator) {
  if (!generator) return;
  generator->length = 0;
}
int64_t filtra_generator_length(const filtra_generator *generator) {
  return generator ? generator->length : 0;
}

/* ---- life ---- */

/* Builds the graph that every text needs, which also creates the rows of the past. */
static filtra_status open_generator(filtra_generator *gen) {
  size_t tokens = (size_t)(gen->past.size * gen->past.capacity);
  pass *first;
  gen->text = ft_calloc(tokens, sizeof *gen->text);
  gen->host = ft_calloc(tokens, sizeof *gen->host);
  if (!gen->text || !gen->host) return FILTRA_ERROR_HOST_MEMORY;
  return find_pass(gen, 1, ft_graph_length(1, FEWEST_ROWS, gen->past.capacity), &first);
}

filtra_status filtra_generator_create(filtra_model *model, const filtra_generator_options *options,
                                      filtra_generator **out) {
  static const filtra_generator_options defaults;
  if (!options) options = &defaults;
  FT_NEED(out);
  *out = NULL;
  FT_NEED(model);
  FT_TRY(FT_CHECK_RESERVED(filtra_generator_options, options));
  if (model->options.config.task != FILTRA_TASK_LANGUAGE_MODEL)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "generator: the model is for %s; only language models go on with a text",
                   ft_task_name(model->options.config.task));
  filtra_generator *gen = ft_calloc(1, sizeof *gen);
  if (!gen) return FILTRA_ERROR_HOST_MEMORY;
  gen->model = model;
  model->users++;
  gen->slide = options->slide;
  gen->past = (ft_past){.device = model->device,
                        .size = options->sequences ? options->sequences : 1,
                        .capacity = model->options.config.max_length};
  filtra_status status = open_generator(gen);
  if (status) filtra_generator_destroy(&gen);
  *out = gen;
  return status;
}

void filtra_generator_destroy(filtra_generator **generator) {
  if (!generator || !*generator) return;
  filtra_generator *gen = *generator;
  for (size_t i = 0; i < gen->pass_count; i++)
    filtra_graph_destroy(&gen->passes[i].graph);
  ft_past_close(&gen->past);
  free(gen->passes);
  free(gen->text);
  free(gen->host);
  gen->model->users--;
  free(gen);
  *generator = NULL;
}
