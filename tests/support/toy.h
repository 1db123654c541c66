/* Helpers for tests of training: small models of every mixer, batches to learn from, weights to
 * compare. */
#ifndef TEST_SUPPORT_TOY_H
#define TEST_SUPPORT_TOY_H

#include "support/harness.h"

#include <filtra/filtra.h>

enum { TOY_SIZE = 6, TOY_LENGTH = 12, TOY_CLASSES = 4, TOY_VOCABULARY = 9 };

/** The whole Converter, including block and positions, listed among the mixers' names. */
#define TOY_CONVERTER "converter"
/** The default of 64 landmarks would take as long as all other mixers together. */
#define TOY_NYSTROM "{\"name\": \"nystrom\", \"landmarks\": 16}"
/** The whole CaiT with GFSA: talking heads, LayerScale and class layers. */
#define TOY_CAIT "{\"name\": \"gfsa\", \"wK\": 0.3, \"talking_heads\": true}"
enum { TOY_MIXERS = 19 };
extern const char *const toy_mixers[TOY_MIXERS];

typedef struct toy_batch {
  filtra_batch batch;
  int32_t tokens[TOY_SIZE * TOY_LENGTH], lengths[TOY_SIZE], labels[TOY_SIZE];
  float weights[TOY_SIZE];
} toy_batch;

/** The label is the first token's class: easy to learn, and position matters. */
void toy_make_batch(uint64_t seed, toy_batch *b);
filtra_model *toy_model(const char *mixer, filtra_precision precision);
/** A trainer with a cosine schedule over 40 steps, weight decay, clipping, dropout. */
filtra_trainer *toy_trainer(filtra_model *model);
/** Takes steps `from` to `to` - 1, each with its own batch; losses [to], or NULL. */
void toy_train(filtra_trainer *trainer, int from, int to, float *losses);

/** All parameters, one after the other; caller frees. */
float *toy_weights(filtra_model *model, size_t *count);
/** Makes all weights so large that the model's results overflow. */
void toy_break(filtra_model *model);
/** Fails the test unless both have the same weights, bit for bit. */
void toy_same_bits(filtra_model *a, filtra_model *b);
/** Fails unless frozen parameters have the bits of `before`, and others are those of `whole`,
 * except for rounding. Both are all the weights of a model, as toy_weights gives them. */
void toy_compare_frozen(filtra_model *frozen, const float *before, const float *whole,
                        const bool *is_frozen, const char *what);

#endif
