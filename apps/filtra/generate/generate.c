/* filtra generate: continues a text with a run's language model. */
#include "common/options.h"

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <errno.h>
#include <filtra/filtra.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct generate_arguments {
  filtra_device_options device;
  const char *run, *prompt;
  const filtra_precision *precision;
  uint64_t tokens;
  filtra_sampling sampling;
  bool json, past_end;
} generate_arguments;

/* Growing text, not NUL-terminated. */
typedef struct text {
  char *bytes;
  size_t length, capacity;
} text;

typedef struct writer {
  filtra_run *run;
  filtra_model *model;
  filtra_generator *generator;
  const filtra_tokenizer *tokenizer;
  text prompt, written; /* written: kept for --json only */
  int32_t *tokens;      /* of the prompt */
  size_t count;
  float *logits;  /* [vocabulary] */
  uint64_t added; /* tokens */
  double seconds;
} writer;

static void print_help(void) {
  command_print(
      "Usage: filtra generate RUN --prompt TEXT [OPTION]...\n"
      "Goes on with a text by the best model of a language model's run. Prints the prompt and\n"
      "what follows as it comes. A text longer than the model's max_length goes on from its\n"
      "newest half, and a pretrained tokenizer's <|endoftext|> ends it.\n\n"
      "  --run DIR          the run folder, too\n"
      "  --prompt TEXT      how the text begins; - reads it from standard input\n"
      "  --tokens N         tokens to add; 200\n"
      "  --temperature T    0.8; above it bolder, below it safer, 0 always the most probable\n"
      "  --top-k K          choose among the K most probable tokens; 0 (default) is all\n"
      "  --top-p P          choose among the most probable tokens that together have the\n"
      "                     probability P, in (0,1]; 1\n"
      "  --seed S           the same seed gives the same text on the same device; 0\n"
      "  --past-end         go on after <|endoftext|>\n"
      "%s"
      "  --json             print one JSON object\n%s",
      precision_option_help, device_options_help);
}

/* ---- text ---- */

static filtra_status append(text *t, const char *bytes, size_t length) {
  if (!length) return FILTRA_OK;
  if (length > t->capacity - t->length) {
    size_t capacity = (t->length + length) * 2;
    char *grown = ft_realloc(t->bytes, capacity, 1);
    if (!grown) return FILTRA_ERROR_HOST_MEMORY;
    t->bytes = grown;
    t->capacity = capacity;
  }
  memcpy(t->bytes + t->length, bytes, length);
  t->length += length;
  return FILTRA_OK;
}

/* Removes what texts of training data lose when they are read: a byte order mark, and the carriage
 * returns of line ends. */
static void make_plain(text *t) {
  if (!t->bytes) return;
  const size_t mark = ft_utf8_mark(t->bytes, t->length);
  memmove(t->bytes, t->bytes + mark, t->length - mark);
  t->length = ft_join_line_ends(t->bytes, t->length - mark);
}

static filtra_status read_prompt(const char *argument, text *prompt) {
  char block[4096];
  if (strcmp(argument, "-") != 0) return append(prompt, argument, strlen(argument));
  for (size_t count; (count = fread(block, 1, sizeof block, stdin)) > 0;)
    FT_TRY(append(prompt, block, count));
  if (ferror(stdin))
    return ft_fail(FILTRA_ERROR_IO, "cannot read standard input: %s", strerror(errno));
  make_plain(prompt);
  return FILTRA_OK;
}

/* The text as JSON; bytes that are not UTF-8 become U+FFFD. */
static json_t *json_text(const text *t) {
  text valid = {0};
  filtra_status status = FILTRA_OK;
  for (size_t at = 0; at < t->length && !status;) {
    uint32_t code_point;
    size_t bytes = ft_utf8_next(t->bytes + at, t->length - at, &code_point);
    status = bytes ? append(&valid, t->bytes + at, bytes) : append(&valid, "\xef\xbf\xbd", 3);
    at += bytes ? bytes : 1;
  }
  json_t *json = status ? NULL : json_stringn(valid.bytes ? valid.bytes : "", valid.length);
  free(valid.bytes);
  return json;
}

/* ---- tokens ---- */

static filtra_status encode_prompt(writer *w) {
  const text *t = &w->prompt;
  const char *bytes = t->bytes ? t->bytes : "";
  if (!w->tokenizer) return ft_fail(FILTRA_ERROR_INPUT, "the run has no tokenizer to read it");
  FT_TRY(filtra_tokenizer_encode_prompt(w->tokenizer, bytes, t->length, NULL, 0, &w->count));
  if (!w->count) return ft_fail(FILTRA_ERROR_INPUT, "it has no token; at least one is needed");
  w->tokens = ft_calloc(w->count, sizeof *w->tokens);
  if (!w->tokens) return FILTRA_ERROR_HOST_MEMORY;
  return filtra_tokenizer_encode_prompt(w->tokenizer, bytes, t->length, w->tokens, w->count,
                                        &w->count);
}

static filtra_status write_token(writer *w, int32_t previous, int32_t token, bool json) {
  char added[512]; /* a word of up to 128 bytes, and a space */
  size_t length;
  FT_TRY(filtra_tokenizer_decode_next(w->tokenizer, previous, token, added, sizeof added, &length));
  if (json) return append(&w->written, added, length);
  fwrite(added, 1, length, command_results());
  fflush(command_results());
  return FILTRA_OK;
}

/* Whether the token ends a text of GPT-2's kind. */
static bool ends_text(const writer *w, int32_t token) {
  const char *symbol = filtra_tokenizer_symbol(w->tokenizer, (uint32_t)token);
  return !strcmp(filtra_tokenizer_name(w->tokenizer), "bpe") && symbol &&
         !strcmp(symbol, "<|endoftext|>");
}

static filtra_status write_text(writer *w, const generate_arguments *a) {
  filtra_sampling sampling = a->sampling;
  sampling.zero = *filtra_tokenizer_symbol(w->tokenizer, 0) != 0;
  FT_TRY(filtra_generator_feed(w->generator, w->tokens, w->count, w->logits));
  if (!a->json) fwrite(w->prompt.bytes, 1, w->prompt.length, command_results());
  double began = ft_seconds();
  int32_t previous = w->tokens[w->count - 1];
  for (; w->added < a->tokens && !ferror(command_results()); w->added++) {
    int32_t token;
    if (w->added) FT_TRY(filtra_generator_feed(w->generator, &previous, 1, w->logits));
    FT_TRY(filtra_sample_token(w->logits, filtra_tokenizer_size(w->tokenizer), &sampling, w->added,
                               &token));
    if (ends_text(w, token) && !a->past_end) break;
    FT_TRY(write_token(w, previous, token, a->json));
    previous = token;
  }
  w->seconds = ft_seconds() - began;
  if (!a->json) command_print("\n");
  return FILTRA_OK;
}

/* ---- the command ---- */

static filtra_status open_writer(writer *w, filtra_device *device, const char *run,
                                 const filtra_precision *precision) {
  FT_TRY(filtra_run_open(run, &w->run));
  if (filtra_run_get_info(w->run)->task != FILTRA_TASK_LANGUAGE_MODEL)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: only language models generate, and its model is none",
                   run);
  w->tokenizer = filtra_run_get_info(w->run)->tokenizer;
  filtra_status status = encode_prompt(w);
  if (status) return ft_fail_context(status, "prompt");
  FT_TRY(filtra_run_load_model(w->run, device, &w->model));
  if (precision) FT_TRY(filtra_model_set_precision(w->model, *precision));
  w->logits = ft_calloc((size_t)filtra_model_outputs(w->model), sizeof *w->logits);
  if (!w->logits) return FILTRA_ERROR_HOST_MEMORY;
  return filtra_generator_create(w->model, &(filtra_generator_options){.slide = true},
                                 &w->generator);
}

static json_t *result(const writer *w, const generate_arguments *a) {
  double rate = w->seconds > 0.0 ? (double)w->added / w->seconds : 0.0;
  return json_pack("{ss so so sI sI sf}", "run", a->run, "prompt", json_text(&w->prompt), "text",
                   json_text(&w->written), "tokens", (json_int_t)w->added, "seed",
                   (json_int_t)a->sampling.seed, "tokens_per_second", rate);
}

static int generate(const generate_arguments *a) {
  filtra_device *device = NULL;
  writer w = {0};
  filtra_status status = read_prompt(a->prompt, &w.prompt);
  if (!status) status = filtra_device_open(&a->device, &device);
  if (!status) status = open_writer(&w, device, a->run, a->precision);
  if (!status) status = write_text(&w, a);
  int code = status ? command_fail("filtra generate", status) : COMMAND_DONE;
  if (a->json && !status) code = command_print_json("filtra generate", result(&w, a));
  filtra_generator_destroy(&w.generator);
  filtra_model_destroy(&w.model);
  filtra_run_close(&w.run);
  filtra_device_close(&device);
  free(w.prompt.bytes);
  free(w.written.bytes);
  free(w.tokens);
  free(w.logits);
  return code;
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("run", generate_arguments, run),
    COMMAND_TEXT("prompt", generate_arguments, prompt),
    COMMAND_NUMBER("tokens", generate_arguments, tokens, 1, 1000000000),
    COMMAND_REAL("temperature", generate_arguments, sampling.temperature, 0.0, 1e6),
    COMMAND_NUMBER("top-k", generate_arguments, sampling.top_k, 0, INT32_MAX),
    COMMAND_REAL("top-p", generate_arguments, sampling.top_p, 1e-9, 1.0),
    COMMAND_NUMBER("seed", generate_arguments, sampling.seed, 0, INT64_MAX),
    COMMAND_PRECISION(generate_arguments, precision),
    COMMAND_FLAG("past-end", generate_arguments, past_end),
    COMMAND_FLAG("json", generate_arguments, json),
};

int run_generate(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true,
                                    .run = offsetof(generate_arguments, run)};
  generate_arguments a = {.tokens = 200, .sampling = {.temperature = 0.8f}};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (!a.prompt) return command_misused(argv[0], "--prompt TEXT is missing");
  return generate(&a);
}
