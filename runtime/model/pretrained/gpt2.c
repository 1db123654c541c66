/* GPT-2 (Radford et al. 2019): a causal language model, whose layers' weights are [in, out]. */
#include "model/pretrained/family.h"

#include <math.h>

static const ft_hf_row ROWS[] = {
    {"embedding.weight", {"wte.weight"}},
    {"positions.weight", {"wpe.weight"}},
    {"layers.%d.norm1", {"h.%d.ln_1"}, .layer = true},
    {"layers.%d.mixer.qkv", {"h.%d.attn.c_attn"}, .layer = true, .form = FT_HF_TRANSPOSED},
    {"layers.%d.mixer.out", {"h.%d.attn.c_proj"}, .layer = true, .form = FT_HF_TRANSPOSED},
    {"layers.%d.norm2", {"h.%d.ln_2"}, .layer = true},
    {"layers.%d.ffn.1", {"h.%d.mlp.c_fc"}, .layer = true, .form = FT_HF_TRANSPOSED},
    {"layers.%d.ffn.2", {"h.%d.mlp.c_proj"}, .layer = true, .form = FT_HF_TRANSPOSED},
    {"norm", {"ln_f"}, .layer = true},
};
static const ft_hf_row HEAD[] = {{"head.weight", {"lm_head.weight"}, .optional = true}};
/* Masks that older versions wrote with the weights. */
static const char *const UNUSED[] = {"*.attn.bias", "*.attn.masked_bias", "score.", NULL};

static filtra_status read_config(const ft_hf_config *c, json_t *keys) {
  FT_TRY(ft_hf_require(c, "scale_attn_weights", "true"));
  FT_TRY(ft_hf_require(c, "scale_attn_by_inverse_layer_idx", "false"));
  FT_TRY(ft_hf_require(c, "add_cross_attention", "false"));
  FT_TRY(ft_hf_take_int(c, "vocab_size", -1, keys, "vocabulary"));
  FT_TRY(ft_hf_take_int(c, "n_embd", -1, keys, "width"));
  FT_TRY(ft_hf_take_int(c, "n_layer", -1, keys, "layers"));
  FT_TRY(ft_hf_take_int(c, "n_head", -1, keys, "heads"));
  FT_TRY(ft_hf_take_int(c, "n_positions", -1, keys, "max_length"));
  FT_TRY(ft_hf_take_int(c, "n_inner", 4 * json_integer_value(json_object_get(keys, "width")), keys,
                        "ffn_width"));
  FT_TRY(ft_hf_take_activation(c, "activation_function", keys));
  FT_TRY(ft_hf_take_number(c, "layer_norm_epsilon", 1e-5, keys, "norm_epsilon"));
  FT_TRY(ft_hf_take_number(c, "initializer_range", 0.02, keys, "init_std"));
  FT_TRY(ft_hf_take_number(c, "resid_pdrop", 0.1, keys, "dropout"));
  FT_TRY(ft_hf_take_mixer(c, "attn_pdrop", keys));
  return ft_hf_set(keys, "{ss sb sb}", "task", "language_model", "tie_embeddings", !c->untied,
                   "no_head_bias", 1);
}

const ft_hf_family ft_hf_gpt2 = {.type = "gpt2",
                                 .prefix = "transformer.",
                                 .rows = {ROWS, FT_COUNT(ROWS)},
                                 .head = {HEAD, FT_COUNT(HEAD)},
                                 .classifier = "",
                                 .unused = UNUSED,
                                 .read = read_config};
