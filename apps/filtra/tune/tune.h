/* Which kernel choices filtra tune measures. */
#ifndef FILTRA_TUNE_H
#define FILTRA_TUNE_H

#include "ops/tuning.h"

#include <filtra/model.h>
#include <jansson.h>

/** Adds the tuning questions of models' train steps to `asked`. The models are that of the run that
 * `config` (an object) describes or, if it is NULL, one with every mixer in the shape of `filtra
 * bench`, in that precision (NULL: fp32). Errors in the configuration begin with `context`. */
filtra_status tune_ask(filtra_device *device, const json_t *config, const char *context,
                       const filtra_precision *precision, ft_tuning *asked);

/** Tunes as many of the questions of all mixers as `seconds` permit, like --quick, without storing
 * results: *results is a list as --json prints, which the caller frees, also on failure. */
filtra_status tune_some(filtra_device *device, double seconds, json_t **results);

#endif
