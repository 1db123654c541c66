/* Parses a subcommand's command line by its table, with getopt_long. Called by the subcommands. */
#include "common/options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OPTIONS = 32, FIRST_CODE = OPTION_FIRST_FREE };

const char precision_option_help[] =
    "  --precision P      compute in fp32, bf16 or fp16 instead of what the model says\n";

static bool take_precision(const char *command, const char *value, const filtra_precision **out) {
  static const filtra_precision all[] = {FILTRA_PRECISION_FP32, FILTRA_PRECISION_BF16,
                                         FILTRA_PRECISION_FP16};
  for (size_t i = 0; i < FT_COUNT(all); i++)
    if (!strcmp(value, filtra_precision_name(all[i]))) {
      *out = &all[i];
      return true;
    }
  command_misused(command, "--precision is %s, accepted are fp32, bf16 and fp16", value);
  return false;
}

static bool take(const char *command, const command_option *o, const char *value, char *arguments) {
  char name[64];
  snprintf(name, sizeof name, "--%s", o->name);
  switch (o->kind) {
  case OPTION_FLAG:
    *(bool *)(arguments + o->offset) = true;
    return true;
  case OPTION_TEXT:
    *(const char **)(arguments + o->offset) = value;
    return true;
  case OPTION_NUMBER:
    return command_number(command, name, value, o->low, o->high,
                          (uint64_t *)(arguments + o->offset));
  case OPTION_REAL:
    return command_real(command, name, value, o->least, o->most, (float *)(arguments + o->offset));
  case OPTION_PRECISION:
    return take_precision(command, value, (const filtra_precision **)(arguments + o->offset));
  default:
    o->take(arguments, o->name, value);
    return true;
  }
}

/* Whether a key, up to "=", is an option's name; the option has dashes in place of underscores. */
static bool is_key(const command_option *o, const char *key, size_t length) {
  if (o->kind == OPTION_FLAG || o->kind == OPTION_SET || strlen(o->name) != length) return false;
  for (size_t i = 0; i < length; i++)
    if (key[i] != o->name[i] && !(key[i] == '_' && o->name[i] == '-')) return false;
  return true;
}

static bool take_set(const char *command, const command_line *line, const char *text,
                     char *arguments) {
  const size_t length = strcspn(text, "=");
  char keys[512] = "";
  for (size_t i = 0; i < line->count; i++) {
    const command_option *o = &line->options[i];
    if (text[length] && is_key(o, text, length))
      return take(command, o, text + length + 1, arguments);
    if (o->kind == OPTION_FLAG || o->kind == OPTION_SET) continue;
    snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s%s", *keys ? ", " : "", o->name);
  }
  for (char *dash = keys; (dash = strchr(dash, '-'));)
    *dash = '_';
  command_misused(command, "--set is \"%s\", accepted are KEY=VALUE with %s", text, keys);
  return false;
}

/* The option for a code that getopt_long returned; NULL: a device option. */
static const command_option *find(const command_line *line, int code) {
  if (code >= FIRST_CODE) return &line->options[code - FIRST_CODE];
  for (size_t i = 0; i < line->count; i++)
    if (line->options[i].letter && line->options[i].letter == code) return &line->options[i];
  return NULL;
}

/* Whether an option has one value: giving it twice would lose the first. */
static bool takes_one(const command_option *o) {
  return o->kind == OPTION_TEXT || o->kind == OPTION_NUMBER || o->kind == OPTION_REAL ||
         o->kind == OPTION_PRECISION;
}

int command_take(int argc, char **argv, const command_line *line, void *arguments) {
  static const struct option device_options[] = {DEVICE_OPTIONS};
  struct option table[MOST_OPTIONS] = {{"help", no_argument, NULL, 'h'}};
  const char *given[MOST_OPTIONS] = {0}; /* the values of options that take one */
  char letters[2 * MOST_OPTIONS + 1] = "h";
  size_t rows = 1;
  for (size_t i = 0; i < FT_COUNT(device_options) && line->opens_device; i++)
    table[rows++] = device_options[i];
  assert(rows + line->count < MOST_OPTIONS);
  for (size_t i = 0; i < line->count; i++) {
    const command_option *o = &line->options[i];
    int argument = o->kind == OPTION_FLAG ? no_argument : required_argument;
    table[rows++] = (struct option){o->name, argument, NULL, FIRST_CODE + (int)i};
    if (o->letter) sprintf(letters + strlen(letters), "%c%s", o->letter, argument ? ":" : "");
  }
  for (int code; (code = getopt_long(argc, argv, letters, table, NULL)) != -1;) {
    if (code == 'h') {
      if (line->print_topic && optind < argc) return line->print_topic(argv[optind]);
      line->print_help();
      return COMMAND_DONE;
    }
    if (code == '?') return command_bad_option(argv[0]);
    const command_option *o = find(line, code);
    const char **before = o && takes_one(o) ? &given[o - line->options] : NULL;
    if (before && *before)
      return command_misused(argv[0], "--%s is given twice, as \"%s\" and \"%s\"", o->name, *before,
                             optarg);
    if (before) *before = optarg;
    const bool taken = !o ? take_device_option(argv[0], code, optarg, arguments)
                       : o->kind == OPTION_SET ? take_set(argv[0], line, optarg, arguments)
                                               : take(argv[0], o, optarg, arguments);
    if (!taken) return COMMAND_USAGE;
  }
  const char **run = line->run ? (const char **)((char *)arguments + line->run) : NULL;
  if (run && !*run && optind < argc) *run = argv[optind++];
  if (run && !*run)
    return command_misused(argv[0], "which run? Give its folder: %s runs/agf", argv[0]);
  if (optind < argc && !line->words)
    return command_misused(argv[0], "what is \"%s\"?", argv[optind]);
  return -1;
}

bool command_listed(const char *list, const char *name) {
  size_t length = strlen(name);
  if (!list || !strcmp(list, "all")) return list != NULL;
  for (const char *at = list; at; at = strchr(at, ','), at += at != NULL)
    if (!strncmp(at, name, length) && (at[length] == ',' || !at[length])) return true;
  return false;
}

bool command_all_known(const char *list, bool (*exists)(const char *name),
                       char unknown[COMMAND_LISTED]) {
  if (!list || !strcmp(list, "all")) return true;
  for (const char *at = list; at; at = strchr(at, ','), at += at != NULL) {
    snprintf(unknown, COMMAND_LISTED, "%.*s", (int)strcspn(at, ","), at);
    if (!exists(unknown)) return false;
  }
  return true;
}
