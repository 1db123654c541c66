/* How a run's model reads samples, and the names of its classes. The model file keeps this as JSON
 * in its metadata (FT_INPUT_KEY), so that prediction needs no other file. */
#ifndef FT_TRAIN_INPUT_H
#define FT_TRAIN_INPUT_H

#include "train/run.h"

typedef struct ft_input {
  ft_run_fit fit;                    /* names of classes, standardisation */
  const filtra_tokenizer *tokenizer; /* NULL: unknown */
  filtra_tokenizer *owned; /* the same pointer if it was read from the text, to be destroyed */
  bool truncate;
  bool imported; /* from another program, which does not record whether samples are pairs */
  /* Parameters with initial values: of the head's last layer, of the one before, of other layers
   * unless they begin as the model without them (GFSA's weights). */
  bool new_head, new_layer, new_parts;
} ft_input;

/** Reads the JSON text of a model file; `text` NULL: *out is all 0. Caller frees with
 * ft_input_free. */
filtra_status ft_input_read(const char *text, const char *context, ft_input *out);
void ft_input_free(ft_input *input);

#endif
