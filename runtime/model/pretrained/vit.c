/* ViT (Dosovitskiy et al. 2021) and DeiT with its distillation token (Touvron et al. 2021):
 * encoders of an image's patches. */
#include "model/pretrained/family.h"

#include <string.h>

#define EMBEDDINGS                                                                                 \
  {"embedding", {"embeddings.patch_embeddings.projection"}, .layer = true, .form = FT_HF_PATCHES}, \
      {"class_token.weight", {"embeddings.cls_token"}}, {                                          \
    "positions.weight", {                                                                          \
      "embeddings.position_embeddings"                                                             \
    }                                                                                              \
  }
#define LAYERS                                                                                     \
  {"layers.%d.norm1", {"encoder.layer.%d.layernorm_before"}, .layer = true},                       \
      {"layers.%d.mixer.qkv",                                                                      \
       {"encoder.layer.%d.attention.attention.query", "encoder.layer.%d.attention.attention.key",  \
        "encoder.layer.%d.attention.attention.value"},                                             \
       .layer = true},                                                                             \
      {"layers.%d.mixer.out", {"encoder.layer.%d.attention.output.dense"}, .layer = true},         \
      {"layers.%d.norm2", {"encoder.layer.%d.layernorm_after"}, .layer = true},                    \
      {"layers.%d.ffn.1", {"encoder.layer.%d.intermediate.dense"}, .layer = true},                 \
      {"layers.%d.ffn.2", {"encoder.layer.%d.output.dense"}, .layer = true}, {                     \
    "norm", {"layernorm"}, .layer = true                                                           \
  }

static const ft_hf_row VIT_ROWS[] = {EMBEDDINGS, LAYERS};
static const ft_hf_row DEIT_ROWS[] = {
    EMBEDDINGS, {"distillation_token.weight", {"embeddings.distillation_token"}}, LAYERS};
static const ft_hf_row VIT_HEAD[] = {{"head", {"classifier"}, .layer = true}};
/* One head, or that of a teacher beside it. */
static const ft_hf_row DEIT_HEAD[] = {
    {"head", {"classifier"}, .layer = true, .optional = true},
    {"head", {"cls_classifier"}, .layer = true, .optional = true},
    {"distilled_head", {"distillation_classifier"}, .layer = true, .optional = true},
};
static const char *const UNUSED[] = {"*pooler.dense.weight", "*pooler.dense.bias",
                                     "*embeddings.mask_token", "decoder.", NULL};

/* The side of an image or patch: a number, or two equal ones. */
static filtra_status take_side(const ft_hf_config *c, const char *theirs, int64_t *side) {
  const json_t *value = json_object_get(c->json, theirs);
  if (json_is_array(value) && json_array_size(value) == 2 &&
      json_equal(json_array_get(value, 0), json_array_get(value, 1)))
    value = json_array_get(value, 0);
  *side = json_integer_value(value);
  if (*side > 0) return FILTRA_OK;
  return ft_fail(FILTRA_ERROR_INPUT, "%s: \"%s\" is not the side of a square in pixels", c->path,
                 theirs);
}

static filtra_status read_config(const ft_hf_config *c, json_t *keys) {
  int64_t side, patch;
  FT_TRY(ft_hf_require(c, "qkv_bias", "true"));
  FT_TRY(take_side(c, "image_size", &side));
  FT_TRY(take_side(c, "patch_size", &patch));
  FT_TRY(ft_hf_take_int(c, "num_channels", 3, keys, "features"));
  FT_TRY(ft_hf_take_int(c, "hidden_size", -1, keys, "width"));
  FT_TRY(ft_hf_take_int(c, "num_hidden_layers", -1, keys, "layers"));
  FT_TRY(ft_hf_take_int(c, "num_attention_heads", -1, keys, "heads"));
  FT_TRY(ft_hf_take_int(c, "intermediate_size", -1, keys, "ffn_width"));
  FT_TRY(ft_hf_take_activation(c, "hidden_act", keys));
  FT_TRY(ft_hf_take_number(c, "layer_norm_eps", 1e-12, keys, "norm_epsilon"));
  FT_TRY(ft_hf_take_number(c, "initializer_range", 0.02, keys, "init_std"));
  FT_TRY(ft_hf_take_number(c, "hidden_dropout_prob", 0.0, keys, "dropout"));
  FT_TRY(ft_hf_take_mixer(c, "attention_probs_dropout_prob", keys));
  return ft_hf_set(keys, "{sI sI sI ss ss}", "image_height", side, "image_width", side, "patch",
                   patch, "pooling", "class_token", "head", "linear");
}

static filtra_status read_deit(const ft_hf_config *c, json_t *keys) {
  FT_TRY(read_config(c, keys));
  return ft_hf_set(keys, "{ss}", "distillation",
                   strstr(c->architecture, "WithTeacher") ? "mean" : "token");
}

const ft_hf_family ft_hf_vit = {.type = "vit",
                                .prefix = "vit.",
                                .rows = {VIT_ROWS, FT_COUNT(VIT_ROWS)},
                                .head = {VIT_HEAD, FT_COUNT(VIT_HEAD)},
                                .classifier = "ForImageClassification",
                                .unused = UNUSED,
                                .read = read_config};
const ft_hf_family ft_hf_deit = {.type = "deit",
                                 .prefix = "deit.",
                                 .rows = {DEIT_ROWS, FT_COUNT(DEIT_ROWS)},
                                 .head = {DEIT_HEAD, FT_COUNT(DEIT_HEAD)},
                                 .classifier = "ForImageClassification",
                                 .unused = UNUSED,
                                 .read = read_deit};
