/* Creating a program from a plan: blocks of the arena, pipelines, submissions, and slots for
 * executions in flight. Called by graph/graph.c to compile. */
#include "graph/program.h"

#include "graph/arena.h"

#include <stdlib.h>
#include <string.h>

/* ---- pipelines ---- */

static filtra_status create_pipelines(ft_program *p) {
  const size_t count = p->plan->call_count;
  if (!count) return FILTRA_OK;
  ft_kernel_key *keys = ft_calloc(count, sizeof *keys);
  if (!keys) return FILTRA_ERROR_HOST_MEMORY;
  for (size_t i = 0; i < count; i++)
    keys[i] = p->plan->calls[i].call->key;
  filtra_status status = ft_pipelines_get(p->device, keys, count, p->pipelines);
  free(keys);
  return status;
}

/* ---- slots ---- */

/* Total bytes of the transfers, one after the other; fills in `ports` unless it is NULL. */
static uint64_t lay_out(const ft_transfer *transfers, size_t count, ft_port *ports) {
  uint64_t offset = 0;
  for (size_t i = 0; i < count; i++) {
    const ft_span span = ft_tensor_span(transfers[i].tensor);
    if (ports)
      ports[i] = (ft_port){.tensor = transfers[i].tensor,
                           .bytes = span.high - span.low,
                           .offset = offset,
                           .latest_slot = -1};
    offset += (span.high - span.low + 63) / 64 * 64;
  }
  return offset;
}

uint64_t ft_program_transfers(const struct ft_tape *tape) {
  return ft_buffer_extent(lay_out(tape->inputs, tape->input_count, NULL)) +
         ft_buffer_extent(lay_out(tape->outputs, tape->output_count, NULL));
}

static void copy_port(const ft_program *p, ft_commands commands, const ft_port *port,
                      const ft_buffer *host, bool up) {
  const ft_place place = ft_place_of(p->plan, port->tensor);
  const ft_buffer *buffer = ft_program_buffer(p, &place);
  const uint64_t offset = ft_plan_span(p->plan, port->tensor).low;
  if (up)
    ft_commands_copy(p->device, commands, host, port->offset, buffer, offset, port->bytes);
  else
    ft_commands_copy(p->device, commands, buffer, offset, host, port->offset, port->bytes);
}

/* Records a slot's upload and download. The upload waits for all earlier work, which may still read
 * its targets. */
static filtra_status record_slot(ft_program *p, ft_slot *slot) {
  const struct ft_tape *tape = p->plan->tape;
  filtra_device *dev = p->device;
  ft_commands pair[2];
  FT_TRY(ft_commands_new(dev, &p->pool, 2, pair));
  slot->upload = pair[0];
  slot->download = pair[1];
  FT_TRY(ft_commands_begin(dev, slot->upload));
  ft_commands_barrier(dev, slot->upload, FT_STAGE_ALL, FT_STAGE_ALL);
  for (size_t i = 0; i < tape->input_count; i++)
    copy_port(p, slot->upload, &p->inputs[i], &slot->staging, true);
  ft_commands_barrier(dev, slot->upload, FT_STAGE_COPY, FT_STAGE_COMPUTE | FT_STAGE_COPY);
  FT_TRY(ft_commands_end(dev, slot->upload));
  FT_TRY(ft_commands_begin(dev, slot->download));
  ft_commands_barrier(dev, slot->download, FT_STAGE_COMPUTE, FT_STAGE_COPY);
  for (size_t i = 0; i < tape->output_count; i++)
    copy_port(p, slot->download, &p->outputs[i], &slot->readback, false);
  ft_commands_barrier(dev, slot->download, FT_STAGE_COPY, FT_STAGE_HOST);
  return ft_commands_end(dev, slot->download);
}

/* Writes constants to slot 0; later executions carry them over like any input that is not set
 * again. */
static void set_constants(ft_program *p) {
  const struct ft_tape *tape = p->plan->tape;
  for (size_t i = 0; i < tape->input_count; i++) {
    ft_port *port = &p->inputs[i];
    if (!tape->inputs[i].constant) continue;
    memcpy((char *)p->slots[0].staging.mapped + port->offset, tape->inputs[i].constant,
           port->bytes);
    port->latest_slot = 0;
  }
}

static filtra_status create_slots(ft_program *p, uint32_t count) {
  const struct ft_tape *tape = p->plan->tape;
  const uint64_t in = lay_out(tape->inputs, tape->input_count, p->inputs);
  const uint64_t out = lay_out(tape->outputs, tape->output_count, p->outputs);
  for (; p->slot_count < count; p->slot_count++) {
    ft_slot *slot = &p->slots[p->slot_count];
    if (in) FT_TRY(ft_buffer_create(p->device, in, FT_MEMORY_UPLOAD, &slot->staging));
    if (out) FT_TRY(ft_buffer_create(p->device, out, FT_MEMORY_READBACK, &slot->readback));
    FT_TRY(record_slot(p, slot));
  }
  set_constants(p);
  return FILTRA_OK;
}

/* ---- the program ---- */

static filtra_status allocate(ft_program *p) {
  const ft_plan *plan = p->plan;
  p->blocks = ft_calloc(plan->block_count + 1, sizeof *p->blocks);
  p->pipelines = ft_calloc(plan->call_count + 1, sizeof *p->pipelines);
  p->readout_tickets = ft_calloc(plan->tape->readout_count + 1, sizeof *p->readout_tickets);
  p->inputs = ft_calloc(plan->tape->input_count + 1, sizeof *p->inputs);
  p->outputs = ft_calloc(plan->tape->output_count + 1, sizeof *p->outputs);
  return p->blocks && p->pipelines && p->readout_tickets && p->inputs && p->outputs
             ? FILTRA_OK
             : FILTRA_ERROR_HOST_MEMORY;
}

static filtra_status build(ft_program *p, uint32_t slot_count) {
  FT_TRY(create_pipelines(p));
  if (ft_compiles_only(p->device)) return FILTRA_OK;
  FT_TRY(ft_submissions_create(p));
  return create_slots(p, slot_count);
}

filtra_status ft_program_create(filtra_device *device, const ft_plan *plan, filtra_arena *arena,
                                uint32_t slot_count, ft_program **out) {
  ft_program *p = *out = ft_calloc(1, sizeof *p);
  if (!p) return FILTRA_ERROR_HOST_MEMORY;
  p->device = device;
  p->plan = plan;
  p->done_slot = -1;
  const size_t before = arena->count;
  filtra_status status = allocate(p);
  if (!status) status = ft_arena_take(arena, plan->blocks, plan->block_count, p->blocks);
  if (!status) status = build(p, slot_count);
  if (!status) return FILTRA_OK;
  ft_program_destroy(out);
  ft_arena_shrink(arena, before);
  return status;
}

void ft_program_destroy(ft_program **program) {
  if (!*program) return;
  ft_program *p = *program;
  for (uint32_t i = 0; i < FT_MAX_SLOTS; i++) {
    ft_slot *slot = &p->slots[i];
    if (slot->ticket && ft_wait(p->device, slot->ticket)) ft_wait_whatever(p->device);
    ft_buffer_destroy(p->device, &slot->staging);
    ft_buffer_destroy(p->device, &slot->readback);
  }
  ft_submissions_destroy(p);
  ft_command_pool_destroy(p->device, p->pool);
  free(p->blocks);
  free(p->pipelines);
  free(p->readout_tickets);
  free(p->inputs);
  free(p->outputs);
  free(p);
  *program = NULL;
}
