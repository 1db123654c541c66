/* The `filtra` command: runs the subcommand, prints warnings, and implements the functions of
 * command.h that all subcommands use. */
#include "base/json.h"
#include "base/number.h"
#include "common/command.h"
#include "common/plugins.h"
#include "common/system.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct command {
  const char *name, *summary;
  int (*run)(int argc, char **argv); /* argv[0] is "filtra NAME" */
} command;

static const command commands[] = {
    {"data", "generate data sets and look into them", run_data},
    {"devices", "list the Vulkan devices, what they can do, and which one would be used",
     run_devices},
    {"presets", "list the papers' recipes that can be trained by name", run_presets},
    {"train", "train a model, or resume an interrupted run", run_train},
    {"import", "make a run of a pretrained model, Hugging Face's or Filtra's", run_import},
    {"export", "write a model as a folder that Hugging Face's transformers loads", run_export},
    {"sweep", "train and evaluate a grid of runs from one file", run_sweep},
    {"eval", "evaluate a run's best model", run_eval},
    {"compare", "lay devices side by side, for speed and for agreement", run_compare},
    {"report", "make one table of runs, with learning curves", run_report},
    {"metrics", "write what a run logged as CSV or for TensorBoard", run_metrics},
    {"predict", "predict classes or values of texts", run_predict},
    {"convert", "write a model with weights of another type", run_convert},
    {"tokens", "print the token ids of texts, and the texts of ids", run_tokens},
    {"generate", "go on with a text by a language model", run_generate},
    {"analyze", "show what a run's mixers do to their tokens", run_analyze},
    {"bench", "time kernels on the device", run_bench},
    {"tune", "find the fastest configurations of kernels on the device", run_tune},
    {"kernels", "show what the device's compiler makes of the kernels", run_kernels},
    {"check", "run golden cases on the device and compare", run_check},
};

int command_exit_code(filtra_status status) {
  switch (status) {
  case FILTRA_OK:
    return COMMAND_DONE;
  case FILTRA_ERROR_ARGUMENT:
  case FILTRA_ERROR_INPUT:
  case FILTRA_ERROR_PATH:
    return COMMAND_USAGE;
  case FILTRA_ERROR_NO_DEVICE:
    return COMMAND_NO_DEVICE;
  case FILTRA_ERROR_DEVICE_LOST:
    return COMMAND_DEVICE_LOST;
  case FILTRA_ERROR_RANK:
    return COMMAND_RANK;
  default:
    return COMMAND_FAILED;
  }
}

int command_fail(const char *name, filtra_status status) {
  fprintf(stderr, "%s: %s\n", name, filtra_error_message());
  return command_exit_code(status);
}

int command_bad_option(const char *name) {
  fprintf(stderr, "Try '%s --help'.\n", name);
  return COMMAND_USAGE;
}

int command_misused(const char *name, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = ft_format_list(format, arguments);
  va_end(arguments);
  ft_fail(FILTRA_ERROR_ARGUMENT, "%s: %s", name, text ? text : "out of host memory");
  free(text);
  fprintf(stderr, "%s\n", filtra_error_message()); /* control characters are replaced */
  return command_bad_option(name);
}

bool command_number(const char *name, const char *option, const char *text, uint64_t low,
                    uint64_t high, uint64_t *value) {
  char *end;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  if (*text >= '0' && *text <= '9' && !*end && !errno && number >= low && number <= high) {
    *value = number;
    return true;
  }
  command_misused(name, "%s is \"%s\", not a whole number from %llu to %llu", option, text,
                  (unsigned long long)low, (unsigned long long)high);
  return false;
}

bool command_real(const char *name, const char *option, const char *text, double low, double high,
                  float *value) {
  char *end;
  double number = strtod(text, &end);
  if (end != text && !*end && number >= low && number <= high) {
    *value = (float)number;
    return true;
  }
  command_misused(name, "%s is \"%s\", not a number from %g to %g", option, text, low, high);
  return false;
}

static atomic_bool json_starved;

static void *allocate_json(size_t size) {
  void *p = malloc(size);
  if (!p) atomic_store(&json_starved, true);
  return p;
}

bool command_json_starved(void) {
  return atomic_load(&json_starved);
}

static int print_json(const char *name, json_t *root, size_t digits) {
  FILE *to = command_results();
  bool whole = root && !command_json_starved() &&
               !json_dumpf(root, to, JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
  if (whole) fputc('\n', to);
  json_decref(root);
  if (whole || ferror(to)) return COMMAND_DONE; /* main flushes and reports it */
  fprintf(stderr, "%s: cannot make JSON: out of memory, or a path that is not UTF-8\n", name);
  return COMMAND_FAILED;
}

int command_print_json(const char *name, json_t *root) {
  return print_json(name, root, 9);
}

int command_print_exact_json(const char *name, json_t *root) {
  return print_json(name, root, 17);
}

static void print_warning(void *user, filtra_log_level level, const char *message) {
  (void)user;
  if (level < FILTRA_LOG_WARNING) return;
  fprintf(stderr, "filtra: %s: %s\n", level == FILTRA_LOG_WARNING ? "warning" : "error", message);
}

static void print_help(FILE *to) {
  fprintf(to, "Usage: filtra COMMAND [OPTION]...\n"
              "Train and run graph-filter Transformers on any Vulkan device.\n\n");
  for (size_t i = 0; i < FT_COUNT(commands); i++)
    fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
  fprintf(to, "\n--plugin FILE, before or after COMMAND, loads a module with mixers of your own.\n"
              "'filtra help COMMAND' tells more; 'filtra devices --help' also lists the\n"
              "environment variables. Exit codes: 0 done, 1 failed, 2 wrong usage, input or path,\n"
              "3 no suitable device, 4 device lost, 5 another process of a run under mpirun died, "
              "hangs or\n"
              "does something else.\n");
}

static int run_command(int argc, char **argv) {
  for (size_t i = 0; i < FT_COUNT(commands); i++) {
    if (strcmp(argv[1], commands[i].name)) continue;
    char name[32]; /* getopt_long's messages begin with this */
    snprintf(name, sizeof name, "filtra %s", commands[i].name);
    argv[1] = name;
    return commands[i].run(argc - 1, argv + 1);
  }
  const char *near = ft_nearest_name(argv[1], commands, FT_COUNT(commands), sizeof *commands);
  return command_misused("filtra", "there is no command \"%s\"%s%s%s", argv[1],
                         near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

/* `filtra help data listops` runs `filtra data listops --help`. */
static int run_help(int argc, char **argv) {
  static char help[] = "--help";
  for (int i = 1; i + 1 < argc; i++)
    argv[i] = argv[i + 1];
  argv[argc - 1] = help;
  return run_command(argc, argv);
}

static int run(int argc, char **argv) {
  bool help = argc > 1 && !strcmp(argv[1], "help");
  if (argc < 2) {
    print_help(stderr);
    return COMMAND_USAGE;
  }
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || (help && argc == 2)) {
    print_help(command_results());
    return COMMAND_DONE;
  }
  if (!strcmp(argv[1], "--version")) {
    command_print("filtra %s (%s)\n", filtra_version(), filtra_commit);
    return COMMAND_DONE;
  }
  return help ? run_help(argc, argv) : run_command(argc, argv);
}

/* Whether the command prints an object: it has --json or an abbreviation that getopt_long
 * accepts. */
static bool prints_json(int argc, char **argv) {
  bool json = false;
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
    size_t length = strlen(argv[i]);
    if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return false;
    json |= length > strlen("--j") && !strncmp(argv[i], "--json", length);
  }
  return json;
}

/* False: a full disk or a closed pipe; errno gives the reason. */
static bool flush(FILE *stream) {
  if (fflush(stream)) return false;
  if (!ferror(stream)) return true;
  fputc('\n', stream); /* errno is lost: write one more byte to get it again */
  errno = EIO;
  fflush(stream);
  return false;
}

int main(int argc, char **argv) {
  argv = system_begin(argv);
  for (argc = 0; argv[argc];)
    argc++;
  if (prints_json(argc, argv))
    command_set_results_apart();
  else
    command_guard_terminal();
  filtra_log_set(print_warning, NULL);
  json_set_alloc_funcs(allocate_json, free);
  int code = command_load_plugins(&argc, argv);
  if (!code) code = run(argc, argv);
  bool failed = !flush(command_results()); /* the last chance to see a full disk or closed pipe */
  if (!failed || code != COMMAND_DONE) return code;
  fprintf(stderr, "filtra: cannot write to standard output: %s\n", strerror(errno));
  return COMMAND_FAILED;
}
