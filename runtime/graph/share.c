/* Sharing: a call of the forward pass that repeats an earlier one, on the same bytes with the same
 * numbers, is dropped, and what reads its results reads the earlier call's. So layers that compute
 * the same thing from a mask compute it once. Only calls whose arguments require no gradient are
 * shared: no backward rule then writes to them. Called by graph/gradients.c and graph/graph.c when
 * the forward pass is recorded. */
#include "graph/tape.h"

#include <stdlib.h>
#include <string.h>

typedef struct sharing {
  struct ft_tape *tape;
  uint8_t *writes;   /* by storage: how often it is written; 2: twice or more */
  uint32_t *slots;   /* hash table of calls that are kept: position on the tape plus 1; 0: empty */
  size_t slot_count; /* a power of 2 */
  uint32_t *after;   /* by call: its position once the repeated ones are dropped */
} sharing;

static bool writes(const ft_arg *a) {
  return a->tensor && (a->mode & FT_ACCESS_WRITE);
}

static void count_writes(sharing *all) {
  const struct ft_tape *tape = all->tape;
  for (size_t i = 0; i < tape->input_count; i++)
    all->writes[tape->inputs[i].tensor->storage->number] = 1;
  for (size_t i = 0; i < tape->call_count; i++)
    for (uint32_t k = 0; k < tape->calls[i].arg_count; k++) {
      const ft_arg *a = &tape->calls[i].args[k];
      if (writes(a) && all->writes[a->tensor->storage->number] < 2)
        all->writes[a->tensor->storage->number]++;
    }
}

/* Whether what the call reads stays as it is, and nothing else writes its results. */
static bool is_shareable(const sharing *all, const ft_recorded_call *c) {
  for (uint32_t k = 0; k < c->arg_count; k++) {
    const ft_arg *a = &c->args[k];
    if (!a->tensor) continue;
    const ft_storage *s = a->tensor->storage;
    if (a->tensor->requires_grad || s->home != FT_HOME_ARENA || all->writes[s->number] > 1)
      return false;
    if (writes(a) && ((a->mode & FT_ACCESS_READ) || s->pinned)) return false;
  }
  return true;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t count) {
  const uint8_t *b = bytes;
  for (size_t i = 0; i < count; i++)
    hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static uint64_t hash_of(const ft_recorded_call *c) {
  uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), c->push, c->push_size);
  hash = mix(hash, c->key.kernel, strlen(c->key.kernel));
  for (uint32_t k = 0; k < c->arg_count; k++)
    if (c->args[k].tensor && !writes(&c->args[k]))
      hash = mix(hash, &c->args[k].tensor->storage->number, sizeof(uint32_t));
  return hash;
}

static bool same_key(const ft_kernel_key *a, const ft_kernel_key *b) {
  return !strcmp(a->kernel, b->kernel) && a->module == b->module && a->workgroup == b->workgroup &&
         a->subgroup == b->subgroup && a->spec_count == b->spec_count &&
         !memcmp(a->spec, b->spec, a->spec_count * sizeof *a->spec);
}

/* Results lie at the same places of storages of the same size. */
static bool same_arg(const ft_arg *a, const ft_arg *b) {
  if (!a->tensor || !b->tensor) return a->tensor == b->tensor;
  const ft_storage *s = a->tensor->storage, *r = b->tensor->storage;
  return a->mode == b->mode && a->tensor->offset == b->tensor->offset &&
         (writes(a) ? s->bytes == r->bytes && s->dtype == r->dtype : s == r);
}

static bool same_call(const ft_recorded_call *a, const ft_recorded_call *b) {
  bool same = same_key(&a->key, &b->key) && !memcmp(a->groups, b->groups, sizeof a->groups) &&
              a->arg_count == b->arg_count && a->push_size == b->push_size &&
              !memcmp(a->push, b->push, a->push_size);
  for (uint32_t k = 0; k < a->arg_count && same; k++)
    same = same_arg(&a->args[k], &b->args[k]);
  return same;
}

/* The earlier call that this one repeats; NULL: none, and it is noted for later ones. */
static const ft_recorded_call *find_earlier(sharing *all, uint32_t call) {
  const ft_recorded_call *c = &all->tape->calls[call];
  const size_t mask = all->slot_count - 1;
  size_t slot = hash_of(c) & mask;
  for (; all->slots[slot]; slot = (slot + 1) & mask) {
    const ft_recorded_call *earlier = &all->tape->calls[all->slots[slot] - 1];
    if (same_call(earlier, c)) return earlier;
  }
  all->slots[slot] = call + 1;
  return NULL;
}

/* Gives all tensors of the one storage to the other. */
static void move_tensors(ft_storage *from, ft_storage *to) {
  while (from->tensors) {
    filtra_tensor *t = from->tensors;
    from->tensors = t->next;
    t->storage = to;
    t->next = to->tensors;
    to->tensors = t;
  }
}

static void drop(const ft_recorded_call *c, const ft_recorded_call *earlier) {
  for (uint32_t k = 0; k < c->arg_count; k++)
    if (writes(&c->args[k]))
      move_tensors(c->args[k].tensor->storage, earlier->args[k].tensor->storage);
}

/* Marks the calls to drop with the position of the next one. */
static uint32_t find_repeated(sharing *all) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < all->tape->call_count; i++) {
    const ft_recorded_call *c = &all->tape->calls[i];
    const ft_recorded_call *earlier = is_shareable(all, c) ? find_earlier(all, i) : NULL;
    all->after[i] = kept;
    if (earlier)
      drop(c, earlier);
    else
      kept++;
  }
  return all->after[all->tape->call_count] = kept;
}

static void close_gaps(const sharing *all, uint32_t kept) {
  struct ft_tape *tape = all->tape;
  size_t substitutes = 0;
  for (size_t i = 0; i < tape->substitute_count; i++) {
    ft_substitute s = tape->substitutes[i];
    const bool dropped = all->after[s.call] == all->after[s.call + 1];
    s.call = all->after[s.call];
    if (!dropped) tape->substitutes[substitutes++] = s;
  }
  tape->substitute_count = substitutes;
  for (size_t i = 0; i < tape->segment_count; i++) {
    tape->segments[i].call = all->after[tape->segments[i].call];
    tape->segments[i].call_end = all->after[tape->segments[i].call_end];
  }
  for (uint32_t i = 0; i < tape->call_count; i++)
    if (all->after[i] < all->after[i + 1]) tape->calls[all->after[i]] = tape->calls[i];
  tape->call_count = kept;
}

filtra_status ft_tape_share(struct ft_tape *tape) {
  if (!tape->fuses || tape->phase != FT_FORWARD) return FILTRA_OK;
  sharing all = {.tape = tape, .slot_count = 2};
  while (all.slot_count < 2 * tape->call_count)
    all.slot_count *= 2;
  all.slots = ft_calloc(all.slot_count, sizeof *all.slots);
  all.writes = ft_calloc(tape->storage_count + 1, sizeof *all.writes);
  all.after = ft_calloc(tape->call_count + 1, sizeof *all.after);
  const bool ready = all.slots && all.writes && all.after;
  if (ready) {
    count_writes(&all);
    close_gaps(&all, find_repeated(&all));
  }
  free(all.slots);
  free(all.writes);
  free(all.after);
  return ready ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
}
