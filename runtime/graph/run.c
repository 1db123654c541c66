/* Compiling a graph into command buffers, and running it: set inputs, submit, wait, get outputs.
 * Everything a step needs is recorded once; a run copies inputs from the slot's staging, makes the
 * calls (graph/submissions.c) and copies outputs to the slot's readback. */
#include "graph/internal.h"
#include "graph/parameters.h"

#include <stdlib.h>
#include <string.h>

/* ---- recording ---- */

filtra_status ft_new_commands(filtra_graph *g, uint32_t count, VkCommandBuffer *out) {
  filtra_device *dev = g->device;
  if (!g->pool) {
    VkCommandPoolCreateInfo info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = dev->caps.queue_family};
    FT_TRY(FT_VK(dev, dev->vk.vkCreateCommandPool(dev->device, &info, NULL, &g->pool)));
  }
  VkCommandBufferAllocateInfo info = {
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = g->pool,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = count};
  return FT_VK(dev, dev->vk.vkAllocateCommandBuffers(dev->device, &info, out));
}

filtra_status ft_begin_commands(filtra_graph *g, VkCommandBuffer commands) {
  VkCommandBufferBeginInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                   .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
  return FT_VK(g->device, g->device->vk.vkBeginCommandBuffer(commands, &info));
}

void ft_record_barrier(filtra_device *dev, VkCommandBuffer commands, VkPipelineStageFlags2 from,
                       VkPipelineStageFlags2 to) {
  VkMemoryBarrier2 memory = {VK_STRUCTURE_TYPE_MEMORY_BARRIER_2, .srcStageMask = from,
                             .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT, .dstStageMask = to,
                             .dstAccessMask =
                                 VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT};
  VkDependencyInfo info = {VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1,
                           .pMemoryBarriers = &memory};
  dev->vk.vkCmdPipelineBarrier2(commands, &info);
}

void ft_record_groups(filtra_graph *g, VkCommandBuffer commands, const ft_recorded_call *call,
                      const uint32_t base[3], const uint32_t groups[3]) {
  struct VolkDeviceTable *vk = &g->device->vk;
  uint8_t push[FT_PUSH_BYTES];
  memcpy(push, call->push, call->push_size);
  for (uint32_t i = 0; i < call->arg_count; i++) {
    VkDeviceAddress address = call->args[i].tensor ? ft_tensor_address(call->args[i].tensor) : 0;
    memcpy(push + i * sizeof address, &address, sizeof address);
  }
  vk->vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                        ft_pipeline_handle(call->pipeline));
  vk->vkCmdPushConstants(commands, g->device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                         call->push_size, push);
  if (base[0] | base[1] | base[2])
    vk->vkCmdDispatchBase(commands, base[0], base[1], base[2], groups[0], groups[1], groups[2]);
  else
    vk->vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
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

static void copy_port(filtra_graph *g, VkCommandBuffer commands, const ft_port *port,
                      const ft_buffer *host, bool up) {
  const filtra_tensor *t = port->tensor;
  VkBufferCopy region = {.size = port->bytes};
  uint64_t device_offset = t->storage->offset + (uint64_t)t->offset * sizeof(float);
  region.srcOffset = up ? port->offset : device_offset;
  region.dstOffset = up ? device_offset : port->offset;
  VkBuffer device = t->storage->buffer->buffer;
  g->device->vk.vkCmdCopyBuffer(commands, up ? host->buffer : device, up ? device : host->buffer, 1,
                                &region);
}

/* The upload waits for whatever ran before, since its targets may still be read. */
static filtra_status record_slot(filtra_graph *g, ft_slot *slot) {
  filtra_device *dev = g->device;
  VkCommandBuffer pair[2];
  FT_TRY(ft_new_commands(g, 2, pair));
  slot->upload = pair[0];
  slot->download = pair[1];
  FT_TRY(ft_begin_commands(g, slot->upload));
  ft_record_barrier(dev, slot->upload, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                    VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
  for (size_t i = 0; i < g->input_count; i++)
    copy_port(g, slot->upload, &g->inputs[i], &slot->staging, true);
  ft_record_barrier(dev, slot->upload, VK_PIPELINE_STAGE_2_COPY_BIT,
                    VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_COPY_BIT);
  FT_TRY(FT_VK(dev, dev->vk.vkEndCommandBuffer(slot->upload)));
  FT_TRY(ft_begin_commands(g, slot->download));
  ft_record_barrier(dev, slot->download, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                    VK_PIPELINE_STAGE_2_COPY_BIT);
  for (size_t i = 0; i < g->output_count; i++)
    copy_port(g, slot->download, &g->outputs[i], &slot->readback, false);
  ft_record_barrier(dev, slot->download, VK_PIPELINE_STAGE_2_COPY_BIT,
                    VK_PIPELINE_STAGE_2_HOST_BIT);
  return FT_VK(dev, dev->vk.vkEndCommandBuffer(slot->download));
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
  if (!g->status && g->declaring)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT,
                  "compile: the graph was built before its parameters were committed; build it "
                  "again");
  if (!g->status && g->compiled)
    ft_graph_fail(g, FILTRA_ERROR_ARGUMENT, "compile: the graph is compiled already");
  FT_TRY(ft_graph_status(g));
  FT_TRY(ft_plan_memory(g));
  ft_plan_barriers(g);
  FT_TRY(ft_graph_status(g));
  FT_TRY(create_pipelines(g));
  if (g->device->compiler) return FILTRA_OK;
  FT_TRY(ft_prepare_submissions(g));
  FT_TRY(create_slots(g));
  g->compiled = true;
  return FILTRA_OK;
}

uint64_t filtra_graph_memory(const filtra_graph *g) {
  return g->plan_bytes;
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
  FT_TRY(require_compiled(g, "set"));
  ft_port *port = input ? find_port(g->inputs, g->input_count, input) : NULL;
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
  FT_TRY(require_compiled(g, "submit"));
  ft_slot *slot;
  FT_TRY(free_slot(g, &slot));
  if (g->random_state) {
    uint32_t state[4] = {(uint32_t)g->seed, (uint32_t)(g->seed >> 32), (uint32_t)g->step,
                         (uint32_t)(g->step >> 32)};
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

filtra_status filtra_graph_run(filtra_graph *g) {
  uint64_t ticket;
  FT_TRY(filtra_graph_submit(g, &ticket));
  return filtra_graph_wait(g, ticket);
}

filtra_status filtra_graph_get(filtra_graph *g, filtra_tensor *output, void *data) {
  FT_TRY(require_compiled(g, "get"));
  const ft_port *port = output ? find_port(g->outputs, g->output_count, output) : NULL;
  if (!port)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "get: the tensor is not an output of this graph");
  if (g->done_slot < 0) return ft_fail(FILTRA_ERROR_ARGUMENT, "get: wait for a run first");
  const filtra_tensor *t = output;
  const uint32_t *from =
      (const uint32_t *)((const char *)g->slots[g->done_slot].readback.mapped + port->offset);
  if (!filtra_tensor_elements(t)) return FILTRA_OK;
  if (ft_dense(t)) {
    memcpy(data, from, port->bytes);
    return FILTRA_OK;
  }
  uint32_t *to = data;
  int64_t shape[FILTRA_MAX_DIMS] = {1, 1, 1, 1}, stride[FILTRA_MAX_DIMS] = {0};
  for (int i = 0; i < t->ndim; i++) {
    shape[FILTRA_MAX_DIMS - t->ndim + i] = t->shape[i];
    stride[FILTRA_MAX_DIMS - t->ndim + i] = t->stride[i];
  }
  for (int64_t a = 0; a < shape[0]; a++)
    for (int64_t b = 0; b < shape[1]; b++)
      for (int64_t c = 0; c < shape[2]; c++)
        for (int64_t d = 0; d < shape[3]; d++)
          *to++ = from[a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3]];
  return FILTRA_OK;
}
