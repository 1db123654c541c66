/* Recipes of papers by name: presets/NAME.json, compiled into the library. */
#ifndef FT_TRAIN_PRESET_H
#define FT_TRAIN_PRESET_H

#include "base/json.h"

/** `json` is an object: title, paper, data (which data to use), note (how the recipe differs from
 * the paper; optional), and config (keys of a run's configuration). */
typedef struct ft_preset {
  const char *name, *json;
} ft_preset;

/** Sorted by name; the last has the name NULL. */
extern const ft_preset ft_presets[];

/** Writes a new configuration to *out: a copy of `given` or, if it has the key "preset", the
 * preset's keys with those of `given` over them.
 *
 * Mixer options are added to the preset's, unless `given` names another mixer. If that mixer has no
 * complex features, the preset's block is left out: the block is then the default, the
 * Transformer's. "steps" or "epochs" replace both keys of the preset, and its warmup becomes the
 * same fraction of the new length. */
filtra_status ft_preset_expand(const json_t *given, json_t **out);

#endif
