/* Replays that look inside a run: timing every call, and finding the first call whose result is not
 * finite. Both run the calls one at a time with full barriers between them. */
#include "graph/internal.h"

#include <stdlib.h>

/* ---- timing ---- */

static filtra_status fill_entries(filtra_graph *g, ft_profile_entry *entries) {
  double *seconds = ft_calloc(g->call_count, sizeof *seconds);
  if (!seconds) return FILTRA_ERROR_HOST_MEMORY;
  uint64_t ticket;
  filtra_status status = ft_replay_timed(g, &g->slots[g->done_slot], seconds, &ticket);
  for (size_t i = 0; i < g->call_count; i++) {
    const ft_recorded_call *c = &g->calls[i];
    entries[i] = (ft_profile_entry){c->label, c->key.kernel, seconds[i], c->flops, c->bytes};
  }
  free(seconds);
  return status;
}

/* Whether a run would bring nothing that the last one did not. */
static bool up_to_date(const filtra_graph *g) {
  for (size_t i = 0; i < g->input_count; i++)
    if (g->inputs[i].fresh) return false;
  return g->done_slot >= 0;
}

filtra_status ft_graph_profile(filtra_graph *g, ft_profile_entry **entries, size_t *count) {
  const ft_caps *caps = &g->device->caps;
  *entries = NULL;
  *count = 0;
  if (!g->compiled || !g->call_count)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "profile: compile a graph that has calls first");
  if (caps->timestamp_ns <= 0.0)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "profile: %s has no timestamps", caps->info.name);
  if (!up_to_date(g)) FT_TRY(filtra_graph_run(g));
  ft_profile_entry *list = ft_calloc(g->call_count, sizeof *list);
  if (!list) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = fill_entries(g, list);
  if (status) {
    free(list);
    return status;
  }
  *entries = list;
  *count = g->call_count;
  return FILTRA_OK;
}

filtra_status ft_graph_seconds(filtra_graph *g, double *seconds) {
  ft_profile_entry *entries;
  size_t count;
  FT_TRY(ft_graph_profile(g, &entries, &count));
  *seconds = 0.0;
  for (size_t i = 0; i < count; i++)
    *seconds += entries[i].seconds;
  free(entries);
  return FILTRA_OK;
}

/* ---- the first value that is not finite ---- */

/* Words row * row_stride + column, row < rows, column < columns (shaders/sentinel). */
struct nonfinite_push {
  VkDeviceAddress x, flag;
  uint32_t columns, row_stride, count, index;
};

enum { NONFINITE_WORKGROUP = 64 };

typedef struct search {
  VkPipeline kernel;
  ft_buffer flag; /* number of the first write of a value that is not finite */
} search;

static void record_search(filtra_graph *g, VkCommandBuffer commands, const search *s,
                          const filtra_tensor *t, uint32_t index) {
  struct VolkDeviceTable *vk = &g->device->vk;
  ft_span span = ft_tensor_span(t);
  uint32_t columns = (uint32_t)(span.window / sizeof(float));
  struct nonfinite_push push = {ft_tensor_address(t),
                                s->flag.address,
                                columns,
                                span.period ? (uint32_t)(span.period / sizeof(float)) : columns,
                                columns * (uint32_t)span.rows,
                                index};
  uint32_t groups = (push.count + NONFINITE_WORKGROUP - 1) / NONFINITE_WORKGROUP;
  if (groups > 1024) groups = 1024; /* the kernel strides over the rest */
  vk->vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, s->kernel);
  vk->vkCmdPushConstants(commands, g->device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push,
                         &push);
  vk->vkCmdDispatch(commands, groups ? groups : 1, 1, 1);
}

/* Searches all that a call wrote. */
static void search_written(filtra_graph *g, VkCommandBuffer commands, uint32_t call,
                           void *context) {
  const ft_recorded_call *c = &g->calls[call];
  ft_record_barrier(g->device, commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                    VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT);
  for (uint32_t k = 0; k < c->arg_count; k++) {
    const filtra_tensor *t = c->args[k].tensor;
    if (t && (c->args[k].mode & FT_ACCESS_WRITE) && t->dtype == FILTRA_F32)
      record_search(g, commands, context, t, call * FT_MAX_ARGS + k);
  }
}

filtra_status ft_graph_find_nonfinite(filtra_graph *g, uint64_t ticket, const char **name) {
  filtra_device *dev = g->device;
  *name = NULL;
  FT_TRY(filtra_graph_wait(g, ticket));
  const ft_kernel_key key = {.kernel = "sentinel/nonfinite", .workgroup = NONFINITE_WORKGROUP};
  ft_pipeline *kernel;
  FT_TRY(ft_pipelines_get(dev, &key, 1, &kernel));
  search s = {.kernel = ft_pipeline_handle(kernel)};
  uint32_t first = UINT32_MAX;
  uint64_t again;
  FT_TRY(ft_buffer_create(dev, sizeof first, FT_MEMORY_DEVICE, &s.flag));
  filtra_status status = ft_fill(dev, &s.flag, 0, sizeof first, UINT32_MAX);
  if (!status)
    status =
        ft_replay(g, &g->slots[g->done_slot],
                  &(ft_recording){.apart = true, .after = search_written, .context = &s}, &again);
  if (!status) status = ft_download(dev, &s.flag, 0, &first, sizeof first);
  ft_buffer_destroy(dev, &s.flag);
  if (!status && first != UINT32_MAX)
    *name = g->calls[first / FT_MAX_ARGS].args[first % FT_MAX_ARGS].tensor->name;
  return status;
}
