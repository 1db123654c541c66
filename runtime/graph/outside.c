/* Inputs and outputs of graphs in buffers that an application and Filtra share, and runs between an
 * application's semaphores (filtra/vulkan.h). Called by applications. */
#include "graph/outside.h"

#include "graph/program.h"

#include <filtra/vulkan.h>
#include <string.h>

/** A tensor's place in a shared buffer. */
struct ft_outside {
  ft_outside *next;
  const ft_storage *storage;
  ft_buffer *buffer;          /* `made` of the first place in the same buffer */
  ft_buffer made;             /* used if this is that first place */
  bool own;                   /* Filtra allocated `made` */
  filtra_vulkan_range *given; /* the caller's range; NULL: own */
};

/* ---- places ---- */

/* Finds the ft_buffer of an earlier place in the same buffer of Vulkan: barriers follow from shared
 * buffers. */
static ft_buffer *same_buffer(const filtra_graph *g, const ft_buffer *buffer) {
  for (ft_outside *o = g->outside; o; o = o->next)
    if (o->buffer == &o->made && o->made.buffer == buffer->buffer) return &o->made;
  return NULL;
}

static filtra_status take(filtra_graph *g, const filtra_vulkan_range *range, uint64_t bytes,
                          ft_outside *o, uint64_t *offset) {
  FT_TRY(ft_check_adopted(g->device));
  *offset = 0;
  o->own = !range;
  if (!range) return ft_buffer_zeroed(g->device, bytes, &o->made);
  o->given = ft_graph_alloc(g, sizeof *o->given);
  if (!o->given) return FILTRA_ERROR_HOST_MEMORY;
  *o->given = *range;
  return ft_buffer_adopt(g->device, range, bytes, &o->made, offset);
}

/* A new place; NULL after an error, which names the tensor. */
static ft_outside *new_place(filtra_graph *g, const char *what, const char *name, uint64_t bytes,
                             const filtra_vulkan_range *range, uint64_t *offset) {
  ft_outside *o = ft_graph_alloc(g, sizeof *o);
  if (!o) return NULL;
  filtra_status status = take(g, range, bytes, o, offset);
  if (status) {
    ft_graph_accept(g, ft_fail_context(status, "%s %s", what, name));
    return NULL;
  }
  ft_buffer *before = same_buffer(g, &o->made);
  if (before && before->size < o->made.size) before->size = o->made.size;
  o->buffer = before ? before : &o->made;
  o->next = g->outside;
  return g->outside = o;
}

void ft_outside_free(filtra_graph *g) {
  for (ft_outside *o = g->outside; o; o = o->next)
    if (o->own) ft_buffer_destroy(g->device, &o->made);
  g->outside = NULL;
}

/* Whether the tensor is its whole storage, in storage order. */
static bool is_whole(const filtra_tensor *t) {
  return ft_dense(t) && !t->offset &&
         ft_dtype_extent(t->storage->dtype, filtra_tensor_elements(t)) == t->storage->bytes;
}

static const ft_outside *place_of(const filtra_tensor *t) {
  const ft_outside *o = t->graph->outside;
  while (o && o->storage != t->storage)
    o = o->next;
  return o;
}

filtra_status filtra_vulkan_range_of(const filtra_tensor *t, filtra_vulkan_range *range) {
  FT_NEED(t, range);
  const ft_outside *o = place_of(t);
  if (!o)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "%s is no tensor of filtra_vulkan_input or filtra_vulkan_output", t->name);
  if (!is_whole(t))
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "%s %s is a part of another tensor or stored in another order; only all of that "
                   "has a range",
                   t->name, ft_shape_text(t));
  if (o->given)
    *range = *o->given;
  else
    ft_buffer_tell(o->buffer, o->storage->offset, range);
  return FILTRA_OK;
}

/* ---- inputs and outputs ---- */

static bool recording(filtra_graph *g, const char *what, const char *name) {
  if (!g->program) return true;
  ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "%s %s: the graph is compiled", what, name);
  return false;
}

filtra_tensor *filtra_vulkan_input(filtra_graph *g, const char *name, filtra_dtype dtype, int ndim,
                                   const int64_t *shape, const filtra_vulkan_range *range) {
  if (!ft_graph_accept(g, ft_check_declaration("input", name, shape))) return NULL;
  if (!recording(g, "input", name)) return NULL;
  filtra_tensor *t = ft_tensor_external(g, name, dtype, ndim, shape, NULL, 0);
  if (!t) return NULL;
  ft_storage *s = t->storage;
  ft_outside *o = new_place(g, "input", name, s->bytes, range, &s->offset);
  if (!o) return NULL;
  s->buffer = o->buffer;
  s->shared = true;
  o->storage = s;
  t->input = true;
  return t;
}

static bool is_input(const filtra_graph *g, const ft_storage *s) {
  for (size_t i = 0; i < g->tape.input_count; i++)
    if (g->tape.inputs[i].tensor->storage == s) return true;
  return false;
}

static bool may_leave(filtra_graph *g, const filtra_tensor *t) {
  const ft_storage *s = t->storage;
  if (!recording(g, "output", t->name)) return false;
  if (s->home != FT_HOME_ARENA || s->pinned || is_input(g, s))
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "output %s: it is an input, a parameter or an output already; filtra_permute "
                  "makes a copy",
                  t->name);
  else if (!is_whole(t))
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "output %s %s: it is a part of another tensor or stored in another order; "
                  "filtra_permute makes a dense one",
                  t->name, ft_shape_text(t));
  return !g->status;
}

filtra_tensor *filtra_vulkan_output(filtra_graph *g, filtra_tensor *t,
                                    const filtra_vulkan_range *range) {
  if (!ft_usable(g, t) || !may_leave(g, t)) return NULL;
  uint64_t offset;
  ft_storage *s = t->storage;
  ft_outside *o = new_place(g, "output", t->name, s->bytes, range, &offset);
  if (!o) return NULL;
  o->storage = s;
  s->home = FT_HOME_BUFFER;
  s->buffer = o->buffer;
  s->offset = offset;
  s->pinned = s->shared = true;
  return t;
}

/* ---- runs ---- */

filtra_status filtra_vulkan_submit(filtra_graph *g, const filtra_vulkan_run *run,
                                   uint64_t *ticket) {
  FT_NEED(g, run);
  FT_TRY(ft_check_adopted(g->device));
  FT_TRY(ft_check_run(run));
  return ft_graph_submit_between(g, run, ticket);
}
