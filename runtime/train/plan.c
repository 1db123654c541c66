/* Device memory of a run, and settings with which the run would fit. Called by `filtra train
 * --plan` through filtra_run_measure. */
#include "base/file.h"
#include "base/memory.h"
#include "graph/parameters.h"
#include "train/groups.h"
#include "train/preset.h"
#include "train/run.h"
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct planning {
  filtra_device *device;
  ft_run_config config;
  const uint32_t *lengths; /* of batches, the longest last */
  size_t count;
  int64_t validated;          /* samples of a batch of validation; 0: none */
  uint32_t validation_length; /* of the longest one */
  bool advising;
} planning;

/* Adds a graph's transfers, and keeps the largest activations. */
static filtra_status add_graph(filtra_model *model, ft_batch_graph *b, bool training,
                               ft_recompute how, filtra_run_memory_use *plan) {
  filtra_memory_use memory = {0};
  filtra_status status = ft_model_measure(model, b, training, how, &memory);
  ft_batch_graph_close(b);
  if (status) return status;
  plan->transfers += memory.transfers;
  if (memory.activations > plan->activations) plan->activations = memory.activations;
  return FILTRA_OK;
}

static filtra_status add_graphs(const planning *p, filtra_model *model,
                                filtra_run_memory_use *plan) {
  const ft_run_config *c = &p->config;
  const int64_t parts = (int64_t)c->train.accumulate;
  model->loss_chunks = (int64_t)c->train.loss_chunks;
  for (size_t i = p->count; i-- > 0;) {
    ft_batch_graph b = {.size = (c->batch_size + parts - 1) / parts,
                        .length = p->lengths[i],
                        .judged = true,
                        .part = parts > 1,
                        .absolute = c->train.regression_loss == FILTRA_REGRESSION_LOSS_MAE,
                        .mixed = ft_run_train_options(c, 0, 0).mixed_labels};
    FT_TRY(add_graph(model, &b, true, (ft_recompute)c->train.recompute, plan));
  }
  if (!p->validated) return FILTRA_OK;
  ft_batch_graph b = {.size = p->validated, .length = p->validation_length, .judged = true};
  return add_graph(model, &b, false, FT_RECOMPUTE_NONE, plan);
}

/* Marks the parameters that the configuration freezes; no gradients are computed for them. */
static filtra_status freeze(const planning *p, filtra_parameters *params) {
  const filtra_train_options options = ft_run_train_options(&p->config, 0, 0);
  ft_groups groups;
  filtra_status status = ft_groups_make(&options, params, &groups);
  if (!status) ft_groups_freeze(groups.list, groups.count, params);
  ft_groups_free(&groups);
  return status;
}

/* Computes the memory with the current settings. A tensor or buffer larger than the device allows
 * means that the run does not fit. That is no error; for the settings that were asked for a warning
 * names it, since the sums lack it and what would come after it. */
static filtra_status plan_once(const planning *p, filtra_run_memory_use *plan) {
  const ft_caps *caps = ft_caps_of(p->device);
  filtra_model *model;
  *plan = (filtra_run_memory_use){.available = caps->memory_limit ? caps->memory_limit
                                                                  : caps->info.memory_bytes};
  FT_TRY(ft_model_declare(p->device, &p->config.model, false, &model));
  filtra_status status = freeze(p, model->params);
  if (status) {
    filtra_model_destroy(&model);
    return status;
  }
  ft_parameters_lay_out(model->params);
  uint64_t trained = ft_buffer_extent(model->params->trained_bytes);
  plan->parameters = ft_parameters_extent(model->params);
  plan->gradients = p->config.train.accumulate > 1 ? 2 * trained : trained;
  plan->moments = 2 * trained;
  plan->fits = model->params->bytes <= ft_buffer_limit(p->device);
  status = add_graphs(p, model, plan);
  filtra_model_destroy(&model);
  if (status == FILTRA_ERROR_DEVICE_MEMORY) {
    plan->fits = false;
    if (!p->advising)
      ft_log(FILTRA_LOG_WARNING, "the sums lack what does not fit: %s", filtra_error_message());
  }
  plan->total =
      plan->parameters + plan->gradients + plan->moments + plan->activations + plan->transfers;
  if (plan->total > plan->available) plan->fits = false;
  return status == FILTRA_ERROR_DEVICE_MEMORY ? FILTRA_OK : status;
}

/* ---- settings that would fit ---- */

static bool takes_less(planning *p, filtra_status *status) {
  filtra_run_memory_use other;
  *status = plan_once(p, &other);
  return !*status && other.fits;
}

static void name_change(const planning *p, const filtra_train_options *was,
                        filtra_run_memory_use *plan) {
  const filtra_train_options *c = &p->config.train;
  char *to = plan->advice;
  size_t size = sizeof plan->advice;
  int used = 0;
  if (c->loss_chunks != was->loss_chunks)
    used += snprintf(to, size, "loss_chunks=%llu", (unsigned long long)c->loss_chunks);
  if (c->recompute != was->recompute)
    used += snprintf(to + used, size - (size_t)used, "%srecompute=%s", used ? " " : "",
                     ft_recompute_names[c->recompute]);
  if (c->accumulate != was->accumulate)
    snprintf(to + used, size - (size_t)used, "%saccumulate=%llu", used ? " " : "",
             (unsigned long long)c->accumulate);
}

/* Tries settings, the cheapest first: chunks of logits; recomputing cheap calls; recomputing
 * everything; ever smaller parts, which use less of the device at a time. */
static filtra_status advise(planning *p, filtra_run_memory_use *plan) {
  const filtra_train_options was = p->config.train;
  filtra_train_options *c = &p->config.train;
  const uint64_t batch = (uint64_t)p->config.batch_size;
  filtra_status status = FILTRA_OK;
  p->advising = true;
  bool found = false, text = p->config.model.config.task == FILTRA_TASK_LANGUAGE_MODEL;
  if (text && c->loss_chunks < 16) {
    c->loss_chunks = 16;
    found = takes_less(p, &status);
  }
  while (!found && !status && c->recompute < FILTRA_RECOMPUTE_BLOCKS) {
    c->recompute++;
    found = takes_less(p, &status);
  }
  while (!found && !status && c->accumulate < batch) {
    c->accumulate = 2 * c->accumulate < batch ? 2 * c->accumulate : batch;
    found = takes_less(p, &status);
  }
  if (found && c->loss_chunks != was.loss_chunks) { /* this setting may be unnecessary */
    uint64_t chunks = c->loss_chunks;
    c->loss_chunks = was.loss_chunks;
    if (!takes_less(p, &status)) c->loss_chunks = chunks;
  }
  if (found) name_change(p, &was, plan);
  p->config.train = was;
  return status;
}

/* ---- the configuration and its data ---- */

static filtra_status read_config(const filtra_run_options *o, ft_run_config *config,
                                 filtra_dataset **opened) {
  char *path = o->config ? NULL : ft_path_join(o->folder, FILTRA_RUN_CONFIG);
  const char *context = !o->config ? path : o->config_name ? o->config_name : "configuration";
  filtra_status status = o->config || path ? FILTRA_OK : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = ft_run_config_of(o, context, path, config);
  config->folder = o->config ? NULL : o->folder;
  if (!status && !o->data) status = ft_run_open_training(config, opened);
  if (!status) status = ft_run_config_fit(config, context, o->data ? o->data : *opened);
  free(path);
  return status;
}

/* Finds the largest batch of validation. */
static filtra_status find_validation(planning *p, const filtra_dataset *data) {
  const uint64_t samples = filtra_dataset_get_info(data)->count[FILTRA_SPLIT_VAL];
  if (!samples) return FILTRA_OK;
  const uint64_t most = (uint64_t)p->config.batch_size;
  filtra_loader *loader;
  FT_TRY(filtra_loader_create(
      data, &(filtra_loader_options){.split = FILTRA_SPLIT_VAL, .batch_size = (uint32_t)most},
      &loader));
  size_t count;
  const uint32_t *lengths = filtra_loader_buckets(loader, &count);
  p->validation_length = lengths[count - 1];
  p->validated = (int64_t)(samples < most ? samples : most);
  filtra_loader_destroy(&loader);
  return FILTRA_OK;
}

static filtra_status plan_all(planning *p, const filtra_dataset *data,
                              filtra_run_memory_use *plan) {
  filtra_loader *loader;
  const filtra_augmentation augmentation = ft_run_augmentation(&p->config);
  FT_TRY(filtra_loader_create(data,
                              &(filtra_loader_options){.split = FILTRA_SPLIT_TRAIN,
                                                       .batch_size = (uint32_t)p->config.batch_size,
                                                       .shuffle = true,
                                                       .drop_last = p->config.drop_last,
                                                       .augmentation = &augmentation},
                              &loader));
  p->lengths = filtra_loader_buckets(loader, &p->count);
  filtra_status status = find_validation(p, data);
  if (!status) status = plan_once(p, plan);
  if (!status && !plan->fits) status = advise(p, plan);
  filtra_loader_destroy(&loader);
  return status;
}

filtra_status filtra_run_measure(filtra_device *device, const filtra_run_options *options,
                                 filtra_run_memory_use *plan) {
  FT_NEED(device, options, plan);
  FT_TRY(FT_CHECK_RESERVED(filtra_run_options, options));
  if (!options->config && !options->folder)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "run: planning needs a configuration or a run's folder");
  filtra_dataset *data = NULL;
  planning *p = ft_calloc(1, sizeof *p);
  if (!p) return FILTRA_ERROR_HOST_MEMORY;
  p->device = device;
  filtra_status status = read_config(options, &p->config, &data);
  if (!status) status = plan_all(p, options->data ? options->data : data, plan);
  filtra_dataset_close(&data);
  free(p);
  return status;
}
