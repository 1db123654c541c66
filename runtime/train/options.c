/* The keys of training as tables over the public structs with these fields:
 * filtra_optimizer_options, and filtra_train_options around it. They read configurations
 * (train/config.c) and check the options of optimizers and trainers. */
#include "train/optimizer.h"
#include "train/ranks.h"
#include "train/trainer.h"

#include <math.h>

/* In the order of the enums in filtra/optimizer.h and filtra/train.h. */
static const char *const OPTIMIZERS[] = {"adamw", "adam", "radam", NULL};
static const char *const SCHEDULES[] = {"constant", "linear", "cosine", "one_cycle", NULL};
static const char *const REGRESSION_LOSSES[] = {"mse", "mae", NULL};
const char *const ft_recompute_names[] = {"none", "cheap", "feed_forward", "blocks", NULL};

#define FLOAT(member, ...) FT_FLOAT_KEY(filtra_optimizer_options, member, #member, __VA_ARGS__)
#define INT(member, ...)   FT_INT_KEY(filtra_optimizer_options, member, #member, __VA_ARGS__)

static const ft_key OPTIMIZER_KEYS[] = {
    FT_ENUM_KEY(filtra_optimizer_options, kind, "optimizer", 0, OPTIMIZERS,
                "The optimizer. Weight decay is decoupled in adamw and radam, and added to the "
                "gradient in adam.",
                .paper = "adamw: Loshchilov & Hutter 2019; adam: Kingma & Ba 2015; radam: Liu et "
                         "al. 2020"),
    FT_ENUM_KEY(filtra_optimizer_options, schedule, "schedule", 0, SCHEDULES,
                "The learning rate after the warmup. constant: it stays. linear, cosine: down to 0 "
                "at the last step along a line or half a cosine. one_cycle: from a 25th up during "
                "the warmup, then down to a 250000th, while `beta1` goes 0.95, 0.85, 0.95.",
                .paper = "cosine: Loshchilov & Hutter 2017; one_cycle: Smith & Topin 2018"),
    FLOAT(learning_rate, 1e-3, 1e-12, 10.0, "The schedule's highest learning rate."),
    INT(warmup_steps, 0, 0, 1e12,
        "Steps in which the learning rate rises linearly from 0 (one_cycle: from a 25th). At most "
        "the run's steps, unless the schedule is constant."),
    FLOAT(weight_decay, 0.0, 0.0, 10.0,
          "Weight decay on the weights of linear layers, not on embeddings, biases, norms and "
          "filter coefficients."),
    FT_BOOL_KEY(filtra_optimizer_options, decay_all, "decay_all", false,
                "`weight_decay` is on all parameters."),
    FLOAT(beta1, 0.9, 1e-6, 0.99999, "Decay of the first moment."),
    FLOAT(beta2, 0.999, 1e-6, 0.9999999, "Decay of the second moment."),
    FLOAT(epsilon, 1e-8, 1e-30, 1.0, "Added to the root of the second moment."),
    FLOAT(clip_norm, 0.0, 0.0, 1e9,
          "Largest norm of the whole gradient; a larger gradient is scaled down to it. 0: no "
          "clipping.",
          .paper = "Pascanu et al. 2013"),
    FLOAT(loss_scale, 0.0, 0.0, 1.1e12,
          "`precision` fp16: what gradients are multiplied by at first, a power of two up to 2^40. "
          "0: 65536. "
          "It halves where gradients overflow, and that step is skipped.",
          .paper = "Micikevicius et al. 2018, section 3.2"),
    INT(loss_scale_window, 0, 0, 1000000000,
        "Steps without an overflow after which the loss scale doubles, up to 2^24. 0: 2000."),
    INT(steps, 0, 0, 1e12, "Optimizer steps of the run; 0: by `epochs`. Give one of the two.",
        .usual = "by `epochs`"),
};
const ft_keys ft_optimizer_keys = FT_KEYS(OPTIMIZER_KEYS);

static const ft_key TRAIN_KEYS[] = {
    FT_FLOAT_KEY(filtra_train_options, label_smoothing, "label_smoothing", 0.0, 0.0, 0.999,
                 "Share of the target that is spread over all classes or tokens. Not in "
                 "regression and multi_label.",
                 .paper = "Szegedy et al. 2016, section 7"),
    FT_ENUM_KEY(
        filtra_train_options, regression_loss, "regression_loss", 0, REGRESSION_LOSSES,
        "What a regression minimizes, of the standardised values: mse, the squared error, or "
        "mae, the absolute error, which outliers move less. Evaluations have both."),
    FT_INT_KEY(filtra_train_options, accumulate, "accumulate", 1, 1, FT_MOST_PARTS,
               "Parts that a batch is cut into, one after the other: less memory for activations. "
               "Losses, clipping and dropout stay the batch's."),
    FT_ENUM_KEY(filtra_train_options, recompute, "recompute", 0, ft_recompute_names,
                "What the backward pass recomputes of a layer's forward pass, to need less memory. "
                "none: nothing. cheap: everything except matrix products (norms, dropout, "
                "activations). feed_forward: besides, all of the feed-forward layer. blocks: "
                "everything, a second forward pass. The same bits each way, except that a GPU's "
                "compiler may round a recomputed activation differently from a fused one.",
                .paper = "Chen et al. 2016"),
    FT_FLOAT_KEY(
        filtra_train_options, layer_decay, "layer_decay", 1.0, 0.01, 1.0,
        "Factor on the learning rate for each layer downward: 1 for the head, this for the "
        "last layer, its square for the one before, and so on to the embeddings.",
        .paper = "Clark et al. 2020 (ELECTRA), section 3"),
    FT_INT_KEY(filtra_train_options, loss_chunks, "loss_chunks", 0, 0, FT_MOST_CHUNKS,
               "Chunks in which a language model's logits are computed and judged; the backward "
               "pass recomputes each. 0: one, or more where a batch's logits would not fit a "
               "buffer of the device."),
};
const ft_keys ft_train_keys = FT_KEYS(TRAIN_KEYS);

/* ---- options from applications ---- */

static filtra_status check_loss_scale(const filtra_optimizer_options *o) {
  int exponent;
  if (o->loss_scale == 0.0f || (o->loss_scale >= 1.0f && o->loss_scale <= 0x1p40f &&
                                frexpf(o->loss_scale, &exponent) == 0.5f))
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "optimizer: \"loss_scale\" is %g, accepted are 0 and powers of two from 1 to 2^40",
                 (double)o->loss_scale);
}

filtra_status ft_optimizer_options_complete(filtra_optimizer_options *o) {
  FT_TRY(FT_CHECK_RESERVED(filtra_optimizer_options, o));
  FT_TRY(check_loss_scale(o));
  FT_TRY(ft_keys_complete(&ft_optimizer_keys, o, "optimizer"));
  if (!o->loss_scale_window) o->loss_scale_window = 2000;
  if (o->schedule == FILTRA_SCHEDULE_CONSTANT || (o->steps && o->warmup_steps <= o->steps))
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_ARGUMENT,
                 "optimizer: a schedule that is not constant needs steps, and at least as many as "
                 "warmup_steps");
}

/* Initial loss scale of fp16; if it is too large, it is halved within a few steps. */
static const float FIRST_LOSS_SCALE = 65536.0f;

static filtra_status check_model(const filtra_model_config *model, const filtra_train_options *o) {
  const filtra_optimizer_options *scale = &o->optimizer;
  bool scaled = scale->loss_scale != 0.0f || scale->loss_scale_window;
  if (scaled && model->precision != FILTRA_PRECISION_FP16)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: loss_scale and loss_scale_window are for precision fp16; the model's "
                   "is %s",
                   filtra_precision_name(model->precision));
  if (o->label_smoothing > 0.0f && model->task == FILTRA_TASK_REGRESSION)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: label_smoothing is %g; task \"regression\" has values and no labels",
                   (double)o->label_smoothing);
  if (o->label_smoothing > 0.0f && model->task == FILTRA_TASK_MULTI_LABEL)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: label_smoothing is %g; task \"multi_label\" judges each label alone",
                   (double)o->label_smoothing);
  if (o->regression_loss && model->task != FILTRA_TASK_REGRESSION)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: regression_loss is for regression, not for task \"%s\"",
                   ft_task_name(model->task));
  if (o->mixed_labels && model->task >= FILTRA_TASK_REGRESSION)
    return ft_fail(FILTRA_ERROR_ARGUMENT, "trainer: mixed_labels is for classification, not \"%s\"",
                   ft_task_name(model->task));
  return FILTRA_OK;
}

filtra_status ft_train_options_complete(filtra_train_options *o, const filtra_model_config *model) {
  FT_TRY(FT_CHECK_RESERVED(filtra_train_options, o));
  FT_TRY(ft_check_transport(o->transport));
  FT_TRY(ft_keys_complete(&ft_train_keys, o, "trainer"));
  FT_TRY(check_model(model, o));
  if (!(o->share >= 0.0f && o->share <= 1e6f) && o->share != FILTRA_SHARE_AUTO)
    return ft_fail(FILTRA_ERROR_ARGUMENT,
                   "trainer: share is %g, accepted are 0 to 1000000 and FILTRA_SHARE_AUTO",
                   (double)o->share);
  if (!(o->deadline >= 0.0f && o->deadline <= 1e9f))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "trainer: deadline is %g, accepted are 0 to 1e9 seconds",
                   (double)o->deadline);
  if (o->deadline == 0.0f) o->deadline = 300.0f;
  if (model->precision == FILTRA_PRECISION_FP16 && o->optimizer.loss_scale == 0.0f)
    o->optimizer.loss_scale = FIRST_LOSS_SCALE;
  return FILTRA_OK;
}
