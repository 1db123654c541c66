/* filtra data inspect: what a data set holds. */
#include "base/memory.h"
#include "command.h"

#include "data/dataset.h"

#include <filtra/data.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_JSON = OPTION_FIRST_FREE, OPTION_HELP };

static void print_help(void) {
  printf("Usage: filtra data inspect PATH [--json]\n"
         "Reads a data set, a file or a folder, and says its format, splits, lengths, classes and\n"
         "vocabulary. Every line is checked, and labels that can be recomputed are.\n\n"
         "  --json       print one JSON object\n\nFormats:\n");
  for (size_t i = 0; i < ft_dataset_format_count; i++)
    printf("  %-12s %s\n", ft_dataset_formats[i]->name, ft_dataset_formats[i]->holds);
}

/* What is counted over one split. */
typedef struct census {
  uint64_t samples, *per_class; /* [classes] */
  uint32_t shortest, longest;
  double mean;
} census;

static filtra_status count_split(const filtra_dataset *ds, filtra_split split, census *c) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  *c = (census){.samples = info->count[split], .shortest = UINT32_MAX};
  c->per_class = ft_calloc(info->classes, sizeof *c->per_class);
  if (!c->per_class) return FILTRA_ERROR_HOST_MEMORY;
  uint64_t tokens = 0;
  for (uint64_t i = 0; i < c->samples; i++) {
    filtra_sample s;
    FT_TRY(filtra_dataset_sample(ds, split, i, &s));
    if (s.length < c->shortest) c->shortest = s.length;
    if (s.length > c->longest) c->longest = s.length;
    tokens += s.length;
    c->per_class[s.label]++;
  }
  if (c->samples == 0) c->shortest = 0;
  if (c->samples > 0) c->mean = (double)tokens / (double)c->samples;
  return FILTRA_OK;
}

/* The first sample as text, at most `limit` tokens of it; caller frees. NULL when out of memory. */
static char *first_text(const filtra_dataset *ds, uint32_t limit, filtra_split *split,
                        filtra_sample *sample) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  *split = FILTRA_TRAIN;
  while (info->count[*split] == 0)
    ++*split;
  if (filtra_dataset_sample(ds, *split, 0, sample)) return NULL;
  uint32_t shown = sample->length < limit ? sample->length : limit;
  size_t bytes = 8;
  for (uint32_t i = 0; i < shown; i++)
    bytes += strlen(filtra_tokenizer_symbol(info->tokenizer, sample->tokens[i])) + 1;
  char *text = ft_calloc(bytes, 1), *to = text;
  for (uint32_t i = 0; i < shown && text; i++) {
    if (i > 0) *to++ = ' ';
    to = stpcpy(to, filtra_tokenizer_symbol(info->tokenizer, sample->tokens[i]));
  }
  if (text && shown < sample->length) strcpy(to, " ...");
  return text;
}

/* ---- for people ---- */

static void print_split(const filtra_dataset_info *info, filtra_split split, const census *c) {
  printf("  %-6s %9" PRIu64, filtra_split_name(split), c->samples);
  if (c->samples > 0) printf(" %9u %9.1f %9u", c->shortest, c->mean, c->longest);
  if (split == FILTRA_VAL && info->validation_held_out) printf("  (held out of train)");
  putchar('\n');
}

static void print_classes(const filtra_dataset *ds, const census *splits) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  printf("\n  %-6s", "class");
  for (int i = 0; i < FILTRA_SPLITS; i++)
    if (splits[i].samples) printf(" %9s", filtra_split_name(i));
  putchar('\n');
  for (uint32_t label = 0; label < info->classes; label++) {
    printf("  %-6s", filtra_dataset_class_name(ds, label));
    for (int i = 0; i < FILTRA_SPLITS; i++)
      if (splits[i].samples) printf(" %9" PRIu64, splits[i].per_class[label]);
    putchar('\n');
  }
}

static int print_text(const char *path, const filtra_dataset *ds, const census *splits) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  filtra_split split;
  filtra_sample sample;
  char *text = first_text(ds, 40, &split, &sample);
  if (!text) return command_fail("filtra data inspect", FILTRA_ERROR_HOST_MEMORY);
  printf("%s: format %s\n\n  %-6s %9s %9s %9s %9s\n", path, info->format, "split", "samples",
         "shortest", "mean", "longest");
  for (filtra_split i = FILTRA_TRAIN; i <= FILTRA_TEST; i++)
    print_split(info, i, &splits[i]);
  print_classes(ds, splits);
  printf("\n  vocabulary \"%s\", ids from 0 (padding):", filtra_tokenizer_name(info->tokenizer));
  for (uint32_t id = 1; id < filtra_tokenizer_size(info->tokenizer); id++)
    printf(" %s", filtra_tokenizer_symbol(info->tokenizer, id));
  printf("\n  first of %s, class %s, %u tokens: %s\n", filtra_split_name(split),
         filtra_dataset_class_name(ds, (uint32_t)sample.label), sample.length, text);
  free(text);
  return COMMAND_DONE;
}

/* ---- for programs ---- */

static json_t *split_json(const census *c, uint32_t classes) {
  json_t *per_class = json_array();
  for (uint32_t label = 0; label < classes; label++)
    json_array_append_new(per_class, json_integer((json_int_t)c->per_class[label]));
  return json_pack("{s:I, s:I, s:f, s:I, s:o}", "samples", (json_int_t)c->samples, "shortest",
                   (json_int_t)c->shortest, "mean", c->mean, "longest", (json_int_t)c->longest,
                   "per_class", per_class);
}

static json_t *names_json(const filtra_dataset *ds, bool classes) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  uint32_t count = classes ? info->classes : filtra_tokenizer_size(info->tokenizer);
  json_t *list = json_array();
  for (uint32_t i = 0; i < count; i++)
    json_array_append_new(list, json_string(classes ? filtra_dataset_class_name(ds, i)
                                                    : filtra_tokenizer_symbol(info->tokenizer, i)));
  return list;
}

static int print_json(const char *path, const filtra_dataset *ds, const census *splits) {
  const filtra_dataset_info *info = filtra_dataset_get_info(ds);
  filtra_split split;
  filtra_sample sample;
  char *text = first_text(ds, UINT32_MAX, &split, &sample);
  json_t *all = json_object();
  for (filtra_split i = FILTRA_TRAIN; i <= FILTRA_TEST; i++)
    json_object_set_new(all, filtra_split_name(i), split_json(&splits[i], info->classes));
  json_t *root = json_pack(
      "{s:s, s:s, s:s, s:o, s:o, s:b, s:o, s:{s:s, s:s, s:i, s:I}}", "path", path, "format",
      info->format, "tokenizer", filtra_tokenizer_name(info->tokenizer), "vocabulary",
      names_json(ds, false), "classes", names_json(ds, true), "validation_held_out",
      (int)info->validation_held_out, "splits", all, "first", "split", filtra_split_name(split),
      "text", text, "label", (int)sample.label, "length", (json_int_t)sample.length);
  free(text);
  return command_print_json("filtra data inspect", root);
}

/* ---- the command ---- */

static int inspect(const char *path, bool json, const char *name) {
  filtra_dataset *ds;
  filtra_status status =
      filtra_dataset_open(path, &(filtra_dataset_options){.verify_labels = true}, &ds);
  if (status) return command_fail(name, status);
  census splits[FILTRA_SPLITS] = {0};
  for (int i = 0; i < FILTRA_SPLITS && !status; i++)
    status = count_split(ds, i, &splits[i]);
  int code;
  if (status)
    code = command_fail(name, status);
  else
    code = json ? print_json(path, ds, splits) : print_text(path, ds, splits);
  for (int i = 0; i < FILTRA_SPLITS; i++)
    free(splits[i].per_class);
  filtra_dataset_close(&ds);
  return code;
}

int run_data_inspect(int argc, char **argv) {
  static const struct option table[] = {
      {"json", no_argument, NULL, OPTION_JSON}, {"help", no_argument, NULL, OPTION_HELP}, {0}};
  bool json = false;
  for (int code; (code = getopt_long(argc, argv, "", table, NULL)) != -1;) {
    if (code == OPTION_HELP) {
      print_help();
      return COMMAND_DONE;
    }
    if (code != OPTION_JSON) return command_bad_option(argv[0]);
    json = true;
  }
  if (optind == argc) return command_misused(argv[0], "the path is missing");
  if (optind + 1 < argc) return command_misused(argv[0], "unexpected \"%s\"", argv[optind + 1]);
  return inspect(argv[optind], json, argv[0]);
}
