/* GPT-2 (Radford et al. 2019): a causal language model, whose layers' weights are [in, out]. */
#include "model/pretrained/family.h"

#include <math.h>

static const ft_hf_row ROWS[] = {
    {"embedding.weight", {"wte.weight"}, .instead = "lm_head.weight"},
    {"positions.weight", {"wpe.weight"}},
    {"layers.%d.norm1", {"h.%d.ln_1"}, .layer = true},
    {"layers.%d.mixer.qkv", {"h.%d.attn.c_attn"}, .layer = true, .form = FT_HF_TRANSPOSED},
    {"layers.%d.mixer.out", {"h.%d.attn.c_proj"}, .layer = true, .form = FT_HF_TRANSPOSED},
    {"layers.%d.norm2", {"h.%d.ln_2"}, .layer = true},
    {"layers.%d.ffn.1", {"h.%d.mlp.c_fc"}, .layer = true, .form = FT_HF_TRANSPOSED},
    {"layers.%d.ffn.2", {"h.%d.mlp.c_proj"}, .layer = true, .form = FT_HF_TRANSPOSED},
    {"norm", {"ln_f"}, .layer = true},
};
static const ft_hf_row HEAD[] = {
    {"head.weight", {"lm_head.weight"}, .optional = true, .bare = true}};
/* Masks that older versions saved with the weights, and the heads of classifiers. */
static const char *const UNUSED[] = {"*.attn.bias", "*.attn.masked_bias",    "score.",
                                     "classifier.", "multiple_choice_head.", NULL};

static const ft_hf_key KEYS[] = {
    {"vocab_size", "vocabulary", FT_HF_INT, NAN},
    {"n_embd", "width", FT_HF_INT, NAN},
    {"n_layer", "layers", FT_HF_INT, NAN},
    {"n_head", "heads", FT_HF_INT, NAN},
    {"n_positions", "max_length", FT_HF_INT, NAN},
    {"n_inner", "ffn_width", FT_HF_INT, 0},
    {"activation_function", "activation", FT_HF_ACTIVATION, NAN},
    {"layer_norm_epsilon", "norm_epsilon", FT_HF_NUMBER, 1e-5},
    {"initializer_range", "init_std", FT_HF_NUMBER, 0.02},
    {"resid_pdrop", "dropout", FT_HF_NUMBER, 0.1},
    {"attn_pdrop", "attention_dropout", FT_HF_DROPOUT, 0.1},
};

/* The weights tell whether the head is tied: only an untied one has its own beside the table. */
static filtra_status adjust(const ft_hf_config *c, json_t *keys) {
  if (!c->untied && json_is_false(json_object_get(c->json, "tie_word_embeddings")))
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"tie_word_embeddings\" is false, and the weights lack wte.weight or "
                   "lm_head.weight; set it to true if the head is the table of tokens",
                   c->path);
  const json_int_t width = json_integer_value(json_object_get(keys, "width")),
                   hidden = json_integer_value(json_object_get(keys, "ffn_width"));
  return ft_hf_set(keys, "{sI sb}", "ffn_width", hidden ? hidden : 4 * width, "tie_embeddings",
                   !c->untied);
}

/* GPT-2's own vocabulary ends with <|endoftext|>; in another, the tokenizer says where it is. */
static filtra_status restore(const json_t *keys, json_t *config) {
  enum { OWN_VOCABULARY = 50257 };
  const int tied = json_is_true(json_object_get(keys, "tie_embeddings"));
  const json_int_t last = OWN_VOCABULARY - 1;
  FT_TRY(ft_hf_set(config, "{sO sb}", "embd_pdrop", json_object_get(keys, "dropout"),
                   "tie_word_embeddings", tied));
  if (json_integer_value(json_object_get(keys, "vocabulary")) != OWN_VOCABULARY) return FILTRA_OK;
  return ft_hf_set(config, "{sI sI}", "bos_token_id", last, "eos_token_id", last);
}

const ft_hf_family ft_hf_gpt2 = {
    .type = "gpt2",
    .name = "GPT2",
    .prefix = "transformer.",
    .rows = FT_HF_LIST(ROWS),
    .head = FT_HF_LIST(HEAD),
    .classifier = "",
    .unused = UNUSED,
    .keys = FT_HF_LIST(KEYS),
    .ours = "{\"task\": \"language_model\", \"norm\": \"pre\","
            " \"no_hidden_dropout\": true, \"no_head_bias\": true, \"positions\": \"learned\"}",
    .theirs = "{\"scale_attn_weights\": true,"
              " \"scale_attn_by_inverse_layer_idx\": false,"
              " \"add_cross_attention\": false}",
    .ends = true,
    .adjust = adjust,
    .restore = restore};
