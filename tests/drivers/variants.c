/* Which kernels a driver accepts: reads lines "variant: NAME WORKGROUP SUBGROUP CONSTANT..." of the
 * adversary's reports (tests/adversary), creates a pipeline for each in its own process, since a
 * driver may crash, and prints the outcome and which of the faults in docs/devices.md the module
 * could meet, by its instructions. */
#include "gpu/internal.h"
#include "support/harness.h"

#include <sys/wait.h>
#include <unistd.h>

enum { HEADER_WORDS = 5, PHYSICAL_STORAGE_BUFFER = 5349 };
enum {
  OP_TYPE_POINTER = 32,
  OP_LOAD = 61,
  OP_COMPOSITE_EXTRACT = 81,
  OP_BITCAST = 124,
  OP_SELECT = 169,
  OP_PHI = 245,
  OP_LOOP_MERGE = 246,
  OP_COPY_LOGICAL = 400
};

/* Per id: whether it is the type of references to buffers, or a value of such a type. */
typedef struct ids {
  bool *types, *values;
} ids;

static const char *fault_of(const uint32_t *w, ids of) {
  switch (w[0] & 0xffff) {
  case OP_PHI:
  case OP_SELECT:
    return of.types[w[1]] ? "reference_choice" : NULL;
  case OP_BITCAST:
    return of.types[w[1]] && of.values[w[3]] ? "reference_cast" : NULL;
  case OP_COMPOSITE_EXTRACT:
    return of.types[w[1]] ? "reference_in_struct" : NULL;
  case OP_LOOP_MERGE:
    return "value_after_loop";
  default:
    return NULL;
  }
}

static void print_faults(const ft_kernel_source *s) {
  static const char *const all[] = {"reference_choice", "reference_cast", "reference_in_struct",
                                    "value_after_loop"};
  bool found[FT_COUNT(all)] = {false};
  const uint32_t *end = s->words + s->bytes / sizeof *s->words;
  ids of = {calloc(s->words[3], sizeof(bool)), calloc(s->words[3], sizeof(bool))};
  for (const uint32_t *w = s->words + HEADER_WORDS; w < end && of.types && of.values;
       w += *w >> 16) {
    if ((*w & 0xffff) == OP_TYPE_POINTER) of.types[w[1]] = w[2] == PHYSICAL_STORAGE_BUFFER;
    /* what has a type: loads, accesses and computations; all have it first, then their id */
    if ((*w & 0xffff) >= OP_LOAD && *w >> 16 > 2 && w[1] < s->words[3] && w[2] < s->words[3] &&
        of.types[w[1]])
      of.values[w[2]] = true;
    const char *fault = fault_of(w, of);
    for (size_t i = 0; fault && i < FT_COUNT(all); i++)
      found[i] = found[i] || !strcmp(all[i], fault);
  }
  for (size_t i = 0; i < FT_COUNT(all); i++)
    if (found[i]) printf(" %s", all[i]);
  free(of.types);
  free(of.values);
}

/* "taken", "refused" or "crash" */
static const char *outcome_of(const ft_kernel_key *key) {
  int state = 0;
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    filtra_device *dev = NULL;
    ft_pipeline *pipeline;
    if (filtra_device_open(&(filtra_device_options){.select = "cpu", .cache_dir = ""}, &dev))
      _exit(2);
    _exit(ft_pipelines_get(dev, key, 1, &pipeline) ? 1 : 0);
  }
  if (child < 0 || waitpid(child, &state, 0) != child) return "lost";
  return WIFSIGNALED(state) ? "crash" : WEXITSTATUS(state) ? "refused" : "taken";
}

static bool parse(char *line, ft_kernel_key *key) {
  char *word = strtok(line, " \n");
  if (!word || strcmp(word, "variant:")) return false;
  key->kernel = strtok(NULL, " \n");
  word = strtok(NULL, " \n");
  key->workgroup = word ? (uint32_t)strtoul(word, NULL, 10) : 0;
  word = strtok(NULL, " \n");
  key->subgroup = word ? (uint32_t)strtoul(word, NULL, 10) : 0;
  while ((word = strtok(NULL, " \n")) && key->spec_count < FT_MAX_SPEC)
    key->spec[key->spec_count++] = (uint32_t)strtoul(word, NULL, 16);
  return key->kernel && key->workgroup;
}

int main(void) {
  char line[512];
  while (fgets(line, sizeof line, stdin)) {
    ft_kernel_key key = {0};
    if (!parse(line, &key)) continue;
    printf("%-7s %s", outcome_of(&key), key.kernel);
    for (const ft_kernel_source *s = ft_kernel_sources; s->name; s++)
      if (!strcmp(s->name, key.kernel)) print_faults(s);
    putchar('\n');
  }
  return 0;
}
