/* filtra export: writes a run's model as a folder that other programs load. */
#include "common/options.h"

#include <filtra/filtra.h>
#include <stdio.h>
#include <string.h>

typedef struct export_arguments {
  const char *out, *run, *format; /* run must not come first: offset 0 means none */
} export_arguments;

static void print_help(void) {
  command_print(
      "Usage: filtra export RUN --out DIR [OPTION]...\n"
      "Writes a model as a folder that Hugging Face's transformers loads, where it is one of\n"
      "their architectures: BERT, RoBERTa, DistilBERT, GPT-2, ViT or DeiT, trained from scratch\n"
      "or from an imported model. Filters in attention's place (gfsa, plaplacian, agf) come with\n"
      "a PyTorch module, which docs/pretrained.md explains.\n\n"
      "  --run RUN          the run folder, or a model file\n"
      "  -o, --out DIR      the new folder\n"
      "  --format hf        the only format so far\n");
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("run", export_arguments, run),
    COMMAND_OUT(export_arguments, out),
    COMMAND_TEXT("format", export_arguments, format),
};

int run_export(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help, .words = true,
                                    .run = offsetof(export_arguments, run)};
  export_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (!a.out && optind + 1 == argc) a.out = argv[optind++];
  if (optind < argc) return command_misused(argv[0], "what is \"%s\"?", argv[optind]);
  if (a.format && strcmp(a.format, "hf") != 0)
    return command_misused(argv[0], "--format is \"%s\", accepted is hf", a.format);
  if (!a.out || !*a.out) return command_misused(argv[0], "needs --out DIR");
  filtra_status status = filtra_model_export(a.run, a.out);
  if (status) return command_fail(argv[0], status);
  command_print("%s: written from %s\n", a.out, a.run);
  return COMMAND_DONE;
}
