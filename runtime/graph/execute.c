/* Executing a compiled graph: set inputs, submit, wait, get outputs. An execution copies inputs
 * from the slot's staging buffer, makes the calls (graph/submissions.c) and copies outputs to the
 * slot's readback buffer. All commands were recorded before (graph/program.c); only the inputs'
 * bytes change. Called by programs, models and trainers through <filtra/graph.h>. */
#include "graph/kept.h"
#include "graph/program.h"

#include <string.h>

static filtra_status program_of(const filtra_graph *g, const char *what, ft_program **out) {
  *out = g->program;
  if (!g->program) return ft_fail(FILTRA_ERROR_ARGUMENT, "%s: compile the graph first", what);
  if (!g->program->submissions)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "%s: the device was opened to compile only", what);
  return FILTRA_OK;
}

static ft_port *find_port(ft_port *ports, size_t count, const filtra_tensor *t) {
  for (size_t i = 0; i < count; i++)
    if (ports[i].tensor == t) return &ports[i];
  return NULL;
}

static ft_port *find_input(const ft_program *p, const filtra_tensor *t) {
  return find_port(p->inputs, p->plan->tape->input_count, t);
}

/* Why a tensor has no port: an application's commands access it in its own buffer. */
static const char *outside(const filtra_tensor *t) {
  return t->storage->home == FT_HOME_BUFFER ? " but lies in a buffer (filtra_vulkan_range_of)" : "";
}

/* ---- inputs ---- */

void filtra_graph_set_step(filtra_graph *g, uint64_t seed, uint64_t step) {
  if (!g) return;
  g->seed = seed;
  g->step = step;
}

void ft_graph_set_part(filtra_graph *g, int64_t first, int64_t count, int64_t all) {
  g->part[0] = (uint32_t)first;
  g->part[1] = (uint32_t)count;
  g->part[2] = (uint32_t)(all - count);
}

/* The slot of the next execution, after the execution that last used it has finished. */
static filtra_status free_slot(ft_program *p, ft_slot **out) {
  ft_slot *slot = &p->slots[p->next_slot];
  if (slot->ticket) FT_TRY(ft_wait(p->device, slot->ticket));
  if (p->done_slot == (int)p->next_slot) p->done_slot = -1;
  *out = slot;
  return FILTRA_OK;
}

static filtra_status set_port(ft_program *p, ft_port *port, const void *data) {
  ft_slot *slot;
  FT_TRY(free_slot(p, &slot));
  memcpy((char *)slot->staging.mapped + port->offset, data, port->bytes);
  port->latest_slot = (int)p->next_slot;
  port->fresh = true;
  return FILTRA_OK;
}

filtra_status filtra_graph_set(filtra_graph *g, filtra_tensor *input, const void *data) {
  FT_NEED(g, input, data);
  ft_program *p;
  FT_TRY(program_of(g, "set", &p));
  ft_port *port = find_input(p, input);
  if (!port)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "set: the tensor is not an input of this graph%s",
                   outside(input));
  if (!filtra_tensor_elements(input)) return FILTRA_OK;
  return set_port(p, port, data);
}

/* Inputs that were not set for this execution keep their last values. */
static filtra_status carry_over(ft_program *p, ft_slot *slot) {
  for (size_t i = 0; i < p->plan->tape->input_count; i++) {
    ft_port *port = &p->inputs[i];
    if (port->fresh || !filtra_tensor_elements(port->tensor)) {
      port->fresh = false;
      continue;
    }
    if (port->latest_slot < 0)
      return ft_fail(FILTRA_ERROR_ARGUMENT, "submit: input %s was never set", port->tensor->name);
    const ft_slot *from = &p->slots[port->latest_slot];
    if (from != slot)
      memcpy((char *)slot->staging.mapped + port->offset,
             (char *)from->staging.mapped + port->offset, port->bytes);
    port->latest_slot = (int)p->next_slot;
  }
  return FILTRA_OK;
}

/* ---- executions ---- */

static filtra_status set_random_state(const filtra_graph *g, ft_program *p) {
  if (!g->tape.random_state) return FILTRA_OK;
  const uint32_t state[7] = {(uint32_t)g->seed, (uint32_t)(g->seed >> 32),
                             (uint32_t)g->step, (uint32_t)(g->step >> 32),
                             g->part[0],        g->part[1],
                             g->part[2]};
  return set_port(p, find_input(p, g->tape.random_state), state);
}

static filtra_status submit(filtra_graph *g, const struct filtra_vulkan_run *run, bool waits,
                            uint64_t *ticket) {
  ft_program *p;
  ft_slot *slot;
  FT_TRY(program_of(g, "submit", &p));
  if (g->tape.keeps) FT_TRY(ft_kept_refresh(g->tape.params));
  FT_TRY(free_slot(p, &slot));
  FT_TRY(set_random_state(g, p));
  FT_TRY(carry_over(p, slot));
  if (slot->staging.buffer) FT_TRY(ft_buffer_flush(p->device, &slot->staging));
  FT_TRY(ft_submit_run(p, slot, run, waits));
  p->next_slot = (p->next_slot + 1) % p->slot_count;
  g->step++;
  if (ticket) *ticket = slot->ticket;
  return FILTRA_OK;
}

filtra_status ft_graph_submit_between(filtra_graph *g, const struct filtra_vulkan_run *run,
                                      uint64_t *ticket) {
  return submit(g, run, false, ticket);
}

filtra_status filtra_graph_submit(filtra_graph *g, uint64_t *ticket) {
  FT_NEED(g);
  return submit(g, NULL, false, ticket);
}

filtra_status filtra_graph_wait(filtra_graph *g, uint64_t ticket) {
  FT_NEED(g);
  ft_program *p = g->program;
  for (uint32_t i = 0; p && i < p->slot_count; i++) {
    ft_slot *slot = &p->slots[i];
    if (!ticket || slot->ticket != ticket) continue;
    FT_TRY(ft_wait(p->device, ticket));
    if (slot->readback.buffer) FT_TRY(ft_buffer_invalidate(p->device, &slot->readback));
    p->done_slot = (int)i;
    return FILTRA_OK;
  }
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "wait: run %llu is not one of this graph's last %u; wait before submitting more",
                 (unsigned long long)ticket, g->slot_count);
}

bool filtra_graph_done(const filtra_graph *g, uint64_t ticket) {
  return g && g->program && ticket && ft_done(g->device, ticket);
}

filtra_status filtra_graph_execute(filtra_graph *g) {
  FT_NEED(g);
  uint64_t ticket;
  FT_TRY(submit(g, NULL, true, &ticket));
  return filtra_graph_wait(g, ticket);
}

uint64_t ft_graph_readout_ticket(const filtra_graph *g, size_t index) {
  return g->program && index < g->tape.readout_count ? g->program->readout_tickets[index] : 0;
}

/* ---- outputs ---- */

/* Copies the tensor's elements from its span to dense memory. */
static void pack(const filtra_tensor *t, const char *from, char *to) {
  const size_t bytes = filtra_dtype_bytes(t->storage->dtype);
  int64_t shape[FILTRA_MAX_DIMS] = {1, 1, 1, 1}, stride[FILTRA_MAX_DIMS] = {0};
  for (int i = 0; i < t->ndim; i++) {
    shape[FILTRA_MAX_DIMS - t->ndim + i] = t->shape[i];
    stride[FILTRA_MAX_DIMS - t->ndim + i] = t->stride[i];
  }
  for (int64_t a = 0; a < shape[0]; a++)
    for (int64_t b = 0; b < shape[1]; b++)
      for (int64_t c = 0; c < shape[2]; c++)
        for (int64_t d = 0; d < shape[3]; d++, to += bytes) {
          int64_t at = a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
          memcpy(to, from + (size_t)at * bytes, bytes);
        }
}

filtra_status filtra_graph_get(filtra_graph *g, filtra_tensor *output, void *data) {
  FT_NEED(g, output, data);
  ft_program *p;
  FT_TRY(program_of(g, "get", &p));
  const ft_port *port = find_port(p->outputs, g->tape.output_count, output);
  if (!port)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "get: the tensor is not an output of this graph%s",
                   outside(output));
  if (p->done_slot < 0) return ft_fail(FILTRA_ERROR_ARGUMENT, "get: wait for a run first");
  const char *from = (const char *)p->slots[p->done_slot].readback.mapped + port->offset;
  if (!filtra_tensor_elements(output)) return FILTRA_OK;
  if (ft_dense(output))
    memcpy(data, from, port->bytes);
  else
    pack(output, from, data);
  return FILTRA_OK;
}
