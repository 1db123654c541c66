/* Float64 references of the token-wise ops, written from their definitions one element at a time.
 * Shapes as in filtra/ops.h; everything dense, integers given as doubles. */
#ifndef TEST_REFERENCE_TOKENWISE_H
#define TEST_REFERENCE_TOKENWISE_H

#include <stdbool.h>
#include <stdint.h>

/** y [tokens,C]; tokens outside [0,V) give zeros. */
void reference_embedding(const double *table, const double *tokens, double *y, int64_t vocabulary,
                         int64_t count, int64_t columns);
/** The sine/cosine position of token n in channel c of C. */
double reference_sinusoid(int64_t n, int64_t c, int64_t columns);

/** y [B,C]; mask [B,N] or NULL. */
void reference_pool_mean(const double *x, const double *mask, double *y, int64_t batch, int64_t n,
                         int64_t columns, bool over_all);

/** loss [R]. */
void reference_cross_entropy(const double *logits, const double *labels, double *loss, int64_t rows,
                             int64_t columns, double smoothing);
/** As PyTorch's BCEWithLogitsLoss with weights, the mean over columns: loss [R]. */
void reference_binary_cross_entropy(const double *logits, const double *targets,
                                    const double *weights, double *loss, int64_t rows,
                                    int64_t columns);
/** 1 where the first largest logit is the label's. */
void reference_accuracy(const double *logits, const double *labels, double *hit, int64_t rows,
                        int64_t columns);
void reference_top_k_accuracy(const double *logits, const double *labels, double *hit, int64_t rows,
                              int64_t columns, int64_t k);
double reference_weighted_mean(const double *x, const double *weights, int64_t count);

typedef enum reference_adam_kind {
  REFERENCE_ADAMW,
  REFERENCE_ADAM,
  REFERENCE_RADAM
} reference_adam_kind;

typedef struct reference_adam_settings {
  reference_adam_kind kind;
  double learning_rate, beta1, beta2, epsilon, weight_decay, clip_norm;
} reference_adam_settings;

/** One step, counted from 1, over `count` values of which the first `decayed` decay. Returns the
 * gradient norm before clipping. */
double reference_adam(const reference_adam_settings *settings, int64_t step, int64_t count,
                      int64_t decayed, double *values, const double *gradients, double *first,
                      double *second);

#endif
