/* The papers' recipes by name: presets/NAME.json, embedded when the library is built. */
#ifndef FT_TRAIN_PRESET_H
#define FT_TRAIN_PRESET_H

#include "base/json.h"

/** `json` is an object: title, paper, data (what to give as the data), note (how the recipe differs
 * from the paper's; may be absent), and config, keys of a run's configuration. */
typedef struct ft_preset {
  const char *name, *json;
} ft_preset;

/** Sorted; ends with a NULL name. */
extern const ft_preset ft_presets[];

/** A new configuration in *out: where the key "preset" of `given` names one, that preset's, with
 * the keys of `given` over it; else a copy.
 *
 * Mixer options join the preset's unless they name another mixer; one without complex features
 * takes a Transformer's block. "steps" or "epochs" replace what the preset has of both, and its
 * warmup stays the same part of the run. */
filtra_status ft_preset_expand(const json_t *given, json_t **out);

#endif
