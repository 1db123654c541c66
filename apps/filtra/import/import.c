/* filtra import: makes a run folder of a model that was trained elsewhere. */
#include "common/options.h"
#include "common/sets.h"

#include <filtra/filtra.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct import_arguments {
  filtra_device_options device;
  const char *out, *run;
  command_sets sets;
} import_arguments;

static void print_help(void) {
  command_print(
      "Usage: filtra import PATH --out DIR [OPTION]...\n"
      "Makes a run folder of a model that was trained elsewhere: a folder with config.json and\n"
      "model.safetensors as Hugging Face's transformers write it (BERT, RoBERTa, DistilBERT,\n"
      "GPT-2, ViT, DeiT), or a model of Filtra's. docs/pretrained.md says what can be done "
      "then.\n\n"
      "  --run PATH         the same as PATH\n"
      "  -o, --out DIR      the new folder\n"
      "  --mixer NAME       another mixer in place of attention (key mixer)\n"
      "  --set KEY=VALUE    any key of a model, over the imported one's\n%s",
      device_options_help);
}

static void take_key(void *arguments, const char *name, const char *value) {
  import_arguments *a = arguments;
  if (!strcmp(name, "mixer"))
    command_add_text(&a->sets, name, value);
  else
    command_add_set(&a->sets, NULL, value);
}

static filtra_status import(const import_arguments *a) {
  filtra_device *device = NULL;
  char *text;
  filtra_status status = command_sets_text(&a->sets, &text);
  if (!status) status = filtra_device_open(&a->device, &device);
  if (!status) status = filtra_run_import(device, a->run, text, a->out);
  filtra_device_close(&device);
  free(text);
  return status;
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("run", import_arguments, run),
    COMMAND_OUT(import_arguments, out),
    COMMAND_KEY("mixer", take_key),
    COMMAND_KEY("set", take_key),
};

int run_import(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .opens_device = true,
                                    .run = offsetof(import_arguments, run)};
  import_arguments a = {.sets = {.list = json_array()}};
  int code = command_take(argc, argv, &line, &a);
  if (code < 0 && (!a.out || !*a.out)) code = command_misused(argv[0], "needs --out DIR");
  if (code < 0) {
    filtra_status status = import(&a);
    code = status ? command_fail(argv[0], status) : COMMAND_DONE;
    if (!status) command_print("%s: made from %s\n", a.out, a.run);
  }
  json_decref(a.sets.list);
  return code;
}
