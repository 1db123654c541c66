/* adversary KERNEL [OPTION=VALUE...] ARGUMENT...: one dispatch of a kernel of the build, by its
 * name, or of a file of SPIR-V, with what was found and a trace of one invocation. */
#include "adversary/single.h"
#include "gpu/kernels.h"

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: adversary KERNEL [OPTION=VALUE...] ARGUMENT...\n"
    "  KERNEL     folder/file[.variant], or the path of a SPIR-V file\n"
    "  ARGUMENT   what the push constants hold, in order: NAME:ELEMENTS a tensor (random numbers,\n"
    "             read and written), then scalars: 12 a whole number, 0.5 a float\n"
    "  groups=X,Y,Z  workgroup=N  spec=A,B,...  constants 1, 2, ...; with a point: floats\n"
    "  seed=S  subgroup=N  rounding=1  uniform=subgroup   as in FILTRA_ADVERSARY\n"
    "  trace=I    prints what invocation I of the first workgroup computes\n"
    "for example: adversary scale_norm/forward workgroup=32 trace=0 seed=1 x:20 gain:5 y:20 norm:4 "
    "4 5 0.00001\n";

static uint32_t word_of(const char *text) {
  if (!strpbrk(text, ".")) return (uint32_t)strtoul(text, NULL, 0);
  float x = strtof(text, NULL);
  uint32_t word;
  memcpy(&word, &x, sizeof word);
  return word;
}

static uint32_t list_of(char *text, uint32_t *list, uint32_t most) {
  uint32_t count = 0;
  for (char *part = strtok(text, ","); part && count < most; part = strtok(NULL, ","))
    list[count++] = word_of(part);
  return count;
}

/* The value of "key=value"; NULL if the argument is another. */
static char *value_of(char *argument, const char *key) {
  size_t length = strlen(key);
  return strncmp(argument, key, length) || argument[length] != '=' ? NULL : argument + length + 1;
}

typedef struct options {
  uint64_t seed;
  uint32_t subgroup, trace, spec[16];
  bool rounding, by_subgroups, traced;
} options;

static bool option(char *text, adv_single *s, options *o) {
  char *value;
  if ((value = value_of(text, "groups")))
    list_of(value, s->groups, 3);
  else if ((value = value_of(text, "workgroup")))
    s->source.workgroup = word_of(value);
  else if ((value = value_of(text, "spec")))
    s->source.spec_count = list_of(value, o->spec, 16);
  else if ((value = value_of(text, "seed")))
    o->seed = strtoull(value, NULL, 10);
  else if ((value = value_of(text, "subgroup")))
    o->subgroup = word_of(value);
  else if ((value = value_of(text, "rounding")))
    o->rounding = word_of(value);
  else if ((value = value_of(text, "uniform")))
    o->by_subgroups = !strcmp(value, "subgroup");
  else if ((value = value_of(text, "trace")))
    o->trace = word_of(value), o->traced = true;
  return value != NULL;
}

static bool argument(char *text, adv_single *s) {
  char *colon = strchr(text, ':');
  if (!colon) {
    if (s->scalar_count == ADV_MAX_SCALARS) return false;
    s->scalars[s->scalar_count++] = word_of(text);
    return true;
  }
  if (s->tensor_count == ADV_MAX_TENSORS) return false;
  *colon = '\0';
  s->tensors[s->tensor_count].name = text;
  s->tensors[s->tensor_count].elements = strtoull(colon + 1, NULL, 10);
  s->tensors[s->tensor_count].read = s->tensors[s->tensor_count].write = true;
  s->tensor_count++;
  return true;
}

static bool find_kernel(const char *name, adv_source *source) {
  source->name = name;
  for (const ft_kernel_source *k = ft_kernel_sources; k->name; k++)
    if (!strcmp(k->name, name)) {
      source->words = k->words;
      source->bytes = k->bytes;
      return true;
    }
  return (source->words = adv_read_words(name, &source->bytes)) != NULL;
}

int main(int count, char **arguments) {
  adv_single s = {.groups = {1, 1, 1}, .source = {.workgroup = 64}};
  options o = {0};
  if (count < 2) {
    fputs(usage, stderr);
    return 2;
  }
  if (!find_kernel(arguments[1], &s.source)) {
    fprintf(stderr, "adversary: no kernel and no file is called %s\n", arguments[1]);
    return 2;
  }
  for (int i = 2; i < count; i++)
    if (!option(arguments[i], &s, &o) && !argument(arguments[i], &s)) {
      fprintf(stderr, "adversary: too many arguments at %s\n", arguments[i]);
      return 2;
    }
  s.source.spec = o.spec;
  adv_manner manner = adv_manner_of(o.seed, o.subgroup, o.rounding);
  manner.by_subgroups = o.by_subgroups;
  adv_report report = {.trace = o.traced ? stdout : NULL, .trace_lane = o.trace, .trace_group = 1};
  adv_memory memory = {0};
  filtra_status status = adv_single_run(&s, &manner, &memory, &report);
  if (status) fprintf(stderr, "adversary: %s\n", filtra_error_message());
  printf("%llu operations, %zu findings\n", (unsigned long long)report.operations, report.count);
  adv_report_print(&report, stdout);
  bool found = report.count != 0;
  adv_report_clear(&report);
  adv_memory_destroy(&memory);
  return status ? 2 : found;
}
