#include "model/model.h"

#include "data/dataset.h"
#include "graph/graph.h"

#include <string.h>

/* Rows of the table of distances: 0, 1, .. edge_distances - 1, longer distances, no path, and pairs
 * with the virtual node. */
static int64_t distance_rows(const filtra_model_config *o) {
  return o->edge_distances + 2 + ft_model_front(o);
}

/* ---- the network ---- */

void ft_edges_declare(filtra_graph *g, const filtra_model_config *o, int64_t size, int64_t nodes,
                      ft_edge_tensors *out) {
  const int64_t tokens = nodes + ft_model_front(o), pairs = tokens * tokens;
  const int64_t hops[] = {size, pairs * o->edge_hops, 1};
  out->degrees = filtra_graph_input(g, "degrees", FILTRA_I32, 2, (int64_t[]){size, nodes});
  out->distances = filtra_graph_input(g, "distances", FILTRA_I32, 2, (int64_t[]){size, pairs});
  out->edges = filtra_graph_input(g, "path edges", FILTRA_I32, 2, hops);
  out->shares = filtra_graph_input(g, "path shares", FILTRA_F32, 3, hops);
}

static filtra_tensor *look_up(const ft_scope *scope, const char *name, int64_t rows,
                              int64_t columns, float spread, filtra_tensor *ids) {
  const filtra_parameter_options init = {.init = FILTRA_INIT_NORMAL, .value = spread};
  filtra_tensor *table = filtra_scope_parameter(scope, name, 2, (int64_t[]){rows, columns}, &init);
  return filtra_embedding(scope->graph, table, ids);
}

filtra_tensor *ft_edges_add_degrees(const ft_scope *scope, const filtra_model_config *o,
                                    const ft_edge_tensors *in, filtra_tensor *x) {
  return filtra_add(scope->graph, x,
                    look_up(scope, "degrees.weight", o->edge_degrees + 1, o->width,
                            o->embedding_init, in->degrees));
}

filtra_tensor *ft_edges_bias(const ft_scope *scope, const filtra_model_config *o,
                             const ft_edge_tensors *in) {
  filtra_graph *g = scope->graph;
  if (!ft_usable(g, in->degrees)) return NULL;
  const int64_t batch = in->degrees->shape[0], tokens = in->degrees->shape[1] + ft_model_front(o);
  const int64_t paths[] = {batch, tokens * tokens, o->edge_hops, o->heads},
                whole[] = {batch, tokens, tokens, o->heads};
  filtra_tensor *near = look_up(scope, "distances.weight", distance_rows(o), o->heads,
                                o->embedding_init, in->distances);
  filtra_tensor *along = look_up(scope, "path_edges.weight", o->edge_hops * o->edge_types, o->heads,
                                 o->embedding_init, in->edges);
  along = filtra_reshape(g, filtra_multiply(g, along, in->shares), 4, paths);
  filtra_tensor *bias = filtra_add(g, near, filtra_sum(g, along, 2, FILTRA_DROP_AXIS));
  return filtra_permute(g, filtra_reshape(g, bias, 4, whole), (int[]){0, 3, 1, 2});
}

/* ---- a batch ---- */

/* A graph's adjacency lists, and the tree of shortest paths from one node. */
typedef struct paths {
  int64_t nodes, hops, types;
  int32_t *begin;  /* [nodes + 1]: start of each node's neighbours */
  int32_t *to;     /* [2 edges] */
  int32_t *type;   /* [2 edges] */
  int32_t *length; /* [nodes]: length of the path; -1: none */
  int32_t *edges;  /* [nodes, hops]: rows of the table for the path's first edges */
  int32_t *queue;  /* [nodes] */
} paths;

static int64_t most_edges(int64_t nodes) {
  return nodes * (nodes - 1) / 2;
}

static size_t path_words(const filtra_model_config *o, int64_t nodes) {
  return (size_t)(3 * nodes + 1 + 4 * most_edges(nodes) + nodes * o->edge_hops);
}

static paths lay_out(const filtra_model_config *o, int64_t nodes, int32_t *words) {
  paths p = {.nodes = nodes, .hops = o->edge_hops, .types = o->edge_types};
  p.begin = words;
  p.to = words + nodes + 1;
  p.type = p.to + 2 * most_edges(nodes);
  p.length = p.type + 2 * most_edges(nodes);
  p.queue = p.length + nodes;
  p.edges = p.queue + nodes;
  return p;
}

/* Lists each node's neighbours in the order of the edges. */
static void list_neighbours(paths *p, const int32_t *edges, uint32_t count) {
  memset(p->begin, 0, (size_t)(p->nodes + 1) * sizeof *p->begin);
  for (const int32_t *e = edges; e < edges + count * FT_EDGE_WORDS; e += FT_EDGE_WORDS) {
    p->begin[e[0] + 1]++;
    p->begin[e[1] + 1]++;
  }
  for (int64_t i = 0; i < p->nodes; i++)
    p->begin[i + 1] += p->begin[i];
  memcpy(p->queue, p->begin, (size_t)p->nodes * sizeof *p->queue);
  for (const int32_t *e = edges; e < edges + count * FT_EDGE_WORDS; e += FT_EDGE_WORDS)
    for (int k = 0; k < 2; k++) {
      const int32_t at = p->queue[e[k]]++;
      p->to[at] = e[1 - k];
      p->type[at] = e[2];
    }
}

/* Breadth-first search; of several shortest paths it keeps the first one found. */
static void search(paths *p, int32_t from) {
  int64_t head = 0, tail = 0;
  memset(p->length, 0xff, (size_t)p->nodes * sizeof *p->length);
  p->length[from] = 0;
  p->queue[tail++] = from;
  while (head < tail) {
    const int32_t node = p->queue[head++], length = p->length[node];
    for (int32_t i = p->begin[node]; i < p->begin[node + 1]; i++) {
      const int32_t next = p->to[i];
      if (p->length[next] >= 0) continue;
      p->length[next] = length + 1;
      int32_t *way = p->edges + next * p->hops;
      memcpy(way, p->edges + node * p->hops, (size_t)p->hops * sizeof *way);
      if (length < p->hops) way[length] = (int32_t)(length * p->types) + p->type[i];
      p->queue[tail++] = next;
    }
  }
}

/* Arrays of one sample. */
typedef struct sample {
  int32_t *degrees, *distances, *edges;
  float *shares;
} sample;

static void set_pair(const filtra_model_config *o, const paths *p, int64_t to, int64_t pair,
                     sample *s) {
  const int64_t length = p->length[to];
  const int64_t hops = length < p->hops ? length : p->hops;
  s->distances[pair] = (int32_t)(length < 0                   ? o->edge_distances + 1
                                 : length < o->edge_distances ? length
                                                              : o->edge_distances);
  for (int64_t k = 0; k < hops; k++) {
    s->edges[pair * p->hops + k] = p->edges[to * p->hops + k];
    s->shares[pair * p->hops + k] = 1.0f / (float)hops;
  }
}

static void set_sample(const filtra_model_config *o, paths *p, int64_t tokens, sample *s) {
  const int64_t front = ft_model_front(o);
  for (int64_t i = 0; i < p->nodes; i++) {
    const int32_t degree = p->begin[i + 1] - p->begin[i];
    s->degrees[i] = degree < o->edge_degrees ? degree : (int32_t)o->edge_degrees;
    search(p, (int32_t)i);
    for (int64_t j = 0; j < p->nodes; j++)
      set_pair(o, p, j, (front + i) * tokens + front + j, s);
  }
  for (int64_t i = 0; front && i < tokens; i++)
    s->distances[i] = s->distances[i * tokens] = (int32_t)distance_rows(o) - 1;
}

size_t ft_edges_words(const filtra_model_config *o, int64_t size, int64_t nodes) {
  const int64_t tokens = nodes + ft_model_front(o), pairs = tokens * tokens;
  return (size_t)(size * (nodes + pairs + 2 * pairs * o->edge_hops)) + path_words(o, nodes);
}

filtra_status ft_edges_set(filtra_graph *g, const filtra_model_config *o, const ft_edge_tensors *t,
                           const filtra_batch *batch, int64_t first, int64_t end, void *words) {
  const int64_t size = t->degrees->shape[0], nodes = t->degrees->shape[1];
  const int64_t tokens = nodes + ft_model_front(o), pairs = tokens * tokens,
                hops = pairs * o->edge_hops;
  sample all = {.degrees = words};
  all.distances = all.degrees + size * nodes;
  all.edges = all.distances + size * pairs;
  all.shares = (float *)(all.edges + size * hops);
  int32_t *rest = (int32_t *)(all.shares + size * hops);
  memset(words, 0, ft_edges_words(o, size, nodes) * sizeof(int32_t));
  static const int32_t none[1];
  const int32_t *edges = batch->edges ? batch->edges : none;
  for (int64_t i = 0; i < end; edges += (size_t)batch->edge_counts[i] * FT_EDGE_WORDS, i++) {
    const int64_t row = i - first;
    if (row < 0) continue;
    paths p = lay_out(o, batch->lengths[i], rest);
    sample one = {all.degrees + row * nodes, all.distances + row * pairs, all.edges + row * hops,
                  all.shares + row * hops};
    list_neighbours(&p, edges, batch->edge_counts[i]);
    set_sample(o, &p, tokens, &one);
  }
  FT_TRY(filtra_graph_set(g, t->degrees, all.degrees));
  FT_TRY(filtra_graph_set(g, t->distances, all.distances));
  FT_TRY(filtra_graph_set(g, t->edges, all.edges));
  return filtra_graph_set(g, t->shares, all.shares);
}

filtra_status ft_edges_check(const filtra_model_config *o, const filtra_batch *b) {
  static const int32_t none[1];
  const int32_t *edge = b->edges ? b->edges : none;
  if (!ft_model_has_edges(o)) {
    if (!b->edge_counts && !b->edges) return FILTRA_OK;
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "batch: has edges where the model reads sequences (edge_types)");
  }
  for (int64_t i = 0; i < b->size; i++) {
    if (!b->edge_counts || (b->edge_counts[i] && !b->edges))
      return ft_fail(FILTRA_ERROR_ARGUMENT,
                     "batch: the model reads graphs: needs edge_counts and edges");
    filtra_status status =
        ft_check_edges(edge, b->edge_counts[i], (uint32_t)b->lengths[i], (uint32_t)o->edge_types);
    if (status) return ft_fail_context(status, "batch: sample %lld", (long long)i);
    edge += (size_t)b->edge_counts[i] * FT_EDGE_WORDS;
  }
  return FILTRA_OK;
}
