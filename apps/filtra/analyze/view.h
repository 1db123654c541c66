/* Parts of the page that show analyses. */
#ifndef FILTRA_VIEW_H
#define FILTRA_VIEW_H

#include "analyze.h"

#include <stdio.h>

/** Responses, learned filters and coefficients of one run, layer by layer (layers.c). */
void analyze_write_layers(FILE *to, const analysis *a);

#endif
