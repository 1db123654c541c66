/* Samples that are graphs, as Graphormer reads them (Ying et al. 2021): the inputs of attention
 * that their edges determine. Called by batch.c and network.c. */
#ifndef FT_MODEL_EDGES_H
#define FT_MODEL_EDGES_H

#include "nn/layers.h"

#include <filtra/model.h>

/** Inputs of the network besides the nodes [B,N]. M tokens form M M pairs: the nodes and, in front
 * of them, the class token if there is one, which is the virtual node. */
typedef struct ft_edge_tensors {
  filtra_tensor *degrees;   /* I32 [B,N]: row of the table of degrees */
  filtra_tensor *distances; /* I32 [B, M M]: row of the table of distances, for each pair */
  /* [B, M M K], for each of K edges on the shortest path of each pair: I32, row of the table of
   * edges; F32, 1 / the number of these edges, or 0 beyond the path's end */
  filtra_tensor *edges, *shares;
} ft_edge_tensors;

/** Whether samples are graphs. */
static inline bool ft_model_has_edges(const filtra_model_config *o) {
  return o->edge_types > 0;
}

/** Declares the inputs, for graphs of at most `nodes` nodes. */
void ft_edges_declare(filtra_graph *g, const filtra_model_config *o, int64_t size, int64_t nodes,
                      ft_edge_tensors *out);
/** 32-bit words of memory that ft_edges_set needs. */
size_t ft_edges_words(const filtra_model_config *o, int64_t size, int64_t nodes);
/** Sets the inputs from samples [first, end) of a batch; missing ones get zeros. */
filtra_status ft_edges_set(filtra_graph *g, const filtra_model_config *o, const ft_edge_tensors *t,
                           const filtra_batch *batch, int64_t first, int64_t end, void *words);
/** Fails with INPUT, naming the sample, unless a batch has edges and they fit. */
filtra_status ft_edges_check(const filtra_model_config *o, const filtra_batch *b);

/** Adds to x [B,N,C] an embedding of each node's degree (equation 5). */
filtra_tensor *ft_edges_add_degrees(const ft_scope *scope, const filtra_model_config *o,
                                    const ft_edge_tensors *in, filtra_tensor *x);
/** The bias of attention [B,H,M,M], the same for all layers: b of the distance (equation 6), plus
 * the mean over the edges of the shortest path of a weight for the edge's type and its place on the
 * path (equation 7). Edges after the first `edge_hops` do not count. */
filtra_tensor *ft_edges_bias(const ft_scope *scope, const filtra_model_config *o,
                             const ft_edge_tensors *in);

#endif
