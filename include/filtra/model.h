/* Models around any token mixer.
 *
 * tokens, vectors or patches of an image -> embedding + positions -> dropout -> `layers` blocks ->
 * norm -> pooling -> head -> logits. A language model has no pooling: its head reads the norm's
 * output at every token.
 *
 * Weights are saved as safetensors, which Python can load; docs/weights.md lists their names. */
#ifndef FILTRA_MODEL_H
#define FILTRA_MODEL_H

#include <filtra/data.h>
#include <filtra/graph.h>
#include <filtra/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A model on a device: configuration, parameters, and the inference graphs built so far. One
 * thread at a time per device. */
typedef struct filtra_model filtra_model;

typedef enum filtra_task {
  FILTRA_TASK_AUTO = 0,       /**< from the data; classification if there are none */
  FILTRA_TASK_CLASSIFICATION, /**< one of `classes` for each sequence */
  /** One of `classes` for each pair of sequences, which share the encoder. The head's input is [a,
   * b, a b, a - b] (Tay et al. 2021). */
  FILTRA_TASK_PAIR_CLASSIFICATION,
  FILTRA_TASK_REGRESSION,     /**< a number for each sequence */
  FILTRA_TASK_LANGUAGE_MODEL, /**< the next token at each position; the mixer is causal */
  /** Any number of `classes` for each sequence, each by a logit of its own. */
  FILTRA_TASK_MULTI_LABEL
} filtra_task;

typedef enum filtra_block {
  FILTRA_BLOCK_TRANSFORMER = 0,
  /** ScaleNorm, complex features, and a gated feed-forward network. There is a ScaleNorm after the
   * embeddings and none before the head. The mixer is "synvolution" or "kernelution". */
  FILTRA_BLOCK_CONVERTER
} filtra_block;

typedef enum filtra_norm {
  FILTRA_NORM_PRE = 0, /**< LayerNorm before each layer */
  FILTRA_NORM_POST     /**< LayerNorm after each residual sum; not in the Converter */
} filtra_norm;

typedef enum filtra_head {
  FILTRA_HEAD_MLP = 0, /**< two linear layers with an activation between */
  FILTRA_HEAD_LINEAR   /**< one linear layer */
} filtra_head;

typedef enum filtra_positions {
  FILTRA_POSITIONS_LEARNED = 0, /**< a table [max_length, width] */
  FILTRA_POSITIONS_SINUSOIDAL,
  FILTRA_POSITIONS_NONE,
  FILTRA_POSITIONS_RECURRENT, /**< two GRU layers over the embeddings; width <= 512 */
  /** A bias of attention for the rows and columns between two patches (Swin, Liu et al. 2021) */
  FILTRA_POSITIONS_RELATIVE
} filtra_positions;

typedef enum filtra_pooling {
  FILTRA_POOLING_MEAN = 0, /**< mean over real tokens */
  /** Sum over real tokens, divided by max_length, as in the AGF authors' code. */
  FILTRA_POOLING_MEAN_ALL,
  FILTRA_POOLING_FIRST,       /**< the first token */
  FILTRA_POOLING_CLASS_TOKEN, /**< a learned token before the first (Dosovitskiy et al. 2021) */
  /** Activation and dropout, then all tokens side by side, padding as zeros: max_length * width
   * numbers (Zerveas et al. 2021). */
  FILTRA_POOLING_FLATTEN
} filtra_pooling;

/** A second learned token, after the class token (DeiT; Touvron et al. 2021). */
typedef enum filtra_distillation {
  FILTRA_DISTILLATION_NONE = 0,
  FILTRA_DISTILLATION_TOKEN, /**< the head reads the class token alone */
  FILTRA_DISTILLATION_MEAN   /**< it has a head of its own; logits are the mean of both heads' */
} filtra_distillation;

/** What is taken as the vector of a sequence. */
typedef enum filtra_vector {
  FILTRA_VECTOR_NONE = 0,
  FILTRA_VECTOR_MEAN,  /**< mean over real tokens, as of sentence models */
  FILTRA_VECTOR_FIRST, /**< the first token's: of BERT [CLS], of ViT the class token */
  /** The output of the first layer of an "mlp" head: of BERT its pooler. */
  FILTRA_VECTOR_HEAD
} filtra_vector;

/** The type of the operands of matrix products and attention, and of the activations that the
 * backward pass needs. Sums, softmax, norms, the residual stream, parameters, gradients of
 * parameters and the optimizer's moments are F32 in every precision (Micikevicius et al. 2018);
 * docs/precision.md lists what is rounded where. BF16 and FP16 need a device with 16-bit storage,
 * and fail with UNSUPPORTED on others. */
typedef enum filtra_precision {
  FILTRA_PRECISION_FP32 = 0,
  FILTRA_PRECISION_BF16, /**< 8 bits of mantissa, the range of F32 */
  FILTRA_PRECISION_FP16  /**< 11 bits of mantissa, up to 65504; training scales the gradients */
} filtra_precision;

/** "fp32", "bf16" or "fp16"; "unknown" for any other number. Thread-safe. */
FILTRA_API const char *filtra_precision_name(filtra_precision precision);

/** The architecture of a model. Each field except `seed` is the key of that name in a
 * configuration, with the same range and default; docs/config.md and `filtra train --help KEY`
 * explain them. Start from zeros: 0 means the default. */
typedef struct filtra_model_config {
  /** A mixer's name, or a JSON object with its options: {"name": "agf", "K": 5}. docs/config.md
   * lists Filtra's mixers; an application can register others (mixer.h). NULL: "softmax". */
  const char *mixer;
  filtra_task task;
  filtra_precision precision;
  /** Number of token ids: 0 .. vocabulary-1, where 0 is padding. Required and >= 2, unless
   * `features` is set; with `data`, 0: their tokenizer's, or up to the largest id of all splits. */
  int64_t vocabulary;
  int64_t features;   /**< numbers per token, for sequences of vectors; 0: token ids */
  int64_t classes;    /**< required and >= 2 in classification, >= 1 with several labels */
  int64_t max_length; /**< longest sequence in tokens, with padding; 0: 2048 */
  /** patch > 0: inputs are images, max_length = image_height * image_width vectors row by row. Each
   * token is a patch of patch x patch pixels; patch divides height and width. */
  int64_t image_height, image_width, patch;
  int64_t layers;     /**< 0: 2 */
  int64_t heads;      /**< must divide width; 0: 2 */
  int64_t width;      /**< model width C; 0: 64 */
  int64_t ffn_width;  /**< 0: 2 * width; in the Converter 4 * width */
  int64_t head_width; /**< hidden units of the head; 0: ffn_width; in the Converter width */
  float dropout;      /**< rate after the embeddings, mixers and feed-forward layers; 0 to 0.999 */
  float drop_path;    /**< stochastic depth: the rate of the last layer; 0 to 0.999 */
  float contra_norm;  /**< s of ContraNorm before the LayerNorms (Guo et al. 2023); 0 to 10 */
  /** LayerScale (CaiT, Touvron et al. 2021): initial value of a learned factor of each channel of
   * mixers' and feed-forward layers' outputs, before they are added to their input; 0: none. */
  float layer_scale;
  /** CaiT's class attention: number of layers after `layers` in which only the class token attends,
   * to all tokens. Needs POOLING_CLASS_TOKEN. 0: the class token is added before the first layer.
   */
  int64_t class_layers;
  /** Side, in patches, of the windows within which mixers work; every second layer shifts them by
   * half a side (Swin, Liu et al. 2021). With `patch`; 0: one window, the image. */
  int64_t window;
  /** Layers of each stage: "2, 2, 6, 2". Between stages, 2 x 2 patches merge into one, and width,
   * ffn_width and heads, which are given for the first stage, double. With `patch`; "": one stage.
   */
  char stages[40];
  filtra_block block;
  filtra_norm norm;
  filtra_head head;
  filtra_positions positions;
  filtra_pooling pooling;
  /** Activation of the feed-forward layers; in the Converter, of the gate's real part. NONE means
   * the default: GELU, in the Converter softplus. IDENTITY: no activation. */
  filtra_activation activation;
  /** NONE means the default: ReLU, in the Converter leaky ReLU */
  filtra_activation head_activation;
  /** Initial standard deviation of embeddings and positions. 0: init_std if that is set, otherwise
   * 0.02, in the Converter 1 / sqrt(max_length). */
  float embedding_init;
  /** Linear layers' weights are drawn from N(0, init_std^2); 0: U(-1/sqrt(in), 1/sqrt(in)). */
  float init_std;
  float norm_epsilon;      /**< 0: 1e-5 */
  float head_dropout;      /**< rate before the head's last layer; 0 to 0.999 */
  int64_t token_types;     /**< rows of a table by which text a token belongs to; 0: no table */
  int64_t position_offset; /**< row of the positions' table that the first token gets */
  filtra_distillation distillation;
  bool even_drop_path;    /**< all layers have the rate `drop_path`, as in CaiT */
  bool embedding_norm;    /**< LayerNorm after the embeddings are summed */
  bool no_last_norm;      /**< no LayerNorm between the last block and the head */
  bool no_hidden_dropout; /**< no dropout on the hidden units of feed-forward layers */
  bool no_head_bias;      /**< a language model's head has no bias */
  bool scale_embeddings;  /**< multiply embeddings by sqrt(width) before adding positions */
  bool tie_embeddings;    /**< a language model's head uses the embedding's weights */
  bool mask_zero;         /**< token 0 is padding anywhere, not only after a sequence's end */
  /** Regression: the head predicts (value - target_mean) / target_scale. target_scale 0: 1. In
   * other tasks both are 0. */
  float target_mean, target_scale;
  /** Samples are graphs, whose nodes are the tokens, and attention has a bias by their edges
   * (Graphormer, Ying et al. 2021): types of edges, at most 64; with `data`, 0: theirs. 0: samples
   * are sequences. With POSITIONS_NONE; the class token is the virtual node. */
  int64_t edge_types;
  int64_t edge_distances; /**< distances with a bias of their own; 0: 20 */
  int64_t edge_hops;      /**< edges of a path that count; 0: 5 */
  int64_t edge_degrees;   /**< degrees with an embedding of their own; 0: 16 */
  uint64_t seed;          /**< of the initial values */
  /** The data that the model learns: sizes, task, target_mean and target_scale that are 0 here are
   * taken from it, others have to fit it, and model files record how it was read, as
   * filtra_model_set_data does. Not needed after the call. NULL: unknown. */
  const filtra_dataset *data;
  uint64_t reserved[4]; /**< 0 */
} filtra_model_config;

/** Creates a model with initial values. Fails with ARGUMENT or INPUT, naming the field and its
 * accepted range. */
FILTRA_API filtra_status filtra_model_create(filtra_device *device,
                                             const filtra_model_config *config, filtra_model **out);
/** Loads a file of filtra_model_save, which also holds the configuration. Refuses a header that is
 * more than 4 MiB longer than the data; the environment variable FILTRA_HEADER_BYTES sets another
 * limit. */
FILTRA_API filtra_status filtra_model_load(filtra_device *device, const char *path,
                                           filtra_model **out);
/** As filtra_model_load, from the content of a file, which may be freed after the call. */
FILTRA_API filtra_status filtra_model_load_from_memory(filtra_device *device, const void *bytes,
                                                       size_t size, filtra_model **out);
/** Frees everything; sets *model to NULL. Fails with ARGUMENT, and leaves the model as it is, while
 * a trainer, a generator or another user of its parameters exists. */
FILTRA_API filtra_status filtra_model_destroy(filtra_model **model);

/** Creates a model from one that was trained before: a folder as Hugging Face's `transformers`
 * writes it (BERT, RoBERTa, DistilBERT, GPT-2, ViT, DeiT), a run folder or a model file. `changes`:
 * NULL, or JSON text with keys of docs/config.md that replace the source's: {"mixer": "gfsa",
 * "classes": 3}. Parameters without values in the source, and a head of another shape, get initial
 * values; a warning (filtra_log_set) names them and what the model does not use. Other parameters
 * of another shape fail with INPUT; so do damaged files, families that are not known, and tensors
 * that are not those of the family. */
FILTRA_API filtra_status filtra_model_import(filtra_device *device, const char *path,
                                             const char *changes, filtra_model **out);
/** Writes a model, of a run folder or model file, as a new folder that Hugging Face's
 * `transformers` loads: config.json, model.safetensors (F32), and tokenizer.json or
 * preprocessor_config.json where the model was imported with one; for the mixers gfsa, plaplacian
 * and agf also filtra_filters.py, which computes them in PyTorch (docs/pretrained.md). Needs no
 * device. Fails with ARGUMENT for a model with other mixers than these and softmax, with
 * `symmetric` p-Laplacian attention or `talking_heads`, and, naming the key, for an architecture
 * that filtra_model_import does not read. */
FILTRA_API filtra_status filtra_model_export(const char *path, const char *folder);
/** Changes the precision in which the model computes; the values of its weights stay. A model from
 * a file of 16-bit weights (filtra_model_convert) has no F32 weights and cannot be trained; this
 * call gives it F32 weights. The model has another parameter set then: ask filtra_model_parameters
 * again. Fails with ARGUMENT after a trainer was created and while generators or graphs use the
 * model, and on any failure leaves the model as it was. */
FILTRA_API filtra_status filtra_model_set_precision(filtra_model *model,
                                                    filtra_precision precision);

/** Records how `data` was read: tokenizer, names of classes, standardisation. Model files keep it,
 * and predictors read requests the same way. Fails with INPUT if the data do not fit the model. */
FILTRA_API filtra_status filtra_model_set_data(filtra_model *model, const filtra_dataset *data);
/** Fails with INPUT, naming what differs, for data of other sizes than the model's and, where the
 * model knows how its own data were read, for data with another vocabulary, other classes or other
 * means and deviations. Evaluation checks this itself; before training on a loader's batches, call
 * this. */
FILTRA_API filtra_status filtra_model_check_data(const filtra_model *model,
                                                 const filtra_dataset *data);

/** Writes weights and configuration atomically: `path` holds either the old file or the whole new
 * one. */
FILTRA_API filtra_status filtra_model_save(filtra_model *model, const char *path);

/** Copies the model file `from` to `to`, atomically, with weights of type F32, F16 or BF16, rounded
 * to nearest, and with precision fp32, fp16 or bf16 to match. Needs no device. Fails with
 * NONFINITE, naming the tensor, if a number is beyond the range of the new type. Thread-safe. */
FILTRA_API filtra_status filtra_model_convert(const char *from, const char *to, filtra_dtype dtype);

/** As filtra_model_save, to memory; caller frees with filtra_free. */
FILTRA_API filtra_status filtra_model_save_to_memory(filtra_model *model, void **bytes,
                                                     size_t *size);
/** Frees memory that a function of the library returned to its caller. NULL is accepted.
 * Thread-safe. */
FILTRA_API void filtra_free(void *bytes);

/** Predicts a batch. Results are row-major, filtra_model_outputs numbers per row: logits
 * [batch->size, classes] of classes and labels, values [batch->size] in regression, logits
 * [batch->size, batch->length, vocabulary] of a language model, with zeros after the end of each
 * sequence. Labels, values and weights of the batch are not read. Fails with INPUT if a token is
 * outside the vocabulary or a sequence is longer than max_length. */
FILTRA_API filtra_status filtra_model_predict_batch(filtra_model *model, const filtra_batch *batch,
                                                    float *results);

/** Evaluates a batch without training. *loss: mean cross-entropy over samples or predicted tokens,
 * without label smoothing and auxiliary losses; in regression mean squared error in units of
 * target_scale; of several labels the mean binary cross-entropy over the known labels of all
 * samples. *score: accuracy, of several labels the fraction of samples with all known ones right,
 * where a sample weighs as much as it has known labels; in regression mean absolute error in the
 * units of the values. *weight: sum of the weights of both means, for averaging over batches. Fails
 * with NONFINITE if the loss is not finite. */
FILTRA_API filtra_status filtra_model_evaluate_batch(filtra_model *model, const filtra_batch *batch,
                                                     double *loss, double *score, double *weight);

/** Bytes of device memory, including 64 KiB of slack after each buffer. Not included: what the
 * driver rounds up, and less than 1 MiB for staging and the optimizer's scalars. */
typedef struct filtra_memory_use {
  uint64_t parameters;  /**< the values; without training on CPUs, also weights reordered */
  uint64_t training;    /**< gradients and the optimizer's moments */
  uint64_t activations; /**< of one batch; a model's graphs share them, the largest decides */
  uint64_t transfers;   /**< inputs and outputs of the batches in flight, for each batch shape */
  uint64_t total;       /**< the sum of the above, for one batch shape */
  uint64_t reserved[8]; /**< 0 */
} filtra_memory_use;

typedef enum filtra_purpose { FILTRA_FOR_INFERENCE = 0, FILTRA_FOR_TRAINING } filtra_purpose;

/** Computes the memory of a model with this configuration, for batches of `size` samples of
 * `length` tokens. Builds and plans its graph; allocates nothing on the device. Fails as
 * filtra_model_create does, and with DEVICE_MEMORY if one tensor exceeds the device's limits. */
FILTRA_API filtra_status filtra_model_measure(filtra_device *device,
                                              const filtra_model_config *config, int64_t size,
                                              int64_t length, filtra_purpose purpose,
                                              filtra_memory_use *memory);

/** The configuration of a model, with all defaults filled in. `mixer` is JSON text that the model
 * owns. `seed` is 0: models do not keep it. */
FILTRA_API filtra_status filtra_model_get_config(const filtra_model *model,
                                                 filtra_model_config *config);

FILTRA_API filtra_task filtra_model_task(const filtra_model *model);
/** Numbers per prediction: classes or labels; 1 in regression; the vocabulary of a language model.
 */
FILTRA_API int64_t filtra_model_outputs(const filtra_model *model);
FILTRA_API int64_t filtra_model_classes(const filtra_model *model);
FILTRA_API int64_t filtra_model_max_length(const filtra_model *model);
/** The parameters, for reading and writing single values. Owned by the model. */
FILTRA_API filtra_parameters *filtra_model_parameters(filtra_model *model);

#ifdef __cplusplus
}
#endif
#endif
