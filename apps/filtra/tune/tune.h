/* filtra tune: what is tuned for. */
#ifndef FILTRA_TUNE_H
#define FILTRA_TUNE_H

#include "gpu/tuning.h"

/** Adds to `asked` (which collects) what the train steps of these models ask: those of the run that
 * `config` (an object, not NULL) describes, else one of every mixer at the shape of `filtra bench`.
 * `context` goes before errors in the configuration. */
filtra_status tune_ask(filtra_device *device, const json_t *config, const char *context,
                       ft_tuning *asked);

#endif
