/* Checks that involve several keys of a model; each key is checked and has its default already.
 * Called by model/options.c. */
#include "base/number.h"
#include "model/model.h"

#include <string.h>

enum { MOST_WIDTH = 16384 };

filtra_status ft_model_check_heads(const char *context, const filtra_model_config *o) {
  if (o->width % o->heads)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"width\" %lld must be a multiple of \"heads\" %lld",
                   context, (long long)o->width, (long long)o->heads);
  if (o->width / o->heads > 128)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"width\" / \"heads\" is %lld, accepted are at most 128 channels a head",
                   context, (long long)(o->width / o->heads));
  return FILTRA_OK;
}

/* Checks the sizes of inputs and outputs. */
static filtra_status check_sizes(const char *context, const filtra_model_config *o) {
  bool classes = o->task < FILTRA_TASK_REGRESSION;
  if (o->features && o->vocabulary)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: give \"vocabulary\", for token ids, or \"features\", for vectors, not both",
                   context);
  if ((!o->features && o->vocabulary < 2) || (classes && o->classes < 2))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is required and at least 2", context,
                   !o->features && o->vocabulary < 2 ? "vocabulary" : "classes");
  if (o->task == FILTRA_TASK_MULTI_LABEL && o->classes < 1)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"classes\", the number of labels, is required and at least 1", context);
  return FILTRA_OK;
}

static filtra_status check_image(const char *context, const filtra_model_config *o) {
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

/* Checks stages of images. */
static filtra_status check_stages(const char *context, const filtra_model_config *o) {
  int64_t layers[FT_MOST_STAGES], sum = 0;
  if (!memchr(o->stages, '\0', sizeof o->stages))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"stages\" has no end", context);
  const int count = ft_model_stages(o, layers);
  for (int i = 0; i < count; i++)
    sum += layers[i];
  if (!count)
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "%s: \"stages\" is \"%s\"; accepted are 1 to %d numbers of layers, as in [2, 2, 6, "
        "2]",
        context, o->stages, FT_MOST_STAGES);
  if (sum != o->layers)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"stages\" are %lld layers and \"layers\" is %lld; they must be equal",
                   context, (long long)sum, (long long)o->layers);
  if (o->width << (count - 1) > MOST_WIDTH)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"width\" %lld doubles with each of %d \"stages\" to more than %d", context,
                   (long long)o->width, count, MOST_WIDTH);
  return FILTRA_OK;
}

/* Checks keys for tokens with places in an image. */
static filtra_status check_places(const char *context, const filtra_model_config *o) {
  const bool relative = o->positions == FILTRA_POSITIONS_RELATIVE;
  const char *key = o->window    ? "\"window\""
                    : *o->stages ? "\"stages\""
                    : relative   ? "\"positions\" relative"
                                 : NULL;
  FT_TRY(check_stages(context, o));
  if (!key) return FILTRA_OK;
  if (!o->patch)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: %s needs images cut into patches; set \"patch\", too",
                   context, key);
  if (ft_model_front(o))
    return ft_fail(
        FILTRA_ERROR_INPUT, "%s: %s is for patches, and \"%s\" puts a token in front of them; %s",
        context, key, o->distillation ? "distillation" : "pooling class_token",
        o->distillation ? "leave it out" : "with \"class_layers\" it comes in after them");
  if (o->block == FILTRA_BLOCK_CONVERTER)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: %s is for \"block\" transformer", context, key);
  return FILTRA_OK;
}

static filtra_status check_contra_norm(const char *context, const filtra_model_config *o) {
  if (o->contra_norm == 0.0f) return FILTRA_OK;
  if (o->block == FILTRA_BLOCK_CONVERTER)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"contra_norm\" is for \"block\" transformer; leave it out, or at 0",
                   context);
  if (o->task == FILTRA_TASK_LANGUAGE_MODEL)
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "%s: task \"language_model\" cannot have \"contra_norm\", which shows a token those "
        "after it",
        context);
  return FILTRA_OK;
}

/* Checks LayerScale and class attention. */
static filtra_status check_depth(const char *context, const filtra_model_config *o) {
  if (o->block == FILTRA_BLOCK_CONVERTER && (o->layer_scale > 0.0f || o->class_layers))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"%s\" is for \"block\" transformer; leave it out, or at 0", context,
                   o->class_layers ? "class_layers" : "layer_scale");
  if (!o->class_layers) return FILTRA_OK;
  if (o->pooling != FILTRA_POOLING_CLASS_TOKEN)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"class_layers\" are the class token's: they need \"pooling\" class_token, "
                   "not %s",
                   context, ft_pooling_names[o->pooling]);
  if (o->norm == FILTRA_NORM_POST || o->distillation)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"class_layers\" have %s, as the paper's; \"%s\" must be %s", context,
                   o->distillation ? "no other token than the class token" : "norms before them",
                   o->distillation ? "distillation" : "norm", o->distillation ? "none" : "pre");
  return FILTRA_OK;
}

/* Checks the Converter, whose parts depend on each other, and recurrent positions. */
static filtra_status check_block(const char *context, const filtra_model_config *o,
                                 const ft_mixer_class *mixer) {
  bool recurrent = o->positions == FILTRA_POSITIONS_RECURRENT;
  if (recurrent && o->width > 512)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"width\" is %lld, accepted are at most 512 with \"positions\" recurrent",
                   context, (long long)o->width);
  if (recurrent && o->task == FILTRA_TASK_LANGUAGE_MODEL)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: task \"language_model\" cannot have \"positions\" recurrent: text is "
                   "generated token by token, and their state is not kept",
                   context);
  if (o->even_drop_path && o->drop_path == 0.0f)
    return ft_fail(
        FILTRA_ERROR_INPUT,
        "%s: \"even_drop_path\" has no effect without \"drop_path\"; leave it out, or at "
        "its default",
        context);
  const bool alone = o->layers < 2 && !o->even_drop_path;
  if (o->drop_path > 0.0f && (o->block == FILTRA_BLOCK_CONVERTER || alone))
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"drop_path\" %s; leave it out, or at 0", context,
                   alone ? "rises from 0 in the first layer, and \"layers\" is 1"
                         : "is for \"block\" transformer");
  if (o->block != FILTRA_BLOCK_CONVERTER) return FILTRA_OK;
  if (o->embedding_norm || o->no_last_norm)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"%s\" is for \"block\" transformer; the Converter has ScaleNorms of its "
                   "own",
                   context, o->embedding_norm ? "embedding_norm" : "no_last_norm");
  if (o->no_hidden_dropout)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"no_hidden_dropout\" is for \"block\" transformer; leave it out", context);
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

/* Refuses combinations that have no meaning. */
static filtra_status check_task(const char *context, const filtra_model_config *o,
                                const ft_mixer_class *mixer) {
  const char *task = ft_task_name(o->task), *pooling = ft_pooling_names[o->pooling];
  bool language = o->task == FILTRA_TASK_LANGUAGE_MODEL,
       pair = o->task == FILTRA_TASK_PAIR_CLASSIFICATION;
  if (language && mixer->not_causal)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: mixer \"%s\" cannot be used for task \"%s\", where no token may see those "
                   "behind it: %s",
                   context, mixer->name, task, mixer->not_causal);
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

static filtra_status check_target(const char *context, const filtra_model_config *o) {
  if (o->task == FILTRA_TASK_REGRESSION || (o->target_mean == 0.0f && o->target_scale == 1.0f))
    return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: \"target_mean\" and \"target_scale\" are for task \"regression\", not \"%s\"",
                 context, ft_task_name(o->task));
}

/* Checks what is added to the tokens' embeddings, and the tokens placed in front of them. */
static filtra_status check_embedding(const char *context, const filtra_model_config *o) {
  const bool language = o->task == FILTRA_TASK_LANGUAGE_MODEL;
  if (o->token_types && (o->features || language || o->task == FILTRA_TASK_PAIR_CLASSIFICATION))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"token_types\" tells two texts of one sequence of token ids apart; task "
                   "\"%s\"%s has none",
                   context, ft_task_name(o->task), o->features ? " with \"features\"" : "");
  if (o->position_offset && o->positions != FILTRA_POSITIONS_LEARNED)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: \"position_offset\" is for \"positions\" learned",
                   context);
  if (o->distillation &&
      (o->pooling != FILTRA_POOLING_CLASS_TOKEN || o->head != FILTRA_HEAD_LINEAR))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"distillation\" is for \"pooling\" class_token with \"head\" linear",
                   context);
  return FILTRA_OK;
}

/* Fails unless the mixer supports a bias; the message lists mixers that do. */
static filtra_status check_bias(const char *context, const ft_mixer_class *mixer,
                                const char *what) {
  char names[512] = "";
  if (mixer->takes_bias) return FILTRA_OK;
  for (size_t i = 0, used = 0; i < filtra_mixer_count() && used < sizeof names; i++)
    if (ft_mixer_at(i)->takes_bias)
      used += (size_t)ft_print(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                               ft_mixer_at(i)->name);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: mixer \"%s\" takes no bias of attention, which %s; accepted are %s", context,
                 mixer->name, what, names);
}

static filtra_status check_edges(const char *context, const filtra_model_config *o,
                                 const ft_mixers *mixers) {
  const struct {
    const char *key, *values;
    bool given;
  } needs[] = {
      {"features", "0: nodes are ids", o->features},
      {"task", "classification, multi_label or regression",
       o->task == FILTRA_TASK_LANGUAGE_MODEL || o->task == FILTRA_TASK_PAIR_CLASSIFICATION},
      {"positions", "none: nodes have no order", o->positions != FILTRA_POSITIONS_NONE},
      {"block", "transformer", o->block == FILTRA_BLOCK_CONVERTER},
      {"token_types", "0", o->token_types},
      {"distillation", "none", o->distillation},
      {"pooling", "mean, mean_all or class_token, the virtual node",
       o->pooling == FILTRA_POOLING_FIRST || o->pooling == FILTRA_POOLING_FLATTEN}};
  for (size_t i = 0; i < FT_COUNT(needs); i++)
    if (needs[i].given)
      return ft_fail(FILTRA_ERROR_INPUT, "%s: for graphs (\"edge_types\") \"%s\" must be %s",
                     context, needs[i].key, needs[i].values);
  for (size_t i = 0; i < mixers->count; i++)
    FT_TRY(check_bias(context, mixers->list[i].kind, "graphs (\"edge_types\") need"));
  return FILTRA_OK;
}

static filtra_status refuse_head(const char *context, const char *key, const char *why) {
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" has no effect %s; leave it out, or at its default",
                 context, key, why);
}

/* Keys of a head that the model lacks must have their defaults: files that list all keys contain
 * them. */
static filtra_status check_head(const char *context, const filtra_model_config *o,
                                const filtra_model_config *usual) {
  bool language = o->task == FILTRA_TASK_LANGUAGE_MODEL;
  const char *why = language ? "in task \"language_model\", which predicts at every token by one "
                               "linear layer"
                             : "with \"head\" linear";
  if (language && o->pooling != FILTRA_POOLING_MEAN) return refuse_head(context, "pooling", why);
  if (language && o->head != FILTRA_HEAD_MLP) return refuse_head(context, "head", why);
  if (language && o->head_dropout > 0.0f) return refuse_head(context, "head_dropout", why);
  if (!language && o->no_head_bias)
    return refuse_head(context, "no_head_bias", "outside of task \"language_model\"");
  if (!language && o->head == FILTRA_HEAD_MLP) return FILTRA_OK;
  if (o->head_width != usual->head_width) return refuse_head(context, "head_width", why);
  if (o->head_activation != usual->head_activation)
    return refuse_head(context, "head_activation", why);
  return FILTRA_OK;
}

filtra_status ft_model_options_check(const char *context, const ft_model_options *options,
                                     const filtra_model_config *usual) {
  const filtra_model_config *o = &options->config;
  FT_TRY(check_sizes(context, o));
  FT_TRY(ft_model_check_heads(context, o));
  FT_TRY(check_image(context, o));
  FT_TRY(check_places(context, o));
  FT_TRY(ft_mixers_check(&options->mixers, o->layers, context));
  for (size_t i = 0; i < options->mixers.count; i++)
    FT_TRY(check_block(context, o, options->mixers.list[i].kind));
  FT_TRY(check_target(context, o));
  for (size_t i = 0; i < options->mixers.count; i++)
    FT_TRY(check_task(context, o, options->mixers.list[i].kind));
  FT_TRY(check_embedding(context, o));
  FT_TRY(check_contra_norm(context, o));
  FT_TRY(check_depth(context, o));
  const bool relative = o->positions == FILTRA_POSITIONS_RELATIVE;
  for (size_t i = 0; i < options->mixers.count && (o->window || relative); i++)
    FT_TRY(check_bias(context, options->mixers.list[i].kind,
                      relative ? "\"positions\" relative is" : "\"window\" needs"));
  if (ft_model_has_edges(o)) FT_TRY(check_edges(context, o, &options->mixers));
  return check_head(context, o, usual);
}
