/* BERT (Devlin et al. 2019), RoBERTa (Liu et al. 2019) and DistilBERT (Sanh et al. 2019): encoders
 * of text with norms after each residual sum. */
#include "model/pretrained/family.h"

#include <math.h>

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
    {"head.2", {"classifier"}, .layer = true, .optional = true, .bare = true},
};
static const ft_hf_row ROBERTA_HEAD[] = {
    {"head.1", {"classifier.dense"}, .layer = true, .bare = true},
    {"head.2", {"classifier.out_proj"}, .layer = true, .bare = true},
};
static const char *const BERT_UNUSED[] = {"cls.",     "qa_outputs.",   "classifier.",
                                          "lm_head.", "*position_ids", NULL};
static const char *const ROBERTA_UNUSED[] = {
    "lm_head.",           "qa_outputs.",   "classifier.", "*pooler.dense.weight",
    "*pooler.dense.bias", "*position_ids", NULL};

/* Keys of BERT and RoBERTa. */
static const ft_hf_key KEYS[] = {
    {"vocab_size", "vocabulary", FT_HF_INT, NAN},
    {"hidden_size", "width", FT_HF_INT, NAN},
    {"hidden_size", "head_width", FT_HF_INT, NAN},
    {"num_hidden_layers", "layers", FT_HF_INT, NAN},
    {"num_attention_heads", "heads", FT_HF_INT, NAN},
    {"intermediate_size", "ffn_width", FT_HF_INT, NAN},
    {"max_position_embeddings", "max_length", FT_HF_INT, NAN},
    {"type_vocab_size", "token_types", FT_HF_INT, 2},
    {"hidden_act", "activation", FT_HF_ACTIVATION, NAN},
    {"layer_norm_eps", "norm_epsilon", FT_HF_NUMBER, 1e-12},
    {"initializer_range", "init_std", FT_HF_NUMBER, 0.02},
    {"hidden_dropout_prob", "dropout", FT_HF_NUMBER, 0.1},
    {"classifier_dropout", "head_dropout", FT_HF_NUMBER, NAN, "dropout"},
    {"attention_probs_dropout_prob", "attention_dropout", FT_HF_DROPOUT, 0.1},
};
#define POST_NORM                                                                                  \
  "{\"norm\": \"post\", \"no_hidden_dropout\": true, \"no_last_norm\": true, \"embedding_norm\": " \
  "true, \"pooling\": \"first\","                                                                  \
  " \"head\": \"mlp\", "
#define FIXED                                                                                      \
  "{\"position_embedding_type\": \"absolute\", \"is_decoder\": false,"                             \
  " \"add_cross_attention\": false, \"pruned_heads\": {}}"

/* RoBERTa counts positions from the row after padding's. */
static filtra_status read_positions(const ft_hf_config *c, json_t *keys) {
  const json_t *padding = json_object_get(c->json, "pad_token_id");
  const json_int_t offset = json_is_integer(padding) ? json_integer_value(padding) + 1 : 2,
                   rows = json_integer_value(json_object_get(keys, "max_length"));
  if (offset < 1)
    return ft_fail(FILTRA_ERROR_INPUT,
                   "%s: \"pad_token_id\" is %lld; RoBERTa's positions need one of 0 or more",
                   c->path, (long long)(offset - 1));
  if (rows > offset)
    return ft_hf_set(keys, "{sI sI}", "position_offset", offset, "max_length", rows - offset);
  return ft_fail(FILTRA_ERROR_INPUT,
                 "%s: \"max_position_embeddings\" is %lld; accepted are more than %lld, the rows "
                 "up to padding's (\"pad_token_id\")",
                 c->path, (long long)rows, (long long)offset);
}

/* The ids of <s> and </s> are those of RoBERTa's own vocabulary; of another one, the tokenizer says
 * them. */
static filtra_status write_positions(const json_t *keys, json_t *config) {
  const json_int_t offset = json_integer_value(json_object_get(keys, "position_offset")),
                   length = json_integer_value(json_object_get(keys, "max_length"));
  return ft_hf_set(config, "{sI sI sI sI}", "max_position_embeddings", length + offset,
                   "pad_token_id", offset - 1, "bos_token_id", (json_int_t)0, "eos_token_id",
                   (json_int_t)2);
}

const ft_hf_family ft_hf_bert = {.type = "bert",
                                 .name = "Bert",
                                 .prefix = "bert.",
                                 .rows = FT_HF_LIST(BERT_ROWS),
                                 .head = FT_HF_LIST(BERT_HEAD),
                                 .classifier = "ForSequenceClassification",
                                 .unused = BERT_UNUSED,
                                 .keys = FT_HF_LIST(KEYS),
                                 .ours = POST_NORM "\"head_activation\": \"tanh\","
                                                   " \"position_offset\": 0}",
                                 .theirs = FIXED};
const ft_hf_family ft_hf_roberta = {.type = "roberta",
                                    .name = "Roberta",
                                    .prefix = "roberta.",
                                    .rows = FT_HF_LIST(BERT_ROWS),
                                    .head = FT_HF_LIST(ROBERTA_HEAD),
                                    .classifier = "ForSequenceClassification",
                                    .unused = ROBERTA_UNUSED,
                                    .keys = FT_HF_LIST(KEYS),
                                    .ours = POST_NORM "\"head_activation\": \"tanh\"}",
                                    .theirs = FIXED,
                                    .ends = true,
                                    .adjust = read_positions,
                                    .restore = write_positions};

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
    {"head.1", {"pre_classifier"}, .layer = true, .bare = true},
    {"head.2", {"classifier"}, .layer = true, .bare = true},
};
static const char *const DISTILBERT_UNUSED[] = {
    "vocab_transform.", "vocab_layer_norm.", "vocab_projector.", "qa_outputs.",
    "pre_classifier.",  "classifier.",       "*position_ids",    NULL};

static const ft_hf_key DISTILBERT_KEYS[] = {
    {"vocab_size", "vocabulary", FT_HF_INT, NAN},
    {"dim", "width", FT_HF_INT, NAN},
    {"dim", "head_width", FT_HF_INT, NAN},
    {"n_layers", "layers", FT_HF_INT, NAN},
    {"n_heads", "heads", FT_HF_INT, NAN},
    {"hidden_dim", "ffn_width", FT_HF_INT, NAN},
    {"max_position_embeddings", "max_length", FT_HF_INT, NAN},
    {"activation", "activation", FT_HF_ACTIVATION, NAN},
    {"initializer_range", "init_std", FT_HF_NUMBER, 0.02},
    {"dropout", "dropout", FT_HF_NUMBER, 0.1},
    {"seq_classif_dropout", "head_dropout", FT_HF_NUMBER, 0.2},
    {"attention_dropout", "attention_dropout", FT_HF_DROPOUT, 0.1},
};

const ft_hf_family ft_hf_distilbert = {.type = "distilbert",
                                       .name = "DistilBert",
                                       .prefix = "distilbert.",
                                       .rows = FT_HF_LIST(DISTILBERT_ROWS),
                                       .head = FT_HF_LIST(DISTILBERT_HEAD),
                                       .classifier = "ForSequenceClassification",
                                       .unused = DISTILBERT_UNUSED,
                                       .keys = FT_HF_LIST(DISTILBERT_KEYS),
                                       .ours = POST_NORM "\"head_activation\": \"relu\","
                                                         " \"norm_epsilon\": 1e-12,"
                                                         " \"position_offset\": 0,"
                                                         " \"token_types\": 0}",
                                       .theirs = "{\"pruned_heads\": {}}"};
