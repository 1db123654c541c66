/* Requests of predictors, as the model reads them. */
#ifndef FT_TRAIN_REQUESTS_H
#define FT_TRAIN_REQUESTS_H

#include "data/tokenizer.h"
#include "train/input.h"

/** What a predictor's model reads, and how. */
typedef struct ft_reader {
  filtra_model *model;
  ft_input input;
  filtra_predictor_info info;
  size_t sequences, columns; /* columns: 32-bit words per token */
  bool joined;               /* samples are two texts in one sequence */
} ft_reader;

/** A request as the model reads it: 32-bit words, either token ids or floats. */
typedef struct ft_request_sample {
  uint32_t *words[2]; /* [1]: the second text of a pair */
  int32_t lengths[2]; /* in tokens */
  ft_tokens edges;    /* of a graph */
  ft_word_count read; /* the words of its texts */
  int32_t second;     /* where the second of two texts begins in one sequence; 0: one text */
  int64_t padded;     /* padded length of the graph that computes it; 0: already submitted */
} ft_request_sample;

/** Reads `count` requests; caller frees *out [count]. If there are several, errors name the
 * request. */
filtra_status ft_requests_read(const ft_reader *p, size_t count, const filtra_request *requests,
                               ft_request_sample **out);
void ft_requests_free(ft_request_sample *samples, size_t count);

#endif
