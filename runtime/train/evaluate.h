/* What a model comes to on a split. */
#ifndef FT_TRAIN_EVALUATE_H
#define FT_TRAIN_EVALUATE_H

#include <filtra/train.h>

/** Walks the split in batches of `batch_size`. Fails with NONFINITE when the loss is not. */
filtra_status ft_evaluate(filtra_model *model, const filtra_dataset *data, filtra_split split,
                          int64_t batch_size, filtra_evaluation *result);

/** Of sequences or of pairs. */
bool ft_is_classification(filtra_task task);
/** exp(loss). */
double ft_perplexity(double loss);

#endif
