/* adversary KERNEL [OPTION=VALUE...] ARGUMENT...: runs one dispatch of a kernel of the build, by
 * name, or of a SPIR-V file, and prints findings and a trace of one invocation. */
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

/* A number with a point is a float. */
static uint32_t word_of(const char *text) {
  if (text[strcspn(text, "., ")] != '.') return (uint32_t)strtoul(text, NULL, 0);
  float x = strtof(text, NULL);
  uint32_t word;
  memcpy(&word, &x, sizeof word);
  return word;
}

/* The numbers of "key=A,B,..."; as many as there are. */
static uint32_t list_of(const char *text, const char *key, uint32_t *list, uint32_t most) {
  uint32_t count = 0;
  for (const char *at = adv_setting(text, key); at && count < most; count++) {
    list[count] = word_of(at);
    at += strcspn(at, ", ");
    at = *at == ',' ? at + 1 : NULL;
  }
  return count;
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
  return (source->words = adv_read_file(name, &source->bytes)) != NULL;
}

int main(int count, char **arguments) {
  adv_single s = {.groups = {1, 1, 1}, .source = {.workgroup = 64}};
  char settings[1000] = "";
  uint32_t spec[16], trace = 0;
  if (count < 2 || !find_kernel(arguments[1], &s.source)) {
    fputs(usage, stderr);
    if (count > 1) fprintf(stderr, "adversary: no kernel and no file is called %s\n", arguments[1]);
    return 2;
  }
  for (int i = 2; i < count; i++) {
    const size_t end = strlen(settings);
    if (strchr(arguments[i], '='))
      snprintf(settings + end, sizeof settings - end, " %s", arguments[i]);
    else if (!argument(arguments[i], &s)) {
      fprintf(stderr, "adversary: too many arguments at %s\n", arguments[i]);
      return 2;
    }
  }
  list_of(settings, "groups=", s.groups, 3);
  list_of(settings, "workgroup=", &s.source.workgroup, 1);
  s.source.spec_count = list_of(settings, "spec=", spec, 16);
  s.source.spec = spec;
  const adv_manner manner = adv_manner_read(settings);
  adv_report report = {.trace = list_of(settings, "trace=", &trace, 1) ? stdout : NULL,
                       .trace_group = 1};
  report.trace_lane = trace;
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
