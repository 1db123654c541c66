/* Makes tokenizer.json from a folder's files: that file, with overrides by tokenizer_config.json,
 * or vocab.json and merges.txt, or vocab.txt. Called by tokenizer.c and train/start.c. */
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "data/pretrained_folder.h"

#include <stdlib.h>
#include <string.h>

/* ---- files ---- */

/* Names of each file; vocabularies and merges have older names too. */
static const char *const WHOLE[] = {"tokenizer.json"}, *const LIST[] = {"vocab.txt"},
                         *const VOCABULARY[] = {"vocab.json", "encoder.json"},
                         *const MERGES[] = {"merges.txt", "vocab.bpe"};

/* Reads a file of the folder; *out is NULL if there is none. */
static filtra_status read_optional(const char *folder, const char *name, json_t **out) {
  char *path = ft_path_join(folder, name);
  *out = NULL;
  if (!path) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status =
      ft_file_exists(path) ? ft_json_load_foreign(path, FT_TOKENIZER_FILE_LIMIT, out) : FILTRA_OK;
  if (*out && !json_is_object(*out))
    status = ft_fail(FILTRA_ERROR_INPUT, "%s: must be a JSON object", path);
  free(path);
  return status;
}

/* Path of the first of `count` files that exists; NULL, with FILTRA_OK: none. */
static filtra_status find_file(const char *folder, const char *const *names, size_t count,
                               char **path) {
  *path = NULL;
  for (size_t i = 0; i < count && !*path; i++) {
    char *at = ft_path_join(folder, names[i]);
    if (!at) return FILTRA_ERROR_HOST_MEMORY;
    if (ft_file_exists(at))
      *path = at;
    else
      free(at);
  }
  return FILTRA_OK;
}

/* Calls `take` with each line of a text file, without line ends. */
static filtra_status each_line(const char *path, json_t *out,
                               filtra_status (*take)(json_t *, const char *, size_t, size_t)) {
  char *text;
  size_t size, number = 0;
  FT_TRY(ft_file_read(path, FT_TOKENIZER_FILE_LIMIT, &text, &size));
  filtra_status status = FILTRA_OK;
  const char *const end = text + size;
  for (const char *at = text, *next; at < end && !status; at = next + 1) {
    next = memchr(at, '\n', (size_t)(end - at));
    if (!next) next = end;
    size_t length = (size_t)(next - at);
    if (length && at[length - 1] == '\r') length--;
    number++;
    status = ft_utf8_valid(at, length) && !memchr(at, '\0', length)
                 ? take(out, at, length, number)
                 : ft_fail(FILTRA_ERROR_INPUT, "is not UTF-8 text");
    if (status) ft_fail_context(status, "%s:%zu", path, number);
  }
  free(text);
  return status;
}

static filtra_status take_symbol(json_t *vocabulary, const char *line, size_t length,
                                 size_t number) {
  char *symbol = ft_format("%.*s", (int)length, line);
  if (!symbol) return FILTRA_ERROR_HOST_MEMORY;
  const json_t *before = json_object_get(vocabulary, symbol);
  filtra_status status = FILTRA_OK;
  if (before)
    status = ft_fail(FILTRA_ERROR_INPUT, "\"%.40s\" is line %lld too", symbol,
                     (long long)json_integer_value(before) + 1);
  else if (json_object_set_new(vocabulary, symbol, json_integer((json_int_t)number - 1)))
    status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  free(symbol);
  return status;
}

static filtra_status take_merge(json_t *merges, const char *line, size_t length, size_t number) {
  if (number == 1 && length >= 8 && !memcmp(line, "#version", 8)) return FILTRA_OK;
  if (!length) return FILTRA_OK;
  return json_array_append_new(merges, json_stringn(line, length))
             ? ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory")
             : FILTRA_OK;
}

/* ---- folders ---- */

static filtra_status read_text_files(ft_pretrained_folder *f, const char *vocabulary,
                                     const char *merges) {
  f->bpe = merges != NULL;
  if (!f->bpe) {
    f->vocabulary = json_object();
    if (!f->vocabulary) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    return each_line(vocabulary, f->vocabulary, take_symbol);
  }
  f->merges = json_array();
  if (!f->merges) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  FT_TRY(ft_json_load_foreign(vocabulary, FT_TOKENIZER_FILE_LIMIT, &f->vocabulary));
  return each_line(merges, f->merges, take_merge);
}

static filtra_status read_folder(ft_pretrained_folder *f, json_t **root) {
  char *vocabulary = NULL, *merges = NULL, *list = NULL;
  filtra_status status = find_file(f->path, VOCABULARY, FT_COUNT(VOCABULARY), &vocabulary);
  if (!status) status = find_file(f->path, MERGES, FT_COUNT(MERGES), &merges);
  if (!status) status = find_file(f->path, LIST, FT_COUNT(LIST), &list);
  if (!status && !(vocabulary && merges) && !list)
    status = ft_fail(FILTRA_ERROR_INPUT,
                     vocabulary ? "%s: has a vocabulary but no merges.txt"
                     : merges   ? "%s: has merges but no vocab.json"
                                : "%s: has no tokenizer.json, no vocab.json with merges.txt and no "
                                  "vocab.txt",
                     f->path);
  if (!status)
    status = vocabulary && merges ? read_text_files(f, vocabulary, merges)
                                  : read_text_files(f, list, NULL);
  if (!status) status = ft_pretrained_make(f, root);
  free(vocabulary);
  free(merges);
  free(list);
  return status;
}

filtra_status ft_pretrained_is(const char *folder, bool *is) {
  char *found;
  FT_TRY(find_file(folder, WHOLE, FT_COUNT(WHOLE), &found));
  if (!found) FT_TRY(find_file(folder, VOCABULARY, FT_COUNT(VOCABULARY), &found));
  if (!found) FT_TRY(find_file(folder, LIST, FT_COUNT(LIST), &found));
  *is = found != NULL;
  free(found);
  return FILTRA_OK;
}

filtra_status ft_pretrained_load(const char *folder, json_t **root) {
  ft_pretrained_folder f = {.path = folder};
  *root = NULL;
  filtra_status status = read_optional(folder, "tokenizer_config.json", &f.config);
  if (!status) status = read_optional(folder, "config.json", &f.model);
  if (!status) status = read_optional(folder, *WHOLE, root);
  /* A list in tokenizer_config.json beside tokenizer.json is all there is. */
  const bool whole = *root && json_is_object(json_object_get(f.config, "added_tokens_decoder"));
  if (!status && !whole) status = read_optional(folder, "special_tokens_map.json", &f.special);
  if (!status && !whole) status = read_optional(folder, "added_tokens.json", &f.added);
  if (!status && *root) {
    f.vocabulary = json_incref(json_object_get(json_object_get(*root, "model"), "vocab"));
    status = ft_pretrained_add(&f, *root);
    if (!status) status = ft_pretrained_configure(&f, *root);
  } else if (!status) {
    status = read_folder(&f, root);
  }
  if (!status) status = ft_pretrained_set_types(*root, f.config);
  if (!status) status = ft_pretrained_set_side(*root, f.config);
  if (status) {
    json_decref(*root);
    *root = NULL;
  }
  json_t *const used[] = {f.config, f.special, f.added, f.model, f.vocabulary, f.merges};
  for (size_t i = 0; i < FT_COUNT(used); i++)
    json_decref(used[i]);
  return status;
}
