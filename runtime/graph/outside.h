/* Buffers that an application and Filtra share. */
#ifndef FT_GRAPH_OUTSIDE_H
#define FT_GRAPH_OUTSIDE_H

#include "graph/tape.h"

/** Destroys the buffers that Filtra made for the graph's inputs and outputs outside of it. */
void ft_outside_free(filtra_graph *g);

#endif
