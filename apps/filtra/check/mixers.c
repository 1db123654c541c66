/* Builds golden cases of any mixer: metadata "mixer" is its JSON; parameters have the names that
 * weight files use. With "layers", there are several in a row, and names begin with the layer's
 * number. tests/golden/generate.py writes these files. */
#include "golden.h"

#include "nn/mixer.h"

#include <string.h>

filtra_status golden_build_mixer(golden *c, json_t *json, filtra_mixer_input *in,
                                 filtra_tensor **y) {
  ft_mixer mixer;
  if (!json) return ft_fail(FILTRA_ERROR_HOST_MEMORY, "out of host memory");
  filtra_status status = ft_mixer_read(json, c->path, &mixer);
  json_decref(json);
  FT_TRY(status);
  ft_scope scope = golden_scope(c);
  *in = (filtra_mixer_input){.x = golden_input(c, "in.x"),
                             .mask = golden_mask(c),
                             .heads = golden_count(c, "heads", 1),
                             .causal = golden_flag(c, "causal"),
                             .max_length = golden_count(c, "max_length", golden_dim(c, "in.x", 1))};
  filtra_tensor *auxiliary = NULL, *carried = NULL;
  const int64_t layers = golden_count(c, "layers", 1);
  for (int64_t i = 0; i < layers; i++) {
    ft_scope layer = layers > 1 ? ft_scope_enter(&scope, "%lld", (long long)i) : scope;
    layer.carried = layers > 1 ? &carried : NULL;
    *y = mixer.kind->build(&layer, mixer.options, in, &auxiliary);
    if (i + 1 < layers) in->x = *y;
  }
  if (golden_has(c, "out.loss")) golden_output(c, "loss", auxiliary);
  return FILTRA_OK;
}

static filtra_status build_mixer(golden *c) {
  static const char PREFIX[] = "param.";
  const char *text = golden_text(c, "mixer", "");
  json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  if (!json)
    return ft_fail(FILTRA_ERROR_INPUT, "%s: metadata \"mixer\" is \"%.64s\", not an object",
                   c->path, text);
  filtra_mixer_input in;
  filtra_tensor *y;
  FT_TRY(golden_build_mixer(c, json, &in, &y));
  if (in.mask) y = filtra_mask_tokens(c->graph, y, in.mask); /* ignore results of padding */
  golden_output(c, "y", y);
  for (size_t i = 0; i < ft_safetensors_count(c->file); i++) {
    const char *name = ft_safetensors_at(c->file, i)->name;
    if (!strncmp(name, PREFIX, strlen(PREFIX)))
      golden_bind(c, name + strlen(PREFIX), name + strlen(PREFIX), 0, 1);
  }
  return FILTRA_OK;
}

/* ---- the table ---- */

const golden_op golden_mixers[] = {{"mixer", build_mixer}, {0}};
