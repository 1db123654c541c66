/* Names, types and numbers of tokens and outputs that follow from a model's configuration. Called
 * all over model/ and train/. */
#include "model/model.h"

/* In the order of the enums in filtra/model.h. */
const char *const ft_precision_names[] = {"fp32", "bf16", "fp16", NULL};
const char *const ft_task_names[] = {"auto",       "classification", "pair_classification",
                                     "regression", "language_model", "multi_label",
                                     NULL};
const char *const ft_pooling_names[] = {"mean",        "mean_all", "first",
                                        "class_token", "flatten",  NULL};

const char *ft_task_name(filtra_task task) {
  return ft_task_names[task];
}

filtra_dtype ft_precision_dtype(filtra_precision precision) {
  static const filtra_dtype dtypes[] = {[FILTRA_PRECISION_FP32] = FILTRA_F32,
                                        [FILTRA_PRECISION_BF16] = FILTRA_BF16,
                                        [FILTRA_PRECISION_FP16] = FILTRA_F16};
  return dtypes[precision];
}

const char *filtra_precision_name(filtra_precision precision) {
  return (unsigned)precision <= FILTRA_PRECISION_FP16 ? ft_precision_names[precision] : "unknown";
}

int64_t ft_model_tokens(const filtra_model_config *config) {
  return config->patch
             ? config->image_height / config->patch * (config->image_width / config->patch)
             : config->max_length;
}

int64_t ft_model_front(const filtra_model_config *config) {
  const bool class_token = config->pooling == FILTRA_POOLING_CLASS_TOKEN;
  return (class_token && !config->class_layers) +
         (config->distillation != FILTRA_DISTILLATION_NONE);
}

/* ---- stages ---- */

int ft_model_stages(const filtra_model_config *config, int64_t layers[FT_MOST_STAGES]) {
  const char *at = config->stages;
  int count = 0;
  layers[0] = config->layers;
  if (!*at) return 1;
  while (at) {
    long first, last;
    if (count == FT_MOST_STAGES || !ft_next_range(&at, FT_MOST_LAYERS, &first, &last)) return 0;
    if (first < 1 || last != first) return 0;
    layers[count++] = first;
  }
  return count;
}

int ft_model_stage_of(const filtra_model_config *config, int64_t layer) {
  int64_t layers[FT_MOST_STAGES];
  const int count = ft_model_stages(config, layers);
  int stage = 0;
  while (stage + 1 < count && layer >= layers[stage])
    layer -= layers[stage++];
  return stage;
}

void ft_model_grid(const filtra_model_config *config, int stage, int64_t grid[2]) {
  const int64_t sides[] = {config->image_height / config->patch,
                           config->image_width / config->patch};
  for (int i = 0; i < 2; i++)
    grid[i] = (sides[i] + (INT64_C(1) << stage) - 1) >> stage;
}

int64_t ft_model_last_tokens(const filtra_model_config *config) {
  int64_t grid[2];
  if (!*config->stages) return ft_model_tokens(config);
  ft_model_grid(config, ft_model_stage_of(config, config->layers), grid);
  return grid[0] * grid[1];
}

int64_t ft_model_last_width(const filtra_model_config *config) {
  return config->width << ft_model_stage_of(config, config->layers);
}

/* ---- numbers ---- */

int64_t ft_model_outputs(const filtra_model_config *config) {
  switch (config->task) {
  case FILTRA_TASK_REGRESSION:
    return 1;
  case FILTRA_TASK_LANGUAGE_MODEL:
    return config->vocabulary;
  default:
    return config->classes;
  }
}

int64_t ft_model_sequences(const filtra_model_config *config) {
  return config->task == FILTRA_TASK_PAIR_CLASSIFICATION ? 2 : 1;
}

bool ft_model_ranks(const filtra_model_config *config) {
  return config->task < FILTRA_TASK_REGRESSION && config->classes > 5;
}
