/* filtra convert: writes a model file in another element type. */
#include "base/file.h"
#include "base/memory.h"
#include "common/options.h"

#include <filtra/run.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct convert_arguments {
  const char *out, *run, *dtype;
} convert_arguments;

static void print_help(void) {
  command_print(
      "Usage: filtra convert MODEL --dtype TYPE --out FILE\n"
      "Writes a model with weights of another type: half the file, and half the memory of the\n"
      "device for them. The new model computes in the precision that goes with the type.\n\n"
      "  --run MODEL        a model file, or a run folder, of which the best model is taken\n"
      "  --dtype TYPE       bf16, fp16 or fp32\n"
      "  -o, --out FILE     the new model file\n");
}

/* Finds an accepted type; FILTRA_I32 if the name is not one. */
static filtra_dtype dtype_of(const char *name) {
  static const struct {
    const char *name;
    filtra_dtype dtype;
  } types[] = {{"bf16", FILTRA_BF16}, {"fp16", FILTRA_F16}, {"fp32", FILTRA_F32}};
  for (size_t i = 0; name && i < FT_COUNT(types); i++)
    if (!strcmp(types[i].name, name)) return types[i].dtype;
  return FILTRA_I32;
}

static int convert(const convert_arguments *a) {
  char *inside = ft_path_join(a->run, FILTRA_RUN_MODEL);
  if (!inside) return command_fail("filtra convert", FILTRA_ERROR_HOST_MEMORY);
  const char *from = ft_file_exists(inside) ? inside : a->run;
  filtra_status status = filtra_model_convert(from, a->out, dtype_of(a->dtype));
  if (!status) command_print("%s: written from %s\n", a->out, from);
  free(inside);
  return status ? command_fail("filtra convert", status) : COMMAND_DONE;
}

static const command_option OPTIONS[] = {
    COMMAND_TEXT("run", convert_arguments, run),
    COMMAND_TEXT("dtype", convert_arguments, dtype),
    COMMAND_OUT(convert_arguments, out),
};

int run_convert(int argc, char **argv) {
  static const command_line line = {OPTIONS, FT_COUNT(OPTIONS), print_help,
                                    .run = offsetof(convert_arguments, run)};
  convert_arguments a = {0};
  int code = command_take(argc, argv, &line, &a);
  if (code >= 0) return code;
  if (!a.dtype || dtype_of(a.dtype) == FILTRA_I32)
    return command_misused(argv[0], "--dtype is %s, accepted are bf16, fp16 and fp32",
                           a.dtype ? a.dtype : "missing");
  if (!a.out || !*a.out) return command_misused(argv[0], "needs --out FILE");
  return convert(&a);
}
