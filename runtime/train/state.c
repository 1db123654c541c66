/* A trainer's state on disk: parameters, both moments, the step count, and the configurations of
 * kernels where any are other than the ops' own: they decide the order of sums. */
#include "train/trainer.h"

#include "base/memory.h"
#include "gpu/tuning.h"
#include "graph/parameters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char STEP_KEY[] = "filtra.step", TUNING_KEY[] = "filtra.tuning";

typedef struct group {
  const char *prefix;
  const ft_buffer *flat;
} group;

enum { GROUPS = 3 };

static void list_groups(const filtra_trainer *t, group groups[GROUPS]) {
  groups[0] = (group){"model.", &t->model->params->values};
  groups[1] = (group){"first_moment.", &t->first};
  groups[2] = (group){"second_moment.", &t->second};
}

filtra_status ft_trainer_save(filtra_trainer *t, const char *path, const char *key,
                              const char *value) {
  group groups[GROUPS];
  ft_weight_list list;
  char step[32];
  FT_TRY(filtra_trainer_finish(t, NULL));
  FT_TRY(ft_weight_list_open(t->model, GROUPS, &list));
  list_groups(t, groups);
  snprintf(step, sizeof step, "%llu", (unsigned long long)t->steps);
  ft_safetensors_meta_pair meta[3] = {{STEP_KEY, step}};
  size_t pairs = 1;
  char *choices = NULL;
  filtra_status status = FILTRA_OK;
  if (key) meta[pairs++] = (ft_safetensors_meta_pair){key, value};
  if (!ft_tuning_equal(t->tuning, NULL)) {
    choices = ft_tuning_choices(t->model->device, t->tuning);
    meta[pairs++] = (ft_safetensors_meta_pair){TUNING_KEY, choices};
    if (!choices) status = FILTRA_ERROR_HOST_MEMORY;
  }
  for (int i = 0; i < GROUPS && !status; i++)
    status = ft_weight_list_add(t->model, groups[i].flat, groups[i].prefix, &list);
  if (!status) status = ft_safetensors_write(path, list.tensors, list.count, meta, pairs);
  ft_weight_list_close(&list);
  free(choices);
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

/* Everything is checked before anything is taken over. */
static filtra_status take(filtra_trainer *t, const ft_safetensors *file, const char *path) {
  group groups[GROUPS];
  uint64_t step = 0;
  list_groups(t, groups);
  FT_TRY(read_step(file, path, &step));
  for (int i = 0; i < GROUPS; i++)
    FT_TRY(ft_weights_check(t->model, file, path, groups[i].prefix));
  for (int i = 0; i < GROUPS; i++)
    FT_TRY(ft_weights_upload(t->model, file, groups[i].prefix, groups[i].flat));
  FT_TRY(ft_fill(t->model->device, &t->state, 0, t->state.size, 0));
  t->steps = step;
  t->last = (filtra_step_metrics){0};
  return FILTRA_OK;
}

/* What the run was trained with; NULL: the ops' own choices, as in runs of another device. */
static filtra_status read_tuning(const filtra_trainer *t, const ft_safetensors *file,
                                 const char *path, ft_tuning **tuning) {
  const char *text = ft_safetensors_meta(file, TUNING_KEY);
  bool foreign;
  *tuning = NULL;
  if (!text) return FILTRA_OK;
  filtra_status status =
      ft_tuning_parse(t->model->device, text, strlen(text), path, &foreign, tuning);
  if (!foreign) return status;
  ft_log(FILTRA_LOG_WARNING, "tuning of the checkpoint is ignored: %s", filtra_error_message());
  return FILTRA_OK;
}

static void take_tuning(filtra_trainer *t, ft_tuning **tuning) {
  if (ft_tuning_equal(t->tuning, *tuning)) return;
  ft_trainer_forget_graphs(t);
  ft_tuning_release(&t->tuning);
  t->tuning = *tuning;
  *tuning = NULL;
}

filtra_status filtra_trainer_restore(filtra_trainer *trainer, const char *path) {
  FT_NEED(trainer);
  FT_NEED(path);
  filtra_trainer *t = trainer;
  ft_safetensors *file;
  FT_TRY(filtra_trainer_finish(t, NULL));
  FT_TRY(ft_safetensors_open(path, &file));
  ft_tuning *tuning;
  filtra_status status = read_tuning(t, file, path, &tuning);
  if (!status) status = take(t, file, path);
  if (!status) take_tuning(t, &tuning);
  ft_tuning_release(&tuning);
  ft_safetensors_close(&file);
  return status;
}

filtra_status filtra_trainer_save(filtra_trainer *trainer, const char *path) {
  FT_NEED(trainer);
  FT_NEED(path);
  return ft_trainer_save(trainer, path, NULL, NULL);
}
