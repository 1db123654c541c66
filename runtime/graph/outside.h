/* Buffers that an application and Filtra share. */
#ifndef FT_GRAPH_OUTSIDE_H
#define FT_GRAPH_OUTSIDE_H

#include "graph/tape.h"

/** Destroys the buffers that Filtra created for the graph's filtra_vulkan_input and _output. */
void ft_outside_free(filtra_graph *g);

#endif
