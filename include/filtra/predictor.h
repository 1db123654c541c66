/* A trained model put to use: from texts, series and images to labels, probabilities and values.
 *
 *   filtra_predictor *p;  filtra_predictor_create(dev, "run/model.safetensors", NULL, &p);
 *   filtra_prediction answer;
 *   filtra_request request = {.text = "a fine film", .text_length = 11};
 *   if (!filtra_predictor_predict(p, 1, &request, &answer)) puts(answer.name);
 *   filtra_predictor_destroy(&p);
 *
 * The model file of a run says how its training data were read: by which tokenizer, cut or refused
 * where too long, standardised by which numbers, with which names of classes. Requests are read
 * likewise. What is answered depends on the request alone, not on others of the call or before it
 * (but for the last bits, which follow from how many are computed together).
 */
#ifndef FILTRA_PREDICTOR_H
#define FILTRA_PREDICTOR_H

#include <filtra/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A model in memory and on a device, and what is asked of it at the moment. Any number of threads
 * may call the functions below on one predictor, and on several of one device handle, at the same
 * time; each call that needs the device waits for its turn. Nothing else may be done with that
 * device handle meanwhile. Create and destroy from one thread. */
typedef struct filtra_predictor filtra_predictor;

typedef struct filtra_predictor_options {
  uint32_t batch_size; /**< most requests that are computed together, 1 to 65535; 0: 16 */
  /** Lengths that graphs are compiled for at once, each for every power of two of requests up to
   * batch_size, so that no request has to wait for it. NULL: as they are needed. */
  const uint32_t *lengths;
  size_t length_count;
  const filtra_precision *precision; /**< to compute in; NULL: what the model says */
  uint64_t reserved[7];              /**< 0 */
} filtra_predictor_options;

typedef struct filtra_predictor_info {
  filtra_task task;
  int64_t outputs;                   /**< numbers of a prediction, as filtra_model_outputs */
  int64_t features;                  /**< numbers per token; 0: token ids */
  int64_t max_length;                /**< in tokens, pixels or time steps */
  const filtra_tokenizer *tokenizer; /**< NULL where no text can be read */
  const char *const *classes;        /**< [class_count] names */
  size_t class_count;                /**< 0: the classes have no names */
  bool truncate;                     /**< longer texts are cut; else they are refused */
  uint64_t reserved[8];              /**< 0 */
} filtra_predictor_info;

/** One sample, as exactly one of text, tokens, series and pixels; start from zeros. What pointers
 * lead to is read before filtra_predictor_submit returns, what is to be filled in must stay until
 * the prediction is collected. */
typedef struct filtra_request {
  const char *text; /**< [text_length] bytes */
  size_t text_length;
  const char *second; /**< [second_length], the other text of a pair; else NULL */
  size_t second_length;
  const int32_t *tokens; /**< [length] ids, of models that read ids */
  const float *series;   /**< [length, features] as measured: they are standardised here */
  const uint8_t *pixels; /**< [length, channels] row by row, of models that read images */
  uint32_t length;       /**< of tokens, series and pixels */
  uint32_t channels;     /**< of pixels: 1 grey, 3 red, green and blue */
  /** Room for info.outputs numbers each; NULL: not wanted. Logits are those of
   * filtra_model_predict_batch, of a language model behind the last token. Probabilities are their
   * softmax; no regression. */
  float *logits, *probabilities;
  uint64_t reserved[8]; /**< 0 */
} filtra_request;

typedef struct filtra_prediction {
  int32_t label; /**< the most probable class; a language model's next token; -1 in regression */
  const char
      *name; /**< of the class or the token; NULL: it has none. Lives as the predictor does */
  float probability;    /**< of the label; 0 in regression */
  float value;          /**< of regression; else 0 */
  uint64_t reserved[4]; /**< 0 */
} filtra_prediction;

/** Reads a model file: a run's model.safetensors, or what filtra_model_save wrote, which knows no
 * texts and no names unless the model came from a run. `options` may be NULL. Caller destroys,
 * before the device. */
FILTRA_API filtra_status filtra_predictor_create(filtra_device *device, const char *path,
                                                 const filtra_predictor_options *options,
                                                 filtra_predictor **out);
/** The same from the file's content, which may be freed after the call. */
FILTRA_API filtra_status filtra_predictor_create_from_memory(
    filtra_device *device, const void *bytes, size_t size, const filtra_predictor_options *options,
    filtra_predictor **out);
/** Waits for what is under way; frees everything; sets *predictor to NULL. */
FILTRA_API void filtra_predictor_destroy(filtra_predictor **predictor);
/** Valid while the predictor lives. Thread-safe. */
FILTRA_API const filtra_predictor_info *
filtra_predictor_get_info(const filtra_predictor *predictor);

/** Answers `count` requests of any lengths: submit and collect. Thread-safe. */
FILTRA_API filtra_status filtra_predictor_predict(filtra_predictor *predictor, size_t count,
                                                  const filtra_request *requests,
                                                  filtra_prediction *predictions);
/** Answers the samples of a batch, as loaders make them of data that are read as the model's were:
 * predictions [batch->count]; logits and probabilities [batch->count, info.outputs], NULL: not
 * wanted. Fails with ARGUMENT of a language model. Thread-safe. */
FILTRA_API filtra_status filtra_predictor_predict_batch(filtra_predictor *predictor,
                                                        const filtra_batch *batch, float *logits,
                                                        float *probabilities,
                                                        filtra_prediction *predictions);
/** Begins to answer and returns while the device works; waits where two batches are under way.
 * *ticket is to be collected, once. Fails with INPUT, naming the request by its index, for one that
 * the model cannot read; then none is answered. Thread-safe. */
FILTRA_API filtra_status filtra_predictor_submit(filtra_predictor *predictor, size_t count,
                                                 const filtra_request *requests, uint64_t *ticket);
/** Waits for the answers of that submission: predictions [count]. Fails with NONFINITE where one is
 * a NaN or an infinity. The ticket is used up in any case. Thread-safe. */
FILTRA_API filtra_status filtra_predictor_collect(filtra_predictor *predictor, uint64_t ticket,
                                                  filtra_prediction *predictions);

#ifdef __cplusplus
}
#endif
#endif
