/* filtra convert: writes a model file in another element type. */
#include "base/file.h"
#include "base/memory.h"
#include "base/safetensors.h"
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
      "  -o, --out FILE     the new model file; replaces only a model file that no run has\n");
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

/* Whether a file lies in a run folder, links resolved. */
static bool is_of_run(const char *path) {
  char *full = ft_full_path(path), *folder = full ? ft_path_folder(full) : NULL;
  char *config = folder ? ft_path_join(folder, FILTRA_RUN_CONFIG) : NULL;
  const bool found = !config || ft_file_exists(config); /* when in doubt it is left alone */
  free(config);
  free(folder);
  free(full);
  return found;
}

/* By the key that docs/weights.md names. */
static bool is_model(const char *path) {
  ft_safetensors *file;
  if (ft_safetensors_open(path, &file)) return false;
  const bool found = ft_safetensors_meta(file, "filtra.config") != NULL;
  ft_safetensors_close(&file);
  return found;
}

/* command_check_replaced for files whose beginning tells nothing. */
static filtra_status check_replaced(const char *from, const char *out) {
  if (!ft_file_size(out) || ft_is_directory(out)) return FILTRA_OK;
  if (ft_same_file(from, out) || is_of_run(out))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "--out %s would replace %s: name another", out,
                   ft_same_file(from, out) ? "the model that is read" : "a file of a run");
  if (is_model(out)) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "--out %s would replace a file that this command did not write: name another",
                 out);
}

static int convert(const convert_arguments *a) {
  char *inside = ft_path_join(a->run, FILTRA_RUN_MODEL);
  if (!inside) return command_fail("filtra convert", FILTRA_ERROR_HOST_MEMORY);
  const char *from = ft_file_exists(inside) ? inside : a->run;
  filtra_status status = check_replaced(from, a->out);
  if (!status) status = filtra_model_convert(from, a->out, dtype_of(a->dtype));
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
