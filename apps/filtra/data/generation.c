#include "generation.h"

#include "base/file.h"
#include "common/system.h"

#include <inttypes.h>
#include <stdio.h>

void generation_begin(generation *g, const char *things) {
  command_catch_interrupts();
  *g = (generation){.things = things, .terminal = command_rewrites_line(), .began = ft_seconds()};
}

static void show(generation *g, uint64_t done, uint64_t total) {
  double now = ft_seconds();
  if (!g->terminal || now - g->shown < 0.2) return;
  g->shown = now;
  if (done) system_clear_line();
  if (done == total)
    fprintf(stderr, "writing %" PRIu64 " %s", total, g->things);
  else if (done > 0)
    fprintf(stderr, "%" PRIu64 " of %" PRIu64 " %s, %.0f s left", done, total, g->things,
            (now - g->began) * (double)(total - done) / (double)done);
  fflush(stderr);
}

bool generation_continues(void *user, uint64_t done, uint64_t total) {
  show(user, done, total);
  return !command_interrupted();
}

double generation_end(const generation *g) {
  if (g->terminal && g->shown > 0.0) system_clear_line();
  return ft_seconds() - g->began;
}
