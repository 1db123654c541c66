/* Shared by generators of data sets: progress on a terminal, and stopping on Ctrl-C. */
#ifndef FILTRA_GENERATION_H
#define FILTRA_GENERATION_H

#include "common/command.h"

typedef struct generation {
  const char *things; /* what is generated: "images" */
  bool terminal;
  double began, shown;
} generation;

/** From now on the first signal stops the generator in order, the second at once. */
void generation_begin(generation *g, const char *things);
/** The generator's progress callback; `user` is the generation. */
bool generation_continues(void *user, uint64_t done, uint64_t total);
/** Clears the progress line; returns seconds since generation_begin. */
double generation_end(const generation *g);

#endif
