/* An optimizer's state on disk: parameters, both moments, the step count. */
#include "train/optimizer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char STEP_KEY[] = "filtra.step";

enum { GROUPS = 3, MOST_META = 8 };

typedef struct group {
  const char *prefix;
  const ft_buffer *flat;
  bool trained; /* has no buffers */
} group;

static void list_groups(const filtra_optimizer *o, group groups[GROUPS]) {
  groups[0] = (group){"model.", &o->params->values, false};
  groups[1] = (group){"first_moment.", &o->first, true};
  groups[2] = (group){"second_moment.", &o->second, true};
}

filtra_status ft_optimizer_write(filtra_optimizer *o, const char *path,
                                 const ft_safetensors_meta_pair *meta, size_t count) {
  group groups[GROUPS];
  ft_weight_list list;
  char step[32];
  ft_safetensors_meta_pair all[MOST_META] = {{STEP_KEY, step}};
  if (count >= MOST_META) return ft_fail(FILTRA_ERROR_ARGUMENT, "%zu metadata strings", count);
  FT_TRY(filtra_optimizer_finish(o, NULL));
  if (o->shards) FT_TRY(ft_shards_compare(o));
  FT_TRY(ft_weight_list_open(o->params, GROUPS, &list));
  list_groups(o, groups);
  snprintf(step, sizeof step, "%llu", (unsigned long long)o->steps);
  for (size_t i = 0; i < count; i++)
    all[i + 1] = meta[i];
  ft_buffer whole[GROUPS] = {{0}};
  filtra_status status = FILTRA_OK;
  for (int i = 0; i < GROUPS && !status; i++) {
    if (o->shards && groups[i].trained) {
      status = ft_shards_collect(o, groups[i].flat, &whole[i]);
      groups[i].flat = &whole[i];
    }
    if (!status)
      status =
          ft_weight_list_add(o->params, groups[i].flat, groups[i].prefix, groups[i].trained, &list);
  }
  if (!status && ft_shards_writes(o))
    status = ft_safetensors_write(path, list.tensors, list.count, all, count + 1);
  for (int i = 0; i < GROUPS; i++)
    ft_buffer_destroy(o->params->device, &whole[i]);
  ft_weight_list_close(&list);
  return status;
}

static filtra_status read_step(const ft_safetensors *file, const char *path, uint64_t *step) {
  const char *text = ft_safetensors_meta(file, STEP_KEY);
  char *end = NULL;
  errno = 0;
  if (text && *text >= '0' && *text <= '9') *step = strtoull(text, &end, 10);
  if (end && !*end && !errno) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: metadata \"%s\" is missing or damaged; not a checkpoint",
                 path, STEP_KEY);
}

/* Of a moment over several ranks this one's shard. */
static filtra_status upload_group(filtra_optimizer *o, const ft_safetensors *file, const group *g) {
  filtra_device *dev = o->params->device;
  ft_buffer whole = {0};
  if (!g->trained || !o->shards)
    return ft_weights_upload(o->params, file, g->prefix, g->trained ? g->flat : NULL);
  FT_TRY(ft_buffer_create(dev, o->params->trained_bytes, FT_MEMORY_READBACK, &whole));
  filtra_status status = ft_weights_upload(o->params, file, g->prefix, &whole);
  if (!status) status = ft_shards_take(o, &whole, g->flat);
  ft_buffer_destroy(dev, &whole);
  return status;
}

filtra_status ft_optimizer_read(filtra_optimizer *o, const ft_safetensors *file, const char *path) {
  group groups[GROUPS];
  uint64_t step = 0;
  list_groups(o, groups);
  FT_TRY(read_step(file, path, &step));
  for (int i = 0; i < GROUPS; i++)
    FT_TRY(ft_weights_check(o->params, file, path, groups[i].prefix, groups[i].trained));
  FT_TRY(ft_optimizer_recover(o));
  for (int i = 0; i < GROUPS; i++)
    FT_TRY(upload_group(o, file, &groups[i]));
  o->steps = step;
  o->last = (filtra_optimizer_result){0};
  return FILTRA_OK;
}

filtra_status filtra_optimizer_save(filtra_optimizer *optimizer, const char *path) {
  FT_NEED(optimizer, path);
  return ft_optimizer_write(optimizer, path, NULL, 0);
}

filtra_status filtra_optimizer_restore(filtra_optimizer *optimizer, const char *path) {
  ft_safetensors *file;
  FT_NEED(optimizer, path);
  FT_TRY(filtra_optimizer_finish(optimizer, NULL));
  FT_TRY(ft_safetensors_open(path, &file));
  filtra_status status = ft_optimizer_read(optimizer, file, path);
  ft_safetensors_close(&file);
  return status;
}
