/* The model keys of a configuration: one table over filtra_model_config, and the checks across
 * keys. Called for configurations (train/config.c), model files (weights.c) and programs (model.c).
 */
#include "data/dataset.h"
#include "model/edges.h"
#include "model/model.h"

#include "base/utf8.h"

#include <math.h>
#include <string.h>

/* In the order of the enums in filtra/model.h. */
static const char *const HEADS[] = {"mlp", "linear", NULL};
static const char *const NORMS[] = {"pre", "post", NULL};
static const char *const BLOCKS[] = {"transformer", "converter", NULL};
static const char *const POSITIONS[] = {"learned",   "sinusoidal", "none",
                                        "recurrent", "relative",   NULL};
static const char *const DISTILLATIONS[] = {"none", "token", "mean", NULL};
/* The filtra_activation values that models accept. */
static const char *const ACTIVATIONS[] = {
    "auto", "relu", "gelu", "sin", "tanh", "softplus",  "softplus5", "leaky_relu", "",
    "",     "",     "",     "",    "",     "gelu_tanh", "none",      NULL};
_Static_assert(FT_COUNT(ACTIVATIONS) == FILTRA_ACTIVATION_IDENTITY + 2, "none is IDENTITY");

#define INT(member, ...)   FT_INT_KEY(filtra_model_config, member, #member, __VA_ARGS__)
#define FLOAT(member, ...) FT_FLOAT_KEY(filtra_model_config, member, #member, __VA_ARGS__)
#define ENUM(member, ...)  FT_ENUM_KEY(filtra_model_config, member, #member, 0, __VA_ARGS__)
#define LIST(member, ...)  FT_LIST_KEY(filtra_model_config, member, #member, __VA_ARGS__)
#define BOOL(member, ...)  FT_BOOL_KEY(filtra_model_config, member, #member, false, __VA_ARGS__)
#define DATA               .usual = "from the data"

static const ft_key KEYS[] = {
    ENUM(task, ft_task_names,
         "What the model predicts. auto: what the data are for. classification: one of `classes` "
         "for a sequence. pair_classification: one for two sequences a and b, whose vectors go to "
         "the head as [a, b, a b, a - b]. regression: a number. language_model: each token's "
         "successor, which takes a mixer that can be causal. multi_label: any number of "
         "`classes`, each judged by a binary cross-entropy of its own.",
         .paper = "pairs: Tay et al. 2021"),
    FT_OTHER_KEY("mixer",
                 "What mixes tokens, and its options; or a list of mixers with \"layers\", such as "
                 "\"10-11\", counted from 0: one without is for all other layers.",
                 .usual = "softmax"),
    INT(vocabulary, 0, 0, 1 << 24,
        "Number of token ids, 0 to `vocabulary` - 1, of which 0 is padding. 0: the default.", DATA),
    INT(features, 0, 0, 65536,
        "Numbers per token, where sequences consist of vectors (time series, pixels) and not of "
        "ids. 0: the default.",
        DATA),
    INT(classes, 0, 0, 1 << 20,
        "Number of labels. Those that the data do not have are called by their numbers. 0: the "
        "default.",
        DATA),
    INT(max_length, 0, 0, 1 << 20,
        "Longest sequence in tokens. 0, the default: the data's longest; of token ids the power "
        "of two, 16 at least, that holds it; of a text for language models the window, 256.",
        DATA),
    INT(image_height, 0, 0, 65536, "Height of images, whose pixels come row by row.", DATA),
    INT(image_width, 0, 0, 65536, "Width of images.", DATA),
    INT(patch, 0, 0, 1024,
        "Side of the square patches that images of `features` are cut into, one a token. It "
        "divides both sides of the image. 0: each pixel is a token.",
        .paper = "Dosovitskiy et al. 2021"),
    INT(window, 0, 0, 1024,
        "Side of the windows, in patches, in which mixers of images work alone. Those of every "
        "second layer of a stage are moved by half a side; there, tokens from both ends of the "
        "image get 100 less in each other's scores. Where windows do not divide an image, zeros "
        "follow it, which count as tokens and as its end, as in timm. GFSA filters the matrix of "
        "each window and head. With `patch` and a mixer whose attention takes a bias, softmax or "
        "gfsa. 0: one window, the image.",
        .paper = "Liu et al. 2021"),
    LIST(
        stages,
        "Layers of each stage, 1 to 8 numbers whose sum is `layers`, as in [2, 2, 6, 2]. Before "
        "each stage but the first, 2 x 2 patches become one (zeros follow an odd side). `width`, "
        "`ffn_width` and `heads` are those of the first stage, and double with each. With `patch`. "
        "Empty: one stage.",
        .numbered = true, .paper = "Liu et al. 2021"),
    ENUM(precision, ft_precision_names,
         "Type of what products and attention multiply, and of what the forward pass keeps for "
         "the backward pass; docs/precision.md says what is rounded where.",
         .paper = "Micikevicius et al. 2018"),
    INT(layers, 2, 1, 256, "Number of encoder blocks."),
    INT(heads, 2, 1, 256, "Number of heads. It divides `width` into at most 128 channels each."),
    INT(width, 64, 1, 16384, "Channels of a token."),
    INT(ffn_width, 0, 0, 65536,
        "Hidden units of the feed-forward layers. 0: the default, 4 `width` with `block` "
        "converter.",
        .usual = "2 `width`"),
    FLOAT(dropout, 0.0, 0.0, 0.999,
          "Dropout rate on embeddings, mixer outputs and feed-forward layers.",
          .paper = "Srivastava et al. 2014"),
    FLOAT(drop_path, 0.0, 0.0, 0.999,
          "Stochastic depth: the rate at which training drops the last layer's mixer branch, or "
          "its feed-forward branch, of a whole sequence. The rate rises from 0 in the first layer "
          "in equal steps; branches that are kept count 1 / (1 - rate). Not with `block` "
          "converter.",
          .paper = "Huang et al. 2016"),
    BOOL(even_drop_path, "Every layer has the rate `drop_path`, also the first.",
         .paper = "CaiT, Touvron et al. 2021"),
    FLOAT(
        contra_norm, 0.0, 0.0, 10.0,
        "ContraNorm: a LayerNorm gets x - s softmax(u u^T) x in place of x, u being the tokens "
        "divided by their lengths, without padding. With `norm` pre each LayerNorm does, as in the "
        "authors' ViT; with post the one after the mixer does, as in their BERT, whose t is "
        "t / (1 + t) here. Takes a matrix of N x N. Not with `block` converter, nor for a language "
        "model. 0: none.",
        .paper = "Guo et al. 2023"),
    FLOAT(
        layer_scale, 0.0, 0.0, 10.0,
        "LayerScale: a factor for each channel of a mixer's and of a feed-forward layer's output, "
        "which is learned and begins with this number, before it is added to its input. CaiT has "
        "0.1 up to 18 layers, 1e-5 at 24 and 1e-6 in deeper models. Not with `block` converter. 0: "
        "none.",
        .paper = "CaiT, Touvron et al. 2021"),
    INT(class_layers, 0, 0, 256,
        "Class attention: the class token does not stand in front of the `layers` but comes in "
        "after them, and in that many more layers it alone asks, by softmax attention, and looks "
        "at "
        "itself and all tokens; CaiT has 2. `mixer` is that of `layers`: with one query there is "
        "no "
        "matrix that GFSA could square. Stochastic depth drops none of these. With `pooling` "
        "class_token and `norm` pre.",
        .paper = "CaiT, Touvron et al. 2021"),
    ENUM(block, BLOCKS,
         "What stands around the mixer. transformer: norms, residual sums and feed-forward "
         "layers. converter: the Converter's block, for synvolution and kernelution.",
         .paper = "Vaswani et al. 2017; the Converter 2025"),
    ENUM(norm, NORMS,
         "LayerNorm before each layer (pre) or after each residual sum (post). The Converter's "
         "block has ScaleNorms of its own.",
         .paper = "Xiong et al. 2020"),
    ENUM(activation, ACTIVATIONS,
         "Activation of the feed-forward layers, with `block` converter of the gate's real part. "
         "auto: gelu, which is the exact one, or softplus in the Converter. gelu_tanh is GPT-2's. "
         "softplus5 is linear above 5.",
         .usual = "gelu"),
    ENUM(positions, POSITIONS,
         "What is added to the token embeddings: a learned table, sines, nothing, or the output "
         "of two GRU layers over them (recurrent: not in a language model; `width` at most 512). "
         "relative: nothing, but with `patch` each layer's attention has a learned bias for each "
         "head and each difference of rows and columns between two patches of a `window`.",
         .paper = "sines: Vaswani et al. 2017, section 3.5; relative: Liu et al. 2021"),
    FLOAT(embedding_init, 0.0, 0.0, 10.0,
          "Initial standard deviation of the tables of tokens and positions. 0: the default, "
          "`init_std` where that is given, 1 / sqrt(`max_length`) with `block` converter.",
          .usual = "0.02"),
    FLOAT(init_std, 0.0, 0.0, 10.0,
          "Initial standard deviation of linear layers' weights, whose biases are then 0, and of a "
          "class token. 0: weights and biases U(-1/sqrt(in), 1/sqrt(in)), a class token N(0, "
          "0.02^2). These keep their own initial values: norms, filter coefficients, random "
          "directions, SIRENs and values of synvolution and kernelution, recurrent positions, and "
          "the layer that reads patches. Not with `block` converter."),
    FLOAT(norm_epsilon, 1e-5, 1e-12, 1.0,
          "Added to the variance in a LayerNorm, and to the length in a ScaleNorm."),
    BOOL(embedding_norm,
         "LayerNorm on the sum of a token's embeddings, before dropout. Not with `block` "
         "converter, which has a ScaleNorm there.",
         .paper = "Devlin et al. 2019"),
    BOOL(no_last_norm,
         "No LayerNorm between the last block and pooling or head: with `norm` post the last block "
         "ends with one. Not with `block` converter, which has none."),
    BOOL(no_hidden_dropout,
         "`dropout` spares the hidden units of feed-forward layers, as in BERT, GPT-2 and ViT. Not "
         "with `block` converter.",
         .paper = "Devlin et al. 2019"),
    INT(token_types, 0, 0, 16,
        "Rows of a table that is added to the embeddings: row 0 to a first text's tokens, row 1 "
        "to those of a second text in the same sequence. 0: no table. Not in a language model.",
        .paper = "Devlin et al. 2019"),
    INT(position_offset, 0, 0, 1024,
        "Row of the table of positions that the first token gets, as RoBERTa's do, which start "
        "after padding's. With `positions` learned."),
    INT(edge_types, 0, 0, FT_MOST_EDGE_TYPES,
        "Samples are graphs, as the tokenizer smiles reads them: nodes are tokens, and attention "
        "has a bias for each pair of nodes by their distance and by the types of the edges on the "
        "shortest path between them. `positions` is none then, and a class token the virtual node. "
        "0: the default, no graphs.",
        DATA, .paper = "Ying et al. 2021"),
    INT(edge_distances, 0, 0, 1024,
        "Distances, from 0, that have a bias of their own; longer ones share one. For graphs. 0: "
        "the default.",
        .usual = "20", .paper = "Ying et al. 2021, equation 6"),
    INT(edge_hops, 0, 0, 64,
        "Edges of a path, from its beginning, that have a weight by type and place. For graphs. 0: "
        "the default.",
        .usual = "5", .paper = "Ying et al. 2021, equation 7"),
    INT(edge_degrees, 0, 0, 1024,
        "Degrees, from 0, that have an embedding of their own; larger ones share one. For graphs. "
        "0: the default.",
        .usual = "16", .paper = "Ying et al. 2021, equation 5"),
    BOOL(scale_embeddings, "Multiply embeddings by sqrt(`width`) before positions are added.",
         .paper = "Vaswani et al. 2017, section 3.4"),
    BOOL(tie_embeddings, "A language model's head has the embedding's weights.",
         .paper = "Press & Wolf 2017"),
    BOOL(no_head_bias, "A language model's head has no bias."),
    BOOL(mask_zero, "Token 0 is padding wherever it stands, not only after a sequence's end."),
    ENUM(pooling, ft_pooling_names,
         "How tokens become one vector. mean: over real tokens. mean_all: their sum divided by "
         "`max_length`, as the AGF authors do. first: the first token. class_token: a learned "
         "token put in front. flatten: activation, dropout, then all tokens side by side, padding "
         "as zeros. A language model has none.",
         .paper = "class_token: Dosovitskiy et al. 2021; flatten: Zerveas et al. 2021"),
    ENUM(head, HEADS,
         "Two linear layers with an activation between (mlp), or one (linear). A language model "
         "has one."),
    INT(head_width, 0, 0, 65536,
        "Hidden units of the head. 0: the default, `width` with `block` converter.",
        .usual = "as `ffn_width`"),
    ENUM(head_activation, ACTIVATIONS,
         "Activation of the head. auto: relu, or leaky_relu with `block` converter.",
         .usual = "relu"),
    FLOAT(head_dropout, 0.0, 0.0, 0.999,
          "Dropout rate before the last layer of the head. A language model has none."),
    ENUM(distillation, DISTILLATIONS,
         "A second learned token after the class token. token: the head reads the class token "
         "alone. mean: the second token has a head of its own, and logits are the mean of both "
         "heads'. With `pooling` class_token and `head` linear.",
         .paper = "Touvron et al. 2021"),
    FLOAT(target_mean, 0.0, -1e30, 1e30,
          "Regression: the head gives (value - `target_mean`) / `target_scale`, and the loss is "
          "the mean square of its error.",
          DATA),
    FLOAT(target_scale, 0.0, 0.0, 1e30,
          "Regression: see `target_mean`. 0, the default: both are the mean and standard deviation "
          "of the training values.",
          DATA),
};
const ft_keys ft_model_keys = FT_KEYS(KEYS);

/* ---- reading and writing ---- */

filtra_status ft_model_options_read(const json_t *object, const char *context,
                                    ft_model_options *o) {
  o->config = (filtra_model_config){0};
  FT_TRY(ft_keys_read(object, &ft_model_keys, &o->config, context));
  FT_TRY(ft_mixers_read(json_object_get(object, "mixer"), context, &o->mixers));
  return ft_model_options_finish(context, o);
}

/* Reads a mixer from its name, or mixers from JSON text. */
static filtra_status take_mixer(const char *text, const char *context, ft_mixers *out) {
  json_t *mixer = NULL;
  if (text && (text[0] == '{' || text[0] == '['))
    FT_TRY(ft_json_parse(text, strlen(text), "mixer", &mixer));
  else if (text && !ft_utf8_valid(text, strlen(text)))
    return ft_fail(FILTRA_ERROR_ARGUMENT, "%s: \"mixer\" is not UTF-8 text", context);
  else if (!(mixer = json_string(text ? text : "softmax")))
    return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  filtra_status status = ft_mixers_read(mixer, context, out);
  json_decref(mixer);
  return status;
}

filtra_status ft_model_options_take(const filtra_model_config *config, ft_model_options *o) {
  static const char CONTEXT[] = "model configuration";
  o->config = *config;
  o->config.mixer = NULL;
  o->config.seed = 0;
  if (ft_keys_complete(&ft_model_keys, &o->config, CONTEXT))
    return FILTRA_ERROR_INPUT; /* for errors across keys */
  FT_TRY(take_mixer(config->mixer, CONTEXT, &o->mixers));
  return ft_model_options_finish(CONTEXT, o);
}

json_t *ft_model_options_write(const ft_model_options *o) {
  json_t *mixer = json_pack("{so}", "mixer", ft_mixers_write(&o->mixers));
  json_t *object = ft_json_join(ft_keys_write(&ft_model_keys, &o->config), mixer);
  if (!object) ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  return object;
}

/* ---- defaults and checks ---- */

/* Fills in the keys for graphs, or refuses them. */
static filtra_status complete_edges(const char *context, filtra_model_config *o) {
  const bool graphs = ft_model_has_edges(o);
  const struct {
    const char *key;
    int64_t *value, usual;
  } keys[] = {{"edge_distances", &o->edge_distances, 20},
              {"edge_hops", &o->edge_hops, 5},
              {"edge_degrees", &o->edge_degrees, 16}};
  for (size_t i = 0; i < FT_COUNT(keys); i++) {
    if (!graphs && *keys[i].value)
      return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is for graphs; set \"edge_types\", too",
                     context, keys[i].key);
    if (graphs && !*keys[i].value) *keys[i].value = keys[i].usual;
  }
  return FILTRA_OK;
}

filtra_status ft_model_options_finish(const char *context, ft_model_options *options) {
  filtra_model_config *o = &options->config;
  bool converter = o->block == FILTRA_BLOCK_CONVERTER;
  if (!o->task) o->task = FILTRA_TASK_CLASSIFICATION;
  if (!o->max_length) o->max_length = o->patch ? o->image_height * o->image_width : 2048;
  if (!o->ffn_width) o->ffn_width = (converter ? 4 : 2) * o->width;
  const filtra_model_config usual = {.head_width = converter ? o->width : o->ffn_width,
                                     .head_activation = converter ? FILTRA_ACTIVATION_LEAKY_RELU
                                                                  : FILTRA_ACTIVATION_RELU};
  if (!o->head_width) o->head_width = usual.head_width;
  if (!o->activation)
    o->activation = converter ? FILTRA_ACTIVATION_SOFTPLUS : FILTRA_ACTIVATION_GELU;
  if (!o->head_activation) o->head_activation = usual.head_activation;
  if (o->embedding_init == 0.0f)
    o->embedding_init = converter            ? 1.0f / sqrtf((float)o->max_length)
                        : o->init_std > 0.0f ? o->init_std
                                             : 0.02f;
  if (o->target_scale == 0.0f) o->target_scale = 1.0f;
  FT_TRY(complete_edges(context, o));
  return ft_model_options_check(context, options, &usual);
}
