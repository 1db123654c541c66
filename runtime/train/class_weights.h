/* Weights of classes in the training loss, from the configuration's key. */
#ifndef FT_TRAIN_CLASS_WEIGHTS_H
#define FT_TRAIN_CLASS_WEIGHTS_H

#include <filtra/data.h>

/** Fails with INPUT unless the text is "", "balanced" or numbers with colons between. */
filtra_status ft_class_weights_check(const char *text, const char *context);
/** The weights [classes], which the caller frees, also on failure; NULL for "". */
filtra_status ft_class_weights_make(const char *text, const char *context,
                                    const filtra_dataset *data, float **out);

#endif
