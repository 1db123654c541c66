/* Predictors, inside. */
#ifndef FT_TRAIN_PREDICTOR_H
#define FT_TRAIN_PREDICTOR_H

#include "train/run.h"

#include <filtra/predictor.h>

/** Of a run's folder. Where its model is from before models said how their data were read, that is
 * taken from the folder's other files. */
filtra_status ft_predictor_open_run(filtra_device *device, const ft_run_config *config,
                                    const filtra_predictor_options *options,
                                    filtra_predictor **out);
filtra_model *ft_predictor_model(filtra_predictor *predictor);
/** What logits [outputs], or a value, come to; `probabilities` [outputs], not of regression. */
filtra_prediction ft_predictor_answer(const filtra_predictor *predictor, const float *logits,
                                      float *probabilities);

#endif
