/* The order of calls. Between two barriers a device overlaps what it is given, and a small call
 * that stands there alone leaves most of a GPU idle. So a stretch takes, of the next calls on the
 * tape, all that need nothing of one another, and a small call that is alone even so gets company
 * from the stretch before. Calls that touch the same bytes, one of them writing, keep their order,
 * so every result has the bits that the tape's order gives. */
#include "graph/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
  WINDOW = 16, /* calls that a stretch looks at; more would let tensors live for long */
  FEW = 64     /* workgroups that leave most of a GPU idle */
};

static bool is_small(const ft_recorded_call *c) {
  return (uint64_t)c->groups[0] * c->groups[1] * c->groups[2] < FEW;
}

/* Numbers the stretches and writes the calls stretch by stretch. What is made again is not made
 * earlier than it has to be. */
static filtra_status gather(filtra_graph *g, bool *placed, ft_accesses *seen,
                            ft_recorded_call *ordered) {
  size_t first = 0, count = 0;
  for (size_t i = 0; i < g->call_count; i++)
    g->calls[i].place = (uint32_t)i;
  for (uint32_t stretch = 0; count < g->call_count; stretch++) {
    seen->count = 0; /* of what this stretch took or left */
    while (placed[first])
      first++;
    for (size_t i = first; i < g->call_count && i < first + WINDOW; i++) {
      ft_recorded_call *c = &g->calls[i];
      if (c->again != g->calls[first].again) break;
      if (placed[i]) continue;
      placed[i] = !ft_accesses_conflict(seen, c);
      c->stretch = stretch;
      if (placed[i]) ordered[count++] = *c;
      FT_TRY(ft_accesses_add(seen, c));
    }
  }
  return FILTRA_OK;
}

static bool is_alone(const ft_recorded_call *calls, size_t count, size_t i) {
  return (i == 0 || calls[i - 1].stretch != calls[i].stretch) &&
         (i + 1 == count || calls[i + 1].stretch != calls[i].stretch);
}

/* Gives calls[i] the nearest call before it that can wait as company. */
static filtra_status fill(ft_recorded_call *calls, size_t i, ft_accesses *between) {
  between->count = 0; /* the call's own accesses and those of calls that cannot wait */
  FT_TRY(ft_accesses_add(between, &calls[i]));
  for (size_t k = i; k > 0 && k + WINDOW > i;) {
    ft_recorded_call waits = calls[--k];
    if (ft_accesses_conflict(between, &waits)) {
      FT_TRY(ft_accesses_add(between, &waits));
      continue;
    }
    memmove(calls + k, calls + k + 1, (i - 1 - k) * sizeof *calls);
    waits.stretch = calls[i].stretch;
    calls[i - 1] = waits;
    break;
  }
  return FILTRA_OK;
}

/* From the last to the first, so that a small call which is alone now gets company in turn. */
static filtra_status fill_all(ft_recorded_call *calls, size_t count, ft_accesses *between) {
  for (size_t i = count; i-- > 0;)
    if (is_small(&calls[i]) && is_alone(calls, count, i)) FT_TRY(fill(calls, i, between));
  return FILTRA_OK;
}

filtra_status ft_schedule(filtra_graph *g) {
  ft_recorded_call *ordered = ft_calloc(g->call_count + 1, sizeof *ordered);
  bool *placed = ft_calloc(g->call_count + 1, sizeof *placed);
  ft_accesses list = {0};
  filtra_status status = ordered && placed ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = gather(g, placed, &list, ordered);
  if (!status) status = fill_all(ordered, g->call_count, &list);
  if (!status && g->call_count) memcpy(g->calls, ordered, g->call_count * sizeof *ordered);
  free(list.list);
  free(placed);
  free(ordered);
  return status;
}
