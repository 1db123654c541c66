/* Models around any token mixer.
 *
 * tokens, vectors or patches of an image -> embedding + positions -> dropout -> `layers` blocks ->
 * norm -> pooling -> head -> logits; a language model's head follows the norm at every token.
 *
 * Weights are saved as safetensors; names are listed in docs/weights.md and load from Python.
 */
#ifndef FILTRA_MODEL_H
#define FILTRA_MODEL_H

#include <filtra/data.h>
#include <filtra/graph.h>
#include <filtra/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A model on a device: configuration, parameters, and the inference graphs made so far. One thread
 * at a time per device. */
typedef struct filtra_model filtra_model;

typedef enum filtra_task {
  FILTRA_TASK_AUTO = 0,            /**< what the data are for; without data classification */
  FILTRA_TASK_CLASSIFICATION,      /**< one of `classes` for a sequence */
  FILTRA_TASK_PAIR_CLASSIFICATION, /**< one for two sequences, which share the encoder; the head is
                                        given [a, b, a b, a - b] (Tay et al. 2021) */
  FILTRA_TASK_REGRESSION,          /**< a number for a sequence */
  FILTRA_TASK_LANGUAGE_MODEL       /**< each token's successor; the mixer is causal */
} filtra_task;

typedef enum filtra_block {
  FILTRA_BLOCK_TRANSFORMER = 0,
  /** ScaleNorm, complex features, a gated feed-forward network; ScaleNorm after the embeddings and
   * none before the head. The mixer is "synvolution" or "kernelution". */
  FILTRA_BLOCK_CONVERTER
} filtra_block;

typedef enum filtra_norm {
  FILTRA_NORM_PRE = 0, /**< LayerNorm before each layer */
  FILTRA_NORM_POST     /**< after each residual sum; not in the Converter */
} filtra_norm;

typedef enum filtra_head {
  FILTRA_HEAD_MLP = 0, /**< two linear layers with an activation between */
  FILTRA_HEAD_LINEAR   /**< one linear layer */
} filtra_head;

typedef enum filtra_positions {
  FILTRA_POSITIONS_LEARNED = 0, /**< a table [max_length, width] */
  FILTRA_POSITIONS_SINUSOIDAL,
  FILTRA_POSITIONS_NONE,
  FILTRA_POSITIONS_RECURRENT /**< two GRU layers over the embeddings; width <= 512 */
} filtra_positions;

typedef enum filtra_pooling {
  FILTRA_POOLING_MEAN = 0, /**< over real tokens */
  FILTRA_POOLING_MEAN_ALL, /**< sum over real tokens divided by max_length, as the AGF authors do */
  FILTRA_POOLING_FIRST,    /**< the first token */
  FILTRA_POOLING_CLASS_TOKEN, /**< a learned token put in front (Dosovitskiy et al. 2021) */
  FILTRA_POOLING_FLATTEN /**< activation, dropout, then all tokens side by side, padding as zeros:
                              max_length * width numbers (Zerveas et al. 2021) */
} filtra_pooling;

/** What products and attention multiply, and what the forward pass keeps for the backward one.
 * Sums, softmax, norms, the residual stream, parameters, their gradients and the optimizer's
 * moments are F32 in all of them (Micikevicius et al. 2018); docs/precision.md says what is
 * rounded where. With 16 bits, devices need 16-bit storage: UNSUPPORTED elsewhere. */
typedef enum filtra_precision {
  FILTRA_PRECISION_FP32 = 0,
  FILTRA_PRECISION_BF16, /**< 8 bits of mantissa, the range of F32 */
  FILTRA_PRECISION_FP16  /**< 11 bits of mantissa, up to 65504; gradients are scaled in training */
} filtra_precision;

/** "fp32" and so on; "unknown" for a number that is no precision. Thread-safe. */
FILTRA_API const char *filtra_precision_name(filtra_precision precision);

/** What to build. Each field but `seed` is the key of that name in a configuration, with the same
 * range and default: docs/config.md and `filtra train --help KEY` explain it. Zero means the
 * default. */
typedef struct filtra_model_config {
  /** A mixer's name ("softmax", "agf", one that the application registered; docs/config.md lists
   * Filtra's) or a JSON object with its options: {"name": "agf", "K": 5}. NULL: "softmax". */
  const char *mixer;
  filtra_task task;
  filtra_precision precision;
  int64_t vocabulary; /**< token ids are 0 .. vocabulary-1, 0 is padding. Required, >= 2, unless: */
  int64_t features;   /**< numbers per token, for sequences of vectors instead of ids; 0: ids */
  int64_t classes;    /**< of classification: required, >= 2 */
  int64_t max_length; /**< longest sequence in tokens, padding included; 0: 2048 */
  /** With patch > 0 the input is images: max_length = image_height * image_width vectors row by
   * row, and tokens are patches of patch x patch pixels; patch divides both sides. */
  int64_t image_height, image_width, patch;
  int64_t layers;     /**< 0: 2 */
  int64_t heads;      /**< must divide width; 0: 2 */
  int64_t width;      /**< model width C; 0: 64 */
  int64_t ffn_width;  /**< 0: 2 * width, in the Converter 4 * width */
  int64_t head_width; /**< hidden units of the head; 0: ffn_width, in the Converter width */
  float dropout;      /**< rate on embeddings, mixer and feed-forward outputs; 0 to 0.999 */
  float drop_path;    /**< stochastic depth: the last layer's rate; 0 to 0.999 */
  filtra_block block;
  filtra_norm norm;
  filtra_head head;
  filtra_positions positions;
  filtra_pooling pooling;
  /** Of the feed-forward layers, in the Converter of the gate's real part. NONE: the default, GELU,
   * in the Converter softplus; IDENTITY: no activation. */
  filtra_activation activation;
  filtra_activation head_activation; /**< NONE: the default, ReLU, in the Converter leaky ReLU */
  /** Initial standard deviation of embeddings and positions; 0: init_std where that is given, else
   * 0.02, in the Converter 1 / sqrt(max_length). */
  float embedding_init;
  float init_std;     /**< of linear layers' weights, then normal; 0: U(-1/sqrt(in), 1/sqrt(in)) */
  float norm_epsilon; /**< 0: 1e-5 */
  bool scale_embeddings; /**< times sqrt(width) before positions are added */
  bool tie_embeddings;   /**< a language model's head has the embedding's weights */
  bool mask_zero;        /**< token 0 anywhere is padding, not only after a sequence's end */
  /** Regression: the head gives (value - target_mean) / target_scale; scale 0: 1. Else 0, 0. */
  float target_mean, target_scale;
  uint64_t seed;         /**< of the initial values */
  uint64_t reserved[14]; /**< 0 */
} filtra_model_config;

/** Creates a model with initial values. Fails with ARGUMENT or INPUT naming the field and its
 * accepted range. */
FILTRA_API filtra_status filtra_model_create(filtra_device *device,
                                             const filtra_model_config *config, filtra_model **out);
/** Reads a model that filtra_model_save wrote: the file holds the configuration too. A header more
 * than 4 MiB longer than the data is refused; the environment variable FILTRA_HEADER_BYTES says
 * another limit. */
FILTRA_API filtra_status filtra_model_load(filtra_device *device, const char *path,
                                           filtra_model **out);
/** The same from a file's content, which may be freed after the call. */
FILTRA_API filtra_status filtra_model_load_from_memory(filtra_device *device, const void *bytes,
                                                       size_t size, filtra_model **out);
/** Frees everything; sets *model to NULL. */
FILTRA_API void filtra_model_destroy(filtra_model **model);

/** Has the model compute in another precision from now on; its weights stay, as F32 again where
 * they were there in 16 bits alone, which models are that were loaded from a file of 16-bit
 * weights (filtra_model_convert) and cannot be trained. Fails with ARGUMENT once a trainer was
 * made, and leaves the model as it was. */
FILTRA_API filtra_status filtra_model_set_precision(filtra_model *model,
                                                    filtra_precision precision);

/** Writes weights and configuration atomically: either the old file or the whole new one. */
FILTRA_API filtra_status filtra_model_save(filtra_model *model, const char *path);

/** Writes the model file `from` once more as `to`, atomically, its weights as F32, F16 or BF16,
 * rounded to nearest, and its precision fp32, fp16 or bf16. Needs no device. Fails with NONFINITE,
 * naming the tensor, for a number beyond the new type's range. Thread-safe. */
FILTRA_API filtra_status filtra_model_convert(const char *from, const char *to, filtra_dtype dtype);

/** The same content in memory; caller frees with filtra_free. */
FILTRA_API filtra_status filtra_model_save_to_memory(filtra_model *model, void **bytes,
                                                     size_t *size);
/** Frees what the library gave away in memory; NULL is fine. Thread-safe. */
FILTRA_API void filtra_free(void *bytes);

/** Results, row-major, filtra_model_outputs numbers a row: logits [batch->size, classes] of
 * classification; values [batch->size] of regression; logits [batch->size, batch->length,
 * vocabulary] of a language model, zeros behind each sequence. Labels, values and weights of the
 * batch are not read. Fails with INPUT for a token outside the vocabulary or a sequence longer than
 * max_length. */
FILTRA_API filtra_status filtra_model_predict_batch(filtra_model *model, const filtra_batch *batch,
                                                    float *results);

/** One batch without training. *loss: mean cross-entropy (no smoothing, no auxiliary losses), over
 * samples or predicted tokens; in regression mean squared error in units of target_scale. *score:
 * accuracy; in regression mean absolute error, in the values' own units. *weight receives the sum
 * of the weights that both are means over, for averaging over batches. */
FILTRA_API filtra_status filtra_model_evaluate_batch(filtra_model *model, const filtra_batch *batch,
                                                     double *loss, double *score, double *weight);

/** Bytes of device memory, with the 64 KiB of slack behind each buffer. What a device takes beyond
 * it: what the driver rounds up, and less than 1 MiB for staging and the optimizer's numbers. */
typedef struct filtra_memory_use {
  uint64_t parameters;  /**< the values */
  uint64_t training;    /**< gradients and the optimizer's two moments */
  uint64_t activations; /**< of one batch; graphs of a model share them, the largest counts */
  uint64_t transfers;   /**< inputs and outputs of the batches under way, for each batch shape */
  uint64_t total;       /**< the sum, for one batch shape */
  uint64_t reserved[8]; /**< 0 */
} filtra_memory_use;

typedef enum filtra_purpose { FILTRA_FOR_INFERENCE = 0, FILTRA_FOR_TRAINING } filtra_purpose;

/** What a model of this configuration takes for batches of `size` samples of `length` tokens,
 * trained or not. Builds and plans its graph, allocates nothing on the device. Fails as
 * filtra_model_create, and with DEVICE_MEMORY where one tensor is over the device's limits. */
FILTRA_API filtra_status filtra_model_measure(filtra_device *device,
                                              const filtra_model_config *config, int64_t size,
                                              int64_t length, filtra_purpose purpose,
                                              filtra_memory_use *memory);

/** The configuration of a model, loaded or made, all defaults filled in; `mixer` is JSON text that
 * the model owns. The seed of the initial values is not kept: 0. */
FILTRA_API filtra_status filtra_model_get_config(const filtra_model *model,
                                                 filtra_model_config *config);

FILTRA_API filtra_task filtra_model_task(const filtra_model *model);
/** Numbers a prediction consists of: classes, 1 in regression, the vocabulary of a language model.
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
