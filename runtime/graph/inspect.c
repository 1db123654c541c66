/* Replays of an execution: one times every call, the other finds the first call whose result is not
 * finite. Both run one call at a time, with full barriers between them. Called for profiles and
 * benchmarks, by ops/tuner.c, and by models and trainers. */
#include "graph/program.h"
#include "sentinel/contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- timing ---- */

static filtra_status fill_entries(ft_program *p, ft_profile_entry *entries) {
  const size_t count = p->plan->call_count;
  double *seconds = ft_calloc(count, sizeof *seconds);
  if (!seconds) return FILTRA_ERROR_HOST_MEMORY;
  uint64_t ticket;
  filtra_status status = ft_replay_timed(p, &p->slots[p->done_slot], seconds, &ticket);
  for (size_t i = 0; i < count; i++) {
    const ft_recorded_call *c = p->plan->calls[i].call;
    entries[i] = (ft_profile_entry){c->label, c->key.kernel, seconds[i], c->flops, c->bytes};
  }
  free(seconds);
  return status;
}

/* Whether the last execution had the inputs that the next one would have. */
static bool up_to_date(const ft_program *p) {
  for (size_t i = 0; i < p->plan->tape->input_count; i++)
    if (p->inputs[i].fresh) return false;
  return p->done_slot >= 0;
}

filtra_status ft_graph_profile(filtra_graph *g, ft_profile_entry **entries, size_t *count) {
  const ft_caps *caps = ft_caps_of(g->device);
  *entries = NULL;
  *count = 0;
  if (!g->program || !g->tape.call_count)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "profile: compile a graph that has calls first");
  if (caps->timestamp_ns <= 0.0)
    return ft_fail(FILTRA_ERROR_UNSUPPORTED, "profile: %s has no timestamps", caps->info.name);
  if (!up_to_date(g->program)) FT_TRY(filtra_graph_execute(g));
  ft_profile_entry *list = ft_calloc(g->plan->call_count, sizeof *list);
  if (!list) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = fill_entries(g->program, list);
  if (status) {
    free(list);
    return status;
  }
  *entries = list;
  *count = g->plan->call_count;
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

/* The kernel strides over the remaining elements. */
enum { NONFINITE_WORKGROUP = 64, NONFINITE_GROUPS = 1024 };

typedef struct search {
  ft_pipeline *kernel[FILTRA_BF16 + 1]; /* by element type */
  ft_buffer flag; /* number of the first write with a value that is not finite */
} search;

static filtra_status find_kernels(filtra_device *dev, search *s) {
  for (filtra_dtype type = FILTRA_F32; type <= FILTRA_BF16; type++) {
    if (!ft_dtype_is_float(type)) continue;
    const ft_kernel_key key = {.kernel = ft_kernel_typed(dev, "sentinel/nonfinite", type),
                               .workgroup = NONFINITE_WORKGROUP};
    FT_TRY(ft_pipelines_get(dev, &key, 1, &s->kernel[type]));
  }
  return FILTRA_OK;
}

static void record_search(const ft_program *p, ft_commands commands, const search *s,
                          const filtra_tensor *t, uint32_t index) {
  const filtra_dtype dtype = filtra_tensor_dtype(t);
  const uint64_t size = filtra_dtype_bytes(dtype);
  const ft_span span = ft_tensor_span(t);
  const uint32_t columns = (uint32_t)(span.window / size);
  const uint64_t address = ft_program_address(p, t), beyond = address % 4;
  const struct ft_sentinel_nonfinite_block block = {
      .x = address - beyond,
      .flag = s->flag.address,
      .first = (uint32_t)(beyond / size),
      .columns = columns,
      .row_stride = span.period ? (uint32_t)(span.period / size) : columns,
      .count = columns * (uint32_t)span.rows,
      .index = index};
  uint32_t groups = ft_groups_for(block.count, NONFINITE_WORKGROUP);
  if (groups > NONFINITE_GROUPS) groups = NONFINITE_GROUPS;
  ft_commands_dispatch(p->device, commands, s->kernel[dtype], &block, sizeof block,
                       (uint32_t[]){0, 0, 0}, (uint32_t[]){groups, 1, 1});
}

/* Fills storages with zeros when their lives begin. Kernels may leave rows unwritten that no call
 * reads, such as masked ones; the search must not find old bytes of another tensor there. */
static void clear_unwritten(ft_program *p, ft_commands commands, uint32_t call, void *context) {
  (void)context;
  ft_commands_barrier(p->device, commands, FT_STAGE_ALL, FT_STAGE_ALL);
  for (size_t i = 0; i < p->plan->tape->storage_count; i++) {
    const ft_storage *s = p->plan->tape->storages[i];
    const ft_place *place = &p->plan->storages[i].place;
    if (ft_life_begins(p->plan, call, s))
      ft_commands_fill(p->device, commands, ft_program_buffer(p, place), place->offset, s->bytes,
                       0);
  }
}

/* Searches all tensors that a call has written. */
static void search_written(ft_program *p, ft_commands commands, uint32_t call, void *context) {
  const ft_recorded_call *c = p->plan->calls[call].call;
  ft_commands_barrier(p->device, commands, FT_STAGE_ALL, FT_STAGE_ALL);
  for (uint32_t k = 0; k < c->arg_count; k++) {
    const filtra_tensor *t = c->args[k].tensor;
    if (t && (c->args[k].mode & FT_ACCESS_WRITE) && ft_dtype_is_float(filtra_tensor_dtype(t)))
      record_search(p, commands, context, t, call * FT_MAX_ARGS + k);
  }
}

/* The name of a tensor that a call wrote. Ops of one kind share it, so that the parameter that was
 * read last tells where in a model it is. */
static const char *place_of(filtra_graph *g, uint32_t call, const filtra_tensor *written) {
  const filtra_tensor *parameter = NULL;
  for (uint32_t i = 0; i <= call; i++) {
    const ft_recorded_call *c = g->program->plan->calls[i].call;
    for (uint32_t k = 0; k < c->arg_count; k++)
      if (c->args[k].tensor && c->args[k].tensor->owner->params)
        parameter = c->args[k].tensor->owner;
  }
  if (!parameter || written->owner == parameter) return written->name;
  const size_t size = strlen(written->name) + strlen(parameter->name) + sizeof ", after ,";
  char *text = ft_graph_alloc(g, size);
  if (text) snprintf(text, size, "%s, after %s,", written->name, parameter->name);
  return text ? text : written->name;
}

filtra_status ft_graph_find_nonfinite(filtra_graph *g, uint64_t ticket, const char **name) {
  filtra_device *dev = g->device;
  *name = NULL;
  FT_TRY(filtra_graph_wait(g, ticket));
  ft_program *p = g->program;
  search s = {0};
  FT_TRY(find_kernels(dev, &s));
  uint32_t first = UINT32_MAX;
  uint64_t again;
  FT_TRY(ft_buffer_create(dev, sizeof first, FT_MEMORY_DEVICE, &s.flag));
  filtra_status status = ft_fill(dev, &s.flag, 0, sizeof first, UINT32_MAX);
  if (!status)
    status = ft_replay(
        p, &p->slots[p->done_slot],
        &(ft_recording){
            .apart = true, .before = clear_unwritten, .after = search_written, .context = &s},
        &again);
  if (!status) status = ft_download(dev, &s.flag, 0, &first, sizeof first);
  ft_buffer_destroy(dev, &s.flag);
  if (!status && first != UINT32_MAX)
    *name = place_of(g, first / FT_MAX_ARGS,
                     p->plan->calls[first / FT_MAX_ARGS].call->args[first % FT_MAX_ARGS].tensor);
  return status;
}
