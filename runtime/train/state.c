/* Files of trainer state: those of the optimizer (optimizer_file.c), and the tuned choices of
 * kernels if they differ from the defaults. The choices decide the order of sums, and so the bits
 * of results. */
#include "train/trainer.h"

#include "base/memory.h"
#include "ops/tuning.h"

#include <stdlib.h>
#include <string.h>

static const char TUNING_KEY[] = "filtra.tuning";

filtra_status ft_trainer_save(filtra_trainer *t, const char *within, const char *path,
                              const char *key, const char *value) {
  ft_safetensors_meta_pair meta[2];
  size_t pairs = 0;
  char *choices = NULL;
  FT_TRY(filtra_trainer_finish(t, NULL));
  if (key) meta[pairs++] = (ft_safetensors_meta_pair){key, value};
  if (!ft_tuning_equal(t->tuning, NULL)) {
    choices = ft_tuning_choices(t->model->device, t->tuning);
    if (!choices) return FILTRA_ERROR_HOST_MEMORY;
    meta[pairs++] = (ft_safetensors_meta_pair){TUNING_KEY, choices};
  }
  filtra_status status = ft_optimizer_write(t->optimizer, within, path, meta, pairs);
  free(choices);
  return status;
}

/* The tuning that the run was trained with; NULL: the ops' defaults, also if the tuning is another
 * device's. */
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
  ft_tuning_warn(t->model->device, *tuning, "the checkpoint's tuning");
  ft_trainer_forget_graphs(t);
  ft_tuning_release(&t->tuning);
  t->tuning = *tuning;
  *tuning = NULL;
}

filtra_status filtra_trainer_restore(filtra_trainer *trainer, const char *path) {
  FT_NEED(trainer, path);
  filtra_trainer *t = trainer;
  ft_safetensors *file;
  FT_TRY(filtra_trainer_finish(t, NULL));
  FT_TRY(ft_safetensors_open(path, &file));
  ft_tuning *tuning;
  filtra_status status = read_tuning(t, file, path, &tuning);
  if (!status) status = ft_optimizer_read(t->optimizer, file, path);
  if (!status) t->last = (filtra_trainer_metrics){0};
  if (!status) take_tuning(t, &tuning);
  ft_tuning_release(&tuning);
  ft_safetensors_close(&file);
  return status;
}

filtra_status filtra_trainer_save(filtra_trainer *trainer, const char *path) {
  FT_NEED(trainer, path);
  return ft_trainer_save(trainer, NULL, path, NULL, NULL);
}
