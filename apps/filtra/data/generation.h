/* What the generators of data sets share: progress on a terminal, and stopping on Ctrl-C. */
#ifndef FILTRA_GENERATION_H
#define FILTRA_GENERATION_H

#include "common/command.h"

typedef struct generation {
  const char *things; /* that are made: "images" */
  bool terminal;
  double began, shown;
} generation;

/** Signals stop the generator from here on: the first in order, a second one at once. */
void generation_begin(generation *g, const char *things);
/** The generator's progress function; `user` is the generation. */
bool generation_continues(void *user, uint64_t done, uint64_t total);
/** Clears the line; returns the seconds since the beginning. */
double generation_end(const generation *g);

#endif
