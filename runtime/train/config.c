#include "train/config.h"

#include "base/memory.h"
#include "train/preset.h"
#include "train/shares.h"

#include <filtra/run.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const OPTIMIZERS[] = {"adamw", "adam", "radam", NULL};
static const char *const PIXELS[] = {"grey", "grey_features", "rgb", NULL}; /* filtra_pixels */
static const char *const NORMALIZE[] = {"data", "imagenet", NULL}; /* filtra_normalization */
static const char *const SCHEDULES[] = {"constant", "linear", "cosine", "one_cycle", NULL};

const char *const ft_recompute_names[] = {"none", "cheap", "feed_forward", "blocks", NULL};

static const char *const SELECT[] = {"auto", "accuracy", "loss", NULL}; /* ft_select */

#define INT(member, fallback, low, high)                                                           \
  FT_JSON_INT_FIELD(ft_run_config, member, #member, fallback, low, high)
#define FLOAT(member, fallback, low, high)                                                         \
  FT_JSON_FLOAT_FIELD(ft_run_config, member, #member, fallback, low, high)
#define AUGMENT(member, fallback, low, high)                                                       \
  FT_JSON_FLOAT_FIELD(ft_run_config, augmentation.member, #member, fallback, low, high)
#define ENUM(member, names) FT_JSON_ENUM_FIELD(ft_run_config, member, #member, 0, names)

static const ft_json_field RUN_FIELDS[] = {
    ENUM(optimizer, OPTIMIZERS),
    ENUM(schedule, SCHEDULES),
    FLOAT(learning_rate, 1e-3, 1e-12, 10.0),
    FLOAT(weight_decay, 0.0, 0.0, 10.0),
    FT_JSON_BOOL_FIELD(ft_run_config, decay_all, "decay_all", false),
    FLOAT(beta1, 0.9, 1e-6, 0.99999),
    FLOAT(beta2, 0.999, 1e-6, 0.9999999),
    FLOAT(epsilon, 1e-8, 1e-30, 1.0),
    FLOAT(clip_norm, 0.0, 0.0, 1e9),
    FLOAT(label_smoothing, 0.0, 0.0, 0.999),
    FLOAT(loss_scale, 0.0, 0.0, 1e12),
    INT(loss_scale_window, 0, 0, 1000000000),
    INT(batch_size, 32, 1, 65535), /* workgroups that every device takes along a dimension */
    INT(accumulate, 1, 1, 65535),
    ENUM(recompute, ft_recompute_names),
    INT(loss_chunks, 0, 0, 4096),
    INT(steps, 0, 0, 1e12),
    INT(epochs, 0, 0, 1e9),
    INT(warmup_steps, 0, 0, 1e12),
    FLOAT(warmup_epochs, 0.0, 0.0, 1e9),
    INT(eval_every, 0, 0, 1e12),
    INT(patience, 0, 0, 1e9),
    ENUM(select_by, SELECT),
    INT(checkpoint_every, 0, 0, 1e12),
    INT(log_every, 10, 1, 1e9),
    INT(seed, 1, 0, 9e15),
    FT_JSON_STRING_FIELD(ft_run_config, shares, "shares"),
    FT_JSON_STRING_FIELD(ft_run_config, preset, "preset"),
    FT_JSON_STRING_FIELD(ft_run_config, data, "data"),
    FT_JSON_STRING_FIELD(ft_run_config, format, "format"),
    FT_JSON_STRING_FIELD(ft_run_config, text_column, "text_column"),
    FT_JSON_STRING_FIELD(ft_run_config, target_column, "target_column"),
    FT_JSON_STRING_FIELD(ft_run_config, tokenizer, "tokenizer"),
    INT(max_vocabulary, 0, 0, 1 << 20),
    FT_JSON_BOOL_FIELD(ft_run_config, truncate, "truncate", false),
    ENUM(pixels, PIXELS),
    INT(image_size, 0, 0, 1024),
    FLOAT(crop_pct, 0.875, 0.05, 1.0),
    ENUM(normalize, NORMALIZE),
    AUGMENT(crop_scale, 1.0, 0.01, 1.0),
    AUGMENT(crop_ratio, 4.0 / 3.0, 1.0, 10.0),
    AUGMENT(hflip, 0.0, 0.0, 1.0),
    INT(rand_augment, 0, 0, 15),
    AUGMENT(rand_augment_magnitude, 9.0, 0.0, 10.0),
    AUGMENT(rand_augment_std, 0.5, 0.0, 10.0),
    AUGMENT(random_erasing, 0.0, 0.0, 1.0),
    AUGMENT(mixup, 0.0, 0.0, 100.0),
    AUGMENT(cutmix, 0.0, 0.0, 100.0),
    AUGMENT(mixup_prob, 1.0, 0.0, 1.0),
    FT_JSON_BOOL_FIELD(ft_run_config, drop_last, "drop_last", false),
    FLOAT(validation_share, 0.1, 1e-6, 0.9),
};

/* Both tables as one; nothing at all where they do not fit, which no test passes. */
size_t ft_run_config_fields(ft_json_field fields[FT_RUN_MAX_FIELDS]) {
  size_t count = 0;
  if (ft_model_field_count + FT_COUNT(RUN_FIELDS) > FT_RUN_MAX_FIELDS) return 0;
  for (size_t i = 0; i < ft_model_field_count; i++) {
    fields[count] = ft_model_fields[i];
    fields[count++].offset += offsetof(ft_run_config, model);
  }
  memcpy(fields + count, RUN_FIELDS, sizeof RUN_FIELDS);
  return count + FT_COUNT(RUN_FIELDS);
}

/* Keys that say more of others, which must be there. */
static filtra_status check_image_keys(const char *context, const ft_run_config *c) {
  const filtra_augmentation *a = &c->augmentation;
  const struct {
    const char *key, *needs;
    bool given, has;
  } pairs[] = {
      {"crop_pct", "image_size", c->crop_pct != 0.875f, c->image_size > 0},
      {"crop_ratio", "crop_scale below 1", a->crop_ratio != (float)(4.0 / 3.0),
       a->crop_scale < 1.0f},
      {"rand_augment_magnitude", "rand_augment", a->rand_augment_magnitude != 9.0f,
       c->rand_augment > 0},
      {"rand_augment_std", "rand_augment", a->rand_augment_std != 0.5f, c->rand_augment > 0},
      {"mixup_prob", "mixup or cutmix", a->mixup_prob != 1.0f, a->mixup > 0.0f || a->cutmix > 0.0f},
  };
  for (size_t i = 0; i < FT_COUNT(pairs); i++)
    if (pairs[i].given && !pairs[i].has)
      return ft_fail(FILTRA_ERROR_INPUT,
                     "%s: \"%s\" has no effect without %s; leave it out, or at its default",
                     context, pairs[i].key, pairs[i].needs);
  return FILTRA_OK;
}

filtra_augmentation ft_run_augmentation(const ft_run_config *c) {
  filtra_augmentation a = c->augmentation;
  a.rand_augment = (uint32_t)c->rand_augment;
  if (a.mixup_prob == 0.0f) a.mixup = a.cutmix = 0.0f; /* 0 stands for the default there */
  return a;
}

filtra_status ft_run_config_read(const json_t *object, const char *context, ft_run_config *out) {
  ft_json_field fields[FT_RUN_MAX_FIELDS];
  size_t count = ft_run_config_fields(fields);
  memset(out, 0, sizeof *out);
  FT_TRY(ft_json_read_struct(object, fields, count, out, context));
  FT_TRY(ft_mixer_read(json_object_get(object, "mixer"), context, &out->model.mixer));
  if (out->steps && out->epochs)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: give \"steps\" or \"epochs\", not both", context);
  if (out->warmup_steps && out->warmup_epochs > 0.0f)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: give \"warmup_steps\" or \"warmup_epochs\", not both",
                   context);
  if (out->schedule == FILTRA_SCHEDULE_ONE_CYCLE && out->beta1 != 0.9f)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"beta1\" has no effect with \"schedule\" one_cycle, which moves it; leave "
                   "it out, or at its default",
                   context);
  FT_TRY(check_image_keys(context, out));
  if (!out->steps && !out->epochs) out->epochs = 10;
  int ranks;
  float share;
  if (*out->shares && strcmp(out->shares, FT_SHARES_AUTO) &&
      !ft_shares_read(out->shares, 0, &ranks, &share))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"shares\" is \"%s\", accepted are \"" FT_SHARES_AUTO
                   "\" and a number of each rank, as in \"3:1\"",
                   context, out->shares);
  if (out->data[0]) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: \"data\" is missing, the path of a file or folder (--data)", context);
}

/* What the data are for. */
static ft_task task_of(const filtra_dataset_info *info) {
  switch (info->target) {
  case FILTRA_TARGET_VALUE:
    return FT_TASK_REGRESSION;
  case FILTRA_TARGET_NEXT:
    return FT_TASK_LANGUAGE_MODEL;
  case FILTRA_TARGET_CLASS:
    break;
  }
  return info->sequences == 2 ? FT_TASK_PAIR_CLASSIFICATION : FT_TASK_CLASSIFICATION;
}

static filtra_status fit_task(ft_model_options *model, const char *context,
                              const filtra_dataset_info *info) {
  ft_task task = task_of(info);
  if (!model->task) model->task = (int)task;
  if (model->task == (int)task) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"task\" is %s, but the data are for %s", context,
                 ft_task_name((ft_task)model->task), ft_task_name(task));
}

/* Only classes are right or wrong; a predicted number is neither, and of predicted tokens it is the
 * loss that perplexity is made of. */
static filtra_status fit_selection(ft_run_config *config, const char *context) {
  bool classes = config->model.task < FT_TASK_REGRESSION;
  if (config->select_by == FT_SELECT_AUTO)
    config->select_by = classes ? FT_SELECT_ACCURACY : FT_SELECT_LOSS;
  if (classes || config->select_by == FT_SELECT_LOSS) return FILTRA_OK;
  return ft_fail(
      FILTRA_ERROR_INPUT,
      "%s: \"select_by\" accuracy is for classification; in task \"%s\" accepted are auto "
      "and loss",
      context, ft_task_name((ft_task)config->model.task));
}

static filtra_status fit_tokens(ft_run_config *config, const char *context,
                                const filtra_dataset_info *info) {
  ft_model_options *model = &config->model;
  int64_t ids = filtra_tokenizer_size(info->tokenizer), classes = info->classes;
  snprintf(config->tokenizer, sizeof config->tokenizer, "%s",
           filtra_tokenizer_name(info->tokenizer));
  if (!model->vocabulary) model->vocabulary = ids;
  if (!model->classes) model->classes = classes;
  if (!model->max_length)
    model->max_length = ft_graph_length(info->longest, FT_SHORTEST_LENGTH, INT64_MAX);
  if (model->vocabulary >= ids && model->classes >= classes && !model->features) return FILTRA_OK;
  return ft_fail(
      FILTRA_ERROR_INPUT, "%s: the data needs \"vocabulary\" %lld and \"classes\" %lld at least%s",
      context, (long long)ids, (long long)classes, model->features ? ", and no \"features\"" : "");
}

static filtra_status fit_features(ft_model_options *model, const char *context,
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

/* Mean and standard deviation of the training values: the model predicts in these units. */
static filtra_status fit_target(ft_model_options *model, const char *context,
                                const filtra_dataset *data) {
  uint64_t count = filtra_dataset_get_info(data)->count[FILTRA_SPLIT_TRAIN];
  double sum = 0.0, squares = 0.0;
  filtra_sample sample;
  if (model->task != FT_TASK_REGRESSION || model->target_scale != 0.0f) return FILTRA_OK;
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
  model->target_scale = (float)sqrt(squares / (double)count); /* 0, all the same: becomes 1 */
  return FILTRA_OK;
}

/* What the data say about the model, short of the values' scale. */
static filtra_status fit_model(ft_run_config *config, const char *context,
                               const filtra_dataset *data) {
  const filtra_dataset_info *info = filtra_dataset_get_info(data);
  FT_TRY(fit_task(&config->model, context, info));
  return info->input == FILTRA_INPUT_TOKENS ? fit_tokens(config, context, info)
                                            : fit_features(&config->model, context, info);
}

filtra_status ft_run_config_fit(ft_run_config *config, const char *context,
                                const filtra_dataset *data) {
  if (!filtra_dataset_get_info(data)->count[FILTRA_SPLIT_TRAIN])
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: has no training samples; of a folder without training data, give one "
                   "file's path to train on that",
                   config->data);
  FT_TRY(fit_model(config, context, data));
  FT_TRY(fit_selection(config, context));
  FT_TRY(fit_target(&config->model, context, data));
  return ft_model_options_finish(context, &config->model);
}

filtra_status ft_run_config_check(const ft_run_config *config, const char *context,
                                  const filtra_dataset *data) {
  ft_run_config copy = *config;
  if (copy.model.task == FT_TASK_AUTO) copy.model.task = FT_TASK_CLASSIFICATION;
  return fit_model(&copy, context, data);
}

json_t *ft_run_config_write(const ft_run_config *config) {
  return ft_json_join(ft_json_write_struct(RUN_FIELDS, FT_COUNT(RUN_FIELDS), config),
                      ft_model_options_write(&config->model));
}

/* The checks across the model's keys, with sizes that pass where the data decide them. Without a
 * task the data decide what is allowed. */
static filtra_status check_before_data(const char *context, const ft_run_config *config) {
  ft_run_config copy = *config;
  const ft_model_options *options = &config->model;
  ft_model_options o = *options;
  if (o.task == FT_TASK_AUTO) return FILTRA_OK;
  FT_TRY(fit_selection(&copy, context));
  if (!o.classes) o.classes = 2;
  if (o.patch && !o.features && !o.vocabulary) o.features = 1;
  if (!o.features && !o.vocabulary) o.vocabulary = 2;
  if (!o.image_height) o.image_height = o.patch;
  if (!o.image_width) o.image_width = o.patch;
  if (o.patch && !options->image_height) o.max_length = 0;
  return ft_model_options_finish(context, &o);
}

static filtra_status complete(const json_t *object, const char *context, char **out) {
  json_t *expanded = NULL;
  ft_run_config *config = ft_calloc(1, sizeof *config);
  filtra_status status = config ? ft_preset_expand(object, &expanded) : FILTRA_ERROR_HOST_MEMORY;
  if (!status) status = ft_run_config_read(expanded, context, config);
  if (!status) status = check_before_data(context, config);
  if (!status) *out = ft_json_text(ft_run_config_write(config), JSON_INDENT(2) | JSON_SORT_KEYS);
  if (!status && !*out) status = FILTRA_ERROR_HOST_MEMORY;
  json_decref(expanded);
  free(config);
  return status;
}

filtra_status filtra_config_complete(const char *config, const char *name, char **out) {
  FT_NEED(config, out);
  json_t *object;
  const char *context = name ? name : "configuration";
  *out = NULL;
  FT_TRY(ft_json_parse(config, strlen(config), context, &object));
  filtra_status status = complete(object, context, out);
  json_decref(object);
  return status;
}

/* A warmup in epochs is no longer than the run. */
static uint64_t warmup_steps(const ft_run_config *c, uint64_t steps, uint64_t batches) {
  double warmup = (double)c->warmup_epochs * (double)batches;
  if (c->warmup_epochs == 0.0f) return (uint64_t)c->warmup_steps;
  return warmup < (double)steps ? (uint64_t)(warmup + 0.5) : steps;
}

filtra_train_options ft_run_train_options(const ft_run_config *c, uint64_t steps,
                                          uint64_t batches) {
  const filtra_augmentation a = ft_run_augmentation(c);
  return (filtra_train_options){.optimizer = (filtra_optimizer_kind)c->optimizer,
                                .schedule = (filtra_schedule)c->schedule,
                                .learning_rate = c->learning_rate,
                                .weight_decay = c->weight_decay,
                                .decay_all = c->decay_all,
                                .beta1 = c->beta1,
                                .beta2 = c->beta2,
                                .epsilon = c->epsilon,
                                .clip_norm = c->clip_norm,
                                .label_smoothing = c->label_smoothing,
                                .mixed_labels = a.mixup > 0.0f || a.cutmix > 0.0f,
                                .loss_scale = c->loss_scale,
                                .loss_scale_window = (uint32_t)c->loss_scale_window,
                                .steps = steps,
                                .warmup_steps = warmup_steps(c, steps, batches),
                                .accumulate = (uint64_t)c->accumulate,
                                .recompute = (filtra_recompute)c->recompute,
                                .loss_chunks = (uint64_t)c->loss_chunks,
                                .seed = (uint64_t)c->seed};
}
