/* Parts of the analyses' page. */
#ifndef FILTRA_VIEW_H
#define FILTRA_VIEW_H

#include "analyze.h"

#include <stdio.h>

/** Writes responses, learned filters and coefficients of one run, by layer (layers.c). */
void analyze_write_layers(FILE *to, const analysis *a);

#endif
