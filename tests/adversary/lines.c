/* Line numbers of embedded kernels. The library's modules have none; when one is needed, the source
 * is compiled again with them, and its other instructions are checked to be the same. */
#include "adversary/program.h"
#include "adversary/report.h"
#include "adversary/single.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_KEPT = 64, COMMAND_BYTES = 2048 };

static struct kept {
  const char *name;
  adv_program *with_lines; /* NULL: there are none */
} kept[MAX_KEPT];
static size_t kept_count;

/* The arguments that the build compiled a kernel with: a line "NAME ARGUMENT...". */
static bool find_arguments(const char *name, char arguments[COMMAND_BYTES]) {
  FILE *file = fopen(ADVERSARY_KERNELS, "r");
  size_t length = strlen(name);
  bool found = false;
  while (file && !found && fgets(arguments, COMMAND_BYTES, file))
    found = !strncmp(arguments, name, length) && arguments[length] == ' ';
  if (file) fclose(file);
  if (!found) return false;
  arguments[strcspn(arguments, "\n")] = '\0';
  memmove(arguments, arguments + length + 1, strlen(arguments + length));
  return true;
}

static uint32_t *compile(const char *name, size_t *bytes) {
  char arguments[COMMAND_BYTES], command[2 * COMMAND_BYTES];
  if (!find_arguments(name, arguments)) return NULL;
  snprintf(command, sizeof command, "%s -g %s -o -", ADVERSARY_GLSLC, arguments);
  FILE *from = popen(command, "r");
  uint32_t *words = adv_read_words(from, bytes);
  if (from) pclose(from);
  return words;
}

static bool alike(const adv_program *p, const adv_program *other) {
  if (p->line_count != other->line_count) return false;
  for (size_t i = 0; i < p->line_count; i++)
    if (p->instructions[adv_function(p) + i].opcode !=
        other->instructions[adv_function(other) + i].opcode)
      return false;
  return true;
}

static const adv_program *twin_of(const adv_program *p) {
  for (size_t i = 0; i < kept_count; i++)
    if (!strcmp(kept[i].name, p->source.name)) return kept[i].with_lines;
  if (kept_count == MAX_KEPT) return NULL;
  struct kept *k = &kept[kept_count++];
  k->name = p->source.name;
  size_t bytes;
  uint32_t *words = compile(p->source.name, &bytes); /* lives as long as the program */
  if (!words) return NULL;
  adv_program *twin = adv_list(1, sizeof *twin);
  twin->source = (adv_source){.name = p->source.name, .words = words, .bytes = bytes};
  adv_parse(twin);
  if (!twin->failed && twin->has_lines && alike(p, twin)) k->with_lines = twin;
  return k->with_lines;
}

uint32_t adv_line_of(const adv_program *p, uint32_t at) {
  const adv_program *from = p->has_lines ? p : twin_of(p);
  return from && at < from->line_count ? from->lines[at] : 0;
}
