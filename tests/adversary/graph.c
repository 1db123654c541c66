/* From a compiled graph to dispatches: kernels, push constants, the accesses that each call
 * declares, and which calls may overlap. */
#include "adversary/adversary.h"

#include "base/memory.h"
#include "gpu/internal.h"
#include "graph/parameters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- programs, once for a kernel and its constants ---- */

static adv_program **programs;
static size_t program_count, program_capacity;

static bool full_subgroups(const ft_pipeline *pipeline) {
  return pipeline->flags & VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
}

static bool is_program_of(const adv_program *p, const ft_pipeline *pipeline, uint64_t contraction) {
  const adv_source *s = &p->source;
  const ft_kernel_key *key = &pipeline->key;
  return s->words == pipeline->source->words && s->workgroup == key->workgroup &&
         s->subgroup == key->subgroup && s->full == full_subgroups(pipeline) &&
         s->contraction == contraction && s->spec_count == key->spec_count &&
         !memcmp(s->spec, key->spec, key->spec_count * sizeof *key->spec);
}

static filtra_status program_of(const ft_pipeline *pipeline, uint64_t contraction,
                                const adv_program **out) {
  for (size_t i = 0; i < program_count; i++) {
    *out = programs[i];
    if (is_program_of(programs[i], pipeline, contraction)) return FILTRA_OK;
  }
  const adv_source source = {.name = pipeline->source->name,
                             .words = pipeline->source->words,
                             .bytes = pipeline->source->bytes,
                             .workgroup = pipeline->key.workgroup,
                             .subgroup = pipeline->key.subgroup,
                             .full = full_subgroups(pipeline),
                             .spec_count = pipeline->key.spec_count,
                             .spec = pipeline->key.spec,
                             .contraction = contraction};
  adv_program *made;
  FT_TRY(adv_program_create(&source, &made));
  FT_TRY(FT_GROW(programs, program_count, program_capacity));
  *out = programs[program_count++] = made;
  return FILTRA_OK;
}

void adv_programs_list(FILE *to) {
  for (size_t i = 0; i < program_count; i++) {
    const adv_source *s = &programs[i]->source;
    fprintf(to, "variant: %s %u %u", s->name, s->workgroup, s->subgroup);
    for (uint32_t k = 0; k < s->spec_count; k++)
      fprintf(to, " %x", s->spec[k]);
    fputc('\n', to);
  }
}

void adv_programs_clear(void) {
  for (size_t i = 0; i < program_count; i++)
    adv_program_destroy(&programs[i]);
  free(programs);
  programs = NULL;
  program_count = program_capacity = 0;
}

/* ---- memory ---- */

/** Where a storage lies: in which region, and from which byte on. */
typedef struct spot {
  adv_region *region;
  uint64_t address, offset;
} spot;

static spot spot_of(const ft_program *p, const adv_memory *memory, const ft_storage *s) {
  const ft_place *place = &p->plan->storages[s->number].place;
  const ft_buffer *b = ft_program_buffer(p, place);
  return (spot){adv_memory_of(memory, b), b->address + place->offset, place->offset};
}

static bool is_used(const ft_program *p, const ft_storage *s) {
  return s->home != FT_HOME_ARENA || p->plan->storages[s->number].life.first >= 0;
}

static filtra_status add_storage(const ft_program *p, adv_memory *memory, const ft_storage *s) {
  const ft_buffer *b = ft_program_buffer(p, &p->plan->storages[s->number].place);
  if (adv_memory_of(memory, b)) return FILTRA_OK;
  adv_region *r = adv_memory_add(memory, b, b->address, b->size);
  if (s->home == FT_HOME_ARENA) return FILTRA_OK;
  uint8_t *content = adv_list(b->size, 1);
  filtra_status status = ft_download(p->device, b, 0, content, b->size);
  if (!status) adv_region_fill(r, 0, content, b->size);
  free(content);
  return status;
}

static filtra_status take_snapshot(const ft_program *p, adv_memory *memory) {
  memory->next_group = memory->since_barrier = 1;
  for (size_t i = 0; i < p->plan->tape->storage_count; i++)
    if (is_used(p, p->plan->tape->storages[i]))
      FT_TRY(add_storage(p, memory, p->plan->tape->storages[i]));
  return FILTRA_OK;
}

static void upload(const ft_program *p, const ft_slot *slot, adv_memory *memory,
                   const adv_manner *manner) {
  const struct ft_tape *tape = p->plan->tape;
  for (size_t i = 0; i < tape->storage_count; i++) {
    const ft_storage *s = tape->storages[i];
    if (s->home != FT_HOME_ARENA || !is_used(p, s)) continue;
    const spot at = spot_of(p, memory, s);
    adv_region_forget(at.region, at.offset, s->bytes, manner->seed);
  }
  for (size_t i = 0; i < tape->input_count; i++) {
    const ft_port *port = &p->inputs[i];
    if (port->bytes)
      adv_region_fill(spot_of(p, memory, port->tensor->storage).region,
                      ft_plan_span(p->plan, port->tensor).low,
                      (const uint8_t *)slot->staging.mapped + port->offset, port->bytes);
  }
}

static filtra_status download(const ft_program *p, const ft_slot *slot, const adv_memory *memory) {
  const struct ft_tape *tape = p->plan->tape;
  for (size_t i = 0; i < tape->output_count; i++) {
    const ft_port *port = &p->outputs[i];
    if (port->bytes)
      memcpy((uint8_t *)slot->readback.mapped + port->offset,
             spot_of(p, memory, port->tensor->storage).region->data +
                 ft_plan_span(p->plan, port->tensor).low,
             port->bytes);
  }
  for (size_t i = 0; i < tape->call_count; i++)
    for (uint32_t k = 0; k < tape->calls[i].arg_count; k++) {
      const ft_arg *a = &tape->calls[i].args[k];
      if (!a->tensor || !(a->mode & FT_ACCESS_WRITE)) continue;
      const ft_buffer *b = ft_place_of(p->plan, a->tensor).buffer; /* NULL: in the arena */
      if (b) FT_TRY(ft_upload(p->device, b, 0, adv_memory_of(memory, b)->data, b->size));
    }
  return FILTRA_OK;
}

/* ---- what a call declares ---- */

/* Sets or clears flags for all words of a tensor's elements. */
static void permit(const ft_program *p, adv_memory *memory, const filtra_tensor *t, uint32_t flags,
                   bool set) {
  const spot begin = spot_of(p, memory, t->storage);
  const uint64_t size = filtra_dtype_bytes(t->storage->dtype);
  int64_t shape[FILTRA_MAX_DIMS] = {1, 1, 1, 1}, stride[FILTRA_MAX_DIMS] = {0};
  for (int i = 0; i < t->ndim; i++) {
    shape[i] = t->shape[i];
    stride[i] = t->stride[i];
  }
  for (int64_t a = 0; a < shape[0]; a++)
    for (int64_t b = 0; b < shape[1]; b++)
      for (int64_t c = 0; c < shape[2]; c++)
        for (int64_t d = 0; d < shape[3]; d++) {
          int64_t at = t->offset + a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
          adv_word *w = begin.region->words + (begin.offset + (uint64_t)at * size) / 4;
          w->flags = set ? w->flags | flags : w->flags & ~flags;
        }
}

static void permit_call(const ft_program *p, adv_memory *memory, const ft_recorded_call *c,
                        bool set) {
  for (uint32_t k = 0; k < c->arg_count; k++) {
    if (!c->args[k].tensor) continue;
    const bool own = c->args[k].mode & FT_ACCESS_READ_BACK;
    if (own && set) permit(p, memory, c->args[k].tensor, ADV_WRITTEN, false);
    uint32_t flags = (own || c->args[k].mode & FT_ACCESS_READ ? ADV_MAY_READ : 0) |
                     (c->args[k].mode & FT_ACCESS_WRITE ? ADV_MAY_WRITE : 0);
    permit(p, memory, c->args[k].tensor, set ? flags : ADV_MAY_READ | ADV_MAY_WRITE, set);
  }
}

/* Kernels that move words also move the half word after an odd number of 16-bit elements. */
static void pad(const ft_program *p, adv_memory *memory, const filtra_tensor *t) {
  const filtra_tensor *all = t->owner->whole ? t->owner->whole : t->owner;
  const ft_storage *s = all->storage;
  if (s != t->storage || filtra_dtype_bytes(s->dtype) != 2 || !(filtra_tensor_elements(all) % 2))
    return;
  const spot at = spot_of(p, memory, s);
  adv_region_pad(at.region, at.offset + s->bytes - 4);
}

/* Storages whose life begins with the interval that this call opens hold nothing yet, whatever lay
 * there before. */
static void begin_lives(const ft_program *p, size_t index, adv_memory *memory, uint64_t seed) {
  const ft_plan *plan = p->plan;
  for (size_t i = 0; i < plan->tape->storage_count; i++) {
    const ft_storage *s = plan->tape->storages[i];
    if (!ft_life_begins(plan, index, s)) continue;
    const spot at = spot_of(p, memory, s);
    adv_region_forget(at.region, at.offset, s->bytes, seed);
  }
  for (size_t i = index;
       i < plan->call_count && plan->calls[i].interval == plan->calls[index].interval; i++) {
    const ft_recorded_call *c = plan->calls[i].call;
    for (uint32_t k = 0; k < c->arg_count; k++)
      if (c->args[k].tensor && ft_life_begins(plan, index, c->args[k].tensor->storage))
        pad(p, memory, c->args[k].tensor);
  }
}

/* ---- running ---- */

/* Fills in the addresses, and tells the report which tensors they are. */
static void name_tensors(const ft_program *p, const ft_recorded_call *c, const adv_memory *memory,
                         uint8_t *push, adv_tensor *tensors, adv_report *report) {
  report->tensors = tensors;
  report->tensor_count = 0;
  for (uint32_t i = 0; i < c->arg_count; i++) {
    const filtra_tensor *t = c->args[i].tensor;
    uint64_t address = t ? ft_program_address(p, t) : 0;
    memcpy(push + i * sizeof address, &address, sizeof address);
    if (!t) continue;
    ft_span span = ft_tensor_span(t);
    uint64_t base = spot_of(p, memory, t->storage).address;
    tensors[report->tensor_count++] = (adv_tensor){t->name, base + span.low, base + span.high,
                                                   (uint32_t)filtra_dtype_bytes(t->storage->dtype)};
  }
}

static filtra_status run_call(const ft_program *p, size_t index, const adv_manner *manner,
                              adv_memory *memory, adv_report *report) {
  const ft_planned_call *planned = &p->plan->calls[index];
  const ft_recorded_call *c = planned->call;
  const adv_program *program;
  adv_tensor tensors[FT_MAX_ARGS];
  uint8_t push[FT_PUSH_BYTES];
  memcpy(push, c->push, c->push_size);
  if (planned->barrier) memory->since_barrier = memory->next_group;
  name_tensors(p, c, memory, push, tensors, report);
  begin_lives(p, index, memory, manner->seed);
  FT_TRY(program_of(p->pipelines[index], manner->contracts ? manner->seed : 0, &program));
  permit_call(p, memory, c, true);
  adv_machine_run(program, manner, memory, report, push, c->push_size, c->groups);
  permit_call(p, memory, c, false);
  return FILTRA_OK;
}

/* Whether the results have a NaN or an infinity. Then it is for who asked for them to say if that
 * is right, and being made from finite numbers is no finding. */
static bool gives_nonfinite(const ft_program *p, const ft_slot *slot) {
  for (size_t i = 0; i < p->plan->tape->output_count; i++) {
    const ft_port *port = &p->outputs[i];
    if (filtra_tensor_dtype(port->tensor) != FILTRA_F32) continue;
    for (uint64_t at = 0; at < port->bytes; at += sizeof(float)) {
      float x;
      memcpy(&x, (const uint8_t *)slot->readback.mapped + port->offset + at, sizeof x);
      if (!isfinite(x)) return true;
    }
  }
  return false;
}

filtra_status adv_run_program(ft_program *p, ft_slot *slot, const adv_manner *manner,
                              adv_memory *memory, adv_report *report) {
  FT_TRY(take_snapshot(p, memory));
  upload(p, slot, memory, manner);
  for (size_t i = 0; i < p->plan->call_count; i++)
    FT_TRY(run_call(p, i, manner, memory, report));
  FT_TRY(download(p, slot, memory));
  adv_report_end(report, gives_nonfinite(p, slot));
  return FILTRA_OK;
}

uint64_t adv_graph_size(const filtra_graph *g) {
  uint64_t size = 0;
  for (size_t i = 0; i < g->tape.call_count; i++) {
    const ft_recorded_call *c = &g->tape.calls[i];
    size += (uint64_t)c->groups[0] * c->groups[1] * c->groups[2] * c->key.workgroup;
    size += (uint64_t)c->flops;
  }
  return size;
}
