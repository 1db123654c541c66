/* Collects the questions that ops ask while train steps are built. Called by tune.c. */
#include "tune.h"

#include "base/json.h"
#include "base/memory.h"
#include "nn/mixer.h"
#include "train/preset.h"
#include "train/run.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

/* ---- every mixer ---- */

/* A train step as in docs/benchmarks.md, with one layer: all layers ask the same questions. */
enum { BATCH = 4, LENGTH = 1024 };
static const char MODEL[] =
    "{\"mixer\": \"%s\", \"vocabulary\": 32, \"classes\": 10, "
    "\"max_length\": 1024, \"width\": 64, \"heads\": 2, \"ffn_width\": 128, "
    "\"layers\": 1, \"precision\": \"%s\"}";

/* Builds a train step. Creating the model also builds it, for one token: those questions are not
 * collected, since their time does not matter. */
static filtra_status ask_step(ft_tuning *asked, filtra_device *device,
                              const ft_model_options *options, const filtra_train_options *training,
                              int64_t size, int64_t length) {
  filtra_model *model = NULL;
  filtra_trainer *trainer = NULL;
  filtra_status status = ft_model_new(device, options, 1, &model);
  ft_tuning *before = ft_tuning_use(device, asked);
  if (!status) status = filtra_trainer_create(model, training, &trainer);
  if (!status) status = ft_trainer_build(trainer, size, length);
  ft_tuning_use(device, before);
  filtra_trainer_destroy(&trainer);
  filtra_model_destroy(&model);
  return status;
}

static filtra_status ask_mixer(ft_tuning *asked, filtra_device *device, const char *mixer,
                               filtra_precision precision) {
  ft_model_options options;
  json_t *object = NULL;
  char *text = ft_format(MODEL, mixer, filtra_precision_name(precision));
  if (!text) return FILTRA_ERROR_HOST_MEMORY;
  filtra_status status = ft_json_parse(text, strlen(text), mixer, &object);
  if (!status) status = ft_model_options_read(object, mixer, &options);
  if (!status) status = ask_step(asked, device, &options, NULL, BATCH, LENGTH);
  json_decref(object);
  free(text);
  return status;
}

/* ---- a run ---- */

static filtra_status ask_lengths(ft_tuning *asked, filtra_device *device, const ft_run_config *c,
                                 const filtra_dataset *data) {
  filtra_loader *loader = NULL;
  size_t count;
  FT_TRY(filtra_loader_create(data,
                              &(filtra_loader_options){.split = FILTRA_SPLIT_TRAIN,
                                                       .batch_size = (uint32_t)c->batch_size,
                                                       .drop_last = c->drop_last},
                              &loader));
  const uint64_t batches = filtra_loader_batch_count(loader);
  const filtra_train_options training = ft_run_train_options(
      c, c->train.optimizer.steps ? c->train.optimizer.steps : (uint64_t)c->epochs * batches,
      batches);
  const uint32_t *lengths = filtra_loader_buckets(loader, &count);
  filtra_status status = FILTRA_OK;
  while (count-- > 0 && !status)
    status = ask_step(asked, device, &c->model, &training, c->batch_size, lengths[count]);
  filtra_loader_destroy(&loader);
  return status;
}

static filtra_status ask_run(ft_tuning *asked, filtra_device *device, const json_t *config,
                             const char *context) {
  ft_run_config c;
  json_t *expanded = NULL;
  filtra_dataset *data = NULL;
  filtra_status status = ft_preset_expand(config, &expanded);
  if (!status) status = ft_run_config_read(expanded, context, &c);
  if (!status) status = ft_run_open_data(&c, NULL, FILTRA_SPLIT_TRAIN, &data);
  if (!status) status = ft_run_config_fit(&c, context, data);
  if (!status) status = ask_lengths(asked, device, &c, data);
  filtra_dataset_close(&data);
  json_decref(expanded);
  return status;
}

filtra_status tune_ask(filtra_device *device, const json_t *config, const char *context,
                       const filtra_precision *precision, ft_tuning *asked) {
  if (config) return ask_run(asked, device, config, context);
  for (size_t i = 0; i < filtra_mixer_count(); i++)
    FT_TRY(ask_mixer(asked, device, ft_mixer_at(i)->name,
                     precision ? *precision : FILTRA_PRECISION_FP32));
  return FILTRA_OK;
}
