/* Questions that filtra tune answers. */
#ifndef FILTRA_TUNE_H
#define FILTRA_TUNE_H

#include "ops/tuning.h"

#include <filtra/model.h>
#include <jansson.h>

/** Adds the questions of models' train steps to `asked`, which collects. Models are those of the
 * run that `config` (an object) describes; if it is NULL, one of every mixer in the shape of
 * `filtra bench`, in that precision (NULL: fp32). Errors in the configuration begin with
 * `context`. */
filtra_status tune_ask(filtra_device *device, const json_t *config, const char *context,
                       const filtra_precision *precision, ft_tuning *asked);

/** Answers as many of those of every mixer as `seconds` permit, as --quick does, and keeps none of
 * it: *results is a list of what --json shows, which the caller frees, also on failure. */
filtra_status tune_some(filtra_device *device, double seconds, json_t **results);

#endif
