/* Prediction with a trained model: from texts, series and images to labels, probabilities and
 * values.
 *
 *   filtra_predictor *p;  filtra_predictor_create(dev, "run/model.safetensors", NULL, &p);
 *   filtra_prediction answer;
 *   filtra_request request = {.text = "a fine film", .text_length = 11};
 *   if (!filtra_predictor_predict(p, 1, &request, &answer)) puts(answer.name);
 *   filtra_predictor_destroy(&p);
 *
 * The model file of a run, or of a model that was made for its data (filtra_model_config.data),
 * records how these were read: the tokenizer, whether long texts are cut or refused, the
 * standardisation, the names of classes. Requests are read the same way; text and numbers are
 * refused where the file does not say how. An answer depends on its request only, except for the
 * last bits, which also depend on how many requests are computed together.
 */
#ifndef FILTRA_PREDICTOR_H
#define FILTRA_PREDICTOR_H

#include <filtra/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A loaded model and its pending requests. Any number of threads may use one predictor, or several
 * of one device handle, at the same time; calls that need the device wait for their turn. Do not
 * use that device handle for anything else meanwhile. Create and destroy from one thread. */
typedef struct filtra_predictor filtra_predictor;

typedef struct filtra_predictor_options {
  uint32_t batch_size; /**< most requests computed together, 1 to 65535; 0: 16 */
  /** Lengths for which graphs are compiled at creation, each for 1, 2, 4, .. batch_size requests;
   * 1 to the model's max_length. A request is padded to 16, 32, 64, .. or max_length, the first
   * that is enough (its tokens, time steps or pixels, of a pair's longer text), and so is a length.
   * Images that are cut into patches have max_length pixels and no other length. NULL: graphs are
   * compiled when a request first needs one, which takes seconds. */
  const uint32_t *lengths;
  size_t length_count;
  const filtra_precision *precision; /**< NULL: the model's */
  /** Compiles all graphs at creation, so that no request waits for one: 1 + log2 of max_length / 16
   * lengths by 1 + log2 of batch_size sizes, 30 for 512 and 16. Each takes what the first request
   * of its shape would wait: tenths of a second to seconds, less where the pipeline cache has its
   * kernels. Requests that threads submit while a GPU is busy are then computed together. */
  bool prepare_all;
  /** The predictor gives vectors, in filtra_request.vector, and no labels; NONE: predictions. */
  filtra_vector vector;
  bool normalise;       /**< vectors of length 1; ARGUMENT without `vector` */
  uint64_t reserved[5]; /**< 0 */
} filtra_predictor_options;

typedef struct filtra_predictor_info {
  filtra_task task;
  int64_t outputs;    /**< numbers per prediction, as filtra_model_outputs; or per vector */
  int64_t features;   /**< numbers per token; 0: token ids */
  int64_t max_length; /**< in tokens, pixels or time steps */
  const filtra_tokenizer *tokenizer; /**< NULL: the model does not read text */
  const char *const *classes;        /**< [class_count] names */
  size_t class_count;                /**< 0: the classes have no names */
  bool truncate;                     /**< texts that are too long are cut; else refused */
  bool pairs;                        /**< requests have two texts: text and second */
  bool may_pair;                     /**< requests may have two texts */
  uint64_t reserved[7];              /**< 0 */
} filtra_predictor_info;

/** One sample: exactly one of text, tokens, series and pixels; start from zeros. Inputs are read
 * before filtra_predictor_submit returns; `logits` and `probabilities` must stay valid until the
 * prediction is collected. */
typedef struct filtra_request {
  /** [text_length] bytes. Of a model of a table's texts white space around it is left out, as
   * around the fields of the table; others read it. */
  const char *text;
  size_t text_length;
  /** [second_length] bytes, the second text of a pair, also where both become one sequence; else
   * NULL. */
  const char *second;
  size_t second_length;
  const int32_t *tokens; /**< [length] ids, for models that read token ids */
  /** [length, features] as measured, which the predictor standardises. NaN: missing, interpolated
   * as in files of series; at an end the nearest value is repeated. Of a model of a table's rows
   * all numbers of a row, in the order of the training file, where a column of categories is 1 for
   * the cell's text and 0 for the others, sorted; NaN is the column's mean. Models of images take
   * pixels instead. */
  const float *series;
  const uint8_t *pixels; /**< [length, channels] row by row, for models that read images */
  uint32_t length;       /**< of tokens, series or pixels */
  uint32_t channels;     /**< of pixels: 1 grey; 3 red, green, blue */
  /** Rows of the pixels, for models of images of one size to refuse others that have as many
   * pixels. 0: unknown. */
  uint32_t height;
  /** Receive info.outputs numbers each; NULL: not needed. Logits are those of
   * filtra_model_predict_batch, of a language model those after the last token. Probabilities are
   * their softmax, of several labels the sigmoid of each: those with a logit above 0 are predicted.
   * Not available in regression. */
  float *logits, *probabilities;
  /** Receives the sequence's vector, info.outputs numbers: required of a predictor with
   * `vector`, which has no logits; NULL with others. */
  float *vector;
  uint64_t reserved[6]; /**< 0 */
} filtra_request;

typedef struct filtra_prediction {
  /** Most probable class or label, or next token of a language model; -1 in regression and of
   * vectors. */
  int32_t label;
  const char
      *name; /**< of the class or token; NULL: it has none. Valid while the predictor lives */
  float probability;    /**< of the label; 0 in regression */
  float value;          /**< of regression; else 0 */
  uint64_t reserved[4]; /**< 0 */
} filtra_prediction;

/** Loads a model file: a run's model.safetensors, or a file of filtra_model_save. `options`
 * may be NULL. Caller destroys, before the device. */
FILTRA_API filtra_status filtra_predictor_create(filtra_device *device, const char *path,
                                                 const filtra_predictor_options *options,
                                                 filtra_predictor **out);
/** As filtra_predictor_create, from the content of the file, which may be freed after the call. */
FILTRA_API filtra_status filtra_predictor_create_from_memory(
    filtra_device *device, const void *bytes, size_t size, const filtra_predictor_options *options,
    filtra_predictor **out);
/** Waits for pending requests; frees everything; sets *predictor to NULL. Warns in the log if the
 * tokenizer did not know more than half of the words in the requests' texts. */
FILTRA_API void filtra_predictor_destroy(filtra_predictor **predictor);
/** Valid while the predictor lives. Thread-safe. */
FILTRA_API const filtra_predictor_info *
filtra_predictor_get_info(const filtra_predictor *predictor);

/** Answers `count` requests of any lengths: filtra_predictor_submit, then filtra_predictor_collect.
 * Thread-safe. */
FILTRA_API filtra_status filtra_predictor_predict(filtra_predictor *predictor, size_t count,
                                                  const filtra_request *requests,
                                                  filtra_prediction *predictions);
/** Answers the samples of a loader's batch, of a dataset that was read as the model's was:
 * predictions [batch->count]; logits and probabilities [batch->count, info.outputs], NULL: not
 * needed. Of a predictor with `vector`, logits receives the vectors. Fails with ARGUMENT for a
 * language model's predictions. Thread-safe. */
FILTRA_API filtra_status filtra_predictor_predict_batch(filtra_predictor *predictor,
                                                        const filtra_batch *batch, float *logits,
                                                        float *probabilities,
                                                        filtra_prediction *predictions);
/** Answers all samples of a split, in its order, of a dataset that was read as the model's was:
 * filtra_model_predict_split in batches of `batch_size`, during which the device is not free.
 * predictions [samples]; logits and probabilities [samples, info.outputs], NULL: not needed. Fails
 * with ARGUMENT for a language model. Thread-safe. */
FILTRA_API filtra_status filtra_predictor_predict_split(filtra_predictor *predictor,
                                                        const filtra_dataset *data,
                                                        filtra_split split, uint32_t batch_size,
                                                        float *logits, float *probabilities,
                                                        filtra_prediction *predictions);
/** Submits `count` requests and returns while the device works; waits when two batches are in
 * flight. Collect *ticket exactly once. Fails with INPUT, naming the index of a request that the
 * model cannot read; then none is answered. Thread-safe. */
FILTRA_API filtra_status filtra_predictor_submit(filtra_predictor *predictor, size_t count,
                                                 const filtra_request *requests, uint64_t *ticket);
/** Waits for the answers to a submission: predictions [count]. Fails with NONFINITE where one is a
 * NaN or an infinity. The ticket becomes invalid in any case. Thread-safe. */
FILTRA_API filtra_status filtra_predictor_collect(filtra_predictor *predictor, uint64_t ticket,
                                                  filtra_prediction *predictions);

#ifdef __cplusplus
}
#endif
#endif
