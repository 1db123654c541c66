/* What a model takes from its data: sizes, task, scale of the target values, and the description of
 * how the data were read, which model files keep. Called by model.c for programs and by
 * train/config.c for runs. */
#include "data/dataset.h"
#include "model/model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* The task that the data are made for. */
static filtra_task task_of(const filtra_dataset_info *info) {
  switch (info->target) {
  case FILTRA_TARGET_VALUE:
    return FILTRA_TASK_REGRESSION;
  case FILTRA_TARGET_NEXT:
    return FILTRA_TASK_LANGUAGE_MODEL;
  case FILTRA_TARGET_LABELS:
    return FILTRA_TASK_MULTI_LABEL;
  case FILTRA_TARGET_CLASS:
    break;
  }
  return info->sequences == 2 ? FILTRA_TASK_PAIR_CLASSIFICATION : FILTRA_TASK_CLASSIFICATION;
}

static filtra_status fit_task(filtra_model_config *model, const char *context,
                              const filtra_dataset_info *info) {
  filtra_task task = task_of(info);
  if (!model->task) model->task = task;
  if (model->task == task) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"task\" is %s, but the data are for %s", context,
                 ft_task_name(model->task), ft_task_name(task));
}

/* The number of ids: the tokenizer's; without one, 1 + the largest id in any sample. */
static int64_t ids_of(const filtra_dataset *data) {
  const filtra_dataset_info *info = filtra_dataset_get_info(data);
  bool next = info->target == FILTRA_TARGET_NEXT;
  int64_t ids = filtra_tokenizer_size(info->tokenizer);
  filtra_sample sample;
  for (int split = 0; !info->tokenizer && split < FILTRA_SPLIT_COUNT; split++)
    for (uint64_t i = 0; i < info->count[split]; i++) {
      if (filtra_dataset_sample(data, split, i, &sample)) continue;
      for (size_t n = 0; n < sample.length + next; n++)
        if (sample.tokens[n] >= ids) ids = sample.tokens[n] + 1;
      for (size_t n = 0; sample.second && n < sample.second_length; n++)
        if (sample.second[n] >= ids) ids = sample.second[n] + 1;
    }
  return ids;
}

/* Warns of graphs whose nodes or edges have lost the kinds that the model knows. */
static void warn_of_plain(const filtra_model_config *model, const char *context, int64_t ids,
                          uint32_t edge_types) {
  if (ids == 2 && model->vocabulary > 2)
    ft_log(FILTRA_LOG_WARNING,
           "%s: all nodes of the data are of one kind, and the model knows %lld: are their labels "
           "missing?",
           context, (long long)model->vocabulary - 1);
  if (edge_types == 1 && model->edge_types > 1)
    ft_log(FILTRA_LOG_WARNING,
           "%s: all edges of the data are of one type, and the model knows %lld: are their labels "
           "missing?",
           context, (long long)model->edge_types);
}

static filtra_status fit_tokens(filtra_model_config *model, const char *context,
                                const filtra_dataset *data) {
  const filtra_dataset_info *info = filtra_dataset_get_info(data);
  int64_t ids = ids_of(data), classes = info->classes;
  if (!model->vocabulary) model->vocabulary = ids;
  if (!model->classes) model->classes = classes;
  if (!model->max_length)
    model->max_length = ft_graph_length(info->longest, FT_SHORTEST_LENGTH, INT64_MAX);
  if (!model->edge_types) model->edge_types = info->edge_types;
  if (info->edge_types && model->positions == FILTRA_POSITIONS_LEARNED) /* the default */
    model->positions = FILTRA_POSITIONS_NONE;
  if (model->edge_types < info->edge_types || !model->edge_types != !info->edge_types)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"edge_types\" is %lld, the data are %s", context,
                   (long long)model->edge_types,
                   info->edge_types ? "graphs that have more" : "sequences");
  if (info->edge_types && !info->tokenizer) warn_of_plain(model, context, ids, info->edge_types);
  if (model->vocabulary >= ids && model->classes >= classes && !model->features) return FILTRA_OK;
  return ft_fail(
      FILTRA_ERROR_INPUT, "%s: the data needs \"vocabulary\" %lld and \"classes\" %lld at least%s",
      context, (long long)ids, (long long)classes, model->features ? ", and no \"features\"" : "");
}

static filtra_status fit_features(filtra_model_config *model, const char *context,
                                  const filtra_dataset_info *info) {
  int64_t features = info->features, classes = info->classes;
  if (!model->features) model->features = features;
  if (!model->classes) model->classes = classes;
  if (!model->max_length) model->max_length = info->longest;
  if (!model->image_height) model->image_height = info->height;
  if (!model->image_width) model->image_width = info->width;
  if (model->features != features || model->classes < classes || model->vocabulary)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: the data needs \"features\" %lld, \"classes\" %lld at least, and no "
                   "\"vocabulary\"",
                   context, (long long)features, (long long)classes);
  if (model->patch && !info->height)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"patch\" is for images; the data holds none", context);
  if (info->height && (model->image_height != info->height || model->image_width != info->width))
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "%s: the data's images are %u x %u pixels, \"image_width\" x \"image_height\" is "
        "%lld x %lld",
        context, info->width, info->height, (long long)model->image_width,
        (long long)model->image_height);
  return FILTRA_OK;
}

filtra_status ft_model_fit_target(filtra_model_config *model, const char *context,
                                  const filtra_dataset *data) {
  uint64_t count = filtra_dataset_get_info(data)->count[FILTRA_SPLIT_TRAIN];
  double sum = 0.0, squares = 0.0;
  filtra_sample sample;
  if (model->task != FILTRA_TASK_REGRESSION || model->target_scale != 0.0f) return FILTRA_OK;
  if (model->target_mean != 0.0f)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"target_mean\" needs \"target_scale\", too; without either both come from "
                   "the data",
                   context);
  for (uint64_t i = 0; i < count; i++) {
    FT_TRY(filtra_dataset_sample(data, FILTRA_SPLIT_TRAIN, i, &sample));
    sum += sample.value;
  }
  double mean = sum / (double)count;
  for (uint64_t i = 0; i < count; i++) {
    FT_TRY(filtra_dataset_sample(data, FILTRA_SPLIT_TRAIN, i, &sample));
    squares += (sample.value - mean) * (sample.value - mean);
  }
  model->target_mean = (float)mean;
  if (squares == 0.0 && count > 1)
    ft_log(FILTRA_LOG_WARNING,
           "%s: the targets of all training samples are %g: there is nothing to learn", context,
           mean);
  /* 0 if all values are equal; it then becomes 1 */
  const double scale = sqrt(squares / (double)count);
  if (scale > 0.0 && scale < (double)FLT_MIN) /* a step divides by it */
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: the targets' standard deviation, \"target_scale\", is %.3g, and must be at "
                   "least 1.2e-38; multiply the targets by a constant",
                   context, scale);
  model->target_scale = (float)scale;
  return FILTRA_OK;
}

filtra_status ft_model_fit(filtra_model_config *model, const char *context,
                           const filtra_dataset *data) {
  const filtra_dataset_info *info = filtra_dataset_get_info(data);
  FT_TRY(fit_task(model, context, info));
  if (info->target == FILTRA_TARGET_CLASS && info->classes == 1 && !model->classes)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: all samples of the data have one class, \"%s\": there is nothing to tell "
                   "apart",
                   context, filtra_dataset_class_name(data, 0));
  return info->input == FILTRA_INPUT_TOKENS ? fit_tokens(model, context, data)
                                            : fit_features(model, context, info);
}

filtra_status filtra_model_set_data(filtra_model *model, const filtra_dataset *data) {
  FT_NEED(model, data);
  filtra_model_config copy = model->options.config;
  const bool graphs = filtra_dataset_get_info(data)->edge_types > 0;
  char *text;
  if (graphs != ft_model_has_edges(&copy))
    return ft_fail(FILTRA_ERROR_INPUT, "model: reads %s, the data are %s (\"edge_types\")",
                   graphs ? "sequences" : "graphs", graphs ? "graphs" : "sequences");
  FT_TRY(ft_model_fit(&copy, "model", data));
  FT_TRY(ft_dataset_describe(data, copy.classes, &text));
  free(model->input);
  model->input = text;
  return FILTRA_OK;
}
