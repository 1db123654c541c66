/* Text from a language model: what comes next, token by token, and a choice among it.
 *
 *   filtra_generator *gen;   filtra_generator_create(model, NULL, &gen);
 *   filtra_generator_feed(gen, prompt, prompt_length, logits);
 *   for (uint64_t i = 0; i < 100; i++) {
 *     int32_t token;
 *     filtra_sample_token(logits, vocabulary, &(filtra_sampling){.temperature = 0.8f}, i, &token);
 *     filtra_generator_feed(gen, &token, 1, logits);
 *   }
 *
 * A generator keeps on the device what its mixers need of the tokens so far, so that another token
 * costs one pass over that token. The logits are those that filtra_model_predict_batch gives for the
 * whole text, to rounding.
 */
#ifndef FILTRA_GENERATE_H
#define FILTRA_GENERATE_H

#include <filtra/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Sequences that a language model continues, and the graphs to do so. One thread at a time per
 * device. Destroy before the model. */
typedef struct filtra_generator filtra_generator;

typedef struct filtra_generator_options {
  uint32_t sequences; /**< side by side, all of one length; 0: 1 */
  /** When the text grows beyond the model's max_length, go on from its newest half, read anew with
   * positions from 0, instead of failing. */
  bool slide;
  uint64_t reserved[8]; /**< 0 */
} filtra_generator_options;

/** Allocates what is kept of max_length tokens of each sequence. Fails with ARGUMENT when the model
 * is not a language model. */
FILTRA_API filtra_status filtra_generator_create(filtra_model *model,
                                                 const filtra_generator_options *options,
                                                 filtra_generator **out);
/** Frees everything; sets *generator to NULL. */
FILTRA_API void filtra_generator_destroy(filtra_generator **generator);
/** Forgets all tokens. Needed after the model's parameters have changed. */
FILTRA_API void filtra_generator_reset(filtra_generator *generator);
/** Tokens of each sequence that the generator remembers. */
FILTRA_API int64_t filtra_generator_length(const filtra_generator *generator);

/** Appends `count` tokens to each sequence, tokens [sequences, count], and computes what comes
 * next: logits [sequences, vocabulary], NULL: not wanted. The first tokens after creation or reset
 * go through one pass. Fails with INPUT, and appends nothing, for a token outside 1 .. vocabulary-1
 * (0 is padding), and where the text grows beyond max_length without `slide`. After any other
 * failure the generator has forgotten all tokens. */
FILTRA_API filtra_status filtra_generator_feed(filtra_generator *generator, const int32_t *tokens,
                                               size_t count, float *logits);

/** How to choose among logits. Zero means the default given with each field. */
typedef struct filtra_sampling {
  float temperature; /**< logits are divided by it; 0: the most probable token, without chance */
  int64_t top_k;     /**< only the k most probable tokens; 0: all */
  /** Only the most probable tokens that together have this probability, at least one, in (0,1]; 0:
   * all. Applies to what top_k left. */
  float top_p;
  uint64_t seed;
  uint64_t reserved[8]; /**< 0 */
} filtra_sampling;

/** A token id from logits [vocabulary], never 0, which is padding. A function of its arguments:
 * `draw` numbers the random draws of a seed. Fails with ARGUMENT for options out of range, with
 * NONFINITE where a logit is a NaN or none is finite. Thread-safe. */
FILTRA_API filtra_status filtra_sample_token(const float *logits, int64_t vocabulary,
                                             const filtra_sampling *options, uint64_t draw,
                                             int32_t *token);

#ifdef __cplusplus
}
#endif
#endif
