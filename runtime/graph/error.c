/* A graph's first recording error, which compiling reports; host memory that is freed with the
 * graph, and objects that have to outlive it. */
#include "graph/tape.h"

#include "base/number.h"

#include <stdlib.h>

struct ft_memory_chunk {
  ft_memory_chunk *next;
  size_t used, size;
  _Alignas(16) unsigned char bytes[];
};

void *ft_graph_alloc(filtra_graph *g, size_t bytes) {
  if (g->status) return NULL;
  bytes = (bytes + 15) & ~(size_t)15;
  if (!g->memory || g->memory->size - g->memory->used < bytes) {
    size_t size = bytes > 65536 ? bytes : 65536;
    ft_memory_chunk *c = ft_calloc(1, sizeof *c + size);
    if (!c) return ft_graph_fail(g, FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    c->size = size;
    c->next = g->memory;
    g->memory = c;
  }
  void *p = g->memory->bytes + g->memory->used;
  g->memory->used += bytes;
  return p;
}

void ft_graph_hold(filtra_graph *g, unsigned *users) {
  for (const ft_hold *h = g->holds; h; h = h->next)
    if (h->users == users) return;
  ft_hold *h = ft_graph_alloc(g, sizeof *h);
  if (!h) return;
  *h = (ft_hold){users, g->holds};
  g->holds = h;
  ++*users;
}

void ft_graph_free_memory(filtra_graph *g) {
  for (ft_memory_chunk *c = g->memory; c;) {
    ft_memory_chunk *next = c->next;
    free(c);
    c = next;
  }
  free(g->error);
}

void *ft_graph_fail(filtra_graph *g, filtra_status status, const char *format, ...) {
  if (!ft_graph_accept(g, FILTRA_OK)) return NULL;
  g->status = status;
  va_list list;
  va_start(list, format);
  g->error = ft_format_list(format, list);
  va_end(list);
  if (g->program) ft_graph_status(g);
  return NULL;
}

void ft_graph_fail_context(filtra_graph *g, const char *format, ...) {
  va_list list;
  va_start(list, format);
  char *context = ft_format_list(format, list);
  va_end(list);
  char *whole = context && g->error ? ft_format("%s: %s", context, g->error) : NULL;
  free(context);
  if (!whole) return; /* the message says less */
  free(g->error);
  g->error = whole;
}

bool ft_graph_accept(filtra_graph *g, filtra_status status) {
  if (!g) ft_fail(FILTRA_ERROR_ARGUMENT, "an op was given no graph (NULL)");
  if (g && g->status && g->program) ft_graph_status(g); /* compiling will not report it */
  if (!g || g->status) return false;
  if (status) ft_graph_fail(g, status, "%s", filtra_error_message());
  return !status;
}

filtra_status ft_graph_status(const filtra_graph *g) {
  return g->status ? ft_fail(g->status, "%s", g->error ? g->error : "out of host memory")
                   : FILTRA_OK;
}
