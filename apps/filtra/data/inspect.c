/* filtra data inspect: prints what a data set contains. */
#include "base/json.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "common/options.h"

#include <filtra/data.h>
#include <filtra/run.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(void) {
  command_print(
      "Usage: filtra data inspect PATH [OPTION]...\n"
      "Reads a data set, a file or a folder, and says its format, splits, lengths, classes and\n"
      "vocabulary. Every line is checked, every image decoded, and labels that can be\n"
      "recomputed are.\n\n"
      "  --format NAME         one of those below, instead of what the content says\n"
      "  --tokenizer NAME      how text becomes tokens: bytes, characters, words, printable, dna,\n"
      "                        smiles (molecules, as graphs), or the path of a pretrained\n"
      "                        model's tokenizer\n"
      "  --text-column NAME    of a table, the column to read, by name or number\n"
      "  --target-column NAME  and the one to predict; of several, A,B, each is 0 or 1\n"
      "  --label-separator C   what separates labels in it: one character, space or tab\n"
      "  --feature-columns LIST  those to read as numbers, A,B\n"
      "  --group-column NAME   of a table of series, the column that says whose a row is\n"
      "  --time-column NAME    and the one that orders them\n"
      "  --id-column NAME      the column of samples' names\n"
      "  --delimiter NAME      comma, tab, semicolon or pipe\n"
      "  --decimal NAME        point or comma\n"
      "  --quoting NAME        none: quotes are text, each line is a row; full: as RFC 4180\n"
      "  --task NAME           regression: targets are numbers; classification: they are not;\n"
      "                        multi_label: any number of labels\n"
      "  --max-vocabulary N    ids of words at most, rarer words read as <unk>; 0: 65536\n"
      "  --image-size N        images of any size, as squares of side N\n"
      "  --set KEY=VALUE       any of these as to filtra train, such as text_column=review\n"
      "  --json                print one JSON object\n\nFormats:\n");
  for (size_t i = 0; filtra_dataset_format_name(i); i++)
    command_print("  %-13s %s\n", filtra_dataset_format_name(i),
                  filtra_dataset_format_description(i));
}

/* Counts over one split. Sequences of a pair count separately. */
typedef struct census {
  uint64_t samples, *per_class; /* [classes] */
  uint64_t *unknown_per_class;  /* [classes], of several labels: samples that do not tell */
  uint64_t unknown;             /* their sum */
  uint32_t shortest, longest;
  uint64_t tokens; /* tokens or steps; of language models also the last token, only a target */
  double mean;     /* length */
  double lowest_value, mean_value, top_value; /* of numeric targets */
} census;

static void count_length(census *c, uint32_t length) {
  if (length < c->shortest) c->shortest = length;
  if (length > c->longest) c->longest = length;
  c->tokens += length;
}

static filtra_status count_split(const filtra_dataset *ds, filtra_split split, census *c) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  double values = 0.0;
  *c = (census){.samples = info->count[split], .lowest_value = INFINITY, .top_value = -INFINITY};
  if (c->samples == 0) return FILTRA_OK;
  c->shortest = UINT32_MAX;
  if (info->classes) c->per_class = ft_calloc(info->classes, 2 * sizeof *c->per_class);
  if (info->classes && !c->per_class) return FILTRA_ERROR_HOST_MEMORY;
  if (info->classes) c->unknown_per_class = c->per_class + info->classes;
  for (uint64_t i = 0; i < c->samples; i++) {
    filtra_sample s;
    FT_TRY(filtra_dataset_sample(ds, split, i, &s));
    count_length(c, s.length);
    if (info->sequences == 2) count_length(c, s.second_length);
    if (info->target == FILTRA_TARGET_CLASS && s.label >= 0) c->per_class[s.label]++;
    for (uint32_t n = 0; n < s.label_count; n++)
      c->per_class[s.labels[n]]++;
    for (uint32_t n = 0; n < s.unknown_count; n++)
      c->unknown_per_class[s.labels[s.label_count + n]]++;
    c->unknown += s.unknown_count;
    c->lowest_value = fmin(c->lowest_value, s.value); /* with a NaN, fmin returns the other one */
    c->top_value = fmax(c->top_value, s.value);
    if (!isnan(s.value)) values += s.value;
  }
  c->mean = (double)c->tokens / (double)(c->samples * info->sequences);
  c->tokens += info->target == FILTRA_TARGET_NEXT;
  c->mean_value = values / (double)(c->samples - info->unlabelled[split]);
  return FILTRA_OK;
}

/* ---- the first sample ---- */

static filtra_split first_split(const filtra_dataset_info *info) {
  filtra_split split = FILTRA_SPLIT_TRAIN;
  while (info->count[split] == 0)
    split++;
  return split;
}

/* Writes a symbol or a name, at most four times as long; \xNN replaces bytes that are not text,
 * break a line or are obeyed by terminals. Returns the end. */
static char *put_symbol(char *to, const char *symbol) {
  size_t left = strlen(symbol), bytes;
  bool valid = ft_utf8_valid(symbol, left);
  for (; left > 0; symbol += bytes, left -= bytes) {
    uint32_t c = 0;
    bytes = ft_utf8_next(symbol, left, &c);
    if (bytes == 0) bytes = 1;
    bool shown = !ft_utf8_obeyed(c) && (valid || (unsigned char)*symbol < 0x80);
    for (size_t i = 0; i < bytes; i++)
      if (shown)
        *to++ = symbol[i];
      else
        to += sprintf(to,
                      c == '\n'   ? "\\n"
                      : c == '\t' ? "\\t"
                                  : "\\x%02x",
                      (unsigned char)symbol[i]);
  }
  *to = '\0';
  return to;
}

/* Whether the tokenizer puts spaces between symbols. */
static bool is_spaced(const filtra_tokenizer *t) {
  const int32_t twice[] = {1, 1};
  size_t one = 0, two = 0;
  filtra_tokenizer_decode(t, twice, 1, NULL, 0, &one);
  filtra_tokenizer_decode(t, twice, 2, NULL, 0, &two);
  return two > 2 * one;
}

/* Formats ids without a tokenizer. */
static char *ids_text(const int32_t *ids, uint32_t count, bool more) {
  const size_t each = sizeof "-2147483648";
  char *text = ft_calloc(count + 1, each), *to = text;
  for (uint32_t i = 0; i < count && text; i++)
    to += snprintf(to, each + 1, "%s%d", i ? " " : "", ids[i]);
  if (text && more) strcpy(to, " ...");
  return text;
}

/* At most `limit` tokens as text; caller frees. NULL when out of memory. */
static char *tokens_text(const filtra_tokenizer *t, const int32_t *tokens, uint32_t length,
                         uint32_t limit) {
  uint32_t shown = length < limit ? length : limit;
  if (!t) return ids_text(tokens, shown, shown < length);
  bool spaced = is_spaced(t);
  size_t bytes = 8;
  for (uint32_t i = 0; i < shown; i++)
    bytes += 4 * strlen(filtra_tokenizer_symbol(t, tokens[i])) + 1;
  char *text = ft_calloc(bytes, 1), *to = text;
  for (uint32_t i = 0; i < shown && text; i++) {
    if (i > 0 && spaced) *to++ = ' ';
    to = put_symbol(to, filtra_tokenizer_symbol(t, tokens[i]));
  }
  if (text && shown < length) strcpy(to, spaced ? " ..." : "...");
  return text;
}

/* ---- as text ---- */

enum {
  SHOWN_TOKENS = 40,
  SHOWN_CLASSES = 100,
  SHOWN_SYMBOLS = 100,
  SHOWN_STEPS = 3,
  SHOWN_FEATURES = 8
};

static void print_split(const filtra_dataset_info *info, filtra_split split, const census *c) {
  command_print("  %-6s %9" PRIu64, filtra_split_name(split), c->samples);
  if (c->samples > 0)
    command_print(" %9u %9.1f %9u %11" PRIu64, c->shortest, c->mean, c->longest, c->tokens);
  if (c->samples > info->unlabelled[split] && info->target == FILTRA_TARGET_VALUE)
    command_print(" %12.6g %12.6g %12.6g", c->lowest_value, c->mean_value, c->top_value);
  if (split == FILTRA_SPLIT_VAL && info->validation_held_out)
    command_print("  (held out of train)");
  if (info->unlabelled[split])
    command_print("  (%" PRIu64 " without target)", info->unlabelled[split]);
  if (c->unknown)
    command_print("  (%" PRIu64 " of %" PRIu64 " labels unknown)", c->unknown,
                  (c->samples - info->unlabelled[split]) * info->classes);
  command_print("\n");
}

/* A class's name for a table; caller frees. */
static char *class_text(const filtra_dataset *ds, int32_t label) {
  if (label < 0) return ft_strdup("unknown");
  const char *name = filtra_dataset_class_name(ds, (uint32_t)label);
  char *text = ft_calloc(4 * strlen(name) + 1, 1);
  if (text) put_symbol(text, name);
  return text;
}

static filtra_status print_class(const filtra_dataset *ds, const census *splits, uint32_t label,
                                 int width) {
  char *text = class_text(ds, (int32_t)label);
  if (!text) return FILTRA_ERROR_HOST_MEMORY;
  command_print("  %-*s", width, text);
  free(text);
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    if (splits[i].samples) command_print(" %9" PRIu64, splits[i].per_class[label]);
  command_print("\n");
  return FILTRA_OK;
}

static filtra_status print_classes(const filtra_dataset *ds, const census *splits) {
  uint32_t classes = filtra_dataset_get_info(ds)->classes;
  uint32_t shown = classes < SHOWN_CLASSES ? classes : SHOWN_CLASSES;
  int width = 6;
  for (uint32_t label = 0; label < shown; label++) {
    char *text = class_text(ds, (int32_t)label);
    if (!text) return FILTRA_ERROR_HOST_MEMORY;
    if ((int)strlen(text) > width) width = (int)strlen(text);
    free(text);
  }
  command_print("\n  %-*s", width, "class");
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    if (splits[i].samples) command_print(" %9s", filtra_split_name(i));
  command_print("\n");
  for (uint32_t label = 0; label < shown; label++)
    FT_TRY(print_class(ds, splits, label, width));
  if (classes > shown) command_print("  and %u more\n", classes - shown);
  return FILTRA_OK;
}

static void print_vocabulary(const filtra_tokenizer *t) {
  uint32_t size = filtra_tokenizer_size(t);
  bool padding = !*filtra_tokenizer_symbol(t, 0); /* for pixels id 0 is black, not padding */
  command_print("\n  vocabulary \"%s\", %u ids%s:", filtra_tokenizer_name(t), size,
                padding ? ", 0 is padding" : "");
  for (uint32_t id = padding; id < size && id <= SHOWN_SYMBOLS; id++) {
    char *symbol = tokens_text(t, &(int32_t){(int32_t)id}, 1, 1);
    command_print(" %s", symbol ? symbol : "");
    free(symbol);
  }
  command_print("%s\n", size > SHOWN_SYMBOLS + 1 ? " ..." : "");
}

/* Prints the first sample's first vectors, with the first features of each. */
static filtra_status print_features(const filtra_dataset *ds, filtra_split split, uint32_t length) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  float *features = ft_calloc((size_t)length * info->features, sizeof *features);
  if (!features) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = filtra_dataset_sample_features(ds, split, 0, features);
  for (uint32_t i = 0; i < length && i < SHOWN_STEPS && !status; i++) {
    command_print("    ");
    for (uint32_t k = 0; k < info->features && k < SHOWN_FEATURES; k++)
      command_print(" %9.4g", (double)features[(size_t)i * info->features + k]);
    command_print("%s\n", info->features > SHOWN_FEATURES ? " ..." : "");
  }
  if (length > SHOWN_STEPS && !status) command_print("      ...\n");
  free(features);
  return status;
}

static filtra_status print_first(const filtra_dataset *ds) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  filtra_split split = first_split(info);
  filtra_sample s;
  FT_TRY(filtra_dataset_sample(ds, split, 0, &s));
  command_print("  first of %s", filtra_split_name(split));
  char *class = info->target == FILTRA_TARGET_CLASS ? class_text(ds, s.label) : NULL;
  if (class) command_print(", class %s", class);
  free(class);
  if (info->target == FILTRA_TARGET_VALUE && isnan(s.value)) command_print(", target unknown");
  if (info->target == FILTRA_TARGET_VALUE && !isnan(s.value))
    command_print(", target %g", (double)s.value);
  if (info->input == FILTRA_INPUT_FEATURES) {
    command_print(", %u steps:\n", s.length);
    return print_features(ds, split, s.length);
  }
  for (uint32_t i = 0; i < info->sequences; i++) {
    uint32_t length = i ? s.second_length : s.length;
    char *text = tokens_text(info->tokenizer, i ? s.second : s.tokens, length, SHOWN_TOKENS);
    if (!text) return FILTRA_ERROR_HOST_MEMORY;
    command_print("%s, %u tokens: %s\n", i ? "  its second sequence" : "", length, text);
    free(text);
  }
  return FILTRA_OK;
}

static int print_text(const char *path, const filtra_dataset *ds, const census *splits) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  command_print("%s: format %s", path, info->format);
  if (info->sequences == 2) command_print(", pairs of sequences");
  if (info->height) command_print(", images of %u x %u pixels", info->width, info->height);
  if (info->features)
    command_print(", %u feature%s a step", info->features, &"s"[info->features == 1]);
  if (info->classes)
    command_print(", %u %s", info->classes,
                  info->target == FILTRA_TARGET_LABELS ? "labels, any number a sample" : "classes");
  if (info->target == FILTRA_TARGET_VALUE) command_print(", targets are numbers");
  if (info->target == FILTRA_TARGET_NEXT) command_print(", for language models");
  if (info->columns) command_print("\n  reads %s", info->columns);
  command_print("\n\n  %-6s %9s %9s %9s %9s %11s", "split", "samples", "shortest", "mean",
                "longest", info->tokenizer ? "tokens" : "steps");
  if (info->target == FILTRA_TARGET_VALUE)
    command_print(" %12s %12s %12s", "lowest", "mean", "highest");
  command_print("\n");
  for (filtra_split i = FILTRA_SPLIT_TRAIN; i <= FILTRA_SPLIT_TEST; i++)
    print_split(info, i, &splits[i]);
  filtra_status status = info->classes ? print_classes(ds, splits) : FILTRA_OK;
  if (info->tokenizer) print_vocabulary(info->tokenizer);
  if (info->edge_types)
    command_print("  samples are graphs: tokens are their nodes, edges have %u type%s\n",
                  info->edge_types, &"s"[info->edge_types == 1]);
  if (!info->tokenizer) command_print("\n");
  if (!status) status = print_first(ds);
  return status ? command_fail("filtra data inspect", status) : COMMAND_DONE;
}

/* ---- as JSON ---- */

static json_t *counts_json(const uint64_t *counts, uint32_t classes) {
  json_t *list = json_array();
  for (uint32_t label = 0; label < classes; label++)
    json_array_append_new(list, json_integer(counts ? (json_int_t)counts[label] : (json_int_t)0));
  return list;
}

static json_t *split_json(const filtra_dataset_info *info, filtra_split which, const census *c) {
  json_t *split =
      json_pack("{sI sI sf sI sI}", "samples", (json_int_t)c->samples, "shortest",
                (json_int_t)c->shortest, "mean", c->mean, "longest", (json_int_t)c->longest,
                info->tokenizer ? "tokens" : "steps", (json_int_t)c->tokens);
  json_object_set_new(split, "per_class", counts_json(c->per_class, info->classes));
  if (info->target == FILTRA_TARGET_LABELS)
    json_object_set_new(split, "unknown_per_class",
                        counts_json(c->unknown_per_class, info->classes));
  uint64_t unknown = info->unlabelled[which];
  json_object_set_new(split, "unlabelled", json_integer((json_int_t)unknown));
  if (info->target == FILTRA_TARGET_VALUE && c->samples > unknown)
    json_object_set_new(split, "target",
                        json_pack("{sf sf sf}", "lowest", c->lowest_value, "mean", c->mean_value,
                                  "highest", c->top_value));
  return split;
}

static json_t *classes_json(const filtra_dataset *ds) {
  json_t *list = json_array();
  for (uint32_t i = 0; i < filtra_dataset_get_info(ds)->classes; i++)
    json_array_append_new(list, json_string(filtra_dataset_class_name(ds, i)));
  return list;
}

static json_t *tokens_json(const filtra_tokenizer *t, const int32_t *tokens, uint32_t length) {
  char *text = tokens_text(t, tokens, length, UINT32_MAX);
  json_t *string = text ? json_string(text) : NULL;
  free(text);
  return string;
}

static json_t *vocabulary_json(const filtra_tokenizer *t) {
  if (!t) return json_null();
  json_t *list = json_array();
  for (uint32_t id = 0; id < filtra_tokenizer_size(t); id++)
    ft_json_append(&list, tokens_json(t, &(int32_t){(int32_t)id}, 1));
  return list;
}

/* Features [length, features] as a list of lists. */
static filtra_status features_json(const filtra_dataset *ds, filtra_split split, uint32_t length,
                                   json_t **out) {
  uint32_t width = filtra_dataset_get_info(ds)->features;
  float *features = ft_calloc((size_t)length * width, sizeof *features);
  if (!features) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = filtra_dataset_sample_features(ds, split, 0, features);
  *out = status ? NULL : json_array();
  for (uint32_t i = 0; i < length && *out; i++) {
    json_t *step = json_array();
    for (uint32_t k = 0; k < width; k++)
      ft_json_append(&step, json_real(ft_shortest(features[(size_t)i * width + k])));
    ft_json_append(out, step);
  }
  free(features);
  return status;
}

/* null: the sample has no target. */
static json_t *labels_json(const filtra_sample *s, uint32_t first, uint32_t count) {
  if (s->label < 0) return json_null();
  json_t *list = json_array();
  for (uint32_t i = first; i < first + count; i++)
    ft_json_append(&list, json_integer(s->labels[i]));
  return list;
}

static json_t *edges_json(const filtra_sample *s) {
  json_t *list = json_array();
  for (const int32_t *e = s->edges; e < s->edges + (size_t)s->edge_count * 3; e += 3)
    json_array_append_new(list, json_pack("[i, i, i]", e[0], e[1], e[2]));
  return list;
}

static filtra_status first_json(const filtra_dataset *ds, json_t **out) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  filtra_split split = first_split(info);
  filtra_sample s;
  json_t *features;
  FT_TRY(filtra_dataset_sample(ds, split, 0, &s));
  json_t *first = *out =
      json_pack("{ss sI}", "split", filtra_split_name(split), "length", (json_int_t)s.length);
  if (info->target == FILTRA_TARGET_CLASS)
    json_object_set_new(first, "label", json_integer(s.label));
  if (info->target == FILTRA_TARGET_LABELS) {
    json_object_set_new(first, "labels", labels_json(&s, 0, s.label_count));
    json_object_set_new(first, "unknown", labels_json(&s, s.label_count, s.unknown_count));
  }
  if (info->target == FILTRA_TARGET_VALUE)
    json_object_set_new(first, "value",
                        isnan(s.value) ? json_null() : json_real(ft_shortest(s.value)));
  if (info->input == FILTRA_INPUT_FEATURES) {
    filtra_status status = features_json(ds, split, s.length, &features);
    if (!status) json_object_set_new(first, "features", features);
    return status;
  }
  first = ft_json_join(first,
                       json_pack("{so}", "text", tokens_json(info->tokenizer, s.tokens, s.length)));
  if (s.second)
    first = ft_json_join(first, json_pack("{so}", "second",
                                          tokens_json(info->tokenizer, s.second, s.second_length)));
  if (info->edge_types) first = ft_json_join(first, json_pack("{so}", "edges", edges_json(&s)));
  *out = first;
  return FILTRA_OK;
}

static int print_json(const char *path, const filtra_dataset *ds, const census *splits) {
  static const char *const inputs[] = {"tokens", "features"};
  static const char *const targets[] = {"class", "value", "next", "labels"};
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  json_t *all = json_object(), *first = NULL;
  filtra_status status = first_json(ds, &first);
  if (status) {
    json_decref(first);
    json_decref(all);
    return command_fail("filtra data inspect", status);
  }
  for (filtra_split i = FILTRA_SPLIT_TRAIN; i <= FILTRA_SPLIT_TEST; i++)
    json_object_set_new(all, filtra_split_name(i), split_json(info, i, &splits[i]));
  json_t *root = json_pack(
      "{ss ss ss ss si si si si si ss* ss* so so sb so so}", "path", path, "format", info->format,
      "input", inputs[info->input], "target", targets[info->target], "sequences",
      (int)info->sequences, "edge_types", (int)info->edge_types, "features", (int)info->features,
      "height", (int)info->height, "width", (int)info->width, "tokenizer",
      info->tokenizer ? filtra_tokenizer_name(info->tokenizer) : NULL, "columns", info->columns,
      "vocabulary", vocabulary_json(info->tokenizer), "classes", classes_json(ds),
      "validation_held_out", (int)info->validation_held_out, "splits", all, "first", first);
  return command_print_json("filtra data inspect", root);
}

/* ---- the command ---- */

/* Says why data with samples that lack a target cannot be trained with, if that is so. Those of
 * test data alone are left to predict, as filtra train says (ft_run_open_training). */
static void warn_of_targets(const char *path, const filtra_dataset_options *options,
                            const filtra_dataset_info *info) {
  filtra_dataset_options trained = *options;
  filtra_dataset *ds = NULL;
  const uint64_t *unknown = info->unlabelled;
  const uint64_t learnt = unknown[FILTRA_SPLIT_TRAIN] + unknown[FILTRA_SPLIT_VAL];
  if (!learnt && !unknown[FILTRA_SPLIT_TEST]) return;
  trained.unlabelled = false;
  ft_log_hold(); /* what training leaves out is what this says */
  const bool refused = filtra_dataset_open(path, &trained, &ds) != FILTRA_OK;
  ft_log_release(false);
  filtra_dataset_close(&ds);
  if (refused && (learnt || !info->count[FILTRA_SPLIT_TRAIN]))
    ft_log(FILTRA_LOG_WARNING, "these data can be predicted, not trained or evaluated with: %s",
           filtra_error_message());
  else if (unknown[FILTRA_SPLIT_TEST])
    ft_log(FILTRA_LOG_WARNING,
           "%" PRIu64 " of the %" PRIu64
           " test samples of %s have no target: they can be predicted, not evaluated",
           unknown[FILTRA_SPLIT_TEST], info->count[FILTRA_SPLIT_TEST], path);
}

/* As ft_model_fit refuses them. */
static void warn_of_one_class(const filtra_dataset *ds) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  if (info->target == FILTRA_TARGET_CLASS && info->classes == 1)
    ft_log(FILTRA_LOG_WARNING,
           "these data cannot be trained with: all samples of the data have one class, \"%s\": "
           "there is nothing to tell apart",
           filtra_dataset_class_name(ds, 0));
}

static int inspect(const char *path, const filtra_dataset_options *options, bool json,
                   const char *name) {
  filtra_dataset *ds;
  filtra_status status = filtra_dataset_open(path, options, &ds);
  if (status) return command_fail(name, status);
  census splits[FILTRA_SPLIT_COUNT] = {0};
  for (int i = 0; i < FILTRA_SPLIT_COUNT && !status; i++)
    status = count_split(ds, i, &splits[i]);
  int code;
  if (status)
    code = command_fail(name, status);
  else
    code = json ? print_json(path, ds, splits) : print_text(path, ds, splits);
  if (!status) warn_of_targets(path, options, filtra_dataset_get_info(ds));
  if (!status) warn_of_one_class(ds);
  for (int i = 0; i < FILTRA_SPLIT_COUNT; i++)
    free(splits[i].per_class);
  filtra_dataset_close(&ds);
  return code;
}

typedef struct inspect_arguments {
  filtra_dataset_options open;
  uint64_t max_vocabulary;
  uint64_t image_size;
  const char *delimiter, *quoting, *decimal, *task;
  bool json;
} inspect_arguments;

static const command_option OPTIONS[] = {
    COMMAND_TEXT("format", inspect_arguments, open.format),
    COMMAND_TEXT("tokenizer", inspect_arguments, open.tokenizer),
    COMMAND_TEXT("text-column", inspect_arguments, open.text_column),
    COMMAND_TEXT("target-column", inspect_arguments, open.target_column),
    COMMAND_TEXT("label-separator", inspect_arguments, open.label_separator),
    COMMAND_TEXT("feature-columns", inspect_arguments, open.feature_columns),
    COMMAND_TEXT("group-column", inspect_arguments, open.group_column),
    COMMAND_TEXT("time-column", inspect_arguments, open.time_column),
    COMMAND_TEXT("id-column", inspect_arguments, open.id_column),
    COMMAND_TEXT("delimiter", inspect_arguments, delimiter),
    COMMAND_TEXT("quoting", inspect_arguments, quoting),
    COMMAND_TEXT("decimal", inspect_arguments, decimal),
    COMMAND_TEXT("task", inspect_arguments, task),
    COMMAND_NUMBER("max-vocabulary", inspect_arguments, max_vocabulary, 0, 1 << 20),
    COMMAND_NUMBER("image-size", inspect_arguments, image_size, 1, 1024),
    COMMAND_FLAG("json", inspect_arguments, json),
    COMMAND_SET,
};

/* Finds the index of a name in a NULL-terminated list; without a name, 0. */
static bool pick(const char *command, const char *option, const char *name,
                 const char *const *names, int *out) {
  char accepted[128] = "";
  for (*out = 0; name && names[*out] && strcmp(name, names[*out]) != 0; ++*out)
    snprintf(accepted + strlen(accepted), sizeof accepted - strlen(accepted), "%s%s",
             *accepted ? ", " : "", names[*out]);
  if (!name || names[*out]) return true;
  command_misused(command, "--%s is \"%s\", accepted are %s", option, name, accepted);
  return false;
}

/* Takes the options that are enumerators' names. */
static bool take_names(const char *command, inspect_arguments *a) {
  static const char *const delimiters[] = {"auto", "comma", "tab", "semicolon", "pipe", NULL};
  static const char *const quotings[] = {"auto", "none", "full", NULL};
  static const char *const decimals[] = {"auto", "point", "comma", NULL};
  static const char *const tasks[] = {"auto", "classification", "regression", "multi_label", NULL};
  int delimiter, quoting, decimal, task;
  if (!pick(command, "delimiter", a->delimiter, delimiters, &delimiter) ||
      !pick(command, "quoting", a->quoting, quotings, &quoting) ||
      !pick(command, "decimal", a->decimal, decimals, &decimal) ||
      !pick(command, "task", a->task, tasks, &task))
    return false;
  a->open.delimiter = (filtra_delimiter)delimiter;
  a->open.quoting = (filtra_quoting)quoting;
  a->open.decimal = (filtra_decimal)decimal;
  a->open.targets = (filtra_targets)task;
  return true;
}

/* Samples are held out as runs hold them out. */
static filtra_status take_split_seed(uint64_t *seed) {
  json_t *keys;
  char *text;
  FT_TRY(filtra_config_complete("{\"data\": \"any\"}", "inspect", &text));
  filtra_status status = ft_json_parse(text, strlen(text), "inspect", &keys);
  filtra_free(text);
  if (status) return status;
  *seed = (uint64_t)json_integer_value(json_object_get(keys, "split_seed"));
  json_decref(keys);
  return FILTRA_OK;
}

int run_data_inspect(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .words = true};
  inspect_arguments a = {.open.verify_labels = true, .open.unlabelled = true};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  const filtra_status status = take_split_seed(&a.open.seed);
  if (status) return command_fail(argv[0], status);
  if (!take_names(argv[0], &a)) return COMMAND_USAGE;
  a.open.image_size = (uint32_t)a.image_size;
  if (optind == argc) return command_misused(argv[0], "the path is missing");
  if (optind + 1 < argc) return command_misused(argv[0], "what is \"%s\"?", argv[optind + 1]);
  a.open.max_vocabulary = (uint32_t)a.max_vocabulary;
  return inspect(argv[optind], &a.open, a.json, argv[0]);
}
