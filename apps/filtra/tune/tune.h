/* filtra tune: what is tuned for. */
#ifndef FILTRA_TUNE_H
#define FILTRA_TUNE_H

#include "ops/tuning.h"

#include <filtra/model.h>

/** Adds to `asked` (which collects) what the train steps of these models ask: those of the run that
 * `config` (an object, not NULL) describes, else one of every mixer at the shape of `filtra bench`,
 * in that precision (NULL: fp32). `context` goes before errors in the configuration. */
filtra_status tune_ask(filtra_device *device, const json_t *config, const char *context,
                       const filtra_precision *precision, ft_tuning *asked);

#endif
