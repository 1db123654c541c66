/* Text generation with a language model: logits of the next token, and sampling from them.
 *
 *   filtra_generator *gen;   filtra_generator_create(model, NULL, &gen);
 *   filtra_generator_feed(gen, prompt, prompt_length, logits);
 *   for (uint64_t i = 0; i < 100; i++) {
 *     int32_t token;
 *     filtra_sample_token(logits, vocabulary, &(filtra_sampling){.temperature = 0.8f}, i, &token);
 *     filtra_generator_feed(gen, &token, 1, logits);
 *   }
 *
 * A generator keeps what its mixers need of earlier tokens on the device, so that one more token
 * costs one pass over that token. Its logits equal those of filtra_model_predict_batch for the
 * whole text, except for rounding.
 */
#ifndef FILTRA_GENERATE_H
#define FILTRA_GENERATE_H

#include <filtra/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sequences that a language model continues. One thread at a time per device. Destroy before the
 * model. */
typedef struct filtra_generator filtra_generator;

typedef struct filtra_generator_options {
  uint32_t sequences; /**< generated together, all of one length; 0: 1 */
  /** When the text exceeds the model's max_length: drop its older half, process the newer half
   * again with positions from 0, and continue. Otherwise filtra_generator_feed fails. */
  bool slide;
  uint64_t reserved[8]; /**< 0 */
} filtra_generator_options;

/** Allocates memory for max_length tokens of each sequence. Fails with ARGUMENT when the model is
 * not a language model. */
FILTRA_API filtra_status filtra_generator_create(filtra_model *model,
                                                 const filtra_generator_options *options,
                                                 filtra_generator **out);
/** Frees everything; sets *generator to NULL. */
FILTRA_API void filtra_generator_destroy(filtra_generator **generator);
/** Forgets all tokens. Needed after the model's parameters have changed. */
FILTRA_API void filtra_generator_reset(filtra_generator *generator);
/** Number of tokens of each sequence that the generator holds. */
FILTRA_API int64_t filtra_generator_length(const filtra_generator *generator);

/** Appends `count` tokens to each sequence, tokens [sequences, count], and computes the logits of
 * the next token [sequences, vocabulary] (NULL: not needed). The first call after creation or reset
 * processes all its tokens in one pass. Fails with INPUT, and appends nothing, for a token outside
 * 0 .. vocabulary-1, and where the text would exceed max_length without `slide`.
 * After any other failure the generator is reset. */
FILTRA_API filtra_status filtra_generator_feed(filtra_generator *generator, const int32_t *tokens,
                                               size_t count, float *logits);

/** How to sample from logits. Zero means the default given with each field. */
typedef struct filtra_sampling {
  float temperature; /**< divides the logits; 0: always the most probable token */
  int64_t top_k;     /**< sample from the k most probable tokens; 0: from all */
  /** Sample from the fewest most probable tokens whose probabilities sum to this, in (0,1]; 0: from
   * all. Applied after top_k. */
  float top_p;
  uint64_t seed;
  /** Token 0 may be drawn. In Filtra's own vocabularies it is padding; in those of other programs,
   * such as GPT-2's, it is text, and then filtra_tokenizer_symbol of 0 is not empty. */
  bool zero;
  uint64_t reserved[8]; /**< 0 */
} filtra_sampling;

/** Samples a token id from logits [vocabulary]; not 0, unless `zero` is set. The result depends on
 * the arguments only: `draw` counts the random draws of a seed. Fails with ARGUMENT for options out
 * of range, with NONFINITE where a logit is a NaN, the largest is infinite or none is finite;
 * *token is then undefined. Thread-safe. */
FILTRA_API filtra_status filtra_sample_token(const float *logits, int64_t vocabulary,
                                             const filtra_sampling *options, uint64_t draw,
                                             int32_t *token);

#ifdef __cplusplus
}
#endif
#endif
