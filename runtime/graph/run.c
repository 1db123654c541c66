/* Compiling a graph into command buffers, and running it: set inputs, submit, wait, get outputs.
 * Everything a step needs is recorded once; a run copies inputs from the slot's staging, makes the
 * calls (graph/submissions.c) and copies outputs to the slot's readback. */
#include "graph/internal.h"
#include "graph/parameters.h"

#include <stdlib.h>
#include <string.h>

/* ---- recording ---- */

void ft_record_groups(filtra_graph *g, ft_commands commands, const ft_recorded_call *call,
                      const uint32_t base[3], const uint32_t groups[3]) {
  uint8_t push[FT_PUSH_BYTES];
  memcpy(push, call->push, call->push_size);
  for (uint32_t i = 0; i < call->arg_count; i++) {
    uint64_t address = call->args[i].tensor ? ft_tensor_address(call->args[i].tensor) : 0;
    memcpy(push + i * sizeof address, &address, sizeof address);
  }
  ft_commands_dispatch(g->device, commands, call->pipeline, push, call->push_size, base, groups);
}

static filtra_status create_pipelines(filtra_graph *g) {
  if (!g->call_count) return FILTRA_OK;
  ft_kernel_key *keys = ft_calloc(g->call_count, sizeof *keys);
  ft_pipeline **pipelines = ft_calloc(g->call_count, sizeof(ft_pipeline *));
  filtra_status status = FILTRA_ERROR_HOST_MEMORY;
  if (keys && pipelines) {
    for (size_t i = 0; i < g->call_count; i++)
      keys[i] = g->calls[i].key;
    status = ft_pipelines_get(g->device, keys, g->call_count, pipelines);
    for (size_t i = 0; i < g->call_count && !status; i++)
      g->calls[i].pipeline = pipelines[i];
  }
  free(keys);
  free(pipelines);
  return status;
}

/* Lays the ports out one after the other; returns the bytes all need. */
static uint64_t lay_out_ports(ft_port *ports, size_t count) {
  uint64_t offset = 0;
  for (size_t i = 0; i < count; i++) {
    ft_span span = ft_tensor_span(ports[i].tensor);
    ports[i].bytes = span.high - span.low;
    ports[i].offset = offset;
    offset += (ports[i].bytes + 63) / 64 * 64;
  }
  return offset;
}

static void copy_port(filtra_graph *g, ft_commands commands, const ft_port *port,
                      const ft_buffer *host, bool up) {
  const ft_storage *s = port->tensor->storage;
  uint64_t offset = s->offset + ft_tensor_span(port->tensor).low;
  if (up)
    ft_commands_copy(g->device, commands, host, port->offset, s->buffer, offset, port->bytes);
  else
    ft_commands_copy(g->device, commands, s->buffer, offset, host, port->offset, port->bytes);
}

/* The upload waits for whatever ran before, since its targets may still be read. */
static filtra_status record_slot(filtra_graph *g, ft_slot *slot) {
  filtra_device *dev = g->device;
  ft_commands pair[2];
  FT_TRY(ft_commands_new(dev, &g->pool, 2, pair));
  slot->upload = pair[0];
  slot->download = pair[1];
  FT_TRY(ft_commands_begin(dev, slot->upload));
  ft_commands_barrier(dev, slot->upload, FT_STAGE_ALL, FT_STAGE_ALL);
  for (size_t i = 0; i < g->input_count; i++)
    copy_port(g, slot->upload, &g->inputs[i], &slot->staging, true);
  ft_commands_barrier(dev, slot->upload, FT_STAGE_COPY, FT_STAGE_COMPUTE | FT_STAGE_COPY);
  FT_TRY(ft_commands_end(dev, slot->upload));
  FT_TRY(ft_commands_begin(dev, slot->download));
  ft_commands_barrier(dev, slot->download, FT_STAGE_COMPUTE, FT_STAGE_COPY);
  for (size_t i = 0; i < g->output_count; i++)
    copy_port(g, slot->download, &g->outputs[i], &slot->readback, false);
  ft_commands_barrier(dev, slot->download, FT_STAGE_COPY, FT_STAGE_HOST);
  return ft_commands_end(dev, slot->download);
}

static filtra_status create_slots(filtra_graph *g) {
  uint64_t in = lay_out_ports(g->inputs, g->input_count);
  uint64_t out = lay_out_ports(g->outputs, g->output_count);
  for (uint32_t i = 0; i < g->slot_count; i++) {
    ft_slot *slot = &g->slots[i];
    if (in) FT_TRY(ft_buffer_create(g->device, in, FT_MEMORY_UPLOAD, &slot->staging));
    if (out) FT_TRY(ft_buffer_create(g->device, out, FT_MEMORY_READBACK, &slot->readback));
    FT_TRY(record_slot(g, slot));
  }
  for (size_t i = 0; i < g->input_count; i++) { /* later runs carry constants over */
    ft_port *port = &g->inputs[i];
    if (!port->constant) continue;
    memcpy((char *)g->slots[0].staging.mapped + port->offset, port->constant, port->bytes);
    port->latest_slot = 0;
  }
  return FILTRA_OK;
}

filtra_status filtra_graph_compile(filtra_graph *g) {
  FT_NEED(g);
  if (!g->status && g->declaring)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "compile: the graph was built before its parameters were committed; build it "
                  "again");
  if (!g->status && g->compiled)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "compile: the graph is compiled already");
  FT_TRY(ft_graph_status(g));
  FT_TRY(ft_schedule(g));
  FT_TRY(ft_plan_memory(g, true));
  FT_TRY(ft_plan_barriers(g));
  FT_TRY(create_pipelines(g));
  if (ft_compiles_only(g->device)) return FILTRA_OK;
  FT_TRY(ft_prepare_submissions(g));
  FT_TRY(create_slots(g));
  g->compiled = true;
  return FILTRA_OK;
}

filtra_status ft_graph_measure(filtra_graph *g, uint64_t *activations, uint64_t *transfers) {
  FT_TRY(ft_graph_status(g));
  FT_TRY(ft_schedule(g));
  FT_TRY(ft_plan_memory(g, false));
  *activations = ft_buffer_extent(g->plan_bytes);
  *transfers = g->slot_count * (ft_buffer_extent(lay_out_ports(g->inputs, g->input_count)) +
                                ft_buffer_extent(lay_out_ports(g->outputs, g->output_count)));
  return FILTRA_OK;
}

uint64_t filtra_graph_memory(const filtra_graph *g) {
  return g ? g->plan_bytes : 0;
}

/* ---- running ---- */

static filtra_status require_compiled(const filtra_graph *g, const char *what) {
  if (g->compiled) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT, "%s: compile the graph first", what);
}

static ft_port *find_port(ft_port *ports, size_t count, const filtra_tensor *t) {
  for (size_t i = 0; i < count; i++)
    if (ports[i].tensor == t) return &ports[i];
  return NULL;
}

/* The slot of the next run, once the run that used it last is done. */
static filtra_status free_slot(filtra_graph *g, ft_slot **out) {
  ft_slot *slot = &g->slots[g->next_slot];
  if (slot->ticket) FT_TRY(ft_wait(g->device, slot->ticket));
  if (g->done_slot == (int)g->next_slot) g->done_slot = -1;
  *out = slot;
  return FILTRA_OK;
}

static filtra_status set_port(filtra_graph *g, ft_port *port, const void *data) {
  ft_slot *slot;
  FT_TRY(free_slot(g, &slot));
  memcpy((char *)slot->staging.mapped + port->offset, data, port->bytes);
  port->latest_slot = (int)g->next_slot;
  port->fresh = true;
  return FILTRA_OK;
}

filtra_status filtra_graph_set(filtra_graph *g, filtra_tensor *input, const void *data) {
  FT_NEED(g, input, data);
  FT_TRY(require_compiled(g, "set"));
  ft_port *port = find_port(g->inputs, g->input_count, input);
  if (!port) return ft_fail(FILTRA_ERROR_ARGUMENT, "set: the tensor is not an input of this graph");
  if (!filtra_tensor_elements(input)) return FILTRA_OK;
  return set_port(g, port, data);
}

/* Inputs that were not set for this run keep what they had. */
static filtra_status carry_over(filtra_graph *g, ft_slot *slot) {
  for (size_t i = 0; i < g->input_count; i++) {
    ft_port *p = &g->inputs[i];
    if (p->fresh || !filtra_tensor_elements(p->tensor)) {
      p->fresh = false;
      continue;
    }
    if (p->latest_slot < 0)
      return ft_fail(FILTRA_ERROR_ARGUMENT, "submit: input %s was never set", p->tensor->name);
    const ft_slot *from = &g->slots[p->latest_slot];
    if (from != slot)
      memcpy((char *)slot->staging.mapped + p->offset, (char *)from->staging.mapped + p->offset,
             p->bytes);
    p->latest_slot = (int)g->next_slot;
  }
  return FILTRA_OK;
}

filtra_status filtra_graph_submit(filtra_graph *g, uint64_t *ticket) {
  FT_NEED(g);
  FT_TRY(require_compiled(g, "submit"));
  ft_slot *slot;
  FT_TRY(free_slot(g, &slot));
  if (g->random_state) {
    uint32_t state[7] = {(uint32_t)g->seed, (uint32_t)(g->seed >> 32),
                         (uint32_t)g->step, (uint32_t)(g->step >> 32),
                         g->part[0],        g->part[1],
                         g->part[2]};
    FT_TRY(set_port(g, find_port(g->inputs, g->input_count, g->random_state), state));
  }
  FT_TRY(carry_over(g, slot));
  if (slot->staging.buffer) FT_TRY(ft_buffer_flush(g->device, &slot->staging));
  FT_TRY(ft_submit_run(g, slot));
  g->next_slot = (g->next_slot + 1) % g->slot_count;
  if (ticket) *ticket = slot->ticket;
  return FILTRA_OK;
}

filtra_status filtra_graph_wait(filtra_graph *g, uint64_t ticket) {
  FT_NEED(g);
  for (uint32_t i = 0; i < g->slot_count; i++) {
    ft_slot *slot = &g->slots[i];
    if (!ticket || slot->ticket != ticket) continue;
    FT_TRY(ft_wait(g->device, ticket));
    if (slot->readback.buffer) FT_TRY(ft_buffer_invalidate(g->device, &slot->readback));
    g->done_slot = (int)i;
    return FILTRA_OK;
  }
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "wait: run %llu is not one of this graph's last %u; wait before submitting more",
                 (unsigned long long)ticket, g->slot_count);
}

bool filtra_graph_done(const filtra_graph *g, uint64_t ticket) {
  return g && g->compiled && ticket && ft_done(g->device, ticket);
}

filtra_status filtra_graph_run(filtra_graph *g) {
  FT_NEED(g);
  uint64_t ticket;
  FT_TRY(filtra_graph_submit(g, &ticket));
  return filtra_graph_wait(g, ticket);
}

filtra_status filtra_graph_get(filtra_graph *g, filtra_tensor *output, void *data) {
  FT_NEED(g, output, data);
  FT_TRY(require_compiled(g, "get"));
  const ft_port *port = find_port(g->outputs, g->output_count, output);
  if (!port)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "get: the tensor is not an output of this graph");
  if (g->done_slot < 0) return ft_fail(FILTRA_ERROR_ARGUMENT, "get: wait for a run first");
  const filtra_tensor *t = output;
  const char *from = (const char *)g->slots[g->done_slot].readback.mapped + port->offset;
  const size_t bytes = filtra_dtype_bytes(t->storage->dtype);
  if (!filtra_tensor_elements(t)) return FILTRA_OK;
  if (ft_dense(t)) {
    memcpy(data, from, port->bytes);
    return FILTRA_OK;
  }
  char *to = data;
  int64_t shape[FILTRA_MAX_DIMS] = {1, 1, 1, 1}, stride[FILTRA_MAX_DIMS] = {0};
  for (int i = 0; i < t->ndim; i++) {
    shape[FILTRA_MAX_DIMS - t->ndim + i] = t->shape[i];
    stride[FILTRA_MAX_DIMS - t->ndim + i] = t->stride[i];
  }
  for (int64_t a = 0; a < shape[0]; a++)
    for (int64_t b = 0; b < shape[1]; b++)
      for (int64_t c = 0; c < shape[2]; c++)
        for (int64_t d = 0; d < shape[3]; d++, to += bytes)
          memcpy(to,
                 from + (size_t)(a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3]) *
                            bytes,
                 bytes);
  return FILTRA_OK;
}
