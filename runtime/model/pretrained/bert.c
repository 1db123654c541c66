/* BERT (Devlin et al. 2019), RoBERTa (Liu et al. 2019) and DistilBERT (Sanh et al. 2019): encoders
 * of text with norms after each residual sum. */
#include "model/pretrained/family.h"

#include <math.h>

#define ROWS(array)                                                                                \
  { array, FT_COUNT(array) }

static const ft_hf_row BERT_ROWS[] = {
    {"embedding.weight", {"embeddings.word_embeddings.weight"}},
    {"token_types.weight", {"embeddings.token_type_embeddings.weight"}},
    {"positions.weight", {"embeddings.position_embeddings.weight"}},
    {"embedding.norm", {"embeddings.LayerNorm"}, .layer = true},
    {"layers.%d.mixer.qkv",
     {"encoder.layer.%d.attention.self.query", "encoder.layer.%d.attention.self.key",
      "encoder.layer.%d.attention.self.value"},
     .layer = true},
    {"layers.%d.mixer.out", {"encoder.layer.%d.attention.output.dense"}, .layer = true},
    {"layers.%d.norm1", {"encoder.layer.%d.attention.output.LayerNorm"}, .layer = true},
    {"layers.%d.ffn.1", {"encoder.layer.%d.intermediate.dense"}, .layer = true},
    {"layers.%d.ffn.2", {"encoder.layer.%d.output.dense"}, .layer = true},
    {"layers.%d.norm2", {"encoder.layer.%d.output.LayerNorm"}, .layer = true},
};
static const ft_hf_row BERT_HEAD[] = {
    {"head.1", {"pooler.dense"}, .layer = true, .optional = true},
    {"head.2", {"classifier"}, .layer = true, .optional = true},
};
static const ft_hf_row ROBERTA_HEAD[] = {
    {"head.1", {"classifier.dense"}, .layer = true},
    {"head.2", {"classifier.out_proj"}, .layer = true},
};
static const char *const BERT_UNUSED[] = {"cls.",     "qa_outputs.",   "classifier.",
                                          "lm_head.", "*position_ids", NULL};
static const char *const ROBERTA_UNUSED[] = {
    "lm_head.",           "qa_outputs.",   "classifier.", "*pooler.dense.weight",
    "*pooler.dense.bias", "*position_ids", NULL};

/* What both have in common. */
static filtra_status read_encoder(const ft_hf_config *c, json_t *keys) {
  FT_TRY(ft_hf_require(c, "position_embedding_type", "\"absolute\""));
  FT_TRY(ft_hf_require(c, "is_decoder", "false"));
  FT_TRY(ft_hf_require(c, "add_cross_attention", "false"));
  FT_TRY(ft_hf_require(c, "pruned_heads", "{}"));
  FT_TRY(ft_hf_take_int(c, "vocab_size", -1, keys, "vocabulary"));
  FT_TRY(ft_hf_take_int(c, "hidden_size", -1, keys, "width"));
  FT_TRY(ft_hf_take_int(c, "hidden_size", -1, keys, "head_width"));
  FT_TRY(ft_hf_take_int(c, "num_hidden_layers", -1, keys, "layers"));
  FT_TRY(ft_hf_take_int(c, "num_attention_heads", -1, keys, "heads"));
  FT_TRY(ft_hf_take_int(c, "intermediate_size", -1, keys, "ffn_width"));
  FT_TRY(ft_hf_take_int(c, "max_position_embeddings", -1, keys, "max_length"));
  FT_TRY(ft_hf_take_int(c, "type_vocab_size", 2, keys, "token_types"));
  FT_TRY(ft_hf_take_activation(c, "hidden_act", keys));
  FT_TRY(ft_hf_take_number(c, "layer_norm_eps", 1e-12, keys, "norm_epsilon"));
  FT_TRY(ft_hf_take_number(c, "initializer_range", 0.02, keys, "init_std"));
  FT_TRY(ft_hf_take_number(c, "hidden_dropout_prob", 0.1, keys, "dropout"));
  FT_TRY(ft_hf_take_number(c, "classifier_dropout",
                           json_number_value(json_object_get(keys, "dropout")), keys,
                           "head_dropout"));
  FT_TRY(ft_hf_take_mixer(c, "attention_probs_dropout_prob", keys));
  return ft_hf_set(keys, "{ss sb sb ss ss ss}", "norm", "post", "no_last_norm", 1, "embedding_norm",
                   1, "pooling", "first", "head", "mlp", "head_activation", "tanh");
}

/* Positions count from the row after padding's. */
static filtra_status read_roberta(const ft_hf_config *c, json_t *keys) {
  FT_TRY(read_encoder(c, keys));
  FT_TRY(ft_hf_take_int(c, "pad_token_id", 1, keys, "position_offset"));
  const json_int_t offset = json_integer_value(json_object_get(keys, "position_offset")) + 1,
                   rows = json_integer_value(json_object_get(keys, "max_length"));
  if (rows > offset)
    return ft_hf_set(keys, "{sI sI}", "position_offset", offset, "max_length", rows - offset);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: \"max_position_embeddings\" is %lld; accepted are more than %lld, the rows "
                 "up to padding's (\"pad_token_id\")",
                 c->path, (long long)rows, (long long)offset);
}

const ft_hf_family ft_hf_bert = {.type = "bert",
                                 .prefix = "bert.",
                                 .rows = ROWS(BERT_ROWS),
                                 .head = ROWS(BERT_HEAD),
                                 .classifier = "ForSequenceClassification",
                                 .unused = BERT_UNUSED,
                                 .read = read_encoder};
const ft_hf_family ft_hf_roberta = {.type = "roberta",
                                    .prefix = "roberta.",
                                    .rows = ROWS(BERT_ROWS),
                                    .head = ROWS(ROBERTA_HEAD),
                                    .classifier = "ForSequenceClassification",
                                    .unused = ROBERTA_UNUSED,
                                    .read = read_roberta};

static const ft_hf_row DISTILBERT_ROWS[] = {
    {"embedding.weight", {"embeddings.word_embeddings.weight"}},
    {"positions.weight", {"embeddings.position_embeddings.weight"}},
    {"embedding.norm", {"embeddings.LayerNorm"}, .layer = true},
    {"layers.%d.mixer.qkv",
     {"transformer.layer.%d.attention.q_lin", "transformer.layer.%d.attention.k_lin",
      "transformer.layer.%d.attention.v_lin"},
     .layer = true},
    {"layers.%d.mixer.out", {"transformer.layer.%d.attention.out_lin"}, .layer = true},
    {"layers.%d.norm1", {"transformer.layer.%d.sa_layer_norm"}, .layer = true},
    {"layers.%d.ffn.1", {"transformer.layer.%d.ffn.lin1"}, .layer = true},
    {"layers.%d.ffn.2", {"transformer.layer.%d.ffn.lin2"}, .layer = true},
    {"layers.%d.norm2", {"transformer.layer.%d.output_layer_norm"}, .layer = true},
};
static const ft_hf_row DISTILBERT_HEAD[] = {
    {"head.1", {"pre_classifier"}, .layer = true},
    {"head.2", {"classifier"}, .layer = true},
};
static const char *const DISTILBERT_UNUSED[] = {
    "vocab_transform.", "vocab_layer_norm.", "vocab_projector.", "qa_outputs.",
    "pre_classifier.",  "classifier.",       "*position_ids",    NULL};

static filtra_status read_distilbert(const ft_hf_config *c, json_t *keys) {
  FT_TRY(ft_hf_require(c, "pruned_heads", "{}"));
  FT_TRY(ft_hf_take_int(c, "vocab_size", -1, keys, "vocabulary"));
  FT_TRY(ft_hf_take_int(c, "dim", -1, keys, "width"));
  FT_TRY(ft_hf_take_int(c, "dim", -1, keys, "head_width"));
  FT_TRY(ft_hf_take_int(c, "n_layers", -1, keys, "layers"));
  FT_TRY(ft_hf_take_int(c, "n_heads", -1, keys, "heads"));
  FT_TRY(ft_hf_take_int(c, "hidden_dim", -1, keys, "ffn_width"));
  FT_TRY(ft_hf_take_int(c, "max_position_embeddings", -1, keys, "max_length"));
  FT_TRY(ft_hf_take_activation(c, "activation", keys));
  FT_TRY(ft_hf_take_number(c, "initializer_range", 0.02, keys, "init_std"));
  FT_TRY(ft_hf_take_number(c, "dropout", 0.1, keys, "dropout"));
  FT_TRY(ft_hf_take_number(c, "seq_classif_dropout", 0.2, keys, "head_dropout"));
  FT_TRY(ft_hf_take_mixer(c, "attention_dropout", keys));
  return ft_hf_set(keys, "{ss sb sb ss ss ss sf}", "norm", "post", "no_last_norm", 1,
                   "embedding_norm", 1, "pooling", "first", "head", "mlp", "head_activation",
                   "relu", "norm_epsilon", 1e-12);
}

const ft_hf_family ft_hf_distilbert = {.type = "distilbert",
                                       .prefix = "distilbert.",
                                       .rows = ROWS(DISTILBERT_ROWS),
                                       .head = ROWS(DISTILBERT_HEAD),
                                       .classifier = "ForSequenceClassification",
                                       .unused = DISTILBERT_UNUSED,
                                       .read = read_distilbert};
