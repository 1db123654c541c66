/* How samples become what a run's model reads, and what its classes are called: kept as JSON in the
 * metadata of the model file (FT_INPUT_KEY), so that the file alone can be used. */
#ifndef FT_TRAIN_INPUT_H
#define FT_TRAIN_INPUT_H

#include "train/run.h"

typedef struct ft_input {
  ft_run_fit fit;                    /* names of classes, standardisation */
  const filtra_tokenizer *tokenizer; /* NULL: none is known */
  filtra_tokenizer *owned;           /* the same, where it was made from data */
  bool truncate;
} ft_input;

/** The text for a run's model, from what its folder holds; caller frees. */
filtra_status ft_input_describe(const char *folder, const ft_run_config *config, char **text);
/** What a model file's text says; `text` NULL: nothing. Caller frees with ft_input_free. */
filtra_status ft_input_read(const char *text, const char *context, ft_input *out);
void ft_input_free(ft_input *input);

#endif
