/* The model keys of a configuration: one table for files, --set, the public struct and the dump. */
#include "model/model.h"

#include "base/utf8.h"

#include <math.h>
#include <string.h>

static const char *const PRECISIONS[] = {"fp32", "bf16", "fp16", NULL};
static const char *const TASKS[] = {"auto",       "classification", "pair_classification",
                                    "regression", "language_model", NULL};
static const char *const HEADS[] = {"mlp", "linear", NULL};
static const char *const NORMS[] = {"pre", "post", NULL};
static const char *const BLOCKS[] = {"transformer", "converter", NULL};
static const char *const POSITIONS[] = {"learned", "sinusoidal", "none", "recurrent", NULL};
static const char *const POOLINGS[] = {"mean", "mean_all", "first", "class_token", "flatten", NULL};
/* filtra_activation, and behind it what follows from the block. */
static const char *const ACTIVATIONS[] = {"none",     "relu",      "gelu",       "sin",  "tanh",
                                          "softplus", "softplus5", "leaky_relu", "auto", NULL};
enum { ACTIVATION_AUTO = FILTRA_ACTIVATION_LEAKY_RELU + 1 };

#define INT(member, fallback, low, high)                                                           \
  FT_JSON_INT_FIELD(ft_model_options, member, #member, fallback, low, high)
#define FLOAT(member, fallback, low, high)                                                         \
  FT_JSON_FLOAT_FIELD(ft_model_options, member, #member, fallback, low, high)
#define ENUM(member, fallback, names)                                                              \
  FT_JSON_ENUM_FIELD(ft_model_options, member, #member, fallback, names)
#define BOOL(member) FT_JSON_BOOL_FIELD(ft_model_options, member, #member, false)

/* 0 stands for "follows from other fields" where the public header says so. */
const ft_json_field ft_model_fields[] = {
    ENUM(task, FT_TASK_AUTO, TASKS),
    {.name = "mixer", .type = FT_JSON_ANY},
    INT(vocabulary, 0, 0, 1 << 24),
    INT(features, 0, 0, 65536),
    INT(classes, 0, 0, 1 << 20),
    INT(max_length, 0, 0, 1 << 20),
    INT(image_height, 0, 0, 65536),
    INT(image_width, 0, 0, 65536),
    INT(patch, 0, 0, 1024),
    ENUM(precision, 0, PRECISIONS),
    INT(layers, 2, 1, 256),
    INT(heads, 2, 1, 256),
    INT(width, 64, 1, 16384),
    INT(ffn_width, 0, 0, 65536),
    FLOAT(dropout, 0.0, 0.0, 0.999),
    FLOAT(drop_path, 0.0, 0.0, 0.999),
    ENUM(block, FT_BLOCK_TRANSFORMER, BLOCKS),
    ENUM(norm, 0, NORMS),
    ENUM(activation, ACTIVATION_AUTO, ACTIVATIONS),
    ENUM(positions, FILTRA_POSITIONS_LEARNED, POSITIONS),
    FLOAT(embedding_init, 0.0, 0.0, 10.0),
    FLOAT(init_std, 0.0, 0.0, 10.0),
    FLOAT(norm_epsilon, 1e-5, 1e-12, 1.0),
    BOOL(scale_embeddings),
    BOOL(tie_embeddings),
    BOOL(mask_zero),
    ENUM(pooling, FILTRA_POOLING_MEAN, POOLINGS),
    ENUM(head, FT_HEAD_MLP, HEADS),
    INT(head_width, 0, 0, 65536),
    ENUM(head_activation, ACTIVATION_AUTO, ACTIVATIONS),
    FLOAT(target_mean, 0.0, -1e30, 1e30),
    FLOAT(target_scale, 0.0, 0.0, 1e30),
};
const size_t ft_model_field_count = FT_COUNT(ft_model_fields);

filtra_status ft_model_options_read(const json_t *object, const char *context,
                                    ft_model_options *o) {
  FT_TRY(ft_json_read_struct(object, ft_model_fields, ft_model_field_count, o, context));
  FT_TRY(ft_mixer_read(json_object_get(object, "mixer"), context, &o->mixer));
  return ft_model_options_finish(context, o);
}

filtra_task ft_task_public(const ft_model_options *o) {
  return o->task ? (filtra_task)(o->task - FT_TASK_CLASSIFICATION) : FILTRA_TASK_CLASSIFICATION;
}

const char *ft_task_name(ft_task task) {
  return TASKS[task];
}

filtra_dtype ft_precision_dtype(int precision) {
  static const filtra_dtype dtypes[] = {[FILTRA_PRECISION_FP32] = FILTRA_F32,
                                        [FILTRA_PRECISION_BF16] = FILTRA_BF16,
                                        [FILTRA_PRECISION_FP16] = FILTRA_F16};
  return dtypes[precision];
}

const char *filtra_precision_name(filtra_precision precision) {
  return (unsigned)precision <= FILTRA_PRECISION_FP16 ? PRECISIONS[precision] : "unknown";
}

int64_t ft_model_tokens(const ft_model_options *o) {
  return o->patch ? o->image_height / o->patch * (o->image_width / o->patch) : o->max_length;
}

int64_t ft_model_outputs(const ft_model_options *o) {
  switch ((ft_task)o->task) {
  case FT_TASK_REGRESSION:
    return 1;
  case FT_TASK_LANGUAGE_MODEL:
    return o->vocabulary;
  default:
    return o->classes;
  }
}

int64_t ft_model_sequences(const ft_model_options *o) {
  return o->task == FT_TASK_PAIR_CLASSIFICATION ? 2 : 1;
}

bool ft_model_ranks(const ft_model_options *o) {
  return o->task < FT_TASK_REGRESSION && o->classes > 5;
}

/* What the input consists of, and what comes out. */
static filtra_status check_sizes(const char *context, const ft_model_options *o) {
  bool classes = o->task < FT_TASK_REGRESSION;
  if (o->features && o->vocabulary)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: give \"vocabulary\", for token ids, or \"features\", for vectors, not both",
                   context);
  if ((!o->features && o->vocabulary < 2) || (classes && o->classes < 2))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is required and at least 2", context,
                   !o->features && o->vocabulary < 2 ? "vocabulary" : "classes");
  if (o->width % o->heads)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"width\" %lld must be a multiple of \"heads\" %lld",
                   context, (long long)o->width, (long long)o->heads);
  if (o->width / o->heads > 128)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"width\" / \"heads\" is %lld, accepted are at most 128 channels a head",
                   context, (long long)(o->width / o->heads));
  return FILTRA_OK;
}

static filtra_status check_image(const char *context, const ft_model_options *o) {
  if (!o->patch) return FILTRA_OK;
  if (!o->features)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"patch\" cuts images of numbers; these are token ids, one a pixel",
                   context);
  if (!o->image_height || !o->image_width || o->image_height % o->patch ||
      o->image_width % o->patch)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"patch\" %lld must divide \"image_height\" %lld and \"image_width\" %lld",
                   context, (long long)o->patch, (long long)o->image_height,
                   (long long)o->image_width);
  int64_t pixels = o->image_height * o->image_width;
  if (o->max_length != pixels)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"max_length\" is %lld, an image has %lld pixels; leave it out", context,
                   (long long)o->max_length, (long long)pixels);
  return FILTRA_OK;
}

/* Of the Converter, whose parts fit only one another, and of recurrent positions. */
static filtra_status check_block(const char *context, const ft_model_options *o) {
  const ft_mixer_class *mixer = o->mixer.kind;
  bool recurrent = o->positions == FILTRA_POSITIONS_RECURRENT;
  if (recurrent && o->width > 512)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"width\" is %lld, accepted are at most 512 with \"positions\" recurrent",
                   context, (long long)o->width);
  if (recurrent && o->task == FT_TASK_LANGUAGE_MODEL)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: task \"language_model\" cannot have \"positions\" recurrent: text is "
                   "generated token by token, and their state is not kept",
                   context);
  if (o->drop_path > 0.0f && (o->block == FT_BLOCK_CONVERTER || o->layers < 2))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"drop_path\" %s; leave it out, or at 0", context,
                   o->layers < 2 ? "rises from 0 in the first layer, and \"layers\" is 1"
                                 : "is for \"block\" transformer");
  if (o->block != FT_BLOCK_CONVERTER) return FILTRA_OK;
  if (!mixer->build_complex)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"block\" converter needs a mixer with complex features, synvolution or "
                   "kernelution, not \"%s\"",
                   context, mixer->name);
  if (o->norm)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"norm\" post is for \"block\" transformer; the Converter's block has "
                   "ScaleNorms of its own",
                   context);
  if (o->init_std > 0.0f)
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "%s: \"init_std\" has no effect with \"block\" converter, whose layers each have "
        "a start of their own; leave it out, or at its default",
        context);
  return FILTRA_OK;
}

/* Combinations without a meaning. */
static filtra_status check_task(const char *context, const ft_model_options *o) {
  const char *task = TASKS[o->task], *pooling = POOLINGS[o->pooling];
  bool language = o->task == FT_TASK_LANGUAGE_MODEL, pair = o->task == FT_TASK_PAIR_CLASSIFICATION;
  if (language && o->mixer.kind->not_causal)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: mixer \"%s\" cannot be used for task \"%s\", where no token may see those "
                   "behind it: %s",
                   context, o->mixer.kind->name, task, o->mixer.kind->not_causal);
  if (o->features && (language || pair))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: task \"%s\" is for token ids, not for \"features\"",
                   context, task);
  if (o->features && o->mask_zero)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"mask_zero\" tells padding by token ids; \"features\" have none", context);
  if (o->tie_embeddings && !language)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"tie_embeddings\" is for task \"language_model\": only its head has a row "
                   "for each token id",
                   context);
  if ((language && o->pooling >= FILTRA_POOLING_CLASS_TOKEN) ||
      (pair && o->pooling == FILTRA_POOLING_FLATTEN))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: task \"%s\" cannot have \"pooling\" %s: %s", context,
                   task, pooling,
                   language ? "it predicts at every token"
                            : "sequences are compared by one vector of \"width\" each");
  return FILTRA_OK;
}

static filtra_status check_target(const char *context, const ft_model_options *o) {
  if (o->task == FT_TASK_REGRESSION || (o->target_mean == 0.0f && o->target_scale == 1.0f))
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: \"target_mean\" and \"target_scale\" are for task \"regression\", not \"%s\"",
                 context, TASKS[o->task]);
}

static filtra_status refuse_head(const char *context, const char *key, const char *why) {
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" has no effect %s; leave it out, or at its default",
                 context, key, why);
}

/* Keys of a head that is not there must have their defaults, as files with all keys have. */
static filtra_status check_head(const char *context, const ft_model_options *o,
                                const ft_model_options *usual) {
  bool language = o->task == FT_TASK_LANGUAGE_MODEL;
  const char *why = language ? "in task \"language_model\", which predicts at every token by one "
                               "linear layer"
                             : "with \"head\" linear";
  if (language && o->pooling != FILTRA_POOLING_MEAN) return refuse_head(context, "pooling", why);
  if (language && o->head != FT_HEAD_MLP) return refuse_head(context, "head", why);
  if (!language && o->head == FT_HEAD_MLP) return FILTRA_OK;
  if (o->head_width != usual->head_width) return refuse_head(context, "head_width", why);
  if (o->head_activation != usual->head_activation)
    return refuse_head(context, "head_activation", why);
  return FILTRA_OK;
}

filtra_status ft_model_options_finish(const char *context, ft_model_options *o) {
  if (o->task == FT_TASK_AUTO) o->task = FT_TASK_CLASSIFICATION;
  if (!o->max_length) o->max_length = o->patch ? o->image_height * o->image_width : 2048;
  bool converter = o->block == FT_BLOCK_CONVERTER;
  if (!o->ffn_width) o->ffn_width = (converter ? 4 : 2) * o->width;
  const ft_model_options usual = {.head_width = converter ? o->width : o->ffn_width,
                                  .head_activation = converter ? FILTRA_ACTIVATION_LEAKY_RELU
                                                               : FILTRA_ACTIVATION_RELU};
  if (!o->head_width) o->head_width = usual.head_width;
  if (o->activation == ACTIVATION_AUTO)
    o->activation = converter ? FILTRA_ACTIVATION_SOFTPLUS : FILTRA_ACTIVATION_GELU;
  if (o->head_activation == ACTIVATION_AUTO) o->head_activation = usual.head_activation;
  if (o->embedding_init == 0.0f)
    o->embedding_init = converter            ? 1.0f / sqrtf((float)o->max_length)
                        : o->init_std > 0.0f ? o->init_std
                                             : 0.02f;
  if (o->target_scale == 0.0f) o->target_scale = 1.0f;
  FT_TRY(check_sizes(context, o));
  FT_TRY(check_image(context, o));
  FT_TRY(check_block(context, o));
  FT_TRY(check_target(context, o));
  FT_TRY(check_task(context, o));
  return check_head(context, o, &usual);
}

json_t *ft_model_options_write(const ft_model_options *o) {
  json_t *object = ft_json_write_struct(ft_model_fields, ft_model_field_count, o);
  if (object && json_object_set_new(object, "mixer", ft_mixer_write(&o->mixer))) {
    json_decref(object);
    ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
    return NULL;
  }
  return object;
}

/* The public struct as an object of keys: zeros are left out, what is read fills them in. */
static bool set_int(json_t *object, const char *key, int64_t value) {
  return !value || !json_object_set_new(object, key, json_integer(value));
}

/* NaN and infinities have no JSON; they become text that the table refuses. */
static bool set_float(json_t *object, const char *key, float value) {
  if (value == 0.0f) return true;
  return !json_object_set_new(
      object, key, isfinite(value) ? json_real(ft_shortest(value)) : json_string("not finite"));
}

static bool set_bool(json_t *object, const char *key, bool value) {
  return !json_object_set_new(object, key, json_boolean(value));
}

static bool set_name(json_t *object, const char *key, const char *const *names, int value,
                     int count) {
  /* A number outside the enum becomes a name that the table refuses, with the accepted ones. */
  return !json_object_set_new(object, key,
                              json_string(value >= 0 && value < count ? names[value] : "?"));
}

static bool set_activation(json_t *object, const char *key, filtra_activation value) {
  return !value || set_name(object, key, ACTIVATIONS, (int)value, ACTIVATION_AUTO);
}

static bool set_numbers(json_t *object, const filtra_model_config *c) {
  return set_int(object, "vocabulary", c->vocabulary) && set_int(object, "features", c->features) &&
         set_int(object, "classes", c->classes) && set_int(object, "max_length", c->max_length) &&
         set_int(object, "image_height", c->image_height) &&
         set_int(object, "image_width", c->image_width) && set_int(object, "patch", c->patch) &&
         set_int(object, "layers", c->layers) && set_int(object, "heads", c->heads) &&
         set_int(object, "width", c->width) && set_int(object, "ffn_width", c->ffn_width) &&
         set_int(object, "head_width", c->head_width) && set_float(object, "dropout", c->dropout) &&
         set_float(object, "drop_path", c->drop_path) &&
         set_float(object, "embedding_init", c->embedding_init) &&
         set_float(object, "init_std", c->init_std) &&
         set_float(object, "norm_epsilon", c->norm_epsilon) &&
         set_float(object, "target_mean", c->target_mean) &&
         set_float(object, "target_scale", c->target_scale);
}

static bool set_choices(json_t *object, const filtra_model_config *c) {
  return set_name(object, "task", TASKS + FT_TASK_CLASSIFICATION, (int)c->task,
                  FT_COUNT(TASKS) - 2) &&
         set_name(object, "block", BLOCKS, c->converter, 2) &&
         set_name(object, "norm", NORMS, c->post_norm, 2) &&
         set_name(object, "positions", POSITIONS, (int)c->positions, FT_COUNT(POSITIONS) - 1) &&
         set_name(object, "pooling", POOLINGS, (int)c->pooling, FT_COUNT(POOLINGS) - 1) &&
         set_name(object, "precision", PRECISIONS, (int)c->precision, FT_COUNT(PRECISIONS) - 1) &&
         set_name(object, "head", HEADS, c->linear_head, 2) &&
         set_activation(object, "activation", c->activation) &&
         set_activation(object, "head_activation", c->head_activation) &&
         set_bool(object, "mask_zero", c->mask_zero) &&
         set_bool(object, "scale_embeddings", c->scale_embeddings) &&
         set_bool(object, "tie_embeddings", c->tie_embeddings);
}

filtra_status ft_model_options_from_public(const filtra_model_config *c, ft_model_options *o) {
  static const char CONTEXT[] = "model configuration";
  json_t *mixer = NULL, *object = json_object();
  if (!object) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  filtra_status status = FILTRA_OK;
  const char *name = c->mixer ? c->mixer : "softmax";
  if (name[0] == '{')
    status = ft_json_parse(name, strlen(name), "mixer", &mixer);
  else if (ft_utf8_valid(name, strlen(name)))
    mixer = json_string(name);
  else
    status = ft_fail(FILTRA_ERROR_ARGUMENT, "%s: \"mixer\" is not UTF-8 text", CONTEXT);
  bool done = !status && !json_object_set_new(object, "mixer", mixer) && set_numbers(object, c) &&
              set_choices(object, c);
  if (!status && !done) status = ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  if (!status) status = ft_model_options_read(object, CONTEXT, o);
  json_decref(object);
  return status;
}

void ft_model_options_to_public(const ft_model_options *o, filtra_model_config *c) {
  *c = (filtra_model_config){.task = ft_task_public(o),
                             .vocabulary = o->vocabulary,
                             .features = o->features,
                             .classes = o->classes,
                             .max_length = o->max_length,
                             .image_height = o->image_height,
                             .image_width = o->image_width,
                             .patch = o->patch,
                             .layers = o->layers,
                             .heads = o->heads,
                             .width = o->width,
                             .ffn_width = o->ffn_width,
                             .head_width = o->head_width,
                             .dropout = o->dropout,
                             .drop_path = o->drop_path,
                             .converter = o->block == FT_BLOCK_CONVERTER,
                             .post_norm = o->norm,
                             .mask_zero = o->mask_zero,
                             .linear_head = o->head == FT_HEAD_LINEAR,
                             .scale_embeddings = o->scale_embeddings,
                             .tie_embeddings = o->tie_embeddings,
                             .positions = (filtra_positions)o->positions,
                             .pooling = (filtra_pooling)o->pooling,
                             .activation = (filtra_activation)o->activation,
                             .head_activation = (filtra_activation)o->head_activation,
                             .precision = (filtra_precision)o->precision,
                             .embedding_init = o->embedding_init,
                             .init_std = o->init_std,
                             .norm_epsilon = o->norm_epsilon,
                             .target_mean = o->target_mean,
                             .target_scale = o->target_scale};
}
