/* Files of optimizer state: parameters, both moments, step count and loss scale. Called by
 * train/state.c for checkpoints, and by programs through filtra_optimizer_save and _restore. */
#include "train/optimizer.h"

#include "base/number.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char STEP_KEY[] = "filtra.step", SCALE_KEY[] = "filtra.loss_scale";

enum { GROUPS = 3, MOST_META = 8, SCALE_TEXT = 96 };

typedef struct group {
  const char *prefix;
  const ft_buffer *flat;
  bool trained; /* only trained parameters have this */
} group;

static void list_groups(const filtra_optimizer *o, group groups[GROUPS]) {
  groups[0] = (group){"model.", &o->params->values, false};
  groups[1] = (group){"first_moment.", &o->first, true};
  groups[2] = (group){"second_moment.", &o->second, true};
}

/* "SCALE STEADY SKIPPED STEP", the fields of ft_loss_scale; "" without loss scaling. */
static filtra_status describe_scaling(const filtra_optimizer *o, char text[SCALE_TEXT]) {
  ft_loss_scale s;
  *text = '\0';
  if (!o->scaling.size) return FILTRA_OK;
  if (o->shards)
    s = o->scale;
  else
    FT_TRY(ft_download(o->params->device, &o->scaling, 0, &s, sizeof s));
  ft_print(text, SCALE_TEXT, "%a %u %u %llu", (double)s.scale, s.steady, s.skipped,
           (unsigned long long)((uint64_t)s.step_high << 32 | s.step_low));
  return FILTRA_OK;
}

filtra_status ft_optimizer_write(filtra_optimizer *o, const char *within, const char *path,
                                 const ft_safetensors_meta_pair *meta, size_t count) {
  group groups[GROUPS];
  ft_weight_list list;
  char step[32], scale[SCALE_TEXT];
  ft_safetensors_meta_pair all[MOST_META] = {{STEP_KEY, step}};
  size_t own = 1;
  if (count + 2 > MOST_META) return ft_fail(FILTRA_ERROR_ARGUMENT, "%zu metadata strings", count);
  FT_TRY(filtra_optimizer_finish(o, NULL));
  if (o->shards) FT_TRY(ft_shards_compare(o));
  FT_TRY(ft_weight_list_open(o->params, GROUPS, &list));
  list_groups(o, groups);
  snprintf(step, sizeof step, "%llu", (unsigned long long)o->steps);
  filtra_status status = describe_scaling(o, scale);
  if (*scale) all[own++] = (ft_safetensors_meta_pair){SCALE_KEY, scale};
  for (size_t i = 0; i < count; i++)
    all[own + i] = meta[i];
  ft_buffer whole[GROUPS] = {{0}};
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
    status = ft_safetensors_write_in(within, path, list.tensors, list.count, all, own + count);
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

/* Reads the loss scale. A file without one, written in another precision, gives the initial scale.
 */
static filtra_status read_scaling(const filtra_optimizer *o, const ft_safetensors *file,
                                  const char *path, ft_loss_scale *s) {
  const char *text = ft_safetensors_meta(file, SCALE_KEY);
  unsigned long long step = 0;
  double scale = (double)o->options.loss_scale;
  int exponent, end = 0;
  *s = (ft_loss_scale){.window = o->options.loss_scale_window};
  bool good = !text ||
              (sscanf(text, "%la %" SCNu32 " %" SCNu32 " %llu%n", &scale, &s->steady, &s->skipped,
                      &step, &end) == 4 &&
               !text[end] && scale >= 0x1p-14 && scale <= 0x1p40 && frexp(scale, &exponent) == 0.5);
  if (!good) return ft_fail(FILTRA_ERROR_INPUT, "%s: metadata \"%s\" is damaged", path, SCALE_KEY);
  s->scale = (float)scale;
  s->step_low = (uint32_t)step;
  s->step_high = (uint32_t)(step >> 32);
  return FILTRA_OK;
}

/* Uploads a group; of a moment, only this rank's shard. */
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
  ft_loss_scale scaling;
  uint64_t step = 0;
  list_groups(o, groups);
  FT_TRY(read_step(file, path, &step));
  if (o->scaling.size) FT_TRY(read_scaling(o, file, path, &scaling));
  for (int i = 0; i < GROUPS; i++)
    FT_TRY(ft_weights_check(o->params, file, path, groups[i].prefix, groups[i].trained));
  FT_TRY(ft_optimizer_recover(o));
  for (int i = 0; i < GROUPS; i++)
    FT_TRY(upload_group(o, file, &groups[i]));
  if (o->scaling.size) FT_TRY(ft_optimizer_set_scale(o, &scaling));
  o->steps = step;
  o->last = (filtra_optimizer_metrics){0};
  return FILTRA_OK;
}

filtra_status filtra_optimizer_save(filtra_optimizer *optimizer, const char *path) {
  FT_NEED(optimizer, path);
  return ft_optimizer_write(optimizer, NULL, path, NULL, 0);
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
