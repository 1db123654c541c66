/* ViT (Dosovitskiy et al. 2021) and DeiT with its distillation token (Touvron et al. 2021):
 * encoders of an image's patches. */
#include "model/pretrained/family.h"

#include <math.h>

/* The last row is DeiT's alone. */
static const ft_hf_row ROWS[] = {
    {"embedding", {"embeddings.patch_embeddings.projection"}, .layer = true, .form = FT_HF_PATCHES},
    {"class_token.weight", {"embeddings.cls_token"}, .form = FT_HF_ONE},
    {"positions.weight", {"embeddings.position_embeddings"}, .form = FT_HF_ONE},
    {"layers.%d.norm1", {"encoder.layer.%d.layernorm_before"}, .layer = true},
    {"layers.%d.mixer.qkv",
     {"encoder.layer.%d.attention.attention.query", "encoder.layer.%d.attention.attention.key",
      "encoder.layer.%d.attention.attention.value"},
     .layer = true},
    {"layers.%d.mixer.out", {"encoder.layer.%d.attention.output.dense"}, .layer = true},
    {"layers.%d.norm2", {"encoder.layer.%d.layernorm_after"}, .layer = true},
    {"layers.%d.ffn.1", {"encoder.layer.%d.intermediate.dense"}, .layer = true},
    {"layers.%d.ffn.2", {"encoder.layer.%d.output.dense"}, .layer = true},
    {"norm", {"layernorm"}, .layer = true},
    {"distillation_token.weight", {"embeddings.distillation_token"}, .form = FT_HF_ONE},
};
static const ft_hf_row HEAD[] = {{"head", {"classifier"}, .layer = true, .bare = true}};
static const ft_hf_row TEACHER_HEAD[] = {
    {"head", {"cls_classifier"}, .layer = true, .bare = true},
    {"distilled_head", {"distillation_classifier"}, .layer = true, .bare = true},
};
static const char *const UNUSED[] = {"*pooler.dense.weight", "*pooler.dense.bias",
                                     "*embeddings.mask_token", "decoder.", NULL};

static const ft_hf_key KEYS[] = {
    {"image_size", "image_height", FT_HF_SIDE, NAN},
    {"image_size", "image_width", FT_HF_SIDE, NAN},
    {"patch_size", "patch", FT_HF_SIDE, NAN},
    {"num_channels", "features", FT_HF_INT, 3},
    {"hidden_size", "width", FT_HF_INT, NAN},
    {"num_hidden_layers", "layers", FT_HF_INT, NAN},
    {"num_attention_heads", "heads", FT_HF_INT, NAN},
    {"intermediate_size", "ffn_width", FT_HF_INT, NAN},
    {"hidden_act", "activation", FT_HF_ACTIVATION, NAN},
    {"layer_norm_eps", "norm_epsilon", FT_HF_NUMBER, 1e-12},
    {"initializer_range", "init_std", FT_HF_NUMBER, 0.02},
    {"hidden_dropout_prob", "dropout", FT_HF_NUMBER, 0.0},
    {"attention_probs_dropout_prob", "attention_dropout", FT_HF_DROPOUT, 0.0},
};
#define OURS                                                                                       \
  "{\"norm\": \"pre\", \"no_hidden_dropout\": true, \"pooling\": \"class_token\", \"head\": "      \
  "\"linear\","                                                                                    \
  " \"positions\": \"learned\""

const ft_hf_family ft_hf_vit = {.type = "vit",
                                .name = "ViT",
                                .prefix = "vit.",
                                .rows = {ROWS, FT_COUNT(ROWS) - 1},
                                .head = FT_HF_LIST(HEAD),
                                .classifier = "ForImageClassification",
                                .unused = UNUSED,
                                .keys = FT_HF_LIST(KEYS),
                                .ours = OURS ", \"distillation\": \"none\"}",
                                .theirs = "{\"qkv_bias\": true}"};
const ft_hf_family ft_hf_deit = {.type = "deit",
                                 .name = "DeiT",
                                 .prefix = "deit.",
                                 .rows = FT_HF_LIST(ROWS),
                                 .head = FT_HF_LIST(HEAD),
                                 .classifier = "ForImageClassification",
                                 .unused = UNUSED,
                                 .keys = FT_HF_LIST(KEYS),
                                 .ours = OURS ", \"distillation\": \"token\"}",
                                 .theirs = "{\"qkv_bias\": true}"};
const ft_hf_family ft_hf_deit_teacher = {.type = "deit",
                                         .name = "DeiT",
                                         .prefix = "deit.",
                                         .rows = FT_HF_LIST(ROWS),
                                         .head = FT_HF_LIST(TEACHER_HEAD),
                                         .classifier = "ForImageClassificationWithTeacher",
                                         .unused = UNUSED,
                                         .keys = FT_HF_LIST(KEYS),
                                         .ours = OURS ", \"distillation\": \"mean\"}",
                                         .theirs = "{\"qkv_bias\": true}"};
