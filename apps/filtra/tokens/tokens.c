/* filtra tokens: the ids of texts, line by line, and the texts of ids. */
#include "base/file.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "common/options.h"

#include <filtra/run.h>
#include <filtra/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "filtra tokens";

typedef struct tokens_arguments {
  bool jsonl, decode, special;
} tokens_arguments;

static void print_help(void) {
  command_print(
      "Usage: filtra tokens FOLDER|RUN|TOKENIZER.JSON [FILE] [options]\n"
      "Prints the token ids of each line of FILE, or of standard input, as a JSON array.\n"
      "FOLDER is a pretrained model's as Hugging Face lays it out (tokenizer.json, or vocab.json\n"
      "and merges.txt, or vocab.txt), RUN a run's.\n\n"
      "  --jsonl            lines are JSON: a string, or an object with one called text\n"
      "  --special          put the model's special tokens around each text\n"
      "  --decode           the other way: lines are arrays of ids; prints texts, with --jsonl\n"
      "                     as JSON strings, where U+FFFD stands for bytes that are not UTF-8\n");
}

/* ---- the tokenizer ---- */

typedef struct reader {
  const tokens_arguments *options;
  const filtra_tokenizer *tokenizer;
  filtra_tokenizer *owned; /* NULL: `run` owns the tokenizer */
  filtra_run *run;
  int32_t *ids;
  char *text;
  size_t id_capacity, text_capacity;
} reader;

static filtra_status is_there(const char *folder, const char *file, bool *there) {
  char *path = ft_path_join(folder, file);
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  *there = *there || ft_file_exists(path);
  free(path);
  return FILTRA_OK;
}

/* A run with a built-in tokenizer has no file of it. */
static filtra_status open_tokenizer(const char *path, reader *r) {
  static const char *const files[] = {FILTRA_RUN_TOKENIZER, "vocab.json", "encoder.json",
                                      "vocab.txt"};
  bool file = !ft_is_directory(path), config = false;
  for (size_t i = 0; i < FT_COUNT(files) && !file; i++)
    FT_TRY(is_there(path, files[i], &file));
  if (!file) FT_TRY(is_there(path, FILTRA_RUN_CONFIG, &config));
  if (!config) {
    FT_TRY(filtra_tokenizer_load(path, &r->owned));
    r->tokenizer = r->owned;
    return FILTRA_OK;
  }
  FT_TRY(filtra_run_open(path, &r->run));
  r->tokenizer = filtra_run_get_info(r->run)->tokenizer;
  return r->tokenizer ? FILTRA_OK
                      : ft_fail(FILTRA_ERROR_INPUT, "%s: the run's model reads numbers", path);
}

/* ---- lines ---- */

static filtra_status parse(const ft_lines *l, size_t flags, json_t **out) {
  json_error_t error = {0};
  bool starved;
  *out = ft_json_decode(l->line, l->length, flags, &error, &starved);
  if (*out) return FILTRA_OK;
  return starved ? ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory")
                 : ft_fail(FILTRA_ERROR_INPUT, "not valid JSON: %s", error.text);
}

static void print_ids(const int32_t *ids, size_t count) {
  for (size_t i = 0; i < count; i++)
    command_print("%s%d", i ? ", " : "[", ids[i]);
  command_print(count ? "]\n" : "[]\n");
}

static filtra_status encode(reader *r, const char *text, size_t length) {
  size_t count;
  filtra_status status = FILTRA_OK;
  for (int pass = 0; pass < 2; pass++) {
    FT_TRY(filtra_tokenizer_encode_offsets(r->tokenizer, text, length, r->options->special, r->ids,
                                           NULL, NULL, r->id_capacity, &count));
    if (count <= r->id_capacity) break;
    int32_t *more = ft_realloc(r->ids, 2 * count, sizeof *more);
    if (!more) return FILTRA_ERROR_HOST_MEMORY;
    r->ids = more;
    r->id_capacity = 2 * count;
  }
  print_ids(r->ids, count);
  return status;
}

static filtra_status encode_line(reader *r, const ft_lines *l) {
  json_t *value;
  if (!r->options->jsonl) return encode(r, l->line, l->length);
  FT_TRY(parse(l, JSON_DECODE_ANY | JSON_ALLOW_NUL, &value));
  const json_t *text = json_is_object(value) ? json_object_get(value, "text") : value;
  filtra_status status =
      json_is_string(text)
          ? encode(r, json_string_value(text), json_string_length(text))
          : ft_fail(FILTRA_ERROR_INPUT, "must be a string, or an object with a string \"text\"");
  json_decref(value);
  return status;
}

static void print_text(const char *text, size_t length, bool json) {
  uint32_t c;
  if (json) command_print("\"");
  for (size_t at = 0, bytes; at < length; at += bytes) {
    bytes = ft_utf8_next(text + at, length - at, &c);
    if (!json || (bytes && c >= ' ' && c != '"' && c != '\\'))
      fwrite(text + at, 1, bytes = bytes ? bytes : 1, command_results());
    else if (bytes)
      command_print(c < ' ' ? "\\u%04x" : "\\%c", c);
    else
      fputs("\xef\xbf\xbd", command_results()), bytes = ft_utf8_damaged(text + at, length - at);
  }
  command_print(json ? "\"\n" : "\n");
}

static filtra_status decode(reader *r, const int32_t *ids, size_t count) {
  size_t length;
  FT_TRY(filtra_tokenizer_decode(r->tokenizer, ids, count, r->text, r->text_capacity, &length));
  if (length >= r->text_capacity) {
    char *more = ft_realloc(r->text, 2 * length + 1, 1);
    if (!more) return FILTRA_ERROR_HOST_MEMORY;
    r->text = more;
    r->text_capacity = 2 * length + 1;
    FT_TRY(filtra_tokenizer_decode(r->tokenizer, ids, count, r->text, r->text_capacity, &length));
  }
  print_text(r->text, length, r->options->jsonl);
  return FILTRA_OK;
}

static filtra_status decode_line(reader *r, const ft_lines *l) {
  json_t *list;
  FT_TRY(parse(l, JSON_DECODE_ANY, &list));
  const size_t count = json_array_size(list);
  int32_t *ids = ft_calloc(count + 1, sizeof *ids);
  filtra_status status = ids ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status && !json_is_array(list))
    status = ft_fail(FILTRA_ERROR_INPUT, "must be an array of ids");
  for (size_t i = 0; i < count && !status; i++) {
    const json_t *id = json_array_get(list, i);
    const json_int_t value = json_is_integer(id) ? json_integer_value(id) : -1;
    if (value < 0 || value >= (json_int_t)filtra_tokenizer_size(r->tokenizer))
      status = ft_fail(FILTRA_ERROR_INPUT, "entry %zu must be an id, 0 to %u", i,
                       filtra_tokenizer_size(r->tokenizer) - 1);
    else
      ids[i] = (int32_t)value;
  }
  if (!status) status = decode(r, ids, count);
  free(ids);
  json_decref(list);
  return status;
}

static filtra_status print_lines(reader *r, const char *path) {
  ft_lines lines = {0};
  FILE *stream = path ? NULL : stdin;
  bool more = true;
  if (path) FT_TRY(ft_file_open(path, &stream));
  filtra_status status = ft_lines_open_stream(stream, path ? path : "standard input", &lines);
  while (!status && (status = ft_lines_next(&lines, &more)) == FILTRA_OK && more) {
    status = r->options->decode ? decode_line(r, &lines) : encode_line(r, &lines);
    if (status) ft_fail_context(status, "%s:%llu", lines.path, (unsigned long long)lines.number);
  }
  ft_lines_close(&lines);
  return status;
}

static const command_option OPTIONS[] = {
    COMMAND_FLAG("jsonl", tokens_arguments, jsonl),
    COMMAND_FLAG("decode", tokens_arguments, decode),
    COMMAND_FLAG("special", tokens_arguments, special),
};

int run_tokens(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .words = true};
  tokens_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (argc - optind < 1 || argc - optind > 2)
    return command_misused(argv[0], "needs FOLDER, RUN or TOKENIZER.JSON, and at most one FILE");
  if (a.decode && a.special)
    return command_misused(argv[0], "--special is for encoding, not for --decode");
  reader r = {.options = &a};
  filtra_status status = open_tokenizer(argv[optind], &r);
  if (!status) status = print_lines(&r, argv[optind + 1]);
  filtra_tokenizer_destroy(&r.owned);
  filtra_run_close(&r.run);
  free(r.ids);
  free(r.text);
  return status ? command_fail(name, status) : COMMAND_DONE;
}
